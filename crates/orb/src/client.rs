//! Means of clients: asynchronous calls, batches of oneways, prepared requests, and the reason for a failure.

#[doc(inline)]
pub use oxorb_core::{
    AsyncReply, Attempt, BufferedOneways, Failure, InFlight, OnewayBatch, Op, Operation,
    OperationError, PreconnectError, PreparedRequest, PreparedSlots, Raises, RawReply, ReplyTo,
    Sleep, wait_until,
};
#[doc(inline)]
pub use oxorb_object::ExceptionNote;
