//! Servant managers, which provide servants for objects that are not active.

use std::any::Any;
use std::sync::Arc;

use oxorb_core::{Ref, Servant};
use oxorb_object::SystemException;

use crate::{ObjectId, Poa};

/// Reason why a servant manager provides no servant.
#[derive(Debug, Clone)]
pub enum Refused {
    /// The caller is forwarded to another object (`PortableServer::ForwardRequest`).
    ForwardRequest(Ref),
    /// The caller receives this exception.
    System(SystemException),
}

impl From<SystemException> for Refused {
    fn from(exception: SystemException) -> Self {
        Refused::System(exception)
    }
}

/// Servant manager that incarnates an object when its first request arrives, and receives the
/// servant back when the object is deactivated (`PortableServer::ServantActivator`): for POAs with
/// [`RequestProcessing::ServantManager`](crate::RequestProcessing) and
/// [`ServantRetention::Retain`](crate::ServantRetention).
///
/// Calls of one POA's activator never overlap, except that an `incarnate` that calls another local
/// object of its POA may cause a nested call. Meanwhile, requests for active objects and for other
/// POAs are served. While an object is active, its requests do not call the activator.
///
/// ```
/// use std::sync::Arc;
///
/// use oxorb_core::{Options, Orb, Outcome, Servant, Upcall};
/// use oxorb_poa::{
///     IdAssignment, Lifespan, ObjectId, Poa, Policies, Refused, RequestProcessing, RootAdapter,
///     ServantActivator,
/// };
///
/// struct Account(String);
///
/// impl Servant for Account {
///     fn repository_id(&self) -> &str {
///         "IDL:bank/Account:1.0"
///     }
///
///     fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
///         upcall.unknown_operation()
///     }
/// }
///
/// struct Ledger;
///
/// impl ServantActivator for Ledger {
///     fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, Refused> {
///         // Read it from where it is kept.
///         Ok(Arc::new(Account(String::from_utf8_lossy(id.as_bytes()).into_owned())))
///     }
///
///     fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {
///         // Write it back.
///     }
/// }
///
/// let mut options = Options::default();
/// options.listen_on("iiop://127.0.0.1:0")?;
/// let orb = Orb::new(options);
/// let accounts = RootAdapter::install(&orb).create_poa(
///     "accounts",
///     Policies {
///         lifespan: Lifespan::Persistent,
///         id_assignment: IdAssignment::User,
///         request_processing: RequestProcessing::ServantManager,
///         ..Policies::default()
///     },
/// )?;
/// accounts.set_servant_activator(Ledger)?;
/// let savings = accounts.create_reference_of("savings", "IDL:bank/Account:1.0")?;
/// assert!(accounts.id_to_servant("savings").is_err(), "nobody has called it yet");
/// assert_eq!(savings.non_existent(), Ok(false));
/// assert!(accounts.id_to_servant("savings").is_ok());
/// orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ServantActivator: Send + Sync + 'static {
    /// Returns the servant for an object, which is active from then on.
    ///
    /// # Errors
    /// The exception that the caller of the object receives.
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, Refused>;

    /// Receives a servant back, after the last request of the object has ended. Called on a
    /// separate thread of the adapter, where waiting for the POA fails with `BAD_INV_ORDER`. A
    /// request that arrives for the object meanwhile waits, and then incarnates the object again.
    ///
    /// `cleanup_in_progress`: whether this call is due to the end of the POA, its manager or the
    /// ORB. `remaining_activations`: whether the servant still incarnates other objects of the POA.
    fn etherealize(
        &self,
        id: &ObjectId,
        poa: &Poa,
        servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    );
}

/// Value that a servant locator passes from [`preinvoke`](ServantLocator::preinvoke) to
/// [`postinvoke`](ServantLocator::postinvoke).
pub type Cookie = Option<Box<dyn Any + Send>>;

/// Servant manager that provides a servant for each request, and receives it back afterwards
/// (`PortableServer::ServantLocator`): for POAs with
/// [`RequestProcessing::ServantManager`](crate::RequestProcessing) and
/// [`ServantRetention::NonRetain`](crate::ServantRetention).
///
/// The locator is called on the thread that serves the request, concurrently if several requests
/// run.
pub trait ServantLocator: Send + Sync + 'static {
    /// Returns the servant for one request, and a cookie for [`postinvoke`](Self::postinvoke).
    ///
    /// # Errors
    /// The exception that the caller of the object receives.
    fn preinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused>;

    /// Receives the servant back before the reply is sent, even after a panic of the servant.
    ///
    /// # Errors
    /// The exception that the caller receives instead of the reply.
    fn postinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
        cookie: Cookie,
        servant: Arc<dyn Servant>,
    ) -> Result<(), SystemException>;
}

/// Activator that creates POAs when requests arrive for objects in them
/// (`PortableServer::AdapterActivator`).
pub trait AdapterActivator: Send + Sync + 'static {
    /// Creates the child `name` of `parent` with its contents, and returns whether it did. There
    /// are no concurrent calls for the same POA; requests for that POA and for POAs below it wait
    /// until the call returns.
    ///
    /// # Errors
    /// The caller of the object receives OBJ_ADAPTER 1.
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException>;
}

impl<T: ServantActivator + ?Sized> ServantActivator for Arc<T> {
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, Refused> {
        (**self).incarnate(id, poa)
    }

    fn etherealize(
        &self,
        id: &ObjectId,
        poa: &Poa,
        servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    ) {
        (**self).etherealize(id, poa, servant, cleanup_in_progress, remaining_activations);
    }
}

impl<T: ServantLocator + ?Sized> ServantLocator for Arc<T> {
    fn preinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused> {
        (**self).preinvoke(id, poa, operation)
    }

    fn postinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
        cookie: Cookie,
        servant: Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        (**self).postinvoke(id, poa, operation, cookie, servant)
    }
}

impl<T: AdapterActivator + ?Sized> AdapterActivator for Arc<T> {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        (**self).unknown_adapter(parent, name)
    }
}
