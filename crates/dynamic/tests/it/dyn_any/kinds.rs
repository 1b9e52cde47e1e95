//! Specified behaviour of each operation.

use oxorb::Any;
use oxorb::values::LongDouble;
use oxorb_cdr::{Label, ValueModifier, Visibility};
use oxorb_dynamic::{DynAny, DynAnyError, Dynamic, RawReference, TcKind, TypeCode, Wchar, Wstring};

fn of(ty: &TypeCode) -> DynAny<'static> {
    DynAny::from_type_code(ty).unwrap()
}

fn is_mismatch<T: std::fmt::Debug>(result: Result<T, DynAnyError>) {
    assert!(matches!(result, Err(DynAnyError::TypeMismatch(_))), "{result:?}");
}

fn is_invalid<T: std::fmt::Debug>(result: Result<T, DynAnyError>) {
    assert!(matches!(result, Err(DynAnyError::InvalidValue(_))), "{result:?}");
}

fn point() -> TypeCode {
    let members = [("x", TypeCode::LONG), ("name", TypeCode::STRING)];
    TypeCode::structure("IDL:P:1.0", "P", members)
}

fn colour() -> TypeCode {
    TypeCode::enumeration("IDL:C:1.0", "C", ["red", "green", "blue"])
}

fn union(with_default: bool) -> TypeCode {
    let mut members = vec![
        (Label::Value(0), "a", TypeCode::LONG),
        (Label::Value(2), "b", TypeCode::STRING),
        (Label::Value(3), "b", TypeCode::STRING),
    ];
    if with_default {
        members.push((Label::Default, "c", point()));
    }
    TypeCode::union("IDL:U:1.0", "U", TypeCode::SHORT, members)
}

#[test]
fn types_without_values_are_inconsistent() {
    let refused = [
        TypeCode::native("IDL:N:1.0", "N"),
        TypeCode::local_interface("IDL:L:1.0", "L"),
        TypeCode::PRINCIPAL,
        TypeCode::recursive("IDL:R:1.0"),
        TypeCode::alias("IDL:A:1.0", "A", TypeCode::native("IDL:N:1.0", "N")),
    ];
    for ty in refused {
        let made = DynAny::from_type_code(&ty);
        assert!(matches!(made, Err(DynAnyError::InconsistentTypeCode(_))), "{ty}");
    }
}

#[test]
fn types_with_too_many_parts_are_inconsistent() {
    let most = 1 << 20;
    // The array itself is a part, too.
    assert!(DynAny::from_type_code(&TypeCode::array(TypeCode::OCTET, most - 1)).is_ok());
    let made = DynAny::from_type_code(&TypeCode::array(TypeCode::OCTET, most));
    assert!(matches!(made, Err(DynAnyError::InconsistentTypeCode(_))));
}

#[test]
fn what_a_type_code_starts_with() {
    assert!(!of(&TypeCode::BOOLEAN).get::<bool>().unwrap());
    assert_eq!(of(&TypeCode::STRING).get::<String>().unwrap(), "");
    assert_eq!(of(&TypeCode::ANY).get::<Any>().unwrap(), Any::default());
    assert_eq!(of(&TypeCode::TYPE_CODE).get::<TypeCode>().unwrap(), TypeCode::NULL);
    assert!(of(&TypeCode::OBJECT).get::<RawReference>().unwrap().is_nil());
    assert_eq!(of(&colour()).as_enum().unwrap().as_string(), "red");
    let fixed = TypeCode::fixed(5, 2);
    assert_eq!(of(&fixed).as_fixed().unwrap().value().to_string(), "0.00");
    assert_eq!(of(&TypeCode::sequence(TypeCode::LONG)).component_count(), 0);
    assert_eq!(of(&TypeCode::sequence(TypeCode::LONG)).position(), None);
    assert_eq!(of(&TypeCode::array(TypeCode::LONG, 3)).component_count(), 3);
    assert_eq!(of(&point()).position(), Some(0));
    assert_eq!(of(&union(true)).as_union().unwrap().member_name().unwrap(), "a");
    let value = TypeCode::value("IDL:V:1.0", "V", ValueModifier::None, None, []);
    assert_eq!(*of(&value).value(), Dynamic::Null);
}

