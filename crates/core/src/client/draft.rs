//! Drafts of requests, which contain everything but the arguments: target, operation, and the contexts that travel with
//! them.
//!
//! This module alone makes a [`Draft`] from a call's policies, and alone writes a [`RequestHeader`], whatever
//! connection the request takes.

use std::sync::Arc;
use std::time::Duration;

use oxorb_cdr::Encoder;
use oxorb_giop::{
    Alias, Aliases, Begun, MessageLimits, RequestHeader, TargetAddress, Wire, place_arguments,
};
use oxorb_object::contexts::{self, Deadline};
use oxorb_object::{
    CodeSetContext, CompletionStatus, PolicyValueWriter, Qos, ServiceContext, SystemException,
    Version, context_id, policy_type,
};
use oxorb_rt::Priority;

use super::selection::AnnouncedPriority;
use super::{Args, Peer, Timing};
use crate::error::raise;
use crate::policy::{Effective, time};
use crate::probe::{self, Stage};
use crate::reference::{NO_SLOT, Operation, Route, RouteProfile, SLOTTED_KEY, SLOTTED_KEY_LEN};
use crate::threads::clock;

/// Size in octets reserved for the header. A longer header is rare, and makes the buffer grow.
pub(super) const HEADER_ROOM: usize = 256;

/// Maximum number of contexts of a request without interceptors: code sets, two for the connection, three of its
/// policies, one of the scheduler.
const MAX_CONTEXTS: usize = 7;

/// Profile of a route that a request goes to.
#[derive(Clone, Copy)]
pub(super) struct Addressee<'r> {
    pub(super) route: &'r Arc<Route>,
    /// Index of the profile in the route.
    pub(super) index: usize,
    pub(super) profile: &'r RouteProfile,
}

impl<'r> Addressee<'r> {
    #[inline]
    pub(super) fn of(route: &'r Arc<Route>, index: usize) -> Addressee<'r> {
        Addressee { route, index, profile: &route.profiles[index] }
    }

    /// Returns the server of a profile that is not local.
    #[inline]
    pub(super) fn peer(self) -> &'r Arc<Peer> {
        self.profile.remote()
    }

    /// Returns the address by which the request names its object.
    #[inline]
    pub(super) fn target(self) -> TargetAddress<'r> {
        self.route.target(self.profile)
    }
}

impl RouteProfile {
    /// Returns the server of a profile that is not local.
    pub(super) fn remote(&self) -> &Arc<Peer> {
        self.peer.as_ref().expect("local profiles are served locally")
    }
}

/// Conditions of a call that travel with its request.
pub(super) struct Conditions<'t> {
    pub(super) policies: &'t Effective,
    pub(super) announced: AnnouncedPriority,
    pub(super) timing: &'t Timing,
}

/// Request without its arguments, as it is written to any connection.
pub(crate) struct Draft<'r> {
    pub(super) op: Operation<'r>,
    target: TargetAddress<'r>,
    pub(super) wire: Wire,
    pub(super) code_sets: Option<CodeSetContext>,
    /// Length in octets above which messages are sent as fragments, if the protocol has these.
    pub(super) fragment_size: Option<usize>,
    carried: Option<&'r Carried>,
    /// Service contexts that interceptors added.
    added: &'r [ServiceContext<'r>],
}

