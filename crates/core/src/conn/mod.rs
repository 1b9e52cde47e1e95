//! Neutral ground: what both halves of a call share of a connection.
//!
//! The client half and the server half use it, and neither of them names the other.

mod beside;
mod calls;
mod ended;
mod mailbox;
mod receive;
mod turn;
mod write;

pub(crate) use beside::{Beside, serve_beside, step_aside, wait_beside};
pub(crate) use calls::{Calls, Reader, TICK};
pub(crate) use ended::Ended;
pub(crate) use mailbox::{Kept, Mailbox, Onward};
pub(crate) use receive::{Event, Read, Receiver, Wait};
pub(crate) use turn::Turn;
pub(crate) use write::{send_encoded, write_message};
