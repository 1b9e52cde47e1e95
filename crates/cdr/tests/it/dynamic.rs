//! Values of any type, written and read by their type codes.

use oxorb_cdr::{
    Any, ByteOrder, Decimal, Decode, Decoder, Dialect, Dynamic, DynamicError, DynamicErrorKind,
    Encode, Encoder, ErrorKind, Field, Label, LongDouble, RawReference, TcKind, TypeCode, skip,
};
use proptest::prelude::*;

use crate::types::{Choices, choices, order, reader, written};

proptest! {
    #[test]
    fn any_value_is_read_back_and_skipped_to_the_same_octet(
        octets in choices(), order in order(), lead in 0usize..9,
    ) {
        let mut choices = Choices::new(octets);
        let ty = choices.top_type();
        let value = choices.value(ty.as_ref());
        prop_assert_eq!(value.check(&ty), Ok(()), "{}", ty);
        let mut message = written(order, lead, |e| value.encode(&ty, e).expect("checked"));
        let end = message.len();
        message.push(0xFF);

        let mut decoder = reader(&message, order, lead);
        prop_assert_eq!(Dynamic::decode(&ty, &mut decoder), Ok(value), "{}", ty);
        prop_assert_eq!(decoder.position(), end);
        let mut decoder = reader(&message, order, lead);
        prop_assert_eq!(skip(&ty, &mut decoder), Ok(()), "{}", ty);
        prop_assert_eq!(decoder.position(), end);
        prop_assert!(end - lead >= ty.as_ref().min_size());

        // Truncated values can be neither read nor skipped. Exceptions are left out, because
        // omniORB omits their repository ids: a truncated id looks like an omitted one.
        prop_assume!(ty.kind() != TcKind::Except);
        for cut in (lead..end).step_by(1 + (end - lead) / 100) {
            let mut decoder = reader(&message[..cut], order, lead);
            prop_assert!(Dynamic::decode(&ty, &mut decoder).is_err());
            prop_assert!(skip(&ty, &mut reader(&message[..cut], order, lead)).is_err());
        }
    }

    #[test]
    fn any_type_has_a_default_value(octets in choices()) {
        let ty = Choices::new(octets).top_type();
        let value = Dynamic::default_for(&ty);
        match value {
            Ok(value) => prop_assert_eq!(value.check(&ty), Ok(()), "{}", ty),
            Err(error) => prop_assert!(false, "{ty}: {error}"),
        }
    }

    #[test]
    fn names_do_not_matter_to_a_compact_type(octets in choices(), order in order()) {
        let mut choices = Choices::new(octets);
        let ty = choices.top_type();
        let value = choices.value(ty.as_ref());
        let compact = ty.compact();
        prop_assert!(compact.equivalent(&ty));
        let long = written(order, 0, |e| value.encode(&ty, e).expect("a value of its type"));
        let short = written(order, 0, |e| value.encode(&compact, e).expect("a value of its type"));
        prop_assert_eq!(long, short);
    }
}

fn point() -> TypeCode {
    TypeCode::structure("IDL:Point:1.0", "Point", [("x", TypeCode::SHORT), ("y", TypeCode::DOUBLE)])
}

fn field(name: &str, value: impl Into<Dynamic>) -> Field {
    Field { name: name.into(), value: value.into() }
}

#[track_caller]
fn golden(ty: &TypeCode, value: impl Into<Dynamic>, big: &[u8]) {
    let value = value.into();
    let octets = written(ByteOrder::Big, 0, |e| {
        value.encode(ty, e).expect("a value of its type");
    });
    assert_eq!(octets, big);
    let mut decoder = reader(big, ByteOrder::Big, 0);
    assert_eq!(Dynamic::decode(ty, &mut decoder), Ok(value));
    assert_eq!(decoder.remaining(), 0);
}

