//! Object adapters, and their place in the tree.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, Servant};
use oxorb_object::TaggedComponent;

use crate::adapter::RootAdapter;
use crate::key::names;
use crate::object_map::ObjectMap;
use crate::pass::{Life, Pass};
use crate::realtime::RealTime;
use crate::refusal::{BEING_DESTROYED, TIMED_OUT, WOULD_DEADLOCK};
use crate::template::ObjectReferenceFactory;
use crate::turn::Turn;
use crate::{
    AdapterActivator, Current, ManagerState, PoaBuilder, PoaError, PoaManager, Policies,
    ServantActivator, ServantLocator, current,
};

/// Object adapter (`PortableServer::POA`), a node of the tree of POAs. Cheap to clone.
///
/// Activation takes a lock and allocates, so do it before the time-critical phase. Requests to
/// active objects do not allocate and take no lock.
///
/// ```
/// use std::sync::Arc;
///
/// use oxorb_core::{Options, Orb, Outcome, Servant, Upcall};
/// use oxorb_poa::{IdAssignment, Lifespan, Policies, RootAdapter};
///
/// struct Teller;
///
/// impl Servant for Teller {
///     fn repository_id(&self) -> &str {
///         "IDL:bank/Account:1.0"
///     }
///
///     fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
///         upcall.unknown_operation()
///     }
/// }
///
/// let mut options = Options::default();
/// options.listen_on("iiop://127.0.0.1:0")?;
/// let orb = Orb::new(options);
/// let root = RootAdapter::install(&orb); // with the facade: `orb.root_poa()`
/// let accounts = root.create_poa(
///     "accounts",
///     Policies {
///         lifespan: Lifespan::Persistent,
///         id_assignment: IdAssignment::User,
///         ..Policies::default()
///     },
/// )?;
/// // A servant that was made from IDL: `accounts.activate_with_id("savings", teller)`.
/// let savings = accounts.activate_servant_with_id(&"savings".into(), Arc::new(Teller))?;
/// assert_eq!(savings.non_existent(), Ok(false));
/// accounts.deactivate_id("savings")?;
/// assert_eq!(savings.non_existent(), Ok(true));
/// orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Poa {
    pub(crate) adapter: Arc<RootAdapter>,
    pub(crate) inner: Arc<PoaInner>,
}

pub(crate) struct PoaInner {
    pub(crate) name: String,
    /// Names of the POAs from the child of the root down to this one, in the encoding of keys.
    pub(crate) path: Box<[u8]>,
    pub(crate) path_hash: u64,
    pub(crate) number: u32,
    /// Number that no other POA of this or an earlier process has.
    pub(crate) incarnation: u64,
    pub(crate) policies: Policies,
    pub(crate) manager: PoaManager,
    pub(crate) objects: ObjectMap,
    pub(crate) adapter: Weak<RootAdapter>,
    /// POA that lists this one among its children; dangling for the root.
    pub(crate) parent: Weak<PoaInner>,
    pub(crate) children: Mutex<HashMap<String, Arc<PoaInner>>>,
    /// Components that IOR interceptors add to the POA's references.
    pub(crate) components: Vec<TaggedComponent>,
    /// Data of a POA with RT-CORBA policies.
    pub(crate) realtime: Option<Box<RealTime>>,
    /// Factory that makes the POA's references, if there is one.
    pub(crate) factory: OnceLock<Option<Box<dyn ObjectReferenceFactory>>>,
    pub(crate) activator: Mutex<Option<Arc<dyn AdapterActivator>>>,
    /// Servant manager; can be set once.
    pub(crate) servant_manager: OnceLock<ServantManager>,
    pub(crate) default_servant: ArcSwapOption<Arc<dyn Servant>>,
    /// Lock that serialises requests, if the POA is single-threaded, and calls of its servant
    /// activator.
    pub(crate) turn: Turn,
    pub(crate) life: Life,
    /// Lock that serialises changes of the POA's entry in the table.
    publishing: Mutex<()>,
    destroyed: AtomicBool,
    pub(crate) next_id: AtomicU64,
}

/// Servant manager of either kind.
#[derive(Clone)]
pub(crate) enum ServantManager {
    Activator(Arc<dyn ServantActivator>),
    Locator(Arc<dyn ServantLocator>),
}

