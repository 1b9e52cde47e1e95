//! Interface Repository: declarations of IDL files as CORBA objects that any ORB can query (CORBA 3.3 part 1, 14).
//!
//! ```text
//! IDL files --Unit--> Store (redb) --units--> Repository --serve--> CORBA objects
//! ```
//!
//! * [`Unit`] is one checked IDL file with all its includes.
//! * [`Store`] stores units in a file that survives crashes.
//! * [`Repository`] links the declarations of all units.
//! * [`serve`] serves it as objects; [`corba`] has their interfaces.
//! * [`client`] queries a repository of this or any other ORB.
//!
//! The repository is filled from IDL, and read-only for clients: operations that would change it raise NO_IMPLEMENT,
//! and `destroy` raises BAD_INV_ORDER.
#![forbid(unsafe_code)]

pub mod client;
mod constant;
mod error;
mod fill;
mod primitive;
mod repository;
mod service;
mod store;
pub mod types;
mod unit;

mod ir {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("ir");
}

pub use error::Error;
pub use ir::corba;
pub use repository::{
    Entry, EntryId, Factory, Kind, Member, Named, Parameter, Repository, UnionMember, ValueBody,
};
pub use service::{POA_NAME, Served, serve};
pub use store::Store;
pub use unit::Unit;

/// Name of the repository's initial reference, and its key in `corbaloc:` references.
pub const INITIAL_NAME: &str = "InterfaceRepository";
