//! Calls that do not wait: a future completed by the connection's reader thread.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use oxorb_cdr::{Decoder, Result as CdrResult};
use oxorb_giop::{Frame, Ior, ReplyStatus, ServiceContext, SystemException, Version};

use super::call::Request;
use super::multiplexed::{Multiplexed, Slot};
use super::reach::Untried;
use super::selection::Selection;
use super::timing::Carried;
use super::{Answered, Args, Reply, Timing, intercepted, local, timing};
use crate::interceptor::{ClientFlow, Interrupt};
use crate::op::{NO_SLOT, Operation, UserException};
use crate::policy::RebindMode;
use crate::route::Route;
use crate::server::Mailbox;
use crate::sync::{atomic::Ordering, thread};
use crate::{Ref, failure, raise};

/// How often a request that certainly did not run is sent again.
const RESENDS: u32 = 3;

/// The answer of an asynchronous call, as a future for any executor, or for
/// none: [`wait`](AsyncReply::wait) blocks.
///
/// The request was sent when this was made. Dropping it forgets the call and
/// tells the server (CancelRequest); whether the operation runs all the same is
/// up to that.
#[must_use = "the answer, and any exception, is in here"]
pub struct AsyncReply<R, E> {
    sent: InFlight,
    result: fn(&mut Decoder<'_>) -> CdrResult<R>,
    error: PhantomData<fn() -> E>,
}

/// A request that was sent, and its answer when it is there; for whoever reads
/// that himself.
///
/// Dropping it forgets the call and tells the server.
#[must_use = "the answer, and any exception, is in here"]
pub struct InFlight {
    reference: Ref,
    /// `None` when time was over before it began.
    timing: Option<Timing>,
    /// When whoever blocks for the answer may have it at the earliest (ReplyStartTime).
    reply_start: Option<u64>,
    /// How often it was sent on.
    forwards: u32,
    /// How often it was sent again, because its connection was closed before the server took it.
    resends: u32,
    state: State,
    /// What client interceptors have seen of it; `None` where there are none.
    flow: Option<Box<ClientFlow>>,
}

enum State {
    /// It is there, it failed, or the object is local. `None`: taken.
    Settled(Option<Result<Reply, SystemException>>),
    Sent(Arc<Slot>, Target),
    /// A servant of this process answers later.
    Kept(Arc<Mailbox>),
}

/// Whom a request was sent to: this profile of the route.
struct Target(Arc<Route>, usize);

/// What an answer means for the call.
enum Settled {
    /// The caller's.
    Reply(Reply),
    /// The request went on to where the answer said.
    SentOn(State),
}

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
    let policies = reference.policies();
    let timing = Timing::start(&policies);
    let mut sent = InFlight {
        reference: reference.clone(),
        timing: timing.as_ref().ok().copied(),
        reply_start: policies.reply_start,
        forwards: 0,
        resends: 0,
        state: State::Settled(None),
        flow: None,
    };
    let launched = timing.and_then(|timing| sent.launch(timing, op, args));
    sent.state = match launched {
        Ok(state) => state,
        Err(exception) => State::Settled(Some(Err(exception))),
    };
    sent
}

fn start<'a>(
    reference: &Ref,
    timing: Timing,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    added: &[ServiceContext<'_>],
) -> Result<State, SystemException> {
    let policies = reference.policies();
    let bound = match policies.rebind {
        RebindMode::Transparent => None,
        _ => reference.binding().bound(),
    };
    let route = match &bound {
        Some(bound) => Arc::clone(&bound.route),
        None => reference.route()?,
    };
    let selection = Selection::of(reference, &route, &policies)?;
    let priority = selection.as_ref().and_then(|selection| selection.priority);
    if let Some((_, profile)) = route.local() {
        let carried = Carried::of(&policies, priority, timing, false);
        let contexts = &carried.beside(added);
        let made = local::begin(reference, &route, profile, timing, op, args, contexts)?;
        return Ok(match made {
            local::Made::Ended(reply) => State::Settled(reply.map(Ok)),
            local::Made::Later(mailbox) => State::Kept(mailbox),
        });
    }
    let mut attempts = Vec::new();
    let mut unreachable = raise::CONNECT_FAILED;
    let mut profiles = Untried::of(&route, bound.as_deref());
    if let Some(selection) = &selection {
        profiles.restrict(&route, bound.as_deref(), selection);
    }
    for index in profiles.in_order() {
        let profile = &route.profiles[index];
        let peer = profile.remote();
        if let Some(bound) = &bound
            && policies.rebind == RebindMode::NoReconnect
            && bound.losses != peer.losses()
        {
            return Err(raise::REBIND_LOST);
        }
        let reconciled = profile.published.reconcile(&policies);
        let policies = &reconciled.map_err(|_| raise::IRRECONCILABLE)?;
        let synchronized = peer.options().synchronized_clocks;
        let carried = Carried::of(policies, priority, timing, synchronized);
        let contexts = &carried.beside(added);
        let request = Request {
            op,
            target: route.target(profile),
            version: profile.version,
            code_sets: profile.code_sets?,
            contexts,
        };
        // Twice: the shared connection may have ended since its last use.
        for _ in 0..2 {
            let sent = Multiplexed::of(reference.orb(), peer, timing, &mut attempts)
                .and_then(|shared| shared.send(peer, &request, args, timing.awaiting(policies)));
            match sent {
                Ok(slot) => {
                    route.preferred.store(index, Ordering::Relaxed);
                    let target = Target(Arc::clone(&route), index);
                    return Ok(State::Sent(slot, target));
                }
                Err(exception) if exception == raise::CONNECT_FAILED => break,
                Err(exception) if exception.is_safe_to_retry() => unreachable = exception,
                Err(exception) => return Err(exception),
            }
        }
    }
    if bound.is_none() && reference.forget_forward(&route) {
        // Nobody answers where it was forwarded to: the original may know better.
        return start(reference, timing, op, args, added);
    }
    Err(failure::record(unreachable, attempts))
}

