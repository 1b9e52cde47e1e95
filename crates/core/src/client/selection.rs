//! Selection of the addresses that a call may use at its priority, and of its connection (RT-CORBA
//! 1.2, 5.9 to 5.15).
//!
//! A call of which neither the reference nor the caller's policies say anything real-time does not come here.

use std::num::NonZeroU32;
use std::sync::Arc;

use oxorb_object::{CommunicationClass, PriorityBand, PriorityModel, Qos, SystemException};
use oxorb_rt::{Priority, dscp};
use oxorb_transport::{Link, Properties};

use crate::ClassPacing;
use crate::failure::{self, Attempt};
use crate::policy::{self, Effective, ProtocolList, RealTimePolicies};
use crate::route::{Route, RouteProfile};
use crate::scheduler::Scheduled;
use crate::{raise, terms};

/// Effect of the policies of a reference and of a call at the caller's priority.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Selection {
    /// Bits of the profiles of the route that may serve the call.
    pub(super) profiles: u64,
    /// The profiles by preference of their protocols, where a policy prefers some.
    pub(super) ranks: Ranks,
    pub(super) apart: Apart,
    /// Travels with the request.
    priority: Option<Priority>,
    /// The priority at which the server serves it, if the reference says.
    pub(super) served_at: Option<i16>,
    /// Row of the operation in the run-time scheduler's table.
    pub(super) row: Option<u16>,
    /// The band of the connection.
    pub(super) band: Option<PriorityBand>,
    /// The caller's protocols, whose properties its connections have.
    protocols: Option<ProtocolList>,
    /// Octets of memory that its connection has for each direction when it is opened.
    pub(super) preallocated: u32,
    /// Mark of its packets, where network priorities are enabled.
    pub(super) dscp: Option<u8>,
}

/// Profiles of a route by preference, one bit for each; all zero where nothing is preferred.
///
/// Protocols after the fourth of a list share its rank with those that only a fall-back admits.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Ranks([u64; 4]);

impl Ranks {
    fn add(&mut self, rank: usize, profile: usize) {
        self.0[rank.min(3)] |= 1 << profile;
    }

    /// Returns the number of ranks: one where nothing is preferred.
    pub(super) fn count(self) -> usize {
        match self.0 {
            [0, 0, 0, 0] => 1,
            all => all.len(),
        }
    }

