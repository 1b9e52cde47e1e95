//! All POAs of an ORB, as the core sees them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use oxorb_cdr::Encode as _;
use oxorb_core::lock::Mutex;
use oxorb_core::{Adapter, Located, Orb, Outcome, Ref, Upcall, WeakOrb};
use oxorb_giop::{CompletionStatus, SystemException, minor};

use crate::key::Key;
use crate::object_map::{ActiveObject, Place};
use crate::poa::{Poa, PoaInner};
use crate::{ManagerState, PoaManager, Policies};

/// Plain names, and the keys they stand for.
type Names = HashMap<Box<[u8]>, Box<[u8]>>;

/// The root of the POA tree and the table by which keys find their POA.
pub struct RootAdapter {
    orb: WeakOrb,
    /// Differs for each start, and counts on for each POA: see [`Key`].
    next_incarnation: AtomicU64,
    /// By the number in the key; that of a destroyed POA is given to another,
    /// which has an incarnation of its own.
    poas: ArcSwap<Vec<Option<Arc<PoaInner>>>>,
    /// By the path in the key, for persistent objects.
    by_path: ArcSwap<HashMap<Box<[u8]>, Arc<PoaInner>>>,
    /// Plain names for use in `corbaloc:` URLs, and the keys they stand for.
    names: ArcSwap<Names>,
    /// One change of the tables above at a time; readers take no lock.
    pub(crate) tree: Mutex<()>,
}

impl RootAdapter {
    /// The adapter of an ORB, with its root POA. The ORB calls it from now on.
    pub fn install(orb: &Orb) -> Poa {
        let adapter = Arc::new(RootAdapter {
            orb: orb.downgrade(),
            next_incarnation: AtomicU64::new(first_incarnation()),
            poas: ArcSwap::default(),
            by_path: ArcSwap::default(),
            names: ArcSwap::default(),
            tree: Mutex::default(),
        });
        let root = Poa::new(
            &adapter,
            Weak::new(),
            "RootPOA",
            Box::default(),
            Policies::ROOT,
            PoaManager::new(),
        );
        orb.set_adapter(adapter);
        root
    }

    /// Makes `corbaloc::host:port/name` lead to an object of this ORB.
    pub fn bind_name(&self, name: &str, object: &Ref) {
        if let Some(key) = own_key(object) {
            let _tree = self.tree.lock().expect(UNPOISONED);
            let mut names = HashMap::clone(&self.names.load());
            names.insert(name.as_bytes().into(), key.into());
            self.names.store(Arc::new(names));
        }
    }

    pub(crate) fn orb(&self) -> Option<Orb> {
        self.orb.upgrade()
    }

    /// Gives a POA its number, its incarnation and its place by path. For the
    /// holder of `tree`.
    pub(crate) fn enlist(&self, make: impl FnOnce(u32, u64) -> Arc<PoaInner>) -> Arc<PoaInner> {
        let mut poas = Vec::clone(&self.poas.load());
        let free = poas.iter().position(Option::is_none);
        let number = free.unwrap_or(poas.len());
        let incarnation = self.next_incarnation.fetch_add(1, Ordering::Relaxed);
        let poa = make(number as u32, incarnation);
        match poas.get_mut(number) {
            Some(place) => *place = Some(Arc::clone(&poa)),
            None => poas.push(Some(Arc::clone(&poa))),
        }
        let mut by_path = HashMap::clone(&self.by_path.load());
        by_path.insert(poa.path.clone(), Arc::clone(&poa));
        self.by_path.store(Arc::new(by_path));
        self.poas.store(Arc::new(poas));
        poa
    }

    /// Forgets a POA. For the holder of `tree`.
    pub(crate) fn delist(&self, poa: &PoaInner) {
        let mut poas = Vec::clone(&self.poas.load());
        poas[poa.number as usize] = None;
        let mut by_path = HashMap::clone(&self.by_path.load());
        by_path.remove(&poa.path);
        self.by_path.store(Arc::new(by_path));
        self.poas.store(Arc::new(poas));
    }

