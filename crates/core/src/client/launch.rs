//! Launch of asynchronous calls: sends the request to the first server of the object that can be reached, over the
//! connection that all asynchronous calls to it share.

use std::sync::Arc;

use oxorb_cdr::{ByteOrder, Encoder, Result as CdrResult};
use oxorb_giop::{Frame, FrameContext, RequestHeader, Response, TargetAddress, Told, Wire};
use oxorb_object::{CodeSetContext, CompletionStatus, ServiceContext, SystemException, Version};

use super::draft::{Addressee, Draft, slot_of, slotted};
use super::exchange::{Exchange, Step};
use super::multiplexed::Multiplexed;
use super::reach::Untried;
use super::reply_meaning::one_more;
use super::selection::{Ranks, Selection};
use super::shared::FoundConnection;
use super::slot::CallSlot;
use super::{Args, Reply, Timing, local, shared};
use crate::Ref;
use crate::conn::Mailbox;
use crate::error::raise;
use crate::policy::{Effective, RebindMode};
use crate::reference::{NO_SLOT, Operation, Route, RouteProfile};
use crate::threads::sync::atomic::Ordering;

/// Outcome of launching a request.
pub(super) enum Launched {
    /// The servant is in this process and has answered. `None` for a oneway.
    Ended(Option<Reply>),
    /// The servant is in this process and answers later.
    Kept(Arc<Mailbox>),
    Sent(Arc<CallSlot>, RequestTarget),
}

/// Target of a request: a profile of the route, and the connection to it.
pub(super) struct RequestTarget {
    pub(super) route: Arc<Route>,
    pub(super) profile: usize,
    pub(super) over: Arc<Multiplexed>,
}

/// Request in the form in which it can be sent again when the caller's arguments no longer exist.
///
/// The octets depend on their position in a message, modulo 8. Since GIOP 1.2 the position is a multiple of 8, so the
/// octets can be moved to another message; in GIOPlite it follows from the lengths of object key and operation.
pub(super) struct Again {
    name: String,
    response: Response,
    args: Vec<u8>,
    /// Position at which the octets begin, modulo 8.
    begin: usize,
    /// Slot of the operation that was sent with the key, or [`NO_SLOT`].
    slot: u16,
    code_sets: Option<CodeSetContext>,
}

impl RequestTarget {
    pub(super) fn addressee(&self) -> Addressee<'_> {
        Addressee::of(&self.route, self.profile)
    }
}

impl Again {
    /// Encodes a request to the target of `reference`; `None` if its profiles do not all accept the same octets.
    pub(super) fn of<'a>(
        reference: &Ref,
        op: Operation<'_>,
        args: Args<'_, 'a>,
    ) -> Result<Option<Again>, SystemException> {
        let route = reference.route()?;
        let Some(first) = route.profiles.first().filter(|first| first.peer.is_some()) else {
            return Ok(None);
        };
        let begin = first.begin_of_args(op.name, op.response, NO_SLOT);
        let dialect = Told::of(first.code_sets?).dialect(2);
        let again = Again {
            name: op.name.to_owned(),
            response: op.response,
            args: encode(reference, dialect, begin, args)?,
            begin,
            slot: NO_SLOT,
            code_sets: first.code_sets?,
        };
        Ok(again.fits(&route).then_some(again))
    }

    /// Returns the request that was sent in `slot` to `target`, unless it was too long to be kept.
    pub(super) fn of_sent(slot: &CallSlot, target: &RequestTarget) -> Option<Again> {
        let profile = &target.route.profiles[target.profile];
        let context = FrameContext::of(profile.wire);
        let frame = Frame::parse_in(slot.request(), context.as_ref()).ok()?;
        let request = oxorb_giop::Request::parse(&frame).ok()?;
        if profile.wire.version() < Version::V1_2 {
            return None;
        }
        let of_key = match &request.target {
            oxorb_giop::Target::Key(key) => slot_of(key),
            _ => NO_SLOT,
        };
        Some(Again {
            slot: of_key,
            name: request.operation.to_owned(),
            response: request.response,
            args: slot.request()[request.body..].to_vec(),
            begin: request.body % 8,
            code_sets: profile.code_sets.ok()?,
        })
    }

    /// Reports whether every server of the route understands the octets.
    pub(super) fn fits(&self, route: &Route) -> bool {
        route.profiles.iter().all(|profile| {
            profile.peer.is_some()
                && profile.wire.version() >= Version::V1_2
                && profile.code_sets == Ok(self.code_sets)
                && profile.begin_of_args(&self.name, self.response, self.slot) == self.begin
        })
    }

    pub(super) fn operation(&self) -> Operation<'_> {
        Operation {
            name: &self.name,
            response: self.response,
            slot: self.slot,
            request: 0,
            arguments_at: None,
        }
    }

    /// Writes the arguments.
    pub(super) fn args<'a>(&self, e: &mut Encoder<'a>) -> CdrResult<()> {
        e.copy_octets(&self.args);
        Ok(())
    }
}

