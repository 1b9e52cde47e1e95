//! The client half of a call: route, link, request, reply.
//!
//! ```text
//! invoke -> exchange (mod.rs)      forward, retry: the only loop
//!             round                interceptors (intercepted.rs) around which profile
//!             checkout (peer.rs)   a link nobody else uses: this thread's own, or a cached one
//!             Call::send (call.rs) request written in place, one write
//!             Pending::wait        one read, reply matched
//!           Reply (reply.rs)       decoded where it lies; dropping it returns the link
//! ```
//!
//! The completion status of a failure follows from the value in hand: with a
//! `Call` it is NO, with a `Pending` MAYBE, with a `Reply` what the reply says.

mod asynchronous;
mod both_ways;
mod call;
mod intercepted;
mod link;
mod local;
mod multiplexed;
mod peer;
mod prepared;
mod reply;

pub use asynchronous::{AsyncReply, InFlight, wait_until};
pub(crate) use asynchronous::{begin, invoke_async};
pub(crate) use multiplexed::Multiplexed;
pub(crate) use peer::Peer;
pub use prepared::{Prepared, Slots};
pub use reply::Answered;
pub(crate) use reply::Reply;

use call::{Call, Lost, Request};

use std::time::{Duration, Instant};

use oxorb_cdr::{Encoder, Result as CdrResult};
use oxorb_giop::{
    CompletionStatus, Ior, ReplyStatus, ServiceContext, SystemException, SystemExceptionKind,
};

use crate::failure::{self, Attempt};
use crate::interceptor::ClientFlow;
use crate::op::{Operation, UserException};
use crate::raise;
use crate::route::{Route, RouteProfile};
use crate::{Failure, Ref};

/// Writes the arguments of a call; may be asked to do so more than once.
pub(crate) type Args<'f, 'a> = &'f dyn Fn(&mut Encoder<'a>) -> CdrResult<()>;

/// A forward that leads to a forward that leads ... ends here.
const MAX_FORWARDS: u32 = 16;

/// Two-way: returns when there is a result or a user exception to decode.
pub(crate) fn invoke<'a, E: UserException>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<Reply, E> {
    let reply = exchange(reference, op, args)?.expect("a two-way call has a reply");
    if reply.status() == ReplyStatus::USER_EXCEPTION {
        return Err(reply.user_exception());
    }
    Ok(reply)
}

/// Two-way, for whoever reads results and exceptions himself.
pub(crate) fn invoke_dynamic<'a, T>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    read: impl FnOnce(Answered<'_>) -> T,
) -> Result<T, SystemException> {
    let reply = exchange(reference, op, args)?.expect("a two-way call has a reply");
    Ok(read(reply.answered()))
}

/// Oneway: returns when the transport has the request.
pub(crate) fn send<'a>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    exchange(reference, op, args).map(drop)
}

/// Connects to the first reachable endpoint of a reference.
pub(crate) fn validate(reference: &Ref) -> Result<(), Failure> {
    let timing = Timing::start(reference);
    let failed = |exception, attempts| Failure {
        exception,
        attempts,
    };
    let route = reference
        .route()
        .map_err(|exception| failed(exception, Vec::new()))?;
    let mut attempts = Vec::new();
    for profile in &route.profiles {
        let Some(peer) = &profile.peer else {
            return Ok(());
        };
        match peer.checkout(timing, &mut attempts) {
            Ok(link) => {
                peer.give_back(link);
                return Ok(());
            }
            Err(_) => continue,
        }
    }
    Err(failed(raise::CONNECT_FAILED, attempts))
}

/// The time limit of one call and when it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) start: Instant,
    pub(crate) limit: Option<Duration>,
}

impl Timing {
    pub(crate) fn start(reference: &Ref) -> Timing {
        Timing {
            start: Instant::now(),
            limit: reference.timeout(),
        }
    }

    /// When the time is over; `None`: never, or not while this machine runs.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.start.checked_add(self.limit?)
    }

    /// What is left, never zero; `Err` when nothing is.
    pub(crate) fn left(
        &self,
        completed: CompletionStatus,
    ) -> Result<Option<Duration>, SystemException> {
        let Some(limit) = self.limit else {
            return Ok(None);
        };
        match limit.checked_sub(self.start.elapsed()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(raise::timeout(completed)),
        }
    }
}

/// What to do after one attempt.
enum Step {
    Done(Option<Reply>),
    /// Once more, with the route as it is now.
    Again,
    /// This profile cannot be reached, and the request certainly did not run.
    NextProfile(SystemException),
}

/// A call, from its first attempt to its end.
struct Exchange<'x, 'a> {
    reference: &'x Ref,
    op: Operation<'x>,
    args: Args<'x, 'a>,
    timing: Timing,
    /// What failed so far.
    attempts: Vec<Attempt>,
    /// Nobody answered where it was forwarded to, so it went back to the original.
    fell_back: bool,
}

/// What a round of attempts came to.
pub(crate) enum Round {
    Done(Option<Reply>),
    /// The object is elsewhere: another round.
    Forwarded,
    /// Another round, at the original address.
    FellBack,
}