#[test]
fn every_basic_type_goes_in_and_comes_out() {
    macro_rules! each {
        ($($ty:ty, $code:ident: $value:expr;)*) => {$({
            let mut one = of(&TypeCode::$code);
            one.insert($value).unwrap();
            assert_eq!(one.get::<$ty>().unwrap(), $value);
            let wrong = Dynamic::Struct(Vec::new());
            is_mismatch(one.insert(wrong));
            assert_eq!(one.get::<$ty>().unwrap(), $value);

            let alias = TypeCode::alias("IDL:Mine:1.0", "Mine", TypeCode::$code);
            let mut several = of(&TypeCode::sequence(alias));
            several.insert_seq(&[$value, $value]).unwrap();
            assert_eq!(several.position(), Some(0));
            assert_eq!(several.get_seq::<$ty>().unwrap(), [$value, $value]);
            assert_eq!(several.get::<$ty>().unwrap(), $value);
            let array = TypeCode::array(TypeCode::$code, 2);
            let members = [("a", array)];
            let mut within = of(&TypeCode::structure("IDL:S:1.0", "S", members));
            within.insert_seq(&[$value, $value]).unwrap();
            assert_eq!(within.get_seq::<$ty>().unwrap(), [$value, $value]);
            is_invalid(within.insert_seq(&[$value]));
        })*};
    }
    each! {
        bool, BOOLEAN: true;
        u8, OCTET: 200u8;
        char, CHAR: 'ä';
        Wchar, WCHAR: Wchar('語');
        i16, SHORT: -3i16;
        u16, USHORT: 60_000u16;
        i32, LONG: -70_000;
        u32, ULONG: 4_000_000_000u32;
        i64, LONGLONG: i64::MIN;
        u64, ULONGLONG: u64::MAX;
        f32, FLOAT: 1.5f32;
        f64, DOUBLE: -2.5f64;
        LongDouble, LONGDOUBLE: LongDouble::from(1.25);
        String, STRING: String::from("text");
        Wstring, WSTRING: Wstring("wide".into());
        Any, ANY: Any::new(5i32);
        TypeCode, TYPE_CODE: TypeCode::SHORT;
        RawReference, OBJECT: RawReference::default();
    }
}

#[test]
fn numbers_are_not_converted() {
    let mut long = of(&TypeCode::LONG);
    is_mismatch(long.insert(1i16));
    is_mismatch(long.insert("1"));
    is_mismatch(long.get::<u32>());
    is_mismatch(long.insert(Wchar('1')));
    is_mismatch(long.as_struct());
    is_mismatch(long.as_enum());
}

#[test]
fn bounds_and_characters_that_do_not_fit_are_invalid() {
    is_invalid(of(&TypeCode::bounded_string(3)).insert("four"));
    of(&TypeCode::bounded_string(3)).insert("for").unwrap();
    is_invalid(of(&TypeCode::bounded_wstring(3)).insert(Wstring("four".into())));
    is_invalid(of(&TypeCode::CHAR).insert('語'));
    let bounded = TypeCode::bounded_sequence(TypeCode::LONG, 2);
    is_invalid(of(&bounded).insert_seq(&[1, 2, 3]));
    is_invalid(of(&bounded).as_sequence().unwrap().set_length(3));
}

