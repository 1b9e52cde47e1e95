//! Round of the high-priority pair and the low-priority pairs, on one CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_event::delivery::{Class, Qos, Schedule, WhenFull};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{EventChannel, PushError};
use oxorb_sys::sync::Mutex;
use oxorb_sys::{schedule, thread as system};

use super::scheduled::{Pair, Scheduled, options};
use crate::Result;

/// Maximum number of threads of the low-priority suppliers: each thread pushes for its share of the suppliers in turn.
const THREADS: usize = 8;

/// Number of events that may wait for a low consumer before its supplier waits.
const QUEUE: usize = 64;

/// Time after which a waiting event counts as lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// Number of pairs in a round, and their rates.
pub(super) struct Load {
    pub(super) lows: usize,
    pub(super) duration: Duration,
    pub(super) high_period: Duration,
    /// Period of low suppliers; `None`: back to back.
    pub(super) low_period: Option<Duration>,
    pub(super) cpu: usize,
}

/// Results of rounds.
#[derive(Default)]
pub(super) struct Seen {
    /// Times from a push to the consumer, in nanoseconds.
    pub(super) latencies: Vec<u64>,
    /// Number of events received by low consumers.
    pub(super) lows: u64,
    /// Number of events dropped by queues.
    pub(super) dropped: u64,
}

/// Consumer of the high pair, whose events carry the time of their push.
struct High {
    began: Instant,
    latencies: Mutex<Vec<u64>>,
}

impl PushConsumer for High {
    fn push(&self, events: &[Event]) {
        let now = nanoseconds(self.began.elapsed());
        let mut latencies = self.latencies.lock();
        for event in events {
            if let Ok(pushed) = <[u8; 8]>::try_from(event.data.payload.as_slice()) {
                latencies.push(now.saturating_sub(u64::from_le_bytes(pushed)));
            }
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Counter of the events of all low pairs.
struct Low(AtomicU64);

impl PushConsumer for Low {
    fn push(&self, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Load {
    /// Returns the periods that the schedule has for the high pair and for the low pairs.
    pub(super) fn periods(&self, low_hz: u32) -> [Duration; 2] {
        [self.high_period, Duration::from_secs(1) / low_hz]
    }

    /// Measures a round; reports whether the threads had the requested priorities.
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
        let queue = Qos {
            events: QUEUE,
            when_full: WhenFull::DropNewest,
            wait: Duration::from_secs(1),
            ..Qos::default()
        };
        let channel = EventChannel::queued(options(self.lows), scheduled.plan()?, queue)?;
        channel.schedule_with(scheduled.scheduler().clone());
        let high = Arc::new(High {
            began: Instant::now(),
            latencies: Mutex::new(Vec::with_capacity(1 << 20)),
        });
        let low = Arc::new(Low(AtomicU64::new(0)));
        let mut pair = scheduled.connect(&channel, 0, high.clone())?;
        let lows: Vec<Pair> = (1..=self.lows)
            .map(|number| scheduled.connect(&channel, number, low.clone()))
            .collect::<Result<_>>()?;
        let over = AtomicBool::new(false);
        let begin = Instant::now() + Duration::from_millis(100);
        let real_time = thread::scope(|scope| {
            let threads = THREADS.min(self.lows);
            for first in 0..threads {
                let (lows, over) = (&lows, &over);
                scope.spawn(move || self.push_lows(lows, (first, threads), begin, over));
            }
            let highs = scope.spawn(|| {
                let real_time = run_at(pair.priority);
                let pushed = self.push_high(&mut pair, &high, begin);
                over.store(true, Relaxed);
                (real_time, pushed)
            });
            highs.join().expect("a supplier does not panic")
        });
        let (real_time, pushed) = real_time;
        let pushed = pushed?;
        let until = Instant::now() + PATIENCE;
        let waiting = || channel.statistics().consumers.iter().any(|it| it.queue.waiting > 0);
        while waiting() {
            if Instant::now() > until {
                return Err("events wait although nobody pushes any more".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let consumers = channel.statistics().consumers;
        seen.dropped += consumers.iter().map(|it| it.dropped).sum::<u64>();
        seen.lows += low.0.load(Relaxed);
        let mut latencies = high.latencies.lock();
        if latencies.len() as u64 != pushed {
            let came = latencies.len();
            return Err(format!("{pushed} events of the high pair were pushed, {came} came").into());
        }
        seen.latencies.append(&mut latencies);
        channel.destroy();
        Ok(real_time)
    }

    /// Pushes the events of the high pair for the duration of the round; returns their number.
    fn push_high(&self, pair: &mut Pair, high: &High, begin: Instant) -> Result<u64, PushError> {
        let mut pushed = 0;
        let mut next = begin + self.high_period;
        while next < begin + self.duration {
            sleep_until(next);
            let now = nanoseconds(high.began.elapsed());
            pair.event.data.payload.copy_from_slice(&now.to_le_bytes());
            pair.supplier.push(std::slice::from_ref(&pair.event))?;
            pushed += 1;
            next += self.high_period;
        }
        Ok(pushed)
    }

    /// Pushes events for every `threads`-th low pair, starting with number `first`, until the high pair is done.
    fn push_lows(
        &self,
        lows: &[Pair],
        (first, threads): (usize, usize),
        begin: Instant,
        over: &AtomicBool,
    ) {
        run_at(lows[first].priority);
        sleep_until(begin);
        for turn in 0.. {
            for number in (first..lows.len()).step_by(threads) {
                if let Some(period) = self.low_period {
                    // Spread over the period.
                    let phase = period * number as u32 / lows.len() as u32;
                    sleep_until(begin + period * turn + phase);
                }
                if over.load(Relaxed) {
                    return;
                }
                let low = &lows[number];
                // The channel counts the event by the queue's decision on it.
                let _ = low.supplier.push(std::slice::from_ref(&low.event));
            }
        }
    }
}

/// Sets the calling thread's SCHED_FIFO priority; reports whether that is permitted.
fn run_at(priority: i32) -> bool {
    let fifo = Schedule { class: Class::Fifo, priority };
    schedule::set_current(fifo).is_ok()
}

fn sleep_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
