//! Portable object adapter: maps object keys to servants.
//!
//! ```text
//! key octets -> Key (key.rs) -> POA slot -> object slot -> Arc<dyn Servant>
//! ```
//!
//! * [`Poa`] is one adapter of the tree: policies, activation, references.
//! * [`PoaManager`] controls whether requests pass.
//! * [`ServantActivator`], [`ServantLocator`] and [`AdapterActivator`] create requested servants
//!   and POAs that do not exist yet.
//! * [`RootAdapter`] holds all POAs of an ORB and implements [`oxorb_core::Adapter`], the only
//!   trait through which the core uses this crate.
//!
//! Finding the servant of a transient object takes four array accesses and a few atomic loads,
//! regardless of the number of objects and POAs and the depth of the tree, without allocation or
//! lock. A persistent object, or one with an id of the application, costs one more hash. A key of
//! an object that no longer exists, or of an earlier run of the server, is rejected.
//!
//! | read | for |
//! |---|---|
//! | `dispatch.rs` | the path of a request |
//! | `object_map.rs`, `index.rs`, `buckets.rs` | lock-free lookup of objects |
//! | `pass.rs` | tracking of requests in flight without a counter |
//! | `incarnation.rs`, `etherealizer.rs`, `turn.rs` | servant activators |
//! | `confined.rs` | servants confined to one thread |
//! | `unknown.rs` | adapter activators |
//! | `realtime.rs`, `rt_policies.rs` | priorities |
#![forbid(unsafe_code)]

mod activation;
mod adapter;
mod buckets;
mod builder;
mod confined;
mod conversion;
mod current;
mod dispatch;
mod error;
mod etherealizer;
mod group;
mod incarnation;
mod index;
mod key;
mod main_thread;
mod manager;
mod names;
mod object_id;
mod object_map;
mod pass;
mod poa;
mod policies;
mod rate;
mod realtime;
mod refusal;
mod rt_policies;
mod servant_manager;
mod template;
mod turn;
mod unknown;

pub use adapter::RootAdapter;
pub use builder::PoaBuilder;
pub use current::{Current, NoContext};
pub use error::PoaError;
pub use manager::{ManagerState, PoaManager};
pub use object_id::ObjectId;
pub use poa::Poa;
pub use policies::{
    Bidirectional, IdAssignment, IdUniqueness, ImplicitActivation, InvalidPolicy, Lifespan, Lookup,
    Policies, Policy, RequestProcessing, ServantRetention, ThreadPolicy,
};
pub use rt_policies::RtPolicies;
pub use servant_manager::{AdapterActivator, Cookie, Refused, ServantActivator, ServantLocator};
pub use template::{AdapterObserver, ObjectReferenceFactory, ObjectReferenceTemplate};
