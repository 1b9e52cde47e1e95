//! Lists of event types (subscriptions and offers), their union in a channel, and notifications about changes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::etcl::event_type;
use oxorb::{SystemException, minor};
use oxorb_sys::sync::{Mutex, MutexGuard, RwLock};

use crate::cos_notification::EventType;
use crate::event::{self, Event};
use crate::memory::{self, Charge, Memory};
use crate::problem::too_many;

/// The subscription or offer of one proxy or admin.
pub(crate) struct Types {
    listed: RwLock<Listed>,
    memory: Arc<Memory>,
}

struct Listed {
    types: Vec<EventType>,
    _charge: Charge,
}

/// Number of copies of a list in memory: the list itself, and two in the channel's census if the proxy is connected.
const COPIES: usize = 3;

impl Types {
    /// Returns the list with the pattern that covers all types.
    pub(crate) fn everything() -> Vec<EventType> {
        vec![EventType { domain_name: "*".to_owned(), type_name: "%ALL".to_owned() }]
    }

    /// Creates a list and charges its memory. Raises IMP_LIMIT, minor `EVENT_HELD`, if the limit would be exceeded. The
    /// limit does not apply to a list that was accepted before.
    pub(crate) fn of(
        types: Vec<EventType>,
        memory: &Arc<Memory>,
        admitted: bool,
    ) -> Result<Types, SystemException> {
        let octets = COPIES * memory::of_types(&types);
        let charge = match admitted {
            true => memory.charge_admitted(octets),
            false => memory.charge(octets)?,
        };
        let listed = RwLock::new(Listed { types, _charge: charge });
        Ok(Types { listed, memory: Arc::clone(memory) })
    }

    pub(crate) fn restore(&self, types: Vec<EventType>) {
        let charge = self.memory.charge_admitted(COPIES * memory::of_types(&types));
        *self.listed.write() = Listed { types, _charge: charge };
    }

    pub(crate) fn list(&self) -> Vec<EventType> {
        self.listed.read().types.clone()
    }

    pub(crate) fn cover(&self, event: &Event) -> bool {
        let listed = self.listed.read();
        let of = event.type_name();
        listed.types.iter().any(|one| event::event_type(one).covers(of))
    }

    /// Changes the list, and returns the types that were added and removed.
    pub(crate) fn change(
        &self,
        added: &[EventType],
        removed: &[EventType],
        most: usize,
    ) -> Result<event_type::Changed<EventType>, SystemException> {
        let full = too_many(minor::imp_limit::EVENT_TYPES);
        if added.len() > most || removed.len() > most {
            return Err(full);
        }
        let mut listed = self.listed.write();
        let mut changed = listed.types.clone();
        let difference = event_type::change(&mut changed, added, removed, event::event_type);
        if changed.len() > most {
            return Err(full);
        }
        let octets = [&listed.types, &changed].map(|types| COPIES * memory::of_types(types));
        let charge = match octets {
            // A change that needs no additional memory is accepted even if the limit is already exceeded.
            [before, after] if after <= before => self.memory.charge_admitted(after),
            [_, after] => self.memory.charge(after)?,
        };
        *listed = Listed { types: changed, _charge: charge };
        Ok(difference)
    }
}

/// The types of all connected proxies of one side of a channel.
#[derive(Default)]
pub(crate) struct Census(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    /// Types that are counted for each connected proxy.
    proxies: BTreeMap<i32, Vec<EventType>>,
    /// Number of proxies for each type.
    types: BTreeMap<(String, String), usize>,
}

impl Census {
    /// Adds a connected proxy. Returns whether the set of types has changed.
    pub(crate) fn join(&self, id: i32, types: &Types) -> bool {
        self.lock().set(id, types.list())
    }

    /// Updates the types of a proxy if it is connected. Returns whether the set of types has changed.
    pub(crate) fn update(&self, id: i32, types: &Types) -> bool {
        let mut counted = self.lock();
        // Read the types under the lock, so that the later of two concurrent changes determines the result.
        counted.proxies.contains_key(&id) && counted.set(id, types.list())
    }

    /// Removes a proxy. Returns whether the set of types has changed.
    pub(crate) fn leave(&self, id: i32) -> bool {
        let mut counted = self.lock();
        let changed = counted.set(id, Vec::new());
        counted.proxies.remove(&id);
        changed
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock()
    }

    pub(crate) fn types(&self) -> Vec<EventType> {
        let counted = self.lock();
        let types = counted.types.keys().map(|(domain, name)| EventType {
            domain_name: domain.clone(),
            type_name: name.clone(),
        });
        types.collect()
    }
}

impl Counted {
    fn set(&mut self, id: i32, types: Vec<EventType>) -> bool {
        let mut changed = false;
        for one in types.iter().filter(|one| !event::event_type(one).is_all()) {
            let count = self.types.entry(key(one)).or_insert(0);
            *count += 1;
            changed |= *count == 1;
        }
        let before = self.proxies.insert(id, types).unwrap_or_default();
        for one in before.iter().filter(|one| !event::event_type(one).is_all()) {
            if let Entry::Occupied(mut count) = self.types.entry(key(one)) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                    changed = true;
                }
            }
        }
        changed
    }
}

fn key(one: &EventType) -> (String, String) {
    (one.domain_name.clone(), one.type_name.clone())
}

/// The types of the other side of the channel that the peer of a proxy knows.
pub(crate) struct Told {
    wanted: AtomicBool,
    types: Mutex<Vec<EventType>>,
}

impl Told {
    pub(crate) fn new(wanted: bool) -> Told {
        Told { wanted: AtomicBool::new(wanted), types: Mutex::default() }
    }

    pub(crate) fn want(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Records that the peer knows exactly these types.
    pub(crate) fn knows(&self, types: Vec<EventType>) {
        *self.types.lock() = types;
    }

    /// Returns the types that must be added to and removed from those that the peer knows; `None` if the peer already
    /// knows exactly `types`. After the notification, call [`knows`](Self::knows).
    pub(crate) fn news(&self, types: &[EventType]) -> Option<(Vec<EventType>, Vec<EventType>)> {
        let told = self.types.lock();
        let without = |list: &[EventType], other: &[EventType]| -> Vec<EventType> {
            let known: HashSet<&EventType> = other.iter().collect();
            let fresh = list.iter().filter(|one| !known.contains(one));
            fresh.cloned().collect()
        };
        let (added, removed) = (without(types, &told), without(&told, types));
        (!added.is_empty() || !removed.is_empty()).then_some((added, removed))
    }
}
