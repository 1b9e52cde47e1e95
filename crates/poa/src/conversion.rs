//! Conversion of objects into references, ids and servants, and back.

use std::sync::Arc;

use oxorb_core::{Interface, Ref, Servant, ServedBy};
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::adapter::RootAdapter;
use crate::object_map::ActiveObject;
use crate::poa::Poa;
use crate::policies::{
    IdAssignment, IdUniqueness, ImplicitActivation, RequestProcessing, ServantRetention,
};
use crate::template::{ObjectReferenceFactory, ObjectReferenceTemplate};
use crate::{ObjectId, PoaError};

impl Poa {
    /// Returns the reference of the object that a servant incarnates, or, with
    /// [`ImplicitActivation::Yes`], of a new one (`_this`).
    ///
    /// # Errors
    /// Those of [`servant_to_reference`](Self::servant_to_reference).
    pub fn this<I: ServedBy<Arc<S>>, S>(&self, servant: &Arc<S>) -> Result<I, PoaError> {
        self.servant_to_reference(I::servant(Arc::clone(servant))).map(I::from_ref)
    }

    /// Returns the reference of the object that a servant incarnates (`servant_to_reference`).
    /// [`ImplicitActivation::Yes`] activates a servant that is not active, and also an active
    /// servant if it may incarnate several objects. Within a request that the servant serves,
    /// returns the reference of the called object.
    ///
    /// # Errors
    /// [`PoaError::ServantNotActive`]; [`PoaError::WrongPolicy`] if this POA cannot map servants to
    /// objects.
    pub fn servant_to_reference(&self, servant: Arc<dyn Servant>) -> Result<Ref, PoaError> {
        let type_id = servant.repository_id().to_owned();
        let id = self.servant_to_id(servant)?;
        self.reference_to(&id, &type_id)
    }

    /// Returns the id of the object that a servant incarnates (`servant_to_id`), determined in the
    /// same way as by [`servant_to_reference`](Self::servant_to_reference).
    ///
    /// # Errors
    /// Those of [`servant_to_reference`](Self::servant_to_reference).
    pub fn servant_to_id(&self, servant: Arc<dyn Servant>) -> Result<ObjectId, PoaError> {
        self.alive()?;
        let policies = self.inner.policies;
        let unique = policies.id_uniqueness == IdUniqueness::Unique;
        let implicit = policies.implicit_activation == ImplicitActivation::Yes;
        let default = policies.request_processing == RequestProcessing::DefaultServant;
        let retain = policies.servant_retention == ServantRetention::Retain;
        if let Some(id) = self.called_on(&servant) {
            return Ok(id);
        }
        if retain
            && unique
            && let Some(object) = self.inner.objects.incarnated_by(&*servant)
        {
            return Ok(id_of(&object));
        }
        if retain && implicit {
            let reference = self.activate_servant(servant)?;
            return self.reference_to_id(&crate::adapter::untyped(&reference));
        }
        if default || (retain && unique) {
            return Err(PoaError::ServantNotActive);
        }
        Err(PoaError::WrongPolicy(
            "servants of this POA do not determine their object, which needs IdUniqueness::Unique, \
             ImplicitActivation::Yes or RequestProcessing::DefaultServant",
        ))
    }

    /// Returns the id of the object whose request this thread runs, if this servant serves it in
    /// this POA.
    fn called_on(&self, servant: &Arc<dyn Servant>) -> Option<ObjectId> {
        let current = self.current();
        let serving = current.servant().ok()?;
        if serving.identity() != servant.identity() || current.poa().ok()? != *self {
            return None;
        }
        current.object_id().ok()
    }