    /// Finds the object of a key, if its POA admits requests.
    fn with<R>(
        &self,
        key: &[u8],
        serve: impl FnOnce(Result<&ActiveObject, SystemException>) -> R,
    ) -> R {
        match Key::parse(key) {
            Some(Key::Active {
                incarnation,
                poa,
                slot,
                generation,
            }) => {
                let poas = self.poas.load();
                match numbered(&poas, poa, incarnation) {
                    Ok(poa) => poa.objects.with(Place { slot, generation }, |object| {
                        serve(object.ok_or(NO_OBJECT))
                    }),
                    Err(exception) => serve(Err(exception)),
                }
            }
            Some(Key::Transient {
                incarnation,
                poa,
                id,
            }) => {
                let poas = self.poas.load();
                match numbered(&poas, poa, incarnation) {
                    Ok(poa) => poa
                        .objects
                        .with_id(id, |object| serve(object.ok_or(NO_OBJECT))),
                    Err(exception) => serve(Err(exception)),
                }
            }
            Some(Key::Persistent { path, id }) => {
                let by_path = self.by_path.load();
                match admitted(by_path.get(path).map(|poa| &**poa)) {
                    Ok(poa) => poa
                        .objects
                        .with_id(id, |object| serve(object.ok_or(NO_OBJECT))),
                    Err(exception) => serve(Err(exception)),
                }
            }
            None => {
                let names = self.names.load();
                match names.get(key) {
                    // A name for an object of another server leads nowhere, least
                    // of all to itself.
                    Some(key) if Key::parse(key).is_some() => self.with(key, serve),
                    _ => serve(Err(NO_ADAPTER)),
                }
            }
        }
    }
}

/// The POA of a key, unless the key is one of an earlier POA or an earlier run.
fn numbered(
    poas: &[Option<Arc<PoaInner>>],
    number: u32,
    incarnation: u64,
) -> Result<&PoaInner, SystemException> {
    let poa = poas.get(number as usize).and_then(|poa| poa.as_deref());
    admitted(poa.filter(|poa| poa.incarnation == incarnation))
}

/// A POA that exists and lets requests pass.
fn admitted(poa: Option<&PoaInner>) -> Result<&PoaInner, SystemException> {
    let poa = poa.ok_or(NO_ADAPTER)?;
    poa.manager.admit()?;
    Ok(poa)
}

impl Adapter for RootAdapter {
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let key = upcall.object_key();
        self.with(key, |object| match object {
            Ok(object) => call(object, upcall),
            Err(exception) => refuse(exception, upcall),
        })
    }

    fn locate(&self, key: &[u8]) -> Located {
        self.with(key, |object| match object {
            Ok(_) => Located::Here,
            Err(_) => Located::Unknown,
        })
    }

    fn closing(&self) {
        for poa in self.poas.load().iter().flatten() {
            poa.manager.release();
        }
    }

    fn close(&self) {
        for poa in self.poas.load().iter().flatten() {
            if poa.manager.state() != ManagerState::Inactive {
                poa.manager.deactivate();
            }
            poa.objects.clear();
        }
    }
}

/// Answers what every object answers, and lets the servant do the rest.
fn call(object: &ActiveObject, mut upcall: Upcall<'_>) -> Outcome {
    let operation = upcall.operation();
    if !operation.starts_with('_') {
        return object.servant.dispatch(upcall);
    }
    match operation {
        "_is_a" => match upcall.args(|d| d.string()) {
            Ok(id) => {
                let yes = object.servant.is_a(&id);
                upcall.reply(|e| {
                    e.boolean(yes);
                    Ok(())
                })
            }
            Err(rejected) => upcall.reject(rejected),
        },
        "_non_existent" | "_not_existent" => upcall.reply(|e| {
            e.boolean(false);
            Ok(())
        }),
        "_repository_id" => upcall.reply(|e| e.string(object.servant.repository_id())),
        "_interface" => interface(object, upcall),
        "_component" => upcall.reply(|e| oxorb_core::encode_ref::<oxorb_core::ObjectRef>(e, None)),
        _ => object.servant.dispatch(upcall),
    }
}

/// The object's entry in the Interface Repository that the ORB knows, if it
/// knows one.
fn interface(object: &ActiveObject, upcall: Upcall<'_>) -> Outcome {
    match upcall.orb().interface_of(object.servant.repository_id()) {
        Ok(entry) => upcall.reply(|e| oxorb_core::encode_ref(e, entry.as_ref())),
        Err(exception) => upcall.fail(exception),
    }
}

/// An object that is not there can still say so.
fn refuse(exception: SystemException, upcall: Upcall<'_>) -> Outcome {
    let asks = matches!(upcall.operation(), "_non_existent" | "_not_existent");
    if asks && (exception == NO_OBJECT || exception == NO_ADAPTER) {
        return upcall.reply(|e| true.encode(e));
    }
    upcall.fail(exception)
}

/// The key in a reference that leads to this very ORB.
pub(crate) fn own_key(object: &Ref) -> Option<Vec<u8>> {
    object
        .ior()
        .profiles
        .iter()
        .find_map(|profile| oxorb_giop::IiopProfile::parse(profile).ok())
        .map(|profile| profile.object_key)
}

/// Random: differs for every ORB, in this and in later processes.
fn first_incarnation() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}

const UNPOISONED: &str = "no panic while the lock is held";

const NO_ADAPTER: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_POA, CompletionStatus::No);

const NO_OBJECT: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);
