//! The loop around attempts, which handles forwards, other profiles, connections that turn out to be closed, and
//! retries by policy. Only requests that certainly did not run are sent again.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::{ReplyStatus, Response};
use oxorb_object::{CompletionStatus, ServiceContext, SystemException};

use super::binding::Bound;
use super::call::{Call, Lost, Sent};
use super::draft::{Addressee, Carried, Conditions, Draft};
use super::link::ClientLink;
use super::reach::{self, Reached, Untried};
use super::reply_meaning::{ReplyMeaning, one_more, pause};
use super::scheduled::{self, SchedulingContext};
use super::selection::{AnnouncedPriority, Selection};
use super::{Args, Reply, Timing, intercepted, local, timing};
use crate::Ref;
use crate::error::{Attempt, failure, raise};
use crate::interceptor::ClientFlow;
use crate::policy::{Effective, LocateFirst, RebindMode};
use crate::probe::{self, Stage};
use crate::reference::{Operation, Route};
use crate::threads::sync::thread;

/// Call that goes beyond the fast path, until it ends.
pub(super) struct Exchange<'x, 'a> {
    pub(super) reference: &'x Ref,
    pub(super) policies: &'x Effective,
    pub(super) op: Operation<'x>,
    pub(super) args: Args<'x, 'a>,
    pub(super) timing: Timing,
    /// Failed attempts.
    pub(super) attempts: Vec<Attempt>,
    /// Server to which the request is bound.
    pub(super) bound: Option<Arc<Bound>>,
    /// Result of the attempt that the fast path made before it handed the call over to this exchange, if any.
    tried: Option<Box<Tried>>,
    /// Selection of RT-CORBA within the current route, if there is one.
    pub(super) selection: Option<Selection>,
    /// Whether the request returned to the original address, because the address it was forwarded to did not answer.
    fell_back: bool,
    /// Whether some of the call's time had passed before this attempt.
    pub(super) again: bool,
    retries: u32,
    /// Context that the ORB's scheduler adds to the request.
    pub(super) scheduling: SchedulingContext,
}

/// Outcome of a request over one connection.
enum AttemptResult {
    Ended(Step),
    /// The server must first be queried for the object. Nothing was sent over this connection.
    Withheld(Box<ClientLink>),
    Lost(Lost),
}

/// Attempt that the fast path made, and that did not end the call.
pub(super) struct Tried {
    pub(super) route: Arc<Route>,
    /// Index of the profile in the route.
    pub(super) index: usize,
    pub(super) trial: Trial,
}

/// Outcome of a [`Tried`] attempt.
pub(super) enum Trial {
    /// Reply without results.
    Answered(Reply),
    Lost(Lost),
}

/// Next step after an attempt.
pub(super) enum Step {
    Done(Option<Reply>),
    /// Retry with the current route.
    Again,
    /// The profile cannot be reached, and the request certainly did not run.
    NextProfile(SystemException),
}

/// Outcome of a round of attempts.
pub(crate) enum Round {
    Done(Option<Reply>),
    /// The object is elsewhere, so another round is needed.
    Forwarded,
    /// A further round is needed, at the original address.
    FellBack,
}

/// Makes rounds of attempts until the call ends. Only requests that certainly did not run are sent again. Returns
/// `None` if the request has no answer.
pub(super) fn exchange<'a>(
    reference: &Ref,
    policies: &Effective,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<Option<Reply>, SystemException> {
    let timing = Timing::of(policies);
    let mut exchange = Exchange::begin(reference, policies, op, args, timing);
    exchange.timing.check(policies)?;
    if let Some(start) = policies.request_start {
        timing::hold_until(start);
        exchange.again = true;
    }
    match &reference.orb().interceptors().scheduling {
        None => exchange.run(),
        Some(scheduler) => scheduled::run(&mut exchange, scheduler),
    }
}

/// Makes further attempts after the one of the fast path.
#[cold]
pub(super) fn exchange_after<'a>(
    tried: Tried,
    reference: &Ref,
    policies: &Effective,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    timing: Timing,
) -> Result<Option<Reply>, SystemException> {
    let mut exchange = Exchange::begin(reference, policies, op, args, timing);
    exchange.tried = Some(Box::new(tried));
    exchange.run()
}

