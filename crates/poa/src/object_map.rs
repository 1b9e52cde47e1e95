//! Active objects of one POA.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwapOption, Guard};
use oxorb_core::lock::Mutex;
use oxorb_core::{Scheduled, Servant};
use oxorb_perfect::PerfectHash;
use oxorb_rt::Priority;

use crate::PoaError;
use crate::buckets::Buckets;
use crate::etherealizer;
use crate::index::HashIndex;
use crate::poa::PoaInner;

/// Object slots, found by index, or by id for objects with application ids.
///
/// Readers take no lock. Activation and deactivation share one lock.
pub(crate) struct ObjectMap {
    slots: Buckets<Slot>,
    ids: Ids,
    hasher: RandomState,
    /// Number of slots that were ever used.
    used: AtomicU32,
    edit: Mutex<Edit>,
}

/// Mapping from ids to slots.
enum Ids {
    Hash(HashIndex),
    Linear,
    /// Perfect hash; the slot is the index in the list.
    Perfect(PerfectHash, Box<[Box<[u8]>]>),
}

#[derive(Default)]
struct Slot {
    /// Number of objects that have used this slot. Keys of all but the last are stale.
    issued: AtomicU32,
    /// Whether the slot is on the list of free slots. Accessed under the lock only.
    listed: AtomicBool,
    object: ArcSwapOption<ActiveObject>,
}

/// Object with the servant that incarnates it. Each running request holds a reference to it, so
/// dropping the last reference means that no request runs any more.
pub(crate) struct ActiveObject {
    pub(crate) servant: Arc<dyn Servant>,
    /// Id that the application assigned, or a system id whose slot another object uses now. `None`
    /// if the id consists of slot and generation.
    pub(crate) id: Option<Box<[u8]>>,
    pub(crate) place: Place,
    /// Priority of the object, in a POA with the server-declared model. `None` if that of the POA
    /// applies.
    pub(crate) priority: Option<Priority>,
    /// Entries of the run-time scheduler for the object's operations.
    pub(crate) scheduled: Option<Scheduled>,
    hash: u64,
    /// POA whose servant activator receives the servant at the end.
    exit: Option<Weak<PoaInner>>,
    /// Whether the object was deactivated, so that its servant must be returned after the last
    /// request.
    ended: AtomicBool,
    /// Whether the object was deactivated because its POA was destroyed or its manager deactivated.
    cleanup: AtomicBool,
}

#[derive(Default)]
struct Edit {
    free: Vec<u32>,
    identities: HashMap<usize, Identity>,
    /// Objects deactivated while requests ran.
    leaving: Vec<Weak<ActiveObject>>,
}

/// Reason why an object ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Deactivated,
    /// The object's POA was destroyed, or its manager was deactivated.
    Cleanup,
    /// The POA was destroyed without returning servants to the servant activator.
    Silent,
}

/// Use of one servant: its latest slot and the number of objects that it incarnates.
struct Identity {
    slot: u32,
    objects: usize,
}

/// Slot and generation of an object in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Active object, kept alive by this guard.
pub(crate) struct Found(Guard<Option<Arc<ActiveObject>>>);

impl std::ops::Deref for Found {
    type Target = ActiveObject;

    #[inline]
    fn deref(&self) -> &ActiveObject {
        self.0.as_ref().expect("looked at when it was found")
    }
}

/// Object to activate.
pub(crate) struct New<'a> {
    pub(crate) servant: Arc<dyn Servant>,
    /// Id; `None` if the system assigns it.
    pub(crate) id: Option<&'a [u8]>,
    /// Whether to reject a servant that already incarnates an object.
    pub(crate) unique: bool,
    pub(crate) exit: Option<Weak<PoaInner>>,
    pub(crate) priority: Option<Priority>,
    pub(crate) scheduled: Option<Scheduled>,
}

impl ObjectMap {
    pub(crate) fn hashed() -> Self {
        ObjectMap::new(Ids::Hash(HashIndex::new()))
    }

    pub(crate) fn linear() -> Self {
        ObjectMap::new(Ids::Linear)
    }

