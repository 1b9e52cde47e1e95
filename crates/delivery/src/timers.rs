//! Timer services, each with one thread for a limited number of timers.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxorb_sys::schedule::ThreadPriority;

use crate::clock::{Clock, nanoseconds};
use crate::heap::Heap;
use crate::sync::{Lock, Signal};

/// Maximum duration of a single sleep of the thread. It wakes earlier if a timer is due.
const LONG: Duration = Duration::from_secs(3600);

/// A timer service: one thread that calls callbacks at given times, one callback at a time.
///
/// Callbacks run on this thread and must return quickly, because a long callback delays all others. Cheap to clone. The
/// thread ends when the last clone is dropped. Arming, re-arming and stopping a timer take one lock and allocate
/// nothing.
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::time::Duration;
/// use oxorb_delivery::{ManualClock, Timers};
///
/// let clock = Arc::new(ManualClock::default());
/// let timers = Timers::manual(clock.clone(), 16);
/// let (tell, told) = mpsc::channel();
/// let timer = timers.add(move |fired| tell.send((fired.due, fired.missed)).unwrap())?;
/// timer.every(Duration::from_millis(10));
/// clock.advance(Duration::from_millis(10));
/// timers.run_due();
/// clock.advance(Duration::from_millis(35)); // the 20th, and two more that nobody was awake for
/// timers.run_due();
/// assert_eq!(told.try_iter().collect::<Vec<_>>(), [(10_000_000, 0), (20_000_000, 2)]);
/// # Ok::<(), oxorb_delivery::TooManyTimers>(())
/// ```
#[derive(Clone)]
pub struct Timers {
    owner: Arc<Owner>,
}

struct Owner {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    limit: usize,
    slots: Lock<Slots>,
    changed: Signal,
    ended: AtomicBool,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    armed: Heap,
}

struct Slot {
    /// `None` while the slot is free.
    callback: Option<Callback>,
    /// Period in nanoseconds; 0 if the timer fires once.
    period: u64,
}

type Callback = Arc<dyn Fn(Fired) + Send + Sync>;

/// A single firing of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Time for which the timer was armed, by the clock of the service.
    pub due: u64,
    /// Number of periods of a periodic timer that were skipped because the thread was late.
    pub missed: u64,
}

/// A timer. Dropping it stops the timer and frees its place in the service. A callback that has already begun may
/// continue after that.
pub struct Timer {
    shared: Arc<Shared>,
    slot: u32,
}

impl Timers {
    /// Starts the thread for at most `limit` timers. If `schedule` is `None`, the thread runs in SCHED_OTHER, whatever
    /// the scheduling of the calling thread. If the process is not permitted to use `schedule`, the thread runs without
    /// it.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(
        name: impl Into<String>,
        clock: Arc<dyn Clock>,
        limit: usize,
        schedule: Option<ThreadPriority>,
    ) -> io::Result<Timers> {
        let timers = Timers::manual(clock, limit);
        let shared = Arc::clone(&timers.owner.shared);
        let builder = oxorb_sys::thread::Builder::new(name);
        let builder = builder.schedule(schedule.unwrap_or_default());
        builder.spawn(move || shared.run())?;
        Ok(timers)
    }

    /// Creates a service without a thread: [`run_due`](Self::run_due) calls the callbacks.
    pub fn manual(clock: Arc<dyn Clock>, limit: usize) -> Timers {
        let shared = Arc::new(Shared {
            clock,
            limit: limit.min(u32::MAX as usize - 1),
            slots: Lock::new(Slots::default()),
            changed: Signal::default(),
            ended: AtomicBool::new(false),
        });
        Timers { owner: Arc::new(Owner { shared }) }
    }

    /// Adds a timer. The new timer is not armed.
    ///
    /// # Errors
    /// [`TooManyTimers`] if the service has its maximum number of timers.
    pub fn add(
        &self,
        callback: impl Fn(Fired) + Send + Sync + 'static,
    ) -> Result<Timer, TooManyTimers> {
        let shared = &self.owner.shared;
        let mut slots = shared.slots.lock();
        let slot = Slot { callback: Some(Arc::new(callback)), period: 0 };
        let number = match slots.free.pop() {
            Some(number) => {
                slots.slots[number as usize] = slot;
                number
            }
            None if slots.slots.len() >= shared.limit => {
                return Err(TooManyTimers { limit: shared.limit });
            }
            None => {
                slots.slots.push(slot);
                (slots.slots.len() - 1) as u32
            }
        };
        drop(slots);
        Ok(Timer { shared: Arc::clone(shared), slot: number })
    }

    /// Returns the clock of the service.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.owner.shared.clock
    }

    /// Calls the callbacks of all due timers, and returns the time at which the next timer is due.
    pub fn run_due(&self) -> Option<u64> {
        self.owner.shared.run_due()
    }
}

