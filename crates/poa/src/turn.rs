//! Mutual exclusion of the requests of a single-threaded POA, or of the calls of a servant
//! activator.

use std::thread::{self, ThreadId};
use std::time::Instant;

use oxorb_core::lock::{Condvar, Mutex, MutexGuard};
use oxorb_object::SystemException;

use crate::etherealizer::{self, Job};
use crate::refusal::DISCARDED;

/// Reentrant lock for which a bounded number of threads wait for a bounded time.
#[derive(Default)]
pub(crate) struct Turn {
    state: Mutex<State>,
    free: Condvar,
}

#[derive(Default)]
struct State {
    owner: Option<ThreadId>,
    depth: usize,
    waiting: usize,
    /// Jobs deferred until no thread holds the turn.
    later: Vec<Job>,
}

/// Guard of a thread that holds the turn.
pub(crate) struct Held<'t>(&'t Turn);

impl Turn {
    /// Waits for the turn. Fails with TRANSIENT when `most` threads already wait, or at `until`.
    pub(crate) fn enter(&self, most: usize, until: Instant) -> Result<Held<'_>, SystemException> {
        let mut state = self.lock();
        let own = thread::current().id();
        if state.owner.is_some_and(|owner| owner != own) {
            if state.waiting >= most {
                return Err(DISCARDED);
            }
            state.waiting += 1;
            while state.owner.is_some() {
                let Some(left) = until.checked_duration_since(Instant::now()) else {
                    state.waiting -= 1;
                    return Err(DISCARDED);
                };
                state = self.free.wait_timeout(state, left).0;
            }
            state.waiting -= 1;
        }
        state.owner = Some(own);
        state.depth += 1;
        Ok(Held(self))
    }

    /// Takes the turn if it is free. Otherwise defers the job, which is queued again when the turn
    /// becomes free.
    pub(crate) fn take_for(&self, job: Job) -> Option<(Held<'_>, Job)> {
        let mut state = self.lock();
        if state.owner.is_some() {
            state.later.push(job);
            return None;
        }
        state.owner = Some(thread::current().id());
        state.depth = 1;
        Some((Held(self), job))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.depth -= 1;
        if state.depth > 0 {
            return;
        }
        state.owner = None;
        self.0.free.notify_one();
        let later = std::mem::take(&mut state.later);
        drop(state);
        later.into_iter().for_each(etherealizer::hand_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_is_one_threads_turn_and_again_its_own() {
        let turn = Turn::default();
        let soon = || Instant::now() + Duration::from_secs(30);
        let first = turn.enter(1, soon()).unwrap();
        let again = turn.enter(1, soon()).unwrap();
        drop(again);
        let brief = || Instant::now() + Duration::from_millis(5);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| turn.enter(1, brief()).err()).join().unwrap();
            assert_eq!(late, Some(DISCARDED));
            let none = scope.spawn(|| turn.enter(0, soon()).err()).join().unwrap();
            assert_eq!(none, Some(DISCARDED));
            let waiting = scope.spawn(|| turn.enter(1, soon()).is_ok());
            while turn.lock().waiting == 0 {
                std::thread::yield_now();
            }
            drop(first);
            assert!(waiting.join().unwrap());
        });
        assert_eq!(turn.lock().owner, None);
    }
}
