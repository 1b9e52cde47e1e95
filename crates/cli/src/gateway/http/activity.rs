//! Activity of a connection, by which idle connections, and clients that receive nothing, are found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::sync::Mutex;
use tokio::time::Instant;

use super::limits::IDLE;

/// Requests of one connection.
pub(super) struct Activity(Mutex<State>);

struct State {
    /// Number of admitted requests so far.
    requests: u64,
    /// Number of requests that have no answer yet.
    calling: usize,
    /// Answers that are not sent completely, with the times at which their last parts were taken.
    sending: BTreeMap<u64, Instant>,
    /// Time at which the connection or a request began, or an answer went on or ended.
    last: Instant,
}

/// Admitted request whose answer is not sent completely.
pub(super) struct Running {
    activity: Arc<Activity>,
    number: u64,
    is_answered: bool,
}

impl Activity {
    /// Creates the activity of a connection that begins now.
    pub(super) fn new(now: Instant) -> Arc<Activity> {
        let sending = BTreeMap::new();
        Arc::new(Activity(Mutex::new(State { requests: 0, calling: 0, sending, last: now })))
    }

    /// Records the beginning of an admitted request.
    pub(super) fn start(self: &Arc<Self>, now: Instant) -> Running {
        let mut state = self.0.lock();
        state.requests += 1;
        state.calling += 1;
        state.last = now;
        Running { activity: Arc::clone(self), number: state.requests, is_answered: false }
    }

    /// Returns the time at which the connection is to be looked at again. Returns `None` if it is idle for too long, or
    /// the client has not received a part of an answer for too long. `first` is the time limit for the first admitted
    /// request.
    pub(super) fn next_look(&self, now: Instant, first: Duration) -> Option<Instant> {
        let state = self.0.lock();
        let idle = match (state.calling, state.requests) {
            (0, 0) => state.last + first,
            (0, _) => state.last + IDLE,
            (_, _) => now + IDLE,
        };
        let stalled = state.sending.values().min().map_or(idle, |oldest| *oldest + IDLE);
        Some(idle.min(stalled)).filter(|end| *end > now)
    }
}

impl Running {
    /// Records that the answer begins or continues.
    pub(super) fn progress(&mut self, now: Instant) {
        let mut state = self.activity.0.lock();
        if !self.is_answered {
            self.is_answered = true;
            state.calling -= 1;
        }
        state.sending.insert(self.number, now);
        state.last = now;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.activity.0.lock();
        match self.is_answered {
            true => _ = state.sending.remove(&self.number),
            false => state.calling -= 1,
        }
        state.last = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_take_longer_than_a_connection_may_be_idle() {
        let (begin, first) = (Instant::now(), Duration::from_secs(1));
        let activity = Activity::new(begin);
        assert_eq!(activity.next_look(begin, first), Some(begin + first));
        assert_eq!(activity.next_look(begin + first, first), None);
        let running = activity.start(begin);
        let later = begin + 3 * IDLE;
        assert_eq!(activity.next_look(later, first), Some(later + IDLE));
        drop(running);
        assert!(activity.next_look(Instant::now(), first).is_some());
        assert_eq!(activity.next_look(Instant::now() + IDLE, first), None);
    }

    #[test]
    fn an_answer_that_the_client_does_not_receive_ends_the_connection() {
        let (begin, first) = (Instant::now(), Duration::from_secs(1));
        let activity = Activity::new(begin);
        let mut steady = activity.start(begin);
        let mut stalled = activity.start(begin);
        stalled.progress(begin);
        steady.progress(begin);
        let later = begin + IDLE / 2;
        steady.progress(later);
        assert_eq!(activity.next_look(later, first), Some(begin + IDLE));
        // Neither the other answer nor a call that runs excuses the client.
        let _calling = activity.start(begin + IDLE);
        steady.progress(begin + IDLE);
        assert_eq!(activity.next_look(begin + IDLE, first), None);
        drop(stalled);
        assert_eq!(activity.next_look(begin + IDLE, first), Some(begin + 2 * IDLE));
    }
}
