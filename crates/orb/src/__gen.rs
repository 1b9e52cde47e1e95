//! All that generated code names. Not for use by hand: it changes with the generator.

pub use std::sync::LazyLock;

pub use oxorb_cdr::{
    Any, Decimal, Decode, Decoder, Encode, Encoder, Error as CdrError, ErrorKind as CdrErrorKind,
    Fixed, FixedPoint, FixedReader, FixedWriter, Label, Layout, LongDouble, Nilable, OctetSeq,
    Result as CdrResult, TypeCode, Typed, fixed,
};
pub use oxorb_core::{
    AsyncReply, Context, Interface, ObjectRef, Op, Outcome, Raise, Ref, Rejected, Servant,
    ServedBy, Upcall, UserException, decode_context, decode_ref, encode_context, encode_ref,
};
pub use oxorb_giop::{CompletionStatus, SystemException};
