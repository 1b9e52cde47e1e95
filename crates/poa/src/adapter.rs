//! Root adapter: all POAs of an ORB, and the tables by which requests find them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::dispatch::without_slot;
use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use oxorb_core::lock::{Mutex, MutexGuard};
use oxorb_core::{Adapter, Interface, ObjectRef, Orb, Ref, WeakOrb};
use oxorb_object::SystemException;

use crate::buckets::Buckets;
use crate::etherealizer::Etherealizer;
use crate::index::HashIndex;
use crate::key::Key;
use crate::manager;
use crate::names::Names;
use crate::object_map::ObjectMap;
use crate::pass::Pass;
use crate::poa::{Make, Poa, PoaInner, ROOT};
use crate::policies::Lifespan;
use crate::unknown::Unknown;
use crate::{AdapterObserver, PoaError, PoaManager, Policies};

/// Guard that a request holds while it is inside a POA.
pub(crate) type Admission = Guard<Option<Arc<Pass>>>;

/// Root of the POA tree, with the table that maps keys to POAs.
pub struct RootAdapter {
    this: Weak<RootAdapter>,
    pub(crate) orb: WeakOrb,
    pub(crate) limits: Limits,
    /// Next incarnation: starts at a random number, and increases with each POA; see
    /// [`Key`](crate::key::Key).
    next_incarnation: AtomicU64,
    /// POAs by the number in the key. The number of a destroyed POA is reused by another one with a
    /// different incarnation.
    pub(crate) poas: Buckets<ArcSwapOption<Pass>>,
    /// Numbers of persistent POAs by the hash of their path.
    by_path: HashIndex,
    /// Plain names for use in `corbaloc:` URLs, with their object keys.
    pub(crate) names: ArcSwap<Names>,
    root: OnceLock<Arc<PoaInner>>,
    /// Tree of POAs. Its lock serialises changes of the tables above; readers take no lock.
    tree: Mutex<Tree>,
    /// Destroyed POAs that may still be in use.
    ending: Mutex<Vec<Weak<PoaInner>>>,
    managers: Mutex<Vec<Weak<manager::Shared>>>,
    next_manager: AtomicU64,
    observers: ArcSwap<Vec<Arc<dyn AdapterObserver>>>,
    pub(crate) etherealizer: Etherealizer,
    pub(crate) unknown: Unknown,
}

/// Limits of waiting requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of requests that wait at one holding manager, or for the `Turn` of one POA.
    pub(crate) max_held: usize,
    /// Maximum duration of each of these waits, and of waits for POAs and for servants that are
    /// being returned.
    pub(crate) hold_time: Duration,
    /// Whether the ORB has a run-time scheduler.
    pub(crate) scheduled: bool,
}

/// Numbers of POAs.
#[derive(Default)]
pub(crate) struct Tree {
    used: u32,
    free: Vec<u32>,
}

impl RootAdapter {
    /// Installs the adapter of an ORB, with its root POA. From then on the ORB dispatches requests
    /// to the adapter.
    pub fn install(orb: &Orb) -> Poa {
        RootAdapter::install_observed(orb, Vec::new())
            .expect("only an observer can refuse the root POA")
    }

    /// Installs the adapter like [`install`](Self::install), with observers of all POAs, including
    /// the root.
    ///
    /// # Errors
    /// An observer rejected the root POA.
    pub fn install_observed(
        orb: &Orb,
        observers: Vec<Arc<dyn AdapterObserver>>,
    ) -> Result<Poa, SystemException> {
        let mut components = Vec::new();
        for observer in &observers {
            observer.establish(&[ROOT.to_owned()], &Policies::ROOT, &mut components)?;
        }
        let options = orb.options();
        let adapter = Arc::new_cyclic(|this| RootAdapter {
            this: Weak::clone(this),
            orb: orb.downgrade(),
            limits: Limits {
                max_held: options.max_held,
                hold_time: options.hold_time,
                scheduled: options.realtime.scheduler.is_some(),
            },
            next_incarnation: AtomicU64::new(first_incarnation()),
            poas: Buckets::new(),
            by_path: HashIndex::new(),
            names: ArcSwap::default(),
            root: OnceLock::new(),
            tree: Mutex::default(),
            ending: Mutex::default(),
            managers: Mutex::default(),
            next_manager: AtomicU64::new(0),
            observers: ArcSwap::from_pointee(observers),
            etherealizer: Etherealizer::default(),
            unknown: Unknown::default(),
        });
        let manager = adapter.add_manager(format!("{ROOT}Manager"));
        let make = Make {
            name: ROOT.to_owned(),
            path: Box::default(),
            policies: Policies::ROOT,
            manager,
            objects: ObjectMap::hashed(),
            parent: Weak::new(),
            components,
            realtime: None,
        };
        let root = adapter.enlist(&mut adapter.lock_tree(), make);
        let _ = adapter.root.set(Arc::clone(&root));
        orb.set_adapter(Arc::clone(&adapter) as Arc<dyn Adapter>);
        let root = Poa::of(&adapter, &root);
        adapter.observe(|observer| observer.established(&root));
        root.settle_factory();
        Ok(root)
    }

