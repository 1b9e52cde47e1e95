//! Calls to objects of this process without a message: the stub calls the servant, between the same steps of the object
//! adapter that a request takes.
//!
//! Whatever is out of the ordinary takes the marshalled way (`local.rs`): interceptors, probes, the run-time scheduler,
//! policies of the call, forwarded references, POAs that hold or ask a servant manager, servants without a typed interface.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock;
use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_giop::Response;
use oxorb_object::{CompletionStatus, SystemException};

use super::{Selection, copied};
use crate::interceptor::Interceptors;
use crate::op::{Op, UserException};
use crate::options::Collocation;
use crate::policy::{Resolved, SyncScope};
use crate::raises::Raise;
use crate::route::RouteProfile;
use crate::shared::Shared;
use crate::terms::current_qos;
use crate::{Orb, Ref, Servant, raise};

impl Ref {
    /// Whether calls may be direct, as far as is known: what they need is looked at only then. For generated code.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_near(&self) -> bool {
        !self.nearness().is_far()
    }

    /// Calls the servant itself if the object is active in this process and the call may run in this thread; `None`: the
    /// request has to be sent. For generated code.
    ///
    /// The servant sees what a request would show it: the POA's current, its own priority, a panic that becomes UNKNOWN. The
    /// call counts as a request that runs. Takes no lock and allocates nothing.
    #[doc(hidden)]
    #[inline]
    pub fn direct<S: ?Sized + 'static, R, E: Raise + UserException>(
        &self,
        op: &'static Op,
        call: impl FnOnce(&S) -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        let (mut call, mut result) = (Some(call), None);
        let served = self.serve_near(op, &mut |servant| {
            if let (Some(servant), Some(call)) = (typed::<S>(servant), call.take()) {
                let raised = |raised| copied::exception(self.orb(), raised);
                result = Some(call(servant).map_err(raised));
            }
        });
        match served {
            Served::Elsewhere => None,
            Served::Refused(exception) | Served::Panicked(exception) => Some(Err(exception.into())),
            Served::InTime => result,
            Served::Late => {
                // What the servant raised says more.
                let raised = result?.err().as_ref().and_then(Raise::system);
                let late = raise::timeout(CompletionStatus::Yes);
                Some(Err(raised.unwrap_or(late).into()))
            }
        }
    }

    /// [`direct`](Self::direct) for results that do not pass as they are unless `passes` says so: those that do not are
    /// marshalled by `write` and read again, or fail to be. For generated code.
    #[doc(hidden)]
    #[inline]
    pub fn direct_checked<S: ?Sized + 'static, R, E: Raise + UserException>(
        &self,
        op: &'static Op,
        call: impl FnOnce(&S) -> Result<R, E>,
        passes: impl FnOnce(&R, &Orb) -> bool,
        write: impl for<'r> FnOnce(&'r R, &mut Encoder<'r>) -> CdrResult<()>,
        read: impl FnOnce(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Option<Result<R, E>> {
        self.direct(op, |servant| {
            let result = call(servant)?;
            match passes(&result, self.orb()) {
                true => Ok(result),
                false => copied::through_memory(
                    self.orb(),
                    |e| write(&result, e),
                    |d| read(d).map_err(copied::unreadable),
                )
                .map_err(E::from),
            }
        })
    }

    /// [`direct`](Self::direct) for a oneway operation, whose caller learns nothing of the servant; `false`: the request has
    /// to be sent. For generated code.
    #[doc(hidden)]
    #[inline]
    pub fn direct_oneway<S: ?Sized + 'static>(
        &self,
        op: &'static Op,
        call: impl FnOnce(&S),
    ) -> bool {
        let (mut call, mut called) = (Some(call), false);
        let served = self.serve_near(op, &mut |servant| {
            if let (Some(servant), Some(call)) = (typed::<S>(servant), call.take()) {
                called = true;
                call(servant);
            }
        });
        // What is refused is told to the request that follows.
        called || matches!(served, Served::Panicked(_))
    }

    /// Lets `serve` call the servant, between the steps of the object adapter.
    #[inline(never)]
    fn serve_near(&self, op: &'static Op, serve: &mut dyn FnMut(&dyn Servant)) -> Served {
        let Some((profile, limit)) = self.near(op) else {
            return Served::Elsewhere;
        };
        let orb = self.orb();
        let Some(adapter) = orb.adapter() else {
            return Served::Elsewhere;
        };
        let _running = match orb.begin_local() {
            Ok(running) => running,
            Err(exception) => return Served::Refused(exception),
        };
        let clock = limit.map(Clock::start);
        let called = panic::catch_unwind(AssertUnwindSafe(|| {
            adapter.serve_direct(orb, &profile.key, serve);
        }));
        match called {
            Err(_) => Served::Panicked(raise::SERVANT_PANICKED),
            Ok(()) if clock.is_some_and(|clock| clock.is_over()) => Served::Late,
            Ok(()) => Served::InTime,
        }
    }

    /// The profile of this process that a call may go to without a message, and how long the call may take.
    fn near(&self, op: &'static Op) -> Option<(&RouteProfile, Option<Duration>)> {
        let route = self.unforwarded()?;
        if self.nearness().is_unknown() {
            let is_near = route.may_be_local()
                && route.scheduled.is_none()
                && is_plain(self.orb().shared(), self.orb().interceptors());
            self.nearness().found(is_near);
            if !is_near {
                return None;
            }
        }
        let Resolved::Base(policies) = self.unchanged_policies()? else {
            return None;
        };
        let simple = policies.plain && !policies.real_time && !policies.carries;
        let waits =
            op.response != Response::None || policies.sync_scope == SyncScope::WithTransport;
        // Quality of service ends with the request that carried it, unless a message takes it along.
        if !simple || !waits || current_qos().is_some() {
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

/// Outcome of a call without a message.
enum Served {
    /// The call needs a message.
    Elsewhere,
    /// The ORB takes no more.
    Refused(SystemException),
    Panicked(SystemException),
    /// The servant, if it was called at all, took no longer than it may.
    InTime,
    Late,
}

/// The servant by the trait of its interface, or of a base of that.
#[inline]
fn typed<S: ?Sized + 'static>(servant: &dyn Servant) -> Option<&S> {
    let mut handles = servant.handles()?.iter();
    handles.find_map(|handle| handle.downcast_ref::<Arc<S>>().map(|servant| &**servant))
}

/// Whether nothing wants to see the messages of this ORB.
fn is_plain(shared: &Shared, interceptors: &Interceptors) -> bool {
    let options = &shared.options;
    options.collocation == Collocation::Direct
        && !options.time_probes
        && !interceptors.see_calls()
        && !interceptors.sees_upcalls
        && shared.enforcer.is_none()
}

/// Time at which a call has taken too long.
enum Clock {
    /// Nanoseconds of a clock that is read in no time, and that is some milliseconds behind.
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
            return Clock::Precise(clock::now() + limit);
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
            Clock::Precise(until) => clock::now() > *until,
            Clock::Never => false,
        }
    }
}
