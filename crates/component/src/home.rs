//! Homes: what makes components on a client's request (CORBA 3.3 part 3, 6.7).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use oxorb_cdr::TypeCode;
use oxorb_core::{Interface, ObjectRef, Servant};
use oxorb_object::SystemException;

use crate::assembly::ComposedOf;
use crate::attribute::Attribute;
use crate::component::Component;
use crate::container::{InstallError, WeakContainer};
use crate::lock::Mutex;
use crate::refusal::NO_DEFINITION;
use crate::{
    CcmExceptionReason, CcmHome, CcmObjectRef, CreateFailure, LifeCycleError, RemoveFailure,
    ccm_home,
};

/// A home type that executors of type `H` implement. The IDL compiler implements it for the reference of each home:
/// `impl<H: GpsHomeExecutor> ManagedBy<H> for GpsHomeRef`.
pub trait ManagedBy<H>: Interface {
    /// Repository id of the component.
    const COMPONENT_ID: &'static str;

    /// Returns the servant of a home.
    #[doc(hidden)]
    fn home_servant(executor: H, home: Arc<Home>) -> Arc<dyn Servant>;
}

/// One home of a [`Container`](crate::Container), whatever its type. It answers `Components::CCMHome` for the typed servant.
pub struct Home {
    name: String,
    home_id: &'static str,
    component_id: &'static str,
    container: WeakContainer,
    own: OnceLock<ObjectRef>,
    attributes: Mutex<Vec<Attribute>>,
    created: AtomicU64,
}

impl Home {
    pub(crate) fn new(
        name: String,
        (home_id, component_id): (&'static str, &'static str),
        container: WeakContainer,
    ) -> Self {
        Home {
            name,
            home_id,
            component_id,
            container,
            own: OnceLock::new(),
            attributes: Mutex::default(),
            created: AtomicU64::new(0),
        }
    }

    /// Returns the name under which it was installed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the repository id of the home.
    pub fn home_id(&self) -> &'static str {
        self.home_id
    }

    /// Returns the repository id of the components that it makes.
    pub fn component_id(&self) -> &'static str {
        self.component_id
    }

    /// Returns its reference; `None` only while it is being installed.
    pub fn object(&self) -> Option<&ObjectRef> {
        self.own.get()
    }

    /// Returns its attributes, inherited ones and those of supported interfaces included.
    pub fn attributes(&self) -> Vec<Attribute> {
        self.attributes.lock().clone()
    }

    /// Declares `attribute T name`: for generated code.
    #[doc(hidden)]
    pub fn attribute(&self, name: &'static str, is_settable: bool, type_code: fn() -> TypeCode) {
        self.attributes.lock().push(Attribute {
            name,
            is_settable,
            type_code,
        });
    }

    /// Returns the components that it has made and that are not removed.
    pub fn components(&self) -> Vec<Arc<Component>> {
        let Some(container) = self.container.upgrade() else {
            return Vec::new();
        };
        let mut all = container.all();
        all.retain(|component| self.made(component));
        all
    }

    /// Deactivates the home. Its components live on.
    pub fn remove(&self) {
        if let (Some(container), Some(own)) = (self.container.upgrade(), self.own.get()) {
            container.forget_home(self);
            // Deactivated before: it is gone as well.
            let _ = container.poa.deactivate(own);
        }
    }

    /// Installs a component that the executor made, as `home#1` and so on.
    ///
    /// # Errors
    /// CreateFailure if the container is full or destroyed, or the executor refused its context: the reason is
    /// `CREATE_ERROR`, or that of the executor's exception.
    pub fn install<R: ComposedOf<E>, E, X: From<CreateFailure>>(
        &self,
        executor: E,
    ) -> Result<Option<R>, X> {
        let number = self.created.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("{}#{number}", self.name);
        let container = self.container.upgrade().ok_or(CLOSED)?;
        let own = self.own.get().map(Interface::unchecked_narrow);
        let at_home = |component: &Component| {
            if let Some(own) = own {
                let _ = component.home.set(own);
            }
        };
        let installed = container.install(&name, executor, at_home);
        Ok(Some(installed.map_err(CreateFailure::from)?))
    }

    pub(crate) fn set_own(&self, own: ObjectRef) {
        let _ = self.own.set(own);
    }

    fn made(&self, component: &Component) -> bool {
        let (own, home) = (self.own.get(), component.home.get());
        own.zip(home)
            .is_some_and(|(own, home)| own.reference() == home.reference())
    }
}

const CLOSED: CreateFailure = CreateFailure {
    reason: CcmExceptionReason::CreateError as u32,
};

impl From<InstallError> for CreateFailure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Executor(exception) => CreateFailure {
                reason: exception.reason as u32,
            },
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
        let unknown = RemoveFailure {
            reason: CcmExceptionReason::ObjectNotFound as u32,
        };
        let component = found.filter(|one| self.made(one)).ok_or(unknown)?;
        component.remove().map_err(|error| match error {
            LifeCycleError::Executor(exception) => RemoveFailure {
                reason: exception.reason as u32,
            }
            .into(),
            error => SystemException::from(error).into(),
        })
    }
}
