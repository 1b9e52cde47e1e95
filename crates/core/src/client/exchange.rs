//! The loop around attempts: forwards, other profiles, connections that turn out to be closed, retries by policy. Only
//! what certainly did not run is sent again.

use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::{ReplyStatus, Response};
use oxorb_object::{CompletionStatus, Ior, ServiceContext, SystemException, SystemExceptionKind};

use super::binding::Bound;
use super::call::{Call, Lost, Request, Sent};
use super::link::ClientLink;
use super::reach::{self, Reached, Untried};
use super::selection::{Selection, Worth};
use super::timing::Carried;
use super::{Args, Peer, Reply, Timing, intercepted, local, timing};
use crate::failure::{self, Attempt};
use crate::interceptor::ClientFlow;
use crate::op::Operation;
use crate::policy::{Effective, LocateFirst, RebindMode, Retry};
use crate::probe::{self, Stage};
use crate::route::{Route, RouteProfile};
use crate::sync::thread;
use crate::{Orb, Ref, raise};

/// A forward that leads to a forward that leads ... ends here.
const MAX_FORWARDS: u32 = 16;

/// A call, from its first attempt to its end.
pub(super) struct Exchange<'x, 'a> {
    pub(super) reference: &'x Ref,
    pub(super) policies: &'x Effective,
    pub(super) op: Operation<'x>,
    pub(super) args: Args<'x, 'a>,
    pub(super) timing: Timing,
    /// What was tried in vain.
    pub(super) attempts: Vec<Attempt>,
    /// Where it must not leave from.
    pub(super) bound: Option<Arc<Bound>>,
    /// What RT-CORBA says about the route as it is now, if anything.
    pub(super) selection: Option<Selection>,
    /// Nobody answered where it was forwarded to, so it went back to the original.
    fell_back: bool,
    retries: u32,
}

/// What to do after one attempt.
pub(super) enum Step {
    Done(Option<Reply>),
    /// Once more, with the route as it is now.
    Again,
    /// This profile cannot be reached, and the request certainly did not run.
    NextProfile(SystemException),
}

/// What a round of attempts came to.
pub(crate) enum Round {
    Done(Option<Reply>),
    /// The object is elsewhere: another round.
    Forwarded,
    /// Another round, at the original address.
    FellBack,
}

/// The loop around rounds. Only what certainly did not run is sent again. `None`: a request without an answer was sent.
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
    }
    let mut forwards = 0;
    loop {
        let round = match ClientFlow::of(reference, op) {
            None => exchange.round(None),
            Some(flow) => intercepted::round(&mut exchange, flow),
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
            Err(exception) => exchange.back_off(exception)?,
        }
    }
}

