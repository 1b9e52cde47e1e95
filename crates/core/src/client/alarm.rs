//! Alarms that wake tasks at a set time: one thread for the calls of each priority, which runs while alarms are set.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use oxorb_rt::Priority;
use oxorb_sys::thread::ThreadPurpose;

use crate::threads::lock::Mutex;
use crate::threads::sync::{Condvar, MutexGuard};
use crate::threads::{Ends, Threads, clock};

/// Time that the thread waits for further alarms before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Alarms for the calls of one priority: at most one for each asynchronous call that a caller holds.
pub(crate) struct Alarms {
    threads: Arc<Threads>,
    priority: Option<Priority>,
    state: Mutex<AlarmsState>,
    changed: Condvar,
}

#[derive(Default)]
struct AlarmsState {
    tasks: BTreeMap<AlarmKey, Waker>,
    next: u64,
    running: bool,
    closed: bool,
}

/// Time of an alarm, and a number that no other alarm has.
type AlarmKey = (Instant, u64);

/// Alarm that wakes a task, unless it is dropped before.
pub(super) struct Alarm {
    of: Arc<Alarms>,
    key: AlarmKey,
}

impl Alarms {
    pub(crate) fn new(threads: &Arc<Threads>, priority: Option<Priority>) -> Self {
        Alarms {
            threads: Arc::clone(threads),
            priority,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Sets an alarm that wakes a task at `at`. Returns `None` if there is no thread for the alarm, because the ORB has
    /// ended or the system refuses to start one.
    pub(super) fn set(self: &Arc<Self>, at: Instant, task: &Waker) -> Option<Alarm> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        if !state.running {
            let alarms = Arc::clone(self);
            self.threads
                .spawn(ThreadPurpose::Alarms, "oxorb-alarms", self.priority, move || alarms.run())
                .ok()?;
            state.running = true;
        }
        let key = (at, state.next);
        state.next += 1;
        state.tasks.insert(key, task.clone());
        let soonest = state.tasks.first_key_value();
        if soonest.is_some_and(|(first, _)| *first == key) {
            self.changed.notify_all();
        }
        Some(Alarm { of: Arc::clone(self), key })
    }

    fn run(&self) {
        let mut state = self.state();
        let mut idle_since = clock::now();
        loop {
            let now = clock::now();
            let next = state.tasks.first_key_value().map(|((at, _), _)| *at);
            if next.is_some_and(|at| at <= now) {
                let due = state.tasks.pop_first();
                drop(state);
                if let Some((_, task)) = due {
                    task.wake();
                }
                idle_since = now;
                state = self.state();
                continue;
            }
            let until = next.unwrap_or(idle_since + IDLE);
            if state.closed || until <= now {
                state.running = false;
                return;
            }
            let wait = until.saturating_duration_since(now);
            state = self.changed.wait_timeout(state, wait).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, AlarmsState> {
        self.state.lock()
    }
}

impl Ends for Alarms {
    /// Wakes all tasks and ends the thread, because the ORB has ended.
    fn close(&self) {
        let tasks = {
            let mut state = self.state();
            state.closed = true;
            self.changed.notify_all();
            std::mem::take(&mut state.tasks)
        };
        tasks.into_values().for_each(Waker::wake);
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let forgotten = self.of.state().tasks.remove(&self.key);
        // Dropping a waker may run any code, so the waker is dropped after the lock is released.
        drop(forgotten);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;

    use super::*;

    struct Told(mpsc::Sender<u32>, u32);

    impl Wake for Told {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(self.1);
        }
    }

    #[test]
    fn each_is_woken_at_its_time_and_none_that_has_gone() {
        let scheduling = Arc::new(crate::threads::rt::Scheduling::new(&crate::RealTime::default()));
        let alarms = Arc::new(Alarms::new(&Threads::new(&scheduling), None));
        let (sender, told) = mpsc::channel();
        let now = clock::now();
        let at = |milliseconds: u64, number| {
            let task = Waker::from(Arc::new(Told(sender.clone(), number)));
            alarms.set(now + Duration::from_millis(milliseconds), &task)
        };
        let (late, gone, soon) = (at(600, 3), at(300, 2), at(150, 1));
        drop(gone);
        assert_eq!(told.recv(), Ok(1));
        assert_eq!(told.recv(), Ok(3));
        assert!(clock::since(now) >= Duration::from_millis(600));
        let last = at(3_600_000, 4);
        alarms.close();
        assert_eq!(told.recv(), Ok(4), "the end wakes everybody");
        assert!(at(0, 5).is_none());
        drop((late, soon, last));
    }
}
