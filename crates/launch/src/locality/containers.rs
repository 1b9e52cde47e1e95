//! Containers of a process: one for each policy set, created when the first instance with that policy set is installed.

use std::sync::Arc;

use oxorb_component::{Container, EventCarrier, EventLanes};
use oxorb_core::policy::PriorityBandedConnection;
use oxorb_core::{Orb, RequestBuffering, Threadpool, ThreadpoolId, ThreadpoolLane};
use oxorb_deploy::plan::Instance;
use oxorb_deploy::rtcad::{
    self, Attachment, Events, PolicySet, PriorityModelKind, ServerResources,
};
use oxorb_deploy::{Place, Source};
use oxorb_object::{PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy};
use oxorb_poa::{Poa, RtPolicies};
use oxorb_rt::Priority;

use super::rates::rates;
use crate::implementations::OpenEvents;
use crate::{Implementations, LaunchError};

/// Property of a deployed resource that names the policies of an instance.
const INSTANCE_POLICY: &str = "CIAO:InstancePolicy";

/// Property of a deployed resource that names the policies of the references in an instance's receptacles.
const RECEPTACLE_POLICY: &str = "CIAO:ReceptaclePolicy";

/// Properties that determine the container of an instance. Instances with equal qualities share a container.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Quality {
    set: Option<PolicySet>,
    pool: Option<Pool>,
    bands: Vec<PriorityBand>,
    /// Channel that carries the instance's events; `None`: the publishing thread pushes them.
    channel: Option<Channel>,
}

/// Carrier of events within a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    /// The lanes of the process, one for each consumer.
    Lanes,
    /// The carrier that the executable provides.
    OfExecutable,
}

impl Channel {
    /// Returns the carrier that the real-time resources request for an instance.
    fn of(attachment: Option<&Attachment>) -> Option<Channel> {
        match attachment?.events? {
            Events::Direct => None,
            Events::Channel => Some(Channel::Lanes),
            Events::Executable => Some(Channel::OfExecutable),
        }
    }
}

/// A threadpool, as specified in the real-time resources.
#[derive(Debug, Clone, PartialEq)]
enum Pool {
    Plain(rtcad::Threadpool),
    Laned(rtcad::ThreadpoolWithLanes),
}

impl Quality {
    /// Returns the quality of an instance. `attachment` is the attachment of the instance in `resources`, here and in
    /// the other functions of this module.
    pub(super) fn of(
        instance: &Instance,
        attachment: Option<&Attachment>,
        resources: Option<&ServerResources>,
        implementations: &Implementations,
    ) -> Result<Quality, LaunchError> {
        let mut quality = match policy_set(instance, attachment) {
            Some(named) => Quality::of_set(instance, named, resources)?,
            None => Quality::default(),
        };
        quality.channel = channel(attachment, implementations)?;
        Ok(quality)
    }

    /// Returns the bands for the references in the receptacles of an instance.
    pub(super) fn receptacles(
        instance: &Instance,
        attachment: Option<&Attachment>,
        resources: Option<&ServerResources>,
    ) -> Result<Option<PriorityBandedConnection>, LaunchError> {
        let attached = attachment
            .and_then(|attachment| attachment.receptacle_policy.as_ref())
            .map(|to| (to.id.as_str(), to.place, Source::Rtcad));
        let Some(named) = attached.or_else(|| named(instance, RECEPTACLE_POLICY)) else {
            return Ok(None);
        };
        let (id, place, source) = named;
        let quality = Quality::of_set(instance, named, resources)?;
        let bands = PriorityBandedConnection::new(&quality.bands).map_err(|error| {
            let what = format!(
                "policy set {id:?} of the receptacles of {:?} has no bands that can be used: {error}",
                instance.name
            );
            LaunchError::new(&instance.name, place, what)
                .within(source)
                .cure("give the set a priorityBandedConnection")
        })?;
        Ok(Some(bands))
    }

    /// Returns the id of the policy set; empty if the container has no policy set.
    pub(super) fn id(&self) -> &str {
        self.set.as_ref().map_or("", |set| &set.id.0)
    }