#[test]
fn seek_rewind_and_next() {
    let mut three = of(&TypeCode::array(TypeCode::SHORT, 3));
    assert_eq!(three.position(), Some(0));
    assert!(three.seek(2));
    assert!(!three.next());
    assert_eq!(three.position(), None);
    assert!(three.current_component().unwrap().is_none());
    is_invalid(three.insert(1i16));
    is_invalid(three.get::<i16>());
    assert!(three.next(), "from none to the first");
    assert_eq!(three.position(), Some(0));
    assert!(!three.seek(3));
    assert_eq!(three.position(), None);
    assert!(three.rewind());
    three.leave();
    assert_eq!(three.position(), None);

    let empty = TypeCode::exception("IDL:E:1.0", "E", []);
    let mut empty = of(&empty);
    assert!(!empty.rewind());
    is_mismatch(empty.current_component());
    is_mismatch(empty.as_struct().unwrap().current_member_name());
    is_mismatch(of(&colour()).current_component());
}

#[test]
fn structs() {
    let mut value = of(&point());
    let mut point = value.as_struct().unwrap();
    assert_eq!(point.current_member_name().unwrap(), "x");
    assert_eq!(point.current_member_kind().unwrap(), TcKind::Long);
    point.insert(4).unwrap();
    assert!(point.next());
    assert_eq!(point.current_member_name().unwrap(), "name");
    point.insert("here").unwrap();
    assert!(!point.next());
    is_invalid(point.current_member_name());
    is_invalid(point.current_member_kind());

    let members = point.members().unwrap();
    assert_eq!(members[0], ("x".to_owned(), Any::new(4i32)));
    assert_eq!(members[1], ("name".to_owned(), Any::new("here".to_owned())));

    let x = |n: i32| ("x", Any::new(n));
    let name = || ("name", Any::new("there".to_owned()));
    is_invalid(point.set_members(&[x(1)]));
    is_invalid(point.set_members(&[x(1), name(), x(1)]));
    is_mismatch(point.set_members(&[name(), x(1)]));
    is_mismatch(point.set_members(&[x(1), ("name", Any::new(1i32))]));
    assert_eq!(point.members().unwrap(), members, "nothing was changed");
    point.set_members(&[x(9), ("", name().1)]).unwrap();
    assert_eq!(point.position(), Some(0));
    for (_, mut member) in point.members_as_dyn_any() {
        let _ = member.insert(10);
    }
    assert_eq!(value.value().at("x"), Some(&Dynamic::Long(10)));
    assert_eq!(value.value().at("name"), Some(&Dynamic::from("there")));
}

#[test]
fn members_given_in_another_order_are_put_in_order() {
    use oxorb_dynamic::Field;

    let field = |name: &str, value| Field { name: name.into(), value };
    let given =
        Dynamic::Struct(vec![field("name", Dynamic::from("n")), field("x", Dynamic::Long(1))]);
    let mut value = DynAny::new(point(), given).unwrap();
    assert_eq!(value.get::<i32>().unwrap(), 1);
    value.next();
    assert_eq!(value.get::<String>().unwrap(), "n");
}

#[test]
fn components_are_parts_of_the_whole() {
    let line = TypeCode::array(point(), 2);
    let mut line = of(&line);
    line.seek(1);
    {
        let mut second = line.current_component().unwrap().unwrap();
        second.insert(5).unwrap();
        assert!(second.next());
        assert_eq!(second.current_component().unwrap().unwrap().component_count(), 0);
    }
    assert_eq!(line.value().at("[1].x"), Some(&Dynamic::Long(5)));
    is_mismatch(line.insert(5)); // the current component is a struct
    let copy = line.copy();
    line.component(1).unwrap().insert(6).unwrap();
    assert!(!copy.equal(&line));
    assert_eq!(copy.position(), Some(0));
}

