//! CORBA's vocabulary: references, system exceptions, code sets, service contexts, policy values.
//!
//! This crate contains the data that both sides of a conversation use, independent of messages,
//! which are in a separate crate (`oxorb-giop`) on top of it. It has no socket, clock, thread or
//! lock.
//!
//! * **References**: [`Ior`] preserves every profile octet by octet, [`IiopProfile`] and
//!   [`components`] parse the known ones, [`corbaloc`] and [`parse_reference`] parse the textual
//!   forms, [`describe`] explains them.
//! * [`SystemException`] represents the 40 standard exceptions, with a table of minor codes
//!   ([`minor`]).
//! * **Service contexts**: [`ServiceContexts`] is the list in a received message.
//!   [`CodeSetContext`] and those of [`contexts`] (priority, deadline, quality of service) are
//!   contents of its elements.
//! * Octets that cannot be parsed yield [`Malformed`].
//!
//! Builds without the standard library, with an allocator: `default-features = false, features = ["spin"]`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod code_sets;
pub mod components;
pub mod contexts;
pub mod corbaloc;
pub mod describe;
#[doc(hidden)]
pub mod fuzz;
pub mod minor;

mod bidirectional;
mod context;
mod group;
mod hex;
mod identity;
mod iiop_profile;
mod ior;
mod malformed;
mod note;
mod place_profile;
mod policy_values;
mod prelude;
mod priorities;
mod protocol_properties;
mod socket_identity;
mod system_exception;
mod tls;
mod url;
mod version;

pub use bidirectional::{
    MAX_LISTEN_ADDRESS, MAX_LISTEN_ADDRESSES, MAX_LISTEN_POINTS, listen_addresses, listen_points,
    parse_listen_addresses, parse_listen_points,
};
pub use code_sets::{CodeSetComponent, CodeSetComponentInfo, CodeSetContext};
pub use components::TaggedComponent;
pub use context::{MAX_CONTEXTS, ServiceContext, ServiceContexts, context_id, write_contexts};
pub use contexts::{CommunicationClass, Qos, Urgency};
pub use corbaloc::{Corbaloc, Corbaname, escape_key, unescape_key};
pub use group::{Group, UipmcProfile};
pub use iiop_profile::{IiopEndpoint, IiopProfile};
pub use ior::{Ior, IorError, TaggedProfile, profile_tag, write_octets};
pub use malformed::Malformed;
pub use note::{ExceptionNote, Explainer, Keeper};
pub use place_profile::PlaceProfile;
pub use policy_values::{
    MAX_POLICY_VALUES, PolicyValueWriter, PolicyValues, policy_type, range_value, time_value,
    utc_value,
};
pub use priorities::{
    InlineList, PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy, RtPolicyValue,
    TooMany, parse_priority_range_context, policies_component, priority_range_context,
};
pub use protocol_properties::{
    MAX_MMAP_NAME, MAX_PROTOCOLS, Protocol, ProtocolProperties, SharedMemoryProtocolProperties,
    TcpProtocolProperties, UnixDomainProtocolProperties,
};
pub use socket_identity::{NotAnIdentity, SocketIdentity};
pub use system_exception::{CompletionStatus, SystemException, SystemExceptionKind};
pub use tls::{TlsMechanism, association};
pub use url::{ReferenceError, Url, parse_reference};
pub use version::Version;
