//! Suppliers and consumers of the high-priority pair and of the low-priority pairs, and a round of them in one process.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use oxorb_event::delivery::{SchedulingClass, ThreadPriority};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{EventChannel, SupplierConnection};
use oxorb_sys::sync::Mutex;
use oxorb_sys::{schedule, thread as system};

use super::scheduled::{Scheduled, scheduled_channel};
use crate::Result;
use crate::load::{Start, now, sleep_until};

/// Maximum number of threads of the low-priority suppliers: each thread pushes for its share of the suppliers in turn.
const THREADS: usize = 8;

/// Number of events that the high supplier pushes before the measurement, so that its connections exist.
const WARM_UP: u32 = 3;

/// Capacity of the list of a round's latencies.
const MANY: usize = 1 << 20;

/// Number of octets of an event's payload: the times of its push and of its release.
pub(super) const PAYLOAD: usize = 16;

/// Time after which a waiting event counts as lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Load of a round: the number of low pairs, the rhythm of all suppliers, and the CPU of all threads.
pub(super) struct Load {
    pub(super) lows: usize,
    pub(super) rhythm: Rhythm,
    pub(super) cpu: usize,
}

/// Number of events of the high supplier in a round, and the periods of all suppliers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rhythm {
    pub(super) events: u32,
    pub(super) high_period: Duration,
    /// Period of each low supplier; `None` if the low suppliers push back to back.
    pub(super) low_period: Option<Duration>,
}

/// Supplier that is connected to a channel.
pub(super) struct Supplier<C> {
    pub(super) connection: C,
    pub(super) event: Event,
    /// Priority of the supplier's thread.
    pub(super) priority: i16,
}

/// Connection of a supplier to a channel.
pub(super) trait Connection: Send + Sync {
    /// Prepares the calling thread for pushing at a priority; reports whether the thread may have the priority.
    fn prepare(&self, priority: i16) -> Result<bool>;

    /// Pushes an event. After an error, the event is in no count of the channel.
    fn push(&self, event: &Event) -> Result;
}

impl Connection for SupplierConnection {
    fn prepare(&self, priority: i16) -> Result<bool> {
        let fifo = ThreadPriority { class: SchedulingClass::Fifo, priority: priority.into() };
        Ok(schedule::set_current(fifo).is_ok())
    }

    fn push(&self, event: &Event) -> Result {
        Ok(SupplierConnection::push(self, slice::from_ref(event))?)
    }
}

/// Results of rounds.
#[derive(Default)]
pub(super) struct Seen {
    /// Latencies of the events of the high pair, in the order of their arrival.
    pub(super) latencies: Vec<Latency>,
    /// Number of events received by low consumers.
    pub(super) lows: u64,
    /// Number of events that were lost: their push failed, or the channel dropped them or could not send them.
    pub(super) dropped: u64,
    /// Time from the start to the end of pushing, over all rounds.
    pub(super) took: Duration,
}

/// Times until the consumer receives an event of the high pair, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Latency {
    /// Time from the start of the event's push.
    pub(super) from_push: u64,
    /// Time from the event's release, at which its push should begin. It exceeds `from_push` if the push began late,
    /// because the supplier's thread ran late or the previous push returned late.
    pub(super) from_release: u64,
}

/// Results of the suppliers in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pushed {
    /// Whether the threads had the requested priorities.
    pub(super) real_time: bool,
    /// Number of low events that were pushed without an error.
    pub(super) lows: u64,
    /// Number of low events whose push failed.
    pub(super) failed: u64,
    /// Time from the start to the end of the high supplier's last push.
    pub(super) took: Duration,
}

impl Pushed {
    fn nothing(real_time: bool) -> Pushed {
        Pushed { real_time, lows: 0, failed: 0, took: Duration::ZERO }
    }

    /// Adds the results of another thread.
    fn add(&mut self, other: Pushed) {
        self.real_time &= other.real_time;
        self.lows += other.lows;
        self.failed += other.failed;
        self.took = self.took.max(other.took);
    }
}

/// Consumer of the high pair, whose events carry the times of their push and of their release on the clock of the
/// machine. A push at time 0 marks an event before the measurement.
pub(super) struct High(Mutex<Vec<Latency>>);

impl High {
    pub(super) fn new() -> High {
        High(Mutex::new(Vec::with_capacity(MANY)))
    }

