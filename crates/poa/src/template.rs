//! Templates and factories of references, and observers of adapters.

use std::fmt;

use oxorb_core::Ref;
use oxorb_object::{SystemException, TaggedComponent};

use crate::{ManagerState, ObjectId, Poa, PoaError, PoaManager, Policies};

/// Template that makes references to objects of one POA
/// (`PortableInterceptor::ObjectReferenceTemplate`, CORBA 3.3 part 1, 16.8, without the parts
/// needed only to send it to another process).
///
/// ```
/// # use oxorb_core::{Options, Orb};
/// # use oxorb_poa::RootAdapter;
/// # let mut options = Options::default();
/// # options.listen_on("iiop://127.0.0.1:0")?;
/// # let orb = Orb::new(options);
/// # let root = RootAdapter::install(&orb);
/// let template = root.create_poa("accounts", Default::default())?.template();
/// assert_eq!(template.adapter_name(), ["RootPOA", "accounts"]);
/// let savings = template.make_object("IDL:bank/Account:1.0", "savings")?;
/// assert_eq!(savings.ior().type_id, "IDL:bank/Account:1.0");
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ObjectReferenceTemplate {
    poa: Poa,
    adapter_name: Vec<String>,
}

impl ObjectReferenceTemplate {
    pub(crate) fn of(poa: &Poa) -> Self {
        ObjectReferenceTemplate { adapter_name: poa.adapter_name(), poa: poa.clone() }
    }

    /// Returns the names from the root POA down (`adapter_name`).
    pub fn adapter_name(&self) -> &[String] {
        &self.adapter_name
    }

    /// Creates a reference to an object, even if the object is not active or the POA no longer exists
    /// (`make_object`).
    ///
    /// # Errors
    /// No address is available, or the ORB no longer exists.
    pub fn make_object(
        &self,
        repository_id: &str,
        id: impl Into<ObjectId>,
    ) -> Result<Ref, PoaError> {
        self.poa.own_reference_to(&id.into(), repository_id)
    }
}

impl fmt::Debug for ObjectReferenceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectReferenceTemplate").field("adapter_name", &self.adapter_name).finish()
    }
}

/// Factory that makes a POA's references in its place
/// (`PortableInterceptor::ObjectReferenceFactory`): for example to a replicated object, or to one
/// behind a gateway. Set by [`Poa::set_current_factory`].
///
/// The factory is called whenever a reference is created, on the thread that creates it.
///
/// ```
/// use oxorb_core::Ref;
/// use oxorb_poa::{ObjectId, ObjectReferenceFactory, ObjectReferenceTemplate, PoaError};
///
/// /// Whatever the servants are, clients see one interface.
/// struct Facade;
///
/// impl ObjectReferenceFactory for Facade {
///     fn make_object(
///         &self,
///         template: &ObjectReferenceTemplate,
///         _: &str,
///         id: &ObjectId,
///     ) -> Result<Ref, PoaError> {
///         template.make_object("IDL:bank/Facade:1.0", id.clone())
///     }
/// }
/// ```
pub trait ObjectReferenceFactory: Send + Sync + 'static {
    /// Creates a reference to the object with this id. `template` creates the reference that the POA
    /// would make without a factory.
    ///
    /// # Errors
    /// The caller receives the error; if it was activating the object, the object is not activated.
    fn make_object(
        &self,
        template: &ObjectReferenceTemplate,
        repository_id: &str,
        id: &ObjectId,
    ) -> Result<Ref, PoaError>;
}

/// Observer of POAs and managers: the object adapter's events for IOR interceptors
/// (`PortableInterceptor::IORInterceptor_3_0`).
///
/// The observer is called by the thread that creates, changes or destroys a POA or a manager, while
/// that thread holds no lock of the adapter.
pub trait AdapterObserver: Send + Sync + 'static {
    /// Called before a POA is created; may add components to all its references
    /// (`establish_components`).
    ///
    /// # Errors
    /// The exception prevents the creation of the POA.
    fn establish(
        &self,
        adapter_name: &[String],
        policies: &Policies,
        components: &mut Vec<TaggedComponent>,
    ) -> Result<(), SystemException> {
        let _ = (adapter_name, policies, components);
        Ok(())
    }

    /// Called when a POA was created, before it has objects (`components_established`). Only then
    /// can its [factory](Poa::set_current_factory) be replaced.
    fn established(&self, poa: &Poa) {
        let _ = poa;
    }

    /// Called when a manager changed its state (`adapter_manager_state_changed`).
    fn manager_state_changed(&self, manager: &PoaManager, state: ManagerState) {
        let _ = (manager, state);
    }

    /// Called when POAs were destroyed (`adapter_state_changed` to NON_EXISTENT).
    fn adapters_destroyed(&self, templates: &[ObjectReferenceTemplate]) {
        let _ = templates;
    }
}
