//! Activity of a connection, by which idle connections, and clients that receive nothing or slowly, are found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::sync::Mutex;
use tokio::time::Instant;

use super::intake::Intake;
use super::limits::{GRACE, IDLE, OCTETS_PER_PART, Rate};

/// Requests of one connection.
pub(super) struct Activity {
    /// Octets that the connection may read.
    intake: Arc<Intake>,
    /// Minimum rate of all answers together.
    rate: Rate,
    state: Mutex<State>,
}

struct State {
    /// Number of admitted requests so far.
    requests: u64,
    /// Number of requests that have no answer yet.
    calling: usize,
    /// Answers that are not sent completely.
    sending: BTreeMap<u64, Sending>,
    /// Time at which the connection or a request began, or an answer went on or ended.
    last: Instant,
}

/// Answer that is not sent completely.
struct Sending {
    /// Time at which its last part was taken.
    last: Instant,
    /// Time at which it is too slow; `None` if it has no minimum rate.
    slow: Option<Instant>,
}

/// Admitted request whose answer is not sent completely.
pub(super) struct Running {
    activity: Arc<Activity>,
    number: u64,
    is_answered: bool,
}

/// Result of a look at a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// The connection is to be looked at again at this time.
    Again(Instant),
    /// The connection is idle for too long.
    Idle,
    /// The client has not received a part of an answer for too long, or receives an answer too slowly.
    Slow,
}

impl Activity {
    /// Creates the activity of a connection that begins now.
    pub(super) fn new(now: Instant, rate: Rate, intake: &Arc<Intake>) -> Arc<Activity> {
        let sending = BTreeMap::new();
        let state = Mutex::new(State { requests: 0, calling: 0, sending, last: now });
        Arc::new(Activity { intake: Arc::clone(intake), rate, state })
    }

    /// Records the beginning of an admitted request.
    pub(super) fn start(self: &Arc<Self>, now: Instant) -> Running {
        let mut state = self.state.lock();
        state.requests += 1;
        state.calling += 1;
        state.last = now;
        Running { activity: Arc::clone(self), number: state.requests, is_answered: false }
    }

    /// Permits the client to send further octets, which are part of an admitted request.
    pub(super) fn permit(&self, octets: usize) {
        self.intake.permit(octets);
    }

    /// Looks at the connection. `first` is the time limit for the first admitted request.
    pub(super) fn look(&self, now: Instant, first: Duration) -> Look {
        let state = self.state.lock();
        let idle = match (state.calling, state.requests) {
            (0, 0) => state.last + first,
            (0, _) => state.last + IDLE,
            (_, _) => now + IDLE,
        };
        match state.sending.values().map(Sending::end).min() {
            Some(end) if end <= now => Look::Slow,
            _ if idle <= now => Look::Idle,
            // An answer that begins later may be too slow after the grace.
            end => Look::Again(end.map_or(idle, |end| idle.min(end)).min(now + GRACE)),
        }
    }
}

impl Sending {
    /// Returns the time at which the connection ends if the client takes no further part.
    fn end(&self) -> Instant {
        let stalled = self.last + IDLE;
        self.slow.map_or(stalled, |slow| slow.min(stalled))
    }
}

impl Running {
    /// Records that the answer begins. Only an answer whose octets are known has a minimum rate.
    pub(super) fn begin_answer(&mut self, now: Instant, is_known: bool) {
        let mut state = self.activity.state.lock();
        self.is_answered = true;
        state.calling -= 1;
        let slow = self.activity.rate.time(0).filter(|_| is_known).map(|_| now + IDLE);
        state.sending.insert(self.number, Sending { last: now, slow });
        state.last = now;
    }

    /// Records that the client has taken a part of the answer.
    pub(super) fn progress(&mut self, now: Instant, octets: usize) {
        self.activity.intake.permit(octets + OCTETS_PER_PART);
        let mut state = self.activity.state.lock();
        // The answers of a connection share its rate.
        let others = state.sending.values().filter(|sending| sending.slow.is_some()).count();
        let time = self.activity.rate.time(octets * others).unwrap_or_default();
        if let Some(sending) = state.sending.get_mut(&self.number) {
            sending.last = now;
            sending.slow = sending.slow.map(|slow| slow + time);
        }
        state.last = now;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.activity.state.lock();
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

    const FIRST: Duration = Duration::from_secs(1);

    fn activity(begin: Instant, rate: u32) -> Arc<Activity> {
        Activity::new(begin, Rate(rate), &Intake::new())
    }

    #[test]
    fn a_call_may_take_longer_than_a_connection_may_be_idle() {
        let begin = Instant::now();
        let activity = activity(begin, 1000);
        assert_eq!(activity.look(begin, FIRST), Look::Again(begin + FIRST));
        assert_eq!(activity.look(begin + FIRST, FIRST), Look::Idle);
        let running = activity.start(begin);
        let later = begin + 3 * IDLE;
        assert_eq!(activity.look(later, FIRST), Look::Again(later + GRACE));
        drop(running);
        assert!(matches!(activity.look(Instant::now(), FIRST), Look::Again(_)));
        assert_eq!(activity.look(Instant::now() + IDLE, FIRST), Look::Idle);
    }

    #[test]
    fn an_answer_that_the_client_does_not_receive_ends_the_connection() {
        let begin = Instant::now();
        for (rate, is_known) in [(0, true), (1000, false)] {
            let activity = activity(begin, rate);
            let mut steady = activity.start(begin);
            let mut stalled = activity.start(begin);
            stalled.begin_answer(begin, is_known);
            steady.begin_answer(begin, is_known);
            let almost = begin + IDLE - FIRST;
            steady.progress(almost, 1);
            assert_eq!(activity.look(almost, FIRST), Look::Again(begin + IDLE));
            // Neither the other answer nor a call that runs excuses the client.
            let _calling = activity.start(begin + IDLE);
            steady.progress(begin + IDLE, 1);
            assert_eq!(activity.look(begin + IDLE, FIRST), Look::Slow);
            drop(stalled);
            let end = begin + 2 * IDLE;
            assert_eq!(activity.look(end - FIRST, FIRST), Look::Again(end));
        }
    }

    #[test]
    fn an_answer_has_a_minimum_rate_after_its_grace() {
        let begin = Instant::now();
        let activity = activity(begin, 1000);
        let mut running = activity.start(begin);
        running.begin_answer(begin, true);
        running.progress(begin + FIRST, 3000);
        running.progress(begin + IDLE / 2, 0);
        let end = begin + IDLE + 3 * FIRST;
        assert_eq!(activity.look(end - FIRST, FIRST), Look::Again(end));
        assert_eq!(activity.look(end, FIRST), Look::Slow);
        // A fast answer does not excuse a slow one.
        let mut other = activity.start(end);
        other.begin_answer(end, true);
        other.progress(end, 1_000_000);
        assert_eq!(activity.look(end, FIRST), Look::Slow);
        drop(running);
        other.progress(end, 0);
        assert_eq!(activity.look(end, FIRST), Look::Again(end + GRACE));
    }

    #[test]
    fn answers_of_a_connection_share_its_rate() {
        let begin = Instant::now();
        let activity = activity(begin, 1000);
        let mut running = [(); 4].map(|()| activity.start(begin));
        running.iter_mut().for_each(|running| running.begin_answer(begin, true));
        let mut now = begin;
        for _ in 0..20 {
            now += FIRST;
            running.iter_mut().for_each(|running| running.progress(now, 250));
            assert!(matches!(activity.look(now, FIRST), Look::Again(_)));
        }
        assert_eq!(activity.look(now + IDLE, FIRST), Look::Slow);
    }
}