/// The loop around rounds. Only what certainly did not run is sent again.
fn exchange<'a>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<Option<Reply>, SystemException> {
    let timing = Timing::start(reference);
    if timing.limit.is_some_and(|limit| limit.is_zero()) {
        return Err(raise::timeout(CompletionStatus::No));
    }
    let mut exchange = Exchange {
        reference,
        op,
        args,
        timing,
        attempts: Vec::new(),
        fell_back: false,
    };
    let mut forwards = 0;
    loop {
        let round = match ClientFlow::of(reference, op) {
            None => exchange.round(None),
            Some(flow) => intercepted::round(&mut exchange, flow),
        };
        match round? {
            Round::Done(reply) => return Ok(reply),
            Round::Forwarded => forwards = one_more(forwards)?,
            Round::FellBack => {}
        }
    }
}

impl Exchange<'_, '_> {
    /// Every profile in turn, connections that turn out to be closed included.
    fn round(&mut self, flow: Option<&ClientFlow>) -> Result<Round, SystemException> {
        let reference = self.reference;
        let route = reference.route()?;
        let added = flow.map(ClientFlow::contexts).unwrap_or_default();
        if let Some(profile) = route.local() {
            let reply = local::call(reference, &route, profile, self.op, self.args, &added)?;
            return Ok(match settle(reference, profile, flow, reply)? {
                Step::Done(reply) => Round::Done(reply),
                _ => Round::Forwarded,
            });
        }
        let mut unreachable = raise::CONNECT_FAILED;
        for profile in &route.profiles {
            match self.attempt(&route, profile, flow, &added)? {
                Step::Done(reply) => return Ok(Round::Done(reply)),
                Step::Again => return Ok(Round::Forwarded),
                Step::NextProfile(exception) => unreachable = exception,
            }
        }
        // Where it was forwarded to nobody answers: the original may know better,
        // but if it forwards to the same place again, that is the end.
        if reference.forget_forward() && !self.fell_back {
            self.fell_back = true;
            return Ok(Round::FellBack);
        }
        let attempts = std::mem::take(&mut self.attempts);
        Err(failure::record(unreachable, attempts))
    }

    /// One request over one link.
    fn attempt(
        &mut self,
        route: &Route,
        profile: &RouteProfile,
        flow: Option<&ClientFlow>,
        contexts: &[ServiceContext<'_>],
    ) -> Result<Step, SystemException> {
        let (reference, timing) = (self.reference, self.timing);
        let peer = profile
            .peer
            .as_ref()
            .expect("local profiles are served locally");
        let request = Request {
            op: self.op,
            target: route.target(profile),
            version: profile.version,
            code_sets: profile.code_sets?,
            contexts,
        };
        if peer.is_both_ways()
            && let Some(step) = self.attempt_both_ways(profile, peer, &request, flow)?
        {
            return Ok(step);
        }
        let attempts = &mut self.attempts;
        loop {
            let link = match peer.checkout(timing, attempts) {
                Ok(link) => link,
                Err(exception) => return Ok(Step::NextProfile(exception)),
            };
            let call = Call::begin(peer, link, &request, self.args)?;
            let pending = match call.send(timing) {
                Ok(pending) => pending,
                // A connection that the server closed while it was idle: none of
                // this request was read, so a new connection may carry it.
                Err(unsent) if unsent.reused && unsent.did_not_run() => continue,
                Err(unsent) => return unsent.end(peer, attempts),
            };
            if request.op.response == oxorb_giop::Response::None {
                pending.abandon();
                return Ok(Step::Done(None));
            }
            match pending.wait(reference.orb(), timing) {
                Ok(reply) => return settle(reference, profile, flow, Some(reply)),
                // CloseConnection: the server promises that it did not run the request.
                Err(lost) if lost.reused && lost.did_not_run() => {
                    timing.left(CompletionStatus::No)?;
                }
                Err(lost) => return lost.end(peer, attempts),
            }
        }
    }
}

fn one_more(forwards: u32) -> Result<u32, SystemException> {
    if forwards == MAX_FORWARDS {
        return Err(raise::FORWARD_LOOP);
    }
    Ok(forwards + 1)
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
}

/// Results and user exceptions are the caller's; the rest is acted on here.
fn settle(
    reference: &Ref,
    profile: &RouteProfile,
    flow: Option<&ClientFlow>,
    reply: Option<Reply>,
) -> Result<Step, SystemException> {
    let Some(reply) = reply else {
        return Ok(Step::Done(None));
    };
    if let Some(flow) = flow {
        reply.with_contexts(|contexts| flow.note(contexts));
    }
    match reply.status() {
        ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => Ok(Step::Done(Some(reply))),
        ReplyStatus::SYSTEM_EXCEPTION => Err(reply.system_exception()),
        ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM => {
            let ior: Ior = reply.read()?;
            reference.forward_to(&ior)?;
            Ok(Step::Again)
        }
        ReplyStatus::NEEDS_ADDRESSING_MODE => {
            let wanted: i16 = reply.read()?;
            if profile.set_addressing(wanted as u16) {
                Ok(Step::Again)
            } else {
                Err(raise::ADDRESSING_LOOP)
            }
        }
        _ => Err(raise::UNKNOWN_REPLY_STATUS),
    }
}
