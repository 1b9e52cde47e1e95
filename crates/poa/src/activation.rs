//! Activation and deactivation of objects: the association between servants and objects.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

use oxorb_core::{Interface, Ref, Scheduled, Servant, ServedBy};

use crate::adapter::own_key;
use crate::current;
use crate::key::Key;
use crate::object_map::{New, Place};
use crate::poa::{Poa, PoaInner, ServantManager};
use crate::policies::{IdAssignment, IdUniqueness, RequestProcessing, ServantRetention};
use crate::refusal::{NO_SERVANT_MANAGER, SERVANT_MANAGER_SET};
use crate::{ObjectId, PoaError, ServantActivator, ServantLocator};

impl Poa {
    /// Activates a servant under an id that the POA creates, and returns the object's reference
    /// (`activate_object`, `id_to_reference`).
    ///
    /// The servant may be a value, or an `Arc` that the application shares:
    /// `let account: bank::AccountRef = poa.activate(Teller::new())?;`
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`IdAssignment::System`] and
    /// [`ServantRetention::Retain`]; [`PoaError::ServantAlreadyActive`].
    pub fn activate<I: ServedBy<S>, S>(&self, servant: S) -> Result<I, PoaError> {
        self.activate_servant(I::servant(servant)).map(I::from_ref)
    }

    /// Activates a servant under an id that the application chooses (`activate_object_with_id`).
    /// With [`IdAssignment::System`] it must be an id that this POA created.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`ServantRetention::Retain`];
    /// [`PoaError::ObjectAlreadyActive`], also if a servant activator has not received the object's
    /// previous servant back; outside a request, the function first waits for that, for at most
    /// `-ORBHoldTime`; [`PoaError::ServantAlreadyActive`]; [`PoaError::UnknownId`].
    pub fn activate_with_id<I: ServedBy<S>, S>(
        &self,
        id: impl Into<ObjectId>,
        servant: S,
    ) -> Result<I, PoaError> {
        self.activate_servant_with_id(&id.into(), I::servant(servant)).map(I::from_ref)
    }

    /// Activates a servant without a static type, like [`activate`](Self::activate).
    ///
    /// # Errors
    /// Those of [`activate`](Self::activate).
    pub fn activate_servant(&self, servant: Arc<dyn Servant>) -> Result<Ref, PoaError> {
        self.retains()?;
        if self.inner.policies.id_assignment == IdAssignment::User {
            return Err(PoaError::WrongPolicy(
                "the application assigns the ids of this POA: use activate_with_id",
            ));
        }
        let type_id = servant.repository_id().to_owned();
        let id = match self.inner.policies.active_keys() {
            true => None,
            false => Some(self.new_id()),
        };
        let place = self.insert(servant, id.as_ref())?;
        let id = id.unwrap_or_else(|| place.to_id().as_slice().into());
        self.reference_to(&id, &type_id).inspect_err(|_| {
            let _ = self.inner.objects.remove(Some(place), id.as_bytes());
        })
    }

    /// Activates a servant under a plain name, like [`activate`](Self::activate) and
    /// [`bind_name`](Self::bind_name), but without making a reference. The ORB needs no address, so it does not begin
    /// to listen.
    ///
    /// # Errors
    /// Those of [`activate`](Self::activate).
    pub fn activate_named(&self, name: &str, servant: Arc<dyn Servant>) -> Result<(), PoaError> {
        self.retains()?;
        if self.inner.policies.id_assignment == IdAssignment::User {
            return Err(PoaError::WrongPolicy(
                "the application assigns the ids of this POA: use activate_with_id",
            ));
        }
        let id = match self.inner.policies.active_keys() {
            true => None,
            false => Some(self.new_id()),
        };
        let place = self.insert(servant, id.as_ref())?;
        let id = id.unwrap_or_else(|| place.to_id().as_slice().into());
        self.bind_name_to_id(name, id);
        Ok(())
    }

    /// Activates a servant without a static type, like
    /// [`activate_with_id`](Self::activate_with_id).
    ///
    /// # Errors
    /// Those of [`activate_with_id`](Self::activate_with_id).
    pub fn activate_servant_with_id(
        &self,
        id: &ObjectId,
        servant: Arc<dyn Servant>,
    ) -> Result<Ref, PoaError> {
        self.retains()?;
        self.inner.knows(id.as_bytes())?;
        let octets = id.as_bytes();
        if self.inner.life.is_leaving(octets) {
            let until = Instant::now() + self.adapter.hold_time();
            if current::within(&self.adapter) || !self.inner.life.wait_left(octets, until) {
                return Err(PoaError::ObjectAlreadyActive);
            }
        }
        let type_id = servant.repository_id().to_owned();
        let place = self.insert(servant, Some(id))?;
        self.reference_to(id, &type_id).inspect_err(|_| {
            let _ = self.inner.objects.remove(Some(place), octets);
        })
    }

    /// Deactivates an object. Running requests complete normally; a servant activator receives the
    /// servant back after the last of them. Waits for neither (`deactivate_object`).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`ServantRetention::Retain`];
    /// [`PoaError::ObjectNotActive`]; [`PoaError::WrongAdapter`].
    pub fn deactivate(&self, object: &impl Interface) -> Result<(), PoaError> {
        let id = self.reference_to_id(object)?;
        self.deactivate_id(id)
    }

    /// Deactivates the object with this id, which the application or the system assigned
    /// (`deactivate_object`).
    ///
    /// # Errors
    /// Those of [`deactivate`](Self::deactivate).
    pub fn deactivate_id(&self, id: impl Into<ObjectId>) -> Result<(), PoaError> {
        self.retains()?;
        let id = id.into();
        let place = self.inner.place_of(id.as_bytes());
        self.inner.objects.remove(place, id.as_bytes())?;
        self.inner.forget_priority(id.as_bytes());
        Ok(())
    }

    /// Sets the servant activator, which incarnates objects that are not active and receives their
    /// servants back (`set_servant_manager`). Can be set once.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`RequestProcessing::ServantManager`];
    /// OBJ_ADAPTER 4 with [`ServantRetention::NonRetain`], which requires a locator; BAD_INV_ORDER
    /// 6 when called again.
    pub fn set_servant_activator(&self, activator: impl ServantActivator) -> Result<(), PoaError> {
        self.set_manager(ServantManager::Activator(Arc::new(activator)), ServantRetention::Retain)
    }

    /// Sets the servant locator, which provides a servant for each request (`set_servant_manager`).
    /// Can be set once.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`RequestProcessing::ServantManager`];
    /// OBJ_ADAPTER 4 with [`ServantRetention::Retain`], which requires an activator; BAD_INV_ORDER
    /// 6 when called again.
    pub fn set_servant_locator(&self, locator: impl ServantLocator) -> Result<(), PoaError> {
        self.set_manager(ServantManager::Locator(Arc::new(locator)), ServantRetention::NonRetain)
    }

    /// Returns the servant activator, if one is set (`get_servant_manager`).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`RequestProcessing::ServantManager`].
    pub fn servant_activator(&self) -> Result<Option<Arc<dyn ServantActivator>>, PoaError> {
        self.wants_manager()?;
        Ok(match self.inner.servant_manager.get() {
            Some(ServantManager::Activator(activator)) => Some(Arc::clone(activator)),
            _ => None,
        })
    }

    /// Returns the servant locator, if one is set (`get_servant_manager`).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`RequestProcessing::ServantManager`].
    pub fn servant_locator(&self) -> Result<Option<Arc<dyn ServantLocator>>, PoaError> {
        self.wants_manager()?;
        Ok(match self.inner.servant_manager.get() {
            Some(ServantManager::Locator(locator)) => Some(Arc::clone(locator)),
            _ => None,
        })
    }

    /// Sets the default servant, which from the next request on serves all objects that are not
    /// active (`set_servant`). From IDL: `poa.set_servant(bank::AccountRef::servant(Teller))`.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`RequestProcessing::DefaultServant`].
    pub fn set_servant(&self, servant: Arc<dyn Servant>) -> Result<(), PoaError> {
        self.wants_default()?;
        self.inner.check_confinement(&*servant, None)?;
        let slot = &self.inner.default_servant;
        slot.store(Some(Arc::new(servant)));
        Ok(())
    }

    /// Returns the default servant, which serves all objects that are not active (`get_servant`).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`RequestProcessing::DefaultServant`];
    /// [`PoaError::NoServant`].
    pub fn servant(&self) -> Result<Arc<dyn Servant>, PoaError> {
        self.wants_default()?;
        self.inner.default_servant().ok_or(PoaError::NoServant)
    }

    fn set_manager(
        &self,
        manager: ServantManager,
        retention: ServantRetention,
    ) -> Result<(), PoaError> {
        self.alive()?;
        self.wants_manager()?;
        if self.inner.policies.servant_retention != retention {
            return Err(PoaError::System(NO_SERVANT_MANAGER));
        }
        let place = &self.inner.servant_manager;
        place.set(manager).map_err(|_| PoaError::System(SERVANT_MANAGER_SET))
    }

    fn wants_manager(&self) -> Result<(), PoaError> {
        match self.inner.policies.request_processing {
            RequestProcessing::ServantManager => Ok(()),
            _ => Err(PoaError::WrongPolicy(
                "this POA uses no servant manager, which needs RequestProcessing::ServantManager",
            )),
        }
    }

    fn wants_default(&self) -> Result<(), PoaError> {
        match self.inner.policies.request_processing {
            RequestProcessing::DefaultServant => Ok(()),
            _ => Err(PoaError::WrongPolicy(
                "this POA uses no default servant, which needs RequestProcessing::DefaultServant",
            )),
        }
    }

    pub(crate) fn retains(&self) -> Result<(), PoaError> {
        match self.inner.policies.servant_retention {
            ServantRetention::Retain => Ok(()),
            ServantRetention::NonRetain => Err(PoaError::WrongPolicy(
                "this POA has no active objects, which need ServantRetention::Retain",
            )),
        }
    }

    fn insert(&self, servant: Arc<dyn Servant>, id: Option<&ObjectId>) -> Result<Place, PoaError> {
        self.inner.insert(servant, id.map(ObjectId::as_bytes))
    }

    /// Returns an id that no other object of this or an earlier process has.
    pub(crate) fn new_id(&self) -> ObjectId {
        let count = self.inner.next_id.fetch_add(1, Ordering::Relaxed);
        let mut id = self.inner.incarnation.to_le_bytes().to_vec();
        id.extend_from_slice(&count.to_le_bytes());
        ObjectId::from(id)
    }

    /// Returns the id in a reference's key, if the key belongs to this POA.
    pub(crate) fn id_in(&self, object: &impl Interface) -> Result<ObjectId, PoaError> {
        let key = own_key(object.reference()).ok_or(PoaError::WrongAdapter)?;
        let parsed = Key::parse(&key).ok_or(PoaError::WrongAdapter)?;
        self.inner.id_in(parsed).ok_or(PoaError::WrongAdapter)
    }
}

