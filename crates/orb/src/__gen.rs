//! All that generated code names. Not for use by hand: it changes with the generator.

pub use oxorb_cdr::{
    Decode, Decoder, Encode, Encoder, Error as CdrError, ErrorKind as CdrErrorKind, Fixed,
    FixedReader, FixedWriter, Layout, LongDouble, OctetSeq, Result as CdrResult, fixed,
};
pub use oxorb_core::{
    AsyncReply, Context, Interface, ObjectRef, Op, Outcome, Raise, Ref, Rejected, Servant,
    ServedBy, Upcall, UserException, decode_context, decode_ref, encode_context, encode_ref,
};
pub use oxorb_giop::{CompletionStatus, SystemException};
