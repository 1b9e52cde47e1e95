//! Selection of the addresses that a call may use at its priority, and of its connection (RT-CORBA
//! 1.2, 5.9 to 5.15).
//!
//! Calls do not use this module if neither the reference nor the caller's policies contain anything real-time.

use std::num::NonZeroU32;
use std::sync::Arc;

use oxorb_object::{CommunicationClass, PriorityBand, PriorityModel, Qos, SystemException};
use oxorb_rt::{Priority, dscp};
use oxorb_transport::{Link, Properties};

use crate::ClassPacing;
use crate::error::{Attempt, failure, raise};
use crate::policy::{self, Effective, ProtocolList, RealTimePolicies};
use crate::reference::{Route, RouteProfile};
use crate::scheduler::Scheduled;
use crate::servant::terms;

/// Effect of the policies of a reference and of a call at the caller's priority.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Selection {
    /// Bit set of the profiles of the route that may serve the call.
    pub(super) profiles: u64,
    /// Profiles by preference of their protocols, if a policy prefers some.
    pub(super) ranks: Ranks,
    pub(super) sharing_key: SharingKey,
    /// Priority that travels with the request.
    priority: Option<Priority>,
    /// Priority at which the server serves the request, if the reference states it.
    pub(super) served_at: Option<i16>,
    /// Row of the operation in the run-time scheduler's table.
    pub(super) row: Option<u16>,
    /// Band of the connection.
    pub(super) band: Option<PriorityBand>,
    /// Protocols of the caller's policies; its connections have their properties.
    protocols: Option<ProtocolList>,
    /// Size in octets of the memory that the connection reserves for each direction when it is opened.
    pub(super) preallocated: u32,
    /// DSCP of the connection's packets, if network priorities are enabled.
    pub(super) dscp: Option<u8>,
}

/// Profiles of a route by preference, one bit for each; all zero without a preference.
///
/// Protocols after the fourth of a list share its rank with those that only a fall-back admits.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Ranks([u64; 4]);

impl Ranks {
    fn add(&mut self, rank: usize, profile: usize) {
        self.0[rank.min(3)] |= 1 << profile;
    }

    /// Returns the number of ranks: 1 without a preference.
    pub(super) fn count(self) -> usize {
        match self.0 {
            [0, 0, 0, 0] => 1,
            all => all.len(),
        }
    }

    /// Returns the rank of a profile: 0 if it is preferred, or if there is no preference.
    pub(super) fn of(&self, profile: usize) -> usize {
        let has = |rank: &u64| rank >> profile & 1 == 1;
        self.0.iter().position(has).unwrap_or(0)
    }

    /// Returns those of `profiles` that are preferred to the others.
    #[inline]
    pub(super) fn best(&self, profiles: u64) -> u64 {
        let mut ranked = self.0.iter().map(|rank| rank & profiles);
        ranked.find(|of| *of != 0).unwrap_or(profiles)
    }
}

/// Priority and quality of service of a request, as announced to its server.
#[derive(Clone, Copy, Default)]
pub(crate) struct AnnouncedPriority {
    pub(super) priority: Option<Priority>,
    /// Quality of service of the operation in the run-time scheduler's table; a policy of the call takes precedence.
    pub(super) qos: Option<Qos>,
}

impl AnnouncedPriority {
    /// Adds the quality of service of the request that the thread serves, unless the call has its own.
    #[inline]
    pub(super) fn or_inherited(mut self, policies: &Effective) -> AnnouncedPriority {
        if terms::inherited_class().is_some() && self.qos.is_none() && policies.qos.is_none() {
            self.qos = terms::inherited(self.priority);
        }
        self
    }

    #[inline]
    pub(super) fn is_nothing(&self) -> bool {
        self.priority.is_none() && self.qos.is_none()
    }
}

