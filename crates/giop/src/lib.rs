//! GIOP 1.0 to 1.2 messages, without I/O.
//!
//! This crate interprets the octets of CORBA messages, but does not transport them: it has no
//! socket, clock, thread or lock. Time is not involved, and buffers are arguments. A typical
//! caller:
//!
//! ```text
//!  sending     begin_request / begin_reply ──> arguments through cdr::Encoder ──> finish ──> (Fragments) ──> your link
//!  receiving   your link ──> Inbox::room ──> Inbox::poll ──> Inbox::frame ──> Frame::message ──> cdr::Decoder
//! ```
//!
//! * **Messages** are borrowed views ([`Request`], [`Reply`], [`LocateRequest`], [`LocateReply`],
//!   [`CancelRequest`]) of a [`Frame`], one complete message in memory. Parsing copies nothing and
//!   allocates nothing.
//! * [`Inbox`] turns octets in any split into complete frames, reassembles fragments, and never holds
//!   more than its [`MessageLimits`] allow, whatever the peer announces.
//! * A peer that breaks the rules causes a [`Violation`], classified by blame;
//!   [`Violation::answer`] alone decides what is sent in response.
//! * References, exceptions and service contexts are those of `oxorb-object`.
//!
//! Not part of this crate: connection state, retries, dispatch. They combine messages with
//! decisions, and belong to `oxorb-core`.
//!
//! Builds without the standard library, but with an allocator: `default-features = false, features
//! = ["spin"]`. It then sends no fragments, but reassembles those of peers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(feature = "std")]
#[doc(hidden)]
pub mod fuzz;

mod alias_table;
mod aliases;
mod control;
mod first;
mod forms;
#[cfg(feature = "std")]
mod fragments;
mod frame;
mod header;
mod inbox;
mod limits;
mod locate;
mod message_type;
mod messaging;
mod order;
mod prelude;
mod reply;
mod request;
mod session;
mod target;
mod usual;
mod violation;
mod wire;

pub use alias_table::{Aliased, Numbered, PreparedTarget};
pub use aliases::Aliases;
pub use control::{CancelRequest, cancel_request, close_connection, message_error};
pub use first::{FirstMessage, caller_priority};
pub use forms::{BareRequest, ReplyForm};
#[cfg(feature = "std")]
pub use fragments::{Fragments, Piece};
pub use frame::{Frame, Message};
pub use header::{Begun, Header, finish, finish_at};
pub use inbox::{Inbox, Reading, Taken};
pub use limits::{MessageLimits, setting};
pub use locate::{
    LocateReply, LocateRequest, LocateStatus, begin_locate_reply, locate_reply, locate_request,
};
pub use message_type::MessageType;
pub use messaging::{Alias, AliasAt, FrameContext, Framing, Messaging, Needs, Short, Terms};
pub use reply::{Reply, ReplyStatus, begin_reply, system_exception_reply};
pub use request::{
    Request, RequestHeader, Response, begin_request, place_arguments, read_operation,
    write_operation,
};
pub use session::{Contradiction, Incoming, Outgoing, RequestIds, Told};
pub use target::{AddressingDisposition, IorView, ProfileView, Target, TargetAddress};
pub use usual::{Form, Head};
pub use violation::{Answer, Misbehaviour, Side, Unsupported, Violation};
pub use wire::Wire;
