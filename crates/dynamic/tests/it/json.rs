//! Values and types as JSON: every type in both directions, and descriptive errors.

use std::cell::Cell;

use oxorb_cdr::{
    Any, ByteOrder, Decimal, Decode, Decoder, DecoderLimits, Dialect, Encode, Encoder, Label,
    LongDouble, RawProfile, RawReference, ValueModifier, Visibility,
};
use oxorb_dynamic::json::{
    Json, JsonType, LeftOut, Names, Plain, Reader, Shared, from_json, type_from_json,
};
use oxorb_dynamic::{Dynamic, DynamicValue, TypeCode, ValueKey};
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};

fn colour() -> TypeCode {
    TypeCode::enumeration("IDL:Colour:1.0", "Colour", ["red", "green"])
}

fn point() -> TypeCode {
    let members = [("x", TypeCode::SHORT), ("colour", colour())];
    TypeCode::structure("IDL:Point:1.0", "Point", members)
}

fn choice() -> TypeCode {
    let members = [(Label::Value(0), "flat", TypeCode::LONG), (Label::Value(1), "round", point())];
    TypeCode::union("IDL:Choice:1.0", "Choice", colour(), members)
}

fn tree() -> TypeCode {
    let branches = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"));
    TypeCode::structure("IDL:Tree:1.0", "Tree", [("branches", branches)])
}

/// Returns the JSON of a value, after checking that it reads back as the same value with the same
/// octets.
#[track_caller]
fn there_and_back(value: impl Into<Dynamic>, ty: &TypeCode) -> String {
    let value = value.into();
    let text = serde_json::to_string(&Json(&value)).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let again = from_json(&json, ty, &Plain);
    assert_eq!(again.as_ref(), Ok(&value), "{text}");
    let octets = |value: &Dynamic| {
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        // A value with an indirection to another value cannot be encoded alone; then only the
        // values are compared.
        let sent = value.encode(ty, &mut e).is_ok();
        sent.then(|| e.finish().to_vec())
    };
    assert_eq!(octets(&again.unwrap()), octets(&value), "{text}");
    text
}

#[track_caller]
fn read(json: Value, ty: &TypeCode) -> Dynamic {
    from_json(&json, ty, &Plain).unwrap()
}

#[track_caller]
fn wrong(json: Value, ty: &TypeCode) -> String {
    from_json(&json, ty, &Plain).unwrap_err().to_string()
}

#[test]
fn numbers() {
    assert_eq!(there_and_back(i16::MIN, &TypeCode::SHORT), "-32768");
    assert_eq!(there_and_back(u16::MAX, &TypeCode::USHORT), "65535");
    assert_eq!(there_and_back(i32::MIN, &TypeCode::LONG), "-2147483648");
    assert_eq!(there_and_back(u32::MAX, &TypeCode::ULONG), "4294967295");
    assert_eq!(there_and_back(9_007_199_254_740_991i64, &TypeCode::LONGLONG), "9007199254740991");
    assert_eq!(there_and_back(i64::MIN, &TypeCode::LONGLONG), "\"-9223372036854775808\"");
    assert_eq!(there_and_back(u64::MAX, &TypeCode::ULONGLONG), "\"18446744073709551615\"");
    assert_eq!(read(json!(u64::MAX), &TypeCode::ULONGLONG), u64::MAX.into());
    assert_eq!(there_and_back(255u8, &TypeCode::OCTET), "255");

    assert_eq!(
        wrong(json!(70000), &TypeCode::SHORT),
        "70000 is outside the range of short, -32768 to 32767"
    );
    assert_eq!(wrong(json!(1.5), &TypeCode::LONG), "expected an integer, found 1.5");
    assert_eq!(wrong(json!("1"), &TypeCode::LONG), "expected a number, found a string");
    assert_eq!(wrong(json!("1e3"), &TypeCode::LONGLONG), "expected an integer, found \"1e3\"");
    let above = "18446744073709551616 is outside the range of unsigned long long, 0 to 18446744073709551615";
    assert_eq!(wrong(json!("18446744073709551616"), &TypeCode::ULONGLONG), above);
}

#[test]
fn floating_point() {
    assert_eq!(there_and_back(0.1f32, &TypeCode::FLOAT), "0.1");
    assert_eq!(there_and_back(1e300, &TypeCode::DOUBLE), "1e+300");
    assert_eq!(read(json!(3), &TypeCode::DOUBLE), 3.0.into());
    assert_eq!(there_and_back(f64::NEG_INFINITY, &TypeCode::DOUBLE), "\"-Infinity\"");
    let nan = read(json!("NaN"), &TypeCode::FLOAT);
    assert_eq!(serde_json::to_string(&Json(&nan)).unwrap(), "\"NaN\"");
    assert_eq!(wrong(json!(1e300), &TypeCode::FLOAT), format!("{} is too large for float", 1e300));
    assert!(wrong(json!("1.5"), &TypeCode::DOUBLE).starts_with("expected a number"));

    assert_eq!(there_and_back(LongDouble::from(1.5), &TypeCode::LONGDOUBLE), "\"1.5\"");
    let third = LongDouble::from_bits(0x3ffd_5555_5555_5555_5555_5555_5555_5555);
    there_and_back(third, &TypeCode::LONGDOUBLE);
    assert_eq!(read(json!(0.5), &TypeCode::LONGDOUBLE), LongDouble::from(0.5).into());
}

