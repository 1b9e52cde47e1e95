//! Every generated type through CDR: both byte orders, every alignment, every truncation.

use oxorb::__gen::{Decode, LongDouble};
use oxorb_cdr::{ByteOrder, ErrorKind};
use oxorb_codegen_tests::{calls, names, types, unions};

use crate::common::{decoder, encoded, refused, round_trip};

fn hop(kind: u8) -> types::Hop {
    types::Hop { kind, distance: -7 * i32::from(kind), lane: 512 }
}

fn basics() -> types::Basics {
    types::Basics {
        an_octet: 0xFE,
        a_boolean: true,
        a_char: 'é',
        a_wchar: '€',
        a_short: i16::MIN,
        a_ushort: u16::MAX,
        a_long: i32::MIN,
        a_ulong: u32::MAX,
        a_longlong: i64::MIN,
        a_ulonglong: u64::MAX,
        a_float: -0.1,
        a_double: 1e300,
        a_longdouble: LongDouble::from(1.5),
    }
}

fn lengths() -> types::Lengths {
    types::Lengths {
        text: "text é".into(),
        wide: "wide € 𝄞".into(),
        a_code: "12345678".into(),
        wide_a_code: "€€€€€".into(),
        a_blob: vec![1, 2, 3],
        small: vec![7; 16],
        a_route: (0..5).map(hop).collect(),
        some_codes: vec!["a".into(), String::new(), "12345678".into()],
        wide_some_names: vec!["ä".into(), String::new()],
        wide_some_codes: vec!["12345".into(), "€".into()],
        wide_some_chars: vec!['a', '€'],
        some_chars: vec!['a', 'ÿ'],
        some_flags: vec![true, false, true],
        a_table: vec![vec![], vec![0.5], vec![1.0, 2.0]],
        depths: vec![vec![vec![1, 2], vec![]], vec![]],
        some_colours: vec![types::Colour::Red, types::Colour::DarkBlue],
        some_long_doubles: vec![LongDouble::from(-2.0)],
        some_matrices: vec![[[1, 2, 3], [4, 5, 6]]],
    }
}

fn nothing() -> types::Lengths {
    types::Lengths {
        text: String::new(),
        wide: String::new(),
        a_code: String::new(),
        wide_a_code: String::new(),
        a_blob: vec![],
        small: vec![],
        a_route: vec![],
        some_codes: vec![],
        wide_some_names: vec![],
        wide_some_codes: vec![],
        wide_some_chars: vec![],
        some_chars: vec![],
        some_flags: vec![],
        a_table: vec![],
        depths: vec![],
        some_colours: vec![],
        some_long_doubles: vec![],
        some_matrices: vec![],
    }
}

#[test]
fn structs() {
    round_trip(basics());
    round_trip(hop(3));
    round_trip(lengths());
    round_trip(nothing());
    round_trip(types::Flat {
        paint: types::Colour::Green,
        next: hop(1),
        both: [hop(2), hop(3)],
        grid: [[1, 2, 3], [4, 5, -6]],
        cube: [[[0.5, 1.5], [2.5, 3.5]], [[4.5, 5.5], [6.5, 7.5]]],
        switches: [true, false, true],
        precise: LongDouble::from(0.25),
    });
    round_trip(types::Arrays {
        all_words: [["a".into(), "b".into()], [String::new(), "d".into()]],
        all_wide_words: ["€".into(), String::new()],
        a_wide_grid: [['a', '€'], ['c', 'd']],
        a_code_grid: ["12345678".into(), String::new()],
        all_blobs: [vec![1], vec![2; 16]],
        letters: ['a', 'b', 'c', 'é'],
    });
    round_trip(types::Outer {
        held: types::outer::Inner { x: 5 },
        feeling: types::outer::Mood::Sad,
    });
    round_trip(types::Plain {});
    round_trip(types::Told { why: "because".into(), code: 3 });
    round_trip(names::FooBar_ { e: 1, d: 2 });
}

