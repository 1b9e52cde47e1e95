//! The service as CORBA objects: a servant for each context, and one for each open iterator.

mod context;
mod follow;
mod iterator;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use oxorb::ior::Ior;
use oxorb::poa::{
    IdAssignment, IdUniqueness, Lifespan, ObjectId, Poa, Policies, Refused, RequestProcessing,
    ServantActivator,
};
use oxorb::transport::Address;
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Ref, Servant, SystemException, minor,
};

use crate::cos_naming::{NamingContextExtRef, NamingContextRef};
use crate::rules::addresses;
use crate::store::{Change, ContextId, Refusal, Unwritten};
use crate::{Error, INITIAL_NAME, Limits, Names, Problem, Rules, Store};
use context::Context;
use iterator::Iterators;

/// Name of the POA of contexts. The POA is persistent, so that references outlive the process if the port stays the
/// same.
pub const POA_NAME: &str = "NameService";

/// A naming service of an ORB.
///
/// ```
/// use oxorb::{Interface as _, Orb};
/// use oxorb_naming::{NameService, Store};
///
/// let orb = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = NameService::start(&orb, Store::in_memory()?)?;
///
/// // Names for this ORB's own use. Other ORBs find the service at `corbaloc::host:port/NameService`.
/// let names = service.names();
/// names.make_contexts("bank/branches")?;
/// names.bind("bank/itself", names.root())?;
/// let found: oxorb::ObjectRef = names.resolve("bank/itself")?;
/// assert_eq!(found.non_existent(), Ok(false));
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NameService {
    root: NamingContextExtRef,
    service: Arc<Service>,
}

impl NameService {
    /// Serves the names of a store with an ORB: the root context answers at the key `NameService`, and is the ORB's
    /// initial reference of this name.
    ///
    /// References to contexts remain valid after a restart if the ORB listens at the same port. Use the ORB's
    /// `listen_late`, so that no client gets OBJECT_NOT_EXIST before the service has started.
    ///
    /// # Errors
    /// [`Error::Poa`], if the ORB already serves names, or was shut down; [`Error::Store`].
    pub fn start(orb: &Orb, store: Store) -> Result<NameService, Error> {
        NameService::start_with(orb, store, Limits::default())
    }

    /// Starts the service like [`start`](Self::start), with the given limits.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(orb: &Orb, store: Store, limits: Limits) -> Result<NameService, Error> {
        NameService::start_under(orb, store, limits, Rules::default())
    }

    /// Starts the service like [`start`](Self::start), with the given limits and rules.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_under(
        orb: &Orb,
        mut store: Store,
        limits: Limits,
        rules: Rules,
    ) -> Result<NameService, Error> {
        store.serve(orb)?;
        // The contexts of a store in memory end with the process, and so do references to them.
        let lifespan = match store.is_in_memory() {
            true => Lifespan::Transient,
            false => Lifespan::Persistent,
        };
        let contexts = orb.root_poa().create_poa(
            POA_NAME,
            Policies {
                lifespan,
                id_assignment: IdAssignment::User,
                id_uniqueness: IdUniqueness::Multiple,
                request_processing: RequestProcessing::ServantManager,
                ..Policies::default()
            },
        )?;
        contexts.manager().hold_requests(false)?;
        let service = Arc::new(Service {
            iterators: Iterators::new(&contexts)?,
            contexts,
            store,
            limits: Arc::new(limits),
            rules,
            forwards: AtomicUsize::new(0),
        });
        service.contexts.set_servant_activator(Activator(Arc::downgrade(&service)))?;
        // Bind the key before activating the root: if the ORB listens already, or begins to listen with its first
        // reference, requests to the root now wait until the POA manager is activated.
        let root = service.object_id(ContextId::ROOT);
        service.contexts.bind_name_to_id(INITIAL_NAME, root);
        // The root's servant keeps the service alive. Each other context gets its servant when it is first called.
        let root = Context::new(&service, ContextId::ROOT).servant();
        let id = service.object_id(ContextId::ROOT);
        let root = service.contexts.activate_servant_with_id(&id, root)?;
        let root = NamingContextExtRef::from_ref(root);
        service.contexts.manager().activate()?;
        orb.register_initial_reference(INITIAL_NAME, root.reference());
        Ok(NameService { root, service })
    }

    /// Returns the root context.
    pub fn root(&self) -> &NamingContextExtRef {
        &self.root
    }

    /// Returns a client of the service, for an application that also uses the names it serves.
    pub fn names(&self) -> Names {
        Names::new(self.root.clone())
    }

    /// Returns the store of the service.
    pub fn store(&self) -> &Store {
        &self.service.store
    }

    /// Returns and clears the latest failure of the store, so that it can be logged: clients get only PERSIST_STORE.
    pub fn take_failure(&self) -> Option<String> {
        self.service.store.take_failure()
    }

    /// Returns the number of open binding iterators.
    pub fn open_iterators(&self) -> usize {
        self.service.iterators.open()
    }
}

struct Service {
    store: Store,
    limits: Arc<Limits>,
    rules: Rules,
    /// Number of pending calls to other name servers.
    forwards: AtomicUsize,
    contexts: Poa,
    iterators: Iterators,
}

impl Service {
    /// Returns the reference of a context of this store.
    fn reference(&self, context: ContextId) -> Result<NamingContextRef, oxorb::poa::PoaError> {
        let reference = self
            .contexts
            .create_reference_with_id::<NamingContextExtRef>(self.object_id(context))?;
        Ok(reference.into())
    }