#[test]
fn octets_written_by_hand() {
    golden(&TypeCode::LONG, -2i32, &[0xFF, 0xFF, 0xFF, 0xFE]);
    golden(&TypeCode::bounded_string(2), "hi", &[0, 0, 0, 3, b'h', b'i', 0]);
    golden(
        &point(),
        Dynamic::Struct(vec![field("x", 1i16), field("y", 1.0f64)]),
        &[0, 1, 0, 0, 0, 0, 0, 0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0],
    );
    golden(&TypeCode::sequence(TypeCode::OCTET), vec![7u8, 8], &[0, 0, 0, 2, 7, 8]);
    golden(
        &TypeCode::array(TypeCode::array(TypeCode::SHORT, 2), 1),
        Dynamic::Array(vec![Dynamic::Array(vec![1i16.into(), 2i16.into()])]),
        &[0, 1, 0, 2],
    );
    golden(
        &TypeCode::fixed(5, 2),
        "-123.4".parse::<Decimal>().expect("a number"),
        &[0x12, 0x34, 0x0D],
    );
    golden(
        &TypeCode::exception("IDL:E:1.0", "E", [("why", TypeCode::OCTET)]),
        Dynamic::Struct(vec![field("why", 9u8)]),
        b"\0\0\0\x0AIDL:E:1.0\0\x09",
    );
    golden(&TypeCode::OBJECT, RawReference::default(), &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    golden(&TypeCode::VALUE_BASE, Dynamic::Null, &[0, 0, 0, 0]);
    golden(&TypeCode::ANY, Any::new(5u16), &[0, 0, 0, 4, 0, 5]);
    golden(&TypeCode::TYPE_CODE, TypeCode::LONG, &[0, 0, 0, 3]);
}

#[test]
fn unions_by_every_way_to_select() {
    let ty = TypeCode::union(
        "IDL:U:1.0",
        "U",
        TypeCode::CHAR,
        [
            (Label::from('a'), "letter", TypeCode::OCTET),
            (Label::from('b'), "letter", TypeCode::OCTET),
            (Label::Default, "other", TypeCode::SHORT),
        ],
    );
    let read = |octets: &[u8]| Dynamic::decode(&ty, &mut reader(octets, ByteOrder::Big, 0));
    assert_eq!(read(b"b\x07").unwrap().at("letter"), Some(&7u8.into()));
    assert_eq!(read(b"z\0\0\x07").unwrap().at("other"), Some(&7i16.into()));

    let mut value = Dynamic::default_for(&ty).expect("a union");
    assert_eq!(value.element(0), Some(&'a'.into()));
    value.select(&ty, i128::from(b'b')).expect("a label");
    assert_eq!((value.element(0), value.component_count()), (Some(&'b'.into()), 2));
    value.select_member(&ty, "other").expect("a member");
    assert_eq!(value.element(0), Some(&'\0'.into()));
    assert_eq!(value.at("other"), Some(&0i16.into()));
    value.select_member(&ty, "letter").expect("a member");
    assert_eq!(value.element(0), Some(&'a'.into()));
    assert!(value.select_member(&ty, "none").is_err());
    assert!(value.select(&ty, 0x11_0000).is_err());

    *value.element_mut(0).expect("a discriminant") = 'q'.into();
    let error = value.check(&ty).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the discriminant selects member other, but there is member letter"
    );
}

#[test]
fn a_union_may_have_no_member() {
    let ty = TypeCode::union(
        "IDL:U:1.0",
        "U",
        TypeCode::BOOLEAN,
        [(Label::Value(1), "value", TypeCode::LONG)],
    );
    let none = Dynamic::decode(&ty, &mut reader(&[0], ByteOrder::Big, 0)).expect("legal");
    assert_eq!(none.component_count(), 1);
    assert_eq!(none.check(&ty), Ok(()));
}

#[test]
fn errors_name_the_way_to_what_does_not_fit() {
    let shape = TypeCode::structure(
        "IDL:Shape:1.0",
        "Shape",
        [
            ("name", TypeCode::bounded_string(3)),
            ("points", TypeCode::bounded_sequence(point(), 2)),
            ("mask", TypeCode::array(TypeCode::OCTET, 2)),
        ],
    );
    let mut value = Dynamic::default_for(&shape).expect("a struct");
    let new = || Dynamic::default_for(&point()).expect("a struct");
    *value.at_mut("points").unwrap() = Dynamic::Sequence(vec![new(), new()]);
    assert_eq!(value.check(&shape), Ok(()));

    let problem = |path: &str, part: Dynamic| {
        let mut value = value.clone();
        *value.at_mut(path).unwrap() = part;
        value.check(&shape).unwrap_err().to_string()
    };
    assert_eq!(problem("points[1].x", 1i32.into()), "points[1].x: expected short, found long");
    assert_eq!(
        problem("points[0]", Dynamic::Struct(vec![field("x", 1i16)])),
        "points[0]: member y is missing"
    );
    assert_eq!(problem("mask", vec![1u8].into()), "mask: there are 1 elements, not 2");
    assert_eq!(
        problem("points", vec![1u8].into()),
        "points: expected sequence<Point, 2>, found octets"
    );
    assert!(problem("name", "long".into()).ends_with("exceeds the bound of 3"));
    let mut members = new();
    if let Dynamic::Struct(fields) = &mut members {
        fields.push(field("z", 1i16));
    }
    assert_eq!(problem("points[1]", members), "points[1]: there is no z in its type");

    // Errors in reading have paths, too.
    let octets = [0, 0, 0, 2, b'n', 0, 0, 0, 0, 0, 0, 1, 0, 7];
    let error = Dynamic::decode(&shape, &mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.path, "points");
    let octets = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0];
    let error = Dynamic::decode(&shape, &mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.path, "points[0].y");
    assert!(
        matches!(error.reason, DynamicErrorKind::Cdr(error) if matches!(error.kind, ErrorKind::Truncated { .. }))
    );
}

