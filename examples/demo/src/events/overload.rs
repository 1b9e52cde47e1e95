//! More events than some consumers can handle. Urgent events overtake others, and each consumer loses only its own
//! events, by its overflow policy.

use std::fmt::{self, Display};
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb::SystemException;
use oxorb_event::delivery::{Order, Plan, Qos, WhenFull};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{
    ChannelOptions, ConsumerConnection, ConsumerDispatch, ConsumerStatistics, EventChannel, Filter,
    SupplierConnection, asks_for, publishes,
};
use oxorb_sys::sync::{Condvar, Mutex};
use serde::Serialize;

use super::{ALARM, READING, event, number, until};
use oxorb_terminal::output::{Done, FAINT, Failed, GOOD, STRONG, because, control, print};
use oxorb_terminal::statistics::{Latencies, Percentiles, Time};

/// Events per second: readings of four sources, and alarms.
const RATE: u32 = 520;

/// Number of events per alarm.
const ALARM_EVERY: u64 = 26;

/// Time of a slow consumer for an event.
const SLOW: Duration = Duration::from_millis(5);

/// Number of events that may wait for a slow consumer.
const QUEUE: usize = 64;

/// Time between two updates of the display.
const REFRESH: Duration = Duration::from_millis(250);

/// Consumer of the act.
struct Role {
    name: &'static str,
    pace: &'static str,
    policy: &'static str,
    pause: Duration,
    is_stuck: bool,
    queue: Qos,
    urgent_first: bool,
}

fn roles() -> [Role; 5] {
    let role = |name, policy, when_full| Role {
        name,
        pace: "5 ms each",
        policy,
        pause: SLOW,
        is_stuck: false,
        queue: Qos { events: QUEUE, when_full, ..Qos::default() },
        urgent_first: false,
    };
    let mut urgent = role("operator", "urgent first, drop least urgent", WhenFull::DropLeastUrgent);
    urgent.urgent_first = true;
    urgent.queue.order = Order::Priority;
    [
        Role {
            pace: "at once",
            pause: Duration::ZERO,
            queue: super::queue(),
            ..role("display", "in the order of arrival", WhenFull::DropOldest)
        },
        role("logbook", "in order, drop oldest", WhenFull::DropOldest),
        urgent,
        role("map", "keep latest of each source", WhenFull::KeepLatest),
        Role {
            pace: "stuck",
            is_stuck: true,
            pause: Duration::ZERO,
            ..role("stuck", "drop newest", WhenFull::DropNewest)
        },
    ]
}

/// Consumer that takes some time for each event.
struct Taker {
    pause: Duration,
    /// Origin of the times in events.
    start: Instant,
    stuck: Mutex<bool>,
    freed: Condvar,
    readings: Mutex<Latencies>,
    alarms: Mutex<Latencies>,
    /// Number of the last event of each source.
    last: [AtomicU64; 5],
    out_of_order: AtomicBool,
}

impl Taker {
    fn new(role: &Role, start: Instant) -> Taker {
        Taker {
            pause: role.pause,
            start,
            stuck: Mutex::new(role.is_stuck),
            freed: Condvar::new(),
            readings: Mutex::new(Latencies::new()),
            alarms: Mutex::new(Latencies::new()),
            last: Default::default(),
            out_of_order: AtomicBool::new(false),
        }
    }

    fn free(&self) {
        *self.stuck.lock() = false;
        self.freed.notify_all();
    }
}