impl PoaInner {
    pub(crate) fn insert(
        &self,
        servant: Arc<dyn Servant>,
        id: Option<&[u8]>,
    ) -> Result<Place, PoaError> {
        if self.is_destroyed() {
            return Err(PoaError::Destroyed);
        }
        self.check_confinement(&*servant, id)?;
        let exit = self.policies.activates().then(|| self.weak());
        let scheduled = self.scheduled(&*servant);
        let new = New {
            servant,
            id,
            unique: self.policies.id_uniqueness == IdUniqueness::Unique,
            exit: exit.flatten(),
            priority: id.and_then(|id| self.own_priority(id)),
            scheduled,
        };
        let place = id.and_then(|id| self.place_of(id));
        let place = self.objects.insert(new, place)?;
        if self.is_destroyed() {
            // Check again: the POA may have been destroyed meanwhile, after which nothing else
            // would deactivate this object.
            let id = id.unwrap_or_default();
            let _ = self.objects.remove(Some(place), id);
            return Err(PoaError::Destroyed);
        }
        Ok(place)
    }

    /// Returns the entries of the run-time scheduler for a servant's operations.
    fn scheduled(&self, servant: &dyn Servant) -> Option<Scheduled> {
        self.adapter.upgrade()?.orb()?.scheduled(servant)
    }

