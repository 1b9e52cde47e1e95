//! The Interface Repository: what IDL files declare, as CORBA objects that any ORB can ask (CORBA 3.3 part 1, 14).
//!
//! ```text
//! IDL files --Unit--> Store (redb) --units--> Repository --serve--> CORBA objects
//! ```
//!
//! * [`Unit`] is one IDL file with all it includes, checked.
//! * [`Store`] keeps units in a file that outlives crashes.
//! * [`Repository`] is what all units declare, linked.
//! * [`serve`] makes objects of it; [`corba`] holds their interfaces.
//! * [`client`] asks a repository, this one or any other.
//!
//! The repository is read over the wire and filled from IDL: operations that would change it raise NO_IMPLEMENT, and
//! `destroy` BAD_INV_ORDER.
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

/// The name under which ORBs know the repository, and its key in `corbaloc:` references.
pub const INITIAL_NAME: &str = "InterfaceRepository";