    /// Binds a name, so that `corbaloc::host:port/name` denotes an object of this ORB.
    pub(crate) fn bind_name(&self, name: &str, object: &Ref) {
        if let Some(key) = own_key(object) {
            self.bind_key(name, key);
        }
    }

    /// Binds a name to the object with this key.
    pub(crate) fn bind_key(&self, name: &str, key: Vec<u8>) {
        self.change_names(|names| names.bind(name.as_bytes(), &key));
    }

    /// Changes the plain names atomically: requests see the whole change or none of it.
    pub(crate) fn change_names<T>(&self, change: impl FnOnce(&mut Names) -> T) -> T {
        let _tree = self.lock_tree();
        let mut names = Names::clone(&self.names.load());
        let changed = change(&mut names);
        self.names.store(Arc::new(names));
        changed
    }

    pub(crate) fn orb(&self) -> Option<Orb> {
        self.orb.upgrade()
    }

    /// Calls `look` on the POA of a key, if that POA exists.
    pub(crate) fn look_into<R>(
        &self,
        key: &[u8],
        look: impl FnOnce(&Pass, Key<'_>) -> Option<R>,
    ) -> Option<R> {
        let names = self.names.load();
        let named;
        let key = match Key::parse(without_slot(key).0) {
            Some(key) => key,
            None => {
                named = names.get(key)?;
                Key::parse(&named)?
            }
        };
        look(self.present(key)?.as_deref()?, key)
    }

    pub(crate) fn shared(&self) -> Option<Arc<RootAdapter>> {
        self.this.upgrade()
    }

    pub(crate) fn root(&self) -> &Arc<PoaInner> {
        self.root.get().expect("set when it was made")
    }

    pub(crate) fn hold_time(&self) -> Duration {
        self.limits.hold_time
    }

    pub(crate) fn lock_tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock()
    }

    /// Assigns a POA its number and its incarnation, indexes it by path, and adds it to its parent
    /// and its manager.
    pub(crate) fn enlist(&self, tree: &mut Tree, make: Make) -> Arc<PoaInner> {
        let number = tree.free.pop().unwrap_or_else(|| {
            tree.used += 1;
            tree.used - 1
        });
        let incarnation = self.next_incarnation.fetch_add(1, Ordering::Relaxed);
        let poa = PoaInner::new(make, Weak::clone(&self.this), number, incarnation);
        let poa = Arc::new(poa);
        poa.manager.adopt(&poa);
        if let Some(parent) = poa.parent.upgrade() {
            let mut siblings = parent.children.lock();
            siblings.insert(poa.name.clone(), Arc::clone(&poa));
        }
        // Keep the POA back while an adapter activator is creating it or one of its ancestors:
        // requests must find it only after the activator has returned, when its objects exist.
        if poa.policies.lifespan == Lifespan::Persistent && !self.unknown.keep_back(&poa) {
            self.by_path.insert(poa.path_hash, number);
        }
        poa
    }

    /// Makes POAs that were kept back visible to requests.
    pub(crate) fn reveal(&self, poas: Vec<Arc<PoaInner>>) {
        let _tree = self.lock_tree();
        for poa in poas.iter().filter(|poa| !poa.is_destroyed()) {
            self.by_path.insert(poa.path_hash, poa.number);
        }
    }

    /// Records a POA as ending.
    pub(crate) fn end(&self, poa: &Arc<PoaInner>) {
        let mut ending = self.ending.lock();
        ending.retain(|poa| poa.upgrade().is_some_and(|poa| !poa.life.is_over()));
        ending.push(Arc::downgrade(poa));
    }

    /// Returns a POA of this path that was destroyed and is still in use.
    pub(crate) fn ending(&self, path: &[u8]) -> Option<Arc<PoaInner>> {
        let ending = self.ending.lock();
        let mut ending = ending.iter().filter_map(Weak::upgrade);
        ending.find(|poa| *poa.path == *path && !poa.life.is_over())
    }

