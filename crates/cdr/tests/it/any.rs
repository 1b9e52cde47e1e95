//! Values sent with their types.

use std::sync::LazyLock;

use oxorb_cdr::{
    Any, ByteOrder, CharSet, Decode, Decoder, DecoderLimits, Dialect, Dynamic, Encode, Encoder,
    ErrorKind, Field, RawReference, Result, TcKind, TypeCode, Typed, Wchar, WcharSet, Wstring,
};
use proptest::prelude::*;

use crate::types::{Choices, EVERYTHING, choices, order, reader, written};

/// Exception as generated code represents it: it encodes only its members.
#[derive(Clone, PartialEq, Debug)]
struct Overdrawn {
    missing: i64,
}

impl Typed for Overdrawn {
    fn type_code() -> TypeCode {
        static TC: LazyLock<TypeCode> = LazyLock::new(|| {
            TypeCode::exception("IDL:Overdrawn:1.0", "Overdrawn", [("missing", i64::type_code())])
        });
        TC.clone()
    }
}

impl Encode for Overdrawn {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.missing.encode(e)
    }
}

impl<'de> Decode<'de> for Overdrawn {
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        Ok(Self { missing: Decode::decode(d)? })
    }
}

proptest! {
    #[test]
    fn any_of_anything_is_read_back(
        octets in choices(), orders in [order(), order()], leads in [0usize..9, 0usize..9],
    ) {
        let mut choices = Choices::new(octets);
        let ty = choices.top_type();
        let value = choices.value(ty.as_ref());
        let any = Any::with_type(ty.clone(), value.clone()).expect("a value of its type");
        prop_assert_eq!(any.dynamic(), Ok(value));
        let shown = format!("{any:?}");
        prop_assert!(shown.starts_with("Any<"));

        // Passes the any through two intermediaries, each of which may use another byte order and
        // alignment.
        let mut sent = any.clone();
        for (order, lead) in std::iter::zip(orders, leads) {
            let message = written(order, lead, |e| e.encode_any(&sent));
            let mut decoder = reader(&message, order, lead);
            sent = Any::decode(&mut decoder).expect("just written");
            prop_assert_eq!(decoder.remaining(), 0);
            prop_assert_eq!(&sent, &any);
            prop_assert_eq!(sent.type_code(), &ty);
        }
    }

    #[test]
    fn wrong_octets_are_an_error_or_another_value(
        octets in choices(), order in order(), at in any::<prop::sample::Index>(), flip in 1u8..,
    ) {
        let mut choices = Choices::new(octets);
        let ty = choices.top_type();
        let value = choices.value(ty.as_ref());
        let any = Any::with_type(ty, value).expect("a value of its type");
        let mut message = written(order, 0, |e| e.encode_any(&any));
        let at = at.index(message.len());
        message[at] ^= flip;
        if let Ok(read) = Any::decode(&mut reader(&message, order, 0)) {
            let _ = read.dynamic();
            let _ = read.get::<Vec<String>>();
            let mut encoder = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::GIOP_1_2);
            let _ = read.encode(&mut encoder);
        }
    }
}

trait EncodeAny {
    fn encode_any(&mut self, any: &Any);
}

impl EncodeAny for Encoder<'_> {
    /// Writes a copy, since an encoded value must live as long as the encoder otherwise.
    fn encode_any(&mut self, any: &Any) {
        let wrapped = Dynamic::Any(any.clone());
        wrapped.encode(&TypeCode::ANY, self).expect("a value of its type");
    }
}

fn octets_of(any: &Any, order: ByteOrder, dialect: Dialect) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), order, dialect);
    any.encode(&mut encoder).expect("carried");
    encoder.finish().to_vec()
}

fn decoded(octets: &[u8], order: ByteOrder, dialect: Dialect) -> Any {
    let mut decoder = Decoder::new(octets, order, dialect);
    let any = Any::decode(&mut decoder).expect("an any");
    decoder.finish().expect("nothing else");
    any
}

