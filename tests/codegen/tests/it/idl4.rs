//! Additions of IDL 4, `any`, type codes and `fixed`: through CDR and through calls.

use std::collections::BTreeMap;

use oxorb::values::{Decimal, FixedPoint, TcKind, TypeCode, Typed, Wstring};
use oxorb::{Any, Orb};
use oxorb_cdr::{ByteOrder, ErrorKind};
use oxorb_codegen_tests::idl4::{self, everything};

use oxorb::__gen::Decode;

use crate::common::{decoder, encoded, refused, round_trip};

fn number<const D: u16, const S: u8>(text: &str) -> FixedPoint<D, S> {
    FixedPoint::new(text.parse().expect("a number")).expect("fits")
}

fn low() -> idl4::Low {
    idl4::Low { d: 31, bits: -4 }
}

fn options() -> idl4::Options {
    idl4::Options {
        number: Some(5),
        text: Some("text".into()),
        wide: Some("wide".into()),
        a_thing: Some(None),
        names: Some(vec!["ä".into(), "€".into()]),
        a_base: Some(idl4::Base { number: 7 }),
        value: Some(Any::new(1.5_f64)),
        a_plain: Some(idl4::Plain::P1),
    }
}

fn no_options() -> idl4::Options {
    idl4::Options {
        number: None,
        text: None,
        wide: None,
        a_thing: None,
        names: None,
        a_base: None,
        value: None,
        a_plain: None,
    }
}

fn maps() -> idl4::Maps {
    idl4::Maps {
        a_scores: BTreeMap::from([("b".into(), 2), ("a".into(), 1)]),
        a_wordy: BTreeMap::from([("ключ".into(), vec!["ä".into()]), (String::new(), vec![])]),
        a_nested: BTreeMap::from([(idl4::Wide::W1, BTreeMap::from([(9, None)]))]),
        a_prices: BTreeMap::from([(number("-12.50"), idl4::Mid::M1)]),
        bases: BTreeMap::from([(-1, idl4::Base { number: 3 })]),
    }
}

