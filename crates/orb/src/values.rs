//! IDL values in Rust: octets, decimals, wide characters, anys with their type codes, and valuetypes.
//!
//! Most IDL types are plain Rust types: `string` is `String`, `sequence<long>` is `Vec<i32>`. The types of this module
//! are for the rest. docs/mapping.md has a table of all.

#[doc(inline)]
pub use oxorb_cdr::{
    ByteOrder, CharSet, Codec, CustomMarshal, Decimal, DecimalError, Dynamic, DynamicError,
    DynamicErrorKind, Factory, FixedPoint, Inherits, Label, LongDouble, MemberRef, OctetSeq,
    Octets, Printable, RawProfile, RawReference, Room, Scope, SealedRoom, Shape, StringValue,
    TcKind, TypeCode, TypeRef, Typed, Value, ValueBase, ValueInfo, ValueLink, ValueModifier,
    ValueRegistry, ValueState, Valuetype, Visibility, Wchar, Wstring, WstringValue,
};
#[doc(inline)]
pub use oxorb_core::Abstract;