impl RouteProfile {
    /// Returns the position of the arguments in a request to this profile, modulo 8. Allocates for protocols other than
    /// GIOP.
    fn begin_of_args(&self, operation: &str, response: Response, slot: u16) -> usize {
        let Wire::Other(messaging) = self.wire else {
            return 0;
        };
        let slotted = slotted(&self.key, slot);
        let key = slotted.as_ref().map_or(&*self.key, |slotted| slotted);
        let header = RequestHeader {
            id: 0,
            response,
            key: TargetAddress::Key(key),
            operation,
            contexts: &[],
            terms: None,
            alias: None,
        };
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, messaging.dialect());
        messaging.begin_request(&mut e, &header).body() % 8
    }
}

/// Encodes the arguments by themselves, for a position in a message that is `begin` modulo 8.
fn encode<'a>(
    reference: &Ref,
    dialect: oxorb_cdr::Dialect,
    begin: usize,
    args: Args<'_, 'a>,
) -> Result<Vec<u8>, SystemException> {
    let mut e = reference.orb().options().encoder(Vec::new(), dialect);
    e.copy_octets(&[0; 8][..begin]);
    args(&mut e).map_err(|error| SystemException::from_cdr(error, CompletionStatus::No))?;
    let mut octets = e.finish().to_vec();
    octets.drain(..begin);
    Ok(octets)
}

/// Request of an asynchronous call that is yet to be sent.
pub(super) struct Launch<'l> {
    pub(super) reference: &'l Ref,
    pub(super) policies: &'l Effective,
    pub(super) timing: Timing,
    pub(super) op: Operation<'l>,
    /// Service contexts that interceptors added.
    pub(super) added: &'l [ServiceContext<'l>],
}