#[test]
fn fixed() {
    let money = TypeCode::fixed(6, 2);
    let price: Decimal = "-1234.50".parse().unwrap();
    assert_eq!(there_and_back(price, &money), "\"-1234.50\"");
    assert_eq!(read(json!(3), &money), Decimal::new(300, 2).unwrap().into());
    assert_eq!(wrong(json!("1.234"), &money), "1.234 is not a value of fixed<6, 2>");
    assert_eq!(wrong(json!("12345"), &money), "12345 is not a value of fixed<6, 2>");
    assert_eq!(wrong(json!(1.234), &money), "1.234 is not a value of fixed<6, 2>");
    assert_eq!(wrong(json!("x"), &money), "x is not a decimal number");
}

#[test]
fn no_digit_of_a_fixed_is_lost() {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let decimal = |text: &str| Dynamic::from(text.parse::<Decimal>().unwrap());
    let long = TypeCode::fixed(31, 10);
    for exact in ["12345678901234567", "-12345.6789012345", "0.5", "0.0000000001", "1e3"] {
        let wanted = if exact == "1e3" { "1000" } else { exact };
        assert_eq!(read(parsed(exact), &long), decimal(wanted), "{exact}");
    }
    // A `double` would change these numbers, or does not tell them from others of the type.
    for lossy in ["12345678901234567.89", "0.10000000000000001e16", "123456.5", "1e30", "1e300"] {
        let said = wrong(parsed(lossy), &long);
        assert!(said.contains("write the value as a string"), "{lossy}: {said}");
    }
    assert_eq!(read(json!("12345678901234567.89"), &long), decimal("12345678901234567.89"));
    let small = TypeCode::fixed(10, 8);
    assert_eq!(read(parsed("1e-7"), &small), decimal("0.0000001"));
}

#[test]
fn text() {
    assert_eq!(there_and_back("a\n\u{e4}", &TypeCode::STRING), "\"a\\n\u{e4}\"");
    assert_eq!(
        there_and_back(Dynamic::Wstring("\u{1f600}".into()), &TypeCode::WSTRING),
        "\"\u{1f600}\""
    );
    assert_eq!(there_and_back('x', &TypeCode::CHAR), "\"x\"");
    assert_eq!(there_and_back(Dynamic::Wchar('\u{df}'), &TypeCode::WCHAR), "\"\u{df}\"");
    assert_eq!(there_and_back(true, &TypeCode::BOOLEAN), "true");
    assert_eq!(wrong(json!("xy"), &TypeCode::CHAR), "expected a string of one character");
    assert_eq!(wrong(json!(0), &TypeCode::BOOLEAN), "expected true or false, found a number");
    let short = TypeCode::bounded_string(2);
    assert!(wrong(json!("abc"), &short).contains("bound"), "{}", wrong(json!("abc"), &short));
}

#[test]
fn octets_are_base64_or_numbers() {
    let octets = TypeCode::sequence(TypeCode::OCTET);
    assert_eq!(there_and_back(vec![0u8, 1, 255], &octets), "\"AAH/\"");
    assert_eq!(read(json!([0, 1, 255]), &octets), vec![0u8, 1, 255].into());
    let digest = TypeCode::array(TypeCode::OCTET, 3);
    there_and_back(vec![1u8, 2, 3], &digest);
    assert_eq!(wrong(json!("*"), &octets), "this is not base64");
    assert_eq!(wrong(json!([0, 256]), &octets), "[1]: 256 is outside the range of octet, 0 to 255");
    assert_eq!(wrong(json!("AAH/AAH/"), &digest), "there are 6 elements, not 3");
}

