//! Homes, which create components on clients' requests (CORBA 3.3 part 3, 6.7).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use oxorb_cdr::{TypeCode, Value, ValueLink};
use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, ObjectRef, Servant};
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::assembly::ComposedOf;
use crate::attribute::Attribute;
use crate::component::Component;
use crate::container::{InstallError, WeakContainer};
use crate::keys::{INVALID, KeyOctets, Keys, PrimaryKey, Reserved};
use crate::life::Phase;
use crate::refusal::NO_DEFINITION;
use crate::settings::Settings;
use crate::{
    CcmExceptionReason, CcmHome, CcmObjectRef, CreateFailure, DuplicateKeyValue, FinderFailure,
    InvalidKey, LifeCycleError, RemoveFailure, UnknownKeyValue, ccm_home,
};

/// A home type that executors of type `H` implement. The IDL compiler implements this trait for the reference of each
/// home: `impl<H: GpsHomeExecutor> ManagedBy<H> for GpsHomeRef`.
pub trait ManagedBy<H>: Interface {
    /// Repository id of the component.
    const COMPONENT_ID: &'static str;

    /// Returns the servant of a home.
    #[doc(hidden)]
    fn home_servant(executor: H, home: Arc<Home>) -> Arc<dyn Servant>;
}

/// A home of a [`Container`](crate::Container), independent of its type. It implements `Components::CCMHome` for the
/// typed servant.
pub struct Home {
    name: String,
    home_id: &'static str,
    component_id: &'static str,
    container: WeakContainer,
    settings: Settings,
    own: OnceLock<ObjectRef>,
    attributes: Mutex<Vec<Attribute>>,
    created: AtomicU64,
    pub(crate) keys: Keys<Component>,
}

/// Primary key of a component, with the home in which it is unique.
pub(crate) struct Keyed {
    pub(crate) home: Weak<Home>,
    pub(crate) key: KeyOctets,
}

impl Home {
    pub(crate) fn new(
        name: String,
        (home_id, component_id): (&'static str, &'static str),
        container: WeakContainer,
        settings: Settings,
    ) -> Self {
        Home {
            name,
            home_id,
            component_id,
            container,
            settings,
            own: OnceLock::new(),
            attributes: Mutex::default(),
            created: AtomicU64::new(0),
            keys: Keys::default(),
        }
    }

