//! Parts of a connection that both halves of a call share.
//!
//! The client half and the server half use this module, and neither of them refers to the other.

mod blocking_hooks;
mod calls;
mod channel;
mod connection_end;
mod mailbox;
mod offer;
mod place;
mod turn;

pub(crate) use blocking_hooks::{
    BlockingHooks, serve_beside, serves_beside, step_aside, step_aside_for_answer, wait_beside,
    watch_for_cancel,
};
pub(crate) use calls::{Calls, MAX_OFFERS, TICK};
pub(crate) use channel::{
    Event, LinkReceiver, Wait, send_encoded, send_written, write_message, write_message_within,
};
pub(crate) use connection_end::ConnectionEnd;
pub(crate) use mailbox::{CollocatedReply, Mailbox, ReplyForwarder};
pub(crate) use offer::{MAX_OFFER, Offer};
pub(crate) use place::place;
pub(crate) use turn::{CancelWatch, NestedCall, Turn};
