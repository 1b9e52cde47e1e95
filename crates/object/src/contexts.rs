//! Contents of the service contexts that say how a request is to be served.
//!
//! | value | service context | says |
//! |---|---|---|
//! | [`Priority`] | RTCorbaPriority | priority of the caller |
//! | [`Deadline`] | INVOCATION_POLICIES | when the request may be served, and until when its reply is of use |
//! | [`Qos`] | RIOP | what the request is worth among others |
//!
//! Each is written by the client and read by the server, without a clock: a time is a number of units of 100 ns, of
//! `TimeBase::UtcT` where it is absolute.

mod deadline;
mod priority;
mod qos;

pub use deadline::Deadline;
pub use priority::Priority;
pub use qos::{CommunicationClass, Qos, Urgency};
