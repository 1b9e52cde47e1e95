//! Generated types with random values and octets.

use std::fmt::Debug;

use oxorb::__gen::{Decode, Decoder, Encode, Encoder, LongDouble};
use oxorb_cdr::{ByteOrder, Dialect};
use oxorb_codegen_tests::{calls, types, unions};
use proptest::prelude::*;

/// Text that every code set of this test can carry.
fn text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::char::range('\u{1}', '\u{ff}'), 0..=most)
        .prop_map(|chars| chars.into_iter().collect())
}

fn wide_text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>().prop_filter("no zero", |c| *c != '\0'), 0..=most)
        .prop_map(|chars| chars.into_iter().collect())
}

fn colour() -> impl Strategy<Value = types::Colour> {
    use types::Colour::{DarkBlue, Green, Red};
    prop::sample::select(vec![Red, Green, DarkBlue])
}

fn hop() -> impl Strategy<Value = types::Hop> {
    any::<(u8, i32, i16)>().prop_map(|(kind, distance, lane)| types::Hop { kind, distance, lane })
}

fn number() -> impl Strategy<Value = f64> {
    any::<i32>().prop_map(|n| f64::from(n) / 8.0)
}

fn some<T: Debug>(element: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(element, 0..6)
}

fn flat() -> impl Strategy<Value = types::Flat> {
    (colour(), hop(), [hop(), hop()], any::<[[i32; 3]; 2]>(), any::<[bool; 3]>(), number())
        .prop_map(|(paint, next, both, grid, switches, n)| types::Flat {
            paint,
            next,
            both,
            grid,
            cube: [[[n, -n], [0.0, n]], [[n, n], [n, 1.0]]],
            switches,
            precise: LongDouble::from(n),
        })
}

fn lengths() -> impl Strategy<Value = types::Lengths> {
    let texts = (text(20), wide_text(20), text(8), wide_text(2), some(wide_text(9)));
    let codes = (prop::collection::vec(text(8), 0..=3), prop::collection::vec(wide_text(2), 0..=2));
    let blocks =
        (any::<Vec<u8>>(), prop::collection::vec(any::<u8>(), 0..=16), some(any::<bool>()));
    let nested = (some(some(number())), some(hop()), some(colour()), some(any::<[[i32; 3]; 2]>()));
    let deep = prop::collection::vec(
        prop::collection::vec(prop::collection::vec(any::<i16>(), 0..=2), 0..=3),
        0..4,
    );
    let chars = (some(any::<char>()), text(9), some(number()));
    (texts, codes, blocks, nested, deep, chars).prop_map(
        |(texts, codes, blocks, nested, depths, chars)| types::Lengths {
            text: texts.0,
            wide: texts.1,
            a_code: texts.2,
            wide_a_code: texts.3,
            a_blob: blocks.0,
            small: blocks.1,
            a_route: nested.1,
            some_codes: codes.0,
            wide_some_names: texts.4,
            wide_some_codes: codes.1,
            wide_some_chars: chars.0,
            some_chars: chars.1.chars().collect(),
            some_flags: blocks.2,
            a_table: nested.0,
            depths,
            some_colours: nested.2,
            some_long_doubles: chars.2.into_iter().map(LongDouble::from).collect(),
            some_matrices: nested.3,
        },
    )
}

fn tree() -> impl Strategy<Value = types::Tree> {
    let leaf = text(5).prop_map(|name| types::Tree { name, children: vec![] });
    leaf.prop_recursive(4, 30, 4, |inner| {
        (text(5), prop::collection::vec(inner, 0..4))
            .prop_map(|(name, children)| types::Tree { name, children })
    })
}

fn by_long() -> impl Strategy<Value = unions::ByLong> {
    use unions::{ByLong, by_long};
    prop_oneof![
        any::<u8>().prop_map(ByLong::Small),
        text(9).prop_map(ByLong::text),
        (any::<i32>(), number()).prop_map(|(label, rest)| match by_long::RestLabel::new(label) {
            Some(label) => ByLong::Rest(label, rest),
            None => ByLong::rest(rest),
        }),
    ]
}

/// Checks encoding and decoding, in both byte orders, at any offset.
fn round_trip<T>(value: &T, offset: usize) -> Result<(), TestCaseError>
where
    T: Encode + for<'de> Decode<'de> + PartialEq + Debug,
{
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let octets = encoded(value, order, offset);
        let mut d = Decoder::new(&octets, order, Dialect::GIOP_1_2).at(offset);
        prop_assert_eq!(&T::decode(&mut d).expect("decodes"), value);
        prop_assert!(d.finish().is_ok());
    }
    Ok(())
}

/// Checks that octets which decode can be encoded, and decode to the same value.
fn survives<T>(octets: &[u8], order: ByteOrder)
where
    T: Encode + for<'de> Decode<'de> + Debug,
{
    let mut d = Decoder::new(octets, order, Dialect::GIOP_1_2);
    if let Ok(value) = T::decode(&mut d) {
        let again = encoded(&value, order, 0);
        let mut d = Decoder::new(&again, order, Dialect::GIOP_1_2);
        let same = T::decode(&mut d).expect("what was decoded can be sent on");
        // The values are compared as text, because a NaN is not equal to itself.
        assert_eq!(format!("{same:?}"), format!("{value:?}"));
    }
}

fn encoded<T: Encode>(value: &T, order: ByteOrder, offset: usize) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
    (0..offset).for_each(|_| e.octet(0));
    value.encode(&mut e).expect("encodes");
    e.finish().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_value_comes_back(
        offset in 0_usize..8,
        flat in flat(),
        lengths in lengths(),
        tree in tree(),
        by_long in by_long(),
        route in some(hop()),
    ) {
        round_trip(&flat, offset)?;
        round_trip(&lengths, offset)?;
        round_trip(&tree, offset)?;
        round_trip(&by_long, offset)?;
        round_trip(&route, offset)?;
    }

    #[test]
    fn no_octets_do_harm(octets in prop::collection::vec(prop_oneof![Just(0_u8), 0..4_u8, any::<u8>()], 0..400), big: bool) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        survives::<types::Basics>(&octets, order);
        survives::<types::Flat>(&octets, order);
        survives::<types::Lengths>(&octets, order);
        survives::<types::Arrays>(&octets, order);
        survives::<types::Tree>(&octets, order);
        survives::<types::Expression>(&octets, order);
        survives::<types::Route>(&octets, order);
        survives::<calls::Notes>(&octets, order);
        survives::<unions::ByLong>(&octets, order);
        survives::<unions::ByChar>(&octets, order);
        survives::<unions::ByWChar>(&octets, order);
        survives::<unions::ByBoolean>(&octets, order);
        survives::<unions::EnumRest>(&octets, order);
        survives::<unions::Nested>(&octets, order);
    }
}