/// Parts of a new POA.
pub(crate) struct Make {
    pub(crate) name: String,
    pub(crate) path: Box<[u8]>,
    pub(crate) policies: Policies,
    pub(crate) manager: PoaManager,
    pub(crate) objects: ObjectMap,
    pub(crate) parent: Weak<PoaInner>,
    pub(crate) components: Vec<TaggedComponent>,
    pub(crate) realtime: Option<Box<RealTime>>,
}

impl PoaInner {
    pub(crate) fn new(
        make: Make,
        adapter: Weak<RootAdapter>,
        number: u32,
        incarnation: u64,
    ) -> PoaInner {
        PoaInner {
            path_hash: crate::key::path_hash(&make.path),
            name: make.name,
            path: make.path,
            number,
            incarnation,
            policies: make.policies,
            manager: make.manager,
            objects: make.objects,
            adapter,
            parent: make.parent,
            children: Mutex::default(),
            components: make.components,
            realtime: make.realtime,
            factory: OnceLock::new(),
            activator: Mutex::default(),
            servant_manager: OnceLock::new(),
            default_servant: ArcSwapOption::empty(),
            turn: Turn::default(),
            life: Life::default(),
            publishing: Mutex::default(),
            destroyed: AtomicBool::new(false),
            next_id: AtomicU64::new(0),
        }
    }

    /// Publishes the state of the manager to requests.
    pub(crate) fn publish(self: &Arc<Self>, state: ManagerState) {
        let _publishing = self.publishing.lock();
        if self.is_destroyed() {
            return;
        }
        if let Some(adapter) = self.adapter.upgrade() {
            let pass = Pass::new(self, state);
            adapter.poas.grow_to(self.number).store(Some(pass.into()));
        }
    }

    /// Hides the POA from requests.
    fn withdraw(&self, adapter: &RootAdapter) {
        let _publishing = self.publishing.lock();
        if let Some(place) = adapter.poas.at(self.number) {
            place.store(None);
        }
        self.life.nudge();
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    pub(crate) fn child(&self, name: &str) -> Option<Arc<PoaInner>> {
        let children = self.children.lock();
        children.get(name).cloned()
    }
}

impl Poa {
    pub(crate) fn of(adapter: &Arc<RootAdapter>, inner: &Arc<PoaInner>) -> Poa {
        Poa { adapter: Arc::clone(adapter), inner: Arc::clone(inner) }
    }

    /// Returns the name given at creation (`the_name`).
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the ORB; `None` once it no longer exists. Takes no lock.
    pub fn orb(&self) -> Option<oxorb_core::Orb> {
        self.adapter.orb()
    }

    /// Returns the names from the root POA down to this one (`adapter_name` of its object reference
    /// template).
    pub fn adapter_name(&self) -> Vec<String> {
        let below = names(&self.inner.path).flatten();
        let below = below.map(|(name, _)| name.to_owned());
        std::iter::once(ROOT.to_owned()).chain(below).collect()
    }

    /// Returns an identifier of the POA within its ORB, which is the same after a restart (`id`).
    pub fn id(&self) -> &[u8] {
        &self.inner.path
    }

    /// Returns the policies, which were fixed when the POA was created.
    pub fn policies(&self) -> Policies {
        self.inner.policies
    }

    /// Returns the manager that controls this POA's requests; POAs may share one
    /// (`the_POAManager`).
    pub fn manager(&self) -> &PoaManager {
        &self.inner.manager
    }

    /// Returns the parent POA; `None` for the root, and after the parent was destroyed
    /// (`the_parent`).
    pub fn parent(&self) -> Option<Poa> {
        let parent = self.inner.parent.upgrade()?;
        Some(Poa::of(&self.adapter, &parent))
    }

    /// Returns the POA's children, in no particular order (`the_children`).
    pub fn children(&self) -> Vec<Poa> {
        let children = self.inner.children.lock();
        let children = children.values();
        children.map(|child| Poa::of(&self.adapter, child)).collect()
    }

    /// Returns the identity of the called object, for servants of this ORB.
    pub fn current(&self) -> Current {
        Current::of(&self.adapter)
    }

    /// Creates a child with a new manager.
    ///
    /// # Errors
    /// Those of [`PoaBuilder::create`].
    pub fn create_poa(&self, name: &str, policies: Policies) -> Result<Poa, PoaError> {
        self.new_poa(name).policies(policies).create()
    }

    /// Creates a child that shares a manager, such as that of this POA.
    ///
    /// # Errors
    /// Those of [`PoaBuilder::create`].
    pub fn create_poa_with_manager(
        &self,
        name: &str,
        policies: Policies,
        manager: PoaManager,
    ) -> Result<Poa, PoaError> {
        self.new_poa(name).policies(policies).manager(manager).create()
    }

