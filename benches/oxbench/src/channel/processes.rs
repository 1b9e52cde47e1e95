//! Round in which the suppliers, the channel and the consumers each have their own process, all on one CPU. Every event
//! passes the ORB twice, over TCP. The schedule gives its priorities to the threads of the suppliers, to the lanes of
//! the channel's ORB, to the threads of the channel's queues, and to the lanes of the consumers' ORB.
//!
//! The suppliers' process pushes the events of a round as requested on standard input:
//!
//! ```text
//! < ready
//! > run 3334 1002903 500000    events of the high supplier, its period, that of a low supplier (0: back to back) in ns
//! < true 6688 0 3343712000     whether the threads had the requested priorities, low events that were pushed, low
//!                              events whose push failed, nanoseconds until the end of the high supplier's last push
//! ```
//!
//! The consumers' process then answers how many events arrived:
//!
//! ```text
//! < ready
//! > wait 3334                  until this number of events of the high pair has arrived
//! < done
//! > lows
//! < 6688                       events that all low consumers have received so far
//! > samples
//! < 91412 99204 90390 ...      nanoseconds of each event of the high pair: from its push, and from its release
//! ```
//!
//! The channel's process prints the channel's reference, and answers `dropped` with a number of events. The times of a
//! push and of the event's arrival are read in two processes, from one clock of the machine (CLOCK_MONOTONIC).

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use oxorb::incident::Incident;
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::settings::ClientConnections;
use oxorb::{Builder, Interface as _, Orb};
use oxorb_event::rtec_event_channel_admin::{EventChannelRef, ProxyPushConsumerRef};
use oxorb_event::rtec_event_comm::{Event, PushConsumerRef};
use oxorb_event::scheduler::rtec_scheduler::SchedulerRef;

use super::load::{
    Connection, High, Latency, Load, Low, PATIENCE, Pushed, Rhythm, Seen, Supplier, dropped,
};
use super::scheduled::{Operations, Scheduled, scheduled_channel};
use crate::events::driver::NIL;
use crate::load::{now, real_time};
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::{Result, session};

/// Number of threads of a lane: one that serves, and one that accepts further requests meanwhile.
const LANE_THREADS: usize = 2;

/// Maximum time until a process answers, longer than [`PATIENCE`]. The suppliers' process may take the duration of a
/// round in addition.
const ANSWER: Duration = Duration::from_secs(60);

/// Measures a round in new processes; reports whether the threads had the requested priorities.
pub(super) fn measure(load: &Load, scheduled: &Scheduled, seen: &mut Seen) -> Result<bool> {
    let placement = Placement::Pinned { client: load.cpu, server: load.cpu };
    let scheduler = scheduled.scheduler().to_ior();
    let start = |name: &str, side, role, channel: Option<&str>| -> Result<Process> {
        let mut command = own_side(side)?;
        command.arg(&scheduler).arg(load.lows.to_string()).args(channel);
        let mut process = Process::start(name.to_owned(), placement, role, &mut command)?;
        process.set_limit(ANSWER);
        Ok(process)
    };
    let mut channel = start("the channel", "scheduled-channel", Role::Server, None)?;
    let reference = channel.hear()?;
    let start = |name, side| -> Result<Process> {
        let mut process = start(name, side, Role::Client, Some(reference.as_str()))?;
        process.expect("ready")?;
        Ok(process)
    };
    let mut consumers = start("the consumers' process", "scheduled-consumers")?;
    let mut suppliers = start("the suppliers' process", "scheduled-suppliers")?;
    suppliers.set_limit(load.rhythm.duration() + ANSWER);
    suppliers.tell(&load.rhythm.to_line())?;
    let pushed = Pushed::parse(&suppliers.hear()?)?;
    let events = load.rhythm.events;
    consumers.tell(&format!("wait {events}"))?;
    consumers.expect("done")?;
    let (received, dropped) = count_lows(&mut consumers, &mut channel, pushed.lows)?;
    let times = consumers.samples(2 * events)?;
    let latency = |times: &[u64]| Latency { from_push: times[0], from_release: times[1] };
    seen.latencies.extend(times.chunks_exact(2).map(latency));
    seen.lows += received;
    seen.dropped += pushed.failed + dropped;
    seen.took += pushed.took;
    suppliers.finish()?;
    consumers.finish()?;
    channel.finish()?;
    Ok(pushed.real_time)
}

