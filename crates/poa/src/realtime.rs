//! POAs with priorities: effect of RT-CORBA's policies on references and on the priority at which a
//! request runs (RT-CORBA 1.2, 5.7 and 5.8).
//!
//! | threadpool of the POA | PriorityModel | priority of a request |
//! |---|---|---|
//! | with lanes | any | that of the lane that received it |
//! | without lanes, or none | none | that of its thread |
//! | | client-propagated | that of its caller; without one, the POA's `server_priority` |
//! | | server-declared | that of the object |
//!
//! Under [`rate_monotonic`](crate::RtPolicies::rate_monotonic) the kernel schedules a request by
//! its period, within the band of that priority.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use oxorb_core::lock::Mutex;
use oxorb_core::{
    Interface, Orb, PoolThread, RaisedPriority, Ref, Running, Servant, ServedBy, ThreadpoolLanes,
    Upcall,
};
use oxorb_object::{
    CompletionStatus, PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy,
    RtPolicyValue, SystemException, TaggedComponent, minor, policies_component,
};
use oxorb_rt::Priority;

use crate::adapter::RootAdapter;
use crate::key::Key;
use crate::object_map::Found;
use crate::pass::Pass;
use crate::poa::{Poa, PoaInner};
use crate::policies::{IdAssignment, ImplicitActivation, Policies};
use crate::refusal::{DISCARDED, NOT_PROTECTED};
use crate::{ObjectId, PoaError, rate};

/// Data of a POA with RT-CORBA policies, in addition to these policies.
pub(crate) struct RealTime {
    /// Lanes of the POA's threadpool.
    lanes: Option<ThreadpoolLanes>,
    /// Object-specific priorities.
    priorities: Mutex<HashMap<Box<[u8]>, Priority>>,
}

/// Error for a priority that an object of this POA cannot have, or that differs from the priority
/// it already has.
pub(crate) const BAD_PRIORITY: SystemException =
    SystemException::bad_param(minor::bad_param::REALTIME, CompletionStatus::No);

impl RealTime {
    /// Returns the data for a POA; `None` without RT-CORBA policies.
    pub(crate) fn of(policies: &Policies, lanes: Option<ThreadpoolLanes>) -> Option<Box<Self>> {
        let wanted = !policies.realtime.is_empty();
        wanted.then(|| Box::new(RealTime { lanes, priorities: Mutex::default() }))
    }

    fn lane_priorities(&self) -> Option<&[Priority]> {
        let lanes = self.lanes.as_ref().filter(|lanes| lanes.has_lanes)?;
        Some(&lanes.priorities)
    }
}

impl PoaInner {
    /// Reports whether requests run at a priority other than that of the receiving thread, or only
    /// on the threads of a threadpool. Determined once for each pass, so that requests to other
    /// POAs need not check it.
    pub(crate) fn is_real_time(&self) -> bool {
        let realtime = &self.policies.realtime;
        let scheduled = || self.adapter.upgrade().is_some_and(|it| it.limits.scheduled);
        realtime.priority_model.is_some() || realtime.threadpool.is_some() || scheduled()
    }

    /// Returns the object-specific priority, if one was assigned.
    pub(crate) fn own_priority(&self, id: &[u8]) -> Option<Priority> {
        let realtime = self.realtime.as_ref()?;
        realtime.priorities.lock().get(id).copied()
    }

    /// Removes the priority of a deactivated object, so that a later object with this id does not
    /// inherit it.
    pub(crate) fn forget_priority(&self, id: &[u8]) {
        if let Some(realtime) = &self.realtime {
            realtime.priorities.lock().remove(id);
        }
    }

    pub(crate) fn model(&self) -> Option<(PriorityModel, Priority)> {
        let PriorityModelPolicy { model, server_priority } =
            self.policies.realtime.priority_model?;
        Some((model, Priority::new(server_priority).ok()?))
    }

    /// Returns the priority of an object under the server-declared model.
    fn declared(&self, id: &[u8]) -> Option<Priority> {
        let (_, of_all) = self.model()?;
        Some(self.own_priority(id).unwrap_or(of_all))
    }
}

const EVERY_PRIORITY: (i16, i16) = (Priority::MIN.get(), Priority::MAX.get());

/// Error if a call cannot be made directly, but needs a message.
pub(crate) struct NotHere;

