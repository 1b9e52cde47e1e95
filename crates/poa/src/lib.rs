//! The portable object adapter: from object key to servant.
//!
//! ```text
//! key octets -> Key (key.rs) -> POA slot -> object slot -> Arc<dyn Servant>
//! ```
//!
//! * [`Poa`] is one adapter of the tree: policies, activation, references.
//! * [`PoaManager`] says whether requests pass.
//! * [`ServantActivator`], [`ServantLocator`] and [`AdapterActivator`] make what
//!   requests ask for and is not there yet.
//! * [`RootAdapter`] holds all POAs of an ORB and implements
//!   [`oxorb_core::Adapter`], the one trait by which the core knows this crate.
//!
//! Finding the servant of a transient object is four array accesses and a few
//! atomic loads, whatever the number of objects and POAs and the depth of the
//! tree; nothing is allocated and no lock is taken. An object
//! that is persistent, or has an id of the application's, costs one hash more. A
//! key of an object that is gone, or of an earlier run of the server, is refused.
//!
//! | read | for |
//! |---|---|
//! | `dispatch.rs` | the way of a request |
//! | `object_map.rs`, `index.rs`, `buckets.rs` | how objects are found without a lock |
//! | `pass.rs` | how requests in flight are known without a counter |
//! | `incarnation.rs`, `etherealizer.rs`, `turn.rs` | servant activators |
//! | `confined.rs` | servants of one thread |
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
