//! The Naming Service: names for CORBA objects, in a store that outlives crashes (Naming Service 1.3).
//!
//! ```text
//! Store (redb) --NameService::start--> CORBA objects <--Names-- this ORB and any other
//! ```
//!
//! * [`Store`] keeps contexts and bindings in a file; each change is on disk before it is acknowledged.
//! * [`NameService`] makes any server a name server: the root context answers at `corbaloc::host:port/NameService`.
//! * [`Names`] is a typed client for this and any other ORB's name server; [`cos_naming`] holds the interfaces as
//!   defined in IDL.
//! * [`Name`] is the parsed form of `a/b.c`.
//!
//! `oxorb name serve` is a stand-alone name server. `docs/naming.md` describes how to use the service. Multicast
//! discovery, replication and names for groups of objects are not supported.
#![forbid(unsafe_code)]

mod client;
mod error;
mod limits;
mod name;
mod problem;
mod registration;
mod rules;
mod service;
mod store;
mod text;

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("CosNaming");
}

pub use client::{Entries, Entry, Names, NamingError};
pub use error::Error;
pub use idl::cos_naming;
pub use limits::Limits;
pub use name::{AsName, InvalidName, Malformed, Name, stringify};
pub use problem::Problem;
pub use rules::{Federation, Host, Rules};
pub use service::{NameService, POA_NAME};
pub use store::Store;

/// Name of the service's initial reference, which is also its object key in `corbaloc:` references.
pub const INITIAL_NAME: &str = "NameService";

/// Port on which name servers listen by default, assigned to `corbaloc` by IANA.
pub const PORT: u16 = 2809;

/// Documentation page about naming, whose examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/naming.md")]
struct Page;
