//! Rounds of a call that client interceptors see.

use oxorb_object::SystemException;

use super::reply_meaning::ReplyMeaning;
use super::{Exchange, Reply, Round};
use crate::Ref;
use crate::error::raise;
use crate::interceptor::{ClientFlow, Interrupt, Received};

/// Runs the starting points, the round itself, and the ending points.
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

/// Shows the interceptors how the round ended; they may change the outcome.
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
        Ok(Round::Done(Some(reply))) => end_with(flow, reply),
    };
    match ended {
        Ok(()) => round,
        // This drops the round's reply, which gives its connection back.
        Err(interrupt) => follow(reference, interrupt),
    }
}

/// Runs the starting points of an asynchronous call. If one of them forwards the call, those that have seen it are
/// notified.
pub(super) fn begin(flow: Option<&mut ClientFlow>) -> Result<(), Interrupt> {
    let Some(flow) = flow else {
        return Ok(());
    };
    match flow.send_request() {
        Err(Interrupt::Forward(to)) => {
            flow.end(&Received::Forward(to.clone()))?;
            Err(Interrupt::Forward(to))
        }
        begun => begun,
    }
}

/// Runs the ending points of an asynchronous call that could not be sent. Returns its outcome, which they may change.
#[cold]
pub(super) fn unsent(flow: Option<&mut ClientFlow>, exception: SystemException) -> Interrupt {
    let ended = flow.map_or(Ok(()), |flow| flow.end(&Received::SystemException(exception)));
    ended.err().unwrap_or(Interrupt::Raise(exception))
}

/// Runs the ending points of an asynchronous call, once: when its caller takes the answer.
pub(super) fn answered(
    flow: &mut ClientFlow,
    meaning: &Result<ReplyMeaning, SystemException>,
) -> Result<(), Interrupt> {
    let elsewhere = match meaning {
        Err(exception) => return flow.end(&Received::SystemException(*exception)),
        Ok(ReplyMeaning::Answer(reply)) => return end_with(flow, reply),
        Ok(ReplyMeaning::Moved(ior, _)) => Ref::new(flow.target().orb(), ior.clone()),
        Ok(ReplyMeaning::Readdressed) => flow.target().clone(),
    };
    flow.end(&Received::Forward(elsewhere))
}

/// Shows the interceptors results, or a user exception.
fn end_with(flow: &mut ClientFlow, reply: &Reply) -> Result<(), Interrupt> {
    match reply.exception_id() {
        Some(id) => flow.end(&Received::UserException { id: &id }),
        None => flow.end(&Received::Results),
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
