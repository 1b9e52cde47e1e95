//! The active objects of one POA.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};

use arc_swap::{ArcSwap, ArcSwapOption};
use oxorb_core::Servant;
use oxorb_core::lock::{Mutex, RwLock};

use crate::PoaError;

/// Slots are allotted in chunks, so that growing copies pointers, not slots,
/// and a slot never moves while somebody reads it.
const CHUNK: usize = 64;

/// Object slots, found by index, and for objects with names of their own by id.
///
/// Readers take no lock on the way by index. Activation and deactivation take
/// one among themselves.
pub(crate) struct ObjectMap {
    chunks: ArcSwap<Vec<Arc<[Slot; CHUNK]>>>,
    by_id: RwLock<HashMap<Box<[u8]>, u32>>,
    edit: Mutex<Edit>,
}

struct Slot {
    /// Counts the objects that lived here: a key of an earlier one is stale.
    generation: AtomicU32,
    object: ArcSwapOption<ActiveObject>,
}

/// An object and the servant that incarnates it.
pub(crate) struct ActiveObject {
    pub(crate) servant: Arc<dyn Servant>,
    /// The id the application gave; `None` for ids made of slot and generation.
    pub(crate) id: Option<Box<[u8]>>,
    /// Tells servants apart; see [`Poa::this`](crate::Poa::this).
    pub(crate) identity: Option<usize>,
    generation: u32,
}

#[derive(Default)]
struct Edit {
    used: u32,
    free: Vec<u32>,
    by_identity: HashMap<usize, u32>,
}