impl<'r> Draft<'r> {
    /// Drafts a request to another process. `room` receives the conditions that travel with it.
    ///
    /// # Errors
    /// Code sets or priorities that are incompatible with those of the server.
    #[inline(always)]
    pub(super) fn to(
        addressee: Addressee<'r>,
        op: Operation<'r>,
        conditions: &Conditions<'_>,
        added: &'r [ServiceContext<'r>],
        room: &'r mut Option<Carried>,
    ) -> Result<Draft<'r>, SystemException> {
        let profile = addressee.profile;
        let code_sets = profile.code_sets?;
        if conditions.is_worth_telling() {
            conditions.write_for_peer(profile, room)?;
        }
        Ok(Draft {
            op,
            target: addressee.target(),
            wire: profile.wire,
            code_sets,
            fragment_size: conditions.policies.fragment_size,
            carried: room.as_ref(),
            added,
        })
    }

    /// Drafts the request of a fast call to another process, with target and operation but no contexts of the call.
    #[inline]
    pub(super) fn fast(profile: &'r RouteProfile, op: Operation<'r>) -> Draft<'r> {
        Draft {
            op,
            target: TargetAddress::Key(&profile.key),
            wire: profile.wire,
            code_sets: None,
            fragment_size: None,
            carried: None,
            added: &[],
        }
    }

    /// Drafts a request to an object of this process.
    pub(super) fn within(
        addressee: Addressee<'r>,
        op: Operation<'r>,
        conditions: &Conditions<'_>,
        added: &'r [ServiceContext<'r>],
        room: &'r mut Option<Carried>,
    ) -> Draft<'r> {
        if conditions.is_worth_telling() {
            conditions.write(conditions.policies, false, room);
        }
        Draft {
            op,
            target: addressee.target(),
            wire: Wire::Giop(Version::V1_2),
            code_sets: None,
            fragment_size: None,
            carried: room.as_ref(),
            added,
        }
    }

    /// Reports whether the same octets are also a valid request to another profile.
    pub(super) fn suits(&self, profile: &RouteProfile) -> bool {
        matches!(self.target, TargetAddress::Key(key) if *key == *profile.key)
            && profile.wire == self.wire
            && profile.code_sets == Ok(self.code_sets)
    }

    /// Returns the alias of target and operation on a connection that numbers them, for the next request over it.
    #[inline(never)]
    pub(super) fn alias(&self, aliases: &mut Aliases) -> Option<Alias> {
        match (self.slotted(), self.target) {
            (Some(key), _) => aliases.of(&key, self.op.name),
            (None, TargetAddress::Key(key)) => aliases.of(key, self.op.name),
            (None, _) => None,
        }
    }

    /// Returns the key by which a server of OxORB finds servant and operation in one step.
    #[inline(always)]
    fn slotted(&self) -> Option<[u8; SLOTTED_KEY_LEN + 2]> {
        match self.target {
            TargetAddress::Key(key) => slotted(key, self.op.slot),
            _ => None,
        }
    }

    /// Writes the header, the arguments, and finally the size.
    ///
    /// # Errors
    /// The arguments cannot be marshalled; the message is larger than this side sends.
    pub(super) fn write<'a>(
        &self,
        e: &mut Encoder<'a>,
        id: u32,
        first: &First<'_>,
        args: Args<'_, 'a>,
        limits: &MessageLimits,
    ) -> Result<(), SystemException> {
        let mut begun = self.begin(e, id, first);
        if let (Some(at), Wire::Giop(version)) = (self.op.arguments_at, self.wire)
            && version < Version::V1_2
        {
            begun = place_arguments(e, at.into());
        }
        args(e).map_err(|error| SystemException::from_cdr(error, CompletionStatus::No))?;
        probe::stamp(Stage::ArgumentsWritten);
        self.wire
            .finish(e, begun)
            .and_then(|()| limits.check_outgoing(e.position()))
            .inspect(|()| probe::stamp(Stage::RequestFramed))
            .map_err(|violation| violation.to_exception(CompletionStatus::No))
    }

    /// Writes the header, and reserves space for the arguments.
    #[inline(always)]
    pub(super) fn begin(&self, e: &mut Encoder<'_>, id: u32, first: &First<'_>) -> Begun {
        let First { code_sets: tell, contexts: once, alias } = *first;
        let (told, mut room);
        let several: Vec<_>;
        let contexts = if tell.is_none() && once == [None; 2] && self.carried.is_none() {
            self.added
        } else {
            told = tell.map(|code_sets| code_sets.to_bytes());
            let code_sets =
                told.as_ref().map(|data| ServiceContext { id: context_id::CODE_SETS, data });
            let carried = self.carried.into_iter().flat_map(Carried::contexts);
            let once = once.into_iter().flatten();
            let own = code_sets.into_iter().chain(once).chain(carried);
            if self.added.len() <= 1 {
                let own = own.chain(self.added.iter().copied());
                room = [ServiceContext { id: 0, data: &[] }; MAX_CONTEXTS];
                fill(&mut room, own)
            } else {
                several = own.chain(self.added.iter().copied()).collect();
                &several
            }
        };
        let slotted = self.slotted();
        let header = RequestHeader {
            id,
            response: self.op.response,
            key: match &slotted {
                Some(key) => TargetAddress::Key(key),
                None => self.target,
            },
            operation: self.op.name,
            contexts,
            terms: None,
            alias,
        };
        e.reserve(HEADER_ROOM + self.op.request as usize);
        let begun = self.wire.begin_request(e, &header);
        probe::stamp(Stage::HeaderWritten);
        begun
    }
}

/// Returns the key of an OxORB object with the slot of an operation appended; `None` if the key can
/// carry no slot, or the slot is unknown.
#[inline]
pub(super) fn slotted(key: &[u8], slot: u16) -> Option<[u8; SLOTTED_KEY_LEN + 2]> {
    let key: &[u8; SLOTTED_KEY_LEN] = key.try_into().ok()?;
    if slot == NO_SLOT || !key.starts_with(SLOTTED_KEY) {
        return None;
    }
    let mut slotted = [0; SLOTTED_KEY_LEN + 2];
    slotted[..SLOTTED_KEY_LEN].copy_from_slice(key);
    slotted[SLOTTED_KEY_LEN..].copy_from_slice(&slot.to_le_bytes());
    Some(slotted)
}

/// Returns the slot [appended](slotted) to a key, or [`NO_SLOT`].
pub(super) fn slot_of(key: &[u8]) -> u16 {
    match key.split_at_checked(SLOTTED_KEY_LEN) {
        Some((own, &[low, high])) if own.starts_with(SLOTTED_KEY) => {
            u16::from_le_bytes([low, high])
        }
        _ => NO_SLOT,
    }
}