    /// Returns the priority at which requests are served. If clients propagate their priorities, it applies to requests
    /// without one. `None` if there is no priority model.
    pub(super) fn priority(&self) -> Option<Priority> {
        let model = self.set.as_ref()?.priority_model.as_ref()?;
        Priority::new(model.server_priority.0).ok()
    }

    fn of_set(
        instance: &Instance,
        (id, place, source): Named<'_>,
        resources: Option<&ServerResources>,
    ) -> Result<Quality, LaunchError> {
        let missing = |what: String| LaunchError::new(&instance.name, place, what).within(source);
        let Some(resources) = resources else {
            let what = format!(
                "instance {:?} uses policy set {id:?}, but no real-time resources are specified",
                instance.name
            );
            return Err(missing(what).cure("specify the document of real-time resources with --rt"));
        };
        let set = resources.policy_set(id).ok_or_else(|| {
            let what = format!(
                "instance {:?} uses policy set {id:?}, which the resources do not declare",
                instance.name
            );
            missing(what).cure("declare it in orbConfigs")
        })?;
        let described = resources.orb_configs.as_ref();
        let described = described.and_then(|configs| configs.resources.as_ref());
        let absent = |kind: &str, to: &rtcad::TextRef| {
            let what = format!("policy set {id:?} uses {kind} {:?}, which does not exist", to.id);
            LaunchError::new(&instance.name, to.place, what)
                .within(Source::Rtcad)
                .cure("declare it in orbConfigs")
        };
        let pool = |to: &rtcad::TextRef| {
            let described = described?;
            let mut plain = described.threadpool.iter();
            let mut laned = described.threadpool_with_lanes.iter();
            let plain = plain.find(|pool| pool.id.0 == to.id).cloned();
            let mut laned = || laned.find(|pool| pool.id.0 == to.id).cloned();
            plain.map(Pool::Plain).or_else(|| laned().map(Pool::Laned))
        };
        let bands = |to: &rtcad::TextRef| {
            let mut all = described?.connection_bands.iter();
            all.find(|bands| bands.id.0 == to.id)
        };
        Ok(Quality {
            pool: match &set.threadpool {
                Some(to) => Some(pool(to).ok_or_else(|| absent("threadpool", to))?),
                None => None,
            },
            bands: match &set.priority_banded_connection {
                Some(to) => {
                    let bands = bands(to).ok_or_else(|| absent("connectionBands", to))?;
                    let band =
                        |band: &rtcad::Band| PriorityBand { low: band.low.0, high: band.high.0 };
                    bands.band.iter().map(band).collect()
                }
                None => Vec::new(),
            },
            set: Some(set.clone()),
            channel: None,
        })
    }
}

/// Checks that the policies of an instance and of its receptacles exist and can be used.
pub(crate) fn policies(
    instance: &Instance,
    attachment: Option<&Attachment>,
    resources: Option<&ServerResources>,
) -> Result<(), LaunchError> {
    Quality::receptacles(instance, attachment, resources)?;
    match policy_set(instance, attachment) {
        Some(named) => Quality::of_set(instance, named, resources).map(drop),
        None => Ok(()),
    }
}

/// Reports whether the real-time resources of two plans give an instance the same container, event carrier and enforced
/// rates. Returns `false` if the resources of either plan are invalid.
pub(crate) fn same_quality(
    one: &Instance,
    old: Option<&ServerResources>,
    other: &Instance,
    new: Option<&ServerResources>,
) -> bool {
    let all = |instance: &Instance, resources: Option<&ServerResources>| {
        let attachment = resources.and_then(|resources| resources.attachment(&instance.name));
        let named = policy_set(instance, attachment);
        let quality = named.and_then(|named| Quality::of_set(instance, named, resources).ok());
        (quality, Channel::of(attachment), rates(instance, attachment).ok())
    };
    all(one, old) == all(other, new)
}

/// Returns the policy set of an instance: that of its attachment or, if it has none, that of the plan.
fn policy_set<'i>(instance: &'i Instance, attachment: Option<&'i Attachment>) -> Option<Named<'i>> {
    let attached = attachment.and_then(|attachment| attachment.policy_set.as_ref());
    let attached = attached.map(|to| (to.id.as_str(), to.place, Source::Rtcad));
    attached.or_else(|| named(instance, INSTANCE_POLICY))
}

