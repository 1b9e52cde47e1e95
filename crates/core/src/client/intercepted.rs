//! A round of a call that client interceptors look at.

use oxorb_giop::ReplyStatus;
use oxorb_object::SystemException;

use super::{Exchange, Reply, Round};
use crate::interceptor::{ClientFlow, Interrupt, Received};
use crate::{Ref, raise};

/// Starting points, the round itself, ending points.
#[cold]
pub(super) fn round(
    exchange: &mut Exchange<'_, '_>,
    mut flow: Box<ClientFlow>,
) -> Result<Round, SystemException> {
    let reference = exchange.reference;
    let round = match flow.send_request() {
        Ok(()) => exchange.round(Some(&flow)),
        Err(interrupt) => follow(reference, interrupt),
    };
    end(reference, &mut flow, round)
}

/// Shows the interceptors how the round ended; they may end it otherwise.
pub(super) fn end(
    reference: &Ref,
    flow: &mut ClientFlow,
    round: Result<Round, SystemException>,
) -> Result<Round, SystemException> {
    let ended = match &round {
        Err(exception) => flow.end(&Received::SystemException(*exception)),
        Ok(Round::Done(None)) => flow.end(&Received::Sent),
        Ok(Round::Forwarded | Round::FellBack) => {
            flow.end(&Received::Forward(reference.effective()))
        }
        Ok(Round::Done(Some(reply))) => match reply.exception_id() {
            Some(id) => flow.end(&Received::UserException { id: &id }),
            None => flow.end(&Received::Results),
        },
    };
    match ended {
        Ok(()) => round,
        // The reply goes, and with it the connection back to where it belongs.
        Err(interrupt) => follow(reference, interrupt),
    }
}

/// The starting points of an asynchronous call. Where one of them sends it elsewhere, those that have seen it see that.
pub(super) fn begin(flow: Option<&mut ClientFlow>) -> Result<(), Interrupt> {
    let Some(flow) = flow else {
        return Ok(());
    };
    match flow.send_request() {
        Err(Interrupt::Forward(to)) => {
            flow.end(&Received::Forward(to.clone()))?;
            Err(Interrupt::Forward(to))
        }
        // The failure of the call comes to the ending points when the caller takes it.
        begun => begun,
    }
}

/// The ending points of an asynchronous call, once: when its caller takes the answer.
pub(super) fn answered(
    flow: &mut ClientFlow,
    reply: &Result<Reply, SystemException>,
) -> Result<(), Interrupt> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(exception) => return flow.end(&Received::SystemException(*exception)),
    };
    reply.with_contexts(|contexts| flow.note(contexts));
    match reply.status() {
        ReplyStatus::USER_EXCEPTION => {
            let id = reply.exception_id().unwrap_or_default();
            flow.end(&Received::UserException { id: &id })
        }
        ReplyStatus::SYSTEM_EXCEPTION => {
            let exception = reply.read().unwrap_or(raise::BAD_REPLY);
            flow.end(&Received::SystemException(exception))
        }
        ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM => match reply.read() {
            Ok(ior) => {
                let to = Ref::new(flow.target().orb(), ior);
                flow.end(&Received::Forward(to))
            }
            Err(exception) => flow.end(&Received::SystemException(exception)),
        },
        ReplyStatus::NEEDS_ADDRESSING_MODE => {
            let to = flow.target().clone();
            flow.end(&Received::Forward(to))
        }
        _ => flow.end(&Received::Results),
    }
}

fn follow(reference: &Ref, interrupt: Interrupt) -> Result<Round, SystemException> {
    match interrupt {
        Interrupt::Raise(exception) => Err(exception),
        Interrupt::Forward(to) if to.ior().is_nil() => Err(raise::NIL_REFERENCE),
        Interrupt::Forward(to) => {
            reference.forward_to(to.ior().clone(), false)?;
            Ok(Round::Forwarded)
        }
    }
}
