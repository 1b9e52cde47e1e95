//! Calls to objects of this process without a message: the stub calls the servant, between the same steps of the object
//! adapter that a request takes.
//!
//! Unusual calls take the marshalled path (`local.rs`): those with interceptors, probes, the run-time scheduler or
//! policies of the call; those through forwarded references; and those to POAs that hold requests or use a servant
//! manager, or to servants without a typed interface.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::threads::clock;
use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_giop::Response;
use oxorb_object::{CompletionStatus, SystemException};

use super::{Selection, copied};
use crate::error::{ServantError, raise};
use crate::interceptor::Interceptors;
use crate::options::Collocation;
use crate::policy::{Resolved, SyncScope};
use crate::reference::{Op, OperationError, RouteProfile};
use crate::servant::current_qos;
use crate::shared::Shared;
use crate::{Orb, Ref, Servant};

impl Ref {
    /// Reports whether calls might be direct. [`direct`](Self::direct) checks the remaining conditions. For generated
    /// code.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_near(&self) -> bool {
        !self.nearness().is_far()
    }

    /// Calls the servant itself if the object is active in this process and the call may run in this thread. Returns
    /// `None` if the request has to be sent as a message. For generated code.
    ///
    /// The servant runs as for a request: the POA's `Current` is set, the object's priority applies, and a panic
    /// becomes UNKNOWN. The call counts as a running request. Takes no lock and allocates nothing.
    #[doc(hidden)]
    #[inline]
    pub fn direct<S: ?Sized + 'static, R, E: ServantError + OperationError>(
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
            DirectResult::Elsewhere => None,
            DirectResult::Refused(exception) | DirectResult::Panicked(exception) => {
                Some(Err(exception.into()))
            }
            DirectResult::InTime => result,
            DirectResult::Late => {
                // An exception of the servant tells the caller more than a time-out does.
                let raised = result?.err().as_ref().and_then(ServantError::system);
                let late = raise::timeout(CompletionStatus::Yes);
                Some(Err(raised.unwrap_or(late).into()))
            }
        }
    }

    /// Calls as [`direct`](Self::direct) does, for results that pass unchanged only if `passes` returns true. Otherwise
    /// `write` marshals them and `read` reads them back, or the call fails. For generated code.
    #[doc(hidden)]
    #[inline]
    pub fn direct_checked<S: ?Sized + 'static, R, E: ServantError + OperationError>(
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

    /// Calls as [`direct`](Self::direct) does, for a oneway operation, whose caller does not learn the outcome. Returns
    /// false if the request has to be sent as a message. For generated code.
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
        // If the ORB refused the call, this returns false, and the request that is then sent reports the refusal.
        called || matches!(served, DirectResult::Panicked(_))
    }

    /// Passes the servant to `serve`, between the steps of the object adapter.
    #[inline(never)]
    fn serve_near(&self, op: &'static Op, serve: &mut dyn FnMut(&dyn Servant)) -> DirectResult {
        let Some((profile, limit)) = self.near(op) else {
            return DirectResult::Elsewhere;
        };
        let orb = self.orb();
        let Some(adapter) = orb.adapter() else {
            return DirectResult::Elsewhere;
        };
        let _running = match orb.begin_local() {
            Ok(running) => running,
            Err(exception) => return DirectResult::Refused(exception),
        };
        let clock = limit.map(Clock::start);
        let called = panic::catch_unwind(AssertUnwindSafe(|| {
            adapter.serve_direct(orb, &profile.key, serve);
        }));
        match called {
            Err(_) => DirectResult::Panicked(raise::SERVANT_PANICKED),
            Ok(()) if clock.is_some_and(|clock| clock.is_over()) => DirectResult::Late,
            Ok(()) => DirectResult::InTime,
        }
    }

    /// Returns the profile of this process to which a call may go without a message, and the time limit of the call.
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
        // If the running request has a quality of service, only a message can pass it on to the called object.
        if !simple || !waits || current_qos().is_some() {
            return None;
        }
        let selection = match route.real_time {
            false => None,
            // If the selection fails, the marshalled call reports the error.
            true => Selection::of(self, route, policies, op.into()).ok()?,
        };
        let (_, profile) = route.local(self.orb(), selection.as_ref())?;
        Some((profile, policies.round_trip))
    }
}

/// Outcome of a call without a message.
enum DirectResult {
    /// The call needs a message.
    Elsewhere,
    /// The ORB accepts no more calls.
    Refused(SystemException),
    Panicked(SystemException),
    /// The servant, if it was called at all, did not exceed its time limit.
    InTime,
    Late,
}

/// Returns the servant as the trait of its interface, or of a base of that.
#[inline]
fn typed<S: ?Sized + 'static>(servant: &dyn Servant) -> Option<&S> {
    let mut handles = servant.handles()?.iter();
    handles.find_map(|handle| handle.downcast_ref::<Arc<S>>().map(|servant| &**servant))
}

/// Reports whether no part of this ORB needs to see messages.
fn is_plain(shared: &Shared, interceptors: &Interceptors) -> bool {
    let options = &shared.options;
    options.collocation == Collocation::Direct
        && !options.time_probes
        && !interceptors.see_local_calls()
        && shared.enforcer.is_none()
}

/// Time at which a call exceeds its limit.
enum Clock {
    /// Time in nanoseconds of a clock that is cheap to read, and some milliseconds behind.
    Coarse(u64),
    Precise(Instant),
    Never,
}

/// Shortest time limit that is measured with the coarse clock.
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
