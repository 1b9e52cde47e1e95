//! Calls that the ORB's scheduler of distributable threads sees; this allocates nothing.

use std::mem;
use std::sync::Arc;
use std::thread;

use oxorb_giop::{ReplyStatus, Response};
use oxorb_object::{ServiceContext, SystemException};

use super::Reply;
use super::buffers::{put_buffer, take_buffer};
use super::exchange::Exchange;
use crate::Ref;
use crate::error::raise;
use crate::interceptor::{
    ClientFlow, Ended, IncomingAnswer, OutgoingRequest, SchedulingInterceptor,
};
use crate::reference::Operation;

/// Service context that a scheduler adds to a request.
#[derive(Default)]
pub(super) struct SchedulingContext(Option<(u32, Vec<u8>)>);

impl SchedulingContext {
    /// Announces to the scheduler a call whose caller does not wait. The result is empty if the ORB has no scheduler.
    ///
    /// # Errors
    /// The error of the scheduler; nothing must be sent then.
    pub(super) fn of(reference: &Ref, op: Operation<'_>) -> Result<Self, SystemException> {
        match &reference.orb().interceptors().scheduling {
            None => Ok(SchedulingContext(None)),
            Some(scheduler) => {
                SchedulingContext::write(&**scheduler, &OutgoingRequest::new(reference, op, false))
            }
        }
    }

    fn write(
        scheduler: &dyn SchedulingInterceptor,
        request: &OutgoingRequest<'_>,
    ) -> Result<Self, SystemException> {
        let mut octets = take_buffer();
        octets.clear();
        match scheduler.send_request(request, &mut octets) {
            Ok(Some(id)) => Ok(SchedulingContext(Some((id, octets)))),
            Ok(None) => {
                put_buffer(octets);
                Ok(SchedulingContext(None))
            }
            Err(exception) => {
                put_buffer(octets);
                Err(exception)
            }
        }
    }

    /// Reports whether the scheduler adds nothing to the request.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn context(&self) -> Option<ServiceContext<'_>> {
        let (id, data) = self.0.as_ref()?;
        Some(ServiceContext { id: *id, data })
    }

    /// Calls `send` with the contexts of interceptors and of the scheduler.
    pub(super) fn with_added<R>(
        &self,
        flow: Option<&ClientFlow>,
        send: impl FnOnce(&[ServiceContext<'_>]) -> R,
    ) -> R {
        match (flow, self.context()) {
            (None, None) => send(&[]),
            (None, Some(context)) => send(&[context]),
            (Some(flow), context) => {
                let mut added = flow.contexts();
                added.extend(context);
                send(&added)
            }
        }
    }
}

impl Drop for SchedulingContext {
    fn drop(&mut self) {
        if let Some((_, octets)) = self.0.take() {
            put_buffer(octets);
        }
    }
}

/// Runs a call, and announces its beginning and its end to the scheduler.
#[cold]
pub(super) fn run(
    exchange: &mut Exchange<'_, '_>,
    scheduler: &Arc<dyn SchedulingInterceptor>,
) -> Result<Option<Reply>, SystemException> {
    let (reference, op) = (exchange.reference, exchange.op);
    let waits = op.response != Response::None;
    let request = OutgoingRequest::new(reference, op, waits);
    exchange.scheduling = SchedulingContext::write(&**scheduler, &request)?;
    if !request.caller_waits() {
        let ended = exchange.run();
        drop(mem::take(&mut exchange.scheduling));
        return ended;
    }
    let unwinding = Unwinding(&**scheduler, &request);
    let ended = exchange.run();
    mem::forget(unwinding);
    drop(mem::take(&mut exchange.scheduling));
    let answered = |answer: IncomingAnswer<'_>| scheduler.receive_answer(&request, &answer);
    match &ended {
        Err(exception) => answered(Ended::SystemException(*exception).into())?,
        Ok(None) => answered(Ended::Other.into())?,
        Ok(Some(reply)) => {
            let ended = match reply.status() {
                ReplyStatus::USER_EXCEPTION => Ended::UserException,
                _ => Ended::Results,
            };
            reply.with_contexts(|contexts| {
                answered(IncomingAnswer { ended, contexts: Some(contexts) })
            })?;
        }
    }
    ended
}

/// Guard that announces the end of a call whose arguments panicked.
struct Unwinding<'u>(&'u dyn SchedulingInterceptor, &'u OutgoingRequest<'u>);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        debug_assert!(thread::panicking());
        let ended = Ended::SystemException(raise::SERVANT_PANICKED);
        let _ = self.0.receive_answer(self.1, &ended.into());
    }
}
