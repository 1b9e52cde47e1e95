//! A bridge between protocols (an in-line bridge of CORBA 3.4, part 2, 7): clients call objects of the bridge by one protocol,
//! and the bridge calls theirs by another.
//!
//! ```text
//! client --any protocol of the bridge's endpoints--> Bridge --any protocol of the target's reference--> server
//!        <------------- reply, octet for octet ------------ <-----------------------------------------
//! ```
//!
//! Arguments and results go on as they are, without their types being known: copied once on each way, in the byte order of
//! their sender. What that needs is checked for each message ([`Relayed`](oxorb_cdr::Relayed)), and the caller gets MARSHAL,
//! minor code `NOT_ALIKE`, where it does not hold. What belongs to the messages is made anew on each side: versions of GIOP,
//! fragments, code sets. Priorities, what is left of time limits, forwards (followed here), oneways and exceptions are carried.
//!
//! References among the values lead to where they led before, past the bridge, unless it is told what operations are like
//! ([`Interfaces`]): then those that go through become objects of the bridge, and those that come back become what they
//! were, so that callbacks come back through it.
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

mod counts;
mod error;
mod forwarder;
mod interfaces;
mod passing;
mod poas;
mod typed;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    ByteOrder, IdAssignment, Interface as _, Ior, Lifespan, ObjectRef, Orb, Policies, Ref,
};

use counts::Counts;
use forwarder::Forwarder;
use passing::Passing;
use poas::Poas;

pub use counts::Statistics;
pub use error::Error;
pub use interfaces::Interfaces;

/// The POA of objects that were opened by name.
pub const POA_NAME: &str = "bridge";

/// References that went through and are objects of the bridge, at most. With one more, requests that bring new ones end with
/// IMP_LIMIT, COMPLETED_NO; results with COMPLETED_YES.
pub const MOST_REFERENCES: usize = 100_000;

/// Longest time that a target may take to say its interface.
const ASK: Duration = Duration::from_secs(5);

/// Passes requests on. Cheap to clone.
///
/// It lives as long as the ORB whose endpoints it has. Requests are passed on by the threads that have read them, so settings of
/// the ORB about concurrency, lanes, limits and access rules are those of the bridge.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) orb: Orb,
    /// Sends what came in the byte order that is not this machine's.
    pub(crate) foreign: Orb,
    named: Poas,
    pub(crate) passing: Passing,
    pub(crate) interfaces: Arc<Interfaces>,
    pub(crate) counts: Counts,
}

impl Bridge {
    /// Makes one of an ORB that listens where its clients are and can connect to where its targets are.
    ///
    /// # Errors
    /// The ORB has a POA named [`POA_NAME`] or `bridged` already, or is shut down.
    pub fn new(orb: &Orb, interfaces: Interfaces) -> Result<Bridge, Error> {
        let options = orb.options().clone();
        let foreign = Orb::builder().configure(|change| {
            *change = options;
            change.listen.clear();
            change.byte_order = opposite(ByteOrder::NATIVE);
        });
        let foreign = foreign.build().map_err(|error| Error::Setup(error.into()))?;
        let root = orb.root_poa();
        let named = Policies {
            lifespan: Lifespan::Persistent,
            id_assignment: IdAssignment::User,
            ..Policies::default()
        };
        Ok(Bridge(Arc::new(Inner {
            orb: orb.clone(),
            foreign,
            named: Poas::new(root, POA_NAME, named)?,
            passing: Passing::new(Poas::new(root, "bridged", Policies::default())?),
            interfaces: Arc::new(interfaces),
            counts: Counts::default(),
        })))
    }

    /// Makes an object that stands for a target: its requests go on to where the reference leads (`IOR:`, `corbaloc:`,
    /// `corbaname:`, ..). The name is its id, good across restarts of the bridge, and its key: `corbaloc::host:port/name`.
    ///
    /// A target whose reference does not say its interface, as URLs do not, is asked for it, and then for each interface that the
    /// bridge knows, each time for 5 s at most; where that leads to nothing, only what needs no types is carried.
    ///
    /// # Errors
    /// The reference leads nowhere, or the name is taken.
    pub fn open(&self, name: &str, target: &str) -> Result<ObjectRef, Error> {
        let mut ior = self.resolve(target)?;
        if ior.type_id.is_empty() {
            let asked = Ref::new(&self.0.orb, ior.clone()).with_timeout(ASK);
            // Not every ORB answers the first question.
            let known = &self.0.interfaces;
            ior.type_id = asked.repository_id().unwrap_or_else(|_| {
                let is_a = |id: &str| asked.is_a(id).unwrap_or(false);
                known.most_derived(is_a).unwrap_or_default().to_owned()
            });
        }
        self.stand_for(name, &ior)
    }

    /// Makes an object as [`open`](Self::open) does, for a target of this interface.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_as(
        &self,
        name: &str,
        target: &str,
        repository_id: &str,
    ) -> Result<ObjectRef, Error> {
        let mut ior = self.resolve(target)?;
        repository_id.clone_into(&mut ior.type_id);
        self.stand_for(name, &ior)
    }

    fn resolve(&self, target: &str) -> Result<Ior, Error> {
        let found: Result<ObjectRef, _> = self.0.orb.resolve(target);
        match found {
            Ok(found) => Ok(found.reference().ior().clone()),
            Err(error) => Err(Error::Target(target.to_owned(), error.into())),
        }
    }

    fn stand_for(&self, name: &str, target: &Ior) -> Result<ObjectRef, Error> {
        let inner = &self.0;
        let forwarder = Forwarder::new(inner, target);
        let poa = inner.named.with(forwarder.priority_model());
        let object = poa.activate_servant_with_id(&name.into(), Arc::new(forwarder))?;
        let object = ObjectRef::from_ref(object);
        inner.stands_for(&object, target);
        inner.orb.bind(name, &object);
        Ok(object)
    }

    /// Reports whether the bridge knows the operations of an interface.
    pub fn knows(&self, repository_id: &str) -> bool {
        self.0.interfaces.has(repository_id)
    }

    /// Returns what was passed on so far.
    pub fn statistics(&self) -> Statistics {
        self.0.counts.read()
    }

    /// Ends the connections of the bridge that are not its ORB's; call it when that was shut down.
    pub fn close(&self) {
        // It serves nothing that could fail to end.
        let _ = self.0.foreign.shutdown(true);
    }
}

fn opposite(order: ByteOrder) -> ByteOrder {
    match order {
        ByteOrder::Big => ByteOrder::Little,
        ByteOrder::Little => ByteOrder::Big,
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        f.debug_tuple("Bridge").field(&statistics).finish()
    }
}
