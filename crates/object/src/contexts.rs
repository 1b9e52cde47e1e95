//! Contents of the service contexts that influence how a request is served.
//!
//! | value | service context | content |
//! |---|---|---|
//! | [`Priority`] | RTCorbaPriority | priority of the caller |
//! | [`Deadline`] | INVOCATION_POLICIES | times between which the request may be served, and its reply is useful |
//! | [`Qos`] | RIOP | urgency of the request among others |
//!
//! The client writes these values and the server reads them. Neither needs a clock: times are in units of 100 ns, and
//! absolute ones are `TimeBase::UtcT`.

mod deadline;
mod priority;
mod qos;

pub use deadline::Deadline;
pub use priority::Priority;
pub use qos::{CommunicationClass, Qos, Urgency};
