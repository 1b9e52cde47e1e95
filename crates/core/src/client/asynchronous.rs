//! Asynchronous calls: a future that the connection's reader thread completes.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use oxorb_cdr::{Decoder, Result as CdrResult};
use oxorb_giop::ReplyStatus;
use oxorb_object::{CompletionStatus, Ior, SystemException, SystemExceptionKind};
use oxorb_rt::Priority;

use super::alarm::Alarm;
use super::callback::run_in_lane;
use super::launch::{Again, Launch, Launched, RequestTarget};
use super::metered::Metered;
use super::reply_meaning::{ReplyMeaning, one_more, pause};
use super::scheduled::SchedulingContext;
use super::slot::CallSlot;
use super::{Args, RawReply, Reply, Timing, intercepted, local, wait_until};
use crate::Ref;
use crate::conn::Mailbox;
use crate::error::raise;
use crate::interceptor::{ClientFlow, Interrupt, Received};
use crate::policy::{Effective, RebindMode, Resolved, time};
use crate::reference::{Operation, OperationError};
use crate::threads::clock;
use crate::threads::rt::thread_priority;
use crate::threads::sync::thread;

/// Maximum number of times that a request which certainly did not run is sent again.
const RESENDS: u32 = 3;

/// Answer of an asynchronous call, as a future for any executor, or for none: [`wait`](AsyncReply::wait) blocks.
///
/// The request has been sent when this future is returned. Dropping the future abandons the call and notifies the
/// server (CancelRequest); the server decides whether the operation still runs. Client interceptors see the answer if
/// it has arrived; otherwise their `receive_other` runs, in the thread that drops the future.
#[must_use = "the answer, and any exception, is in here"]
pub struct AsyncReply<R, E> {
    sent: InFlight,
    result: Reading<R>,
    error: PhantomData<fn() -> E>,
}