/// Statements of a request about its connection; none by default.
#[derive(Clone, Copy, Default)]
pub(super) struct First<'c> {
    /// Code sets that are yet to be announced to the server.
    pub(super) code_sets: Option<CodeSetContext>,
    /// Contexts of the connection: its band of priorities, or an offer of requests both ways.
    pub(super) contexts: [Option<ServiceContext<'c>>; 2],
    /// Number that stands for target and operation.
    pub(super) alias: Option<Alias>,
}

/// Puts the contexts into `room`, without an allocation.
fn fill<'r, 'c>(
    room: &'r mut [ServiceContext<'c>; MAX_CONTEXTS],
    contexts: impl Iterator<Item = ServiceContext<'c>>,
) -> &'r [ServiceContext<'c>] {
    let mut count = 0;
    for (place, context) in room.iter_mut().zip(contexts) {
        *place = context;
        count += 1;
    }
    &room[..count]
}

/// Policies of a call that travel with its request, in the service context INVOCATION_POLICIES.
///
/// Absolute times are sent unchanged. Of a relative time the remainder is sent, as a relative policy, so that the
/// clocks of both sides need not be synchronised. If they are (option SynchronizedClocks), end times are sent as well,
/// which other ORBs understand. Allocates nothing.
///
/// If the object is to know the caller's priority, that is sent in the separate context RTCorbaPriority. If a policy
/// sets a quality of service for the call, that is sent in the context RIOP.
pub(crate) struct Carried {
    policies: Option<PolicyValueWriter>,
    priority: Option<[u8; contexts::Priority::OCTETS]>,
    qos: Option<[u8; Qos::OCTETS]>,
}

impl Carried {
    fn contexts(&self) -> impl Iterator<Item = ServiceContext<'_>> {
        let policies = self.policies.as_ref().map(Deadline::context);
        let priority = self.priority.as_ref().map(contexts::Priority::context);
        let qos = self.qos.as_ref().map(Qos::context);
        policies.into_iter().chain(priority).chain(qos)
    }
}

impl Conditions<'_> {
    #[inline]
    fn is_worth_telling(&self) -> bool {
        self.policies.carries || !self.announced.is_nothing()
    }

    /// Writes what the server of a profile is to know, reconciled with the server's own policies.
    #[inline(never)]
    fn write_for_peer(
        &self,
        profile: &RouteProfile,
        room: &mut Option<Carried>,
    ) -> Result<(), SystemException> {
        let both;
        let policies = if self.policies.priority.is_some() {
            both = profile.published.reconcile(self.policies);
            both.as_ref().map_err(|_| raise::IRRECONCILABLE)?
        } else {
            self.policies
        };
        let synchronized_clocks = profile.remote().options().synchronized_clocks;
        self.write(policies, synchronized_clocks, room);
        Ok(())
    }

    /// Writes the current conditions into `room`, because they are large and must not be moved; most calls have none.
    fn write(&self, policies: &Effective, synchronized_clocks: bool, room: &mut Option<Carried>) {
        let announced = &self.announced;
        let carried = room.insert(Carried {
            policies: None,
            priority: announced
                .priority
                .map(|priority| contexts::Priority(priority.get()).encode()),
            qos: policies
                .qos
                .or(announced.qos)
                .map(|qos| complete(qos, announced.priority).encode()),
        });
        if policies.carries {
            write_policies(policies, self.timing, synchronized_clocks, &mut carried.policies);
        }
    }
}

/// Adds the priority that travels, or else that of the calling thread, if `qos` names none.
fn complete(mut qos: Qos, travels: Option<Priority>) -> Qos {
    let ours = || travels.or_else(crate::threads::rt::thread_priority).map(Priority::get);
    qos.priority = qos.priority.or_else(ours);
    qos
}

#[cold]
fn write_policies(
    policies: &Effective,
    timing: &Timing,
    synchronized_clocks: bool,
    room: &mut Option<PolicyValueWriter>,
) {
    let mut written = PolicyValueWriter::new();
    let since = clock::since(timing.start);
    let left = |limit: Duration| time::units(limit.saturating_sub(since));
    let end = |limit: Option<Duration>| {
        let limit = limit.filter(|_| synchronized_clocks)?;
        Some(time::utc_now().saturating_add(left(limit)))
    };
    let round_trip = policies.round_trip.filter(|_| policies.round_trip_carried);
    let first = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    };
    let deadline = Deadline {
        request_start: policies.request_start,
        request_end: first(policies.request_end, end(policies.request)),
        reply_start: policies.reply_start,
        reply_end: first(policies.reply_end, end(round_trip)),
        request: policies.request.map(left),
        round_trip: round_trip.map(left),
    };
    deadline.write(&mut written);
    if let Some(range) = policies.priority {
        written.range(policy_type::REQUEST_PRIORITY, (range.min, range.max));
    }
    *room = Some(written).filter(|written| !written.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_of_a_key_is_found_again() {
        let own = *b"OX1a--------------------";
        for slot in [0, 7, 258, NO_SLOT - 1] {
            assert_eq!(slot_of(&slotted(&own, slot).unwrap()), slot);
        }
        for without in [&own[..], &own[..4], b"", b"ox1a----------------------"] {
            assert_eq!(slot_of(without), NO_SLOT);
        }
    }
}
