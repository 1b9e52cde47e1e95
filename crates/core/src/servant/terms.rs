//! Terms of the request that a thread serves: time limits (INVOCATION_POLICIES) and quality of
//! service (RIOP).

use std::cell::Cell;
use std::time::{Duration, Instant};

use oxorb_giop::{Frame, Request};
use oxorb_object::contexts::Deadline;
use oxorb_object::{CommunicationClass, Malformed, Qos, ServiceContexts, SystemException};
use oxorb_rt::Priority;

use crate::error::raise;
use crate::policy::time;
use crate::threads::clock;
use crate::threads::sync::thread;

/// Time limits of a request. They are times of this machine's monotonic clock, independent of the
/// caller's clock and of changes to this machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Times {
    /// Earliest time of serving.
    start: Option<Instant>,
    /// Latest time of serving.
    serve_by: Option<Instant>,
    /// Latest time at which the reply is of use.
    reply_by: Option<Instant>,
}

impl Times {
    /// Times of a request without limits.
    pub(crate) const NONE: &'static Times = &Times { start: None, serve_by: None, reply_by: None };

    /// Returns the limits of a request that is received now, from its contexts or, in protocols that have them, its
    /// fields. Two comparisons if there are none; otherwise reads the clock. Allocates nothing.
    #[inline]
    pub(crate) fn of(frame: &Frame<'_>, request: &Request<'_>) -> Result<Times, Malformed> {
        let (contexts, terms) = (&request.contexts, frame.terms());
        if contexts.is_empty() && terms.is_none() {
            return Ok(Times::default());
        }
        let times =
            Deadline::of(contexts)?.map_or_else(Times::default, |said| Times::from_now(&said));
        Ok(match terms.and_then(|terms| terms.within) {
            Some(units) => times.within(units),
            None => times,
        })
    }

    /// Returns these limits, with the reply due within `units` of 100 ns from now.
    fn within(self, units: u64) -> Times {
        let end = clock::now().checked_add(time::duration(units));
        Times {
            reply_by: match (self.reply_by, end) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, other) => one.or(other),
            },
            ..self
        }
    }

    /// Converts the limits of a request that is received now.
    fn from_now(said: &Deadline) -> Times {
        let now = clock::now();
        let utc = time::utc_now();
        // A time beyond the clock's range does not limit the request.
        let after = |units: Option<u64>| now.checked_add(time::duration(units?));
        let absolute = |time: Option<u64>| after(Some(time?.saturating_sub(utc)));
        let sooner = |a: Option<Instant>, b: Option<Instant>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        };
        Times {
            start: absolute(said.request_start),
            serve_by: sooner(absolute(said.request_end), after(said.request)),
            reply_by: sooner(absolute(said.reply_end), after(said.round_trip)),
        }
    }

    /// Returns the time until which the caller waits.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.reply_by
    }

    /// Reports whether the time to serve the request has passed.
    #[inline]
    pub(crate) fn are_over(&self) -> bool {
        match (self.serve_by, self.reply_by) {
            (None, None) => false,
            (serve, reply) => {
                let now = clock::now();
                let over = |end: Option<Instant>| end.is_some_and(|end| end <= now);
                over(serve) || over(reply)
            }
        }
    }

    /// Waits until the request may be served.
    ///
    /// # Errors
    /// TRANSIENT, COMPLETED_NO, if the wait would exceed `limit`; TIMEOUT if a deadline has passed before or after the
    /// wait.
    #[inline]
    pub(crate) fn admit(&self, limit: Duration) -> Result<(), SystemException> {
        if *self == Times::default() {
            return Ok(());
        }
        self.hold(limit)
    }

    fn hold(&self, limit: Duration) -> Result<(), SystemException> {
        if let Some(start) = self.start {
            let wait = start.saturating_duration_since(clock::now());
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
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

crate::threads::sync::thread_local! {
    static QOS: Cell<Option<Inherited>> = const { Cell::new(None) };
    /// Class in `QOS`. Calls read it first: most are made outside of a request with a QoS.
    static CLASS: Cell<Option<CommunicationClass>> = const { Cell::new(None) };
}

/// Reports whether a request must be served [`within`] terms, because it has a deadline or contexts, or is nested in a
/// request with a QoS.
#[inline]
pub(crate) fn any_apply(contexts: &ServiceContexts<'_>, times: &Times) -> bool {
    times.reply_by.is_some() || !contexts.is_empty() || inherited_class().is_some()
}

/// Serves a request with its deadline and QoS set for [`current_deadline`] and [`current_qos`].
pub(crate) fn within<R>(
    contexts: &ServiceContexts<'_>,
    times: &Times,
    serve: impl FnOnce() -> R,
) -> R {
    within_qos(contexts, || within_deadline(times, serve))
}

/// Returns the time until which the caller of the operation that this thread serves waits for the
/// answer, if the request declares it: for servants that can abandon work whose result is not
/// awaited. `None` also outside of a request.
///
/// The precision is that of the clocks; a relative time limit counts from the receipt of the request. Collocated calls
/// of the servant inherit the deadline. Costs one access to a thread-local variable.
///
/// ```
/// assert_eq!(oxorb_core::current_deadline(), None, "no request is being served here");
/// ```
pub fn current_deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Serves a request with its deadline, if any, set for [`current_deadline`].
#[inline]
fn within_deadline<R>(times: &Times, serve: impl FnOnce() -> R) -> R {
    let Some(deadline) = times.reply_by else {
        return serve();
    };
    let _before = RestoreDeadline(DEADLINE.replace(Some(deadline)));
    serve()
}

/// Restores the deadline of the outer request, even after a panic of the servant.
struct RestoreDeadline(Option<Instant>);

impl Drop for RestoreDeadline {
    fn drop(&mut self) {
        DEADLINE.set(self.0);
    }
}

/// QoS of a request, and the time of its receipt.
#[derive(Clone, Copy)]
struct Inherited {
    qos: Qos,
    since: Instant,
}

/// Shortest deadline that is transmitted, because 0 would mean no deadline.
const SOONEST: Duration = Duration::from_nanos(100);

/// Returns the quality of service of the request that this thread serves ([`RequestQos`](crate::policy::RequestQos));
/// `None` if its caller set none, and outside of a request. Costs one access to a thread-local variable.
///
/// The servant's calls in this thread propagate it, unless a policy overrides it for them, with the remaining deadline
/// and the priority at which they are made. A servant that answers later, from another thread, sets it itself:
/// `object.with(RequestQos(qos))`.
///
/// ```
/// assert_eq!(oxorb_core::current_qos(), None, "no request is being served here");
/// ```
pub fn current_qos() -> Option<Qos> {
    Some(QOS.with(Cell::get)?.qos)
}

/// Returns the quality of service of the request that this thread serves, for use in another thread: for gateways,
/// event channels and other code that passes a request's data on after the request has ended. Costs one access to a
/// thread-local variable.
///
/// ```
/// use oxorb_core::{carried_qos, current_qos};
///
/// let carried = carried_qos();
/// let seen = std::thread::spawn(move || carried.within(current_qos)).join();
/// assert_eq!(seen.unwrap(), current_qos());
/// ```
pub fn carried_qos() -> CarriedQos {
    CarriedQos(match inherited_class() {
        None => None,
        Some(_) => QOS.with(Cell::get),
    })
}

/// Quality of service of a request, for use in another thread, as returned by [`carried_qos`].
#[derive(Clone, Copy, Default)]
pub struct CarriedQos(Option<Inherited>);

impl CarriedQos {
    /// Runs `work` with the quality of service of the request: [`current_qos`] returns it, and calls propagate it with
    /// the remaining deadline. If the caller set none, `work` runs unchanged. Costs two accesses to thread-local
    /// variables.
    pub fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        let Some(carried) = self.0 else {
            return work();
        };
        let _before = RestoreQos(replace(Some(carried)));
        work()
    }

    /// Returns the quality of service, with the deadline and the period remaining now; `None` if the caller set none.
    pub fn qos(&self) -> Option<Qos> {
        let Inherited { qos, since } = self.0?;
        let left = |limit: Duration| limit.saturating_sub(clock::since(since)).max(SOONEST);
        Some(Qos { deadline: qos.due().map(left), ..qos })
    }
}

impl std::fmt::Debug for CarriedQos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let said = self.0.map(|inherited| inherited.qos);
        f.debug_tuple("CarriedQos").field(&said).finish()
    }
}

