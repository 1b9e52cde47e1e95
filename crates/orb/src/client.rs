//! Means of clients: asynchronous calls, batches of oneways, prepared requests, and the reason for a failure.

#[doc(inline)]
pub use oxorb_core::{
    Answered, AsyncReply, Attempt, Buffered, Failure, InFlight, OnewayBatch, Op, Operation,
    PreconnectError, Prepared, Raises, ReplyTo, Sleep, Slots, UserException, wait_until,
};
#[doc(inline)]
pub use oxorb_object::Note;