impl PushConsumer for Taker {
    fn push(&self, events: &[Event]) {
        let stuck = self.stuck.lock();
        drop(self.freed.wait_while(stuck, |stuck| *stuck));
        for event in events {
            // Numbers are nanoseconds since the start.
            let sent = number(event);
            let age = self.start.elapsed().saturating_sub(Duration::from_nanos(sent));
            let latencies = match event.header.r#type {
                ALARM => &self.alarms,
                _ => &self.readings,
            };
            let mut latencies = latencies.lock();
            latencies.record(age);
            drop(latencies);
            let last = &self.last[event.header.source.rem_euclid(5) as usize];
            if last.swap(sent, Relaxed) > sent {
                self.out_of_order.store(true, Relaxed);
            }
        }
        std::thread::sleep(self.pause);
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Result of the act.
#[derive(Serialize)]
pub(super) struct Seen {
    pushed: u64,
    alarms: u64,
    consumers: Vec<SeenConsumer>,
}

#[derive(Serialize)]
struct SeenConsumer {
    name: &'static str,
    pace: &'static str,
    policy: &'static str,
    matched: u64,
    delivered: u64,
    waiting: u64,
    dropped: u64,
    /// Whether the events of each source arrived in order.
    in_order: bool,
    readings: Percentiles,
    alarms: Percentiles,
}

/// Plays the act, and shows it live if requested.
pub(super) fn play(length: Duration, says: bool) -> Result<Seen, Failed> {
    let plan = Plan::pool(roles().len() + 1);
    let channel = EventChannel::queued(ChannelOptions::default(), plan, super::queue())?;
    let start = Instant::now();
    let mut consumers = Vec::new();
    for role in roles() {
        let taker = Arc::new(Taker::new(&role, start));
        let priorities = match role.urgent_first {
            true => vec![((ALARM, 0), 10)],
            false => Vec::new(),
        };
        let dispatch = ConsumerDispatch {
            queue: role.queue.clone(),
            priorities,
            ..ConsumerDispatch::default()
        };
        let wanted = asks_for(&Filter::ALL);
        let connection = channel.connect_consumer_with(taker.clone(), &wanted, dispatch)?;
        consumers.push(Playing { role, taker, connection });
    }
    let supplier = channel.connect_supplier(None, &publishes([(READING, 0), (ALARM, 0)]))?;
    let mut shown = Live::new(says);
    let mut seen = Seen { pushed: 0, alarms: 0, consumers: Vec::new() };
    let period = Duration::from_secs(1) / RATE;
    let mut next_look = REFRESH;
    while start.elapsed() < length {
        push(&supplier, start, &mut seen)?;
        if start.elapsed() >= next_look {
            next_look += REFRESH;
            seen.look(&channel, &consumers);
            shown.draw(&seen)?;
        }
        let due = period * seen.pushed as u32;
        std::thread::sleep(due.saturating_sub(start.elapsed()));
    }
    // The table shows the moment at which the supplier ends; the count, the one at which no event waits.
    seen.look(&channel, &consumers);
    shown.finish(&seen)?;
    consumers.iter().for_each(|one| one.taker.free());
    let waiting = |channel: &EventChannel| {
        let consumers = channel.statistics().consumers;
        consumers.iter().any(|one| one.queue.waiting > 0)
    };
    until("empty queues", || !waiting(&channel))?;
    seen.look(&channel, &consumers);
    seen.check()?;
    if says {
        print(&seen)?;
    }
    Ok(seen)
}

/// Pushes the next event.
fn push(supplier: &SupplierConnection, start: Instant, seen: &mut Seen) -> Done {
    let is_alarm = seen.pushed % ALARM_EVERY == ALARM_EVERY - 1;
    let (kind, source) = match is_alarm {
        true => (ALARM, 5),
        false => (READING, 1 + (seen.pushed % 4) as i32),
    };
    let now = start.elapsed().as_nanos() as u64;
    supplier.push(&[event(kind, source, now)])?;
    seen.pushed += 1;
    seen.alarms += u64::from(is_alarm);
    Ok(())
}

/// Connected consumer.
struct Playing {
    role: Role,
    taker: Arc<Taker>,
    connection: ConsumerConnection,
}

impl Playing {
    fn seen(&self, all: &[ConsumerStatistics]) -> Option<SeenConsumer> {
        let number = self.connection.number();
        let counted = all.iter().find(|one| one.number == number)?;
        let of = |latencies: &Mutex<Latencies>| {
            let latencies = latencies.lock();
            latencies.percentiles()
        };
        Some(SeenConsumer {
            name: self.role.name,
            pace: self.role.pace,
            policy: self.role.policy,
            matched: counted.matched,
            delivered: counted.delivered,
            waiting: counted.queue.waiting,
            dropped: counted.suspended + counted.failed + counted.dropped,
            in_order: !self.taker.out_of_order.load(Relaxed),
            readings: of(&self.taker.readings),
            alarms: of(&self.taker.alarms),
        })
    }
}

impl Seen {
    fn look(&mut self, channel: &EventChannel, consumers: &[Playing]) {
        let all = channel.statistics().consumers;
        let seen = consumers.iter().filter_map(|one| one.seen(&all));
        self.consumers = seen.collect();
    }

