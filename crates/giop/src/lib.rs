//! GIOP 1.0 to 1.2 messages, object references and code sets, without I/O.
//!
//! This crate knows what the octets of a CORBA conversation mean and nothing about how they travel: it owns no
//! socket, clock, thread or lock. Time never appears; buffers are arguments. What a caller does with it:
//!
//! ```text
//!  sending     begin_request / begin_reply ──> arguments through cdr::Encoder ──> finish ──> (Fragments) ──> your link
//!  receiving   your link ──> Inbox::room ──> Inbox::poll ──> Inbox::frame ──> Frame::message ──> cdr::Decoder
//! ```
//!
//! * **Messages** are borrowed views ([`Request`], [`Reply`], [`LocateRequest`], [`LocateReply`], [`CancelRequest`]) of a
//!   [`Frame`], one whole message in memory. Parsing copies nothing and allocates nothing.
//! * [`Inbox`] turns any split of octets into whole frames, reassembles fragments, and never holds more than its
//!   [`Limits`] allow, whatever the peer announces.
//! * A peer that breaks the rules yields a [`Violation`], sorted by blame; [`Violation::answer`] is the one place that
//!   decides what goes on the wire because of it.
//! * **References**: [`Ior`] keeps every profile octet for octet, [`IiopProfile`] and [`components`] read the ones we
//!   understand, [`corbaloc`] and [`parse_reference`] read the textual forms, [`describe`] explains them.
//! * [`SystemException`] is the 40 standard exceptions with the table of minor codes ([`minor`]).
//!
//! What it does not do: no connection state, no retry, no dispatch. Those join bytes with decisions and live in
//! `oxorb-core`.
#![forbid(unsafe_code)]

pub mod code_sets;
pub mod components;
pub mod corbaloc;
pub mod describe;
#[doc(hidden)]
pub mod fuzz;
pub mod minor;

mod bidirectional;
mod context;
mod control;
mod fragments;
mod frame;
mod header;
mod hex;
mod identity;
mod iiop_profile;
mod inbox;
mod ior;
mod limits;
mod locate;
mod malformed;
mod note;
mod order;
mod policy_values;
mod priorities;
mod reply;
mod request;
mod riop;
mod system_exception;
mod target;
mod url;
mod version;
mod violation;
mod write;

pub use bidirectional::{MAX_LISTEN_POINTS, listen_points, parse_listen_points};
pub use code_sets::{CodeSetComponent, CodeSetComponentInfo, CodeSetContext};
pub use components::TaggedComponent;
pub use context::{MAX_CONTEXTS, ServiceContext, ServiceContexts, context_id};
pub use control::{CancelRequest, cancel_request, close_connection, message_error};
pub use corbaloc::{Corbaloc, Corbaname};
pub use fragments::{Fragments, Piece};
pub use frame::{Frame, Message};
pub use header::{Header, MessageType};
pub use iiop_profile::{IiopEndpoint, IiopProfile};
pub use inbox::Inbox;
pub use ior::{Ior, IorError, TaggedProfile, profile_tag};
pub use limits::{Limits, setting};
pub use locate::{
    LocateReply, LocateRequest, LocateStatus, begin_locate_reply, locate_reply, locate_request,
};
pub use malformed::Malformed;
pub use note::{Explainer, Keeper, Note};
pub use policy_values::{
    MAX_POLICY_VALUES, PolicyValueWriter, PolicyValues, policy_type, range_value, time_value,
    utc_value,
};
pub use priorities::{
    Few, PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy, Protocol, Protocols,
    RtPolicyValue, TcpProtocolProperties, TooMany, parse_priority_context,
    parse_priority_range_context, policies_component, priority_context, priority_range_context,
};
pub use reply::{Reply, ReplyStatus, begin_reply, system_exception_reply};
pub use request::{Request, RequestHeader, Response, begin_request};
pub use riop::{CommunicationClass, Qos, Urgency};
pub use system_exception::{CompletionStatus, SystemException, SystemExceptionKind};
pub use target::{AddressingDisposition, IorView, ProfileView, Target, TargetAddress};
pub use url::{ReferenceError, Url, parse_reference};
pub use version::Version;
pub use violation::{Answer, Misbehaviour, Side, Unsupported, Violation};
pub use write::{Begun, finish};