impl<R, E: UserException> AsyncReply<R, E> {
    /// Blocks until the answer is there.
    pub fn wait(mut self) -> Result<R, E> {
        let reply = self.sent.block();
        self.decode(reply)
    }

    /// Whether the answer is there, so that [`wait`](Self::wait) does not block (AMI, polling model). Never blocks.
    pub fn is_ready(&mut self) -> bool {
        self.sent.is_ready()
    }

    /// Has the answer handed to `handler` when it is there (AMI, callback model).
    ///
    /// All handlers of an ORB run on one thread of it, one after the other, so a handler that blocks delays the others;
    /// one that panics loses its own answer only. Never runs within this call, unless the ORB is shut down or has no
    /// thread to give: then this waits and runs it. Allocates.
    pub fn then(self, handler: impl FnOnce(Result<R, E>) + Send + 'static)
    where
        R: 'static,
        E: 'static,
    {
        let orb = self.sent.reference.orb().clone();
        orb.callbacks().run(async move { handler(self.await) });
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
        let mut nobody = Context::from_waker(Waker::noop());
        self.poll_ready(&mut nobody).is_ready()
    }

    /// Whether the answer is there; if not, the task of `context` is woken when it is. Never blocks, and does not take
    /// the answer.
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll(context).map(|reply| {
            self.state = State::Settled(Some(reply));
        })
    }

    /// Blocks until the answer is there and lets `read` have it.
    pub fn wait<T>(mut self, read: impl FnOnce(Answered<'_>) -> T) -> Result<T, SystemException> {
        let reply = self.block()?;
        Ok(read(reply.answered()))
    }

    fn block(&mut self) -> Result<Reply, SystemException> {
        let reply = self.block_for_it()?;
        if let Some(start) = self.reply_start {
            timing::hold_until(start);
        }
        Ok(reply)
    }

    fn block_for_it(&mut self) -> Result<Reply, SystemException> {
        if let (State::Kept(mailbox), Some(timing)) = (&self.state, self.timing) {
            // No thread of ours looks after the time of such a call.
            let reply = local::wait(self.reference.orb(), mailbox, timing);
            self.state = State::Settled(Some(reply));
        }
        wait_until(|context| self.poll(context))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, SystemException>> {
        loop {
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
                State::Kept(mailbox) => match mailbox.poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(message) => local::answered(self.reference.orb(), message),
                },
            };
            match self.settle(reply) {
                Ok(Settled::Reply(reply)) => return Poll::Ready(Ok(reply)),
                Ok(Settled::SentOn(state)) => self.state = state,
                Err(exception) => return Poll::Ready(Err(exception)),
            }
        }
    }