    /// Returns the servant of an object (`reference_to_servant`).
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`]; [`PoaError::WrongAdapter`];
    /// [`PoaError::WrongPolicy`] without [`ServantRetention::Retain`] and
    /// [`RequestProcessing::DefaultServant`].
    pub fn reference_to_servant(
        &self,
        object: &impl Interface,
    ) -> Result<Arc<dyn Servant>, PoaError> {
        self.tells_servants()?;
        let id = self.id_in(object)?;
        self.id_to_servant(id)
    }

    /// Returns the id of an object of this POA, active or not (`reference_to_id`).
    ///
    /// # Errors
    /// [`PoaError::WrongAdapter`].
    pub fn reference_to_id(&self, object: &impl Interface) -> Result<ObjectId, PoaError> {
        self.id_in(object)
    }

    /// Returns the servant of an object: the one that incarnates it, or else the default servant
    /// (`id_to_servant`).
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`]; [`PoaError::WrongPolicy`] without
    /// [`ServantRetention::Retain`] and [`RequestProcessing::DefaultServant`].
    pub fn id_to_servant(&self, id: impl Into<ObjectId>) -> Result<Arc<dyn Servant>, PoaError> {
        self.alive()?;
        self.tells_servants()?;
        let id = id.into();
        let place = self.inner.place_of(id.as_bytes());
        if let Some(object) = self.inner.objects.find(place, id.as_bytes()) {
            return Ok(Arc::clone(&object.servant));
        }
        self.inner.default_servant().ok_or(PoaError::ObjectNotActive)
    }

    /// Returns the reference of an active object (`id_to_reference`).
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`]; [`PoaError::WrongPolicy`] without
    /// [`ServantRetention::Retain`].
    pub fn id_to_reference(&self, id: impl Into<ObjectId>) -> Result<Ref, PoaError> {
        self.alive()?;
        self.retains()?;
        let id = id.into();
        let place = self.inner.place_of(id.as_bytes());
        let object = self.inner.objects.find(place, id.as_bytes());
        let servant = Arc::clone(&object.ok_or(PoaError::ObjectNotActive)?.servant);
        self.reference_to(&id, servant.repository_id())
    }

    /// Creates a reference to an object with a new system id; the object is not active yet
    /// (`create_reference`).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without [`IdAssignment::System`].
    pub fn create_reference<I: Interface>(&self) -> Result<I, PoaError> {
        self.alive()?;
        if self.inner.policies.id_assignment == IdAssignment::User {
            return Err(PoaError::WrongPolicy(
                "the application assigns the ids of this POA: use create_reference_with_id",
            ));
        }
        let id = match self.inner.policies.active_keys() {
            true => self.inner.objects.reserve().to_id().as_slice().into(),
            false => self.new_id(),
        };
        self.reference_to(&id, I::REPOSITORY_ID).map(I::from_ref)
    }

    /// Creates a reference to an object that need not be active yet (`create_reference_with_id`).
    ///
    /// # Errors
    /// [`PoaError::UnknownId`] with [`IdAssignment::System`] for an id that this POA did not
    /// create.
    pub fn create_reference_with_id<I: Interface>(
        &self,
        id: impl Into<ObjectId>,
    ) -> Result<I, PoaError> {
        self.create_reference_of(id, I::REPOSITORY_ID).map(I::from_ref)
    }

    /// Creates a reference as [`create_reference_with_id`](Self::create_reference_with_id), for a
    /// type known only at run time.
    ///
    /// # Errors
    /// Those of [`create_reference_with_id`](Self::create_reference_with_id).
    pub fn create_reference_of(
        &self,
        id: impl Into<ObjectId>,
        repository_id: &str,
    ) -> Result<Ref, PoaError> {
        let id = id.into();
        self.inner.knows(id.as_bytes())?;
        self.reference_to(&id, repository_id)
    }

    /// Returns the template that makes references to objects of this POA
    /// (`ObjectReferenceTemplate`).
    pub fn template(&self) -> ObjectReferenceTemplate {
        ObjectReferenceTemplate::of(self)
    }

    fn tells_servants(&self) -> Result<(), PoaError> {
        let policies = self.inner.policies;
        if policies.servant_retention == ServantRetention::Retain
            || policies.request_processing == RequestProcessing::DefaultServant
        {
            return Ok(());
        }
        Err(PoaError::WrongPolicy(
            "this POA finds a servant for each request, and keeps none: keeping one needs ServantRetention::Retain or \
             RequestProcessing::DefaultServant",
        ))
    }

    /// Sets the factory that makes all references of this POA (`current_factory`). Every function
    /// that activates an object, or creates or converts a reference, uses it;
    /// [`template`](Self::template) does not, so that the factory may use it. Call it from
    /// [`AdapterObserver::established`](crate::AdapterObserver::established).
    ///
    /// # Errors
    /// BAD_INV_ORDER when called later, or when another factory is set.
    pub fn set_current_factory(
        &self,
        factory: impl ObjectReferenceFactory,
    ) -> Result<(), SystemException> {
        let set = self.inner.factory.set(Some(Box::new(factory)));
        set.map_err(|_| FACTORY_SETTLED)
    }

    /// Makes the POA's factory, or the lack of one, final once the POA is created.
    pub(crate) fn settle_factory(&self) {
        self.inner.factory.get_or_init(|| None);
    }

    /// Creates a reference, with the POA's factory if one is set.
    pub(crate) fn reference_to(&self, id: &ObjectId, type_id: &str) -> Result<Ref, PoaError> {
        match self.inner.factory.get() {
            Some(Some(factory)) => factory.make_object(&self.template(), type_id, id),
            _ => self.own_reference_to(id, type_id),
        }
    }

    /// Creates a reference without calling the POA's factory.
    pub(crate) fn own_reference_to(&self, id: &ObjectId, type_id: &str) -> Result<Ref, PoaError> {
        let orb = RootAdapter::orb(&self.adapter).ok_or(PoaError::Destroyed)?;
        let key = self.inner.key_of(id.as_bytes());
        if self.inner.realtime.is_some() {
            return self.lane_reference(&orb, id, type_id, &key);
        }
        let over = self.inner.policies.over();
        Ok(orb.create_reference_with(type_id, &key, &self.inner.components, over)?)
    }
}

const FACTORY_SETTLED: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::INTERCEPTION_POINT, CompletionStatus::No);

fn id_of(object: &ActiveObject) -> ObjectId {
    ObjectId::from(&*object.id_octets())
}