#[test]
fn enums_and_bitmasks_of_every_size() {
    round_trip(idl4::Enums {
        pad: 1,
        a_wide: idl4::Wide::W2,
        a_tiny: idl4::Tiny::T1,
        a_sparse: idl4::Sparse::Ten,
        a_huge: idl4::Huge::TOP | idl4::Huge::BOTTOM,
        a_mid: idl4::Mid::M1,
        usual: idl4::Default32::A | idl4::Default32::C,
    });
    let wide = encoded(&idl4::Wide::W1, ByteOrder::Big, 0).unwrap();
    assert_eq!(wide, [1, 44], "300 in two octets");
    let sparse = encoded(&idl4::Sparse::Seven, ByteOrder::Big, 0).unwrap();
    assert_eq!(sparse, [0, 0, 0, 7]);
    let error = idl4::Tiny::decode(&mut decoder(&[2], ByteOrder::Big, 0)).unwrap_err();
    assert_eq!((error.kind, error.at), (ErrorKind::BadEnumerator(2), 0));
    let error = idl4::Sparse::decode(&mut decoder(&[0, 0, 0, 0], ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadEnumerator(0));
    // Flags of a later version are kept.
    let mid = idl4::Mid::decode(&mut decoder(&[0x80, 1], ByteOrder::Big, 0)).unwrap();
    assert!(mid.contains(idl4::Mid::M0) && mid.bits() == 0x8001);
    assert_eq!(mid.without(idl4::Mid::M0).bits(), 0x8000);
    assert!((mid & idl4::Mid::M1).is_empty());
}

#[test]
fn integers_of_eight_bits() {
    round_trip(idl4::Ints {
        i8: -1,
        u8: 255,
        i16: -2,
        u16: 2,
        i32: -3,
        u32: 3,
        i64: -4,
        u64: 4,
        many: vec![-128, 0, 127],
        octets: vec![1, 2],
        some: [-1, 0, 1],
        few: vec![],
    });
}

#[test]
fn bitsets() {
    let high = idl4::High { d: 1, bits: 3, e: 1 << 55 };
    round_trip(idl4::Bits {
        pad: 1,
        a_low: low(),
        a_high: high,
        a_whole: idl4::Whole { all: u64::MAX },
    });
    assert_eq!(
        encoded(&low(), ByteOrder::Big, 0).unwrap(),
        [0b100_11111],
        "the first field lies lowest"
    );
    assert_eq!(encoded(&high, ByteOrder::Big, 0).unwrap().len(), 8, "64 bits");
    for wrong in
        [idl4::Low { d: 32, bits: 0 }, idl4::Low { d: 0, bits: 4 }, idl4::Low { d: 0, bits: -5 }]
    {
        assert_eq!(refused(&wrong), ErrorKind::BadValue, "{wrong:?}");
    }
}

#[test]
fn struct_inheritance() {
    let leaf = idl4::Derived {
        number: 1,
        number_text: "one".into(),
        a_ints: idl4::Ints {
            i8: 0,
            u8: 0,
            i16: 0,
            u16: 0,
            i32: 0,
            u32: 0,
            i64: 0,
            u64: 0,
            many: vec![],
            octets: vec![],
            some: [0; 3],
            few: vec![],
        },
        children: vec![],
    };
    let tree = idl4::Derived { children: vec![leaf.clone()], ..leaf };
    round_trip(tree.clone());
    let middle = idl4::Middle::from(tree);
    assert_eq!((middle.number, middle.number_text.as_str()), (1, "one"));
    round_trip(idl4::Empty1 { number: 4 });
}

#[test]
fn optional_members() {
    round_trip(options());
    round_trip(no_options());
    assert_eq!(encoded(&no_options(), ByteOrder::Big, 0).unwrap(), [0; 8]);
    round_trip(idl4::Chosen::AOptions(options()));
    round_trip(idl4::Chosen::number(3));
}

#[test]
fn unions_of_new_discriminators() {
    for value in [idl4::ByWchar::X(1), idl4::ByWchar::Y("y".into()), idl4::ByWchar::z(3)] {
        round_trip(value);
    }
    round_trip(idl4::ByInt8::Minus(1));
    round_trip(idl4::ByInt8::Plus("1".into()));
    round_trip(idl4::ByInt8::other());
    assert_eq!(idl4::ByInt8::Minus(1).discriminant(), -1);
    round_trip(idl4::BySparse::Seven(1));
    round_trip(idl4::BySparse::Ten("10".into()));
    round_trip(idl4::BySparse::other());
    round_trip(idl4::ByWide::One(1));
    round_trip(idl4::ByWide::text("0".into()));
}

#[test]
fn maps_of_every_kind() {
    round_trip(maps());
    let scores = &maps().a_scores;
    let octets = encoded(scores, ByteOrder::Big, 0).unwrap();
    assert_eq!(octets[..4], [0, 0, 0, 2]);
    assert_eq!(octets[8], b'a', "in the order of the keys");
    // A repeated key.
    let twice = [0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 6];
    let error = BTreeMap::<u8, i32>::decode(&mut decoder(&twice, ByteOrder::Big, 0)).unwrap_err();
    assert_eq!((error.kind, error.at), (ErrorKind::BadValue, 12));
    let too_many = idl4::Maps {
        a_wordy: ["a", "b", "c", "d"].map(|key| (key.into(), vec![])).into(),
        ..maps()
    };
    let bound = ErrorKind::BoundExceeded { length: 4, bound: 3 };
    assert_eq!(refused(&too_many), bound);
}

#[test]
fn default_values() {
    let defaults = idl4::Defaults::default();
    assert_eq!((defaults.five, defaults.yes), (-5, true));
    assert_eq!(defaults.a_plain, idl4::Plain::P2);
    assert_eq!((defaults.text.as_str(), defaults.wide.as_str()), ("x", "y"));
    assert_eq!((defaults.number, defaults.letter), (1.5, 'c'));
    assert_eq!(defaults.money, number("2.25"));
    assert_eq!((defaults.three, defaults.none), (Some(3), None));
    assert_eq!(defaults.a_sparse, idl4::Sparse::Nine);
    assert_eq!(defaults.first, idl4::Plain::P0);
    assert_eq!(defaults.matrix, [[0; 2]; 2]);
    assert_eq!(defaults.a_chosen, idl4::Chosen::AOptions(no_options()));
    assert_eq!(defaults.value.type_code().kind(), TcKind::Null);
    round_trip(defaults);
}

#[test]
fn anys_type_codes_and_fixed() {
    let tree = <idl4::Base as Typed>::type_code();
    round_trip(idl4::Dynamic {
        one: Any::new(idl4::Base { number: 1 }),
        many: vec![Any::default(), Any::new(Any::new(low()))],
        pair: [Any::new(7_i16), Any::new(Wstring("ä".into()))],
        r#type: tree,
        types: vec![TypeCode::LONG, idl4::scores::type_code()],
    });
    round_trip(idl4::Odd {
        what: Any::new(idl4::Odd { what: Any::new(true), how: None }),
        how: Some(1),
    });
    round_trip(idl4::Money {
        pad: 1,
        digit: number("-9"),
        tiny: number("0.0000000000000000000000000000001"),
        row: [number("999.9"), number("-0.1")],
        many: vec![number("123456.789")],
    });
}

#[test]
fn valuetypes_with_members_of_idl_4() {
    let parcel = idl4::Parcel {
        weight: 5,
        label: Some("fragile".into()),
        marks: BTreeMap::from([("x".into(), -1)]),
    };
    let link =
        oxorb::values::ValueLink::<idl4::Parcel>::from(oxorb::values::Value::new(parcel.clone()));
    let octets = encoded(&link, ByteOrder::Big, 0).unwrap();
    let back =
        oxorb::values::ValueLink::<idl4::Parcel>::decode(&mut decoder(&octets, ByteOrder::Big, 0));
    assert_eq!(*back.unwrap().get().expect("not null"), parcel);
    let ty = idl4::Parcel::type_code();
    assert!(ty.is_complete());
    let label = ty.as_ref().member(1).expect("three members").ty;
    assert_eq!(label.kind(), TcKind::Union, "what an optional member is on the wire");
}

#[test]
fn type_codes_know_names_and_recursion() {
    let ty = idl4::Derived::type_code();
    assert!(ty.is_complete());
    assert_eq!(ty.id(), Some("IDL:idl4/Derived:1.0"));
    let names: Vec<_> = ty.as_ref().members().map(|one| one.name.clone()).collect();
    let names: Vec<_> = names.iter().map(|name| &**name).collect();
    assert_eq!(names, ["number", "number_text", "a_ints", "children"]);
    let children = ty.as_ref().member(3).unwrap().ty;
    assert_eq!(children.content().unwrap().to_type_code(), ty);
    assert_eq!(idl4::scores::type_code().name(), Some("Scores"));
    assert_eq!(idl4::ThingRef::type_code().kind(), TcKind::Objref);
    assert_eq!(Option::<idl4::ThingRef>::type_code().name(), Some("Thing"));
    assert_eq!(idl4::Odd::type_code().kind(), TcKind::Except);
}

struct Servant;

impl idl4::Thing for Servant {
    fn touch(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl idl4::Everything for Servant {
    fn value(&self) -> oxorb::Result<Any> {
        Ok(Any::new(maps()))
    }

    fn set_value(&self, value: &Any) -> oxorb::Result<()> {
        assert_eq!(*value, Any::new(low()));
        Ok(())
    }

    fn a_scores(&self) -> oxorb::Result<idl4::Scores> {
        Ok(maps().a_scores)
    }

    fn set_a_scores(&self, value: &idl4::Scores) -> oxorb::Result<()> {
        assert_eq!(*value, maps().a_scores);
        Ok(())
    }

    fn allow(
        &self,
        rights: idl4::Default32,
        a_mid: &mut idl4::Mid,
    ) -> Result<(idl4::Default32, idl4::Low), everything::AllowError> {
        if rights.is_empty() {
            let what = Any::new(*a_mid);
            return Err(idl4::Odd { what, how: None }.into());
        }
        *a_mid |= idl4::Mid::M0;
        Ok((rights | idl4::Default32::B, low()))
    }

    fn add(&self, a: idl4::Amount, b: &mut idl4::Amount) -> oxorb::Result<idl4::Amount> {
        let sum: Decimal = a.get() + b.get();
        *b = a;
        Ok(idl4::Amount::new(sum).expect("small"))
    }

    fn words(&self, words: &idl4::Wordy, a_nested: &idl4::Nested) -> oxorb::Result<idl4::Wordy> {
        assert_eq!(*a_nested, maps().a_nested);
        Ok(words.clone())
    }

    fn next(&self, now: idl4::Wide, a_sparse: idl4::Sparse) -> oxorb::Result<idl4::Wide> {
        assert_eq!((now, a_sparse), (idl4::Wide::W0, idl4::Sparse::default()));
        Ok(idl4::Wide::W1)
    }

    fn shift(&self, many: &[i8], by: i8) -> oxorb::Result<idl4::Deltas> {
        Ok(many.iter().map(|one| one.wrapping_add(by)).collect())
    }

    fn pass(&self, value: &Any, other: &mut Any) -> oxorb::Result<(Any, TypeCode)> {
        let before = std::mem::replace(other, value.clone());
        Ok((before, value.type_code().clone()))
    }
}

#[test]
fn calls() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let local: idl4::EverythingRef = server.root_poa().activate(Servant).unwrap();
    let client = Orb::builder().build().unwrap();
    let url = oxorb::Interface::to_ior(&local);
    let remote: oxorb::ObjectRef = client.resolve(&url).unwrap();
    let remote: idl4::EverythingRef = oxorb::Interface::unchecked_narrow(&remote);
    for it in [local, remote] {
        assert_eq!(it.value().unwrap().get::<idl4::Maps>().unwrap(), Some(maps()));
        it.set_value(&Any::new(low())).unwrap();
        it.set_a_scores(&it.a_scores().unwrap()).unwrap();
        let mut mid = idl4::Mid::M1;
        let (rights, bits) = it.allow(idl4::Default32::A, &mut mid).unwrap();
        assert_eq!(rights, idl4::Default32::A | idl4::Default32::B);
        assert_eq!((mid.bits(), bits), (3, low()));
        match it.allow(idl4::Default32::default(), &mut mid) {
            Err(everything::AllowError::Odd(odd)) => assert_eq!(odd.what, Any::new(mid)),
            other => panic!("{other:?}"),
        }
        let mut b = number("1.50");
        assert_eq!(it.add(number("2.25"), &mut b).unwrap(), number("3.75"));
        assert_eq!(b, number("2.25"));
        let words = it.words(&maps().a_wordy, &maps().a_nested).unwrap();
        assert_eq!(words, maps().a_wordy);
        let next = it.next(idl4::Wide::W0, idl4::Sparse::Nine).unwrap();
        assert_eq!(next, idl4::Wide::W1);
        assert_eq!(it.shift(&[-1, 1], 2).unwrap(), [1, 3]);
        let (value, mut other) = (Any::new(options()), Any::new(5_i32));
        let (before, ty) = it.pass(&value, &mut other).unwrap();
        assert_eq!(before.get::<i32>().unwrap(), Some(5));
        assert_eq!((other, ty), (value, idl4::Options::type_code()));
        // References that arrive in an any can be called.
        let mut other =
            Any::new(vec![Any::new(Some(it.clone())), Any::new(it.a_scores().unwrap())]);
        let (back, _) = it.pass(&other.clone(), &mut other).unwrap();
        let anys = back.get::<Vec<Any>>().unwrap().expect("a sequence");
        let thing = anys[0].get::<Option<idl4::EverythingRef>>().unwrap();
        let thing = thing.flatten().expect("not nil");
        assert_eq!(thing.a_scores().unwrap(), maps().a_scores);
    }
}