#[test]
fn members_may_be_given_in_any_order() {
    let forth = Dynamic::Struct(vec![field("x", 1i16), field("y", 2f64)]);
    let back = Dynamic::Struct(vec![field("y", 2f64), field("x", 1i16)]);
    let octets = |value: &Dynamic| {
        written(ByteOrder::Big, 0, |e| {
            value.encode(&point(), e).expect("a value of its type");
        })
    };
    assert_eq!(octets(&forth), octets(&back));
}

#[test]
fn what_never_leaves_a_process_is_refused() {
    let refused = |ty: TypeCode| match Dynamic::Null.check(&ty) {
        Err(DynamicError { reason: DynamicErrorKind::Cdr(error), .. }) => error.kind,
        other => panic!("{ty}: {other:?}"),
    };
    let native = TypeCode::native("IDL:N:1.0", "N");
    assert_eq!(refused(native.clone()), ErrorKind::NotMarshallable);
    let local = TypeCode::local_interface("IDL:L:1.0", "L");
    assert_eq!(refused(local), ErrorKind::NotMarshallable);
    assert_eq!(refused(TypeCode::recursive("IDL:R:1.0")), ErrorKind::BadTypeCode);
    let error = skip(&native, &mut reader(&[0; 9], ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotMarshallable);
}

#[test]
fn a_value_of_nothing_costs_nothing() {
    let nothing =
        TypeCode::structure("IDL:N:1.0", "N", [("a", TypeCode::NULL), ("b", TypeCode::VOID)]);
    let mut huge = nothing.clone();
    for _ in 0..20 {
        huge = TypeCode::array(huge, u32::MAX);
    }
    let mut decoder = reader(&[], ByteOrder::Big, 0);
    assert_eq!(skip(&huge, &mut decoder), Ok(()));
    assert!(Dynamic::decode(&huge, &mut decoder).is_err());
    assert!(matches!(
        Dynamic::default_for(&huge),
        Err(DynamicError { reason: DynamicErrorKind::TooLarge, .. })
    ));

    let many = TypeCode::sequence(nothing);
    let count = [0xFF, 0xFF, 0xFF, 0xFF];
    assert!(Dynamic::decode(&many, &mut reader(&count, ByteOrder::Big, 0)).is_err());
    assert!(skip(&many, &mut reader(&count, ByteOrder::Big, 0)).is_err());
}

#[test]
fn members_of_nothing_are_counted_over_all_elements() {
    // The type has 1000 members that take no octets, and the value has 1000 elements: a million
    // members in 4 KB.
    let members: Vec<_> = (0..1000).map(|_| ("n", TypeCode::NULL)).collect();
    let members = members.into_iter().chain([("s", TypeCode::STRING)]);
    let ty = TypeCode::sequence(TypeCode::structure("IDL:M:1.0", "M", members));
    let octets = written(ByteOrder::Big, 0, |e| {
        e.ulong(1000);
        (0..1000).for_each(|_| e.ulong(0));
    });
    for error in [
        skip(&ty, &mut reader(&octets, ByteOrder::Big, 0)).map_err(DynamicError::from),
        Dynamic::decode(&ty, &mut reader(&octets, ByteOrder::Big, 0)).map(drop),
    ] {
        assert!(error.is_err());
    }
}

/// These types are constructed, because the types in a peer's type code are less deep.
#[test]
fn values_are_nested_in_250_levels_at_most() {
    // Unoptimised code may need more stack than the thread of a test has.
    let thread = std::thread::Builder::new().stack_size(32 << 20);
    let checked = thread.spawn(|| {
        let nested = |structs: u32| {
            (0..structs).fold(TypeCode::STRING, |inner, at| {
                TypeCode::structure(&format!("IDL:S{at}:1.0"), "", [("inner", inner)])
            })
        };
        let octets = [0, 0, 0, 1, 0];
        let read = |ty: &TypeCode| Dynamic::decode(ty, &mut reader(&octets, ByteOrder::Big, 0));
        let skipped = |ty: &TypeCode| skip(ty, &mut reader(&octets, ByteOrder::Big, 0));

        // The string is the last level.
        let deepest = nested(249);
        assert_eq!(skipped(&deepest), Ok(()));
        assert_eq!(read(&deepest), Dynamic::default_for(&deepest));

        let deeper = nested(250);
        let too_deep = ErrorKind::TooDeep { limit: 250 };
        assert_eq!(skipped(&deeper).unwrap_err().kind, too_deep);
        let reason = read(&deeper).unwrap_err().reason;
        assert!(
            matches!(&reason, DynamicErrorKind::Cdr(error) if error.kind == too_deep),
            "{reason:?}"
        );
        let reason = Dynamic::default_for(&deeper).unwrap_err().reason;
        assert!(matches!(&reason, DynamicErrorKind::TooLarge), "{reason:?}");
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn implausible_lengths_are_refused_before_memory_is_reserved() {
    let ty = TypeCode::sequence(point());
    let octets = [0x10, 0, 0, 0, 0, 0, 0, 0];
    let error = Dynamic::decode(&ty, &mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    let DynamicErrorKind::Cdr(error) = error.reason else { panic!("{error}") };
    assert!(matches!(error.kind, ErrorKind::LengthImplausible { .. }));
    let array = TypeCode::array(TypeCode::LONG, u32::MAX);
    let error = Dynamic::decode(&array, &mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    assert!(
        matches!(error.reason, DynamicErrorKind::Cdr(error) if matches!(error.kind, ErrorKind::Truncated { .. }))
    );
    let error = skip(&array, &mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Truncated { .. }));
}

#[test]
fn recursive_values_end_at_the_limit() {
    let tree = TypeCode::structure(
        "IDL:Tree:1.0",
        "Tree",
        [("branches", TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0")))],
    );
    let deep = |depth: usize| {
        let mut value = Dynamic::Struct(vec![field("branches", Dynamic::Sequence(vec![]))]);
        for _ in 0..depth {
            value = Dynamic::Struct(vec![field("branches", Dynamic::Sequence(vec![value]))]);
        }
        value
    };
    for (depth, read) in [(60, true), (70, false)] {
        let value = deep(depth);
        let octets = written(ByteOrder::Big, 0, |e| {
            value.encode(&tree, e).expect("a tree");
        });
        let decoded = Dynamic::decode(&tree, &mut reader(&octets, ByteOrder::Big, 0));
        assert_eq!(decoded.ok(), read.then_some(value));
        let skipped = skip(&tree, &mut reader(&octets, ByteOrder::Big, 0));
        assert_eq!(skipped.is_ok(), read);
    }
}

#[test]
fn paths_lead_to_parts() {
    let ty = TypeCode::structure(
        "IDL:S:1.0",
        "S",
        [("grid", TypeCode::array(TypeCode::array(point(), 2), 2))],
    );
    let mut value = Dynamic::default_for(&ty).expect("a struct");
    assert_eq!(value.at("grid[1][0].x"), Some(&0i16.into()));
    assert_eq!(value.at(""), Some(&value));
    for nowhere in ["grid[2]", "grid[x]", "grid.x", "none", "grid[1][0].x.y"] {
        assert_eq!(value.at(nowhere), None, "{nowhere}");
    }
    assert_eq!(
        ty.as_ref().at("grid[1][0].x").map(|part| part.to_type_code()),
        Some(TypeCode::SHORT)
    );
    value.insert(&ty, "grid[1][0].x", 5i16.into()).expect("a short");
    assert_eq!(value.at("grid[1][0].x"), Some(&5i16.into()));
    let error = value.insert(&ty, "grid[0]", Dynamic::Array(vec![1i16.into()])).unwrap_err();
    assert_eq!(error.path, "grid[0]");
}

#[test]
fn typed_and_dynamic_are_the_same_octets() {
    fn same<T: Encode + for<'de> Decode<'de> + oxorb_cdr::Typed>(
        value: T,
        dynamic: impl Into<Dynamic>,
    ) {
        let ty = T::type_code();
        let dynamic = dynamic.into();
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let mut encoder = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
            value.encode(&mut encoder).expect("typed");
            let typed = encoder.finish().to_vec();
            let mut encoder = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
            dynamic.encode(&ty, &mut encoder).expect("dynamic");
            assert_eq!(encoder.finish().to_vec(), typed);
            let mut decoder = Decoder::new(&typed, order, Dialect::GIOP_1_2);
            assert_eq!(Dynamic::decode(&ty, &mut decoder), Ok(dynamic.clone()));
        }
    }
    same(1u8, 1u8);
    same(true, true);
    same('é', 'é');
    same(-1i16, -1i16);
    same(1u64, 1u64);
    same(LongDouble::from(2.0), LongDouble::from(2.0));
    same(String::from("é"), "é");
    same(vec![1u8, 2], vec![1u8, 2]);
    same(
        [[1i32; 2]; 2],
        Dynamic::Array(vec![
            Dynamic::Array(vec![1i32.into(), 1i32.into()]),
            Dynamic::Array(vec![1i32.into(), 1i32.into()]),
        ]),
    );
    same(oxorb_cdr::Wstring("中".into()), Dynamic::Wstring("中".into()));
    same(vec![Any::new(1i32)], Dynamic::Sequence(vec![Any::new(1i32).into()]));
}