impl<'x, 'a> Exchange<'x, 'a> {
    // This function is inlined, because its result is large and would otherwise be moved.
    #[inline(always)]
    pub(super) fn begin(
        reference: &'x Ref,
        policies: &'x Effective,
        op: Operation<'x>,
        args: Args<'x, 'a>,
        timing: Timing,
    ) -> Self {
        let bound = match policies.rebind {
            RebindMode::Transparent => None,
            _ => reference.binding().bound(),
        };
        probe::stamp(Stage::CallBegun);
        Exchange {
            reference,
            policies,
            op,
            args,
            timing,
            attempts: Vec::new(),
            bound,
            tried: None,
            selection: None,
            fell_back: false,
            again: false,
            retries: 0,
            scheduling: SchedulingContext::default(),
        }
    }

    /// Makes rounds until the call has ended.
    #[inline(always)]
    pub(super) fn run(&mut self) -> Result<Option<Reply>, SystemException> {
        let (reference, policies) = (self.reference, self.policies);
        let mut forwards = 0;
        loop {
            let round = match ClientFlow::of(reference, self.op) {
                None => self.round(None),
                Some(flow) => intercepted::round(self, flow),
            };
            match round {
                Ok(Round::Done(reply)) => {
                    if let Some(start) = policies.reply_start {
                        timing::hold_until(start);
                    }
                    return Ok(reply);
                }
                Ok(Round::Forwarded) => forwards = one_more(forwards)?,
                Ok(Round::FellBack) => {}
                Err(exception) => self.back_off(exception)?,
            }
            self.again = true;
        }
    }

