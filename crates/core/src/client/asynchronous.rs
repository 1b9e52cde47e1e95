//! Calls that do not wait: a future completed by the connection's reader thread.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use oxorb_cdr::{Decoder, Result as CdrResult};
use oxorb_giop::{ReplyStatus, SystemException};

use super::call::Request;
use super::multiplexed::{Multiplexed, Slot};
use super::{Answered, Args, Reply, Timing, local};
use crate::op::{Operation, UserException};
use crate::route::Route;
use crate::{Ref, failure, raise};

/// The answer of an asynchronous call, as a future for any executor, or for
/// none: [`wait`](AsyncReply::wait) blocks.
///
/// The request was sent when this was made. Dropping it forgets the call;
/// whether the operation runs all the same is up to the server.
#[must_use = "the answer, and any exception, is in here"]
pub struct AsyncReply<R, E> {
    sent: InFlight,
    result: fn(&mut Decoder<'_>) -> CdrResult<R>,
    error: PhantomData<fn() -> E>,
}

/// A request that was sent, and its answer when it is there; for whoever reads
/// that himself.
///
/// Dropping it forgets the call.
#[must_use = "the answer, and any exception, is in here"]
pub struct InFlight {
    reference: Ref,
    state: State,
}

enum State {
    /// It is there, it failed, or the object is local. `None`: taken.
    Settled(Option<Result<Reply, SystemException>>),
    Sent(Arc<Slot>, Target),
}

/// Whom a request was sent to: this profile of the route.
struct Target(Arc<Route>, usize);

/// Sends the request and gives the future of its answer.
pub(crate) fn invoke_async<'a, R, E: UserException>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    result: fn(&mut Decoder<'_>) -> CdrResult<R>,
) -> AsyncReply<R, E> {
    AsyncReply {
        sent: begin(reference, op, args),
        result,
        error: PhantomData,
    }
}

/// Sends a two-way request.
pub(crate) fn begin<'a>(reference: &Ref, op: Operation<'_>, args: Args<'_, 'a>) -> InFlight {
    let state = match start(reference, op, args) {
        Ok(state) => state,
        Err(exception) => State::Settled(Some(Err(exception))),
    };
    InFlight {
        reference: reference.clone(),
        state,
    }
}

fn start<'a>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<State, SystemException> {
    let timing = Timing::start(reference);
    let route = reference.route()?;
    if let Some(profile) = route.local() {
        let reply = local::call(reference, &route, profile, op, args)?;
        return Ok(State::Settled(reply.map(Ok)));
    }
    let mut attempts = Vec::new();
    let mut unreachable = raise::CONNECT_FAILED;
    for (index, profile) in route.profiles.iter().enumerate() {
        let peer = profile
            .peer
            .as_ref()
            .expect("local profiles are served locally");
        let request = Request {
            op,
            target: route.target(profile),
            version: profile.version,
            code_sets: profile.code_sets?,
        };
        // Twice: the shared connection may have ended since its last use.
        for _ in 0..2 {
            let sent = Multiplexed::of(peer, timing, &mut attempts)
                .and_then(|shared| shared.send(peer, &request, args, timing));
            match sent {
                Ok(slot) => {
                    let target = Target(Arc::clone(&route), index);
                    return Ok(State::Sent(slot, target));
                }
                Err(exception) if exception == raise::CONNECT_FAILED => break,
                Err(exception) if exception.is_safe_to_retry() => unreachable = exception,
                Err(exception) => return Err(exception),
            }
        }
    }
    if reference.forget_forward() {
        // Nobody answers where it was forwarded to: the original may know better.
        return start(reference, op, args);
    }
    Err(failure::record(unreachable, attempts))
}

impl<R, E: UserException> AsyncReply<R, E> {
    /// Blocks until the answer is there.
    pub fn wait(mut self) -> Result<R, E> {
        let reply = self.sent.block();
        self.decode(reply)
    }

    fn decode(&self, reply: Result<Reply, SystemException>) -> Result<R, E> {
        let reply = reply?;
        match reply.status() {
            ReplyStatus::USER_EXCEPTION => Err(reply.user_exception()),
            _ => reply.decode(self.result),
        }
    }
}

impl<R, E: UserException> Future for AsyncReply<R, E> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.sent.poll(context) {
            Poll::Ready(reply) => Poll::Ready(self.decode(reply)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl InFlight {
    /// Whether the answer is there. Never blocks.
    pub fn is_ready(&mut self) -> bool {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => false,
            Poll::Ready(reply) => {
                self.state = State::Settled(Some(reply));
                true
            }
        }
    }

    /// Blocks until the answer is there and lets `read` have it.
    pub fn wait<T>(mut self, read: impl FnOnce(Answered<'_>) -> T) -> Result<T, SystemException> {
        let reply = self.block()?;
        Ok(read(reply.answered()))
    }

    fn block(&mut self) -> Result<Reply, SystemException> {
        crate::server::step_aside();
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let mut context = Context::from_waker(&waker);
        loop {
            match self.poll(&mut context) {
                Poll::Ready(reply) => return reply,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, SystemException>> {
        let reply = match &mut self.state {
            // Settled once before: here, or by `is_ready`.
            State::Settled(reply) => reply
                .take()
                .expect("an asynchronous call was polled after it had completed"),
            State::Sent(slot, _) => match slot.poll(context.waker()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(answer)) => {
                    Reply::from_memory(self.reference.orb(), answer.message, answer.dialect)
                }
                Poll::Ready(Err(exception)) => Err(exception),
            },
        };
        Poll::Ready(reply.and_then(|reply| self.settle(reply)))
    }

    /// Results and user exceptions are the caller's; the rest is acted on here.
    fn settle(&self, reply: Reply) -> Result<Reply, SystemException> {
        match reply.status() {
            ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => Ok(reply),
            ReplyStatus::SYSTEM_EXCEPTION => Err(reply.system_exception()),
            ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM => {
                // The arguments are gone, so this call ends here; the next one,
                // and the caller's retry, go to the new place.
                let ior = reply.read()?;
                self.reference.forward_to(&ior)?;
                Err(raise::FORWARDED)
            }
            ReplyStatus::NEEDS_ADDRESSING_MODE => {
                let wanted: i16 = reply.read()?;
                let addressed = match &self.state {
                    State::Sent(_, Target(route, index)) => {
                        route.profiles[*index].set_addressing(wanted as u16)
                    }
                    State::Settled(_) => false,
                };
                // As above: repeated, it goes the way the server wants it.
                Err(if addressed {
                    raise::FORWARDED
                } else {
                    raise::ADDRESSING_LOOP
                })
            }
            _ => Err(raise::UNKNOWN_REPLY_STATUS),
        }
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("to", &self.reference)
            .field("answered", &matches!(self.state, State::Settled(_)))
            .finish()
    }
}

/// Wakes a thread that waits for a future.
struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