    /// Returns a map for exactly these ids; `None` if one occurs twice.
    pub(crate) fn perfect(ids: &[Box<[u8]>]) -> Option<Self> {
        let hash = PerfectHash::build(ids).ok()?;
        let map = ObjectMap::new(Ids::Perfect(hash, ids.into()));
        for slot in 0..ids.len() {
            map.slots.grow_to(slot as u32);
        }
        Some(map)
    }

    fn new(ids: Ids) -> Self {
        ObjectMap {
            slots: Buckets::new(),
            ids,
            hasher: RandomState::new(),
            used: AtomicU32::new(0),
            edit: Mutex::default(),
        }
    }

    /// Returns the object at `place`, if it is still there. Takes no lock and does not allocate.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> Option<Found> {
        let object = self.slots.at(place.slot)?.object.load();
        match &*object {
            Some(here) if here.place == place => Some(Found(object)),
            _ => None,
        }
    }

    /// Returns the object with an application id. Does not allocate, and takes a lock only if the
    /// object is not found while others are constantly activated and deactivated.
    pub(crate) fn with_id(&self, id: &[u8]) -> Option<Found> {
        let look = |slot| {
            let object = self.slots.at(slot)?.object.load();
            let here = object.as_ref()?;
            (here.id.as_deref() == Some(id)).then(|| Found(object))
        };
        match &self.ids {
            Ids::Hash(index) => {
                let hash = self.hasher.hash_one(id);
                index.find(hash, look).unwrap_or_else(|_| {
                    let _edit = self.edit.lock();
                    index.find(hash, look).expect("nobody else edits")
                })
            }
            Ids::Linear => (0..self.used.load(Ordering::Acquire)).find_map(look),
            Ids::Perfect(hash, _) => look(hash.find(id)? as u32),
        }
    }

    /// Returns an object by its place or, if it no longer has the place that its id encodes, by its
    /// id.
    pub(crate) fn find(&self, place: Option<Place>, id: &[u8]) -> Option<Found> {
        place.and_then(|place| self.at(place)).or_else(|| self.with_id(id))
    }

    /// Returns an object that was deactivated while requests ran, at least one of which still runs.
    pub(crate) fn leaving(&self, place: Place) -> Option<Arc<ActiveObject>> {
        let edit = self.edit.lock();
        let mut leaving = edit.leaving.iter().filter_map(Weak::upgrade);
        leaving.find(|object| object.place == place)
    }

    /// Returns an object that a servant incarnates, if there is one.
    pub(crate) fn incarnated_by(&self, servant: &dyn Servant) -> Option<Arc<ActiveObject>> {
        let edit = self.edit.lock();
        let identity = servant.identity();
        let last = edit.identities.get(&identity)?.slot;
        // Try the latest slot of the servant first. If the object there was deactivated, search all
        // slots for another object of the servant.
        let mut slots = std::iter::once(last).chain(0..self.used.load(Ordering::Acquire));
        slots.find_map(|slot| {
            let object = self.slots.at(slot)?.object.load_full()?;
            (object.servant.identity() == identity).then_some(object)
        })
    }

    /// Returns the number of objects that a servant incarnates.
    pub(crate) fn activations(&self, servant: &dyn Servant) -> usize {
        let edit = self.edit.lock();
        edit.identities.get(&servant.identity()).map_or(0, |identity| identity.objects)
    }

    /// Reserves a place for an object to be activated later, by its id.
    pub(crate) fn reserve(&self) -> Place {
        let mut edit = self.edit.lock();
        let place = self.fresh(&mut edit);
        self.list(&mut edit, place.slot);
        place
    }

    /// Reports whether a place was ever assigned.
    pub(crate) fn was_issued(&self, place: Place) -> bool {
        place.slot < self.used.load(Ordering::Acquire)
            && self
                .slots
                .at(place.slot)
                .is_some_and(|slot| place.generation < slot.issued.load(Ordering::Acquire))
    }

    /// Activates an object. `place` is the place that its id encodes, if it is a system id.
    pub(crate) fn insert(&self, new: New<'_>, place: Option<Place>) -> Result<Place, PoaError> {
        let mut edit = self.edit.lock();
        let identity = new.servant.identity();
        if new.unique && edit.identities.contains_key(&identity) {
            return Err(PoaError::ServantAlreadyActive);
        }
        if let Some(id) = new.id
            && self.find_locked(place, id)
        {
            return Err(PoaError::ObjectAlreadyActive);
        }
        let vacant = |place: &Place| {
            let slot = self.slots.at(place.slot);
            slot.is_some_and(|slot| slot.object.load().is_none())
        };
        let (place, id) = match (&self.ids, new.id, place) {
            (Ids::Perfect(hash, ids), Some(id), _) => {
                let slot = hash.find(id).filter(|slot| *ids[*slot] == *id);
                let slot = slot.ok_or(PoaError::UnknownId)? as u32;
                (self.issue(slot), Some(id))
            }
            // An object with a system id uses the place that the id encodes, if that place is free.
            (_, Some(_), Some(place)) if vacant(&place) => (place, None),
            (_, id, _) => (self.fresh(&mut edit), id),
        };
        let hash = id.map_or(0, |id| self.hasher.hash_one(id));
        let object = ActiveObject {
            servant: new.servant,
            id: id.map(Into::into),
            place,
            priority: new.priority,
            scheduled: new.scheduled,
            hash,
            exit: new.exit,
            ended: AtomicBool::new(false),
            cleanup: AtomicBool::new(false),
        };
        let slot = self.slots.at(place.slot).expect("issued");
        slot.object.store(Some(Arc::new(object)));
        if let (Ids::Hash(index), Some(_)) = (&self.ids, id) {
            index.insert(hash, place.slot);
        }
        let known =
            edit.identities.entry(identity).or_insert(Identity { slot: place.slot, objects: 0 });
        known.slot = place.slot;
        known.objects += 1;
        Ok(place)
    }

    /// Deactivates an object. Running requests keep the servant until they end.
    pub(crate) fn remove(&self, place: Option<Place>, id: &[u8]) -> Result<(), PoaError> {
        let mut edit = self.edit.lock();
        let found = place.and_then(|place| self.at(place)).or_else(|| {
            // Search the hash index directly, because `with_id` may take the lock that is held
            // here.
            match &self.ids {
                Ids::Hash(index) => index
                    .find(self.hasher.hash_one(id), |slot| self.named(slot, id))
                    .expect("nobody else edits"),
                _ => self.with_id(id),
            }
        });
        let slot = found.ok_or(PoaError::ObjectNotActive)?.place.slot;
        let object = self.vacate(&mut edit, slot, End::Deactivated);
        drop(edit);
        // Drop the object after the lock is released: if no request runs, this is the last
        // reference, and dropping it hands the servant to the etherealizer, which may take the
        // lock.
        drop(object);
        Ok(())
    }

    /// Deactivates all objects, because the POA or its manager ends. With `etherealize`, their
    /// servants are returned to the servant activator.
    pub(crate) fn clear(&self, etherealize: bool) {
        let mut ended = Vec::new();
        let mut edit = self.edit.lock();
        let slots = match &self.ids {
            Ids::Perfect(_, ids) => ids.len() as u32,
            _ => self.used.load(Ordering::Acquire),
        };
        for slot in 0..slots {
            let end = if etherealize { End::Cleanup } else { End::Silent };
            ended.extend(self.vacate(&mut edit, slot, end));
        }
        drop(edit);
    }

    fn vacate(&self, edit: &mut Edit, slot: u32, end: End) -> Option<Arc<ActiveObject>> {
        let cell = self.slots.at(slot)?;
        let object = cell.object.load_full()?;
        if end != End::Silent
            && let Some(poa) = object.exit.as_ref().and_then(Weak::upgrade)
        {
            object.cleanup.store(end == End::Cleanup, Ordering::Release);
            object.ended.store(true, Ordering::Release);
            poa.life.leave(&object.id_octets());
        }
        if let (Ids::Hash(index), Some(_)) = (&self.ids, &object.id) {
            index.remove(object.hash, slot);
        }
        cell.object.store(None);
        if let Some(identity) = edit.identities.get_mut(&object.servant.identity()) {
            identity.objects -= 1;
            if identity.objects == 0 {
                edit.identities.remove(&object.servant.identity());
            }
        }
        if edit.leaving.len() >= 16 && edit.leaving.len().is_power_of_two() {
            edit.leaving.retain(|object| object.strong_count() > 0);
        }
        // Apart from this function, only running requests hold references to the object now.
        if Arc::strong_count(&object) > 1 {
            edit.leaving.push(Arc::downgrade(&object));
        }
        if !matches!(self.ids, Ids::Perfect(..)) {
            self.list(edit, slot);
        }
        Some(object)
    }

    /// Returns a free slot with a generation that no object has had there.
    fn fresh(&self, edit: &mut Edit) -> Place {
        while let Some(slot) = edit.free.pop() {
            let cell = self.slots.at(slot).expect("used before");
            cell.listed.store(false, Ordering::Relaxed);
            if cell.object.load().is_none() {
                return self.issue(slot);
            }
        }
        let slot = self.used.load(Ordering::Relaxed);
        self.slots.grow_to(slot);
        let place = self.issue(slot);
        self.used.store(slot + 1, Ordering::Release);
        place
    }

    fn issue(&self, slot: u32) -> Place {
        let issued = &self.slots.at(slot).expect("made before").issued;
        Place { slot, generation: issued.fetch_add(1, Ordering::AcqRel) }
    }

    /// Adds a slot to the list of free ones, unless its generations are exhausted.
    fn list(&self, edit: &mut Edit, slot: u32) {
        let cell = self.slots.at(slot).expect("used before");
        if cell.issued.load(Ordering::Relaxed) < u32::MAX
            && !cell.listed.swap(true, Ordering::Relaxed)
        {
            edit.free.push(slot);
        }
    }

    /// Reports whether [`find`](Self::find) would find an object. The caller holds the lock.
    fn find_locked(&self, place: Option<Place>, id: &[u8]) -> bool {
        place.is_some_and(|place| self.at(place).is_some())
            || match &self.ids {
                Ids::Hash(index) => index
                    .find(self.hasher.hash_one(id), |slot| self.named(slot, id))
                    .expect("nobody else edits")
                    .is_some(),
                _ => self.with_id(id).is_some(),
            }
    }

    fn named(&self, slot: u32, id: &[u8]) -> Option<Found> {
        let object = self.slots.at(slot)?.object.load();
        let here = object.as_ref()?;
        (here.id.as_deref() == Some(id)).then(|| Found(object))
    }
}