    /// Returns a builder of a child, with more options than [`create_poa`](Self::create_poa).
    pub fn new_poa(&self, name: &str) -> PoaBuilder {
        PoaBuilder::new(self.clone(), name)
    }

    /// Returns a child by name, if it exists (`find_POA` without activation).
    pub fn find_poa(&self, name: &str) -> Option<Poa> {
        let child = self.inner.child(name)?;
        Some(Poa::of(&self.adapter, &child))
    }

    /// Returns a child by name, which the adapter activator may create if it does not exist
    /// (`find_POA` with activation).
    ///
    /// # Errors
    /// [`PoaError::AdapterNonExistent`]; an exception of the activator, as OBJ_ADAPTER 1; TRANSIENT
    /// when another thread takes too long to create it.
    pub fn find_or_activate_poa(&self, name: &str) -> Result<Poa, PoaError> {
        self.alive()?;
        let until = Instant::now() + self.adapter.hold_time();
        let child = self.adapter.child_of(&self.inner, name, until)?;
        match child {
            Some(child) => Ok(Poa::of(&self.adapter, &child)),
            None => Err(PoaError::AdapterNonExistent(name.to_owned())),
        }
    }

    /// Sets the adapter activator, which creates requested children; `None` removes it
    /// (`the_activator`).
    pub fn set_activator(&self, activator: Option<Arc<dyn AdapterActivator>>) {
        *self.inner.activator.lock() = activator;
    }

    /// Returns the adapter activator, which creates requested children (`the_activator`).
    pub fn activator(&self) -> Option<Arc<dyn AdapterActivator>> {
        self.inner.activator.lock().clone()
    }

    /// Destroys this POA and all POAs below it. Running requests complete normally; later ones find
    /// no POA, and an adapter activator may recreate it once its destruction has completed.
    ///
    /// With `etherealize_objects`, servants from servant activators are returned to them. With
    /// `wait_for_completion`, returns when all servants are returned and the last request has
    /// ended.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` 3 if `wait_for_completion` is set within a request of this ORB; `TIMEOUT`
    /// when requests have not ended after `-ORBHoldTime`, although the POA is destroyed.
    /// [`PoaError::Destroyed`] when it was destroyed before.
    pub fn destroy(
        &self,
        etherealize_objects: bool,
        wait_for_completion: bool,
    ) -> Result<(), PoaError> {
        if wait_for_completion && current::within(&self.adapter) {
            return Err(PoaError::System(WOULD_DEADLOCK));
        }
        let mut ended = Vec::new();
        self.end(etherealize_objects, &mut ended)?;
        self.adapter.observe(|observer| {
            let templates: Vec<_> = ended.iter().map(Poa::template).collect();
            observer.adapters_destroyed(&templates);
        });
        let until = Instant::now() + self.adapter.hold_time();
        let quiet = |poa: &Poa| poa.inner.life.wait_quiet(0, until, || false);
        if wait_for_completion && !ended.iter().all(quiet) {
            return Err(PoaError::System(TIMED_OUT));
        }
        Ok(())
    }

    /// Ends the POA after its children.
    fn end(&self, etherealize: bool, ended: &mut Vec<Poa>) -> Result<(), PoaError> {
        {
            // Mark the POA as destroyed under the lock of the tree, so that no child is created
            // afterwards.
            let _tree = self.adapter.lock_tree();
            if self.inner.destroyed.swap(true, Ordering::AcqRel) {
                return Err(PoaError::Destroyed);
            }
            self.adapter.end(&self.inner);
        }
        for child in self.children() {
            let _ = child.end(etherealize, ended);
        }
        self.inner.manager.forget(&self.inner);
        self.inner.withdraw(&self.adapter);
        self.inner.objects.clear(etherealize);
        {
            let mut tree = self.adapter.lock_tree();
            self.adapter.delist(&mut tree, &self.inner);
            if let Some(parent) = self.inner.parent.upgrade() {
                let mut siblings = parent.children.lock();
                siblings.remove(&self.inner.name);
            }
        }
        ended.push(self.clone());
        Ok(())
    }

    pub(crate) fn alive(&self) -> Result<(), PoaError> {
        if self.inner.is_destroyed() {
            return Err(PoaError::Destroyed);
        }
        Ok(())
    }