impl Launch<'_> {
    /// Sends the request, under the same policies as synchronous calls.
    pub(super) fn start<'a>(&self, args: Args<'_, 'a>) -> Result<Launched, SystemException> {
        let (reference, timing) = (self.reference, self.timing);
        let mut exchange = Exchange::begin(reference, self.policies, self.op, args, timing);
        let mut forwards = 0;
        loop {
            let route = exchange.route()?;
            exchange.selection = Selection::of(reference, &route, self.policies, self.op)?;
            let local = route.local(reference.orb(), exchange.selection.as_ref());
            if let Some((index, _)) = local {
                let to = Addressee::of(&route, index);
                let (conditions, mut room) = (exchange.conditions(&route), None);
                let draft = Draft::within(to, self.op, &conditions, self.added, &mut room);
                let made = local::begin(reference, timing, &draft, args);
                return made.map(|made| match made {
                    local::Made::Ended(reply) => Launched::Ended(reply),
                    local::Made::Later(mailbox) => Launched::Kept(mailbox),
                });
            }
            match self.send(&mut exchange, &route, args)? {
                Gone::Sent(slot, profile, over) => {
                    route.preferred.store(profile, Ordering::Relaxed);
                    let target = RequestTarget { route, profile, over };
                    return Ok(Launched::Sent(slot, target));
                }
                Gone::Moved => forwards = one_more(forwards)?,
                Gone::Nowhere(unreachable) => drop(exchange.unreached(&route, unreachable)?),
            }
        }
    }

    /// Sends the request to the first server that can be reached.
    fn send<'a>(
        &self,
        exchange: &mut Exchange<'_, 'a>,
        route: &Arc<Route>,
        args: Args<'_, 'a>,
    ) -> Result<Gone, SystemException> {
        let mut unreachable = raise::CONNECT_FAILED;
        let mut untried = Untried::of(route, exchange.bound.as_deref());
        if let Some(selection) = &exchange.selection {
            untried.restrict(route, exchange.bound.as_deref(), selection);
        }
        let ranks = untried.ranks();
        let mut untried: Vec<usize> = untried.in_order().collect();
        // Each profile gets a second attempt, because its shared connection may have ended since its last use.
        let mut tried_once = 0_u64;
        while let Some((place, found)) = self.connect(exchange, route, ranks, &untried)? {
            let index = untried[place];
            let to = Addressee::of(route, index);
            let FoundConnection { over: shared, opened, .. } = found;
            let mut room = None;
            let draft = exchange.draft(to, self.added, &mut room)?;
            match exchange.locate_first(to, &shared, &draft)? {
                None => {}
                Some(Step::NextProfile(exception)) => {
                    unreachable = exception;
                    untried.remove(place);
                    continue;
                }
                Some(_) => return Ok(Gone::Moved),
            }
            // Connecting may have taken some of the call's time.
            let timing = match opened {
                true => self.timing.resumed()?,
                false => self.timing,
            };
            match shared.send(to.profile, &draft, args, timing.awaiting(self.policies)) {
                Ok(slot) => return Ok(Gone::Sent(slot, index, shared)),
                Err(exception) if exception.is_safe_to_retry() => unreachable = exception,
                Err(exception) => return Err(exception),
            }
            if tried_once & 1 << index != 0 {
                untried.remove(place);
            }
            tried_once |= 1 << index;
        }
        Ok(Gone::Nowhere(unreachable))
    }

    /// Returns the connection to one of the profiles: the first that has one open, or else the first that answers;
    /// `None` if none does.
    fn connect(
        &self,
        exchange: &mut Exchange<'_, '_>,
        route: &Route,
        ranks: Ranks,
        untried: &[usize],
    ) -> Result<Option<(usize, FoundConnection)>, SystemException> {
        let profiles: Vec<_> = untried.iter().map(|&at| &route.profiles[at]).collect();
        let Some(first) = profiles.first().map(|profile| profile.remote()) else {
            return Ok(None);
        };
        if let Some(bound) = &exchange.bound
            && self.policies.rebind == RebindMode::NoReconnect
            && bound.losses != first.losses()
        {
            return Err(raise::REBIND_LOST);
        }
        let orb = self.reference.orb();
        let (selection, attempts) = (exchange.selection.as_ref(), &mut exchange.attempts);
        let best = ranks.of(untried[0]);
        let alike = untried.iter().take_while(|at| ranks.of(**at) == best);
        let alike = alike.count();
        match shared::first_of(orb, &profiles, alike, selection, self.timing, attempts) {
            Ok(found) => {
                if found.opened {
                    route.answered(untried[found.place], &untried[..found.place]);
                }
                Ok(Some((found.place, found)))
            }
            Err(failed) if failed == raise::CONNECT_FAILED => Ok(None),
            Err(exception) => Err(exception),
        }
    }
}

/// Outcome of a round of attempts.
enum Gone {
    Sent(Arc<CallSlot>, usize, Arc<Multiplexed>),
    /// The object is elsewhere.
    Moved,
    Nowhere(SystemException),
}