/// Returns the communication class that calls of this thread inherit; `None` if there is nothing to
/// inherit.
#[inline]
pub(crate) fn inherited_class() -> Option<CommunicationClass> {
    CLASS.with(Cell::get)
}

/// Returns the quality of service that a call of this thread inherits from the request being served. `travels` is the
/// priority sent with the call, if any.
#[cold]
pub(crate) fn inherited(travels: Option<Priority>) -> Option<Qos> {
    let Inherited { qos, since } = QOS.with(Cell::get)?;
    let left = |limit: Duration| limit.saturating_sub(clock::since(since)).max(SOONEST);
    Some(Qos {
        deadline: qos.deadline.map(left),
        priority: travels.map(Priority::get).or(qos.priority),
        ..qos
    })
}

/// Serves a request with the QoS of its contexts set for [`current_qos`].
#[inline]
fn within_qos<R>(contexts: &ServiceContexts<'_>, serve: impl FnOnce() -> R) -> R {
    // A nested request must not see the QoS of the outer request, so the QoS is replaced even if the nested one has
    // none.
    if contexts.is_empty() && inherited_class().is_none() {
        return serve();
    }
    let served = Qos::of(contexts).map(|qos| Inherited { qos, since: clock::now() });
    let _before = RestoreQos(replace(served));
    serve()
}

fn replace(served: Option<Inherited>) -> Option<Inherited> {
    CLASS.with(|class| class.set(served.map(|served| served.qos.class)));
    QOS.with(|current| current.replace(served))
}

/// Restores the QoS of the outer request, even after a panic of the servant.
struct RestoreQos(Option<Inherited>);

impl Drop for RestoreQos {
    fn drop(&mut self) {
        replace(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sooner_of_relative_and_absolute_ends_counts() {
        let hour = 3600 * 10_000_000;
        let before = clock::now();
        let times = Times::from_now(&Deadline {
            reply_end: Some(time::utc_now() + hour),
            round_trip: Some(hour / 2),
            request: Some(u64::MAX),
            ..Deadline::default()
        });
        let left = times.deadline().unwrap() - before;
        assert!(left >= Duration::from_secs(1800) && left < Duration::from_secs(3500), "{left:?}");
        assert!(!times.are_over());
        assert_eq!(times.admit(Duration::ZERO), Ok(()));
    }

    #[test]
    fn what_is_over_or_too_early_is_not_served() {
        let over = Times::from_now(&Deadline {
            request_end: Some(time::utc_now() - 1),
            ..Deadline::default()
        });
        assert_eq!(over.admit(Duration::ZERO), Err(raise::DEADLINE_PASSED));

        let early =
            Times::from_now(&Deadline { request_start: Some(u64::MAX / 2), ..Deadline::default() });
        let second = Duration::from_secs(1);
        assert_eq!(early.admit(second), Err(raise::HELD_TOO_LONG));
    }
}
