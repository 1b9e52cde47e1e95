//! One object adapter: activation and references.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, Ref, Servant, ServedBy};

use crate::adapter::{RootAdapter, own_key};
use crate::key::{Key, path_with};
use crate::object_map::{ObjectMap, Place};
use crate::policies::{IdAssignment, IdUniqueness, ImplicitActivation, Lifespan};
use crate::{PoaError, PoaManager, Policies};

/// One object adapter of the tree (`PortableServer::POA`). Cheap to clone.
///
/// Activation takes a lock and allocates; do it before the deadlines begin.
/// Requests to active objects do not allocate, and take no lock unless the
/// object is persistent or has an id of the application's: then a read lock.
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
/// options.listen.push("iiop://127.0.0.1:0".parse()?);
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
    adapter: Arc<RootAdapter>,
    inner: Arc<PoaInner>,
}

pub(crate) struct PoaInner {
    name: String,
    /// Names from the root's child down to this one, as keys hold them.
    pub(crate) path: Box<[u8]>,
    pub(crate) number: u32,
    /// No other POA, of this or an earlier process, has the same.
    pub(crate) incarnation: u64,
    policies: Policies,
    pub(crate) manager: PoaManager,
    pub(crate) objects: ObjectMap,
    /// Who lists this one among its children; nobody for the root.
    parent: Weak<PoaInner>,
    children: Mutex<HashMap<String, Poa>>,
    destroyed: AtomicBool,
    next_id: AtomicU64,
}

/// Names one object within its POA.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectId(Vec<u8>);

impl Poa {
    pub(crate) fn new(
        adapter: &Arc<RootAdapter>,
        parent: Weak<PoaInner>,
        name: &str,
        path: Box<[u8]>,
        policies: Policies,
        manager: PoaManager,
    ) -> Poa {
        let inner = adapter.enlist(|number, incarnation| {
            Arc::new(PoaInner {
                name: name.to_owned(),
                path,
                number,
                incarnation,
                policies,
                manager,
                objects: ObjectMap::new(),
                parent,
                children: Mutex::default(),
                destroyed: AtomicBool::new(false),
                next_id: AtomicU64::new(0),
            })
        });
        Poa {
            adapter: Arc::clone(adapter),
            inner,
        }
    }

    /// The name it was created with.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The ORB it belongs to; `None` once that is gone. Takes no lock.
    pub fn orb(&self) -> Option<oxorb_core::Orb> {
        self.adapter.orb()
    }

    /// What it promises about its objects; fixed when it was created.
    pub fn policies(&self) -> Policies {
        self.inner.policies
    }

    /// The manager that lets this POA's requests pass, or not; POAs may share one.
    pub fn manager(&self) -> &PoaManager {
        &self.inner.manager
    }

    /// Creates a child with a manager of its own.
    pub fn create_poa(&self, name: &str, policies: Policies) -> Result<Poa, PoaError> {
        self.create_poa_with_manager(name, policies, PoaManager::new())
    }

    /// Creates a child that shares a manager, such as this POA's own.
    pub fn create_poa_with_manager(
        &self,
        name: &str,
        policies: Policies,
        manager: PoaManager,
    ) -> Result<Poa, PoaError> {
        if let Some(why) = policies.contradiction() {
            return Err(PoaError::InvalidPolicy(why));
        }
        let path = path_with(&self.inner.path, name)
            .ok_or_else(|| PoaError::NameTooLong(name.to_owned()))?;
        let _tree = self.adapter.tree.lock().expect(UNPOISONED);
        self.alive()?;
        let mut children = self.inner.children.lock().expect(UNPOISONED);
        if children.contains_key(name) {
            return Err(PoaError::AdapterAlreadyExists(name.to_owned()));
        }
        let parent = Arc::downgrade(&self.inner);
        let child = Poa::new(&self.adapter, parent, name, path, policies, manager);
        children.insert(name.to_owned(), child.clone());
        Ok(child)
    }

    /// A child by name.
    pub fn find_poa(&self, name: &str) -> Option<Poa> {
        self.inner
            .children
            .lock()
            .expect(UNPOISONED)
            .get(name)
            .cloned()
    }

    /// Ends this POA and all below it. Requests that run end as if nothing
    /// had happened; later ones get OBJECT_NOT_EXIST. Its name is free again.
    pub fn destroy(&self) {
        let children: Vec<Poa> = {
            // With the tree locked no child can be born while its parent dies.
            let _tree = self.adapter.tree.lock().expect(UNPOISONED);
            if self.inner.destroyed.swap(true, Ordering::AcqRel) {
                return;
            }
            self.adapter.delist(&self.inner);
            self.inner.objects.clear();
            if let Some(parent) = self.inner.parent.upgrade() {
                let mut siblings = parent.children.lock().expect(UNPOISONED);
                siblings.remove(&self.inner.name);
            }
            let mut children = self.inner.children.lock().expect(UNPOISONED);
            children.drain().map(|(_, child)| child).collect()
        };
        for child in children {
            child.destroy();
        }
    }

