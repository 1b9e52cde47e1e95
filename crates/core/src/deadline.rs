//! Times that came with a request (INVOCATION_POLICIES), on the server's side.

use std::cell::Cell;
use std::time::{Duration, Instant};

use oxorb_giop::{Frame, Request};
use oxorb_object::{
    Malformed, PolicyValues, SystemException, context_id, policy_type, time_value, utc_value,
};

use crate::policy::time;
use crate::raise;
use crate::sync::thread;

/// When a request may be served, and until when it is of use. Of this machine's monotonic clock, whatever the caller's
/// clock says and however this one's is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Times {
    /// Not to be served earlier.
    start: Option<Instant>,
    /// Not to be served later.
    serve_by: Option<Instant>,
    /// The reply is of no use later.
    reply_by: Option<Instant>,
}

impl Times {
    /// The times of a request that says nothing.
    pub(crate) const NONE: &'static Times = &Times {
        start: None,
        serve_by: None,
        reply_by: None,
    };

    /// Returns what a request that was received now says, in its contexts or, in protocols with fields for that, its
    /// terms. Without any this is two comparisons; with them it reads the clock and allocates nothing.
    #[inline]
    pub(crate) fn of(frame: &Frame<'_>, request: &Request<'_>) -> Result<Times, Malformed> {
        let (contexts, terms) = (&request.contexts, frame.terms());
        if contexts.is_empty() && terms.is_none() {
            return Ok(Times::default());
        }
        let times = match contexts.find(context_id::INVOCATION_POLICIES) {
            Some(context) => Times::read(context.data)?,
            None => Times::default(),
        };
        Ok(match terms.and_then(|terms| terms.within) {
            Some(units) => times.within(units),
            None => times,
        })
    }

    /// Returns these times, where the reply is of no use after so many units of 100 ns from now.
    fn within(self, units: u64) -> Times {
        let end = Instant::now().checked_add(time::duration(units));
        Times {
            reply_by: match (self.reply_by, end) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, other) => one.or(other),
            },
            ..self
        }
    }

    fn read(policies: &[u8]) -> Result<Times, Malformed> {
        let now = Instant::now();
        let utc = time::utc_now();
        // What lies too far ahead to count is no limit.
        let after = |units: u64| now.checked_add(time::duration(units));
        let absolute = |time: u64| after(time.saturating_sub(utc));
        let sooner = |a: Option<Instant>, b: Option<Instant>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        };
        let mut times = Times::default();
        for policy in PolicyValues::parse(policies)? {
            let (kind, value) = policy?;
            match kind {
                policy_type::REQUEST_START_TIME => times.start = absolute(utc_value(value)?),
                policy_type::REQUEST_END_TIME => {
                    times.serve_by = sooner(times.serve_by, absolute(utc_value(value)?));
                }
                policy_type::REPLY_END_TIME => {
                    times.reply_by = sooner(times.reply_by, absolute(utc_value(value)?));
                }
                policy_type::RELATIVE_REQUEST_TIMEOUT => {
                    times.serve_by = sooner(times.serve_by, after(time_value(value)?));
                }
                policy_type::RELATIVE_ROUNDTRIP_TIMEOUT => {
                    times.reply_by = sooner(times.reply_by, after(time_value(value)?));
                }
                _ => {}
            }
        }
        Ok(times)
    }

    /// Until when the caller waits.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.reply_by
    }

    /// Whether there is no use in serving the request any more.
    #[inline]
    pub(crate) fn are_over(&self) -> bool {
        match (self.serve_by, self.reply_by) {
            (None, None) => false,
            (serve, reply) => {
                let now = Instant::now();
                let over = |end: Option<Instant>| end.is_some_and(|end| end <= now);
                over(serve) || over(reply)
            }
        }
    }

    /// Waits until the request may be served.
    ///
    /// # Errors
    /// TRANSIENT, COMPLETED_NO, when that is longer than `limit`; TIMEOUT when it is over then or now.
    #[inline]
    pub(crate) fn admit(&self, limit: Duration) -> Result<(), SystemException> {
        if *self == Times::default() {
            return Ok(());
        }
        self.hold(limit)
    }

    fn hold(&self, limit: Duration) -> Result<(), SystemException> {
        if let Some(start) = self.start {
            let wait = start.saturating_duration_since(Instant::now());
            if wait > limit {
                return Err(raise::HELD_TOO_LONG);
            }
            if !wait.is_zero() {
                crate::conn::step_aside();
                thread::sleep(wait);
            }
        }
        if self.are_over() {
            return Err(raise::DEADLINE_PASSED);
        }
        Ok(())
    }
}

thread_local! {
    static CURRENT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Until when the caller of the operation that this thread serves waits for the answer, if the request said so: for
/// servants, which can give up work that nobody will see. `None` outside of a request, too.
///
/// As precise as the clocks: a relative time limit counts from when the request was read here. An object called by such
/// a servant within the process inherits the deadline. One look at a thread-local.
///
/// ```
/// assert_eq!(oxorb_core::current_deadline(), None, "no request is being served here");
/// ```
pub fn current_deadline() -> Option<Instant> {
    CURRENT.get()
}

/// Serves a request with its deadline for [`current_deadline`], if it has one.
#[inline]
pub(crate) fn within<R>(times: &Times, serve: impl FnOnce() -> R) -> R {
    let Some(deadline) = times.reply_by else {
        return serve();
    };
    let _before = Restore(CURRENT.replace(Some(deadline)));
    serve()
}

/// Puts the deadline of the outer request back, also when a servant panics.
struct Restore(Option<Instant>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use oxorb_object::PolicyValueWriter;

    use super::*;

    #[test]
    fn the_sooner_of_relative_and_absolute_ends_counts() {
        let mut policies = PolicyValueWriter::new();
        let hour = 3600 * 10_000_000;
        policies.utc(policy_type::REPLY_END_TIME, time::utc_now() + hour);
        policies.time(policy_type::RELATIVE_ROUNDTRIP_TIMEOUT, hour / 2);
        policies.time(policy_type::RELATIVE_REQUEST_TIMEOUT, u64::MAX);
        let before = Instant::now();
        let times = Times::read(policies.octets()).unwrap();
        let left = times.deadline().unwrap() - before;
        assert!(
            left >= Duration::from_secs(1800) && left < Duration::from_secs(3500),
            "{left:?}"
        );
        assert!(!times.are_over());
        assert_eq!(times.admit(Duration::ZERO), Ok(()));
    }

    #[test]
    fn what_is_over_or_too_early_is_not_served() {
        let mut policies = PolicyValueWriter::new();
        policies.utc(policy_type::REQUEST_END_TIME, time::utc_now() - 1);
        let times = Times::read(policies.octets()).unwrap();
        assert_eq!(times.admit(Duration::ZERO), Err(raise::DEADLINE_PASSED));

        let mut policies = PolicyValueWriter::new();
        policies.utc(policy_type::REQUEST_START_TIME, u64::MAX / 2);
        let times = Times::read(policies.octets()).unwrap();
        assert_eq!(
            times.admit(Duration::from_secs(1)),
            Err(raise::HELD_TOO_LONG)
        );
    }

    #[test]
    fn nonsense_is_an_error() {
        for octets in [
            &[][..],
            &[2, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 32],
        ] {
            assert!(Times::read(octets).is_err(), "{octets:?}");
        }
    }
}