/// Waits until a number of low events have been received or dropped. Returns the numbers of both. An event that is in
/// neither number after [`PATIENCE`] was lost and counts as dropped.
fn count_lows(consumers: &mut Process, channel: &mut Process, pushed: u64) -> Result<(u64, u64)> {
    let until = now() + PATIENCE;
    loop {
        let received = ask(consumers, "lows")?;
        let dropped = ask(channel, "dropped")?;
        let lost = pushed.saturating_sub(received + dropped);
        if lost == 0 || now() > until {
            return Ok((received, dropped + lost));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Requests a number from a process.
fn ask(process: &mut Process, command: &str) -> Result<u64> {
    process.tell(command)?;
    Ok(process.hear()?.parse()?)
}

impl Pushed {
    fn to_line(self) -> String {
        let Pushed { real_time, lows, failed, took } = self;
        format!("{real_time} {lows} {failed} {}", took.as_nanos())
    }

    fn parse(line: &str) -> Result<Pushed> {
        let words: Vec<&str> = line.split(' ').collect();
        let [real_time, lows, failed, took] = words[..] else {
            return Err(format!("the suppliers answered {line:?}").into());
        };
        Ok(Pushed {
            real_time: real_time.parse()?,
            lows: lows.parse()?,
            failed: failed.parse()?,
            took: Duration::from_nanos(took.parse()?),
        })
    }
}

impl Rhythm {
    fn to_line(self) -> String {
        let Rhythm { events, high_period, low_period } = self;
        let low_period = low_period.unwrap_or_default().as_nanos();
        format!("run {events} {} {low_period}", high_period.as_nanos())
    }

    fn parse(line: &str) -> Result<Rhythm> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["run", events, high_period, low_period] = words[..] else {
            return Err(session::no_command(line, "run EVENTS HIGH_PERIOD LOW_PERIOD").into());
        };
        let period = |text: &str| -> Result<Duration> { Ok(Duration::from_nanos(text.parse()?)) };
        Ok(Rhythm {
            events: events.parse()?,
            high_period: period(high_period)?,
            low_period: Some(period(low_period)?).filter(|period| !period.is_zero()),
        })
    }
}

/// Serves a channel with the queues of the schedule until standard input closes.
pub(crate) fn serve(scheduler: &str, lows: usize) -> Result {
    // The channel's references are persistent, but they are not used after the end of this process. The system may
    // therefore choose the port, which the ORB reports as an incident.
    let orb = build(Orb::builder().listen("iiop://127.0.0.1:0"))?;
    let scheduler: SchedulerRef = orb.resolve(scheduler)?;
    let channel = scheduled_channel(&scheduler, lows)?;
    let lanes = in_lanes(&orb, &scheduler, PriorityModel::ClientPropagated)?;
    let served = channel.serve_with(&orb, "pairs", lanes)?;
    session::answer(&served.reference().to_ior(), |line| match line {
        "dropped" => Ok(dropped(&channel).to_string()),
        _ => Err(session::no_command(line, "dropped").into()),
    })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Connects the consumers of all pairs to a channel, and counts their events until standard input closes.
pub(crate) fn receive(scheduler: &str, lows: usize, channel: &str) -> Result {
    let orb = build(Orb::builder().listen("iiop://127.0.0.1:0"))?;
    let scheduler: SchedulerRef = orb.resolve(scheduler)?;
    let channel: EventChannelRef = orb.resolve(channel)?;
    let admin = channel.for_consumers()?.ok_or(NIL)?;
    let realtime = in_lanes(&orb, &scheduler, PriorityModel::ServerDeclared)?;
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("consumers", policies)?;
    let (high, count) = (Arc::new(High::new()), Arc::new(AtomicU64::new(0)));
    for number in 0..=lows {
        let operations = Operations::find(&scheduler, number)?;
        let priority = Priority::new(operations.priority(&scheduler)?)?;
        let consumer: PushConsumerRef = match number {
            0 => poa.activate_with_priority(Arc::clone(&high), priority)?,
            _ => poa.activate_with_priority(Low(Arc::clone(&count)), priority)?,
        };
        // A lane of the channel serves the requests of one priority.
        orb.set_thread_priority(priority)?;
        let proxy = admin.obtain_push_supplier()?.ok_or(NIL)?;
        proxy.connect_push_consumer(Some(&consumer), &operations.wanted())?;
    }
    let mut latencies: Vec<Latency> = Vec::new();
    session::answer("ready", |line| {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["wait", events] => {
                latencies = high.take(events.parse()?)?;
                Ok("done".to_owned())
            }
            ["lows"] => Ok(count.load(Relaxed).to_string()),
            ["samples"] => {
                let times = latencies.iter().flat_map(|it| [it.from_push, it.from_release]);
                let samples: Vec<String> = times.map(|time| time.to_string()).collect();
                Ok(samples.join(" "))
            }
            _ => Err(session::no_command(line, "wait EVENTS, lows and samples").into()),
        }
    })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Connects the suppliers of all pairs to a channel, and pushes as requested on standard input.
pub(crate) fn push(scheduler: &str, lows: usize, channel: &str) -> Result {
    let orb = build(Orb::builder())?;
    let scheduler: SchedulerRef = orb.resolve(scheduler)?;
    let channel: EventChannelRef = orb.resolve(channel)?;
    let admin = channel.for_suppliers()?.ok_or(NIL)?;
    let connect = |number| -> Result<Supplier<Remote>> {
        let operations = Operations::find(&scheduler, number)?;
        let priority = operations.priority(&scheduler)?;
        // A lane of the channel serves the requests of one priority.
        orb.set_thread_priority(Priority::new(priority)?)?;
        let proxy = admin.obtain_push_consumer()?.ok_or(NIL)?;
        proxy.connect_push_supplier(None, &operations.published())?;
        let connection = Remote { orb: orb.clone(), proxy };
        Ok(Supplier { connection, event: operations.event(), priority })
    };
    let mut high = connect(0)?;
    let lows: Vec<_> = (1..=lows).map(connect).collect::<Result<_>>()?;
    session::answer("ready", |line| {
        let pushed = Rhythm::parse(line)?.push_all(&mut high, &lows)?;
        Ok(pushed.to_line())
    })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Supplier's connection to a channel in another process.
struct Remote {
    orb: Orb,
    proxy: ProxyPushConsumerRef,
}

impl Connection for Remote {
    fn prepare(&self, priority: i16) -> Result<bool> {
        self.orb.set_thread_priority(Priority::new(priority)?)?;
        // Opens the thread's connection to the lane of its priority.
        if self.proxy.non_existent()? {
            return Err("the channel has released a supplier".into());
        }
        Ok(self.orb.connection_statistics().count(Incident::NoRealTimePriority) == 0)
    }

    fn push(&self, event: &Event) -> Result {
        Ok(self.proxy.push(slice::from_ref(event))?)
    }
}

/// Builds an ORB whose threads have SCHED_FIFO priorities equal to their CORBA priorities, and private connections.
fn build(builder: Builder) -> Result<Orb> {
    // The default: a lane has more connections than threads, so that a thread must not stay with one of them for long.
    let builder = real_time(builder).setting("WorkerStay", "1");
    Ok(builder.client_connections(ClientConnections::Private).build()?)
}

/// Creates a threadpool with a lane for the low pairs and one for the high pair. Returns the policies of a POA that the
/// threadpool serves.
fn in_lanes(orb: &Orb, scheduler: &SchedulerRef, model: PriorityModel) -> Result<RtPolicies> {
    let [low, high] = [1, 0].map(|number| Operations::find(scheduler, number));
    let (low, high) = (low?.priority(scheduler)?, high?.priority(scheduler)?);
    let lane = |priority| -> Result<ThreadpoolLane> {
        Ok(ThreadpoolLane::new(Priority::new(priority)?, LANE_THREADS))
    };
    let lanes = [lane(low)?, lane(high)?];
    Ok(RtPolicies {
        threadpool: Some(orb.create_threadpool(Threadpool::with_lanes(lanes))?),
        priority_model: Some(PriorityModelPolicy { model, server_priority: low }),
        ..RtPolicies::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rhythm_and_the_results_of_its_suppliers_arrive_as_they_were_told() {
        let paced = Rhythm {
            events: 3_334,
            high_period: Duration::from_nanos(1_002_903),
            low_period: Some(Duration::from_micros(500)),
        };
        assert_eq!(paced.to_line(), "run 3334 1002903 500000");
        for rhythm in [paced, Rhythm { low_period: None, ..paced }] {
            assert_eq!(Rhythm::parse(&rhythm.to_line()).unwrap(), rhythm);
        }
        assert!(Rhythm::parse("run 1 2").is_err());
        assert!(Rhythm::parse("walk 1 2 3").is_err());

        let took = Duration::from_nanos(3_343_712_000);
        let pushed = Pushed { real_time: true, lows: 6_688, failed: 2, took };
        assert_eq!(pushed.to_line(), "true 6688 2 3343712000");
        assert_eq!(Pushed::parse(&pushed.to_line()).unwrap(), pushed);
        assert!(Pushed::parse("true").is_err());
    }
}
