//! Value boxes declared by the specifications.

use super::{Factory, Inherits, ValueBase, ValueInfo, ValueState, Valuetype};
use crate::prelude::*;
use crate::{Decoder, Encoder, Result, TypeCode, Typed};

/// `CORBA::StringValue`: a string that can be null and can be shared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StringValue(pub String);

impl Valuetype for StringValue {
    const INFO: &'static ValueInfo = &ValueInfo::new("IDL:omg.org/CORBA/StringValue:1.0");

    fn factories() -> &'static [Factory] {
        &[const { Factory::of::<StringValue>() }]
    }
}

impl ValueState for StringValue {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.string(&self.0)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        d.string().map(|text| Self(text.into_owned()))
    }
}

impl Inherits<ValueBase> for StringValue {}

impl Typed for StringValue {
    fn type_code() -> TypeCode {
        TypeCode::value_box(Self::INFO.id, "StringValue", TypeCode::STRING)
    }
}

/// `CORBA::WStringValue`: a wide string that can be null and can be shared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WstringValue(pub String);

impl Valuetype for WstringValue {
    const INFO: &'static ValueInfo = &ValueInfo::new("IDL:omg.org/CORBA/WStringValue:1.0");

    fn factories() -> &'static [Factory] {
        &[const { Factory::of::<WstringValue>() }]
    }
}

impl ValueState for WstringValue {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.wstring(&self.0)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        d.wstring().map(Self)
    }
}

impl Inherits<ValueBase> for WstringValue {}

impl Typed for WstringValue {
    fn type_code() -> TypeCode {
        TypeCode::value_box(Self::INFO.id, "WStringValue", TypeCode::WSTRING)
    }
}