    /// Tries the profiles of the current route, and retries those whose connection turns out to be closed.
    pub(super) fn round(&mut self, flow: Option<&ClientFlow>) -> Result<Round, SystemException> {
        let tried = self.tried.take();
        let route = match &tried {
            None => self.route()?,
            Some(tried) => Arc::clone(&tried.route),
        };
        self.selection = match Selection::is_needed(&route, self.policies) {
            false => None,
            true => Selection::of(self.reference, &route, self.policies, self.op)?,
        };
        probe::stamp(Stage::RouteFound);
        let scheduling = mem::take(&mut self.scheduling);
        let try_all = |added: &[ServiceContext<'_>]| self.try_all(&route, tried, flow, added);
        let round = match flow.is_none() && scheduling.is_empty() {
            true => try_all(&[]),
            false => scheduling.with_added(flow, try_all),
        };
        self.scheduling = scheduling;
        round
    }

    /// Makes the call to an object of this process, or tries the profiles of a route in turn.
    #[inline(always)]
    fn try_all(
        &mut self,
        route: &Arc<Route>,
        mut tried: Option<Box<Tried>>,
        flow: Option<&ClientFlow>,
        added: &[ServiceContext<'_>],
    ) -> Result<Round, SystemException> {
        let orb = self.reference.orb();
        if let Some((index, _)) = route.local(orb, self.selection.as_ref()) {
            let to = Addressee::of(route, index);
            let mut room = None;
            let draft = Draft::within(to, self.op, &self.conditions(route), added, &mut room);
            let (reference, timing) = (self.reference, self.timing);
            let reply = local::call(reference, timing, &draft, self.args)?;
            return Ok(match self.handle_reply(to, flow, reply)? {
                Step::Done(reply) => Round::Done(reply),
                _ => Round::Forwarded,
            });
        }
        let mut unreachable = raise::CONNECT_FAILED;
        let mut untried = Untried::of(route, self.bound.as_deref());
        if let Some(selection) = &self.selection {
            untried.restrict(route, self.bound.as_deref(), selection);
        }
        loop {
            let step = if let Some(tried) = tried.take() {
                untried.strike(tried.index);
                let to = Addressee::of(route, tried.index);
                self.attempt_after(to, tried.trial, flow, added)?
            } else if let Some((index, link)) = reach::any(self, route, &mut untried)? {
                probe::stamp(Stage::LinkTaken);
                self.attempt(Addressee::of(route, index), link, flow, added)?
            } else {
                break;
            };
            match step {
                Step::Done(reply) => return Ok(Round::Done(reply)),
                Step::Again => return Ok(Round::Forwarded),
                Step::NextProfile(exception) => unreachable = exception,
            }
        }
        self.unreached(route, unreachable)
    }

    /// Handles a target that does not answer. If the request was forwarded to it, the server at the original address is
    /// called again, as it may know a new location. If that server forwards to the same target again, the call ends.
    pub(super) fn unreached(
        &mut self,
        tried: &Arc<Route>,
        unreachable: SystemException,
    ) -> Result<Round, SystemException> {
        if self.bound.is_none() && self.reference.forget_forward(tried) && !self.fell_back {
            self.fell_back = true;
            return Ok(Round::FellBack);
        }
        let attempts = std::mem::take(&mut self.attempts);
        Err(failure::record(unreachable, attempts))
    }

    /// Returns the conditions of the call that travel with its request.
    #[inline]
    pub(super) fn conditions(&self, route: &Route) -> Conditions<'_> {
        let announced = match &self.selection {
            None => AnnouncedPriority::default(),
            Some(selection) => selection.announced(route),
        };
        Conditions {
            policies: self.policies,
            announced: announced.or_inherited(self.policies),
            timing: &self.timing,
        }
    }

    /// Drafts the request of the call, with the time that is left now.
    #[inline(always)]
    pub(super) fn draft<'r>(
        &self,
        to: Addressee<'r>,
        added: &'r [ServiceContext<'r>],
        room: &'r mut Option<Carried>,
    ) -> Result<Draft<'r>, SystemException>
    where
        'x: 'r,
    {
        Draft::to(to, self.op, &self.conditions(to.route), added, room)
    }

    pub(super) fn route(&self) -> Result<Arc<Route>, SystemException> {
        match &self.bound {
            Some(bound) => Ok(Arc::clone(&bound.route)),
            None => self.reference.route(),
        }
    }

    /// Makes one request of the call to one server: drafts it, sends it over a connection, and reacts to its outcome,
    /// until no other connection is needed.
    fn attempt(
        &mut self,
        to: Addressee<'_>,
        mut reached: Reached,
        flow: Option<&ClientFlow>,
        added: &[ServiceContext<'_>],
    ) -> Result<Step, SystemException> {
        loop {
            let mut room = None;
            let draft = match self.draft(to, added, &mut room) {
                Ok(draft) => draft,
                Err(exception) => {
                    reached.give_back(to.peer());
                    return Err(exception);
                }
            };
            let ended = match reached {
                Reached::Link(link) => match self.carry(to, link, &draft, flow)? {
                    AttemptResult::Ended(step) => return Ok(step),
                    result => self.react(to, result)?,
                },
                Reached::Shared => self.attempt_shared(to, &draft, flow)?,
            };
            if let Some(step) = ended {
                return Ok(step);
            }
            reached = match reach::again(self, to.profile)? {
                Ok(link) => Reached::Link(link),
                Err(exception) => return Ok(Step::NextProfile(exception)),
            };
        }
    }

    /// Continues [`attempt`](Self::attempt) after a first connection has carried the request.
    #[cold]
    fn attempt_after(
        &mut self,
        to: Addressee<'_>,
        trial: Trial,
        flow: Option<&ClientFlow>,
        added: &[ServiceContext<'_>],
    ) -> Result<Step, SystemException> {
        let lost = match trial {
            Trial::Answered(reply) => return self.handle_reply(to, flow, Some(reply)),
            Trial::Lost(lost) => lost,
        };
        if let Some(step) = self.react(to, AttemptResult::Lost(lost))? {
            return Ok(step);
        }
        match reach::again(self, to.profile)? {
            Ok(link) => self.attempt(to, Reached::Link(link), flow, added),
            Err(exception) => Ok(Step::NextProfile(exception)),
        }
    }

    /// Sends the request over a connection, and waits for its reply if it has one.
    #[inline(always)]
    fn carry(
        &mut self,
        to: Addressee<'_>,
        link: Box<ClientLink>,
        draft: &Draft<'_>,
        flow: Option<&ClientFlow>,
    ) -> Result<AttemptResult, SystemException> {
        let policies = self.policies;
        let call = Call { peer: to.peer(), link, draft };
        let withhold = |octets| {
            policies.locate != LocateFirst::Never
                && policies.locate.wanted(octets)
                && !to.profile.is_located()
        };
        let timing = match self.again {
            false => self.timing,
            true => self.timing.resumed()?,
        };
        let mut pending = match call.send(self.args, timing, withhold)? {
            Sent::Gone(pending) => pending,
            Sent::Withheld(link) => return Ok(AttemptResult::Withheld(link)),
            Sent::Lost(lost) => return Ok(AttemptResult::Lost(lost)),
        };
        if self.op.response == Response::None {
            pending.abandon();
            return self.handle_reply(to, flow, None).map(AttemptResult::Ended);
        }
        let narrowed;
        let timing = match policies.reply {
            None if !self.again => &self.timing,
            _ => {
                pending.has_waited();
                narrowed = self.timing.awaiting(policies);
                &narrowed
            }
        };
        match pending.wait(self.reference.orb(), timing, self.reference.is_forwarding()) {
            // Most calls end here, because `handle_reply` would move their reply once more.
            Ok(reply) if flow.is_none() && reply.status() == ReplyStatus::NO_EXCEPTION => {
                self.bind(to);
                Ok(AttemptResult::Ended(Step::Done(Some(reply))))
            }
            Ok(reply) => self.handle_reply(to, flow, Some(reply)).map(AttemptResult::Ended),
            Err(lost) => Ok(AttemptResult::Lost(lost)),
        }
    }

    /// Decides what follows from the outcome of a request. Returns `None` if another connection is to carry the
    /// request.
    #[cold]
    fn react(
        &mut self,
        to: Addressee<'_>,
        result: AttemptResult,
    ) -> Result<Option<Step>, SystemException> {
        self.again = true;
        match result {
            AttemptResult::Ended(step) => Ok(Some(step)),
            AttemptResult::Withheld(link) => match self.locate(to, link)? {
                Step::Done(_) => Ok(None),
                elsewhere => Ok(Some(elsewhere)),
            },
            AttemptResult::Lost(lost) if lost.may_go_again() => {
                self.timing.left(CompletionStatus::No)?;
                Ok(None)
            }
            AttemptResult::Lost(lost) => lost.end(to.peer(), &mut self.attempts).map(Some),
        }
    }

    /// Queries the server of a profile for the object. Returns `Done` if the server has the object.
    pub(super) fn locate(
        &mut self,
        to: Addressee<'_>,
        link: Box<ClientLink>,
    ) -> Result<Step, SystemException> {
        let (profile, peer) = (to.profile, to.peer());
        let asked = Call::locate(peer, link, profile.wire, to.target(), self.timing);
        let pending = match asked {
            Ok(pending) => pending,
            Err(lost) => return lost.end_harmless(peer, &mut self.attempts),
        };
        match pending.wait(self.reference.orb(), &self.timing, self.reference.is_forwarding()) {
            Ok(reply) => {
                let step = self.handle_reply(to, None, Some(reply))?;
                if matches!(step, Step::Done(_)) {
                    profile.set_located();
                }
                Ok(step)
            }
            Err(lost) => lost.end_harmless(peer, &mut self.attempts),
        }
    }

    /// Handles the meaning of a reply; results and user exceptions are left to the caller.
    pub(super) fn handle_reply(
        &mut self,
        to: Addressee<'_>,
        flow: Option<&ClientFlow>,
        reply: Option<Reply>,
    ) -> Result<Step, SystemException> {
        let Some(reply) = reply else {
            self.bind(to);
            return Ok(Step::Done(None));
        };
        if let Some(flow) = flow {
            reply.with_contexts(|contexts| flow.note(contexts));
        }
        match ReplyMeaning::of(reply, Some(to.profile))? {
            ReplyMeaning::Answer(reply) => {
                self.bind(to);
                Ok(Step::Done(Some(reply)))
            }
            ReplyMeaning::Moved(..) if self.bound.is_some() => Err(raise::REBIND_MOVED),
            ReplyMeaning::Moved(ior, permanent) => {
                self.reference.forward_to(ior, permanent)?;
                Ok(Step::Again)
            }
            ReplyMeaning::Readdressed => Ok(Step::Again),
        }
    }

    /// Binds the reference to the server that answered, if policy requires it.
    #[inline]
    fn bind(&mut self, to: Addressee<'_>) {
        if self.policies.rebind != RebindMode::Transparent && self.bound.is_none() {
            self.reference.binding().bind_to(to);
        }
    }

    /// Waits before a retry of the call, or ends it with the exception.
    #[cold]
    fn back_off(&mut self, exception: SystemException) -> Result<(), SystemException> {
        let (retry, orb) = (&self.policies.retry, self.reference.orb());
        let delay =
            pause(retry, self.retries, &exception, self.timing, orb.shared()).ok_or(exception)?;
        self.retries += 1;
        self.fell_back = false;
        if delay > Duration::ZERO {
            crate::conn::step_aside();
            thread::sleep(delay);
        }
        self.timing.left_to_send().map_err(|_| exception)?;
        Ok(())
    }
}

impl LocateFirst {
    pub(super) fn wanted(self, octets: usize) -> bool {
        match self {
            LocateFirst::Never => false,
            LocateFirst::Always => true,
            LocateFirst::Above(limit) => octets > limit,
        }
    }
}