    /// Returns a weak reference to this POA, for its objects to hold.
    fn weak(&self) -> Option<Weak<PoaInner>> {
        let adapter = self.adapter.upgrade()?;
        adapter.poa_of(self.number, self.incarnation).map(|poa| Arc::downgrade(&poa))
    }

    pub(crate) fn default_servant(&self) -> Option<Arc<dyn Servant>> {
        let servant = self.default_servant.load();
        servant.as_ref().map(|servant| Arc::clone(&**servant))
    }

    /// Returns the place that an id encodes, if the ids of this POA encode places.
    pub(crate) fn place_of(&self, id: &[u8]) -> Option<Place> {
        match self.policies.active_keys() {
            true => Place::of_id(id),
            false => None,
        }
    }

    /// Checks whether an id can belong to an object of this POA: with system ids, whether this POA
    /// created the id.
    pub(crate) fn knows(&self, id: &[u8]) -> Result<(), PoaError> {
        if self.policies.id_assignment == IdAssignment::User {
            return Ok(());
        }
        let known = match (self.policies.active_keys(), <[u8; 16]>::try_from(id)) {
            (true, _) => Place::of_id(id).is_some_and(|place| self.objects.was_issued(place)),
            (false, Ok(octets)) => {
                let (incarnation, count) = octets.split_at(8);
                let count = u64::from_le_bytes(count.try_into().expect("eight of sixteen"));
                // In a persistent POA, accept every id with another incarnation: it may come from
                // an earlier run, whose counter is unknown.
                incarnation != self.incarnation.to_le_bytes()
                    && self.policies.lifespan == crate::Lifespan::Persistent
                    || incarnation == self.incarnation.to_le_bytes()
                        && count < self.next_id.load(Ordering::Relaxed)
            }
            (false, Err(_)) => false,
        };
        known.then_some(()).ok_or(PoaError::UnknownId)
    }

