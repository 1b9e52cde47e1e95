//! Servant managers, which give servants for objects that are not active.

use std::any::Any;
use std::sync::Arc;

use oxorb_core::{Ref, Servant};
use oxorb_object::SystemException;

use crate::{ObjectId, Poa};

/// Why a servant manager gives no servant.
#[derive(Debug, Clone)]
pub enum Refused {
    /// The caller is sent to another object (`PortableServer::ForwardRequest`).
    ForwardRequest(Ref),
    /// The caller gets this.
    System(SystemException),
}

impl From<SystemException> for Refused {
    fn from(exception: SystemException) -> Self {
        Refused::System(exception)
    }
}

/// Makes the servant of an object when its first request comes, and takes it back
/// when it is deactivated (`PortableServer::ServantActivator`): for POAs with
/// [`RequestProcessing::ServantManager`](crate::RequestProcessing) and
/// [`ServantRetention::Retain`](crate::ServantRetention).
///
/// Calls of one POA's activator never overlap, except that an `incarnate` which
/// calls another local object of its POA may cause one within. Requests for other
/// objects, and for active ones, go on meanwhile. Objects are found without asking
/// the activator while they are active.
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
    /// Gives the servant for an object, which is active from then on.
    ///
    /// # Errors
    /// What the caller of the object gets.
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, Refused>;

    /// Takes a servant back, after the last request of the object has ended.
    /// Called on a thread of the POA's, at which waiting for the POA is
    /// `BAD_INV_ORDER`. A request that comes for the object meanwhile waits, and
    /// then has it incarnated anew.
    ///
    /// `cleanup_in_progress`: because POA, manager or ORB end.
    /// `remaining_activations`: the servant incarnates other objects of the POA.
    fn etherealize(
        &self,
        id: &ObjectId,
        poa: &Poa,
        servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    );
}

/// Value that a servant locator keeps between [`preinvoke`](ServantLocator::preinvoke) and
/// [`postinvoke`](ServantLocator::postinvoke).
pub type Cookie = Option<Box<dyn Any + Send>>;

/// Gives the servant for every single request, and takes it back afterwards
/// (`PortableServer::ServantLocator`): for POAs with
/// [`RequestProcessing::ServantManager`](crate::RequestProcessing) and
/// [`ServantRetention::NonRetain`](crate::ServantRetention).
///
/// Called on the thread that serves the request, for several requests at a time.
pub trait ServantLocator: Send + Sync + 'static {
    /// Gives the servant for one request, and a cookie for its end.
    ///
    /// # Errors
    /// What the caller of the object gets.
    fn preinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused>;

    /// Takes the servant back, before the answer goes out; also after a panic of
    /// the servant.
    ///
    /// # Errors
    /// What the caller gets instead of the answer.
    fn postinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
        cookie: Cookie,
        servant: Arc<dyn Servant>,
    ) -> Result<(), SystemException>;
}

/// Makes POAs when requests come for objects in them
/// (`PortableServer::AdapterActivator`).
pub trait AdapterActivator: Send + Sync + 'static {
    /// Creates the child `name` of `parent` with all that belongs to it, or not:
    /// whether it did. Called once at a time for each POA; requests for it and for
    /// POAs below it wait until this returns.
    ///
    /// # Errors
    /// The caller of the object gets OBJ_ADAPTER 1.
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
