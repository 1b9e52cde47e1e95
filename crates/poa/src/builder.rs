//! Builder of a POA.

use std::sync::Arc;

use oxorb_core::policy::LargePayloads;
use oxorb_core::{Demultiplexing, Incident};
use oxorb_object::TaggedComponent;

use crate::key::path_with;
use crate::object_map::ObjectMap;
use crate::poa::Make;
use crate::policies::{Bidirectional, IdAssignment, Lifespan, Lookup};
use crate::realtime::RealTime;
use crate::refusal::BEING_DESTROYED;
use crate::rt_policies;
use crate::{
    AdapterActivator, InvalidPolicy, ObjectId, Poa, PoaError, PoaManager, Policies, Policy,
};

/// Settings of a new POA, returned by [`Poa::new_poa`].
///
/// ```
/// # use oxorb_core::{Options, Orb};
/// # use oxorb_poa::{IdAssignment, Lookup, Policies, RootAdapter};
/// # let orb = Orb::new(Options::default());
/// # let root = RootAdapter::install(&orb);
/// // Every object of this POA is found with one probe.
/// let poa = root
///     .new_poa("devices")
///     .policies(Policies {
///         id_assignment: IdAssignment::User,
///         lookup: Lookup::Perfect,
///         ..Policies::default()
///     })
///     .known_ids(["pump", "valve", "gauge"])
///     .create()?;
/// assert_eq!(poa.adapter_name(), ["RootPOA", "devices"]);
/// # Ok::<(), oxorb_poa::PoaError>(())
/// ```
#[must_use = "nothing is created before `create`"]
pub struct PoaBuilder {
    parent: Poa,
    name: String,
    policies: Result<Policies, InvalidPolicy>,
    /// Policies in the order in which they were named, for the index of an invalid one.
    list: Vec<Policy>,
    manager: Option<PoaManager>,
    activator: Option<Arc<dyn AdapterActivator>>,
    known: Vec<Box<[u8]>>,
    components: Vec<TaggedComponent>,
}

impl PoaBuilder {
    pub(crate) fn new(parent: Poa, name: &str) -> Self {
        PoaBuilder {
            parent,
            name: name.to_owned(),
            policies: Ok(Policies::default()),
            list: Vec::new(),
            manager: None,
            activator: None,
            known: Vec::new(),
            components: Vec::new(),
        }
    }