/// Returns the channel that carries an instance's events. It is an error if the executable lacks the requested one.
fn channel(
    attachment: Option<&Attachment>,
    implementations: &Implementations,
) -> Result<Option<Channel>, LaunchError> {
    let channel = Channel::of(attachment);
    match attachment {
        Some(attachment)
            if channel == Some(Channel::OfExecutable) && implementations.events().is_none() =>
        {
            let what = format!(
                "a carrier of this executable shall carry the events of instance {:?}, but it has none",
                attachment.name
            );
            let error = LaunchError::new(&attachment.name, attachment.place, what);
            let cure = "add one with Implementations::events_by, or use events = \"channel\"";
            Err(error.within(Source::Rtcad).cure(cure))
        }
        _ => Ok(channel),
    }
}

/// Id of a policy set, the position of the id, and its document.
type Named<'n> = (&'n str, Place, Source);

/// Returns the policy set that the plan itself names for an instance. CIAO's plans name it in this way.
fn named<'i>(instance: &'i Instance, property: &str) -> Option<Named<'i>> {
    let resources = instance.deployed_resource.iter();
    let mut properties = resources.flat_map(|resource| &resource.property);
    let found = properties.find(|one| one.name == property)?;
    Some((found.value.as_text()?, found.place, Source::Plan))
}

/// Containers of a process, with their threadpools.
pub(super) struct Containers {
    root: Poa,
    orb: Orb,
    /// Prefix of the names of POAs.
    prefix: String,
    made: u32,
    containers: Vec<(Quality, Container)>,
    pools: Vec<(Pool, ThreadpoolId)>,
    open_events: Option<Arc<OpenEvents>>,
    /// The carrier of the executable, once it is open.
    events: Option<Arc<dyn EventCarrier>>,
    /// The lanes of the process.
    lanes: Arc<dyn EventCarrier>,
}

impl Containers {
    pub(super) fn new(
        root: Poa,
        orb: Orb,
        prefix: String,
        open_events: Option<Arc<OpenEvents>>,
    ) -> Self {
        Containers {
            open_events,
            events: None,
            lanes: Arc::new(EventLanes::new(&orb)),
            root,
            orb,
            prefix,
            made: 0,
            containers: Vec::new(),
            pools: Vec::new(),
        }
    }

    /// Returns the container for a quality. Creates the container if it does not exist.
    pub(super) fn get(
        &mut self,
        quality: &Quality,
        of: &Instance,
    ) -> Result<Container, LaunchError> {
        let mut known = self.containers.iter();
        if let Some((_, container)) = known.find(|(known, _)| known == quality) {
            return Ok(container.clone());
        }
        let refused = |why: String| match &quality.set {
            Some(set) => {
                let what = format!("policy set {:?} was refused: {why}", quality.id());
                LaunchError::new(&of.name, set.place, what).within(Source::Rtcad)
            }
            None => {
                let what = format!("the container of instance {:?} was refused: {why}", of.name);
                LaunchError::new(&of.name, of.place, what)
            }
        };
        let threadpool = match &quality.pool {
            Some(pool) => Some(self.pool(pool).map_err(refused)?),
            None => None,
        };
        let model = quality.set.as_ref().and_then(|set| set.priority_model.as_ref());
        let priority_model = model.map(|model| PriorityModelPolicy {
            model: match model.priority_model {
                PriorityModelKind::ClientPropagated => PriorityModel::ClientPropagated,
                PriorityModelKind::ServerDeclared => PriorityModel::ServerDeclared,
            },
            server_priority: model.server_priority.0,
        });
        let priority_bands = match quality.bands.as_slice() {
            [] => None,
            bands => Some(PriorityBands::new(bands).map_err(|error| refused(error.to_string()))?),
        };
        self.made += 1;
        let name = format!("{}#{} {}", self.prefix, self.made, quality.id());
        let mut container = Container::builder(&self.root, &name);
        let events = match quality.channel {
            None => None,
            Some(Channel::Lanes) => Some(Arc::clone(&self.lanes)),
            Some(Channel::OfExecutable) => Some(self.events().map_err(|why| {
                let what = format!("the event carrier of this executable was not opened: {why}");
                LaunchError::new(&of.name, of.place, what)
            })?),
        };
        if let Some(events) = events {
            container = container.events_by(events);
        }
        let created = container
            .realtime(RtPolicies {
                priority_model,
                threadpool,
                priority_bands,
                ..RtPolicies::default()
            })
            .explicit_activation(true)
            .max_components(MOST_COMPONENTS)
            .create();
        match created {
            Ok(container) => {
                self.containers.push((quality.clone(), container.clone()));
                Ok(container)
            }
            Err(error) => {
                let error = refused(error.to_string());
                self.keep(&[]);
                Err(error)
            }
        }
    }

