//! A bridge between protocols (an in-line bridge of CORBA 3.4, part 2, 7): clients call objects of the bridge over one
//! protocol, and the bridge calls the targets over another.
//!
//! ```text
//! client --any protocol of the bridge's endpoints--> Bridge --any protocol of the target's reference--> server
//!        <------------- reply, octet for octet ------------ <-----------------------------------------
//! ```
//!
//! Arguments and results are passed on unchanged, without knowledge of their types: copied once in each direction, in
//! the sender's byte order. Each message is checked for whether its octets can be copied
//! ([`Relayed`](oxorb_cdr::Relayed)); where they cannot, the call raises MARSHAL, minor code `NOT_ALIKE`. GIOP version,
//! fragmentation and code sets are negotiated separately on each side. Priorities, remaining time limits,
//! cancellations, oneways and exceptions are propagated; the bridge follows forwards itself.
//!
//! References among the values still refer to their original objects and bypass the bridge, unless the bridge knows the
//! operations ([`Interfaces`]). Then a reference that passes through is replaced by an object of the bridge, and is
//! replaced by the original when a client passes it back, so that callbacks pass through the bridge as well.
//!
//! ```
//! use oxorb::{Interface as _, ObjectRef, Orb};
//! use oxorb::bridge::{Bridge, Interfaces};
//!
//! # let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
//! # let poa = server.root_poa();
//! # let there: ObjectRef = poa.create_reference()?;
//! # let url = there.to_ior();
//! let orb = Orb::builder().listen("uiop://").listen("iiop://127.0.0.1:0").build()?;
//! let bridge = Bridge::new(&orb, Interfaces::default())?;
//! let here = bridge.open("Account", &url)?;
//! println!("{}", here.to_ior());
//! # orb.shutdown(true)?;
//! # server.shutdown(true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod activity;
pub(crate) mod counts;
mod error;
pub(crate) mod forwarder;
#[doc(hidden)]
pub mod fuzz;
pub(crate) mod interfaces;
pub(crate) mod passage;
mod passing;
pub(crate) mod poas;
mod replacing;
mod search;
pub(crate) mod targets;
mod typed;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::ior::Ior;
use crate::poa::{IdAssignment, Lifespan, Policies};
use crate::{Interface as _, ObjectRef, Orb};

use counts::Counts;
use forwarder::Forwarder;
use passage::{Passage, Rules, foreign_of};
use passing::Passing;
use poas::Poas;

pub use counts::Statistics;
pub use error::Error;
pub use interfaces::Interfaces;

/// Name of the POA of the objects that were opened by name.
pub const POA_NAME: &str = "bridge";

/// Maximum number of passed references that are replaced by objects of the bridge. At this limit, a request that
/// carries a new reference fails with IMP_LIMIT and COMPLETED_NO, and a reply that carries a new reference fails with
/// IMP_LIMIT and COMPLETED_YES.
pub const MOST_REFERENCES: usize = 100_000;

/// A bridge on the endpoints of one ORB. Cheap to clone.
///
/// The bridge lives as long as that ORB. The threads that read requests pass them on, so the ORB's settings of
/// concurrency, lanes, limits and access rules apply to the bridge.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

struct Inner {
    orb: Orb,
    named: Poas,
    passing: Arc<Passing>,
    passage: Arc<Passage>,
}

impl Bridge {
    /// Creates a bridge on an ORB that listens with the protocols of the clients and can connect with those of the
    /// targets.
    ///
    /// # Errors
    /// The ORB has a POA named [`POA_NAME`] or `bridged` already, or is shut down.
    pub fn new(orb: &Orb, interfaces: Interfaces) -> Result<Bridge, Error> {
        let foreign = foreign_of(orb).map_err(|error| Error::Setup(error.into()))?;
        let root = orb.root_poa();
        let named = Policies {
            lifespan: Lifespan::Persistent,
            id_assignment: IdAssignment::User,
            ..Policies::default()
        };
        let named = Poas::new(root, POA_NAME, named)?;
        let passing = Arc::new(Passing::new(Poas::new(root, "bridged", Policies::default())?));
        let passage = Passage {
            orb: orb.clone(),
            foreign,
            interfaces: Arc::new(interfaces),
            ambiguous: HashSet::new(),
            counts: Arc::new(Counts::default()),
            counterparts: passing.clone(),
            rules: Rules::default(),
        };
        let passage = Arc::new(passage);
        Ok(Bridge(Arc::new(Inner { orb: orb.clone(), named, passing, passage })))
    }

    /// Creates an object that passes its requests on to a target, given as a reference (`IOR:`, `corbaloc:`,
    /// `corbaname:`, ..). The name is the object's id, which stays valid across restarts of the bridge, and its key:
    /// `corbaloc::host:port/name`.
    ///
    /// A reference need not declare its interface, and a URL never does. If the interface is not declared, the target
    /// is queried for it and, if it does not know that, for each interface that the bridge knows, with a time limit of
    /// 5 s for each query and 10 s for all. If no interface is found, only operations that need no types are passed on.
    ///
    /// # Errors
    /// The reference cannot be resolved, or the name is taken.
    pub fn open(&self, name: &str, target: &str) -> Result<ObjectRef, Error> {
        let inner = &self.0;
        let ior = targets::resolve(&inner.orb, target)?;
        self.stand_for(name, &targets::with_interface(&inner.orb, ior, &inner.passage.interfaces))
    }

    /// Creates an object as [`open`](Self::open) does, for a target of the given interface.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_as(
        &self,
        name: &str,
        target: &str,
        repository_id: &str,
    ) -> Result<ObjectRef, Error> {
        let mut ior = targets::resolve(&self.0.orb, target)?;
        repository_id.clone_into(&mut ior.type_id);
        self.stand_for(name, &ior)
    }

    fn stand_for(&self, name: &str, target: &Ior) -> Result<ObjectRef, Error> {
        let inner = &self.0;
        let forwarder = Forwarder::new(&inner.passage, target);
        let poa = inner.named.with(forwarder.priority_model());
        let object = poa.activate_servant_with_id(&name.into(), Arc::new(forwarder))?;
        let object = ObjectRef::from_ref(object);
        inner.passing.stands_for(&object, target);
        inner.orb.bind(name, &object);
        Ok(object)
    }

    /// Reports whether the bridge knows the operations of an interface.
    pub fn knows(&self, repository_id: &str) -> bool {
        self.0.passage.interfaces.has(repository_id)
    }

    /// Returns the counts of the requests passed on so far.
    pub fn statistics(&self) -> Statistics {
        self.0.passage.counts.read()
    }

    /// Closes the connections that the bridge opened for requests in the other byte order. These belong to a second
    /// ORB, so call this function after the shutdown of the bridge's own ORB.
    pub fn close(&self) {
        // Ignore the result: `shutdown` fails only within a request, in which the preceding shutdown of the bridge's
        // ORB fails as well.
        let _ = self.0.passage.foreign.shutdown(true);
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        f.debug_tuple("Bridge").field(&statistics).finish()
    }
}
