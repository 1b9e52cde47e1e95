//! Abstract interfaces, whose instances are objects or values.

use oxorb_cdr::{
    Decode, Decoder, Encode, Encoder, Inherits, Result as CdrResult, TypeCode, Typed, Value,
    ValueLink, Valuetype,
};

use crate::{Interface, decode_ref, encode_ref};

/// Value of an `abstract interface` in IDL: an object with the interface, a value that supports it,
/// or nil.
///
/// An object is transmitted as a reference, a value as a copy; the sender chooses each time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Abstract<I: Interface + Valuetype> {
    /// Nil.
    #[default]
    Nil,
    /// Reference to an object.
    Object(I),
    /// A value. [`Value::downcast`] returns its concrete type.
    Value(Value<I>),
}

impl<I: Interface + Valuetype> From<I> for Abstract<I> {
    fn from(object: I) -> Self {
        Abstract::Object(object)
    }
}

impl<I: Interface + Valuetype, T: Inherits<I>> From<Value<T>> for Abstract<I> {
    fn from(value: Value<T>) -> Self {
        Abstract::Value(value.upcast())
    }
}

impl<I: Interface + Valuetype> Encode for Abstract<I> {
    /// Writes whether the value is an object, then the reference or the value; nil is a null value.
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        e.boolean(matches!(self, Abstract::Object(_)));
        match self {
            Abstract::Nil => {
                e.ulong(0);
                Ok(())
            }
            Abstract::Object(object) => encode_ref(e, Some(object)),
            Abstract::Value(value) => value.encode(e),
        }
    }
}

impl<'de, I: Interface + Valuetype> Decode<'de> for Abstract<I> {
    const MIN_SIZE: usize = 5;

    /// Decodes a nil reference and a null value as nil.
    fn decode(d: &mut Decoder<'de>) -> CdrResult<Self> {
        Ok(match d.boolean()? {
            true => decode_ref(d)?.map_or(Abstract::Nil, Abstract::Object),
            false => ValueLink::decode(d)?.get().map_or(Abstract::Nil, Abstract::Value),
        })
    }
}

impl<I: Interface + Valuetype + Typed> Typed for Abstract<I> {
    fn type_code() -> TypeCode {
        I::type_code()
    }
}
