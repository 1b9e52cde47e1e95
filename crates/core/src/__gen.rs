//! Items that generated code refers to, as the facade exports them. Not for direct use: they change with the generator.

use std::fmt;
pub use std::sync::LazyLock;

pub use crate::{
    Abstract, Amh, AsyncReply, ConfinedBy, ConfinedServant, Context, DelegatesTo, Dispatch,
    Handles, Interface, ObjectRef, Op, OperationError, Operations, Orb, Outcome, Passes, Raises,
    Ref, Rejected, ReplyTo, ResponseHandler, Servant, ServantError, ServedBy, Upcall,
    decode_context, decode_ref, deliver, encode_context, encode_ref, handle, handles,
    held_exception, hold_exception, skeleton, text_passes,
};
pub use oxorb_cdr::{
    Any, Arena, Behaviour, BitReader, BitWriter, ByHand, Decimal, Decode, Decoder, Encode, Encoder,
    Error as CdrError, ErrorKind as CdrErrorKind, Factory, Fixed, FixedPoint, FixedReader,
    FixedWriter, Inherits, Label, Layout, LongDouble, Nilable, NoBehaviour, NotByHand, OctetSeq,
    Octets, Result as CdrResult, TypeCode, Typed, Value, ValueBase, ValueInfo, ValueLink,
    ValueModifier, ValueState, Valuetype, Visibility, first_behaviour, fixed, interpreted,
    interpreted_fixed,
};
pub use oxorb_object::{CompletionStatus, SystemException};
pub use oxorb_perfect::PerfectHash;

use oxorb_object::minor;

/// Returns a value as a trait object; its concrete type, or a base of that type, implements the trait.
pub fn behaves<Tr: ?Sized + 'static, T: Valuetype>(
    value: &Value<T>,
) -> Result<&Tr, SystemException> {
    value.behaviour().ok_or(NO_IMPLEMENTATION)
}

/// Returns the behaviour of a value, to change the value.
pub fn behaves_mut<Tr: ?Sized + 'static, T: Valuetype>(
    value: &mut Value<T>,
) -> Result<&mut Tr, SystemException> {
    value.behaviour_mut().ok_or(NO_IMPLEMENTATION)
}

const NO_IMPLEMENTATION: SystemException = SystemException::no_implement(
    minor::no_implement::NO_VALUE_IMPLEMENTATION,
    CompletionStatus::No,
);

/// Writes a user exception as a sentence: `bank::Overdrawn: missing 5, why "no\nmoney"`.
pub fn show_exception(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    members: &[(&str, &dyn fmt::Debug)],
) -> fmt::Result {
    f.write_str(name)?;
    for (at, (member, value)) in members.iter().enumerate() {
        let before = if at == 0 { ": " } else { ", " };
        write!(f, "{before}{member} {value:?}")?;
    }
    Ok(())
}

/// A string of an exception, in quotes. Characters that would control a terminal are escaped, as by
/// [`Printable`](oxorb_cdr::Printable).
pub struct Quoted<'a>(pub &'a str);

impl fmt::Debug for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", oxorb_cdr::Printable(self.0))
    }
}