#[test]
fn structs_enums_sequences_and_arrays() {
    let value = read(json!({ "colour": "green", "x": 3 }), &point());
    assert_eq!(there_and_back(value, &point()), r#"{"x":3,"colour":"green"}"#);

    let matrix = TypeCode::array(TypeCode::array(TypeCode::LONG, 2), 2);
    let value = read(json!([[1, 2], [3, 4]]), &matrix);
    assert_eq!(there_and_back(value, &matrix), "[[1,2],[3,4]]");
    let value = read(json!({ "branches": [{ "branches": [] }] }), &tree());
    assert_eq!(there_and_back(value, &tree()), r#"{"branches":[{"branches":[]}]}"#);

    assert_eq!(wrong(json!({ "x": 3 }), &point()), "member colour is missing");
    assert_eq!(
        wrong(json!({ "x": 3, "y": 4 }), &point()),
        "there is no member y in Point; it has x, colour"
    );
    assert_eq!(wrong(json!([]), &point()), "expected an object, found an array");
    assert_eq!(wrong(json!("blue"), &colour()), "blue is none of red, green");
    assert_eq!(wrong(json!(1), &colour()), "expected one of red, green, found a number");
    assert_eq!(wrong(json!([[1, 2], [3]]), &matrix), "[1]: there are 1 elements, not 2");
    let route = TypeCode::structure("IDL:R:1.0", "R", [("route", TypeCode::sequence(point()))]);
    let error = wrong(
        json!({ "route": [{ "x": 1, "colour": "red" }, { "x": null, "colour": "red" }] }),
        &route,
    );
    assert_eq!(error, "route[1].x: expected a number, found null");
}

#[test]
fn unions() {
    let value = read(json!({ "discriminator": "red", "member": 7 }), &choice());
    assert_eq!(there_and_back(value.clone(), &choice()), r#"{"flat":7}"#);
    assert_eq!(read(json!({ "flat": 7 }), &choice()), value);

    let holes = TypeCode::union(
        "IDL:U:1.0",
        "U",
        TypeCode::SHORT,
        [(Label::Value(1), "one", TypeCode::LONG)],
    );
    let nothing = read(json!({ "discriminator": 5 }), &holes);
    assert_eq!(there_and_back(nothing, &holes), r#"{"discriminator":5}"#);

    let error = wrong(json!({ "round": { "x": 1, "colour": 2 } }), &choice());
    assert_eq!(error, "round.colour: expected one of red, green, found a number");
    assert_eq!(
        wrong(json!({ "discriminator": "red", "member": "x" }), &choice()),
        "member: expected a number, found a string"
    );
    assert_eq!(
        wrong(json!({ "discriminator": 5, "member": 1 }), &holes),
        "member: the discriminator selects no member"
    );
    assert_eq!(
        wrong(json!({ "discriminator": 1 }), &holes),
        "the discriminator selects one, but there is no member"
    );
    assert_eq!(
        wrong(json!({ "square": 1 }), &choice()),
        "expected a discriminator and a member, or one of flat, round"
    );
    assert!(wrong(json!({ "discriminator": 1, "member": 1, "x": 1 }), &holes).contains("not x"));
}

#[test]
fn references() {
    let account = TypeCode::interface("IDL:Account:1.0", "Account");
    assert_eq!(there_and_back(RawReference::default(), &account), "null");
    let reference = RawReference {
        type_id: "IDL:Account:1.0".into(),
        profiles: vec![RawProfile { tag: 0, data: vec![1, 2, 3] }],
    };
    assert!(there_and_back(reference, &account).starts_with("\"IOR:"));
    assert!(matches!(
        read(json!("corbaloc::host.example:2809/Account"), &TypeCode::OBJECT),
        Dynamic::Reference(reference) if !reference.is_nil()
    ));
    assert!(wrong(json!("nonsense"), &account).starts_with("not a reference"));
    assert_eq!(
        wrong(json!(1), &account),
        "expected a reference as a string, or null, found a number"
    );
}

#[test]
fn anys_carry_their_type() {
    let any = read(json!({ "type": "sequence<short>", "value": [1, 2] }), &TypeCode::ANY);
    assert_eq!(there_and_back(any, &TypeCode::ANY), r#"{"type":"sequence<short>","value":[1,2]}"#);
    let nested = json!({ "type": "any", "value": { "type": "string", "value": "x" } });
    there_and_back(read(nested, &TypeCode::ANY), &TypeCode::ANY);
    there_and_back(read(json!(null), &TypeCode::ANY), &TypeCode::ANY);

    // Types of all kinds convert to JSON and back.
    let kinds = [
        (json!({ "x": 1, "colour": "red" }), point()),
        (json!({ "flat": 1 }), choice()),
        (json!({ "branches": [] }), tree()),
        (json!("1.5"), TypeCode::alias("IDL:Money:1.0", "Money", TypeCode::fixed(4, 1))),
        (json!([1, 2]), TypeCode::array(TypeCode::LONG, 2)),
    ];
    for (json, ty) in kinds {
        let described = serde_json::to_value(JsonType(&ty)).unwrap();
        let any = read(json!({ "type": described, "value": json }), &TypeCode::ANY);
        there_and_back(any, &TypeCode::ANY);
    }
    assert_eq!(
        wrong(json!({ "type": "short", "value": "x" }), &TypeCode::ANY),
        "value: expected a number, found a string"
    );
    assert_eq!(
        wrong(json!({ "type": "shirt", "value": 1 }), &TypeCode::ANY),
        "type: there is no type shirt"
    );
    assert!(wrong(json!({ "value": 1 }), &TypeCode::ANY).starts_with("an any must be"));
}

#[test]
fn every_kind_of_type_describes_itself() {
    let struct_of = |ty| TypeCode::structure("IDL:S:1.0", "S", [("m", ty)]);
    let value = TypeCode::value(
        "IDL:V:1.0",
        "V",
        ValueModifier::Truncatable,
        TypeCode::value("IDL:B:1.0", "B", ValueModifier::None, None, []),
        [("a", TypeCode::LONG, Visibility::Private), ("b", TypeCode::LONG, Visibility::Public)],
    );
    let types = [
        TypeCode::VOID,
        TypeCode::TYPE_CODE,
        TypeCode::ULONGLONG,
        TypeCode::OBJECT,
        TypeCode::VALUE_BASE,
        TypeCode::bounded_string(7),
        TypeCode::bounded_wstring(7),
        TypeCode::fixed(31, 0),
        TypeCode::bounded_sequence(TypeCode::bounded_sequence(TypeCode::STRING, 2), 3),
        TypeCode::array(TypeCode::array(TypeCode::LONG, 2), 3),
        colour(),
        choice(),
        tree(),
        struct_of(TypeCode::sequence(point())),
        TypeCode::exception("IDL:E:1.0", "E", [("why", TypeCode::STRING)]),
        TypeCode::alias("IDL:A:1.0", "A", tree()),
        TypeCode::interface("IDL:I:1.0", "I"),
        TypeCode::abstract_interface("IDL:I:1.0", "I"),
        TypeCode::local_interface("IDL:I:1.0", "I"),
        TypeCode::native("IDL:N:1.0", "N"),
        TypeCode::component("IDL:C:1.0", "C"),
        TypeCode::home("IDL:H:1.0", "H"),
        TypeCode::value_box("IDL:X:1.0", "X", TypeCode::STRING),
        TypeCode::union(
            "IDL:D:1.0",
            "D",
            TypeCode::CHAR,
            [(Label::Value(97), "a", TypeCode::LONG), (Label::Default, "b", TypeCode::STRING)],
        ),
        TypeCode::union(
            "IDL:W:1.0",
            "W",
            TypeCode::ULONGLONG,
            [1 << 63, u64::MAX].map(|label| (Label::Value(label.into()), "a", TypeCode::LONG)),
        ),
        TypeCode::union(
            "IDL:Z:1.0",
            "Z",
            TypeCode::LONGLONG,
            [(Label::Value(i64::MIN.into()), "a", TypeCode::LONG)],
        ),
        value.clone(),
        TypeCode::event("IDL:Ev:1.0", "Ev", ValueModifier::None, value, []),
    ];
    for ty in types {
        let json = serde_json::to_value(JsonType(&ty)).unwrap();
        let again = type_from_json(&json, &Plain).unwrap_or_else(|error| panic!("{json}: {error}"));
        assert_eq!(again, ty, "{json}");
    }
}

#[test]
fn types_have_words_and_names() {
    struct OnlyPoint;
    impl Names for OnlyPoint {
        fn find_type(&self, name: &str) -> Option<TypeCode> {
            (name == "m::Point").then(point)
        }
    }
    let words = |words: &str| type_from_json(&json!(words), &OnlyPoint);
    assert_eq!(words(" unsigned   long "), Ok(TypeCode::ULONG));
    assert_eq!(
        words("sequence<sequence<m::Point>, 4>").unwrap(),
        TypeCode::bounded_sequence(TypeCode::sequence(point()), 4)
    );
    assert_eq!(words("sequence<fixed<5, 2>>").unwrap(), TypeCode::sequence(TypeCode::fixed(5, 2)));
    assert_eq!(
        words("long[2][3]").unwrap(),
        TypeCode::array(TypeCode::array(TypeCode::LONG, 3), 2)
    );
    assert_eq!(words("string<8>").unwrap(), TypeCode::bounded_string(8));
    for nonsense in
        ["", "m::Line", "sequence<>", "long[", "long[x]", "string<x>", "struct", ">", "<>", "]"]
    {
        assert!(words(nonsense).is_err(), "{nonsense}");
    }
    let open = json!({ "kind": "sequence", "type": { "kind": "recursive", "id": "IDL:X:1.0" } });
    assert!(type_from_json(&open, &Plain).is_err());
    for nonsense in
        [json!(1), json!({}), json!({ "kind": "struct", "id": "x" }), json!({ "kind": "nothing" })]
    {
        assert!(type_from_json(&nonsense, &Plain).is_err(), "{nonsense}");
    }
}

/// `valuetype Node { public long id; public Node next; public any extra; };`
fn node() -> TypeCode {
    let public = Visibility::Public;
    let members = [
        ("id", TypeCode::LONG, public),
        ("next", TypeCode::recursive("IDL:Node:1.0"), public),
        ("extra", TypeCode::ANY, public),
    ];
    TypeCode::value("IDL:Node:1.0", "Node", ValueModifier::None, None, members)
}

/// Returns a chain of nodes, one per step, whose end refers back to the node that the last step
/// selects; every fifth number adds an any with another node.
fn graph(steps: &[u8]) -> Dynamic {
    let mut keys: Vec<ValueKey> = Vec::new();
    let mut nodes = Vec::new();
    for &step in steps {
        let mut value = DynamicValue::default_for(&node()).unwrap();
        keys.push(value.key.clone());
        value.fields[0].value = Dynamic::Long(step.into());
        if step % 5 == 0 {
            let inner = Dynamic::from(DynamicValue::default_for(&node()).unwrap());
            value.fields[2].value = Dynamic::Any(Any::with_type(node(), inner).unwrap());
        }
        nodes.push(value);
    }
    let last = steps.last().map(|step| usize::from(*step) % keys.len());
    let end = last.map_or(Dynamic::Null, |at| Dynamic::Indirection(keys[at].clone()));
    nodes.into_iter().rev().fold(end, |next, mut value| {
        value.fields[1].value = next;
        value.into()
    })
}

/// Every label of a union is preserved: the first label of a member follows from the member's name,
/// and any other label is written.
#[test]
fn a_union_is_written_as_it_is_typed_in() {
    let members = [
        (Label::Value(1), "one", TypeCode::LONG),
        (Label::Value(2), "several", TypeCode::STRING),
        (Label::Value(3), "several", TypeCode::STRING),
        (Label::Value(4), "discriminator", TypeCode::LONG),
        (Label::Value(5), "member", TypeCode::LONG),
        (Label::Default, "other", TypeCode::OCTET),
    ];
    let union = TypeCode::union("IDL:U:1.0", "U", TypeCode::SHORT, members);
    for (given, written) in [
        (json!({ "one": 7 }), r#"{"one":7}"#),
        (json!({ "discriminator": 1, "member": 7 }), r#"{"one":7}"#),
        (json!({ "several": "x" }), r#"{"several":"x"}"#),
        (json!({ "discriminator": 3, "member": "x" }), r#"{"discriminator":3,"member":"x"}"#),
        (json!({ "discriminator": 4, "member": 7 }), r#"{"discriminator":4,"member":7}"#),
        (json!({ "member": 7 }), r#"{"member":7}"#),
        (json!({ "other": 7 }), r#"{"other":7}"#),
        (json!({ "discriminator": -9, "member": 7 }), r#"{"discriminator":-9,"member":7}"#),
    ] {
        assert_eq!(there_and_back(read(given, &union), &union), written);
    }
}

proptest! {
    #[test]
    fn graphs_of_values(steps in proptest::collection::vec(any::<u8>(), 0..40)) {
        let value = graph(&steps);
        let list = TypeCode::sequence(node());
        let again = value.clone();
        // The value is converted as an element of a sequence, and by itself.
        there_and_back(Dynamic::Sequence(vec![value]), &list);
        there_and_back(again, &node());
    }
}

#[test]
fn values() {
    let text = there_and_back(graph(&[1, 2]), &node());
    let none = r#""extra":{"type":"null","value":null}"#;
    let second = format!(r#"{{"$type":"IDL:Node:1.0","id":2,"next":{{"$ref":1}},{none}}}"#);
    let first = format!(r#"{{"$type":"IDL:Node:1.0","$id":1,"id":1,"next":{second},{none}}}"#);
    assert_eq!(text, first);
    assert_eq!(there_and_back(Dynamic::Null, &node()), "null");

    let names = TypeCode::value_box("IDL:Names:1.0", "Names", TypeCode::sequence(TypeCode::STRING));
    let boxed = read(json!(["a"]), &names);
    assert_eq!(boxed, read(json!({ "$value": ["a"] }), &names));
    assert_eq!(there_and_back(boxed, &names), r#"{"$type":"IDL:Names:1.0","$value":["a"]}"#);
    assert_eq!(read(Value::Null, &names), Dynamic::Null);

    let twice = json!({ "$id": 1, "id": 1, "extra": null, "next": { "$id": 1, "id": 2, "next": null, "extra": null } });
    assert_eq!(wrong(twice, &node()), "next.$id: another value has \"$id\": 1");
    assert_eq!(wrong(json!({ "$ref": 1, "id": 1 }), &node()), "a \"$ref\" must be the only member");
    assert_eq!(
        wrong(json!({ "$type": 1 }), &node()),
        "$type: expected the name of a type, found a number"
    );
    assert!(wrong(json!({ "a": 1 }), &TypeCode::VALUE_BASE).contains("\"$type\""));
}

/// Values shared between two arguments.
#[test]
fn values_of_one_message() {
    let mut reader = Reader::new(&Plain);
    let one = json!({ "$id": 5, "id": 1, "next": null, "extra": null });
    let first = reader.from_json(&one, &node()).unwrap();
    let second = reader.from_json(&json!({ "$ref": 5 }), &node()).unwrap();
    assert!(
        matches!((&first, &second), (Dynamic::Value(v), Dynamic::Indirection(k)) if v.key == *k)
    );
    let shared = Shared::new([&first, &second]);
    assert_eq!(serde_json::to_value(shared.json(&second)).unwrap(), json!({ "$ref": 1 }));
}

/// Returns `struct d_n { d_(n-1) a; d_(n-1) b; }` and so on down to a long, which has 2^n paths but
/// only n + 1 types.
fn doubled(n: usize) -> TypeCode {
    (0..n).fold(TypeCode::LONG, |inner, at| {
        let (id, name) = (format!("IDL:d{at}:1.0"), format!("d{at}"));
        TypeCode::structure(&id, &name, [("a", inner.clone()), ("b", inner)])
    })
}

fn octets_of(value: &impl Encode) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
    value.encode(&mut e).unwrap();
    e.finish().to_vec()
}

#[test]
fn a_type_that_repeats_is_described_once() {
    for n in [10, 20, 40] {
        let ty = doubled(n);
        let text = serde_json::to_string(&JsonType(&ty)).unwrap();
        assert!(text.len() < 150 * n, "{}", text.len());
        let json = serde_json::from_str(&text).unwrap();
        assert_eq!(type_from_json(&json, &Plain).as_ref(), Ok(&ty), "{text}");
    }
    let text = serde_json::to_string(&JsonType(&doubled(2))).unwrap();
    assert_eq!(
        text,
        r#"{"kind":"struct","id":"IDL:d1:1.0","name":"d1","members":[{"name":"a","type":{"kind":"struct","id":"IDL:d0:1.0","name":"d0","members":[{"name":"a","type":"long"},{"name":"b","type":"long"}]}},{"name":"b","type":{"kind":"recursive","id":"IDL:d0:1.0"}}]}"#
    );

    // A peer may send the type of `a` and that of `b` separately, which makes distinct nodes of the
    // type code.
    let twice = doubled(1);
    let again = type_from_json(&serde_json::to_value(JsonType(&twice)).unwrap(), &Plain).unwrap();
    let both = TypeCode::structure("IDL:d1:1.0", "d1", [("a", twice), ("b", again)]);
    assert_eq!(serde_json::to_string(&JsonType(&both)).unwrap(), text);

    // The text is also short for an any with an empty sequence of such a type, as a peer would send
    // it.
    let any = Any::with_type(TypeCode::sequence(doubled(40)), Dynamic::Sequence(Vec::new()));
    let octets = octets_of(&any.unwrap());
    let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    let any = Dynamic::Any(Any::decode(&mut decoder).unwrap());
    let text = serde_json::to_string(&Json(&any)).unwrap();
    assert!(text.len() < 4 * octets.len(), "{}", text.len());
}

#[test]
fn text_is_bounded_by_the_limits() {
    // A type without an id cannot be referred to, so its parts are repeated until the limit is
    // reached.
    let unnamed = (0..40).fold(TypeCode::LONG, |inner, _| {
        TypeCode::structure("", "", [("a", inner.clone()), ("b", inner)])
    });
    let limits = DecoderLimits { max_text: 1 << 16, ..DecoderLimits::default() };
    let unnamed = Dynamic::TypeCode(unnamed);
    let shared = Shared::new([&unnamed]).with_limits(&limits);
    let error = serde_json::to_writer(std::io::sink(), &shared.json(&unnamed)).unwrap_err();
    assert!(error.to_string().contains("max_text"), "{error}");

    // Names are repeated for each element, so a short message may become a long text.
    let name = "n".repeat(10_000);
    let ty = TypeCode::structure("IDL:S:1.0", "S", [(&*name, TypeCode::OCTET)]);
    let ty = TypeCode::sequence(ty);
    let octets = [&20_000u32.to_be_bytes()[..], &[0; 20_000]].concat();
    let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    let value = Dynamic::decode(&ty, &mut decoder).unwrap();
    let error = serde_json::to_writer(std::io::sink(), &Json(&value)).unwrap_err();
    assert!(error.to_string().contains("67108864 octets"), "{error}");

    let limits = DecoderLimits { max_text: 100, ..DecoderLimits::default() };
    let short = Dynamic::String("x".repeat(90));
    let long = Dynamic::String("x".repeat(100));
    let shared = Shared::new([&short, &long]).with_limits(&limits);
    assert!(serde_json::to_string(&shared.json(&short)).is_ok());
    assert!(serde_json::to_string(&shared.json(&short)).is_err(), "together they are too long");
}

#[test]
fn a_chain_of_types_is_no_deeper_than_the_stack() {
    let chain = (0..140).fold(TypeCode::LONG, |inner, _| TypeCode::sequence(inner));
    let error = serde_json::to_string(&JsonType(&chain)).unwrap_err();
    assert!(error.to_string().contains("nested more than 128 deep"), "{error}");
}

/// Names that know one type, and an interpretation of omitted members.
struct Known(TypeCode, LeftOut);

impl Names for Known {
    fn find_type(&self, name: &str) -> Option<TypeCode> {
        (self.0.id() == Some(name)).then(|| self.0.clone())
    }

    fn name_of_type(&self, ty: &TypeCode) -> Option<String> {
        (*ty == self.0).then(|| ty.id().unwrap_or_default().to_owned())
    }

    fn left_out(&self, _: &str, member: &str) -> LeftOut {
        match member {
            "colour" => LeftOut::Default(json!("green")),
            _ => self.1.clone(),
        }
    }
}

#[test]
fn members_left_out_are_as_the_names_say() {
    let lenient = Known(point(), LeftOut::Zero);
    let strict = Known(point(), LeftOut::Refused("; say --zero"));
    let full = read(json!({ "x": 0, "colour": "green" }), &point());
    assert_eq!(from_json(&json!({}), &point(), &lenient), Ok(full.clone()));
    assert_eq!(
        from_json(&json!({ "x": 0 }), &point(), &strict),
        Ok(full.clone()),
        "a default needs no leave"
    );
    let refused = from_json(&json!({}), &point(), &strict).unwrap_err();
    assert_eq!(refused.to_string(), "member x is missing; say --zero");

    // Nested structs, members of unions and complete values are filled in as well.
    let line = [("from", point()), ("to", point())];
    let line = TypeCode::structure("IDL:Line:1.0", "Line", line);
    let point = json!({ "x": 0, "colour": "green" });
    let both = read(json!({ "from": point, "to": point }), &line);
    assert_eq!(from_json(&json!({}), &line, &lenient), Ok(both.clone()));
    assert_eq!(Reader::new(&lenient).zero(&line), Ok(both));
    let round = json!({ "discriminator": "green" });
    assert_eq!(
        from_json(&round, &choice(), &lenient),
        Ok(read(json!({ "round": { "x": 0, "colour": "green" } }), &choice()))
    );
    let refused = from_json(&round, &choice(), &strict).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the discriminator selects round, but there is no member; say --zero"
    );
    let refused = from_json(&json!({ "id": 1 }), &node(), &strict).unwrap_err();
    assert_eq!(refused.to_string(), "member next is missing; say --zero");
    assert!(from_json(&json!({ "id": 1 }), &node(), &lenient).is_ok());
}

#[test]
fn what_is_filled_in_is_bounded() {
    let mut ty = point();
    for level in 0..30 {
        let id = format!("IDL:L{level}:1.0");
        ty = TypeCode::structure(&id, "L", [("a", ty.clone()), ("b", ty)]);
    }
    let lenient = Known(point(), LeftOut::Zero);
    let refused = from_json(&json!({}), &ty, &lenient).unwrap_err();
    assert!(refused.what.contains("more than 1048576 values"), "{refused}");
}

#[test]
fn arrays_that_are_filled_in_are_bounded_together() {
    let numbers = TypeCode::array(TypeCode::LONG, 600_000);
    let members = [("a", numbers.clone()), ("b", numbers)];
    let ty = TypeCode::structure("IDL:Numbers:1.0", "Numbers", members);
    let lenient = Known(point(), LeftOut::Zero);
    let refused = Reader::new(&lenient).zero(&ty).unwrap_err();
    assert!(refused.to_string().contains("more than 1048576 values"), "{refused}");
}

/// A default value of an image would have more elements than a default value may have.
#[test]
fn a_union_may_have_large_members_beside_the_selected_one() {
    let image = TypeCode::array(TypeCode::OCTET, 2_000_000);
    let cases = [(Label::Value(1), "image", image), (Label::Default, "size", TypeCode::LONG)];
    let union = TypeCode::union("IDL:Picture:1.0", "Picture", TypeCode::SHORT, cases);
    let json = json!({ "size": 7 });
    let value = read(json.clone(), &union);
    assert_eq!(value, read(json!({ "discriminator": 0, "member": 7 }), &union));
    assert_eq!(serde_json::to_value(Json(&value)).unwrap(), json);
    let image = json!({ "image": "AAAA".repeat(2_000_000 / 3) + "AAA=" });
    assert_eq!(serde_json::to_value(Json(&read(image.clone(), &union))).unwrap(), image);
}

#[test]
fn names_are_found_among_many() {
    let name = |at: usize| format!("n{at}");
    let all: Vec<String> = (0..1000).map(name).collect();
    let names = || all.iter().map(String::as_str);
    let many = TypeCode::enumeration("IDL:Many:1.0", "Many", names());
    let few = colour();
    let cases = (0..).zip(names()).map(|(at, name)| (Label::Value(at), name, many.clone()));
    let union = TypeCode::union("IDL:U:1.0", "U", TypeCode::LONG, cases);
    let fields = names().map(|name| (name, many.clone())).chain([("few", few)]);
    let whole = TypeCode::structure("IDL:Whole:1.0", "Whole", fields);
    let whole = TypeCode::structure("IDL:Both:1.0", "Both", [("whole", whole), ("union", union)]);

    let mut members: serde_json::Map<_, _> =
        all.iter().map(|name| (name.clone(), json!(name))).collect();
    members.insert("few".to_owned(), json!("green"));
    let json = json!({ "whole": members, "union": { "n999": "n998" } });
    let value = read(json.clone(), &whole);
    assert_eq!(serde_json::to_value(Json(&value)).unwrap(), json);
    let refused = |place: &str, json: Value| {
        let mut wrong = serde_json::to_value(Json(&value)).unwrap();
        *wrong.pointer_mut(place).unwrap() = json;
        from_json(&wrong, &whole, &Plain).unwrap_err().to_string()
    };
    assert!(refused("/whole/n7", json!("green")).starts_with("whole.n7: green is none of n0, n1"));
    assert!(refused("/whole/few", json!("n1")).starts_with("whole.few: n1 is none of red, green"));
    assert!(refused("/whole", json!({ "n1000": "n1" })).contains("no member n1000 in Whole"));
    assert!(refused("/union", json!({ "n1000": "n1" })).contains("or one of n0, n1"));
}

#[test]
fn a_large_type_inside_many_others_is_refused() {
    let members: Vec<Value> = (0..2000)
        .map(|at| json!({ "name": format!("m{at}"), "type": { "kind": "enum", "id": format!("IDL:E{at}:1.0"), "members": ["a"] } }))
        .collect();
    let large =
        json!({ "kind": "struct", "id": "IDL:Large:1.0", "name": "Large", "members": members });
    let within = |levels: usize| {
        let nest = |ty, _| json!({ "kind": "sequence", "type": ty });
        type_from_json(&(0..levels).fold(large.clone(), nest), &Plain)
    };
    assert!(within(10).is_ok());
    let refused = within(60).unwrap_err();
    assert!(refused.what.contains("at most 131072 parts"), "{refused}");
}

#[test]
fn structs_are_filled_in_to_128_levels() {
    let chain = |structs: usize| {
        (0..structs).fold(TypeCode::LONG, |inner, at| {
            TypeCode::structure(&format!("IDL:C{at}:1.0"), "C", [("inner", inner)])
        })
    };
    // Unoptimised code may need more stack than the thread of a test has.
    let thread = std::thread::Builder::new().stack_size(32 << 20);
    let checked = thread.spawn(move || {
        let lenient = Known(point(), LeftOut::Zero);
        // The long is the last level.
        assert!(Reader::new(&lenient).zero(&chain(127)).is_ok());
        let refused = Reader::new(&lenient).zero(&chain(128)).unwrap_err();
        assert!(refused.what.contains("or 128 levels"), "{refused}");
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn types_are_compared_with_earlier_ones_within_a_limit() {
    // The encoder repeats this type in full, and the decoder makes a type of each repetition.
    let repeated = TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::LONG)]);
    let members = (0..40).map(|_| ("m", repeated.clone()));
    let octets = octets_of(&TypeCode::structure("IDL:T:1.0", "T", members));
    let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    let ty = TypeCode::decode(&mut decoder).unwrap();
    let text = serde_json::to_string(&JsonType(&ty)).unwrap();
    // The 32 repetitions that are compared with the first one refer to it.
    assert_eq!(text.matches(r#""kind":"recursive""#).count(), 32);
    assert_eq!(text.matches(r#""kind":"struct","id":"IDL:P:1.0""#).count(), 8);
    assert_eq!(type_from_json(&serde_json::from_str(&text).unwrap(), &Plain).as_ref(), Ok(&ty));
}

/// Names that count how often they are asked for the name of a type.
struct Asked(Cell<usize>);

impl Names for Asked {
    fn find_type(&self, _: &str) -> Option<TypeCode> {
        None
    }

    fn name_of_type(&self, _: &TypeCode) -> Option<String> {
        self.0.set(self.0.get() + 1);
        None
    }
}

#[test]
fn names_of_types_are_looked_up_within_a_limit() {
    let ids: Vec<String> = (0..300).map(|at| format!("IDL:M{at}:1.0")).collect();
    let members = ids.iter().map(|id| ("m", TypeCode::structure(id, "M", [])));
    let ty = TypeCode::structure("IDL:T:1.0", "T", members);
    let any = Any::with_type(TypeCode::sequence(ty), Dynamic::Sequence(Vec::new())).unwrap();
    let value = Dynamic::Any(any);
    let asked = Asked(Cell::new(0));
    let shared = Shared::new([&value]).with_names(&asked);
    let json = serde_json::to_value(shared.json(&value)).unwrap();
    assert_eq!(asked.0.get(), 256);
    // Types beyond the limit are described in full, as those without a name are.
    assert_eq!(from_json(&json, &TypeCode::ANY, &Plain), Ok(value));
}

#[test]
fn plain_values_are_anys() {
    for (json, ty) in [
        (json!(true), TypeCode::BOOLEAN),
        (json!("text"), TypeCode::STRING),
        (json!(-5), TypeCode::LONG),
        (json!(3_000_000_000_u64), TypeCode::LONGLONG),
        (json!(u64::MAX), TypeCode::ULONGLONG),
        (json!(1.5), TypeCode::DOUBLE),
    ] {
        let Dynamic::Any(any) = read(json.clone(), &TypeCode::ANY) else {
            panic!("{json}");
        };
        assert_eq!(*any.type_code(), ty, "{json}");
        assert_eq!(any.dynamic().unwrap(), read(json, &ty));
    }
    let refused = from_json(&json!([1]), &TypeCode::ANY, &Plain).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "an any must be {\"type\": ..., \"value\": ...}, or a plain boolean, number or string"
    );
}

#[test]
fn types_with_names_are_short_in_anys() {
    let names = Known(point(), LeftOut::Zero);
    let written = |json: Value| {
        let value = from_json(&json, &TypeCode::ANY, &names).unwrap();
        let shared = Shared::new([&value]).with_names(&names);
        let written = serde_json::to_value(shared.json(&value)).unwrap();
        assert_eq!(from_json(&written, &TypeCode::ANY, &names), Ok(value));
        written
    };
    let one = json!({ "x": 1, "colour": "red" });
    let short = json!({ "type": "IDL:Point:1.0", "value": one });
    assert_eq!(written(short.clone()), short);
    assert_eq!(
        written(json!({ "type": "sequence<IDL:Point:1.0>", "value": [one] })),
        json!({ "type": { "kind": "sequence", "type": "IDL:Point:1.0" }, "value": [one] })
    );
    assert_eq!(
        written(json!(5)),
        json!({ "type": "long", "value": 5 }),
        "basic types have short names"
    );
    // A different type with the same id is not known by that name, so it is written in full.
    let other = TypeCode::structure("IDL:Point:1.0", "Point", [("y", TypeCode::SHORT)]);
    let other = serde_json::to_value(JsonType(&other)).unwrap();
    let long = json!({ "type": other, "value": { "y": 1 } });
    assert_eq!(written(long.clone()), long);
}
