//! Terms of the request that a thread serves: its time (INVOCATION_POLICIES) and its quality of
//! service (RIOP).

use std::cell::Cell;
use std::time::{Duration, Instant};

use oxorb_giop::{Frame, Request};
use oxorb_object::contexts::Deadline;
use oxorb_object::{CommunicationClass, Malformed, Qos, ServiceContexts, SystemException};
use oxorb_rt::Priority;

use crate::clock;
use crate::policy::time;
use crate::raise;
use crate::sync::thread;

/// Times at which a request may be served, and until when it is of use. Of this machine's monotonic
/// clock, whatever the caller's clock says and however this one's is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Times {
    /// Earliest time of serving.
    start: Option<Instant>,
    /// Latest time of serving.
    serve_by: Option<Instant>,
    /// The reply is of no use later.
    reply_by: Option<Instant>,
}

impl Times {
    /// The times of a request that says nothing.
    pub(crate) const NONE: &'static Times = &Times { start: None, serve_by: None, reply_by: None };

    /// Returns what a request that was received now says, in its contexts or, in protocols with fields for that, its
    /// terms. Without any this is two comparisons; with them it reads the clock and allocates nothing.
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

    /// Returns these times, where the reply is of no use after so many units of 100 ns from now.
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

    /// Returns the times of a request that was read now.
    fn from_now(said: &Deadline) -> Times {
        let now = clock::now();
        let utc = time::utc_now();
        // What lies too far ahead to count is no limit.
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

    /// Whether there is no use in serving the request any more.
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

crate::sync::thread_local! {
    static QOS: Cell<Option<Inherited>> = const { Cell::new(None) };
    /// Class of `QOS`; `None` where that is. Calls look here, most of which are made outside of such requests.
    static CLASS: Cell<Option<CommunicationClass>> = const { Cell::new(None) };
}

/// Serves a request with what it says, for [`current_deadline`] and [`current_qos`].
#[inline]
pub(crate) fn within<R>(
    contexts: &ServiceContexts<'_>,
    times: &Times,
    serve: impl FnOnce() -> R,
) -> R {
    within_qos(contexts, || within_deadline(times, serve))
}

/// Returns the time until which the caller of the operation that this thread serves waits for the
/// answer, if the request said so: for servants, which can give up work that nobody will see.
/// `None` outside of a request, too.
///
/// As precise as the clocks: a relative time limit counts from when the request was read here. An object called by such
/// a servant within the process inherits the deadline. One look at a thread-local.
///
/// ```
/// assert_eq!(oxorb_core::current_deadline(), None, "no request is being served here");
/// ```
pub fn current_deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Serves a request with its deadline for [`current_deadline`], if it has one.
#[inline]
fn within_deadline<R>(times: &Times, serve: impl FnOnce() -> R) -> R {
    let Some(deadline) = times.reply_by else {
        return serve();
    };
    let _before = RestoreDeadline(DEADLINE.replace(Some(deadline)));
    serve()
}

/// Puts the deadline of the outer request back, also when a servant panics.
struct RestoreDeadline(Option<Instant>);

impl Drop for RestoreDeadline {
    fn drop(&mut self) {
        DEADLINE.set(self.0);
    }
}

/// A request that said something.
#[derive(Clone, Copy)]
struct Inherited {
    qos: Qos,
    since: Instant,
}

/// Least deadline that travels: 0 would mean that there is none.
const SOONEST: Duration = Duration::from_nanos(100);

/// Returns what the caller of the operation that this thread serves said about its quality of service
/// ([`RequestQos`](crate::policy::RequestQos)); `None` where it said nothing, and outside of a request. One look at a
/// thread-local.
///
/// Calls that the servant makes in this thread carry it on, unless a policy says otherwise for them: with what is left of
/// the deadline, and the priority at which they are made. A servant that answers later, from another thread, sets it there
/// itself: `object.with(RequestQos(qos))`.
///
/// ```
/// assert_eq!(oxorb_core::current_qos(), None, "no request is being served here");
/// ```
pub fn current_qos() -> Option<Qos> {
    Some(QOS.with(Cell::get)?.qos)
}

/// Returns what the caller of the operation that this thread serves said about its quality of service, to be taken along to
/// another thread: for gateways, event channels and whatever else passes on what a request brought after it has ended. One
/// look at a thread-local.
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

/// Quality of service of a request, in another thread: from [`carried_qos`].
#[derive(Clone, Copy, Default)]
pub struct CarriedQos(Option<Inherited>);

impl CarriedQos {
    /// Runs `work` as a part of that request, as far as quality of service goes: [`current_qos`] returns what its caller said,
    /// and calls carry it on, with what is left of the deadline. Where the caller said nothing, `work` runs as it is. Costs two
    /// looks at a thread-local.
    pub fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        let Some(carried) = self.0 else {
            return work();
        };
        let _before = RestoreQos(replace(Some(carried)));
        work()
    }

    /// Returns what its caller said, with what is left of the deadline and the period now; `None`: nothing.
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

/// Returns the communication class that calls of this thread inherit; `None`: nothing is inherited.
#[inline]
pub(crate) fn inherited_class() -> Option<CommunicationClass> {
    CLASS.with(Cell::get)
}

/// Returns the quality of service that a call of this thread inherits from the request being served. `travels`: the
/// priority of the call, where the object wants to know it.
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

/// Serves a request with what its contexts say for [`current_qos`].
#[inline]
fn within_qos<R>(contexts: &ServiceContexts<'_>, serve: impl FnOnce() -> R) -> R {
    // A request within a request may be worth something else, or nothing.
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

/// Puts that of the outer request back, also when a servant panics.
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
