//! Lists of event types: subscriptions and offers, what a channel has of them, and who is told.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use oxorb::{SystemException, minor};
use oxorb_filter::event_type;

use crate::cos_notification::EventType;
use crate::event::{self, Event};
use crate::problem::too_many;

/// Subscription or offer of one proxy or admin.
pub(crate) struct Types(RwLock<Vec<EventType>>);

impl Types {
    /// Returns a list of all types.
    pub(crate) fn all() -> Types {
        Types::of(vec![EventType {
            domain_name: "*".to_owned(),
            type_name: "%ALL".to_owned(),
        }])
    }

    pub(crate) fn of(list: Vec<EventType>) -> Types {
        Types(RwLock::new(list))
    }

    pub(crate) fn list(&self) -> Vec<EventType> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn cover(&self, event: &Event) -> bool {
        let list = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of = event.type_name();
        list.iter().any(|one| event::event_type(one).covers(of))
    }

    /// Changes the list; returns what is new and what is gone.
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
        let mut list = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = list.clone();
        let difference = event_type::change(&mut changed, added, removed, event::event_type);
        if changed.len() > most {
            return Err(full);
        }
        *list = changed;
        Ok(difference)
    }
}

/// Types that the connected proxies of one side of a channel have, with the number of proxies.
#[derive(Default)]
pub(crate) struct Census(Mutex<BTreeMap<(String, String), usize>>);

impl Census {
    /// Counts types in and out; reports whether the set of types has changed.
    pub(crate) fn change(&self, added: &[EventType], removed: &[EventType]) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = false;
        for one in added.iter().filter(|one| !event::event_type(one).is_all()) {
            let key = (one.domain_name.clone(), one.type_name.clone());
            let count = counts.entry(key).or_insert(0);
            *count += 1;
            changed |= *count == 1;
        }
        for one in removed {
            let key = (one.domain_name.clone(), one.type_name.clone());
            if let Some(count) = counts.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&key);
                    changed = true;
                }
            }
        }
        changed
    }

    pub(crate) fn types(&self) -> Vec<EventType> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let types = counts.keys().map(|(domain, name)| EventType {
            domain_name: domain.clone(),
            type_name: name.clone(),
        });
        types.collect()
    }
}

/// What the peer of a proxy knows of the types of the channel's other side.
pub(crate) struct Told {
    wanted: AtomicBool,
    types: Mutex<Vec<EventType>>,
}

impl Told {
    pub(crate) fn new(wanted: bool) -> Told {
        Told {
            wanted: AtomicBool::new(wanted),
            types: Mutex::default(),
        }
    }

    pub(crate) fn want(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Notes that the peer knows these types.
    pub(crate) fn knows(&self, types: Vec<EventType>) {
        *self.types.lock().unwrap_or_else(PoisonError::into_inner) = types;
    }

    /// Returns what to tell the peer so that it knows these types; `None` if it does.
    pub(crate) fn news(&self, types: Vec<EventType>) -> Option<(Vec<EventType>, Vec<EventType>)> {
        let mut told = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        let without = |list: &[EventType], other: &[EventType]| -> Vec<EventType> {
            let known: HashSet<&EventType> = other.iter().collect();
            let fresh = list.iter().filter(|one| !known.contains(one));
            fresh.cloned().collect()
        };
        let (added, removed) = (without(&types, &told), without(&told, &types));
        *told = types;
        (!added.is_empty() || !removed.is_empty()).then_some((added, removed))
    }
}