    /// Waits until this number of events has arrived, and returns their latencies.
    pub(super) fn take(&self, events: u32) -> Result<Vec<Latency>> {
        let until = now() + PATIENCE;
        loop {
            let mut latencies = self.0.lock();
            let came = latencies.len();
            if came == events as usize {
                return Ok(std::mem::take(&mut *latencies));
            }
            drop(latencies);
            if came > events as usize || now() > until {
                let error = format!("{events} events of the high pair were pushed, {came} came");
                return Err(error.into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl PushConsumer for High {
    fn push(&self, events: &[Event]) {
        let now = nanoseconds(now());
        let latency = |(pushed, released)| Latency {
            from_push: now.saturating_sub(pushed),
            from_release: now.saturating_sub(released),
        };
        self.0.lock().extend(events.iter().filter_map(times).map(latency));
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Consumer of a low pair. All low consumers count their events together.
pub(super) struct Low(pub(super) Arc<AtomicU64>);

impl PushConsumer for Low {
    fn push(&self, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Rhythm {
    /// Returns the duration of a round.
    pub(super) fn duration(&self) -> Duration {
        self.high_period * self.events
    }

    /// Pushes the events of the high supplier. The low suppliers push until the high supplier has ended. Each thread of
    /// low suppliers pushes at least one event. A failed push of the high supplier is an error.
    pub(super) fn push_all<C: Connection>(
        &self,
        high: &mut Supplier<C>,
        lows: &[Supplier<C>],
    ) -> Result<Pushed> {
        let threads = THREADS.min(lows.len());
        let (start, over) = (Start::new(threads + 1), AtomicBool::new(false));
        thread::scope(|scope| {
            let (start, over) = (&start, &over);
            let spawn =
                |first| scope.spawn(move || self.push_lows(lows, (first, threads), start, over));
            let pushing: Vec<_> = (0..threads).map(spawn).collect();
            let highs = scope.spawn(move || {
                let pushed = self.push_high(high, start);
                over.store(true, Relaxed);
                pushed
            });
            let mut pushed = highs.join().expect("a supplier does not panic")?;
            for low in pushing {
                pushed.add(low.join().expect("a supplier does not panic")?);
            }
            Ok(pushed)
        })
    }

    fn push_high<C: Connection>(&self, high: &mut Supplier<C>, start: &Start) -> Result<Pushed> {
        let prepared = high.connection.prepare(high.priority).and_then(|real_time| {
            high.event.data.payload.fill(0);
            for _ in 0..WARM_UP {
                high.connection.push(&high.event)?;
            }
            Ok(real_time)
        });
        // Waits even after a failure, because the other threads wait for this one.
        let begin = start.wait();
        let real_time = prepared?;
        for number in 1..=self.events {
            let release = begin + self.high_period * number;
            sleep_until(release);
            let (pushed, released) = high.event.data.payload.split_at_mut(PAYLOAD / 2);
            released.copy_from_slice(&nanoseconds(release).to_le_bytes());
            pushed.copy_from_slice(&nanoseconds(now()).to_le_bytes());
            high.connection.push(&high.event)?;
        }
        Ok(Pushed { took: now() - begin, ..Pushed::nothing(real_time) })
    }

    /// Pushes events for every `threads`-th low supplier, starting with number `first`, until the high supplier has
    /// ended.
    fn push_lows<C: Connection>(
        &self,
        lows: &[Supplier<C>],
        (first, threads): (usize, usize),
        start: &Start,
        over: &AtomicBool,
    ) -> Result<Pushed> {
        let prepared = lows[first].connection.prepare(lows[first].priority);
        // Waits even after a failure, because the other threads wait for this one.
        let begin = start.wait();
        let mut pushed = Pushed::nothing(prepared?);
        let mut turn = 0;
        loop {
            for number in (first..lows.len()).step_by(threads) {
                if let Some(period) = self.low_period {
                    // The phases of the low suppliers are spread over the period.
                    let phase = period * number as u32 / lows.len() as u32;
                    sleep_until(begin + period * turn + phase);
                }
                let is_first = pushed.lows + pushed.failed == 0;
                if over.load(Relaxed) && !is_first {
                    return Ok(pushed);
                }
                let low = &lows[number];
                // An event that the queue drops is no error: the channel counts it.
                match low.connection.push(&low.event) {
                    Ok(()) => pushed.lows += 1,
                    Err(_) => pushed.failed += 1,
                }
            }
            turn += 1;
        }
    }
}

impl Load {
    /// Measures a round in this process; reports whether the threads had the requested priorities.
    pub(super) fn measure(&self, scheduled: &Scheduled, seen: &mut Seen) -> Result<bool> {
        // All threads of the channel inherit the CPU of the thread that creates it.
        thread::scope(|scope| {
            let round = scope.spawn(|| {
                system::pin_current_thread(self.cpu)
                    .map_err(|error| format!("cannot run on CPU {}: {error}", self.cpu))?;
                self.round(scheduled, seen)
            });
            round.join().expect("a round does not panic")
        })
    }

    fn round(&self, scheduled: &Scheduled, seen: &mut Seen) -> Result<bool> {
        let channel = scheduled_channel(scheduled.scheduler(), self.lows)?;
        let high = Arc::new(High::new());
        let count = Arc::new(AtomicU64::new(0));
        let low = Arc::new(Low(Arc::clone(&count)));
        let (mut supplier, _consumer) = scheduled.connect(&channel, 0, high.clone())?;
        let lows: Vec<_> = (1..=self.lows)
            .map(|number| scheduled.connect(&channel, number, low.clone()))
            .collect::<Result<_>>()?;
        let (lows, _consumers): (Vec<_>, Vec<_>) = lows.into_iter().unzip();
        let pushed = self.rhythm.push_all(&mut supplier, &lows)?;
        let until = now() + PATIENCE;
        let waiting = || channel.statistics().consumers.iter().any(|it| it.queue.waiting > 0);
        while waiting() {
            if now() > until {
                return Err("events wait although nobody pushes any more".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        seen.latencies.append(&mut high.take(self.rhythm.events)?);
        seen.lows += count.load(Relaxed);
        seen.dropped += pushed.failed + dropped(&channel);
        seen.took += pushed.took;
        channel.destroy();
        Ok(pushed.real_time)
    }
}

/// Returns the number of events that a channel dropped or could not send.
pub(super) fn dropped(channel: &EventChannel) -> u64 {
    channel.statistics().consumers.iter().map(|it| it.dropped + it.failed).sum()
}

/// Returns the times of an event's push and release; `None` for an event before the measurement.
fn times(event: &Event) -> Option<(u64, u64)> {
    let (pushed, released) = event.data.payload.split_first_chunk::<8>()?;
    let pushed = u64::from_le_bytes(*pushed);
    let released = u64::from_le_bytes(released.try_into().ok()?);
    (pushed > 0).then_some((pushed, released))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connection that records the payloads of its events.
    #[derive(Default)]
    struct Recorded {
        payloads: Mutex<Vec<Vec<u8>>>,
        /// Whether each push fails after it was recorded.
        fails: bool,
    }

    impl Connection for Recorded {
        fn prepare(&self, _: i16) -> Result<bool> {
            Ok(true)
        }

        fn push(&self, event: &Event) -> Result {
            self.payloads.lock().push(event.data.payload.clone());
            if self.fails { Err("no connection".into()) } else { Ok(()) }
        }
    }

    fn supplier() -> Supplier<Recorded> {
        Supplier { connection: Recorded::default(), event: event(0, 0), priority: 0 }
    }

    fn event(pushed: u64, released: u64) -> Event {
        let mut event = Event::default();
        event.data.payload = [pushed.to_le_bytes(), released.to_le_bytes()].concat();
        event
    }

    #[test]
    fn the_high_supplier_pushes_every_event_and_its_consumer_counts_those_with_a_time() {
        let period = Duration::from_millis(1);
        let rhythm = Rhythm { events: 5, high_period: period, low_period: Some(period) };
        let (mut high, lows) = (supplier(), [supplier(), supplier()]);
        let pushed = rhythm.push_all(&mut high, &lows).unwrap();
        assert!(pushed.real_time && pushed.took >= rhythm.duration(), "{pushed:?}");
        let payloads = high.connection.payloads.lock();
        assert_eq!(payloads.len(), (5 + WARM_UP) as usize);
        let consumer = High::new();
        for payload in &*payloads {
            let mut event = Event::default();
            event.data.payload = payload.clone();
            consumer.push(&[event]);
        }
        let latencies = consumer.take(5).unwrap();
        assert!(latencies.iter().all(|it| it.from_release >= it.from_push), "{latencies:?}");
    }

    #[test]
    fn every_low_supplier_s_thread_pushes_and_failed_pushes_are_counted() {
        let period = Duration::from_millis(1);
        let rhythm = Rhythm { events: 1, high_period: period, low_period: Some(period) };
        let (mut high, mut lows) = (supplier(), [supplier(), supplier()]);
        lows[1].connection.fails = true;
        let pushed = rhythm.push_all(&mut high, &lows).unwrap();
        let counts = lows.each_ref().map(|low| low.connection.payloads.lock().len() as u64);
        assert_eq!(counts, [pushed.lows, pushed.failed]);
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
        high.connection.fails = true;
        assert!(rhythm.push_all(&mut high, &lows).is_err());
    }

    #[test]
    fn the_latency_from_the_release_includes_the_late_begin_of_the_push() {
        let consumer = High::new();
        consumer.push(&[event(5_000, 2_000)]);
        let latencies = consumer.take(1).unwrap();
        assert_eq!(latencies[0].from_release - latencies[0].from_push, 3_000);
    }

    #[test]
    fn more_events_than_were_pushed_are_an_error() {
        let consumer = High::new();
        consumer.push(&[event(1, 1), event(1, 1)]);
        assert!(consumer.take(1).is_err());
        assert_eq!(consumer.take(2).unwrap().len(), 2);
    }
}