    /// Returns the context of this store that a reference refers to. The reference was created here, or is a
    /// `corbaloc:` of the root with an address that this server publishes.
    fn own(&self, context: &NamingContextRef) -> Option<ContextId> {
        self.made(context).or_else(|| self.is_root(context).then_some(ContextId::ROOT))
    }

    /// Returns the context of this store that a reference refers to, if it was created here.
    fn made(&self, context: &NamingContextRef) -> Option<ContextId> {
        let id = self.contexts.reference_to_id(context).ok()?;
        self.context_of(&id)
    }

    fn is_root(&self, context: &NamingContextRef) -> bool {
        let Ok(root) = self.reference(ContextId::ROOT) else {
            return false;
        };
        let context = context.reference();
        let protocols = &context.orb().options().protocols;
        let published = addresses(root.reference().ior(), protocols);
        let ours = |at: &Address| published.iter().any(|own| at.leads_to(own));
        let profiles = context.ior().profiles.iter();
        let profiles = profiles.filter_map(|tagged| {
            let protocol = protocols.tagged(tagged.tag)?;
            protocol.profile().read(tagged).ok()
        });
        let mut keys = profiles.map(|profile| profile.key);
        let named = addresses(context.ior(), protocols);
        !named.is_empty()
            && keys.all(|key| key == INITIAL_NAME.as_bytes())
            && named.iter().all(ours)
    }

    /// Reserves one of the permitted calls to other name servers; `None` if all are in use.
    fn forward(&self) -> Option<Forward<'_>> {
        let most = self.limits.forwards;
        let taken = self.forwards.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
            (now < most).then_some(now + 1)
        });
        taken.ok().map(|_| Forward(&self.forwards))
    }

    /// Returns the context of an object id, if it belongs to this store.
    fn context_of(&self, id: &ObjectId) -> Option<ContextId> {
        let (store, number) = id.as_bytes().split_first_chunk()?;
        let ours = u64::from_be_bytes(*store) == self.store.number();
        let number = u64::from_be_bytes(number.try_into().ok()?);
        ours.then_some(ContextId(number))
    }

    /// Returns the object id of a context. The id contains the number of the store, because the contexts of other name
    /// servers have the same POA and the same context numbers.
    fn object_id(&self, context: ContextId) -> ObjectId {
        let mut id = self.store.number().to_be_bytes().to_vec();
        id.extend_from_slice(&context.0.to_be_bytes());
        ObjectId::from(id)
    }

    fn change(&self, change: Change) -> Result<Result<ContextId, Refusal>, SystemException> {
        if self.rules.read_only {
            let minor = minor::no_permission::READ_ONLY;
            return Err(SystemException::no_permission(minor, CompletionStatus::No));
        }
        let patience = self.limits.write_timeout;
        let done = self.store.change(change, &self.limits, patience);
        done.map_err(|unwritten| {
            // The writing thread has informed the database of the error.
            if let Unwritten::Failed(error) | Unwritten::Unsure(error) = &unwritten {
                self.store.remember(Arc::clone(error));
            }
            unwritten.exception()
        })
    }

    fn unreadable(&self, error: redb::Error) -> SystemException {
        self.store.note(Arc::new(error));
        SystemException::persist_store(minor::persist_store::NOT_READ, CompletionStatus::No)
    }

    /// Decodes a bound reference; `None` for nil.
    fn decode(&self, octets: &[u8]) -> Result<Option<ObjectRef>, SystemException> {
        if octets.is_empty() {
            return Ok(None);
        }
        let ior = Ior::from_octets(octets).map_err(|_| {
            SystemException::persist_store(minor::persist_store::NOT_READ, CompletionStatus::No)
        })?;
        let orb = self.contexts.orb().ok_or(GONE)?;
        Ok(Some(ObjectRef::from_ref(Ref::new(&orb, ior))))
    }

    /// Encodes a reference to be bound; empty for nil.
    fn encode(&self, object: Option<&Ref>) -> Result<Vec<u8>, SystemException> {
        let octets = object.map_or_else(Vec::new, |object| object.ior().to_octets());
        if octets.len() > self.limits.reference_octets {
            let minor = minor::imp_limit::BOUND_REFERENCE_TOO_LONG;
            return Err(SystemException::imp_limit(minor, CompletionStatus::No));
        }
        Ok(octets)
    }
}

/// Permit for a call to another name server; released when dropped.
struct Forward<'a>(&'a AtomicUsize);

impl Drop for Forward<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Creates the servants of contexts. Its reference to the service is weak, to avoid a cycle.
struct Activator(Weak<Service>);

impl ServantActivator for Activator {
    fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, Refused> {
        let service = self.0.upgrade().ok_or(GONE)?;
        let context = service.context_of(id).ok_or(GONE)?;
        let found = service.store.snapshot().and_then(|read| read.has(context));
        match found.map_err(|error| service.unreadable(error))? {
            true => Ok(Context::new(&service, context).servant()),
            false => Err(GONE.into()),
        }
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("store", &self.store.path()).finish_non_exhaustive()
    }
}

/// Exception for a request to a context that is being, or was, destroyed.
const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

impl From<oxorb::poa::PoaError> for Problem {
    /// Converts every error to OBJECT_NOT_EXIST, because creating a reference fails only after the POA was destroyed.
    fn from(_: oxorb::poa::PoaError) -> Self {
        Problem::System(GONE)
    }
}