    /// Interceptors see the request, then it is sent.
    fn launch<'a>(
        &mut self,
        timing: Timing,
        op: Operation<'_>,
        args: Args<'_, 'a>,
    ) -> Result<State, SystemException> {
        loop {
            self.flow = ClientFlow::of(&self.reference, op);
            match intercepted::begin(self.flow.as_deref_mut()) {
                Ok(()) => break,
                Err(Interrupt::Raise(exception)) => return Err(exception),
                Err(Interrupt::Forward(to)) => self.forward_to(to.ior().clone(), false)?,
            }
        }
        let flow = self.flow.as_deref();
        let added = flow.map(ClientFlow::contexts).unwrap_or_default();
        start(&self.reference, timing, op, args, &added)
    }

    fn forward_to(&mut self, ior: Ior, permanent: bool) -> Result<(), SystemException> {
        self.forwards = super::exchange::one_more(self.forwards)?;
        if self.reference.policies().rebind != RebindMode::Transparent
            && self.reference.binding().bound().is_some()
        {
            return Err(raise::REBIND_MOVED);
        }
        self.reference.forward_to(ior, permanent)
    }

    /// As a synchronous call that was answered does.
    fn bind(&self) {
        if let State::Sent(_, Target(route, index)) = &self.state
            && self.reference.policies().rebind != RebindMode::Transparent
            && self.reference.binding().bound().is_none()
        {
            let losses = route.profiles[*index].remote().losses();
            self.reference.binding().bind(route, *index, losses);
        }
    }

    /// Results and user exceptions are the caller's; the rest is acted on here.
    fn settle(
        &mut self,
        reply: Result<Reply, SystemException>,
    ) -> Result<Settled, SystemException> {
        if let Some(flow) = &mut self.flow {
            match intercepted::answered(flow, &reply) {
                Ok(()) => {}
                Err(Interrupt::Raise(exception)) => return Err(exception),
                Err(Interrupt::Forward(to)) => {
                    self.forward_to(to.ior().clone(), false)?;
                    return self.send_on();
                }
            }
        }
        let reply = match reply {
            Err(raise::CONNECTION_CLOSED) if self.resends < RESENDS => {
                self.resends += 1;
                return match self.send_on() {
                    Err(raise::FORWARDED) => Err(raise::CONNECTION_CLOSED),
                    sent => sent,
                };
            }
            reply => reply?,
        };
        match reply.status() {
            ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => {
                self.bind();
                Ok(Settled::Reply(reply))
            }
            ReplyStatus::SYSTEM_EXCEPTION => Err(reply.system_exception()),
            status @ (ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM) => {
                let permanent = status == ReplyStatus::LOCATION_FORWARD_PERM;
                self.forward_to(reply.read()?, permanent)?;
                self.send_on()
            }
            ReplyStatus::NEEDS_ADDRESSING_MODE => {
                let wanted: i16 = reply.read()?;
                let addressed = match &self.state {
                    State::Sent(_, Target(route, index)) => {
                        route.profiles[*index].set_addressing(wanted as u16)
                    }
                    State::Settled(_) | State::Kept(_) => false,
                };
                if !addressed {
                    return Err(raise::ADDRESSING_LOOP);
                }
                self.forwards = super::exchange::one_more(self.forwards)?;
                self.send_on()
            }
            _ => Err(raise::UNKNOWN_REPLY_STATUS),
        }
    }

    /// Sends the same arguments to where calls go now. They are the octets that
    /// were sent before, so both places must encode alike; where they do not,
    /// the caller has to repeat the call.
    fn send_on(&mut self) -> Result<Settled, SystemException> {
        let State::Sent(slot, Target(route, index)) = &self.state else {
            return Err(raise::FORWARDED);
        };
        let (slot, route, index) = (Arc::clone(slot), Arc::clone(route), *index);
        let (message, before) = (slot.request(), &route.profiles[index]);
        let frame = Frame::parse(message).map_err(|_| raise::FORWARDED)?;
        let request = oxorb_giop::Request::parse(&frame).map_err(|_| raise::FORWARDED)?;
        // Since GIOP 1.2 arguments begin at a multiple of 8, so they may move.
        let alike = self.reference.route()?.profiles.iter().all(|now| {
            now.peer.is_some()
                && now.version >= Version::V1_2
                && before.version >= Version::V1_2
                && now.code_sets == before.code_sets
        });
        if !alike {
            return Err(raise::FORWARDED);
        }
        let op = Operation {
            name: request.operation,
            response: request.response,
            slot: NO_SLOT,
            request: 0,
        };
        let args = &message[request.body..];
        let timing = self.timing.ok_or(raise::FORWARDED)?;
        self.launch(timing, op, &|e| {
            e.copy_octets(args);
            Ok(())
        })
        .map(Settled::SentOn)
    }
}

impl Drop for InFlight {
    /// Nobody waits any more: the server is told, if that can be done at once.
    fn drop(&mut self) {
        if let State::Kept(mailbox) = &self.state {
            mailbox.close();
        }
        if let State::Sent(slot, Target(route, index)) = &self.state
            && slot.is_waiting()
        {
            let profile = &route.profiles[*index];
            let peer = profile.remote();
            if let Some(shared) = Multiplexed::open_to(peer) {
                shared.cancel(slot, profile.version, peer.options());
            }
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

/// Blocks this thread until `poll` is ready. It is asked again whenever the task it was given is woken: by the answer of
/// an [`InFlight`], say.
///
/// Unlike an executor's way of blocking, it may be used by a servant: requests that come over its connection meanwhile
/// are served by another thread. Allocates once.
///
/// ```no_run
/// use std::task::Poll;
///
/// # fn of(mut several: Vec<oxorb_core::InFlight>) {
/// let first = oxorb_core::wait_until(|context| {
///     let ready = several.iter_mut().position(|one| one.poll_ready(context).is_ready());
///     ready.map_or(Poll::Pending, Poll::Ready)
/// });
/// # let _ = first; }
/// ```
pub fn wait_until<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    crate::server::step_aside();
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Wakes a thread that waits for a future.
pub(super) struct Unpark(pub(super) thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