/// Where an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl ObjectMap {
    pub(crate) fn new() -> Self {
        ObjectMap {
            chunks: ArcSwap::default(),
            by_id: RwLock::default(),
            edit: Mutex::default(),
        }
    }

    /// Calls `serve` with the object at `place`, or with nothing if it is not
    /// there (any more). No lock, no allocation.
    pub(crate) fn with<R>(
        &self,
        place: Place,
        serve: impl FnOnce(Option<&ActiveObject>) -> R,
    ) -> R {
        let chunks = self.chunks.load();
        let index = place.slot as usize;
        let Some(chunk) = chunks.get(index / CHUNK) else {
            return serve(None);
        };
        let object = chunk[index % CHUNK].object.load();
        serve(
            object
                .as_deref()
                .filter(|object| object.generation == place.generation),
        )
    }

    /// Like [`with`](Self::with), by the application's id: one hash and a
    /// read lock.
    pub(crate) fn with_id<R>(
        &self,
        id: &[u8],
        serve: impl FnOnce(Option<&ActiveObject>) -> R,
    ) -> R {
        let slot = self.by_id.read().expect(UNPOISONED).get(id).copied();
        let chunks = self.chunks.load();
        let object = slot.map(|slot| {
            let slot = slot as usize;
            chunks[slot / CHUNK][slot % CHUNK].object.load()
        });
        serve(
            object
                .as_ref()
                .and_then(|object| object.as_deref())
                .filter(|object| object.id.as_deref() == Some(id)),
        )
    }

    /// Where a servant's object is, if it incarnates one.
    pub(crate) fn find_identity(&self, identity: usize) -> Option<(Place, Option<Box<[u8]>>)> {
        let edit = self.edit();
        let slot = *edit.by_identity.get(&identity)?;
        let object = self.slot(slot, |slot| slot.object.load_full())?;
        let place = Place {
            slot,
            generation: object.generation,
        };
        Some((place, object.id.clone()))
    }

    /// Activates an object. With `unique`, a servant that incarnates another
    /// one is refused.
    pub(crate) fn insert(
        &self,
        servant: Arc<dyn Servant>,
        id: Option<&[u8]>,
        identity: Option<usize>,
        unique: bool,
    ) -> Result<Place, PoaError> {
        let mut edit = self.edit();
        if let Some(identity) = identity
            && unique
            && edit.by_identity.contains_key(&identity)
        {
            return Err(PoaError::ServantAlreadyActive);
        }
        let mut by_id = id.map(|id| (id, self.by_id.write().expect(UNPOISONED)));
        if let Some((id, by_id)) = &by_id
            && by_id.contains_key(*id)
        {
            return Err(PoaError::ObjectAlreadyActive);
        }
        let slot = edit.free.pop().unwrap_or_else(|| self.grow(&mut edit));
        let generation = self.slot(slot, |slot| {
            let generation = slot.generation.load(Ordering::Relaxed);
            slot.object.store(Some(Arc::new(ActiveObject {
                servant,
                id: id.map(Into::into),
                identity,
                generation,
            })));
            generation
        });
        if let Some((id, by_id)) = &mut by_id {
            by_id.insert((*id).into(), slot);
        }
        if let Some(identity) = identity {
            edit.by_identity.insert(identity, slot);
        }
        Ok(Place { slot, generation })
    }

    /// Deactivates by place. Requests that run keep the servant until they end.
    pub(crate) fn remove(&self, place: Place) -> Result<(), PoaError> {
        let mut edit = self.edit();
        let here = self.with(place, |object| object.is_some());
        if !here {
            return Err(PoaError::ObjectNotActive);
        }
        self.vacate(&mut edit, place.slot);
        Ok(())
    }

    /// Deactivates by the application's id.
    pub(crate) fn remove_id(&self, id: &[u8]) -> Result<(), PoaError> {
        let mut edit = self.edit();
        let slot = self.by_id.read().expect(UNPOISONED).get(id).copied();
        self.vacate(&mut edit, slot.ok_or(PoaError::ObjectNotActive)?);
        Ok(())
    }

    /// Deactivates all.
    pub(crate) fn clear(&self) {
        let mut edit = self.edit();
        for slot in 0..edit.used {
            if self.slot(slot, |slot| slot.object.load().is_some()) {
                self.vacate(&mut edit, slot);
            }
        }
    }

    fn vacate(&self, edit: &mut Edit, slot: u32) {
        let object = self.slot(slot, |slot| {
            slot.generation.fetch_add(1, Ordering::Relaxed);
            slot.object.swap(None)
        });
        if let Some(object) = object {
            if let Some(id) = &object.id {
                self.by_id.write().expect(UNPOISONED).remove(id);
            }
            if let Some(identity) = object.identity
                && edit.by_identity.get(&identity) == Some(&slot)
            {
                edit.by_identity.remove(&identity);
            }
        }
        edit.free.push(slot);
    }

    fn grow(&self, edit: &mut Edit) -> u32 {
        let slot = edit.used;
        edit.used += 1;
        if (slot as usize).is_multiple_of(CHUNK) {
            let mut chunks = Vec::clone(&self.chunks.load());
            chunks.push(Arc::new(std::array::from_fn(|_| Slot {
                generation: AtomicU32::new(0),
                object: ArcSwapOption::empty(),
            })));
            self.chunks.store(Arc::new(chunks));
        }
        slot
    }

    fn slot<R>(&self, slot: u32, act: impl FnOnce(&Slot) -> R) -> R {
        act(&self.chunks.load()[slot as usize / CHUNK][slot as usize % CHUNK])
    }

    fn edit(&self) -> MutexGuard<'_, Edit> {
        self.edit.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_core::{Outcome, Upcall};

    struct Nothing;

    impl Servant for Nothing {
        fn repository_id(&self) -> &str {
            "IDL:Nothing:1.0"
        }

        fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
            upcall.unknown_operation()
        }
    }

    fn insert(map: &ObjectMap, id: Option<&[u8]>) -> Result<Place, PoaError> {
        map.insert(Arc::new(Nothing), id, None, true)
    }

    #[test]
    fn a_key_of_an_earlier_object_in_the_slot_is_stale() {
        let map = ObjectMap::new();
        let first = insert(&map, None).unwrap();
        map.remove(first).unwrap();
        let second = insert(&map, None).unwrap();
        assert_eq!(first.slot, second.slot);
        assert!(!map.with(first, |object| object.is_some()));
        assert!(map.with(second, |object| object.is_some()));
        assert!(map.remove(first).is_err());
    }

    #[test]
    fn a_forged_slot_is_nothing() {
        let map = ObjectMap::new();
        let forged = Place {
            slot: u32::MAX,
            generation: 0,
        };
        assert!(!map.with(forged, |object| object.is_some()));
    }

    #[test]
    fn ids_are_unique_and_free_again_after_removal() {
        let map = ObjectMap::new();
        insert(&map, Some(b"seven")).unwrap();
        assert!(matches!(
            insert(&map, Some(b"seven")),
            Err(PoaError::ObjectAlreadyActive)
        ));
        assert!(map.with_id(b"seven", |object| object.is_some()));
        map.remove_id(b"seven").unwrap();
        assert!(!map.with_id(b"seven", |object| object.is_some()));
        insert(&map, Some(b"seven")).unwrap();
    }

    #[test]
    fn many_objects_are_found_and_cleared() {
        let map = ObjectMap::new();
        let places: Vec<_> = (0..1000).map(|_| insert(&map, None).unwrap()).collect();
        assert!(
            places
                .iter()
                .all(|place| map.with(*place, |object| object.is_some()))
        );
        map.clear();
        assert!(
            !places
                .iter()
                .any(|place| map.with(*place, |object| object.is_some()))
        );
    }
}