impl Timer {
    /// Arms the timer for a point in time. Replaces an earlier arming.
    pub fn at(&self, due: u64) {
        self.arm(due, 0);
    }

    /// Arms the timer to fire after this time. Replaces an earlier arming.
    pub fn after(&self, time: Duration) {
        let now = self.shared.clock.now();
        self.arm(now.saturating_add(nanoseconds(time)), 0);
    }

    /// Arms the timer to fire once per period, for the first time after one period. Replaces an earlier arming. A
    /// period of zero counts as one nanosecond.
    pub fn every(&self, period: Duration) {
        let period = nanoseconds(period).max(1);
        self.arm(self.shared.clock.now().saturating_add(period), period);
    }

    /// Disarms the timer.
    pub fn stop(&self) {
        self.shared.slots.lock().armed.remove(self.slot);
    }

    fn arm(&self, due: u64, period: u64) {
        let mut slots = self.shared.slots.lock();
        slots.slots[self.slot as usize].period = period;
        slots.armed.remove(self.slot);
        slots.armed.insert(self.slot, (due, 0, 0));
        let is_first = slots.armed.first().is_some_and(|(_, slot)| slot == self.slot);
        drop(slots);
        if is_first {
            self.shared.changed.notify();
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let mut slots = self.shared.slots.lock();
        slots.armed.remove(self.slot);
        let callback = slots.slots[self.slot as usize].callback.take();
        slots.free.push(self.slot);
        drop(slots);
        drop(callback);
    }
}

impl Shared {
    fn run(&self) {
        while !self.ended.load(Ordering::SeqCst) {
            let seen = self.changed.seen();
            let pause = match self.run_due() {
                Some(due) => Duration::from_nanos(due.saturating_sub(self.clock.now())).min(LONG),
                None => LONG,
            };
            // Check `ended` again: if it was set before `seen` was read, no later change would end the wait.
            if !pause.is_zero() && !self.ended.load(Ordering::SeqCst) {
                self.changed.wait(seen, pause);
            }
        }
    }

    fn run_due(&self) -> Option<u64> {
        let mut slots = self.slots.lock();
        loop {
            let ((due, ..), number) = slots.armed.first()?;
            let now = self.clock.now();
            if due > now || self.ended.load(Ordering::SeqCst) {
                return Some(due);
            }
            slots.armed.remove(number);
            let slot = &slots.slots[number as usize];
            let missed = (now - due).checked_div(slot.period).unwrap_or(0);
            if slot.period > 0 {
                let next = due.saturating_add((missed + 1).saturating_mul(slot.period));
                slots.armed.insert(number, (next, 0, 0));
            }
            let callback = slots.slots[number as usize].callback.clone();
            drop(slots);
            if let Some(callback) = callback {
                // Catch a panic of the callback, so that the thread continues with the other timers.
                let call = AssertUnwindSafe(|| callback(Fired { due, missed }));
                let _ = panic::catch_unwind(call);
            }
            slots = self.slots.lock();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.shared.changed.notify();
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.owner.shared.slots.lock();
        f.debug_struct("Timers")
            .field("timers", &(slots.slots.len() - slots.free.len()))
            .field("armed", &slots.armed.len())
            .field("limit", &self.owner.shared.limit)
            .finish()
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timer").field(&self.slot).finish()
    }
}

/// Error: all timers of a service are in use.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("all {limit} timers are in use: raise the limit of timers, or use fewer timeouts")]
pub struct TooManyTimers {
    /// Maximum number of timers of the service.
    pub limit: usize,
}

impl fmt::Debug for TooManyTimers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