    /// Releases a POA's number, once requests no longer find the POA.
    pub(crate) fn delist(&self, tree: &mut Tree, poa: &PoaInner) {
        self.by_path.remove(poa.path_hash, poa.number);
        tree.free.push(poa.number);
    }

    /// Returns the POA with this number and incarnation, even if it is being destroyed.
    pub(crate) fn poa_of(&self, number: u32, incarnation: u64) -> Option<Arc<PoaInner>> {
        if let Some(place) = self.poas.at(number)
            && let Some(pass) = &*place.load()
            && pass.incarnation == incarnation
        {
            return Some(Arc::clone(&pass.poa));
        }
        let ending = self.ending.lock();
        let mut ending = ending.iter().filter_map(Weak::upgrade);
        ending.find(|poa| poa.incarnation == incarnation)
    }

    /// Returns the POA of a transient key.
    #[inline]
    pub(crate) fn numbered(&self, number: u32, incarnation: u64) -> Option<Admission> {
        let pass = self.poas.at(number)?.load();
        match &*pass {
            Some(here) if here.incarnation == incarnation => Some(pass),
            _ => None,
        }
    }

    /// Returns the POA of a persistent key. Takes a lock only if the POA is not found while other
    /// POAs are constantly created and destroyed.
    pub(crate) fn at_path(&self, hash: u64, path: &[u8]) -> Option<Admission> {
        let look = |number| {
            let pass = self.poas.at(number)?.load();
            let here = pass.as_ref()?;
            let found =
                here.poa.policies.lifespan == Lifespan::Persistent && *here.poa.path == *path;
            found.then_some(pass)
        };
        self.by_path.find(hash, look).unwrap_or_else(|_| {
            let _tree = self.lock_tree();
            self.by_path.find(hash, look).expect("nobody else edits")
        })
    }

    /// Notifies all observers.
    pub(crate) fn observe(&self, tell: impl FnMut(&Arc<dyn AdapterObserver>)) {
        self.observers.load().iter().for_each(tell);
    }

    /// Notifies all observers, each of which may reject the change.
    pub(crate) fn try_observe(
        &self,
        tell: impl FnMut(&Arc<dyn AdapterObserver>) -> Result<(), SystemException>,
    ) -> Result<(), SystemException> {
        self.observers.load().iter().try_for_each(tell)
    }

    pub(crate) fn add_observer(&self, observer: Arc<dyn AdapterObserver>) {
        let _tree = self.lock_tree();
        let mut observers = Vec::clone(&self.observers.load());
        observers.push(observer);
        self.observers.store(Arc::new(observers));
    }

    /// Creates a manager. `None` generates an id.
    pub(crate) fn create_manager(&self, id: Option<&str>) -> Result<PoaManager, PoaError> {
        match id {
            Some(id) if self.managers().iter().any(|manager| manager.id() == id) => {
                Err(PoaError::ManagerAlreadyExists(id.to_owned()))
            }
            Some(id) => Ok(self.add_manager(id.to_owned())),
            None => {
                let number = self.next_manager.fetch_add(1, Ordering::Relaxed);
                Ok(self.add_manager(format!("POAManager{number}")))
            }
        }
    }

    fn add_manager(&self, id: String) -> PoaManager {
        let manager = PoaManager::new(id, Weak::clone(&self.this));
        let mut managers = self.managers.lock();
        managers.retain(|manager| manager.strong_count() > 0);
        managers.push(Arc::downgrade(manager.shared()));
        manager
    }

    pub(crate) fn managers(&self) -> Vec<PoaManager> {
        let managers = self.managers.lock();
        let managers = managers.iter().filter_map(Weak::upgrade);
        managers.map(PoaManager::of).collect()
    }
}

/// Returns the key in a reference to an object of this ORB.
pub(crate) fn own_key(object: &Ref) -> Option<Vec<u8>> {
    let protocols = &object.orb().options().protocols;
    object.ior().profiles.iter().find_map(|profile| {
        let kind = protocols.tagged(profile.tag)?.profile();
        Some(kind.read(profile).ok()?.key)
    })
}

/// Returns the reference as an untyped [`ObjectRef`].
pub(crate) fn untyped(reference: &Ref) -> ObjectRef {
    ObjectRef::from_ref(reference.clone())
}

/// Returns a random number that differs for every ORB, in this and in later processes.
fn first_incarnation() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}