    /// Returns the rank of a profile; 0: preferred, or nothing is.
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

/// Worth of a request, as its server is told.
#[derive(Clone, Copy, Default)]
pub(crate) struct Worth {
    pub(super) priority: Option<Priority>,
    /// Quality of service of the operation in the run-time scheduler's table; a policy of the call
    /// wins.
    pub(super) qos: Option<Qos>,
}

impl Worth {
    /// Adds what the request says that the thread serves, where nothing else is said of the call.
    #[inline]
    pub(super) fn or_inherited(mut self, policies: &Effective) -> Worth {
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
pub(crate) struct Apart {
    /// Number of the reference, under PrivateConnectionPolicy; otherwise 0.
    pub(super) reference: u32,
    /// Highest and lowest priority of the band, both and one more; 0: no bands.
    band: u32,
    /// Octets per second that the client sends at most; 0: no bound.
    bandwidth: u32,
    /// Sort of traffic.
    class: CommunicationClass,
}

/// A reference that has connections of its own. They go when it does.
#[derive(Debug)]
pub(crate) struct Owner(pub(super) u32);

impl Apart {
    /// Connections of one reference are kept by the calling thread, whatever the others do.
    #[inline]
    pub(crate) fn is_private(self) -> bool {
        self.reference != 0
    }

    /// Whether calls do without a connection that others share. Of shared ones, each communication class has its own.
    #[inline]
    pub(crate) fn is_apart(self) -> bool {
        self.reference != 0 || self.band != 0 || self.bandwidth != 0
    }
}

impl Owner {
    pub(crate) fn new() -> Arc<Owner> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Arc::new(Owner(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Selection {
    /// Returns whether addresses and connections matter to a call: by RT-CORBA, or by its communication class.
    #[inline]
    pub(crate) fn is_needed(route: &Route, policies: &Effective) -> bool {
        let usual = class_of(policies) == CommunicationClass::Message;
        route.real_time || policies.real_time || !usual
    }

    /// Returns the selection for calls of a communication class: over connections of their own, whose packets are marked
    /// for the class where network priorities are enabled and no priority marks them, and which are paced for it.
    #[inline]
    pub(super) fn in_class(mut self, class: CommunicationClass, pacing: &ClassPacing) -> Selection {
        if class != CommunicationClass::Message {
            self.apart.class = class;
            if let Some(paced) = pacing.of(class) {
                self.apart.bandwidth = match self.apart.bandwidth {
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

    /// Returns the sort of traffic that the call belongs to.
    pub(super) fn class(&self) -> CommunicationClass {
        self.apart.class
    }

    /// Returns the selection of all calls without policies of RT-CORBA, where neither their
    /// priority nor the operation matters: found once, when the reference is read.
    pub(crate) fn settled(
        profiles: &[RouteProfile],
        scheduled: Option<&Scheduled>,
    ) -> Option<Selection> {
        let propagated = profiles.iter().any(RouteProfile::is_client_propagated);
        if scheduled.is_some() || propagated {
            return None;
        }
        // What is wrong is told to those who call.
        Selection::among(profiles, &RealTimePolicies::default(), None).ok()
    }

    /// Returns the part of a request's worth that travels with it.
    pub(crate) fn worth(&self, route: &Route) -> Worth {
        let scheduled = route.scheduled.as_ref();
        let qos = |(scheduled, row): (&Scheduled, u16)| scheduled.row(row).qos;
        Worth { priority: self.priority, qos: scheduled.zip(self.row).map(qos) }
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
        selection.apart.bandwidth = policies.bandwidth.map_or(0, NonZeroU32::get);
        if let Some(band) = selection.band {
            let (low, high) = (band.low as u32, band.high as u32);
            selection.apart.band = (high << 16 | low) + 1;
        }
        let network = selection.marks_packets();
        selection.dscp = priority.filter(|_| network).map(dscp);
        Ok(selection)
    }

    /// Returns the rank of a profile's protocol, where some are preferred, if calls at the caller's priority may go there.
    fn admit(
        &mut self,
        profile: &RouteProfile,
        policies: &RealTimePolicies,
    ) -> Result<Option<usize>, SystemException> {
        // Nothing leaves this process.
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

    /// Whether calls may go to a profile.
    pub(crate) fn admits(&self, index: usize) -> bool {
        self.profiles >> index & 1 == 1
    }

    /// Sets up a connection to a profile that was just opened, as the policies of the call want it.
    pub(super) fn shape(&self, profile: &RouteProfile, link: &dyn Link) {
        let list = match self.protocols {
            Some(ours) => Some(ours.protocols()),
            None => profile.published.protocols(),
        };
        let place = list.and_then(|list| Some((list, policy::position(list, profile.tag)?)));
        let properties = place.map(|(list, at)| policy::properties(&list[at].transport));
        let properties = Properties {
            bandwidth: (self.apart.bandwidth != 0).then_some(self.apart.bandwidth.into()),
            ..properties.unwrap_or_default()
        };
        if properties != Properties::default() {
            // A property that this system does not have is no reason not to call.
            let _ = link.apply(&properties);
        }
    }

    /// Returns the octets per second that its connection takes at most; 0: no bound.
    pub(super) fn bandwidth(&self) -> u32 {
        self.apart.bandwidth
    }
}

/// Sets up a connection that was just opened to a profile for calls that share it.
pub(super) fn shape_shared(selection: Option<&Selection>, profile: &RouteProfile, link: &dyn Link) {
    if let Some(selection) = selection {
        selection.shape(profile, link);
    }
}

/// Bounds the octets that leave in a second over a connection that was just opened; 0: no bound.
pub(super) fn pace(link: &dyn Link, bandwidth: u32) {
    if bandwidth != 0 {
        // A transport that paces nothing carries the call all the same.
        let _ =
            link.apply(&Properties { bandwidth: Some(bandwidth.into()), ..Properties::default() });
    }
}

/// Returns the communication class of a call: that of its policies, or of the request that the thread serves.
#[inline]
pub(super) fn class_of(policies: &Effective) -> CommunicationClass {
    let said = policies.qos.map(|qos| qos.class);
    said.or_else(terms::inherited_class).unwrap_or_default()
}

pub(super) fn is_about_priority(refusal: &SystemException) -> bool {
    [raise::NO_LANE, raise::NO_BAND].contains(refusal)
}

/// Returns the priority of a caller that has none, where the object cannot be called at the one that its native
/// priority stands for: that which the object's model gives to such callers, else that of the lowest lane, else the
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

/// Keeps beside a refusal the addresses of the object, or the priority of the call, and the lanes and bands of the object.
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
            what: "not tried: what goes there is not protected".to_owned(),
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