/// Guard during which a request runs at a specific priority.
pub(crate) enum Urgent {
    /// Priority that policies require.
    Raised(#[expect(dead_code, reason = "ends when it is dropped")] RaisedPriority),
    /// Priority of the operation, under the run-time scheduler.
    Scheduled(#[expect(dead_code, reason = "ends when it is dropped")] Running),
}

impl Pass {
    /// Sets the priority that the POA's policies require for a request on the calling thread, until
    /// the result is dropped. `object` is the active object of the request, if already known.
    ///
    /// # Errors
    /// DATA_CONVERSION: the priority has no native equivalent, or the application's transform
    /// rejects it. BAD_PARAM: the caller sent an invalid priority.
    pub(crate) fn raise(
        &self,
        object: Option<&Found>,
        key: Key<'_>,
        upcall: &Upcall<'_>,
    ) -> Result<Option<Urgent>, SystemException> {
        if !self.real_time {
            return Ok(None);
        }
        if let Some(running) = self.run_scheduled(object, key, upcall)? {
            return Ok(Some(Urgent::Scheduled(running)));
        }
        let orb = upcall.orb();
        let period = match self.poa.policies.realtime.rate_monotonic {
            true => upcall.qos().and_then(|qos| qos.period),
            false => None,
        };
        let realtime = self.poa.realtime.as_ref();
        if let Some(lanes) = realtime.and_then(|realtime| realtime.lane_priorities()) {
            let at = period.zip(orb.thread_priority());
            let raised = at.map(|(period, lane)| {
                let scheduled_as = self.by_period(period, lane, Some(lanes));
                orb.raise_thread_as(lane, Some(scheduled_as))
            });
            return raised.transpose().map(|it| it.map(Urgent::Raised));
        }
        let Some((model, of_all)) = self.poa.model() else {
            return Ok(None);
        };
        let scheduled_as;
        let priority = match model {
            PriorityModel::ClientPropagated => {
                let qos = upcall.qos();
                let said = || Priority::new(qos?.priority?).ok();
                let sent = upcall.priority()?.or_else(said).unwrap_or(of_all);
                let priority = transformed(orb, sent, key)?;
                let base = match period {
                    Some(period) => self.by_period(period, priority, None),
                    None => priority,
                };
                scheduled_as = qos.map(|qos| self.by_importance(priority, base, qos.importance));
                priority
            }
            PriorityModel::ServerDeclared => {
                let priority = match object {
                    Some(object) => object.priority.unwrap_or(of_all),
                    None => {
                        let id = self.poa.id_in(key);
                        let own = id.and_then(|id| self.poa.own_priority(id.as_bytes()));
                        own.unwrap_or(of_all)
                    }
                };
                scheduled_as = period.map(|period| self.by_period(period, priority, None));
                priority
            }
        };
        orb.raise_thread_as(priority, scheduled_as).map(|raised| Some(Urgent::Raised(raised)))
    }

    /// Returns the priority for scheduling a request with this importance: `base` plus the
    /// importance, limited to the band of `priority`.
    fn by_importance(&self, priority: Priority, base: Priority, importance: i32) -> Priority {
        let (low, high) = self.band(priority).unwrap_or(EVERY_PRIORITY);
        let sum = i32::from(base.get()).saturating_add(importance);
        let sum = sum.clamp(i32::from(low), i32::from(high));
        Priority::new(sum as i16).unwrap_or(base)
    }

    /// Returns the priority for scheduling a request with this period: within the band of
    /// `priority`, or, on a lane, between the lane's priority and that of the next lane.
    fn by_period(
        &self,
        period: Duration,
        priority: Priority,
        lanes: Option<&[Priority]>,
    ) -> Priority {
        let up_to_next = |lanes: &[Priority]| {
            let above = lanes.iter().filter(|lane| **lane > priority).min();
            let high = above.map_or(EVERY_PRIORITY.1, |next| next.get() - 1);
            (priority.get(), high)
        };
        let band = self.band(priority).or_else(|| lanes.map(up_to_next));
        let (low, high) = band.unwrap_or(EVERY_PRIORITY);
        Priority::new(rate::by_period(period, low, high)).unwrap_or(priority)
    }

    /// Returns the band that contains a priority, if the POA has bands.
    fn band(&self, priority: Priority) -> Option<(i16, i16)> {
        let bands = self.poa.policies.realtime.priority_bands?;
        let mut bands = bands.iter();
        let band = bands.find(|band| band.contains(priority.get()))?;
        Some((band.low, band.high))
    }

    /// Returns the threads that serve requests for the object of `key` at the caller's `priority`; `None` if these are
    /// the ORB's own.
    pub(crate) fn lane_of(&self, key: Key<'_>, priority: Option<Priority>) -> Option<PoolThread> {
        let pool = self.poa.policies.realtime.threadpool?;
        let realtime = self.poa.realtime.as_ref();
        let Some(lanes) = realtime.and_then(|realtime| realtime.lane_priorities()) else {
            return Some(PoolThread::of(pool));
        };
        let (model, of_all) = self.poa.model()?;
        let priority = match model {
            PriorityModel::ClientPropagated => priority.unwrap_or(of_all),
            PriorityModel::ServerDeclared => match self.find_active(key) {
                Some(object) => object.priority.unwrap_or(of_all),
                None => {
                    let id = self.poa.id_in(key);
                    let own = id.and_then(|id| self.poa.own_priority(id.as_bytes()));
                    own.unwrap_or(of_all)
                }
            },
        };
        Some(PoolThread::of_lane(pool, lane_at(lanes, self.band(priority), priority)))
    }

    /// Sets the priority of an object for a call without a message on the calling thread, until the
    /// result is dropped.
    ///
    /// # Errors
    /// [`NotHere`] if the call must be sent as a message, because another thread must run it or it
    /// must be checked.
    #[inline]
    pub(crate) fn raise_direct(
        &self,
        orb: &Orb,
        object: &Found,
    ) -> Result<Option<RaisedPriority>, NotHere> {
        match self.real_time {
            false => Ok(None),
            true => self.raise_direct_to(orb, object),
        }
    }

    fn raise_direct_to(
        &self,
        orb: &Orb,
        object: &Found,
    ) -> Result<Option<RaisedPriority>, NotHere> {
        let realtime = &self.poa.policies.realtime;
        if object.scheduled.is_some()
            || realtime.threadpool != orb.serving_pool().filter(|_| realtime.threadpool.is_some())
        {
            return Err(NotHere);
        }
        let lanes = self.poa.realtime.as_ref();
        if lanes.is_some_and(|realtime| realtime.lane_priorities().is_some()) {
            return Ok(None);
        }
        match self.poa.model() {
            None => Ok(None),
            Some((PriorityModel::ServerDeclared, of_all)) => {
                let priority = object.priority.unwrap_or(of_all);
                orb.raise_thread(priority).map(Some).map_err(|_| NotHere)
            }
            // The request runs at the caller's priority. The thread has that priority already,
            // unless it has no CORBA priority or the application transforms priorities.
            Some((PriorityModel::ClientPropagated, _)) => {
                let same = orb.options().realtime.transform.is_none();
                match same && orb.thread_priority().is_some() {
                    true => Ok(None),
                    false => Err(NotHere),
                }
            }
        }
    }

    /// Returns a reference to the endpoints of the POA's threadpool, for LOCATION_FORWARD, if a
    /// request arrived at an endpoint of another threadpool. `None` if the request may run here.
    ///
    /// # Errors
    /// TRANSIENT: the threadpool was destroyed. NO_PERMISSION: the POA does not accept the protocol
    /// of the request.
    pub(crate) fn right_place(
        &self,
        adapter: &RootAdapter,
        object: Option<&Found>,
        key: Key<'_>,
        upcall: &Upcall<'_>,
    ) -> Result<Option<Ref>, SystemException> {
        if self.poa.policies.secure_only && !upcall.is_protected() {
            return Err(NOT_PROTECTED);
        }
        let Some(pool) = self.poa.policies.realtime.threadpool else {
            return Ok(None);
        };
        // At a shared port, requests for objects of other lanes were passed to these lanes before.
        if upcall.orb().options().realtime.lanes_on_one_port {
            return Ok(None);
        }
        match upcall.port_of() {
            Some(port) if port != pool => {}
            Some(_) | None => return Ok(None),
        }
        let type_id = object.map_or("", |object| object.servant.repository_id());
        let reference = || {
            let poa = Poa::of(&adapter.shared()?, &self.poa);
            poa.reference_to(&self.poa.id_in(key)?, type_id).ok()
        };
        reference().map(Some).ok_or(DISCARDED)
    }

    /// Applies the run-time scheduler's schedule to the calling thread. It takes precedence over
    /// the priority that policies require.
    fn run_scheduled(
        &self,
        object: Option<&Found>,
        key: Key<'_>,
        upcall: &Upcall<'_>,
    ) -> Result<Option<Running>, SystemException> {
        let found;
        let object = match object {
            Some(object) => Some(object),
            None => {
                found = self.find_active(key);
                found.as_ref()
            }
        };
        match object.and_then(|object| object.scheduled.as_ref()) {
            Some(scheduled) => scheduled.begin(upcall),
            None => Ok(None),
        }
    }

    /// Returns the active object of a key, if its request may be dispatched once it is checked and
    /// its priority is set.
    pub(crate) fn find_at_priority(&self, key: Key<'_>) -> Option<Found> {
        match self.open_at_priority {
            true => self.find_active(key),
            false => None,
        }
    }

    pub(crate) fn find_active(&self, key: Key<'_>) -> Option<Found> {
        match key {
            Key::Active { slot, generation, .. } => {
                self.poa.objects.at(crate::object_map::Place { slot, generation })
            }
            Key::Transient { id, .. } | Key::Persistent { id, .. } => self.poa.objects.with_id(id),
        }
    }
}

/// Returns the result of the application's transform of a caller's priority.
fn transformed(orb: &Orb, priority: Priority, key: Key<'_>) -> Result<Priority, SystemException> {
    let Some(transform) = &orb.options().realtime.transform else {
        return Ok(priority);
    };
    let refused = SystemException::data_conversion(
        minor::data_conversion::PRIORITY_MAPPING,
        CompletionStatus::No,
    );
    let inbound = match key {
        Key::Active { slot, generation, .. } => {
            let id = crate::object_map::Place { slot, generation }.to_id();
            transform.inbound(priority, &id)
        }
        Key::Transient { id, .. } | Key::Persistent { id, .. } => transform.inbound(priority, id),
    };
    inbound.ok_or(refused)
}

/// Returns the priorities of the requests that a lane serves: from its own to the one below the next lane. Those of the
/// least urgent lane begin at 0.
fn band_of_lane(lanes: &[Priority], lane: Priority) -> PriorityBand {
    let (least, most) = EVERY_PRIORITY;
    let is_least = lanes.iter().all(|other| *other >= lane);
    let next = lanes.iter().filter(|other| **other > lane).min();
    PriorityBand {
        low: if is_least { least } else { lane.get() },
        high: next.map_or(most, |next| next.get() - 1),
    }
}

/// Returns the index of the lane that serves requests at `priority`: the most urgent one that is not more urgent than
/// the requests, or else the least urgent one. If lanes have priorities within `band`, it is one of these.
fn lane_at(lanes: &[Priority], band: Option<(i16, i16)>, priority: Priority) -> usize {
    let is_within = |lane: Priority| {
        let (low, high) = band.unwrap_or(EVERY_PRIORITY);
        (low..=high).contains(&lane.get())
    };
    let any_within = lanes.iter().any(|lane| is_within(*lane));
    let is_eligible = |&lane: &usize| !any_within || is_within(lanes[lane]);
    let eligible = (0..lanes.len()).filter(is_eligible);
    let not_more_urgent = eligible.clone().filter(|&lane| lanes[lane] <= priority);
    let most_urgent = not_more_urgent.max_by_key(|&lane| lanes[lane]);
    let least_urgent = || eligible.min_by_key(|&lane| lanes[lane]);
    most_urgent.or_else(least_urgent).unwrap_or(0)
}

/// Operations of `RTPortableServer::POA`: object-specific priorities under the server-declared
/// model.
///
/// All of them take a lock and allocate, so call them before the time-critical phase. Each returns
/// the following errors: [`PoaError::WrongPolicy`] with [`ImplicitActivation::Yes`], or without the
/// server-declared model; BAD_PARAM for a priority of no lane or no band of the POA, and for an
/// object that already has another priority.
impl Poa {
    /// Activates a servant as [`activate`](Self::activate), with a priority
    /// (`activate_object_with_priority`).
    ///
    /// # Errors
    /// Those of [`activate`](Self::activate), and those of an invalid priority.
    pub fn activate_with_priority<I: ServedBy<S>, S>(
        &self,
        servant: S,
        priority: Priority,
    ) -> Result<I, PoaError> {
        self.activate_servant_with_priority(I::servant(servant), priority).map(I::from_ref)
    }

    /// Activates a servant as [`activate_with_id`](Self::activate_with_id), with a priority
    /// (`activate_object_with_id_and_priority`).
    ///
    /// # Errors
    /// Those of [`activate_with_id`](Self::activate_with_id), and those of an invalid priority.
    pub fn activate_with_id_and_priority<I: ServedBy<S>, S>(
        &self,
        id: impl Into<ObjectId>,
        servant: S,
        priority: Priority,
    ) -> Result<I, PoaError> {
        let id = id.into();
        self.give_priority(&id, priority)?;
        self.activate_servant_with_id(&id, I::servant(servant)).map(I::from_ref)
    }

    /// Activates a servant as [`activate_servant`](Self::activate_servant), with a priority.
    ///
    /// # Errors
    /// Those of [`activate_servant`](Self::activate_servant), and those of an invalid priority.
    pub fn activate_servant_with_priority(
        &self,
        servant: Arc<dyn Servant>,
        priority: Priority,
    ) -> Result<Ref, PoaError> {
        if self.inner.policies.id_assignment == IdAssignment::User {
            return Err(PoaError::WrongPolicy(
                "the application assigns the ids of this POA: use activate_with_id_and_priority",
            ));
        }
        let id = match self.inner.policies.active_keys() {
            true => self.inner.objects.reserve().to_id().as_slice().into(),
            false => self.new_id(),
        };
        self.give_priority(&id, priority)?;
        self.activate_servant_with_id(&id, servant)
    }

    /// Creates a reference as [`create_reference`](Self::create_reference), with a priority
    /// (`create_reference_with_priority`).
    ///
    /// # Errors
    /// Those of [`create_reference`](Self::create_reference), and those of an invalid priority.
    pub fn create_reference_with_priority<I: Interface>(
        &self,
        priority: Priority,
    ) -> Result<I, PoaError> {
        self.takes_priority(priority)?;
        let reference = self.create_reference::<I>()?;
        let id = self.reference_to_id(&reference)?;
        self.create_reference_with_id_and_priority(id, priority)
    }

    /// Creates a reference as [`create_reference_with_id`](Self::create_reference_with_id), with a
    /// priority (`create_reference_with_id_and_priority`).
    ///
    /// # Errors
    /// Those of [`create_reference_with_id`](Self::create_reference_with_id), and those of an
    /// invalid priority.
    pub fn create_reference_with_id_and_priority<I: Interface>(
        &self,
        id: impl Into<ObjectId>,
        priority: Priority,
    ) -> Result<I, PoaError> {
        let id = id.into();
        self.give_priority(&id, priority)?;
        self.create_reference_with_id(id)
    }

    /// Records the priority of an object.
    fn give_priority(&self, id: &ObjectId, priority: Priority) -> Result<(), PoaError> {
        self.takes_priority(priority)?;
        self.inner.knows(id.as_bytes())?;
        let Some(realtime) = &self.inner.realtime else {
            return Err(PoaError::System(BAD_PRIORITY));
        };
        let mut priorities = realtime.priorities.lock();
        let given = priorities.entry(id.as_bytes().into()).or_insert(priority);
        match *given == priority {
            true => Ok(()),
            false => Err(PoaError::System(BAD_PRIORITY)),
        }
    }

    fn takes_priority(&self, priority: Priority) -> Result<(), PoaError> {
        let policies = &self.inner.policies;
        let declared = matches!(self.inner.model(), Some((PriorityModel::ServerDeclared, _)));
        if !declared || policies.implicit_activation == ImplicitActivation::Yes {
            return Err(PoaError::WrongPolicy(
                "objects of this POA have no individual priority, which needs PriorityModel::ServerDeclared and \
                 ImplicitActivation::No",
            ));
        }
        let bands = policies.realtime.priority_bands;
        let in_band = bands.is_none_or(|bands| {
            let mut bands = bands.iter();
            bands.any(|band| band.contains(priority.get()))
        });
        let lanes = self.inner.realtime.as_ref();
        let lanes = lanes.and_then(|rt| rt.lane_priorities());
        // With bands, no lane needs to have this priority, because any lane within its band serves
        // the object.
        let on_lane = bands.is_some() || lanes.is_none_or(|lanes| lanes.contains(&priority));
        match in_band && on_lane {
            true => Ok(()),
            false => Err(PoaError::System(BAD_PRIORITY)),
        }
    }

    /// Returns a reference that contains the policies and addresses of lanes.
    pub(crate) fn lane_reference(
        &self,
        orb: &Orb,
        id: &ObjectId,
        type_id: &str,
        key: &[u8],
    ) -> Result<Ref, PoaError> {
        let inner = &self.inner;
        let realtime = &inner.policies.realtime;
        let mut components = inner.components.clone();
        components.extend(self.published(orb, id));
        let over = inner.policies.over();
        let Some(pool) = realtime.threadpool else {
            return Ok(orb.create_reference_with(type_id, key, &components, over)?);
        };
        let declared = match inner.model() {
            Some((PriorityModel::ServerDeclared, _)) => inner.declared(id.as_bytes()),
            _ => None,
        };
        let wanted = |lane: Priority| match (realtime.priority_bands, declared) {
            (None, None) => true,
            (None, Some(priority)) => lane == priority,
            (Some(bands), None) => bands.iter().any(|band| band.contains(lane.get())),
            (Some(bands), Some(priority)) => {
                bands.iter().any(|band| band.contains(priority.get()) && band.contains(lane.get()))
            }
        };
        let reference = orb.create_lane_reference(pool, wanted, type_id, key, &components, over);
        reference.map_err(|error| PoaError::System(error.into()))
    }

    /// Returns the bands in references to an object: those of the POA or, if lanes share a port, one for each lane that
    /// may serve the object. Clients then use a connection for each lane, so that no request arrives at another lane.
    fn published_bands(&self, orb: &Orb, id: &ObjectId) -> Option<PriorityBands> {
        let own = self.inner.policies.realtime.priority_bands;
        if own.is_some() || !orb.options().realtime.lanes_on_one_port {
            return own;
        }
        let lanes = self.inner.realtime.as_ref()?.lane_priorities()?;
        let declared = match self.inner.model()? {
            (PriorityModel::ServerDeclared, _) => self.inner.declared(id.as_bytes()),
            (PriorityModel::ClientPropagated, _) => None,
        };
        let may_serve =
            |band: &PriorityBand| declared.is_none_or(|priority| band.contains(priority.get()));
        let bands = lanes.iter().map(|lane| band_of_lane(lanes, *lane));
        let bands: Vec<PriorityBand> = bands.filter(may_serve).collect();
        PriorityBands::new(&bands).ok()
    }

    /// Returns the TAG_POLICIES component of an object. The policies are in TAO's order, with the
    /// model last.
    fn published(&self, orb: &Orb, id: &ObjectId) -> Option<TaggedComponent> {
        let realtime = &self.inner.policies.realtime;
        let mut values = Vec::new();
        values.extend(
            realtime.client_protocols.map(|list| RtPolicyValue::ClientProtocols(list.to_vec())),
        );
        values.extend(self.published_bands(orb, id).map(RtPolicyValue::Bands));
        if let Some(policy) = realtime.priority_model {
            let declared = match policy.model {
                PriorityModel::ServerDeclared => self.inner.declared(id.as_bytes()),
                PriorityModel::ClientPropagated => None,
            };
            values.push(RtPolicyValue::Model(PriorityModelPolicy {
                server_priority: declared.map_or(policy.server_priority, Priority::get),
                ..policy
            }));
        }
        (!values.is_empty()).then(|| policies_component(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_belongs_to_the_most_urgent_lane_that_is_not_more_urgent() {
        let lanes = [20, 10, 30].map(|value| Priority::new(value).unwrap());
        let at = |band, priority| lane_at(&lanes, band, Priority::new(priority).unwrap());
        let whole = [0, 10, 15, 20, 29, 30, 32_767].map(|priority| at(None, priority));
        assert_eq!(whole, [1, 1, 1, 0, 0, 2, 2]);
        // A band without a lane does not limit the lanes.
        assert_eq!(at(Some((1, 5)), 3), 1);
        // The priority of the only lane within a band may be higher than that of the request.
        assert_eq!(at(Some((25, 40)), 26), 2);
        assert_eq!(at(Some((10, 20)), 32), 0);
    }

    #[test]
    fn the_bands_of_lanes_contain_each_priority_once() {
        let lanes = [20, 10, 30].map(|value| Priority::new(value).unwrap());
        let bands = lanes.map(|lane| band_of_lane(&lanes, lane));
        assert_eq!(bands.map(|band| (band.low, band.high)), [(20, 29), (0, 19), (30, 32_767)]);
        for priority in [0, 9, 10, 19, 20, 29, 30, 32_767] {
            let within = bands.iter().position(|band| band.contains(priority));
            let lane = lane_at(&lanes, None, Priority::new(priority).unwrap());
            assert_eq!(within, Some(lane), "{priority}");
        }
    }
}
