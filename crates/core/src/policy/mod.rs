//! Policies: a caller's requirements on a call, at the level of ORB, thread, object or one call (CORBA 3.3 part 1, 8.9,
//! and Messaging, chapter 17).
//!
//! | Level | Set by | Holds for |
//! |---|---|---|
//! | ORB | [`Orb::policies`](crate::Orb::policies), options | all calls of the ORB |
//! | thread | [`PolicyCurrent::scope`] | calls of this thread while the scope lives |
//! | object | [`Ref::with`](crate::Ref::with) | calls through this reference and its clones |
//! | call | `reference.with(..).operation(..)` | this call |
//!
//! A narrower level has precedence. If the server has published a policy of the same type in the reference
//! (TAG_POLICIES), both are reconciled, and a call with contradicting policies raises INV_POLICY.
//!
//! Without overrides a call pays two loads and an access to a thread-local variable; with overrides it copies the ORB's
//! resolved policies to its stack and applies the others on top. Neither allocates nor locks.
//!
//! A new policy is a type that implements [`ClientPolicy`], a variant of [`AnyPolicy`], and a field of `Effective`.

mod any;
mod connections;
pub(crate) mod current;
mod effective;
mod kinds;
mod manager;
mod properties;
mod protocols;
mod realtime;
mod reconcile;
mod set;
pub(crate) mod time;

pub use any::{AnyPolicy, ClientPolicy, PolicyType};
pub use connections::{
    Bandwidth, BufferPreallocation, FragmentSize, LargePayloads, ProtocolFallback, QueueLimit,
    SecureOnly,
};
pub use current::{PolicyCurrent, PolicyScope};
pub(crate) use effective::{Effective, RealTimePolicies, Resolved};
pub use kinds::*;
pub(crate) use manager::OrbPolicies;
pub use manager::PolicyManager;
pub use oxorb_object::{
    CommunicationClass, PriorityBand, Protocol, ProtocolProperties, Qos,
    SharedMemoryProtocolProperties, TcpProtocolProperties, UnixDomainProtocolProperties,
};
pub(crate) use properties::properties;
pub(crate) use protocols::position;
pub use protocols::{MAX_PROTOCOL_LISTS, ProtocolList};
pub use realtime::*;
pub(crate) use reconcile::PublishedPolicies;
pub use set::{InvalidPolicies, PolicySet, SetOverrideType};