impl<'x, 'a> Exchange<'x, 'a> {
    // In place: what it makes is large, and would be moved.
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
            selection: None,
            fell_back: false,
            retries: 0,
        }
    }

    /// Tries the profiles of the route as it is now, connections that turn out to be closed included.
    pub(super) fn round(&mut self, flow: Option<&ClientFlow>) -> Result<Round, SystemException> {
        let route = self.route()?;
        self.selection = match Selection::is_needed(&route, self.policies) {
            false => None,
            true => Selection::of(self.reference, &route, self.policies, self.op)?,
        };
        probe::stamp(Stage::RouteFound);
        let added = flow.map(ClientFlow::contexts).unwrap_or_default();
        let orb = self.reference.orb();
        if let Some((index, profile)) = route.local(orb, self.selection.as_ref()) {
            let mut written = None;
            let carried = Carried::of(
                self.policies,
                self.worth(&route),
                self.timing,
                false,
                &mut written,
            );
            let contexts = &carried.beside(&added);
            let (reference, timing) = (self.reference, self.timing);
            let reply = local::call(
                reference, &route, profile, timing, self.op, self.args, contexts,
            )?;
            return Ok(match self.settle(&route, index, flow, reply)? {
                Step::Done(reply) => Round::Done(reply),
                _ => Round::Forwarded,
            });
        }
        let mut unreachable = raise::CONNECT_FAILED;
        let mut untried = Untried::of(&route, self.bound.as_deref());
        if let Some(selection) = &self.selection {
            untried.restrict(&route, self.bound.as_deref(), selection);
        }
        while let Some((index, link)) = reach::any(self, &route, &mut untried)? {
            probe::stamp(Stage::LinkTaken);
            match self.attempt(&route, index, link, flow, &added)? {
                Step::Done(reply) => return Ok(Round::Done(reply)),
                Step::Again => return Ok(Round::Forwarded),
                Step::NextProfile(exception) => unreachable = exception,
            }
        }
        self.unreached(&route, unreachable)
    }

    /// Nobody answers. Where it was forwarded to, the original may know better; but
    /// if it forwards to the same place again, that is the end.
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

    /// What travels with the request of what it is worth.
    #[inline]
    pub(super) fn worth(&self, route: &Route) -> Worth {
        let worth = match &self.selection {
            None => Worth::default(),
            Some(selection) => selection.worth(route),
        };
        worth.or_inherited(self.policies)
    }

    pub(super) fn route(&self) -> Result<Arc<Route>, SystemException> {
        match &self.bound {
            Some(bound) => Ok(Arc::clone(&bound.route)),
            None => self.reference.route(),
        }
    }

    /// One request over one link; over a new one if the server had closed it.
    fn attempt(
        &mut self,
        route: &Arc<Route>,
        index: usize,
        reached: Reached,
        flow: Option<&ClientFlow>,
        added: &[ServiceContext<'_>],
    ) -> Result<Step, SystemException> {
        let profile = &route.profiles[index];
        let peer = profile.remote();
        let both;
        let policies = if self.policies.priority.is_some() {
            both = profile.published.reconcile(self.policies);
            match &both {
                Ok(both) => both,
                Err(_) => {
                    reached.give_back(peer);
                    return Err(raise::IRRECONCILABLE);
                }
            }
        } else {
            self.policies
        };
        let code_sets = match profile.code_sets {
            Ok(code_sets) => code_sets,
            Err(incompatible) => {
                reached.give_back(peer);
                return Err(incompatible);
            }
        };
        let mut reached = reached;
        loop {
            let worth = self.worth(route);
            let (mut written, mut room);
            let (carried, together);
            let contexts = if !policies.carries && worth.is_nothing() {
                added
            } else {
                let synchronized = peer.options().synchronized_clocks;
                (written, room) = (None, Carried::ROOM);
                carried = Carried::of(policies, worth, self.timing, synchronized, &mut written);
                if added.is_empty() {
                    carried.fill(&mut room)
                } else {
                    together = carried.beside(added);
                    &together
                }
            };
            let request = Request {
                op: self.op,
                target: route.target(profile),
                version: profile.version,
                code_sets,
                contexts,
            };
            let link = match reached {
                Reached::Link(link) => link,
                Reached::Shared => {
                    match self.attempt_shared(route, index, peer, &request, flow)? {
                        Some(step) => return Ok(step),
                        None => match reach::again(self, peer)? {
                            Ok(link) => link,
                            Err(exception) => return Ok(Step::NextProfile(exception)),
                        },
                    }
                }
            };
            let call = Call {
                peer,
                link,
                request: &request,
            };
            let withhold = |octets| {
                policies.locate != LocateFirst::Never
                    && policies.locate.wanted(octets)
                    && !profile.is_located()
            };
            let lost = match call.send(self.args, self.timing, withhold)? {
                Sent::Gone(pending) if self.op.response == Response::None => {
                    pending.abandon();
                    return self.settle(route, index, flow, None);
                }
                Sent::Gone(pending) => {
                    let narrowed;
                    let timing = match policies.reply {
                        None => &self.timing,
                        Some(_) => {
                            narrowed = self.timing.awaiting(policies);
                            &narrowed
                        }
                    };
                    match pending.wait(self.reference.orb(), timing) {
                        // Most of them end here, and a reply is moved once less than by way of `settle`.
                        Ok(reply)
                            if flow.is_none() && reply.status() == ReplyStatus::NO_EXCEPTION =>
                        {
                            self.bind(route, index);
                            return Ok(Step::Done(Some(reply)));
                        }
                        Ok(reply) => return self.settle(route, index, flow, Some(reply)),
                        Err(lost) => lost,
                    }
                }
                Sent::Withheld(link) => {
                    match self.locate(route, index, link)? {
                        Step::Done(_) => {}
                        step => return Ok(step),
                    }
                    reached = match reach::again(self, peer)? {
                        Ok(link) => Reached::Link(link),
                        Err(exception) => return Ok(Step::NextProfile(exception)),
                    };
                    continue;
                }
                Sent::Lost(lost) => lost,
            };
            // A connection that the server closed while it was idle, so that none of
            // this request was read; or CloseConnection, which promises that it did
            // not run: a new connection may carry it.
            if !(lost.reused && lost.did_not_run()) {
                return lost.end(peer, &mut self.attempts);
            }
            self.timing.left(CompletionStatus::No)?;
            reached = match reach::again(self, peer)? {
                Ok(link) => Reached::Link(link),
                Err(exception) => return Ok(Step::NextProfile(exception)),
            };
        }
    }

    /// Asks the server of a profile where the object is. `Done`: there.
    pub(super) fn locate(
        &mut self,
        route: &Arc<Route>,
        index: usize,
        link: Box<ClientLink>,
    ) -> Result<Step, SystemException> {
        let profile = &route.profiles[index];
        let peer = profile.remote();
        let target = route.target(profile);
        let asked = Call::locate(peer, link, profile.version, target, self.timing);
        let pending = match asked {
            Ok(pending) => pending,
            Err(lost) => return lost.end_harmless(peer, &mut self.attempts),
        };
        match pending.wait(self.reference.orb(), &self.timing) {
            Ok(reply) => {
                let step = self.settle(route, index, None, Some(reply))?;
                if matches!(step, Step::Done(_)) {
                    profile.set_located();
                }
                Ok(step)
            }
            Err(lost) => lost.end_harmless(peer, &mut self.attempts),
        }
    }

    /// Results and user exceptions are the caller's; the rest is acted on here.
    pub(super) fn settle(
        &mut self,
        route: &Arc<Route>,
        index: usize,
        flow: Option<&ClientFlow>,
        reply: Option<Reply>,
    ) -> Result<Step, SystemException> {
        let Some(reply) = reply else {
            self.bind(route, index);
            return Ok(Step::Done(None));
        };
        if let Some(flow) = flow {
            reply.with_contexts(|contexts| flow.note(contexts));
        }
        match reply.status() {
            ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => {
                self.bind(route, index);
                Ok(Step::Done(Some(reply)))
            }
            ReplyStatus::SYSTEM_EXCEPTION => {
                let made_by = route.profiles[index].made_by;
                Err(failure::raised_by(made_by, reply.system_exception()))
            }
            status @ (ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM) => {
                if self.bound.is_some() {
                    return Err(raise::REBIND_MOVED);
                }
                let ior: Ior = reply.read()?;
                let permanent = status == ReplyStatus::LOCATION_FORWARD_PERM;
                self.reference.forward_to(ior, permanent)?;
                Ok(Step::Again)
            }
            ReplyStatus::NEEDS_ADDRESSING_MODE => {
                let wanted: i16 = reply.read()?;
                if route.profiles[index].set_addressing(wanted as u16) {
                    Ok(Step::Again)
                } else {
                    Err(raise::ADDRESSING_LOOP)
                }
            }
            Reply::NO_SUCH_OBJECT => Err(raise::NOT_LOCATED),
            _ => Err(raise::UNKNOWN_REPLY_STATUS),
        }
    }

    /// The reference leads here; from now on for good if policy wants that.
    #[inline]
    fn bind(&mut self, route: &Arc<Route>, index: usize) {
        if self.policies.rebind != RebindMode::Transparent && self.bound.is_none() {
            let peer = route.profiles[index].peer.as_ref();
            let losses = peer.map_or(0, |peer| peer.losses());
            self.reference.binding().bind(route, index, losses);
        }
    }

    /// Waits before the call is made again, or ends it with the exception.
    #[cold]
    fn back_off(&mut self, exception: SystemException) -> Result<(), SystemException> {
        let (retry, orb) = (&self.policies.retry, self.reference.orb());
        let delay = pause(retry, self.retries, &exception, self.timing, orb).ok_or(exception)?;
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

/// How long to wait before a call that failed so is made again, having been so `retries` times; `None`: it is not.
pub(super) fn pause(
    retry: &Retry,
    retries: u32,
    exception: &SystemException,
    timing: Timing,
    orb: &Orb,
) -> Option<Duration> {
    if retries >= retry.times || !exception.is_safe_to_retry() || orb.is_closing() {
        return None;
    }
    let doubled = 1u32.checked_shl(retries).unwrap_or(u32::MAX);
    let delay = retry.delay.saturating_mul(doubled).min(retry.max_delay);
    // What failed says more than that time is over.
    let left = timing.left_to_send().ok()?;
    left.is_none_or(|left| left > delay).then_some(delay)
}

pub(super) fn one_more(forwards: u32) -> Result<u32, SystemException> {
    if forwards == MAX_FORWARDS {
        return Err(raise::FORWARD_LOOP);
    }
    Ok(forwards + 1)
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

impl Lost {
    /// Whether the request may be sent again without any risk of it running
    /// twice. Time that is over stays over.
    fn did_not_run(&self) -> bool {
        self.exception.completed == CompletionStatus::No
            && self.exception.kind != SystemExceptionKind::Timeout
    }

    /// What a failed attempt means for the call: another profile may serve a
    /// request that did not run; otherwise the call has failed.
    fn end(self, peer: &Peer, attempts: &mut Vec<Attempt>) -> Result<Step, SystemException> {
        let elsewhere = self.did_not_run();
        attempts.push(Attempt {
            endpoint: peer.to_string(),
            what: self.cause,
        });
        if elsewhere {
            return Ok(Step::NextProfile(self.exception));
        }
        Err(failure::record(self.exception, std::mem::take(attempts)))
    }

    /// The same for a question that changes nothing: the call itself did not run.
    pub(super) fn end_harmless(
        mut self,
        peer: &Peer,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Step, SystemException> {
        self.exception.completed = CompletionStatus::No;
        self.end(peer, attempts)
    }
}

impl RouteProfile {
    /// The server of a profile that is not local.
    pub(super) fn remote(&self) -> &Arc<Peer> {
        self.peer
            .as_ref()
            .expect("local profiles are served locally")
    }
}