#[test]
fn unions() {
    let mut value = of(&union(true));
    let mut with_default = value.as_union().unwrap();
    assert_eq!(with_default.component_count(), 2);
    assert_eq!(with_default.discriminator_kind(), TcKind::Short);
    assert_eq!(with_default.member_name().unwrap(), "a");
    with_default.member().unwrap().insert(7).unwrap();

    let short = |n: i16| DynAny::new(TypeCode::SHORT, n).unwrap();
    is_mismatch(with_default.set_discriminator(&of(&TypeCode::LONG)));
    with_default.set_discriminator(&short(2)).unwrap();
    assert_eq!(with_default.position(), Some(1));
    assert_eq!(with_default.member_kind().unwrap(), TcKind::String);
    with_default.insert("kept").unwrap();
    // The new label selects the same member, so the value of the member is unchanged.
    with_default.set_discriminator(&short(3)).unwrap();
    assert_eq!(with_default.get::<String>().unwrap(), "kept");

    is_mismatch(with_default.set_to_no_active_member());
    assert!(!with_default.is_set_to_default_member());
    with_default.set_to_default_member().unwrap();
    assert_eq!(with_default.position(), Some(0));
    assert!(with_default.is_set_to_default_member());
    assert_eq!(with_default.discriminator().get::<i16>().unwrap(), 1);
    assert_eq!(with_default.member_name().unwrap(), "c");
    assert_eq!(with_default.member().unwrap().component_count(), 2);

    let mut value = of(&union(false));
    let mut without = value.as_union().unwrap();
    is_mismatch(without.set_to_default_member());
    without.set_to_no_active_member().unwrap();
    assert!(without.has_no_active_member());
    assert_eq!((without.component_count(), without.position()), (1, Some(0)));
    is_invalid(without.member());
    is_invalid(without.member_name());
    is_invalid(without.member_kind());
    assert!(!without.seek(1));
    // Assigning to the discriminant itself selects a member, too.
    without.rewind();
    without.insert(2i16).unwrap();
    assert_eq!(without.member_name().unwrap(), "b");
    without.seek(1);
    without.discriminator().insert(9i16).unwrap();
    assert_eq!(without.position(), None, "the current component is gone");

    let full = [(Label::Value(0), "no", TypeCode::LONG), (Label::Value(1), "yes", TypeCode::LONG)];
    let full = TypeCode::union("IDL:F:1.0", "F", TypeCode::BOOLEAN, full);
    is_mismatch(of(&full).as_union().unwrap().set_to_no_active_member());
}

#[test]
fn sequences() {
    let mut value = of(&TypeCode::sequence(TypeCode::LONG));
    let mut sequence = value.as_sequence().unwrap();
    assert_eq!((sequence.length(), sequence.position()), (0, None));
    sequence.set_length(2).unwrap();
    assert_eq!(sequence.position(), Some(0), "the first new one");
    sequence.insert(1).unwrap();
    sequence.set_length(4).unwrap();
    assert_eq!(sequence.position(), Some(0), "stays");
    sequence.leave();
    sequence.set_length(5).unwrap();
    assert_eq!(sequence.position(), Some(4), "the first new one");
    sequence.set_length(3).unwrap();
    assert_eq!(sequence.position(), None, "it was dropped");
    assert_eq!(sequence.get_seq::<i32>().unwrap(), [1, 0, 0]);

    is_mismatch(sequence.set_elements(&[Any::new(1i32), Any::new("1".to_owned())]));
    assert_eq!(sequence.length(), 3);
    sequence.set_elements(&[Any::new(5i32), Any::new(6i32)]).unwrap();
    assert_eq!(sequence.position(), Some(0));
    assert_eq!(sequence.elements().unwrap(), [Any::new(5i32), Any::new(6i32)]);
    for mut element in sequence.elements_as_dyn_any() {
        let n: i32 = element.get().unwrap();
        element.insert(n * 10).unwrap();
    }
    assert_eq!(sequence.get_seq::<i32>().unwrap(), [50, 60]);
    sequence.set_elements(&[]).unwrap();
    assert_eq!(sequence.position(), None);
}