    /// Compares the pushed events with the counts of the consumers and their queues.
    fn check(&self) -> Done {
        for one in &self.consumers {
            let accounted = one.delivered + one.dropped;
            let taken = one.readings.calls + one.alarms.calls;
            let counted = one.matched == self.pushed && accounted == one.matched;
            if !counted || taken != one.delivered || !one.in_order {
                return Err(because(format!(
                    "the count of {} is wrong: {} pushed, {} matched, {} delivered, {taken} taken, {} dropped, in \
                     order: {}",
                    one.name, self.pushed, one.matched, one.delivered, one.dropped, one.in_order
                )));
            }
        }
        let [display, _, operator, ..] = &self.consumers[..] else {
            return Err(because("the channel released a consumer"));
        };
        if display.dropped > 0 || operator.alarms.calls != self.alarms {
            return Err(because(format!(
                "{} events of the fast consumer were dropped, and {} of {} alarms reached the consumer that receives \
                 them first",
                display.dropped, operator.alarms.calls, self.alarms
            )));
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut text = format!(
            "{FAINT}{:<9} {:<10} {:<32} {:>9} {:>8} {:>8} {:>12} {:>12}{FAINT:#}\n",
            "consumer",
            "takes",
            "its queue",
            "delivered",
            "waiting",
            "dropped",
            "alarm, p50",
            "max"
        );
        for one in &self.consumers {
            let times = match one.alarms.calls {
                0 => ["-".to_owned(), "-".to_owned()],
                _ => [one.alarms.p50_ns, one.alarms.max_ns].map(|time| Time(time).to_string()),
            };
            let [p50, max] = times;
            text += &format!(
                "{STRONG}{:<9}{STRONG:#} {:<10} {:<32} {:>9} {:>8} {:>8} {p50:>12} {max:>12}\n",
                one.name, one.pace, one.policy, one.delivered, one.waiting, one.dropped
            );
        }
        text
    }
}

impl Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let median = |at: usize| self.consumers.get(at).map_or(0, |one| one.alarms.p50_ns);
        writeln!(
            f,
            "An alarm overtakes the readings in the operator's queue ({} instead of {} in the logbook's queue), and \
             none\nof {} is lost there. A slow consumer loses only its own events, by its own policy; the display \
             received all {}.\n\
             {GOOD}Counted{GOOD:#}: for each consumer, events pushed = delivered + dropped.",
            Time(median(2)),
            Time(median(1)),
            self.alarms,
            self.pushed
        )
    }
}

/// Table while the act runs, on a terminal.
struct Live {
    is_live: bool,
    says: bool,
    drawn: usize,
}

impl Live {
    fn new(says: bool) -> Live {
        let can = std::io::stdout().is_terminal()
            && std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
        Live { is_live: says && can, says, drawn: 0 }
    }

    fn draw(&mut self, seen: &Seen) -> Done {
        match self.is_live {
            true => self.replace(seen),
            false => Ok(()),
        }
    }

    fn finish(&mut self, seen: &Seen) -> Done {
        match self.says {
            true => self.replace(seen),
            false => Ok(()),
        }
    }

    fn replace(&mut self, seen: &Seen) -> Done {
        if self.drawn > 0 {
            control(&format!("\x1b[{}A\x1b[J", self.drawn))?;
        }
        let text = seen.table();
        self.drawn = text.lines().count();
        print(text)
    }
}
