//! Routes: profiles of references, ready for calls.

use std::sync::Arc;

use oxorb_cdr::ByteOrder;
use oxorb_giop::{Form, TargetAddress, Wire};
use oxorb_object::code_sets;
use oxorb_object::components::{DecodedComponent, orb_type, tag as component_tag};
use oxorb_object::{
    CodeSetComponentInfo, CodeSetContext, Ior, SystemException, TaggedProfile, Version,
};
use oxorb_transport::Address;

use super::own_address::{LaneOf, OwnAddress};
use crate::client::{Peer, Selection};
use crate::error::raise;
use crate::policy::PublishedPolicies;
use crate::protocol::{Profile, ProtocolStack};
use crate::scheduler::Scheduled;
use crate::shared::Shared;
use crate::threads::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use crate::threads::sync::uncontrolled;
use crate::{Collocation, Options};

/// Maximum number of endpoints of one reference that are tried. It bounds the connection attempts that a malicious
/// reference can cause.
const MAX_ENDPOINTS: usize = 64;

/// Addressing by object key, which is the default.
const BY_KEY: u16 = 0;

/// Addressing by profile, for groups, which have no object key.
const BY_PROFILE: u16 = 1;

/// Counter of profile numbers. It is not an atomic of the model checker, because no thread waits for it.
static NUMBERS: uncontrolled::atomic::AtomicU64 = uncontrolled::atomic::AtomicU64::new(0);

/// Profiles of one IOR, parsed once and ready for calls.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) profiles: Vec<RouteProfile>,
    /// Whether a profile or the run-time scheduler uses RT-CORBA: calls then select among the profiles
    /// (`client/selection.rs`).
    pub(crate) real_time: bool,
    /// Selected profile, if it is the same for all calls without policies of their own.
    pub(crate) fixed_selection: Option<Selection>,
    /// Whether calls may take the fast path, unless the reference or the thread has individual policies. Set by the
    /// ORB.
    pub(crate) fast: bool,
    /// Whether calls may take the fast path in an ORB that counts calls; `fast` is false then. Set by the ORB.
    pub(crate) counted: bool,
    /// Index of the profile that answered last.
    pub(crate) preferred: AtomicUsize,
    /// Bit set of the profiles that failed before another one answered.
    pub(crate) silent: AtomicU64,
    /// Rows of the run-time scheduler's table for the object's operations.
    pub(crate) scheduled: Option<Scheduled>,
    ior: Ior,
}

/// Parsed profile: one address of an object.
#[derive(Debug)]
pub(crate) struct RouteProfile {
    /// Tag of the profile, which identifies the protocol.
    pub(crate) tag: u32,
    /// Peer to connect to; `None` for this ORB itself, outside of its lanes.
    pub(crate) peer: Option<Arc<Peer>>,
    /// Lane of this ORB that listens at the address.
    pub(crate) lane: Option<LaneOf>,
    /// Protocol of messages: GIOP in the lower of the profile's and this ORB's highest version, or another messaging.
    pub(crate) wire: Wire,
    /// Form of the usual messages to the profile, if there is one.
    pub(crate) form: Option<&'static Form>,
    /// Number unique in this process, by which connections identify prepared request headers.
    pub(crate) number: u64,
    pub(crate) key: Box<[u8]>,
    /// Priority of the lane at the address; below 0 for all priorities.
    pub(crate) priority: i16,
    /// Code sets that both sides allow; an incompatibility is raised by the call, not by parsing
    /// the reference.
    pub(crate) code_sets: Result<Option<CodeSetContext>, SystemException>,
    /// Whether the transport is secure.
    pub(crate) protected: bool,
    /// Index of the profile in the IOR.
    pub(crate) index: usize,
    /// Current mode of addressing (AddressingDisposition).
    addressing: AtomicU16,
    /// Policies that the server published.
    pub(crate) published: PublishedPolicies,
    /// Whether the server has confirmed the object (LocateReply).
    located: AtomicBool,
    /// ORB type of the server (TAG_ORB_TYPE), if published.
    pub(crate) made_by: Option<u32>,
}

impl RouteProfile {
    /// Reports whether the server handles a CancelRequest without harm to other calls of the connection.
    ///
    /// omniORB (4.2.5) closes the connection on a CancelRequest below GIOP 1.2, and in GIOP 1.2 stops reading the
    /// connection after one while other calls run. A server of unknown type may be omniORB: `corbaloc:` references
    /// never name the ORB.
    pub(crate) fn takes_cancel(&self) -> bool {
        self.made_by.is_some_and(|orb| orb != orb_type::OMNIORB)
    }
}

