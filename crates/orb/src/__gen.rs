//! All that generated code names. Not for use by hand: it changes with the generator.

pub use std::sync::LazyLock;

pub use oxorb_cdr::{
    Any, BitReader, BitWriter, ByHand, Decimal, Decode, Decoder, Encode, Encoder,
    Error as CdrError, ErrorKind as CdrErrorKind, Factory, Fixed, FixedPoint, FixedReader,
    FixedWriter, Inherits, Label, Layout, Link, LongDouble, Nilable, NotByHand, OctetSeq,
    Result as CdrResult, TypeCode, Typed, Value, ValueBase, ValueInfo, ValueModifier, ValueState,
    Valuetype, Visibility, fixed, interpreted, interpreted_fixed,
};
pub use oxorb_core::{
    Abstract, AsyncReply, Context, Interface, ObjectRef, Op, Operations, Outcome, Raise, Ref,
    Rejected, Servant, ServedBy, Upcall, UserException, decode_context, decode_ref, encode_context,
    encode_ref,
};
pub use oxorb_giop::{CompletionStatus, SystemException};
pub use oxorb_perfect::PerfectHash;