#[test]
fn a_struct_takes_the_octets_that_cdr_says() {
    let octets = encoded(&hop(1), ByteOrder::Big, 1).unwrap();
    // Offset 1: octet; padding to 4; long; short.
    assert_eq!(octets[1..], [1, 0, 0, 0xFF, 0xFF, 0xFF, 0xF9, 2, 0]);
}

#[test]
fn recursive_types() {
    let leaf = |name: &str| types::Tree { name: name.into(), children: vec![] };
    let branch = types::Tree { name: "b".into(), children: vec![leaf("x"), leaf("")] };
    round_trip(types::Tree { name: "root".into(), children: vec![branch, leaf("c")] });

    let literal = types::Expression::Literal(-1);
    let sum = types::Sum { terms: vec![literal.clone(), types::Expression::other()] };
    round_trip(types::Expression::Total(types::Sum {
        terms: vec![types::Expression::Total(sum), literal],
    }));
}

#[test]
fn recursion_in_a_message_is_bounded() {
    let mut tree = types::Tree { name: String::new(), children: vec![] };
    for _ in 0..1000 {
        tree = types::Tree { name: String::new(), children: vec![tree] };
    }
    let octets = encoded(&tree, ByteOrder::Little, 0).unwrap();
    let error = types::Tree::decode(&mut decoder(&octets, ByteOrder::Little, 0)).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::TooDeep { .. }), "{error}");
}

#[test]
fn bounds_hold_in_both_directions() {
    let too_long = [
        types::Lengths { a_code: "123456789".into(), ..nothing() },
        types::Lengths { wide_a_code: "123456".into(), ..nothing() },
        types::Lengths { small: vec![0; 17], ..nothing() },
        types::Lengths { some_codes: vec![String::new(); 4], ..nothing() },
        types::Lengths { some_codes: vec!["123456789".into()], ..nothing() },
        types::Lengths { wide_some_codes: vec![String::new(); 3], ..nothing() },
        types::Lengths { wide_some_codes: vec!["123456".into()], ..nothing() },
        types::Lengths { depths: vec![vec![vec![]; 4]], ..nothing() },
        types::Lengths { depths: vec![vec![vec![0; 3]]], ..nothing() },
    ];
    for value in too_long {
        assert!(matches!(refused(&value), ErrorKind::BoundExceeded { .. }), "{value:?}");
    }
    // sequence<octet, 16> read from seventeen octets.
    let mut octets = encoded(&vec![0_u8; 17], ByteOrder::Big, 0).unwrap();
    octets.extend([0; 64]);
    let error = decoder(&octets, ByteOrder::Big, 0).sequence::<u8>(Some(16)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BoundExceeded { length: 17, bound: 16 });
}