    /// Activates a servant under an id that the POA makes, and gives the
    /// object's reference.
    ///
    /// The servant may be a value, or an `Arc` that the application shares:
    /// `let account: bank::AccountRef = poa.activate(Teller::new())?;`
    pub fn activate<I: ServedBy<S>, S>(&self, servant: S) -> Result<I, PoaError> {
        self.activate_servant(I::servant(servant)).map(I::from_ref)
    }

    /// Activates a servant under an id of the application's choice.
    pub fn activate_with_id<I: ServedBy<S>, S>(
        &self,
        id: impl Into<ObjectId>,
        servant: S,
    ) -> Result<I, PoaError> {
        self.activate_servant_with_id(&id.into(), I::servant(servant))
            .map(I::from_ref)
    }

    /// The reference of a servant: of the object it incarnates, or, with
    /// [`ImplicitActivation::Yes`], of a new one (`_this`).
    pub fn this<I: ServedBy<Arc<S>>, S>(&self, servant: &Arc<S>) -> Result<I, PoaError> {
        let wrapped = I::servant(Arc::clone(servant));
        if let Some((place, id)) = self.inner.objects.find_identity(wrapped.identity()) {
            let key = self.key_of(place, id.as_deref());
            return self
                .reference(wrapped.repository_id(), &key)
                .map(I::from_ref);
        }
        if self.inner.policies.implicit_activation == ImplicitActivation::No {
            return Err(PoaError::ServantNotActive);
        }
        self.activate_servant(wrapped).map(I::from_ref)
    }

    /// [`activate`](Self::activate) for a servant without static type.
    pub fn activate_servant(&self, servant: Arc<dyn Servant>) -> Result<Ref, PoaError> {
        if self.inner.policies.id_assignment == IdAssignment::User {
            return Err(PoaError::WrongPolicy(
                "this POA's ids are given by the application: use activate_with_id",
            ));
        }
        match self.inner.policies.lifespan {
            Lifespan::Transient => self.insert(servant, None),
            Lifespan::Persistent => {
                let id = self.new_id();
                self.insert(servant, Some(&id.0))
            }
        }
    }

    /// [`activate_with_id`](Self::activate_with_id) for a servant without static type.
    pub fn activate_servant_with_id(
        &self,
        id: &ObjectId,
        servant: Arc<dyn Servant>,
    ) -> Result<Ref, PoaError> {
        self.insert(servant, Some(&id.0))
    }

    /// Ends an object. Requests that run end as if nothing had happened.
    pub fn deactivate(&self, object: &impl Interface) -> Result<(), PoaError> {
        let key = own_key(Interface::as_ref(object)).ok_or(PoaError::WrongAdapter)?;
        match self.own(&key)? {
            Key::Active {
                slot, generation, ..
            } => self.inner.objects.remove(Place { slot, generation }),
            Key::Transient { id, .. } | Key::Persistent { id, .. } => {
                self.inner.objects.remove_id(id)
            }
        }
    }

    /// Ends the object with this id, the application's or the system's.
    pub fn deactivate_id(&self, id: impl Into<ObjectId>) -> Result<(), PoaError> {
        let id = id.into().0;
        match (self.inner.objects.remove_id(&id), self.system_place(&id)) {
            (Err(PoaError::ObjectNotActive), Some(place)) => self.inner.objects.remove(place),
            (result, _) => result,
        }
    }

    /// A reference to an object that need not be active yet
    /// (`create_reference_with_id`).
    pub fn create_reference_with_id<I: Interface>(
        &self,
        id: impl Into<ObjectId>,
    ) -> Result<I, PoaError> {
        let key = self.key_of_id(&id.into().0);
        self.reference(I::REPOSITORY_ID, &key).map(I::from_ref)
    }

    /// The id of an object of this POA.
    pub fn reference_to_id(&self, object: &impl Interface) -> Result<ObjectId, PoaError> {
        let key = own_key(Interface::as_ref(object)).ok_or(PoaError::WrongAdapter)?;
        Ok(match self.own(&key)? {
            Key::Active {
                slot, generation, ..
            } => system_id(Place { slot, generation }),
            Key::Transient { id, .. } | Key::Persistent { id, .. } => ObjectId(id.to_vec()),
        })
    }