impl Place {
    /// Returns the system id that encodes this place.
    pub(crate) fn to_id(self) -> [u8; 8] {
        let mut id = [0; 8];
        id[..4].copy_from_slice(&self.slot.to_le_bytes());
        id[4..].copy_from_slice(&self.generation.to_le_bytes());
        id
    }

    /// Returns the place that a system id encodes.
    pub(crate) fn of_id(id: &[u8]) -> Option<Place> {
        let (slot, generation) = id.split_first_chunk()?;
        Some(Place {
            slot: u32::from_le_bytes(*slot),
            generation: u32::from_le_bytes(generation.try_into().ok()?),
        })
    }
}

impl ActiveObject {
    /// Returns the object id.
    pub(crate) fn id_octets(&self) -> Box<[u8]> {
        match &self.id {
            Some(id) => id.clone(),
            None => self.place.to_id().into(),
        }
    }

    /// Calls `look` with the object id; allocates nothing.
    pub(crate) fn look_at_id(&self, look: impl FnOnce(&[u8])) {
        match &self.id {
            Some(id) => look(id),
            None => look(&self.place.to_id()),
        }
    }
}

impl Drop for ActiveObject {
    /// Reports the end of a deactivated object after its last request: the servant returns to the
    /// servant activator (`etherealize`).
    fn drop(&mut self) {
        if *self.ended.get_mut()
            && let Some(poa) = self.exit.as_ref().and_then(Weak::upgrade)
        {
            etherealizer::hand_over(etherealizer::Job {
                poa,
                id: self.id_octets(),
                servant: Arc::clone(&self.servant),
                cleanup: *self.cleanup.get_mut(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_core::{Outcome, Upcall};

    /// Servant of nonzero size: servants of size zero may share an address.
    struct Nothing(#[allow(dead_code)] u8);

    impl Servant for Nothing {
        fn repository_id(&self) -> &str {
            "IDL:Nothing:1.0"
        }

        fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
            upcall.unknown_operation()
        }
    }

    fn insert(map: &ObjectMap, id: Option<&[u8]>) -> Result<Place, PoaError> {
        insert_at(map, id, None)
    }

    fn insert_at(
        map: &ObjectMap,
        id: Option<&[u8]>,
        place: Option<Place>,
    ) -> Result<Place, PoaError> {
        let new = New {
            servant: Arc::new(Nothing(0)),
            id,
            unique: true,
            exit: None,
            priority: None,
            scheduled: None,
        };
        map.insert(new, place)
    }

    #[test]
    fn a_key_of_an_earlier_object_in_the_slot_is_stale() {
        let map = ObjectMap::hashed();
        let first = insert(&map, None).unwrap();
        map.remove(Some(first), b"").unwrap();
        let second = insert(&map, None).unwrap();
        assert_eq!(first.slot, second.slot);
        assert!(map.at(first).is_none());
        assert!(map.at(second).is_some());
        assert!(map.remove(Some(first), b"").is_err());
    }

    #[test]
    fn a_forged_slot_is_nothing() {
        let map = ObjectMap::hashed();
        insert(&map, None).unwrap();
        for (slot, generation) in [(u32::MAX, 0), (1, 0), (0, 1), (0, u32::MAX)] {
            assert!(map.at(Place { slot, generation }).is_none());
            assert!(!map.was_issued(Place { slot, generation }));
        }
    }

    #[test]
    fn ids_are_unique_and_free_again_after_removal() {
        let known: [Box<[u8]>; 2] = [(*b"six").into(), (*b"seven").into()];
        for map in [ObjectMap::hashed(), ObjectMap::linear(), ObjectMap::perfect(&known).unwrap()] {
            insert(&map, Some(b"seven")).unwrap();
            assert!(matches!(insert(&map, Some(b"seven")), Err(PoaError::ObjectAlreadyActive)));
            assert!(map.with_id(b"seven").is_some());
            assert!(map.with_id(b"six").is_none());
            assert!(map.with_id(b"eight").is_none());
            map.remove(None, b"seven").unwrap();
            assert!(map.with_id(b"seven").is_none());
            insert(&map, Some(b"seven")).unwrap();
            map.clear(true);
            assert!(map.with_id(b"seven").is_none());
        }
    }

    #[test]
    fn a_perfect_map_knows_its_ids_and_no_others() {
        let known: [Box<[u8]>; 2] = [(*b"six").into(), (*b"seven").into()];
        let map = ObjectMap::perfect(&known).unwrap();
        assert!(matches!(insert(&map, Some(b"eight")), Err(PoaError::UnknownId)));
        assert!(ObjectMap::perfect(&[(*b"six").into(), (*b"six").into()]).is_none());
    }

    #[test]
    fn an_old_system_id_lives_again_even_if_its_slot_is_taken() {
        let map = ObjectMap::hashed();
        let old = insert(&map, None).unwrap();
        map.remove(Some(old), b"").unwrap();
        // The place that the id encodes is free, so the object gets it.
        assert_eq!(insert_at(&map, Some(&old.to_id()), Some(old)).unwrap(), old);
        map.remove(Some(old), b"").unwrap();
        let other = insert(&map, None).unwrap();
        assert_eq!(other.slot, old.slot);
        insert_at(&map, Some(&old.to_id()), Some(old)).unwrap();
        assert!(map.at(old).is_none());
        assert!(map.find(Some(old), &old.to_id()).is_some());
        assert!(map.at(other).is_some());
    }

    #[test]
    fn a_reserved_place_is_given_to_nobody_else() {
        let map = ObjectMap::hashed();
        let reserved = map.reserve();
        assert!(map.was_issued(reserved));
        assert_ne!(insert(&map, None).unwrap(), reserved);
    }

    #[test]
    fn many_objects_are_found_and_cleared() {
        let map = ObjectMap::hashed();
        let places: Vec<_> = (0..1000).map(|_| insert(&map, None).unwrap()).collect();
        assert!(places.iter().all(|place| map.at(*place).is_some()));
        map.clear(true);
        assert!(!places.iter().any(|place| map.at(*place).is_some()));
    }
}