#[test]
fn octets_written_by_hand() {
    let octets = |any: &Any| octets_of(any, ByteOrder::Big, Dialect::GIOP_1_2);
    assert_eq!(octets(&Any::default()), [0, 0, 0, 0]);
    let void = Any::with_type(TypeCode::VOID, Dynamic::Null).expect("a value of its type");
    assert_eq!(octets(&void), [0, 0, 0, 1]);
    assert_eq!(octets(&Any::new(7i32)), [0, 0, 0, 3, 0, 0, 0, 7]);
    assert_eq!(octets(&Any::new(true)), [0, 0, 0, 8, 1]);
    assert_eq!(octets(&Any::new(1.0f64)), [0, 0, 0, 7, 0, 0, 0, 0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]);
    let nested = Any::new(Any::new(7u8));
    assert_eq!(octets(&nested), [0, 0, 0, 11, 0, 0, 0, 10, 7]);
    assert_eq!(
        octets(&Any::new(String::from("x"))),
        [0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0, 2, b'x', 0]
    );
    assert_eq!(octets(&Any::new(TypeCode::SHORT)), [0, 0, 0, 12, 0, 0, 0, 2]);
}

#[test]
fn values_are_got_as_what_they_are() {
    fn check<T>(value: T)
    where
        T: Typed + Encode + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static,
        T: for<'de> Decode<'de>,
    {
        let any = Any::new(value.clone());
        assert_eq!(any.downcast_ref(), Some(&value));
        assert_eq!(any.get(), Ok(Some(value.clone())));
        assert_eq!(any.type_code(), &T::type_code());
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let received = decoded(&octets_of(&any, order, EVERYTHING), order, EVERYTHING);
            assert_eq!(received.downcast_ref::<T>(), None);
            assert_eq!(received.get(), Ok(Some(value.clone())));
            assert_eq!(received, any);
            // The same value inserted as a tree can be extracted as a Rust value, too.
            let tree = Any::with_type(T::type_code(), any.dynamic().expect("a value"));
            let tree = tree.expect("a value of its type");
            assert_eq!(tree.get(), Ok(Some(value.clone())));
            assert_eq!(tree, any);
        }
        assert_eq!(any.get::<[Wchar; 7]>(), Ok(None));
    }
    check(7i16);
    check('c');
    check(Wchar('中'));
    check(String::from("text"));
    check(Wstring("中".into()));
    check(vec![1u8, 2, 3]);
    check(vec![vec![String::from("a")]]);
    check([[1i64; 2]; 2]);
    check(TypeCode::sequence(TypeCode::LONG));
    check(Any::new(Any::new(1u64)));
    check(vec![Any::new(1u8), Any::new(String::from("x"))]);
    check(Overdrawn { missing: 9 });
}

#[test]
fn exceptions_carry_their_repository_id() {
    let any = Any::new(Overdrawn { missing: 9 });
    let octets = octets_of(&any, ByteOrder::Big, Dialect::GIOP_1_2);
    let id = b"\0\0\0\x12IDL:Overdrawn:1.0\0";
    let found = octets.windows(id.len()).filter(|part| part == id);
    assert_eq!(found.count(), 2, "in the type code, and before the members");
    let dynamic = any.dynamic().expect("a struct");
    assert_eq!(dynamic.at("missing"), Some(&9i64.into()));
}

#[test]
fn aliases_and_names_do_not_stand_in_the_way() {
    let meters = TypeCode::alias("IDL:Meters:1.0", "Meters", TypeCode::DOUBLE);
    let any = Any::new_as(meters.clone(), 2.5f64).expect("equivalent");
    assert_eq!(any.type_code(), &meters);
    assert_eq!(any.get::<f64>(), Ok(Some(2.5)));
    assert_eq!(any.get::<f32>(), Ok(None));
    assert_ne!(any, Any::new(2.5f64));
    let compact = Any::with_type(Overdrawn::type_code().compact(), any_exception()).expect("fits");
    assert_eq!(compact.get(), Ok(Some(Overdrawn { missing: 1 })));
}

#[test]
fn every_reference_is_an_object() {
    let node = TypeCode::interface("IDL:Node:1.0", "Node");
    let nil = Any::with_type(node, Dynamic::Null).expect("fits");
    assert_eq!(
        nil.get::<RawReference>(),
        Ok(Some(RawReference::default())),
        "its own type code is that of Object"
    );
    assert_eq!(Any::new(1i32).get::<RawReference>(), Ok(None));
}

fn any_exception() -> Dynamic {
    Dynamic::Struct(vec![Field { name: "".into(), value: 1i64.into() }])
}

