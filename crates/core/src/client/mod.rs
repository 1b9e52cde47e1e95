//! The client half of a call: route, link, request, reply.
//!
//! ```text
//! invoke -> exchange (mod.rs)      which profile, forward, retry: the only loop
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
use oxorb_giop::{CompletionStatus, Ior, ReplyStatus, SystemException, SystemExceptionKind};

use crate::failure::{self, Attempt};
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

/// The loop around attempts: forwards, other profiles, connections that turn
/// out to be closed. Only what certainly did not run is sent again.
fn exchange<'a>(
    reference: &Ref,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<Option<Reply>, SystemException> {
    let timing = Timing::start(reference);
    if timing.limit.is_some_and(|limit| limit.is_zero()) {
        return Err(raise::timeout(CompletionStatus::No));
    }
    let mut forwards = 0;
    let mut fell_back = false;
    let mut attempts = Vec::new();
    loop {
        let route = reference.route()?;
        if let Some(profile) = route.local() {
            match settle(
                reference,
                profile,
                local::call(reference, &route, profile, op, args)?,
            )? {
                Step::Done(reply) => return Ok(reply),
                _ => {
                    forwards = one_more(forwards)?;
                    continue;
                }
            }
        }
        let mut unreachable = raise::CONNECT_FAILED;
        let mut again = false;
        for profile in &route.profiles {
            match attempt(reference, &route, profile, op, args, timing, &mut attempts)? {
                Step::Done(reply) => return Ok(reply),
                Step::Again => {
                    again = true;
                    break;
                }
                Step::NextProfile(exception) => unreachable = exception,
            }
        }
        if again {
            forwards = one_more(forwards)?;
            continue;
        }
        // Where it was forwarded to nobody answers: the original may know better,
        // but if it forwards to the same place again, that is the end.
        if reference.forget_forward() && !fell_back {
            fell_back = true;
            continue;
        }
        return Err(failure::record(unreachable, attempts));
    }
}

fn one_more(forwards: u32) -> Result<u32, SystemException> {
    if forwards == MAX_FORWARDS {
        return Err(raise::FORWARD_LOOP);
    }
    Ok(forwards + 1)
}

/// One request over one link.
fn attempt<'a>(
    reference: &Ref,
    route: &Route,
    profile: &RouteProfile,
    op: Operation<'_>,
    args: Args<'_, 'a>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<Step, SystemException> {
    let peer = profile
        .peer
        .as_ref()
        .expect("local profiles are served locally");
    if peer.is_both_ways()
        && let Some(step) =
            both_ways::attempt(reference, route, profile, peer, op, args, timing, attempts)?
    {
        return Ok(step);
    }
    let request = Request {
        op,
        target: route.target(profile),
        version: profile.version,
        code_sets: profile.code_sets?,
    };
    loop {
        let link = match peer.checkout(timing, attempts) {
            Ok(link) => link,
            Err(exception) => return Ok(Step::NextProfile(exception)),
        };
        let call = Call::begin(peer, link, &request, args)?;
        let pending = match call.send(timing) {
            Ok(pending) => pending,
            // A connection that the server closed while it was idle: none of
            // this request was read, so a new connection may carry it.
            Err(unsent) if unsent.reused && unsent.did_not_run() => continue,
            Err(unsent) => return unsent.end(peer, attempts),
        };
        if op.response == oxorb_giop::Response::None {
            pending.abandon();
            return Ok(Step::Done(None));
        }
        match pending.wait(reference.orb(), timing) {
            Ok(reply) => return settle(reference, profile, Some(reply)),
            // CloseConnection: the server promises that it did not run the request.
            Err(lost) if lost.reused && lost.did_not_run() => {
                timing.left(CompletionStatus::No)?;
            }
            Err(lost) => return lost.end(peer, attempts),
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
}

/// Results and user exceptions are the caller's; the rest is acted on here.
fn settle(
    reference: &Ref,
    profile: &RouteProfile,
    reply: Option<Reply>,
) -> Result<Step, SystemException> {
    let Some(reply) = reply else {
        return Ok(Step::Done(None));
    };
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
