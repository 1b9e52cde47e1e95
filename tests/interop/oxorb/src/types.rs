//! Generated type codes by name, for `Types::type_named`.

use oxorb::values::{TypeCode, Typed};

use crate::{interop, interop_any};

/// Type of `interop.idl` or `interop_any.idl` by its name, such as "Interop/Record".
type Named = (&'static str, fn() -> TypeCode);

/// All types that the test compares.
pub const NAMED: &[Named] = &[
    ("Interop/Colour", interop::Colour::type_code),
    ("Interop/Metres", interop::metres::type_code),
    ("Interop/ShortText", interop::short_text::type_code),
    ("Interop/Point", interop::Point::type_code),
    ("Interop/Record", interop::Record::type_code),
    ("Interop/Tree", interop::Tree::type_code),
    ("Interop/WideRecord", interop::WideRecord::type_code),
    ("Interop/ByShort", interop::ByShort::type_code),
    ("Interop/ByUShort", interop::ByUShort::type_code),
    ("Interop/ByLong", interop::ByLong::type_code),
    ("Interop/ByULong", interop::ByULong::type_code),
    ("Interop/ByChar", interop::ByChar::type_code),
    ("Interop/ByBoolean", interop::ByBoolean::type_code),
    ("Interop/ByEnum", interop::ByEnum::type_code),
    ("Interop/ByMiddle", interop::ByMiddle::type_code),
    ("Interop/Nested", interop::Nested::type_code),
    ("Interop/Octets", interop::octets::type_code),
    ("Interop/FewLongs", interop::few_longs::type_code),
    ("Interop/FewStrings", interop::few_strings::type_code),
    ("Interop/Rows", interop::rows::type_code),
    ("Interop/Trees", interop::trees::type_code),
    ("Interop/Matrix", interop::matrix::type_code),
    ("Interop/Grid", interop::grid::type_code),
    ("Interop/Pair", interop::pair::type_code),
    ("Interop/Empty", interop::Empty::type_code),
    ("Interop/Detailed", interop::Detailed::type_code),
    ("Interop/Chosen", interop::Chosen::type_code),
    ("Interop/Node", interop::NodeRef::type_code),
    ("InteropAny/Anys", interop_any::anys::type_code),
    ("InteropAny/TwoAnys", interop_any::two_anys::type_code),
    ("InteropAny/Labelled", interop_any::Labelled::type_code),
    ("InteropAny/Choice", interop_any::Choice::type_code),
    ("InteropAny/Carrying", interop_any::Carrying::type_code),
    ("InteropAny/Price", interop_any::price::type_code),
    ("InteropAny/Fraction", interop_any::fraction::type_code),
    ("InteropAny/Prices", interop_any::prices::type_code),
    ("InteropAny/Priced", interop_any::Priced::type_code),
];
