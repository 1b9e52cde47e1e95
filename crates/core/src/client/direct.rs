//! Calls to objects of this process without a message: the stub calls the servant, between the same steps of the object
//! adapter that a request takes.
//!
//! Whatever is out of the ordinary takes the marshalled way (`local.rs`): interceptors, probes, the run-time scheduler,
//! policies of the call, forwarded references, POAs that hold or ask a servant manager, servants without a typed interface.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_giop::{CompletionStatus, SystemException};
use oxorb_sys::clock;

use super::Selection;
use crate::op::{Op, Raise};
use crate::options::Collocation;
use crate::policy::Resolved;
use crate::route::RouteProfile;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::{Orb, Ref, raise};

/// Whether calls through a reference may be direct, as far as that does not change.
#[derive(Debug, Default)]
pub(crate) struct Nearness(AtomicU8);

const UNKNOWN: u8 = 0;
const FAR: u8 = 1;
const NEAR: u8 = 2;

impl Nearness {
    /// Whether the reference certainly leads out of the process, or its ORB wants messages.
    #[inline(always)]
    fn is_far(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FAR
    }
}

/// The typed handles of a servant: one `Arc<dyn Interface>` for its interface and each base. For generated code.
pub type Handles = Box<[Box<dyn Any + Send + Sync>]>;

/// Makes one of the [`Handles`].
pub fn handle<S: ?Sized + Send + Sync + 'static>(servant: Arc<S>) -> Box<dyn Any + Send + Sync> {
    Box::new(servant)
}

/// Makes [`Handles`].
pub fn handles<const N: usize>(all: [Box<dyn Any + Send + Sync>; N]) -> Handles {
    Box::new(all)
}

impl Ref {
    /// Calls the servant itself if the object is active in this process and the call may run in this thread; `None`: the
    /// request has to be sent. For generated code.
    ///
    /// The servant sees what a request would show it: the POA's current, its own priority, a panic that becomes UNKNOWN. The
    /// call counts as a request that runs. Takes no lock and allocates nothing.
    #[doc(hidden)]
    #[inline]
    pub fn direct<S: ?Sized + 'static, R, E: Raise + From<SystemException>>(
        &self,
        op: &'static Op,
        call: impl FnOnce(&S) -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        if self.nearness().is_far() {
            return None;
        }
        self.call_near(op, call)
    }

    #[inline(never)]
    fn call_near<S: ?Sized + 'static, R, E: Raise + From<SystemException>>(
        &self,
        op: &'static Op,
        call: impl FnOnce(&S) -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        let (profile, limit) = self.near(op)?;
        let orb = self.orb();
        let running = match orb.begin_local() {
            Ok(running) => running,
            Err(exception) => return Some(Err(exception.into())),
        };
        let clock = limit.map(Clock::start);
        let (mut call, mut result) = (Some(call), None);
        orb.adapter()?
            .serve_direct(orb, &profile.key, &mut |servant| {
                let handles = servant.handles().into_iter().flatten();
                let mut typed = handles.filter_map(|handle| handle.downcast_ref::<Arc<S>>());
                if let (Some(servant), Some(call)) = (typed.next(), call.take()) {
                    let called = panic::catch_unwind(AssertUnwindSafe(|| call(servant)));
                    result = Some(called.unwrap_or_else(|_| Err(raise::SERVANT_PANICKED.into())));
                }
            });
        drop(running);
        let result = result?;
        if clock.is_some_and(|clock| clock.is_over()) {
            // What the servant raised says more.
            let raised = result.as_ref().err().and_then(Raise::system);
            let late = raise::timeout(CompletionStatus::Yes);
            return Some(Err(raised.unwrap_or(late).into()));
        }
        Some(result)
    }

    /// The profile of this process that a call may go to without a message, and how long the call may take.
    fn near(&self, op: &'static Op) -> Option<(&RouteProfile, Option<Duration>)> {
        let route = self.unforwarded()?;
        if self.nearness().0.load(Ordering::Relaxed) == UNKNOWN {
            let is_near = route.may_be_local() && route.scheduled.is_none() && is_plain(self.orb());
            let found = if is_near { NEAR } else { FAR };
            self.nearness().0.store(found, Ordering::Relaxed);
            if !is_near {
                return None;
            }
        }
        let Resolved::Base(policies) = self.unchanged_policies()? else {
            return None;
        };
        if !policies.plain || policies.real_time || policies.carries {
            return None;
        }
        let selection = match route.real_time {
            false => None,
            // What is wrong is told to the call that follows.
            true => Selection::of(self, route, policies, op.into()).ok()?,
        };
        let (_, profile) = route.local(self.orb(), selection.as_ref())?;
        Some((profile, policies.round_trip))
    }
}

/// Whether nothing wants to see the messages of this ORB.
fn is_plain(orb: &Orb) -> bool {
    let (options, interceptors) = (orb.options(), orb.interceptors());
    options.collocation == Collocation::Direct
        && !options.time_probes
        && interceptors.client.is_empty()
        && interceptors.server.is_empty()
        && orb.enforcer().is_none()
}

/// When a call has taken too long.
enum Clock {
    /// In nanoseconds of a clock that is read in no time, and that is some milliseconds behind.
    Coarse(u64),
    Precise(Instant),
    Never,
}

/// Limits from here on are watched by the coarse clock.
const LONG: Duration = Duration::from_secs(1);

impl Clock {
    #[inline]
    fn start(limit: Duration) -> Clock {
        if limit < LONG {
            return Clock::Precise(Instant::now() + limit);
        }
        match u64::try_from(limit.as_nanos()) {
            Ok(limit) => Clock::Coarse(clock::coarse_nanoseconds().saturating_add(limit)),
            Err(_) => Clock::Never,
        }
    }

    #[inline]
    fn is_over(&self) -> bool {
        match self {
            Clock::Coarse(until) => clock::coarse_nanoseconds() > *until,
            Clock::Precise(until) => Instant::now() > *until,
            Clock::Never => false,
        }
    }
}