    fn insert(&self, servant: Arc<dyn Servant>, id: Option<&[u8]>) -> Result<Ref, PoaError> {
        self.alive()?;
        let type_id = servant.repository_id().to_owned();
        let unique = self.inner.policies.id_uniqueness == IdUniqueness::Unique;
        let identity = servant.identity();
        let place = self
            .inner
            .objects
            .insert(servant, id, Some(identity), unique)?;
        self.reference(&type_id, &self.key_of(place, id))
            .inspect_err(|_| {
                let _ = self.inner.objects.remove(place);
            })
    }

    fn reference(&self, type_id: &str, key: &[u8]) -> Result<Ref, PoaError> {
        let orb = self.adapter.orb().ok_or(PoaError::Destroyed)?;
        Ok(orb.create_reference(type_id, key)?)
    }

    fn key_of(&self, place: Place, id: Option<&[u8]>) -> Vec<u8> {
        match id {
            Some(id) => self.key_of_id(id),
            None => Key::Active {
                incarnation: self.inner.incarnation,
                poa: self.inner.number,
                slot: place.slot,
                generation: place.generation,
            }
            .to_octets(),
        }
    }

    fn key_of_id(&self, id: &[u8]) -> Vec<u8> {
        let incarnation = self.inner.incarnation;
        let poa = self.inner.number;
        match self.inner.policies.lifespan {
            Lifespan::Transient => match self.system_place(id) {
                Some(Place { slot, generation }) => Key::Active {
                    incarnation,
                    poa,
                    slot,
                    generation,
                },
                None => Key::Transient {
                    incarnation,
                    poa,
                    id,
                },
            },
            Lifespan::Persistent => Key::Persistent {
                path: &self.inner.path,
                id,
            },
        }
        .to_octets()
    }

    /// The place that an id of the system's making names.
    fn system_place(&self, id: &[u8]) -> Option<Place> {
        let policies = self.inner.policies;
        if (policies.id_assignment, policies.lifespan)
            != (IdAssignment::System, Lifespan::Transient)
            || self.inner.objects.with_id(id, |object| object.is_some())
        {
            return None;
        }
        let (slot, generation) = id.split_first_chunk()?;
        Some(Place {
            slot: u32::from_le_bytes(*slot),
            generation: u32::from_le_bytes(generation.try_into().ok()?),
        })
    }

    /// Takes a key apart if it is one of this POA.
    fn own<'k>(&self, key: &'k [u8]) -> Result<Key<'k>, PoaError> {
        let parsed = Key::parse(key).ok_or(PoaError::WrongAdapter)?;
        let ours = match parsed {
            Key::Active {
                incarnation, poa, ..
            }
            | Key::Transient {
                incarnation, poa, ..
            } => incarnation == self.inner.incarnation && poa == self.inner.number,
            Key::Persistent { path, .. } => *path == *self.inner.path,
        };
        if ours {
            Ok(parsed)
        } else {
            Err(PoaError::WrongAdapter)
        }
    }

    /// An id that no other object of this or an earlier process has.
    fn new_id(&self) -> ObjectId {
        let count = self.inner.next_id.fetch_add(1, Ordering::Relaxed);
        let mut id = self.inner.incarnation.to_le_bytes().to_vec();
        id.extend_from_slice(&count.to_le_bytes());
        ObjectId(id)
    }

    fn alive(&self) -> Result<(), PoaError> {
        if self.inner.destroyed.load(Ordering::Acquire) {
            return Err(PoaError::Destroyed);
        }
        Ok(())
    }

    /// Makes `corbaloc::host:port/name` lead to an object of this ORB.
    pub fn bind_name(&self, name: &str, object: &impl Interface) {
        self.adapter.bind_name(name, Interface::as_ref(object));
    }
}

/// The id of a transient object that the POA named: where it is.
fn system_id(place: Place) -> ObjectId {
    let mut id = place.slot.to_le_bytes().to_vec();
    id.extend_from_slice(&place.generation.to_le_bytes());
    ObjectId(id)
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

impl ObjectId {
    /// The octets.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for ObjectId {
    fn from(id: &str) -> Self {
        ObjectId(id.as_bytes().to_vec())
    }
}

impl From<String> for ObjectId {
    fn from(id: String) -> Self {
        ObjectId(id.into_bytes())
    }
}

impl From<&[u8]> for ObjectId {
    fn from(id: &[u8]) -> Self {
        ObjectId(id.to_vec())
    }
}

impl From<Vec<u8>> for ObjectId {
    fn from(id: Vec<u8>) -> Self {
        ObjectId(id)
    }
}

impl From<&ObjectId> for ObjectId {
    fn from(id: &ObjectId) -> Self {
        id.clone()
    }
}

const UNPOISONED: &str = "no panic while the lock is held";