impl Route {
    /// Parses the usable profiles. `own` classifies addresses of an object with a key: the ORB's own ones become local.
    /// `peer` returns the server at other addresses.
    pub(crate) fn parse(
        shared: &Shared,
        own: impl Fn(&Address, &[u8]) -> OwnAddress,
        peer: impl Fn(&Arc<ProtocolStack>, &Address, Option<CodeSetContext>) -> Arc<Peer>,
        ior: &Ior,
    ) -> Result<Route, SystemException> {
        let options = &*shared.options;
        let (mut profiles, mut near) = (Vec::new(), Vec::new());
        // Addresses on this host are later inserted before the first GIOP profile, whose index is recorded here.
        let mut first = None;
        for (index, tagged) in ior.profiles.iter().enumerate() {
            let Some(protocol) = options.protocols.tagged(tagged.tag) else {
                continue;
            };
            let Ok(profile) = protocol.profile().read(tagged) else {
                continue;
            };
            let version = profile.version.min(options.max_giop);
            let wire = Wire::of(protocol.messaging(), version);
            let needs = wire.needs();
            if needs.same_order && options.byte_order != ByteOrder::NATIVE {
                continue;
            }
            let code_sets = match needs.no_contexts {
                // Messages without contexts cannot name the chosen code sets, so both sides use fixed ones.
                true => Ok(Some(FIXED)),
                false => negotiate(&profile, version, options),
            };
            let agreed = code_sets.ok().flatten();
            let published = PublishedPolicies::of(&profile);
            let made_by = profile.component(component_tag::ORB_TYPE);
            let made_by = match made_by.and_then(|component| component.decode().ok()) {
                Some(DecodedComponent::OrbType(orb)) => Some(orb),
                _ => None,
            };
            let key: Box<[u8]> = profile.key.as_slice().into();
            for (protocol, address, priority, nearness) in
                addresses(options, protocol, tagged, &profile)
            {
                if profiles.len() + near.len() == MAX_ENDPOINTS {
                    break;
                }
                let peer = |at| peer(protocol, at, agreed);
                let (peer, lane) = match own(&address, &key) {
                    OwnAddress::No => (Some(peer(&address)), None),
                    OwnAddress::Orb if options.collocation == Collocation::None => {
                        (Some(peer(&address)), None)
                    }
                    OwnAddress::Orb => (None, None),
                    OwnAddress::Lane(lane, at) => (Some(peer(&at)), Some(lane)),
                };
                let found = RouteProfile {
                    tag: protocol.profile().tag(),
                    peer,
                    lane,
                    wire,
                    form: wire.form(),
                    number: NUMBERS.fetch_add(1, Ordering::Relaxed),
                    key: key.clone(),
                    priority,
                    code_sets,
                    protected: protocol.transport().is_secure(),
                    index,
                    addressing: AtomicU16::new(match protocol.profile().names_group() {
                        true => BY_PROFILE,
                        false => BY_KEY,
                    }),
                    published: published.clone(),
                    located: AtomicBool::new(false),
                    made_by,
                };
                if protocol.messaging().is_none() {
                    first.get_or_insert(profiles.len());
                }
                match nearness {
                    Some(nearness) => near.push((nearness, found)),
                    None => profiles.push(found),
                }
            }
        }
        near.sort_by_key(|(nearness, _)| *nearness);
        let first = first.unwrap_or(profiles.len());
        profiles.splice(first..first, near.into_iter().map(|(_, found)| found));
        if profiles.is_empty() {
            return Err(match options.secure_only {
                true => raise::NOT_PROTECTED,
                false => raise::NO_USABLE_PROFILE,
            });
        }
        let scheduled = shared
            .enforcer
            .as_ref()
            .and_then(|enforcer| enforcer.interface(&ior.type_id, |_| false));
        let published = |it: &RouteProfile| it.published.is_real_time();
        let real_time = scheduled.is_some() || profiles.iter().any(published);
        Ok(Route {
            fast: false,
            counted: false,
            real_time,
            fixed_selection: real_time
                .then(|| Selection::fixed(&profiles, scheduled.as_ref()))
                .flatten(),
            profiles,
            scheduled,
            preferred: AtomicUsize::new(0),
            silent: AtomicU64::new(0),
            ior: ior.clone(),
        })
    }

    /// Returns the IOR of the route.
    pub(crate) fn ior(&self) -> &Ior {
        &self.ior
    }

    /// Reports whether a thread of this process may run requests without a connection.
    pub(crate) fn may_be_local(&self) -> bool {
        let mut profiles = self.profiles.iter();
        profiles.any(|profile| profile.peer.is_none() || profile.lane.is_some())
    }

    /// Records the profile that answered, and the profiles that failed before it.
    pub(crate) fn answered(&self, index: usize, before: &[usize]) {
        self.preferred.store(index, Ordering::Relaxed);
        let silent = before.iter().fold(0, |all, at| all | 1 << at);
        self.silent.store(silent, Ordering::Relaxed);
    }

    /// Makes later calls try another profile first, because the server of this profile accepted the connection, but no
    /// request.
    pub(crate) fn turn_from(&self, index: usize) {
        if self.preferred.load(Ordering::Relaxed) == index && self.profiles.len() > 1 {
            self.answered((index + 1) % self.profiles.len(), &[index]);
        }
    }