#[test]
fn arrays() {
    let mut value = of(&TypeCode::array(TypeCode::OCTET, 2));
    let mut array = value.as_array().unwrap();
    is_invalid(array.set_elements(&[Any::new(1u8)]));
    array.set_elements(&[Any::new(1u8), Any::new(2u8)]).unwrap();
    array.seek(1);
    array.insert(9u8).unwrap();
    let both = [of(&TypeCode::OCTET), of(&TypeCode::OCTET)];
    assert_eq!(array.get_seq::<u8>().unwrap(), [1, 9]);
    array.set_elements_as_dyn_any(&both).unwrap();
    assert_eq!(array.get_seq::<u8>().unwrap(), [0, 0]);
    is_mismatch(value.as_sequence());
}

#[test]
fn enumerations() {
    let mut value = of(&colour());
    let mut colour = value.as_enum().unwrap();
    colour.set_as_string("blue").unwrap();
    assert_eq!(colour.as_ulong(), 2);
    colour.set_as_ulong(1).unwrap();
    assert_eq!(colour.as_string(), "green");
    is_invalid(colour.set_as_string("pink"));
    is_invalid(colour.set_as_ulong(3));
    assert_eq!(colour.as_ulong(), 1);
}

#[test]
fn fixed_point_numbers() {
    let mut value = of(&TypeCode::fixed(5, 2));
    let mut fixed = value.as_fixed().unwrap();
    assert!(fixed.set_value(" 123.45d ").unwrap());
    assert_eq!(fixed.value().to_string(), "123.45");
    assert!(!fixed.set_value("-1.239").unwrap(), "digits were dropped");
    assert_eq!(fixed.value().to_string(), "-1.23");
    is_invalid(fixed.set_value("1234.5"));
    is_mismatch(fixed.set_value("12x"));
    is_mismatch(fixed.set_value(""));
    assert_eq!(fixed.value().to_string(), "-1.23");
}

#[test]
fn anys_within_anys() {
    let mut outer = of(&TypeCode::ANY);
    let mut inner = of(&point());
    inner.insert(3).unwrap();
    outer.insert_dyn_any(&inner).unwrap();
    assert!(outer.get_dyn_any().unwrap().equal(&inner));
    assert_eq!(outer.component_count(), 0);
}

#[test]
fn equivalent_types_with_other_names_are_assigned() {
    let theirs = [("", TypeCode::LONG), ("", TypeCode::STRING)];
    let theirs = TypeCode::structure("IDL:P:1.0", "", theirs);
    let alias = TypeCode::alias("IDL:A:1.0", "A", theirs);
    let mut given = of(&alias);
    given.insert(8).unwrap();
    let mut value = of(&point());
    value.next();
    value.assign(&given).unwrap();
    assert_eq!(value.position(), Some(0));
    assert!(value.equal(&given));
    assert_eq!(value.value().at("x"), Some(&Dynamic::Long(8)));
    assert_eq!(value.type_code(), &point());
    is_mismatch(value.assign(&of(&TypeCode::LONG)));
    is_mismatch(value.assign_any(&Any::new(1i32)));
}

fn node() -> TypeCode {
    let base = [("id", TypeCode::LONG, Visibility::Public)];
    let base = TypeCode::value("IDL:Base:1.0", "Base", ValueModifier::None, None, base);
    let own = [
        ("name", TypeCode::STRING, Visibility::Private),
        ("next", TypeCode::recursive("IDL:Node:1.0"), Visibility::Public),
    ];
    TypeCode::value("IDL:Node:1.0", "Node", ValueModifier::Truncatable, Some(base), own)
}