    /// Returns the name under which the home was installed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the repository id of the home.
    pub fn home_id(&self) -> &'static str {
        self.home_id
    }

    /// Returns the repository id of the home's components.
    pub fn component_id(&self) -> &'static str {
        self.component_id
    }

    /// Returns the home's reference; `None` only during its installation.
    pub fn object(&self) -> Option<&ObjectRef> {
        self.own.get()
    }

    /// Returns the home's attributes, including inherited ones and those of supported interfaces.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.attributes.lock().clone()
    }

    /// Declares `attribute T name`: for generated code.
    #[doc(hidden)]
    pub fn attribute(&self, name: &'static str, is_settable: bool, type_code: fn() -> TypeCode) {
        self.attributes.lock().push(Attribute { name, is_settable, type_code });
    }

    /// Returns the components that the home has created and that are not removed.
    pub fn components(&self) -> Vec<Arc<Component>> {
        let Some(container) = self.container.upgrade() else {
            return Vec::new();
        };
        let mut all = container.all();
        all.retain(|component| self.made(component));
        all
    }

    /// Deactivates the home. The home's components remain installed.
    pub fn remove(&self) {
        if let (Some(container), Some(own)) = (self.container.upgrade(), self.own.get()) {
            container.forget_home(self);
            // Ignore the error: the home may have been deactivated already.
            let _ = container.poa.deactivate(own);
        }
    }

    /// Installs a component that the executor created, under the name `home#1`, `home#2` and so on.
    ///
    /// # Errors
    /// CreateFailure. The reason is that of the exception if the executor's `set_session_context` raised one, and
    /// `CREATE_ERROR` in all other cases, for example if the container is full or destroyed.
    pub fn install<R: ComposedOf<E>, E, X: From<CreateFailure>>(
        &self,
        executor: E,
    ) -> Result<Option<R>, X> {
        Ok(Some(self.installed(executor, |_| ())?))
    }

    /// Creates a component with a key: `create` of a home with a primary key. `make` is called only if the key is free.
    ///
    /// # Errors
    /// InvalidKey for null, for a key of a derived type, and for a key longer than the container's `max_key_octets`;
    /// DuplicateKeyValue; an error of `make`; the errors of [`install`](Self::install).
    pub fn create<R, E, K, X>(
        self: &Arc<Self>,
        key: &ValueLink<K>,
        make: impl FnOnce(&Value<K>) -> Result<E, X>,
    ) -> Result<Option<R>, X>
    where
        R: ComposedOf<E>,
        K: PrimaryKey,
        X: From<CreateFailure> + From<DuplicateKeyValue> + From<InvalidKey>,
    {
        let (key, octets) = self.read(key)?;
        let reserved = self
            .keys
            .reserve(octets)
            .ok_or(DuplicateKeyValue { reason: CcmExceptionReason::DuplicateKey as u32 })?;
        Ok(Some(self.keyed(&key, reserved, make(&key)?)?))
    }

    /// Installs a component with a key chosen by a factory of the executor.
    ///
    /// # Errors
    /// CreateFailure with the reason `DUPLICATE_KEY` if another component has the key; the errors of
    /// [`install`](Self::install).
    pub fn install_with_key<R, E, K, X>(
        self: &Arc<Self>,
        key: &Value<K>,
        executor: E,
    ) -> Result<Option<R>, X>
    where
        R: ComposedOf<E>,
        K: PrimaryKey,
        X: From<CreateFailure>,
    {
        let octets = KeyOctets::of(key, self.settings.max_key_octets).map_err(|_| CLOSED)?;
        let reserved = self
            .keys
            .reserve(octets)
            .ok_or(CreateFailure { reason: CcmExceptionReason::DuplicateKey as u32 })?;
        Ok(Some(self.keyed(key, reserved, executor)?))
    }

    /// Returns the component with a key: `find_by_primary_key`.
    ///
    /// # Errors
    /// InvalidKey in the same cases as [`create`](Self::create); UnknownKeyValue.
    pub fn find<R, K, X>(&self, key: &ValueLink<K>) -> Result<Option<R>, X>
    where
        R: Interface,
        K: PrimaryKey,
        X: From<UnknownKeyValue> + From<InvalidKey>,
    {
        let (_, octets) = self.read(key)?;
        let found = self.keys.find(&octets).ok_or(UNKNOWN_KEY)?;
        Ok(found.object().map(Interface::unchecked_narrow))
    }

    /// Returns the component with a key chosen by a finder of the executor.
    ///
    /// # Errors
    /// FinderFailure with the reason `OBJECT_NOT_FOUND` if there is none.
    pub fn found<R, K, X>(&self, key: &Value<K>) -> Result<Option<R>, X>
    where
        R: Interface,
        K: PrimaryKey,
        X: From<FinderFailure>,
    {
        let octets = KeyOctets::of(key, self.settings.max_key_octets).ok();
        let found = octets.and_then(|octets| self.keys.find(&octets));
        let found =
            found.ok_or(FinderFailure { reason: CcmExceptionReason::ObjectNotFound as u32 })?;
        Ok(found.object().map(Interface::unchecked_narrow))
    }

    /// Removes the component with a key.
    ///
    /// # Errors
    /// InvalidKey in the same cases as [`create`](Self::create); UnknownKeyValue; RemoveFailure with the reason of the
    /// executor's exception.
    pub fn remove_by_key<K, X>(&self, key: &ValueLink<K>) -> Result<(), X>
    where
        K: PrimaryKey,
        X: From<RemoveFailure> + From<UnknownKeyValue> + From<InvalidKey> + From<SystemException>,
    {
        let (_, octets) = self.read(key)?;
        let found = self.keys.find(&octets).ok_or(UNKNOWN_KEY)?;
        remove(&found)
    }

    /// Returns the key of a component of this home: `get_primary_key`.
    ///
    /// # Errors
    /// BAD_PARAM for nil, and for an object that is not a component of this home.
    pub fn key_of<K: PrimaryKey>(
        &self,
        component: Option<&impl Interface>,
    ) -> Result<ValueLink<K>, SystemException> {
        let container = self.container.upgrade().zip(component);
        let found = container.and_then(|(container, one)| container.component_of(one.reference()));
        let found = found.filter(|one| self.made(one)).ok_or(NOT_OF_HOME)?;
        let key = found.key.get().and_then(ValueLink::get);
        Ok(key.and_then(|key| key.downcast::<K>()).into())
    }

    /// Reads a key received from a client.
    fn read<K: PrimaryKey>(&self, key: &ValueLink<K>) -> Result<(Value<K>, KeyOctets), InvalidKey> {
        let key = key.get().ok_or(INVALID)?;
        let octets = KeyOctets::of(&key, self.settings.max_key_octets)?;
        Ok((key, octets))
    }

    fn keyed<R: ComposedOf<E>, E, K: PrimaryKey>(
        self: &Arc<Self>,
        key: &Value<K>,
        reserved: Reserved<'_, Component>,
        executor: E,
    ) -> Result<R, CreateFailure> {
        let mut made = None;
        let installed = self.installed(executor, |component| {
            let _ = component.key.set(key.into());
            let _ = component
                .keyed
                .set(Keyed { home: Arc::downgrade(self), key: reserved.key().clone() });
            made = Some(Arc::clone(component));
        })?;
        if let Some(made) = made {
            reserved.give(made, |made| made.phase() == Phase::Removed);
        }
        Ok(installed)
    }

    fn installed<R: ComposedOf<E>, E>(
        &self,
        executor: E,
        prepare: impl FnOnce(&Arc<Component>),
    ) -> Result<R, CreateFailure> {
        let number = self.created.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("{}#{number}", self.name);
        let container = self.container.upgrade().ok_or(CLOSED)?;
        let own = self.own.get().map(Interface::unchecked_narrow);
        let at_home = |component: &Arc<Component>| {
            if let Some(own) = own {
                let _ = component.home.set(own);
            }
            prepare(component);
        };
        Ok(container.install(&name, executor, at_home)?)
    }

    pub(crate) fn set_own(&self, own: ObjectRef) {
        let _ = self.own.set(own);
    }

    fn made(&self, component: &Component) -> bool {
        let (own, home) = (self.own.get(), component.home.get());
        own.zip(home).is_some_and(|(own, home)| own.reference() == home.reference())
    }
}

