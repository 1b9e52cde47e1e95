//! Remote filters. A filter that no longer answers must not delay every event by a time-out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oxorb::{SystemException, SystemExceptionKind};
use oxorb_sys::sync::{Mutex, MutexGuard};

/// Number of remote filters that are attached to objects of the service.
#[derive(Default)]
pub(crate) struct Abroad(AtomicUsize);

impl Abroad {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// State of the calls to a remote filter. After several consecutive calls have failed to reach it, the filter is not
/// called for a while.
pub(super) struct Foreign {
    /// Number of consecutive unanswered calls after which calls are paused.
    failures: u32,
    pause: Duration,
    state: Mutex<State>,
    /// Counter of all remote filters of the service.
    abroad: Arc<Abroad>,
}

#[derive(Default)]
struct State {
    failures: u32,
    not_before: Option<Instant>,
}

impl Foreign {
    pub(super) fn new(failures: u32, pause: Duration, abroad: &Arc<Abroad>) -> Foreign {
        abroad.0.fetch_add(1, Ordering::Relaxed);
        let abroad = Arc::clone(abroad);
        Foreign { failures: failures.max(1), pause, state: Mutex::default(), abroad }
    }

    /// Returns the number of consecutive unanswered calls.
    pub(super) fn failures(&self) -> u32 {
        self.state().failures
    }

    /// Calls the filter. Returns `None` if calls are paused or the filter returns no result.
    pub(super) fn ask<R, E>(
        &self,
        call: impl FnOnce() -> Result<R, E>,
        exception: impl FnOnce(E) -> Option<SystemException>,
    ) -> Option<R> {
        if !self.may_ask() {
            return None;
        }
        let answer = call().map_err(exception);
        let reached = match &answer {
            Err(Some(exception)) => !is_unreachable(exception),
            Ok(_) | Err(None) => true,
        };
        self.note(reached);
        answer.ok()
    }

    /// Reports whether the filter may be called. When a pause has ended, only one caller gets `true`; others wait for
    /// the result of this call.
    pub(super) fn may_ask(&self) -> bool {
        let mut state = self.state();
        let Some(end) = state.not_before else {
            return true;
        };
        let now = Instant::now();
        let over = now >= end;
        if over {
            state.not_before = now.checked_add(self.pause);
        }
        over
    }

    pub(super) fn note(&self, reached: bool) {
        let mut state = self.state();
        if reached {
            *state = State::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.failures {
            state.not_before = Instant::now().checked_add(self.pause);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.abroad.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reports whether an exception shows that a peer did not answer or does not exist.
pub(super) fn is_unreachable(exception: &SystemException) -> bool {
    use SystemExceptionKind::{
        CommFailure, InvObjref, NoResponse, ObjectNotExist, Timeout, Transient,
    };
    matches!(
        exception.kind,
        CommFailure | InvObjref | NoResponse | ObjectNotExist | Timeout | Transient
    )
}

#[cfg(test)]
mod tests {
    use oxorb::{CompletionStatus, minor};

    use super::*;

    fn dead() -> Result<bool, SystemException> {
        Err(SystemException::timeout(minor::timeout::PULL, CompletionStatus::No))
    }

    #[test]
    fn a_dead_filter_is_called_no_more_for_a_while() {
        let filter = Foreign::new(2, Duration::from_secs(3600), &Arc::default());
        let mut calls = 0;
        for _ in 0..10 {
            let answer = filter.ask(
                || {
                    calls += 1;
                    dead()
                },
                Some,
            );
            assert_eq!(answer, None);
        }
        assert_eq!(calls, 2);
    }

    #[test]
    fn an_answer_ends_the_count_and_the_pause() {
        let filter = Foreign::new(2, Duration::ZERO, &Arc::default());
        for _ in 0..3 {
            assert_eq!(filter.ask(dead, Some), None);
        }
        let alive: Result<bool, SystemException> = Ok(true);
        assert_eq!(filter.ask(|| alive, Some), Some(true));
        assert_eq!(filter.state().failures, 0);
        // A user exception is an answer, so the filter is reachable.
        let refused: Result<bool, ()> = Err(());
        assert_eq!(filter.ask(|| refused, |()| None), None);
        assert!(filter.state().not_before.is_none());
    }
}
