//! The portable object adapter: from object key to servant.
//!
//! ```text
//! key octets -> Key (key.rs) -> POA slot -> object slot -> Arc<dyn Servant>
//! ```
//!
//! * [`Poa`] is one adapter of the tree: policies, activation, references.
//! * [`PoaManager`] says whether requests pass.
//! * [`RootAdapter`] holds all POAs of an ORB and implements
//!   [`oxorb_core::Adapter`], the one trait by which the core knows this crate.
//!
//! Finding the servant of a transient object is two array accesses and three
//! atomic loads, whatever the number of objects and POAs and the depth of the
//! tree (A6.3, A6.8); nothing is allocated and no lock is taken. An object that
//! is persistent, or has an id of the application's, costs a hash and a read
//! lock of its POA instead. A key of an object that is gone, or of an earlier
//! run of the server, is refused (A6.5).
#![forbid(unsafe_code)]

mod adapter;
mod error;
mod key;
mod manager;
mod object_map;
mod poa;
mod policies;

pub use adapter::RootAdapter;
pub use error::PoaError;
pub use manager::{ManagerState, PoaManager};
pub use poa::{ObjectId, Poa};
pub use policies::{IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, Policies};