#[test]
fn what_is_passed_on_unread_keeps_its_octets() {
    // The boolean 7 is invalid in strict mode, but `decode` does not read the value: this error is
    // found only when the value is extracted or re-encoded.
    let octets = [0xEE, 0, 0, 0, 0, 0, 0, 8, 7];
    let limits = DecoderLimits { strict: true, ..DecoderLimits::default() };
    let decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
    let any = Any::decode(&mut decoder.with_limits(limits).at(4)).expect("found its end");
    assert_eq!(octets_of(&any, ByteOrder::Big, Dialect::new(2)), octets[4..]);
    let error = any.get::<bool>().unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadBoolean(7));
    assert!(format!("{any:?}").starts_with("Any<boolean>("));
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::new(2));
    assert!(any.encode(&mut encoder).is_err());
}

#[test]
fn text_is_converted_when_passed_on_in_another_code_set() {
    let latin = Dialect::GIOP_1_2;
    let octets = octets_of(&Any::new(String::from("é")), ByteOrder::Big, latin);
    assert_eq!(octets[12..], [0xE9, 0]);
    let any = decoded(&octets, ByteOrder::Big, latin);
    let utf_8 = Dialect { chars: CharSet::Utf8, ..latin };
    let octets = octets_of(&any, ByteOrder::Big, utf_8);
    assert_eq!(octets[12..], [0xC3, 0xA9, 0]);
    assert_eq!(decoded(&octets, ByteOrder::Big, utf_8), any);

    let wide = Any::new(Wstring("中".into()));
    let old = Dialect { giop_minor: 1, wchars: WcharSet::Utf16, ..latin };
    for (order, dialect) in [(ByteOrder::Little, old), (ByteOrder::Big, latin)] {
        let received = decoded(&octets_of(&wide, order, dialect), order, dialect);
        assert_eq!(received, wide);
        let again = decoded(&octets_of(&received, ByteOrder::Big, utf_8), ByteOrder::Big, utf_8);
        assert_eq!(again.get(), Ok(Some(Wstring("中".into()))));
    }
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, latin);
    let chinese = Any::new(String::from("中"));
    assert_eq!(
        chinese.encode(&mut encoder).unwrap_err().kind.to_string(),
        "ISO 8859-1, the code set in use, lacks U+4E2D (character 1 of the text)"
    );
    assert_eq!(chinese.dynamic(), Ok("中".into()));
    // 'é' is a single octet in ISO 8859-1 but not in UTF-8, so `dynamic` must try both code sets.
    assert_eq!(Any::new('é').dynamic(), Ok('é'.into()));
}

#[test]
fn a_value_must_be_of_its_type() {
    let error = Any::with_type(TypeCode::LONG, Dynamic::Short(1)).unwrap_err();
    assert_eq!(error.to_string(), "expected long, found short");
    assert!(Any::new_as(TypeCode::bounded_string(3), String::from("x")).is_none());
}

#[test]
fn nesting_ends_at_the_limit() {
    // Each nested any takes only the four octets of its type code.
    let nested = |depth: usize| [[0, 0, 0, 11].repeat(depth), vec![0, 0, 0, 0]].concat();
    let octets = nested(60);
    assert!(Any::decode(&mut reader(&octets, ByteOrder::Big, 0)).is_ok());
    let octets = nested(1_000_000);
    let error = Any::decode(&mut reader(&octets, ByteOrder::Big, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooDeep { limit: 64 });
}

#[test]
fn debug_shows_type_and_value() {
    let any = Any::new(vec![1i16]);
    assert_eq!(format!("{any:?}"), "Any<sequence<short>>(Sequence([Short(1)]))");
    assert_eq!(Any::default().type_code().kind(), TcKind::Null);
}

#[test]
fn padding_of_the_peer_does_not_make_a_difference() {
    let ty = TypeCode::structure("S", "S", [("o", TypeCode::OCTET), ("l", TypeCode::LONG)]);
    let value = Dynamic::Struct(vec![
        Field { name: "o".into(), value: 1u8.into() },
        Field { name: "l".into(), value: 2i32.into() },
    ]);
    let any = Any::with_type(ty, value).expect("a value of its type");
    let mut octets = octets_of(&any, ByteOrder::Big, Dialect::GIOP_1_2);
    let padding = octets.len() - 6;
    assert_eq!(octets[padding], 0);
    octets[padding] = 0x77;
    assert_eq!(decoded(&octets, ByteOrder::Big, Dialect::GIOP_1_2), any);
}

#[test]
fn types_and_values_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<TypeCode>();
    shared::<Any>();
    shared::<Dynamic>();
}