/// Key of a connection: only calls with the same key may use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct SharingKey {
    /// Number of the reference, under PrivateConnectionPolicy; otherwise 0.
    pub(super) reference: u32,
    /// Highest and lowest priority of the band in one number, plus 1; 0 without bands.
    band: u32,
    /// Maximum send rate of the client, in octets per second; 0 if unlimited.
    bandwidth: u32,
    /// Communication class of the calls.
    class: CommunicationClass,
}

/// Reference with its own connections, which end with it.
#[derive(Debug)]
pub(crate) struct Owner(pub(super) u32);

impl SharingKey {
    /// Reports whether the connection belongs to one reference. The calling thread keeps such connections, regardless
    /// of the option ClientConnections.
    #[inline]
    pub(crate) fn is_private(self) -> bool {
        self.reference != 0
    }

    /// Reports whether calls need a connection that others do not share. Shared connections are separate for each
    /// communication class.
    #[inline]
    pub(crate) fn is_exclusive(self) -> bool {
        self.reference != 0 || self.band != 0 || self.bandwidth != 0
    }
}

impl Owner {
    pub(crate) fn new() -> Arc<Owner> {
        use crate::threads::sync::uncontrolled::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Arc::new(Owner(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Selection {
    /// Reports whether a call may use only certain addresses or connections, because of RT-CORBA or of its
    /// communication class.
    #[inline]
    pub(crate) fn is_needed(route: &Route, policies: &Effective) -> bool {
        let usual = class_of(policies) == CommunicationClass::Message;
        route.real_time || policies.real_time || !usual
    }

    /// Returns the selection for calls of a communication class. Their connections are separate and paced for the
    /// class, and their packets carry its DSCP, if network priorities are enabled and no priority determines another
    /// one.
    #[inline]
    pub(super) fn in_class(mut self, class: CommunicationClass, pacing: &ClassPacing) -> Selection {
        if class != CommunicationClass::Message {
            self.sharing_key.class = class;
            if let Some(paced) = pacing.of(class) {
                self.sharing_key.bandwidth = match self.sharing_key.bandwidth {
                    0 => paced.get(),
                    said => said.min(paced.get()),
                };
            }
            let marks = self.marks_packets();
            self.dscp = self.dscp.or_else(|| class.dscp().filter(|_| marks));
        }
        self
    }

    fn marks_packets(&self) -> bool {
        let tcp = |list: ProtocolList| list.protocols().iter().find_map(|one| one.tcp());
        let tcp = self.protocols.and_then(tcp);
        tcp.is_some_and(|tcp| tcp.enable_network_priority)
    }

    /// Returns the communication class of the call.
    pub(super) fn class(&self) -> CommunicationClass {
        self.sharing_key.class
    }

    /// Returns the selection of all calls without policies of RT-CORBA, if neither their priority nor the operation
    /// matters. It is computed once, when the reference is read.
    pub(crate) fn fixed(
        profiles: &[RouteProfile],
        scheduled: Option<&Scheduled>,
    ) -> Option<Selection> {
        let propagated = profiles.iter().any(RouteProfile::is_client_propagated);
        if scheduled.is_some() || propagated {
            return None;
        }
        // An error is ignored here, because each call then computes its own selection, and reports the error.
        Selection::among(profiles, &RealTimePolicies::default(), None).ok()
    }

    /// Returns the priority that travels with a request.
    pub(crate) fn priority(&self) -> Option<Priority> {
        self.priority
    }

    /// Returns the priority and quality of service that travel with a request.
    pub(crate) fn announced(&self, route: &Route) -> AnnouncedPriority {
        let scheduled = route.scheduled.as_ref();
        let qos = |(scheduled, row): (&Scheduled, u16)| scheduled.row(row).qos;
        AnnouncedPriority { priority: self.priority, qos: scheduled.zip(self.row).map(qos) }
    }

    pub(super) fn among(
        profiles: &[RouteProfile],
        policies: &RealTimePolicies,
        priority: Option<Priority>,
    ) -> Result<Selection, SystemException> {
        let mut selection = Selection {
            priority,
            protocols: policies.protocols,
            preallocated: policies.preallocated,
            ..Selection::default()
        };
        let mut refusal = raise::NO_LANE;
        for (index, profile) in profiles.iter().enumerate() {
            match selection.admit(profile, policies) {
                Ok(rank) => {
                    selection.profiles |= 1 << index;
                    if let Some(rank) = rank {
                        selection.ranks.add(rank, index);
                    }
                }
                Err(why) => refusal = why,
            }
        }
        if selection.profiles == 0 {
            return Err(refusal);
        }
        selection.sharing_key.bandwidth = policies.bandwidth.map_or(0, NonZeroU32::get);
        if let Some(band) = selection.band {
            let (low, high) = (band.low as u32, band.high as u32);
            selection.sharing_key.band = (high << 16 | low) + 1;
        }
        let network = selection.marks_packets();
        selection.dscp = priority.filter(|_| network).map(dscp);
        Ok(selection)
    }

    /// Admits a profile, if calls at the caller's priority may go there. Returns the rank of its protocol, if some are
    /// preferred.
    fn admit(
        &mut self,
        profile: &RouteProfile,
        policies: &RealTimePolicies,
    ) -> Result<Option<usize>, SystemException> {
        // A profile without a peer is in this process, so its octets need no protection.
        if policies.secure && !profile.protected && profile.peer.is_some() {
            return Err(raise::NOT_PROTECTED);
        }
        let published = &profile.published;
        let (protocols, bands) =
            published.real_time(policies).map_err(|_| raise::IRRECONCILABLE)?;
        let rank = match protocols {
            None => None,
            Some(list) => match policy::position(list, profile.tag) {
                None if policies.takes_others() => Some(list.len()),
                place => Some(place.ok_or(raise::NO_PROTOCOL)?),
            },
        };
        let Some(model) = published.model else {
            return Ok(rank);
        };
        let at = match (model.model, self.priority) {
            (PriorityModel::ClientPropagated, Some(priority)) => priority.get(),
            _ => model.server_priority,
        };
        self.served_at = Some(at);
        let band = match bands {
            None => None,
            Some(bands) => {
                let band = bands.iter().find(|band| band.contains(at)).copied();
                Some(band.ok_or(raise::NO_BAND)?)
            }
        };
        let lane = profile.priority;
        let fits = match (model.model, band) {
            (PriorityModel::ServerDeclared, _) => true,
            (PriorityModel::ClientPropagated, Some(band)) => lane < 0 || band.contains(lane),
            (PriorityModel::ClientPropagated, None) => lane < 0 || lane == at,
        };
        self.band = band.or(self.band);
        fits.then_some(rank).ok_or(raise::NO_LANE)
    }

    /// Reports whether calls may go to a profile.
    pub(crate) fn admits(&self, index: usize) -> bool {
        self.profiles >> index & 1 == 1
    }

    /// Sets up a new connection to a profile as the policies of the call require.
    pub(super) fn shape(&self, profile: &RouteProfile, link: &dyn Link) {
        let list = match self.protocols {
            Some(ours) => Some(ours.protocols()),
            None => profile.published.protocols(),
        };
        let place = list.and_then(|list| Some((list, policy::position(list, profile.tag)?)));
        let properties = place.map(|(list, at)| policy::properties(&list[at].transport));
        let properties = Properties {
            bandwidth: (self.sharing_key.bandwidth != 0)
                .then_some(self.sharing_key.bandwidth.into()),
            ..properties.unwrap_or_default()
        };
        if properties != Properties::default() {
            // A property that this system lacks must not prevent the call.
            let _ = link.apply(&properties);
        }
    }

    /// Returns the most octets per second over the call's connection; 0 if unlimited.
    pub(super) fn bandwidth(&self) -> u32 {
        self.sharing_key.bandwidth
    }
}

/// Sets up a new connection to a profile, for calls that share it.
pub(super) fn shape_shared(selection: Option<&Selection>, profile: &RouteProfile, link: &dyn Link) {
    if let Some(selection) = selection {
        selection.shape(profile, link);
    }
}

/// Limits the octets per second that are sent over a new connection; 0 for no limit.
pub(super) fn pace(link: &dyn Link, bandwidth: u32) {
    if bandwidth != 0 {
        // A transport without pacing carries the call nevertheless, so a failure is ignored.
        let _ =
            link.apply(&Properties { bandwidth: Some(bandwidth.into()), ..Properties::default() });
    }
}

/// Returns the communication class of a call: that of its policies, or else of the request that the thread serves.
#[inline]
pub(super) fn class_of(policies: &Effective) -> CommunicationClass {
    let said = policies.qos.map(|qos| qos.class);
    said.or_else(terms::inherited_class).unwrap_or_default()
}

pub(super) fn is_about_priority(refusal: &SystemException) -> bool {
    [raise::NO_LANE, raise::NO_BAND].contains(refusal)
}

/// Returns the priority for a caller that has none, if the object cannot be called at the one that its native priority
/// stands for: the priority that the object's model gives to such callers, else that of the lowest lane, else the
/// lowest of the bands.
#[cold]
pub(super) fn default_priority(
    profiles: &[RouteProfile],
    policies: &RealTimePolicies,
) -> Option<Priority> {
    let reaches =
        |priority: &Priority| Selection::among(profiles, policies, Some(*priority)).is_ok();
    let lowest = |all: &mut dyn Iterator<Item = i16>| {
        let known = all.filter_map(|priority| Priority::new(priority).ok());
        known.filter(reaches).min_by_key(|priority| priority.get())
    };
    let models = profiles.iter().filter_map(|profile| profile.published.model);
    let bands = profiles
        .iter()
        .filter_map(|profile| profile.published.real_time(policies).ok()?.1)
        .flat_map(|bands| bands.iter().map(|band| band.low));
    lowest(&mut models.map(|model| model.server_priority))
        .or_else(|| lowest(&mut profiles.iter().map(|profile| profile.priority)))
        .or_else(|| lowest(&mut { bands }))
}

/// Records with a refusal the addresses of the object, or the priority of the call and the object's lanes and bands.
#[cold]
pub(super) fn recorded(
    refusal: SystemException,
    route: &Route,
    policies: &RealTimePolicies,
    priority: Option<Priority>,
) -> SystemException {
    if refusal == raise::NOT_PROTECTED {
        let attempt = |profile: &RouteProfile| Attempt {
            endpoint: profile.peer.as_ref().map_or_else(String::new, |peer| peer.to_string()),
            what: "not tried: messages to this address are not protected".to_owned(),
        };
        return failure::record(refusal, route.profiles.iter().map(attempt).collect());
    }
    if !is_about_priority(&refusal) {
        return refusal;
    }
    let attempt = |profile: &RouteProfile| {
        let peer = profile.peer.as_ref();
        let model = profile.published.model;
        let priority = match (model, priority) {
            (Some(model), _) if model.model == PriorityModel::ServerDeclared => {
                format!("the object's declared priority is {}", model.server_priority)
            }
            (_, Some(priority)) => format!("the caller's CORBA priority is {}", priority.get()),
            (_, None) => "the caller has no CORBA priority".to_owned(),
        };
        let lane = match profile.priority {
            lane if lane < 0 => String::new(),
            lane => format!(", the lane's is {lane}"),
        };
        let bands = match profile.published.real_time(policies) {
            Ok((_, Some(bands))) => {
                let each = bands.iter().map(|band| format!("{}..{}", band.low, band.high));
                format!(", the priority bands are {}", each.collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        };
        Attempt {
            endpoint: peer.map_or_else(|| "this process".to_owned(), ToString::to_string),
            what: format!("{priority}{lane}{bands}"),
        }
    };
    failure::record(refusal, route.profiles.iter().map(attempt).collect())
}

impl RouteProfile {
    pub(super) fn is_client_propagated(&self) -> bool {
        let model = self.published.model;
        model.is_some_and(|policy| policy.model == PriorityModel::ClientPropagated)
    }
}