/// Function that reads the results of a call.
pub(crate) enum Reading<R> {
    Copied(fn(&mut Decoder<'_>) -> CdrResult<R>),
    /// Leaves octets where the server wrote them, if the transport lends them.
    InPlace(fn(&mut Decoder<'_>) -> CdrResult<R>),
}

/// Request that was sent, and its answer once it has arrived; for callers that read the answer themselves.
///
/// Dropping this abandons the call and notifies the server. Client interceptors see the answer if it has arrived;
/// otherwise their `receive_other` runs, in the thread that drops this.
#[must_use = "the answer, and any exception, is in here"]
pub struct InFlight {
    reference: Ref,
    /// CORBA priority of the thread that made the call.
    priority: Option<Priority>,
    /// `None` if the time limit was reached before the call began.
    timing: Option<Timing>,
    /// Policies in effect for the calling thread when the call was made; `None` if those of the reference apply.
    policies: Option<Box<Effective>>,
    /// Copy of the request, if policy may require that it is sent again.
    again: Option<Box<Again>>,
    /// Number of times the request was forwarded.
    forwards: u32,
    /// Number of times the request was sent again, because its connection was closed before the server accepted it.
    resends: u32,
    /// Number of times the request was made again, as policy requires.
    retries: u32,
    /// Slot and target of the last sending.
    sent: Option<(Arc<CallSlot>, RequestTarget)>,
    state: CallState,
    /// Alarm that wakes the waiting task when the time it waits for has come.
    alarm: Option<Alarm>,
    /// Record of the call for client interceptors; `None` if there are none.
    flow: Option<Box<ClientFlow>>,
    /// Start of the call, if the ORB counts calls; `None` once it is counted.
    metered: Option<Metered>,
}

enum CallState {
    /// The slot will receive the answer.
    Sent,
    /// A servant of this process answers later.
    Kept(Arc<Mailbox>),
    /// Answer that arrived, or failure; its meaning is not known yet.
    Arrived(Result<Reply, SystemException>),
    /// Answer for the caller, but not before this time (ReplyStartTime).
    Held(Reply, u64),
    /// Failed call, which is retried at this time (Retry).
    Paused(Instant, SystemException),
    /// Answer for the caller; `None` once the caller has taken it.
    Settled(Option<Result<Reply, SystemException>>),
}

/// Sends the request and returns the future of its answer.
pub(crate) fn invoke_async<'a, R, E: OperationError>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    result: Reading<R>,
) -> AsyncReply<R, E> {
    AsyncReply { sent: begin(reference, op, args), result, error: PhantomData }
}

/// Sends a two-way request.
pub(crate) fn begin<'a>(reference: &Ref, op: Operation<'_>, args: Args<'_, 'a>) -> InFlight {
    let policies = reference.policies();
    let timing = Timing::start(&policies);
    let rare = !policies.plain || policies.real_time || policies.carries;
    let mut sent = InFlight {
        reference: reference.clone(),
        priority: thread_priority(),
        timing: timing.as_ref().ok().copied(),
        policies: rare.then(|| Box::new(*policies)),
        again: None,
        forwards: 0,
        resends: 0,
        retries: 0,
        sent: None,
        state: CallState::Settled(None),
        alarm: None,
        flow: None,
        metered: Metered::begin(reference),
    };
    let launched = timing.and_then(|timing| sent.first(timing, op, args));
    sent.state = match launched {
        Ok(state) => state,
        Err(exception) => sent.failed(exception),
    };
    sent
}

impl<R, E: OperationError> AsyncReply<R, E> {
    /// Blocks until the answer has arrived.
    pub fn wait(mut self) -> Result<R, E> {
        let reply = self.sent.block();
        self.decode(reply)
    }

    /// Reports whether the answer has arrived, so that [`wait`](Self::wait) does not block (AMI, polling model). Never
    /// blocks.
    pub fn is_ready(&mut self) -> bool {
        self.sent.is_ready()
    }

    /// Reports whether the answer has arrived; if not, the task of `context` is woken when it arrives. Never blocks,
    /// and does not take the answer. With [`wait_until`], or in an executor, it serves to wait for the first of several
    /// answers (CORBA's `PollableSet`).
    ///
    /// ```no_run
    /// use std::task::Poll;
    ///
    /// # fn first(mut several: Vec<oxorb_core::AsyncReply<i64, oxorb_object::SystemException>>) {
    /// let first = oxorb_core::wait_until(|context| {
    ///     let ready = several.iter_mut().position(|one| one.poll_ready(context).is_ready());
    ///     ready.map_or(Poll::Pending, Poll::Ready)
    /// });
    /// let answer = several.swap_remove(first).wait();
    /// # let _ = answer; }
    /// ```
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.sent.poll_ready(context)
    }

    /// Passes the answer to `handler` when it arrives (AMI, callback model).
    ///
    /// Under [`CallbackThreads::Lane`](crate::CallbackThreads) the handler of a call from a thread of a lane runs on a
    /// thread of the lane, between its requests and at its priority. Otherwise handlers of calls that were made at one
    /// CORBA priority run on one thread of the ORB, at that priority, one after the other: a handler that blocks delays
    /// only those of its own priority. A handler that panics loses only its own answer. The handler never runs within
    /// this call, unless the ORB is shut down or cannot start a thread: then this call waits for the answer and runs
    /// the handler. Allocates.
    pub fn then(self, handler: impl FnOnce(Result<R, E>) + Send + 'static)
    where
        R: 'static,
        E: 'static,
    {
        let orb = self.sent.reference.orb();
        match orb.jobs_of_lane() {
            Some(lane) => run_in_lane(lane, async move { handler(self.await) }),
            None => {
                let callbacks = orb.callbacks(self.sent.priority);
                callbacks.run(async move { handler(self.await) });
            }
        }
    }

    fn decode(&self, reply: Result<Reply, SystemException>) -> Result<R, E> {
        let reply = reply?;
        match reply.status() {
            ReplyStatus::USER_EXCEPTION => Err(reply.user_exception()),
            _ => match self.result {
                Reading::Copied(result) => reply.decode(result),
                Reading::InPlace(result) => reply.results_in_place(result),
            },
        }
    }
}

impl<R, E: OperationError> Future for AsyncReply<R, E> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.sent.poll(context) {
            Poll::Ready(reply) => Poll::Ready(self.decode(reply)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl InFlight {
    /// Reports whether the answer has arrived. Never blocks.
    pub fn is_ready(&mut self) -> bool {
        let mut nobody = Context::from_waker(Waker::noop());
        self.poll_ready(&mut nobody).is_ready()
    }

    /// Reports whether the answer has arrived; if not, the task of `context` is woken when it arrives. Never blocks,
    /// and does not take the answer.
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll(context).map(|reply| {
            self.state = CallState::Settled(Some(reply));
        })
    }

    /// Blocks until the answer has arrived, and passes it to `read`.
    pub fn wait<T>(mut self, read: impl FnOnce(RawReply<'_>) -> T) -> Result<T, SystemException> {
        let reply = self.block()?;
        Ok(read(reply.answered()))
    }

    fn block(&mut self) -> Result<Reply, SystemException> {
        if let (CallState::Kept(mailbox), Some(timing)) = (&self.state, self.timing) {
            let reply = local::wait(self.reference.orb(), mailbox, timing);
            self.state = CallState::Arrived(reply);
        }
        wait_until(|context| self.poll(context))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, SystemException>> {
        loop {
            let orb = self.reference.orb();
            self.state = match mem::replace(&mut self.state, CallState::Settled(None)) {
                CallState::Settled(reply) => {
                    let reply =
                        reply.expect("an asynchronous call was polled after it had completed");
                    if let Some(metered) = self.metered.take() {
                        metered.answered(&self.reference, reply.as_ref());
                    }
                    return Poll::Ready(reply);
                }
                CallState::Arrived(reply) => match self.complete(reply) {
                    Ok(state) => state,
                    Err(exception) => self.failed(exception),
                },
                CallState::Sent => match self.poll_slot(context) {
                    Poll::Ready(reply) => CallState::Arrived(reply),
                    Poll::Pending => return self.stay(CallState::Sent),
                },
                CallState::Kept(mailbox) => match (mailbox.poll(context), self.deadline()) {
                    (Poll::Ready(message), _) => CallState::Arrived(local::answered(orb, message)),
                    (Poll::Pending, Some(over)) if over <= clock::now() => {
                        mailbox.close();
                        CallState::Arrived(Err(raise::timeout(CompletionStatus::Maybe)))
                    }
                    (Poll::Pending, over) => {
                        self.alarm =
                            over.and_then(|at| orb.alarms(self.priority).set(at, context.waker()));
                        return self.stay(CallState::Kept(mailbox));
                    }
                },
                CallState::Held(reply, start) => match start.saturating_sub(time::utc_now()) {
                    0 => CallState::Settled(Some(Ok(reply))),
                    left => {
                        let at = clock::now() + time::duration(left);
                        match self.wait_for(at, context) {
                            true => return self.stay(CallState::Held(reply, start)),
                            false => CallState::Held(reply, start),
                        }
                    }
                },
                CallState::Paused(_, exception) if orb.is_closing() => {
                    CallState::Settled(Some(Err(exception)))
                }
                CallState::Paused(until, failure) if until <= clock::now() => {
                    match self.send_again() {
                        Ok(state) => state,
                        // The earlier failure tells the caller more than the time-out of the retry.
                        Err(late) if late.kind == SystemExceptionKind::Timeout => {
                            CallState::Settled(Some(Err(failure)))
                        }
                        Err(exception) => self.failed(exception),
                    }
                }
                CallState::Paused(until, exception) => match self.wait_for(until, context) {
                    true => return self.stay(CallState::Paused(until, exception)),
                    false => CallState::Paused(until, exception),
                },
            };
        }
    }

    fn stay<T>(&mut self, state: CallState) -> Poll<T> {
        self.state = state;
        Poll::Pending
    }

    /// Sets an alarm for the task. If that is impossible, sleeps until `at` and returns false.
    fn wait_for(&mut self, at: Instant, context: &Context<'_>) -> bool {
        let alarms = self.reference.orb().alarms(self.priority);
        self.alarm = alarms.set(at, context.waker());
        if self.alarm.is_none() {
            crate::conn::step_aside();
            thread::sleep(at.saturating_duration_since(clock::now()));
        }
        self.alarm.is_some()
    }

    fn poll_slot(&self, context: &Context<'_>) -> Poll<Result<Reply, SystemException>> {
        let Some((slot, _)) = &self.sent else {
            return Poll::Ready(Err(raise::CONNECTION_LOST));
        };
        slot.poll(context.waker()).map(|answer| {
            let answer = answer?;
            Ok(Reply::of_answer(self.reference.orb(), answer))
        })
    }

    fn deadline(&self) -> Option<Instant> {
        self.timing.and_then(|timing| timing.deadline())
    }

    fn policies(&self) -> Resolved<'_> {
        match &self.policies {
            Some(policies) => Resolved::Base(policies),
            None => self.reference.policies(),
        }
    }

    /// Sends the caller's arguments, and keeps a copy if policy may require them again.
    fn first<'a>(
        &mut self,
        timing: Timing,
        op: Operation<'_>,
        args: Args<'_, 'a>,
    ) -> Result<CallState, SystemException> {
        if self.policies().retry.times > 0 {
            self.again = Again::of(&self.reference, op, args)?.map(Box::new);
        }
        self.launch(timing, op, args)
    }

    /// Sends the request after the interceptors have seen it. If it cannot be sent, they see that, too.
    fn launch<'a>(
        &mut self,
        timing: Timing,
        op: Operation<'_>,
        args: Args<'_, 'a>,
    ) -> Result<CallState, SystemException> {
        self.sent = None;
        loop {
            self.flow = ClientFlow::of(&self.reference, op);
            let launched = match intercepted::begin(self.flow.as_deref_mut()) {
                Ok(()) => self.launch_once(timing, op, args).map_err(Interrupt::Raise),
                Err(interrupt) => Err(interrupt),
            };
            let interrupt = match launched {
                Err(Interrupt::Raise(exception)) => {
                    intercepted::unsent(self.flow.as_deref_mut(), exception)
                }
                Err(forward) => forward,
                Ok(state) => return Ok(state),
            };
            match interrupt {
                Interrupt::Raise(exception) => return Err(exception),
                Interrupt::Forward(to) => self.forward_to(to.ior().clone(), false)?,
            }
        }
    }

    fn launch_once<'a>(
        &mut self,
        timing: Timing,
        op: Operation<'_>,
        args: Args<'_, 'a>,
    ) -> Result<CallState, SystemException> {
        let scheduling = SchedulingContext::of(&self.reference, op)?;
        let launched = scheduling.with_added(self.flow.as_deref(), |added| {
            Launch { reference: &self.reference, policies: &self.policies(), timing, op, added }
                .start(args)
        })?;
        Ok(match launched {
            Launched::Ended(None) => CallState::Settled(None),
            Launched::Ended(Some(reply)) => CallState::Arrived(Ok(reply)),
            Launched::Kept(mailbox) => CallState::Kept(mailbox),
            Launched::Sent(slot, target) => {
                self.sent = Some((slot, target));
                CallState::Sent
            }
        })
    }

    fn forward_to(&mut self, ior: Ior, permanent: bool) -> Result<(), SystemException> {
        self.forwards = one_more(self.forwards)?;
        if self.policies().rebind != RebindMode::Transparent
            && self.reference.binding().bound().is_some()
        {
            return Err(raise::REBIND_MOVED);
        }
        self.reference.forward_to(ior, permanent)
    }

    /// Binds the reference to the server that answered, if policy requires it.
    fn bind(&self) {
        if let Some((_, target)) = &self.sent
            && self.policies().rebind != RebindMode::Transparent
            && self.reference.binding().bound().is_none()
        {
            self.reference.binding().bind_to(target.addressee());
        }
    }

    /// Handles the meaning of an answer; results and user exceptions are left to the caller.
    fn complete(
        &mut self,
        reply: Result<Reply, SystemException>,
    ) -> Result<CallState, SystemException> {
        let closed = match (&reply, &self.sent) {
            (Err(lost), Some((_, to))) if *lost == raise::CONNECT_FAILED => {
                to.route.turn_from(to.profile);
                true
            }
            (Err(lost), _) => *lost == raise::CONNECTION_CLOSED,
            _ => false,
        };
        let meaning = reply.and_then(|reply| self.meaning(self.flow.as_deref(), reply));
        if let Some(flow) = &mut self.flow {
            match intercepted::answered(flow, &meaning) {
                Ok(()) => {}
                Err(Interrupt::Raise(exception)) => return Err(exception),
                Err(Interrupt::Forward(to)) => {
                    self.forward_to(to.ior().clone(), false)?;
                    return self.send_on();
                }
            }
        }
        if closed && self.resends < RESENDS {
            self.resends += 1;
            return match self.send_on() {
                Err(moved) if moved == raise::FORWARDED => Err(raise::CONNECTION_CLOSED),
                sent => sent,
            };
        }
        match meaning? {
            ReplyMeaning::Answer(reply) => {
                self.bind();
                Ok(match self.policies().reply_start {
                    None => CallState::Settled(Some(Ok(reply))),
                    Some(start) => CallState::Held(reply, start),
                })
            }
            ReplyMeaning::Moved(ior, permanent) => {
                self.forward_to(ior, permanent)?;
                self.send_on()
            }
            ReplyMeaning::Readdressed => {
                self.forwards = one_more(self.forwards)?;
                self.send_on()
            }
        }
    }

    /// Takes the answer that has arrived, if the caller has not seen it.
    #[cold]
    fn arrived(&mut self) -> Option<Result<Reply, SystemException>> {
        let mut nobody = Context::from_waker(Waker::noop());
        let answer = match mem::replace(&mut self.state, CallState::Settled(None)) {
            CallState::Arrived(reply) => return Some(reply),
            CallState::Sent => self.poll_slot(&nobody),
            CallState::Kept(mailbox) => {
                let orb = self.reference.orb();
                let answer = mailbox.poll(&mut nobody).map(|message| local::answered(orb, message));
                self.state = CallState::Kept(mailbox);
                answer
            }
            state => {
                self.state = state;
                return None;
            }
        };
        match answer {
            Poll::Ready(reply) => Some(reply),
            Poll::Pending => None,
        }
    }

    /// Runs the ending points of a call that its caller has abandoned. Nothing follows from their outcome. If a panic
    /// of the arguments ends the call, the flow itself ends them.
    #[cold]
    fn end_flow(&self, mut flow: Box<ClientFlow>, arrived: Option<Result<Reply, SystemException>>) {
        let is_sent = self.sent.is_some() || matches!(self.state, CallState::Kept(_));
        // The drop may be part of another panic.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| match arrived {
            None if is_sent => flow.end(&Received::Sent),
            None => Ok(()),
            Some(reply) => {
                let meaning = reply.and_then(|reply| self.meaning(Some(&*flow), reply));
                intercepted::answered(&mut flow, &meaning)
            }
        }));
    }

    /// Returns the meaning of a reply, and notes its service contexts for interceptors.
    fn meaning(
        &self,
        flow: Option<&ClientFlow>,
        reply: Reply,
    ) -> Result<ReplyMeaning, SystemException> {
        if let Some(flow) = flow {
            reply.with_contexts(|contexts| flow.note(contexts));
        }
        let target = self.sent.as_ref().map(|(_, target)| target.addressee());
        ReplyMeaning::of(reply, target.map(|to| to.profile))
    }

    /// Ends the call, unless policy requires a retry and the request certainly did not run.
    fn failed(&mut self, exception: SystemException) -> CallState {
        let pause = self.timing.filter(|_| self.again.is_some()).and_then(|timing| {
            let retry = &self.policies().retry;
            pause(retry, self.retries, &exception, timing, self.reference.orb().shared())
        });
        match pause {
            None => CallState::Settled(Some(Err(exception))),
            Some(pause) => {
                self.retries += 1;
                CallState::Paused(clock::now() + pause, exception)
            }
        }
    }

    /// Sends the same arguments to the current target of calls. They are the octets that were sent before, so both
    /// targets must use the same encoding; otherwise the caller has to repeat the call.
    fn send_on(&mut self) -> Result<CallState, SystemException> {
        if self.again.is_none() {
            let sent = self.sent.as_ref();
            let again = sent.and_then(|(slot, target)| Again::of_sent(slot, target));
            self.again = again.map(Box::new);
        }
        self.send_again()
    }

    fn send_again(&mut self) -> Result<CallState, SystemException> {
        let timing = self.timing.ok_or(raise::FORWARDED)?.resumed()?;
        let again = self.again.take().ok_or(raise::FORWARDED)?;
        let sent = match self.reference.route() {
            Ok(route) if again.fits(&route) => {
                self.launch(timing, again.operation(), &|e| again.args(e))
            }
            Ok(_) => Err(raise::FORWARDED),
            Err(exception) => Err(exception),
        };
        self.again = Some(again);
        sent
    }
}

impl Drop for InFlight {
    /// Abandons the call, and notifies the server if that is possible at once.
    fn drop(&mut self) {
        if let Some(metered) = self.metered.take() {
            match &self.state {
                // The answer is there, although the caller has not looked at it.
                CallState::Settled(Some(reply)) => {
                    metered.answered(&self.reference, reply.as_ref())
                }
                CallState::Held(reply, _) => metered.answered(&self.reference, Ok(reply)),
                _ => metered.abandoned(&self.reference),
            }
        }
        let open = self.flow.take_if(|flow| flow.is_open());
        let arrived = open.as_ref().and_then(|_| self.arrived());
        if let CallState::Kept(mailbox) = &self.state {
            mailbox.close();
        }
        if let Some((slot, target)) = &self.sent
            && slot.is_waiting()
        {
            let peer = target.route.profiles[target.profile].remote();
            target.over.cancel(slot, peer.options());
        }
        if let Some(flow) = open {
            self.end_flow(flow, arrived);
        }
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("to", &self.reference)
            .field("answered", &matches!(self.state, CallState::Settled(_)))
            .finish()
    }
}