    /// Reports whether the route suits the fast path: all profiles are in other processes, in protocols with usual
    /// messages, without RT-CORBA.
    pub(crate) fn suits_fast_calls(&self) -> bool {
        let suits = |it: &RouteProfile| {
            it.peer.is_some() && it.lane.is_none() && it.code_sets.is_ok() && it.form.is_some()
        };
        !self.real_time && self.profiles.iter().all(suits)
    }

    /// Returns the profile that answered last, if requests to it name the object by its key.
    #[inline(always)]
    pub(crate) fn fast_profile(&self) -> Option<(usize, &RouteProfile)> {
        let index = self.preferred.load(Ordering::Relaxed);
        let profile = self.profiles.get(index)?;
        (profile.addressing.load(Ordering::Relaxed) == BY_KEY).then_some((index, profile))
    }

    /// Returns the target address in a request to `profile`.
    pub(crate) fn target<'r>(&'r self, profile: &'r RouteProfile) -> TargetAddress<'r> {
        match profile.addressing.load(Ordering::Relaxed) {
            BY_PROFILE => {
                let tagged = &self.ior.profiles[profile.index];
                TargetAddress::Profile { tag: tagged.tag, data: &tagged.data }
            }
            2 => TargetAddress::Reference { index: profile.index as u32, ior: &self.ior },
            _ => TargetAddress::Key(&profile.key),
        }
    }
}

impl RouteProfile {
    pub(crate) fn is_located(&self) -> bool {
        self.located.load(Ordering::Relaxed)
    }

    pub(crate) fn set_located(&self) {
        self.located.store(true, Ordering::Relaxed);
    }

    /// Changes the mode of addressing as the server requested (NEEDS_ADDRESSING_MODE). Returns
    /// false if it is in use already, or unknown.
    pub(crate) fn set_addressing(&self, disposition: u16) -> bool {
        disposition <= 2 && self.addressing.swap(disposition, Ordering::Relaxed) != disposition
    }
}

/// Returns the addresses of a profile, each with its protocol, its lane's priority and, for a preferred address on this
/// host, its protocol's rank.
fn addresses<'p>(
    options: &'p Options,
    protocol: &'p Arc<ProtocolStack>,
    tagged: &TaggedProfile,
    profile: &Profile,
) -> Vec<(&'p Arc<ProtocolStack>, Address, i16, Option<usize>)> {
    let (mut within, mut required) = (Vec::new(), options.secure_only);
    let is_secure = |protocol: &ProtocolStack| protocol.transport().is_secure();
    for other in options.protocols.iter().filter(|it| !options.secure_only || is_secure(it)) {
        let found = other.profile().found_within(tagged);
        if found.addresses.is_empty() || other.transport().ready().is_err() {
            continue;
        }
        required |= found.required;
        let found = found.addresses.into_iter();
        within.extend(found.map(|(address, priority)| (other, address, priority, None)));
    }
    let is_used = |protocol: &ProtocolStack| !required || is_secure(protocol);
    if !profile.lanes.is_empty() || within.iter().any(|(_, _, priority, _)| *priority != NO_LANE) {
        let mut all = options.protocols.iter();
        let place = all.position(|it| Arc::ptr_eq(it, protocol) && it.messaging().is_none());
        let lanes = profile.lanes.iter().filter(|_| is_used(protocol)).cloned();
        let lanes = lanes.map(|(address, priority)| {
            let nearness = place.filter(|_| protocol.profile().is_near(&address));
            (protocol, address, priority, nearness)
        });
        return within.into_iter().chain(lanes).collect();
    }
    let others = options.protocols.iter().enumerate();
    let others = others.filter(|(_, other)| is_used(other));
    let beside = others.filter_map(|(place, other)| {
        let found = other.profile().found_beside(profile)?;
        Some((other, found.ok()?, NO_LANE, Some(place)))
    });
    let own = profile.addresses.iter().filter(|_| is_used(protocol));
    let own = own.map(|address| (protocol, address.clone(), NO_LANE, None));
    beside.chain(within).chain(own).collect()
}

/// TAO_INVALID_PRIORITY, which marks an address for all priorities.
const NO_LANE: i16 = -1;

/// Code sets of protocols whose messages cannot name code sets.
const FIXED: CodeSetContext =
    CodeSetContext { char_data: code_sets::ISO_8859_1, wchar_data: code_sets::UTF_16 };

fn negotiate(
    profile: &Profile,
    version: Version,
    options: &Options,
) -> Result<Option<CodeSetContext>, SystemException> {
    if version < Version::V1_1 {
        return Ok(None);
    }
    let published =
        profile.component(component_tag::CODE_SETS).and_then(|component| component.decode().ok());
    match published {
        Some(DecodedComponent::CodeSets(theirs)) => {
            let ours = CodeSetComponentInfo::native_to(options.native_chars);
            let mut chosen = code_sets::negotiate_as(&ours, Some(&theirs))?;
            if options.prefer_utf8 && theirs.for_char_data.conversion.contains(&code_sets::UTF_8) {
                chosen.char_data = code_sets::UTF_8;
            }
            Ok(Some(chosen))
        }
        _ => Ok(None),
    }
}