    /// Destroys containers whose quality is not in `used`, and then unused threadpools.
    pub(super) fn keep(&mut self, used: &[&Quality]) {
        // A container with components is kept even if its quality is not in `used`, as in the call after a failed
        // creation.
        self.containers.retain(|(quality, container)| {
            let keep = used.contains(&quality) || !container.components().is_empty();
            if !keep {
                container.destroy();
            }
            keep
        });
        let containers = &self.containers;
        self.pools.retain(|(pool, id)| {
            let mut users = containers.iter();
            let keep = users.any(|(quality, _)| quality.pool.as_ref() == Some(pool));
            if !keep {
                // Ignore the error: if the ORB was shut down, the pool no longer exists.
                let _ = self.orb.destroy_threadpool(*id);
            }
            keep
        });
    }

    /// Returns the event carrier of the executable. Opens the carrier if it is not open.
    fn events(&mut self) -> Result<Arc<dyn EventCarrier>, String> {
        if let Some(events) = &self.events {
            return Ok(Arc::clone(events));
        }
        let open = self.open_events.as_ref();
        let open = open.ok_or("it has none")?;
        let opened = open()?;
        self.events = Some(Arc::clone(&opened));
        Ok(opened)
    }

    fn pool(&mut self, pool: &Pool) -> Result<ThreadpoolId, String> {
        if let Some((_, id)) = self.pools.iter().find(|(known, _)| known == pool) {
            return Ok(*id);
        }
        let plan = match pool {
            Pool::Plain(pool) => plain(pool),
            Pool::Laned(pool) => laned(pool),
        }?;
        let id = self.orb.create_threadpool(plan);
        let id = id.map_err(|error| error.to_string())?;
        self.pools.push((pool.clone(), id));
        Ok(id)
    }
}

/// Maximum number of components in one container.
const MOST_COMPONENTS: usize = 10_000;

fn priority(priority: rtcad::Priority) -> Result<Priority, String> {
    Priority::new(priority.0).map_err(|error| error.to_string())
}

fn buffering(requests: u32, octets: u32) -> RequestBuffering {
    RequestBuffering {
        max_requests: requests as usize,
        max_octets: octets as usize,
        ..RequestBuffering::default()
    }
}

fn plain(pool: &rtcad::Threadpool) -> Result<Threadpool, String> {
    let mut plan = Threadpool::new(pool.static_threads as usize)
        .dynamic_threads(pool.dynamic_threads as usize)
        .default_priority(priority(pool.default_priority)?)
        .stack_size(pool.stacksize as usize);
    if pool.allow_request_buffering {
        let (requests, octets) = (pool.max_buffered_requests, pool.max_request_buffered_size);
        plan = plan.buffering(buffering(requests, octets));
    }
    Ok(plan)
}

fn laned(pool: &rtcad::ThreadpoolWithLanes) -> Result<Threadpool, String> {
    let lanes = pool.lane.iter().map(|lane| {
        let threads = lane.static_threads as usize;
        let made = ThreadpoolLane::new(priority(lane.priority)?, threads);
        Ok(made.dynamic_threads(lane.dynamic_threads as usize))
    });
    let lanes = lanes.collect::<Result<Vec<_>, String>>()?;
    let mut plan = Threadpool::with_lanes(lanes).stack_size(pool.stacksize as usize);
    if pool.allow_borrowing {
        plan = plan.allow_borrowing();
    }
    if pool.allow_request_buffering {
        let (requests, octets) = (pool.max_buffered_requests, pool.max_request_buffered_size);
        plan = plan.buffering(buffering(requests, octets));
    }
    Ok(plan)
}