    /// Returns the id in a key, if the key belongs to this POA.
    pub(crate) fn id_in(&self, key: Key<'_>) -> Option<ObjectId> {
        match key {
            Key::Active { incarnation, poa, slot, generation } => {
                let ours = incarnation == self.incarnation && poa == self.number;
                let id = Place { slot, generation }.to_id();
                (ours && self.policies.active_keys()).then(|| ObjectId::from(id.as_slice()))
            }
            Key::Transient { incarnation, poa, id } => {
                let ours = incarnation == self.incarnation && poa == self.number;
                ours.then(|| ObjectId::from(id))
            }
            Key::Persistent { path, id, .. } => {
                let ours =
                    *path == *self.path && self.policies.lifespan == crate::Lifespan::Persistent;
                ours.then(|| ObjectId::from(id))
            }
        }
    }

    /// Returns the key of the object with this id.
    pub(crate) fn key_of(&self, id: &[u8]) -> Vec<u8> {
        let (incarnation, poa) = (self.incarnation, self.number);
        match (self.policies.lifespan, self.place_of(id)) {
            (crate::Lifespan::Transient, Some(Place { slot, generation })) => {
                Key::Active { incarnation, poa, slot, generation }
            }
            (crate::Lifespan::Transient, None) => Key::Transient { incarnation, poa, id },
            (crate::Lifespan::Persistent, _) => {
                Key::Persistent { hash: self.path_hash, path: &self.path, id }
            }
        }
        .to_octets()
    }
}