#[test]
fn enumerators() {
    for colour in [types::Colour::Red, types::Colour::Green, types::Colour::DarkBlue] {
        round_trip(colour);
    }
    assert_eq!(encoded(&types::Colour::DarkBlue, ByteOrder::Big, 0).unwrap(), [0, 0, 0, 2]);
    let error = types::Colour::decode(&mut decoder(&[0, 0, 0, 3], ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadEnumerator(3));
    let error = unions::ByEnum::decode(&mut decoder(&[0, 0, 0, 9], ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadEnumerator(9));
}

#[test]
fn unions_of_every_discriminator() {
    use unions::*;
    round_trip(ByLong::Small(1));
    round_trip(ByLong::text("two".into()));
    round_trip(ByLong::Text(by_long::TextLabel::new(-3).unwrap(), "minus three".into()));
    round_trip(ByLong::rest(0.5));
    round_trip(ByLong::Rest(by_long::RestLabel::new(77).unwrap(), 0.5));
    round_trip(ByShort::S(1));
    round_trip(ByShort::other());
    round_trip(ByUShort::S(1));
    round_trip(ByULong::S(1));
    round_trip(ByULong::T(2));
    round_trip(ByULong::other());
    round_trip(ByLongLong::A(1));
    round_trip(ByLongLong::b(2));
    round_trip(ByULongLong::A(1));
    round_trip(ByULongLong::other());
    round_trip(ByBoolean::Yes("yes".into()));
    round_trip(ByBoolean::No(0));
    round_trip(HalfBoolean::Yes("yes".into()));
    round_trip(HalfBoolean::other());
    round_trip(EitherBoolean::both(1));
    round_trip(EitherBoolean::Both(either_boolean::BothLabel::new(false).unwrap(), 1));
    round_trip(ByChar::A(1));
    round_trip(ByChar::Newline(1));
    round_trip(ByChar::other(1));
    round_trip(ByChar::Other(by_char::OtherLabel::new('é').unwrap(), 1));
    round_trip(ByWChar::Euro(1));
    round_trip(ByWChar::sign('a'));
    round_trip(ByOctet::both(1));
    round_trip(ByOctet::other());
    round_trip(ByEnum::R(1));
    round_trip(ByEnum::gb("green".into()));
    round_trip(ByEnum::Gb(by_enum::GbLabel::new(Colour::Blue).unwrap(), "blue".into()));
    round_trip(EnumDefault::G(1));
    round_trip(EnumDefault::others("red".into()));
    round_trip(EnumRest::B(vec![1, 2]));
    round_trip(EnumRest::Other(enum_rest::OtherLabel::new(Colour::Green).unwrap()));
    round_trip(ByAlias::Again(Colour::Blue));
    round_trip(ByAlias::instead([Colour::Red, Colour::Green]));
    round_trip(DefaultWithLabels::Zero(0));
    round_trip(DefaultWithLabels::seven("€".into()));
    round_trip(Nested::One(ByLong::rest(1.0)));
    round_trip(Nested::Many(vec![ByLong::Small(1), ByLong::text("t".into())]));
    round_trip(NamedOther::Other(1));
    round_trip(NamedOther::Encode(2));
    round_trip(NamedOther::decode_(3));
    round_trip(NamedOther::other_());
}

#[test]
fn a_union_label_never_contradicts_its_value() {
    use unions::{
        ByBoolean, ByLong, ByShort, ByULongLong, DefaultWithLabels, by_long, default_with_labels,
    };
    // A case with several labels accepts only those.
    assert_eq!(by_long::TextLabel::new(1), None);
    // The default case accepts all but those of other cases.
    assert_eq!(by_long::RestLabel::new(2), None);
    assert_eq!(by_long::RestLabel::new(5).map(|label| label.get()), Some(5));
    assert_eq!(default_with_labels::SevenLabel::new(0), None);
    // The label chosen by a constructor: the first one, or the least unused one.
    assert_eq!(ByLong::text(String::new()).discriminant(), 2);
    assert_eq!(ByLong::rest(0.0).discriminant(), 0);
    assert_eq!(DefaultWithLabels::seven(String::new()).discriminant(), 7);
    assert_eq!(ByShort::other().discriminant(), 0);
    assert_eq!(ByULongLong::other().discriminant(), 0);
    assert!(!ByBoolean::No(3).discriminant());
}

#[test]
fn unions_keep_the_label_they_came_with() {
    use unions::{ByLong, ByShort};
    let octets = [0, 0, 0, 99, 0, 0, 0, 0, 0x3F, 0xE0, 0, 0, 0, 0, 0, 0];
    let value = ByLong::decode(&mut decoder(&octets, ByteOrder::Big, 0)).unwrap();
    assert_eq!(
        (value.discriminant(), encoded(&value, ByteOrder::Big, 0).unwrap()),
        (99, octets.to_vec())
    );
    let value = ByShort::decode(&mut decoder(&[0, 5], ByteOrder::Big, 0)).unwrap();
    assert_eq!(encoded(&value, ByteOrder::Big, 0).unwrap(), [0, 5]);
}

#[test]
fn types_of_operations() {
    round_trip(calls::Note { text: "t".into(), marks: vec![1, -1] });
    round_trip(calls::Choice::Yes("y".into()));
    round_trip(calls::other::Busy { seconds: 3 });
    round_trip(calls::desk::Shut { how: calls::Level::High });
}