const CLOSED: CreateFailure = CreateFailure { reason: CcmExceptionReason::CreateError as u32 };

const UNKNOWN_KEY: UnknownKeyValue =
    UnknownKeyValue { reason: CcmExceptionReason::ObjectNotFound as u32 };

const NOT_OF_HOME: SystemException =
    SystemException::bad_param(minor::bad_param::NOT_OF_HOME, CompletionStatus::No);

/// Removes a component on a client's request.
fn remove<X: From<RemoveFailure> + From<SystemException>>(component: &Component) -> Result<(), X> {
    component.remove().map_err(|error| match error {
        LifeCycleError::Executor(exception) => {
            RemoveFailure { reason: exception.reason as u32 }.into()
        }
        error => SystemException::from(error).into(),
    })
}

impl From<InstallError> for CreateFailure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Executor(exception) => CreateFailure { reason: exception.reason as u32 },
            _ => CLOSED,
        }
    }
}

impl CcmHome for Home {
    fn get_component_def(&self) -> Result<Option<ObjectRef>, SystemException> {
        Err(NO_DEFINITION)
    }

    fn get_home_def(&self) -> Result<Option<ObjectRef>, SystemException> {
        Err(NO_DEFINITION)
    }

    fn remove_component(
        &self,
        component: Option<&CcmObjectRef>,
    ) -> Result<(), ccm_home::RemoveComponentError> {
        let container = self.container.upgrade();
        let found = container.zip(component);
        let found = found.and_then(|(container, one)| container.component_of(one.reference()));
        let unknown = RemoveFailure { reason: CcmExceptionReason::ObjectNotFound as u32 };
        let component = found.filter(|one| self.made(one)).ok_or(unknown)?;
        remove(&component)
    }
}
