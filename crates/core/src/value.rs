//! Abstract interfaces: what may be an object or a value.

use oxorb_cdr::{
    Decode, Decoder, Encode, Encoder, Inherits, Link, Result as CdrResult, TypeCode, Typed, Value,
    Valuetype,
};

use crate::{Interface, decode_ref, encode_ref};

/// Value of an `abstract interface` in IDL: an object that has it, a value that supports it, or
/// nothing.
///
/// An object goes as a reference, a value as a copy, as the sender chooses each time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Abstract<I: Interface + Valuetype> {
    /// Neither.
    #[default]
    Nil,
    /// A reference to an object.
    Object(I),
    /// A value. [`Value::downcast`] tells which.
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
    /// Whether it is an object, then that or the value; nil is a null value.
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

    /// A nil reference and a null value are both nil.
    fn decode(d: &mut Decoder<'de>) -> CdrResult<Self> {
        Ok(match d.boolean()? {
            true => decode_ref(d)?.map_or(Abstract::Nil, Abstract::Object),
            false => Link::decode(d)?.get().map_or(Abstract::Nil, Abstract::Value),
        })
    }
}

impl<I: Interface + Valuetype + Typed> Typed for Abstract<I> {
    fn type_code() -> TypeCode {
        I::type_code()
    }
}
