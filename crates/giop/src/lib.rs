//! GIOP 1.0 to 1.2 messages, without I/O.
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
//! * References, exceptions and service contexts are those of `oxorb-object`.
//!
//! What it does not do: no connection state, no retry, no dispatch. Those join bytes with decisions and live in
//! `oxorb-core`.
//!
//! Builds without the standard library, with an allocator: `default-features = false, features = ["spin"]`. Without it
//! nothing is sent in fragments; those of others are reassembled.
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
pub use forms::{BareRequest, ReplyForm};
#[cfg(feature = "std")]
pub use fragments::{Fragments, Piece};
pub use frame::{Frame, Message};
pub use header::{Begun, Header, finish, finish_at};
pub use inbox::{Inbox, Reading, Taken};
pub use limits::{Limits, setting};
pub use locate::{
    LocateReply, LocateRequest, LocateStatus, begin_locate_reply, locate_reply, locate_request,
};
pub use message_type::MessageType;
pub use messaging::{Alias, AliasAt, FrameContext, Framing, Messaging, Needs, Short, Terms};
pub use reply::{Reply, ReplyStatus, begin_reply, system_exception_reply};
pub use request::{
    Request, RequestHeader, Response, begin_request, read_operation, write_operation,
};
pub use session::{Contradiction, Incoming, Outgoing, RequestIds, Told};
pub use target::{AddressingDisposition, IorView, ProfileView, Target, TargetAddress};
pub use usual::{Form, Head};
pub use violation::{Answer, Misbehaviour, Side, Unsupported, Violation};
pub use wire::Wire;