    /// Waits until a predecessor of the same name has ended.
    pub(crate) fn wait_for_predecessor(&self, path: &[u8]) -> Result<(), PoaError> {
        let until = Instant::now() + self.adapter.hold_time();
        while let Some(predecessor) = self.adapter.ending(path) {
            if current::within(&self.adapter) || !predecessor.life.wait_quiet(0, until, || false) {
                return Err(PoaError::System(BEING_DESTROYED));
            }
        }
        Ok(())
    }

    /// Adds an observer, which is notified of all later changes to POAs and managers of this ORB.
    pub fn add_observer(&self, observer: impl crate::AdapterObserver) {
        self.adapter.add_observer(Arc::new(observer));
    }

    /// Unbinds a plain name; returns whether it was bound. Later requests for the name fail with
    /// OBJECT_NOT_EXIST; the object stays available under its other references.
    pub fn unbind_name(&self, name: &str) -> bool {
        self.adapter.change_names(|names| names.unbind(name.as_bytes()))
    }

    /// Maps all foreign keys to objects of this POA, with the key as the object id. A key is
    /// foreign if no POA of this ORB created it and no name is bound to it. A server can thus
    /// answer under the keys of a server that it replaces, and under `corbaloc` keys that it first
    /// learns from a request. The POA should have user ids, and a default servant, servant locator
    /// or servant activator. Only one POA of an ORB takes foreign keys; a later call replaces it.
    ///
    /// A request with a foreign key costs an extra copy of the key.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use oxorb_core::{Options, Orb, Outcome, Servant, Upcall};
    /// use oxorb_poa::{IdAssignment, IdUniqueness, Policies, RequestProcessing, RootAdapter};
    ///
    /// struct Answers;
    /// impl Servant for Answers {
    ///     fn repository_id(&self) -> &str {
    ///         "IDL:Answers:1.0"
    ///     }
    ///     fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
    ///         // `Current::object_id` is the key that the client used.
    ///         upcall.unknown_operation()
    ///     }
    /// }
    ///
    /// let orb = Orb::new(Options::default());
    /// let policies = Policies {
    ///     id_assignment: IdAssignment::User,
    ///     id_uniqueness: IdUniqueness::Multiple,
    ///     request_processing: RequestProcessing::DefaultServant,
    ///     ..Policies::default()
    /// };
    /// let poa = RootAdapter::install(&orb).create_poa("foreign", policies)?;
    /// poa.set_servant(Arc::new(Answers))?;
    /// poa.take_foreign_keys();
    /// # Ok::<(), oxorb_poa::PoaError>(())
    /// ```
    pub fn take_foreign_keys(&self) {
        self.adapter.change_names(|names| names.set_foreign(Some(&self.inner)));
    }

    /// Binds a name, so that `corbaloc::host:port/name` denotes an object of this ORB.
    pub fn bind_name(&self, name: &str, object: &impl Interface) {
        self.adapter.bind_name(name, object.reference());
    }

    /// Binds a name to an object of this POA that need not be active yet. No address is needed, so
    /// a server can bind its names before it listens, and clients never find only some of them.
    pub fn bind_name_to_id(&self, name: &str, id: impl Into<crate::ObjectId>) {
        let key = self.inner.key_of(id.into().as_bytes());
        self.adapter.bind_key(name, key);
    }

    /// Creates a manager that several POAs may share
    /// (`POAManagerFactory::create_POAManager`). It starts active.
    ///
    /// # Errors
    /// [`PoaError::ManagerAlreadyExists`].
    pub fn create_poa_manager(&self, id: &str) -> Result<PoaManager, PoaError> {
        self.adapter.create_manager(Some(id))
    }

    /// Returns a manager of this ORB by name (`POAManagerFactory::find`).
    pub fn find_poa_manager(&self, id: &str) -> Option<PoaManager> {
        self.adapter.managers().into_iter().find(|manager| manager.id() == id)
    }

    /// Returns all managers of this ORB that are in use (`POAManagerFactory::list`).
    pub fn poa_managers(&self) -> Vec<PoaManager> {
        self.adapter.managers()
    }
}

impl fmt::Debug for Poa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poa")
            .field("name", &self.inner.name)
            .field("policies", &self.inner.policies)
            .field("manager", &self.inner.manager.state())
            .finish()
    }
}

impl PartialEq for Poa {
    /// Reports whether both are the same POA.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Poa {}

/// Name of the root in the specification.
pub(crate) const ROOT: &str = "RootPOA";