#[test]
fn valuetypes() {
    let mut whole = of(&node());
    let mut value = whole.as_value().unwrap();
    assert!(value.is_null());
    assert_eq!((value.component_count(), value.position()), (0, None));
    is_mismatch(value.current_component());
    is_mismatch(value.current_member_name());
    is_invalid(value.members());

    value.set_to_value().unwrap();
    assert!(!value.is_null());
    assert_eq!((value.component_count(), value.position()), (3, Some(0)));
    assert_eq!(value.current_member_name().unwrap(), "id", "of the base, first");
    value.insert(5).unwrap();
    value.next();
    assert_eq!(value.current_member_kind().unwrap(), TcKind::String);
    value.insert("five").unwrap();
    value.next();
    {
        let mut next = value.current_component().unwrap().unwrap();
        let mut next = next.as_value().unwrap();
        next.set_to_value().unwrap();
        next.insert(6).unwrap();
        assert_eq!(next.members().unwrap()[0].1, Any::new(6i32));
    }
    is_mismatch(value.as_struct());
    assert_eq!(whole.value().at("next.id"), Some(&Dynamic::Long(6)));
    let any = whole.to_any().unwrap();
    assert!(DynAny::from_any_without_truncation(&any).unwrap().equal(&whole));

    let mut value = whole.as_value().unwrap();
    value.set_to_value().unwrap();
    assert_eq!(value.get_member("id"), 5, "there was one already");
    value.set_to_null().unwrap();
    assert!(value.is_null());
    assert_eq!(value.position(), None);
    assert_eq!(*whole.to_any().unwrap().dynamic().as_ref().unwrap(), Dynamic::Null);

    let nothing = of(&node()).to_any().unwrap();
    let members = [("id", Any::new(1i32)), ("name", Any::new("n".to_owned())), ("next", nothing)];
    let mut whole = of(&node());
    whole.as_value().unwrap().set_members(&members).unwrap();
    assert_eq!(whole.value().at("name"), Some(&Dynamic::from("n")));
}

trait GetMember {
    fn get_member(&mut self, name: &str) -> i32;
}

impl GetMember for oxorb_dynamic::dyn_any::DynValue<'_, '_> {
    fn get_member(&mut self, name: &str) -> i32 {
        let members = self.members_as_dyn_any().unwrap();
        let found = members.iter().find(|(known, _)| known == name);
        found.unwrap().1.get().unwrap()
    }
}

#[test]
fn a_ring_of_values_is_the_same_ring_in_a_copy() {
    let mut whole = of(&node());
    whole.as_value().unwrap().set_to_value().unwrap();
    let key = match &*whole.value() {
        Dynamic::Value(value) => value.key.clone(),
        _ => unreachable!(),
    };
    let mut next = whole.component(2).unwrap();
    next.insert(Dynamic::Indirection(key)).unwrap();
    assert_eq!(next.component_count(), 0);
    let any = whole.to_any().unwrap();
    let again = DynAny::from_any(&any).unwrap();
    assert!(again.equal(&whole));
    assert_eq!(again.value().at("next.next.id"), Some(&Dynamic::Long(0)));
    // If an indirection has no target, the complete value is rejected.
    let stray = oxorb_dynamic::DynamicValue::default_for(&node()).unwrap();
    let stray = Dynamic::Indirection(stray.key);
    whole.component(2).unwrap().insert(stray).unwrap();
    is_mismatch(whole.to_any());
}

#[test]
fn value_boxes() {
    let ty = TypeCode::value_box("IDL:B:1.0", "B", point());
    let mut whole = of(&ty);
    let mut boxed = whole.as_value_box().unwrap();
    assert!(boxed.is_null());
    is_invalid(boxed.boxed_value());
    is_mismatch(boxed.set_boxed_value(&Any::new(1i32)));
    assert!(boxed.is_null(), "nothing was changed");
    let inside = of(&point());
    boxed.set_boxed_value_as_dyn_any(&inside).unwrap();
    boxed.boxed_value_as_dyn_any().unwrap().insert(4).unwrap();
    assert_eq!(boxed.component_count(), 1);
    assert_eq!(boxed.boxed_value().unwrap().dynamic().unwrap().at("x"), Some(&Dynamic::Long(4)));
    let again = DynAny::from_any(&whole.to_any().unwrap()).unwrap();
    assert!(again.equal(&whole));
    is_mismatch(whole.as_value());
}