    /// Sets the policies of the POA.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies.check().map(|()| policies);
        self.list = policies.to_list();
        self
    }

    /// Sets the policies from a list, as the specification's `create_POA` takes it; policies that
    /// are not in the list have their defaults.
    pub fn policy_list(mut self, list: &[Policy]) -> Self {
        self.policies = Policies::from_list(list);
        self.list = list.to_vec();
        self
    }

    /// Sets the manager, which several POAs may share. By default the POA gets a new manager.
    pub fn manager(mut self, manager: PoaManager) -> Self {
        self.manager = Some(manager);
        self
    }

    /// Sets the adapter activator, which creates children of the POA on request.
    pub fn activator(mut self, activator: impl AdapterActivator) -> Self {
        self.activator = Some(Arc::new(activator));
        self
    }

    /// Sets the complete list of ids that the POA will ever have, for [`Lookup::Perfect`].
    pub fn known_ids<I: Into<ObjectId>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        let ids = ids.into_iter().map(|id| id.into().as_bytes().into());
        self.known.extend(ids);
        self
    }

    /// Adds a component to every reference that the POA makes.
    pub fn component(mut self, component: TaggedComponent) -> Self {
        self.components.push(component);
        self
    }

    /// Creates the POA.
    ///
    /// # Errors
    /// [`PoaError::InvalidPolicy`]; [`PoaError::AdapterAlreadyExists`]; [`PoaError::NameTooLong`];
    /// [`PoaError::Destroyed`] when the parent was destroyed. `BAD_INV_ORDER` 17 while a POA of the
    /// same name is still being destroyed; outside a request, `create` first waits for the end of
    /// the destruction, for at most `-ORBHoldTime`. Any exception that an observer raised.
    pub fn create(self) -> Result<Poa, PoaError> {
        let mut policies = self.policies?;
        let orb = self.parent.adapter.orb();
        if let (Lookup::Active, Some(orb)) = (policies.lookup, &orb) {
            // A perfect hash requires ids that the application assigns and names before the POA is
            // created.
            let known = policies.id_assignment == IdAssignment::User && !self.known.is_empty();
            policies.lookup = match orb.options().demultiplexing {
                Demultiplexing::Hash => Lookup::Hash,
                Demultiplexing::Perfect if known && policies.retains() => Lookup::Perfect,
                Demultiplexing::Linear if policies.retains() => Lookup::Linear,
                _ => Lookup::Active,
            };
        }
        let pool = policies.realtime.threadpool.zip(orb.as_ref());
        let lanes = pool.and_then(|(pool, orb)| orb.threadpool(pool));
        rt_policies::check(&policies, &self.list, lanes.as_ref(), orb.as_ref())?;
        // The objects of a POA with a threadpool are reached at the endpoints of its lanes, so
        // those of the ORB do not matter.
        let own_ports = policies.realtime.threadpool.is_none();
        if policies.secure_only
            && own_ports
            && orb.as_ref().is_some_and(|orb| !orb.listens_securely())
        {
            let is_it = |policy: &Policy| matches!(policy, Policy::SecureOnly(_));
            let index = self.list.iter().position(is_it).unwrap_or_default();
            return Err(PoaError::InvalidPolicy(InvalidPolicy {
                index: index as u16,
                rule: "secure_only: the ORB listens with no protocol that protects its messages; add an endpoint of \
                       one, such as iiops://:2810, to -ORBListenEndpoints",
            }));
        }
        let objects = match policies.lookup {
            Lookup::Active | Lookup::Hash => ObjectMap::hashed(),
            Lookup::Linear => ObjectMap::linear(),
            Lookup::Perfect if self.known.is_empty() => {
                return Err(PoaError::InvalidPolicy(InvalidPolicy {
                    index: 7,
                    rule: "lookup: Perfect needs all ids before the POA is created (known_ids); if servants are \
                           activated and deactivated while the program runs, use Active",
                }));
            }
            Lookup::Perfect => ObjectMap::perfect(&self.known).ok_or(InvalidPolicy {
                index: 7,
                rule: "lookup: Perfect needs distinct known ids",
            })?,
        };
        let parent = &self.parent;
        let name_too_long = || PoaError::NameTooLong(self.name.clone());
        let path = path_with(&parent.inner.path, &self.name).ok_or_else(name_too_long)?;
        parent.wait_for_predecessor(&path)?;
        let mut components = self.components;
        let mut adapter_name = parent.adapter_name();
        adapter_name.push(self.name.clone());
        parent.adapter.try_observe(|observer| {
            observer.establish(&adapter_name, &policies, &mut components)
        })?;
        let manager = match self.manager {
            Some(manager) => manager,
            None => parent.adapter.create_manager(None)?,
        };
        let created = {
            let mut tree = parent.adapter.lock_tree();
            parent.alive()?;
            if parent.adapter.ending(&path).is_some() {
                return Err(PoaError::System(BEING_DESTROYED));
            }
            if parent.inner.child(&self.name).is_some() {
                return Err(PoaError::AdapterAlreadyExists(self.name));
            }
            parent.adapter.enlist(
                &mut tree,
                Make {
                    name: self.name,
                    path,
                    policies,
                    manager,
                    objects,
                    parent: Arc::downgrade(&parent.inner),
                    components,
                    realtime: RealTime::of(&policies, lanes),
                },
            )
        };
        let created = Poa::of(&parent.adapter, &created);
        if let (Lifespan::Persistent, Some(orb)) = (policies.lifespan, &orb)
            && !orb.has_fixed_ports(policies.realtime.threadpool)
        {
            let name = || format!("POA {}", adapter_name.join("/"));
            orb.note_once(Incident::PersistentOnAnyPort, name, String::new);
        }
        if let (Some(LargePayloads::InPlaceOnly), Some(orb)) = (policies.large_payloads, &orb) {
            orb.always_borrow_payloads();
        }
        if let (Bidirectional::Both, Some(orb)) = (policies.bidirectional, &orb) {
            orb.offer_bidirectional();
        }
        if let (Some(protocols), Some(orb)) = (policies.realtime.server_protocols, &orb) {
            orb.set_server_protocols(policies.realtime.threadpool, protocols);
        }
        if let (Some(octets), Some(orb)) = (policies.realtime.reply_bandwidth, &orb) {
            orb.set_reply_bandwidth(policies.realtime.threadpool, octets);
        }
        if self.activator.is_some() {
            created.set_activator(self.activator);
        }
        parent.adapter.observe(|observer| observer.established(&created));
        created.settle_factory();
        Ok(created)
    }
}
