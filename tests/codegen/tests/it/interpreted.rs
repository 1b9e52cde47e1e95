//! Compiled and interpreted code for the same IDL write the same octets, read the same values, and reject the same
//! octets with the same errors.

use std::fmt::Debug;

use oxorb::__gen::{Decode, Decoder, Encode, Encoder, TypeCode, Typed};
use oxorb_cdr::{ByteOrder, Dialect, Dynamic, Error};
use oxorb_codegen_tests::{calls, corners, idl4, interpreted, names, types, unions};
use proptest::prelude::*;

/// Result of decoding octets: the value's encoding and text; or the error.
type Fate = Result<(Vec<u8>, String), Error>;

fn fate<T>(octets: &[u8], order: ByteOrder, offset: usize) -> Fate
where
    T: Encode + for<'de> Decode<'de> + Debug,
{
    let mut d = Decoder::new(octets, order, Dialect::GIOP_1_2).at(offset);
    let value = T::decode(&mut d)?;
    let left = d.remaining();
    let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
    (0..offset).for_each(|_| e.octet(0));
    let mut encoded = match value.encode(&mut e) {
        Ok(()) => e.finish().to_vec(),
        // Decodable values that cannot be encoded, such as a label out of its range.
        Err(error) => format!("{error:?}").into_bytes(),
    };
    encoded.extend(left.to_be_bytes());
    Ok((encoded, format!("{value:?}")))
}

/// Type in both kinds of code.
struct Pair {
    name: &'static str,
    ty: fn() -> TypeCode,
    compiled: fn(&[u8], ByteOrder, usize) -> Fate,
    interpreted: fn(&[u8], ByteOrder, usize) -> Fate,
    sizes: [(Option<usize>, usize); 2],
}

macro_rules! pairs {
    ($($module:ident { $($name:ident)* })*) => {[$($(
        pair::<$module::$name, interpreted::$module::$name>(stringify!($name)),
        pair::<Vec<$module::$name>, Vec<interpreted::$module::$name>>(concat!("sequence of ", stringify!($name))),
    )*)*]};
}

fn pair<C, I>(name: &'static str) -> Pair
where
    C: Encode + for<'de> Decode<'de> + Debug + Typed,
    I: Encode + for<'de> Decode<'de> + Debug,
{
    Pair {
        name,
        ty: C::type_code,
        compiled: fate::<C>,
        interpreted: fate::<I>,
        sizes: [(<C as Encode>::MAX_SIZE, C::MIN_SIZE), (<I as Encode>::MAX_SIZE, I::MIN_SIZE)],
    }
}

fn all() -> Vec<Pair> {
    let mut pairs = Vec::from(pairs! {
        calls { Note Point Level Choice Refused Busy }
        types { Basics Hop Colour Flat Lengths Arrays Tree Sum Expression Outer Plain Told }
        unions {
            Colour ByLong ByShort ByUShort ByULong ByLongLong ByULongLong ByBoolean HalfBoolean EitherBoolean ByChar
            ByWChar ByOctet ByEnum EnumDefault EnumRest ByAlias DefaultWithLabels Nested NamedOther
        }
        idl4 {
            Plain Wide Tiny Sparse Default32 Huge Mid Enums Ints Low High Whole Bits Base Middle Derived Empty1
            Options Chosen ByWchar ByInt8 BySparse ByWide Maps Defaults Odd Money
        }
    });
    pairs.push(pair::<names::r#type::Match, interpreted::names::r#type::Match>("match"));
    pairs.push(pair::<corners::edges::Commented, interpreted::corners::edges::Commented>(
        "Commented",
    ));
    pairs
}

const ORDERS: [ByteOrder; 2] = [ByteOrder::Big, ByteOrder::Little];

#[track_caller]
fn same(pair: &Pair, octets: &[u8], order: ByteOrder, offset: usize) {
    let compiled = (pair.compiled)(octets, order, offset);
    let interpreted = (pair.interpreted)(octets, order, offset);
    assert_eq!(compiled, interpreted, "{}, {order:?}, from {offset}, of {octets:02x?}", pair.name);
}

/// Returns a value of a type, by its type code, with contents chosen by `dice`.
fn value(ty: &TypeCode, dice: &mut impl FnMut() -> u8) -> Option<Dynamic> {
    let mut octets = Vec::new();
    // Some prefix of any octets is a value, or the default is used.
    octets.resize_with(200, || dice() & 3);
    let mut d = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    Dynamic::decode(ty, &mut d).or_else(|_| Dynamic::default_for(ty)).ok()
}

#[test]
fn sizes_are_the_same() {
    for pair in all() {
        assert_eq!(pair.sizes[0], pair.sizes[1], "{}", pair.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn values_travel_alike(seed: u64, offset in 0_usize..8) {
        let mut dice = dice(seed);
        for pair in all() {
            let ty = (pair.ty)();
            let Some(value) = value(&ty, &mut dice) else {
                continue; // of values that hold themselves there is no default
            };
            for order in ORDERS {
                let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
                (0..offset).for_each(|_| e.octet(0));
                if value.encode(&ty, &mut e).is_err() {
                    continue; // what may be read but not written
                }
                let octets = e.finish().to_vec();
                same(&pair, &octets, order, offset);
                // Truncated, and with one octet changed.
                let mut changed = octets.clone();
                if let Some(last) = octets.len().checked_sub(offset + 1) {
                    let at = offset + usize::from(dice()) % (last + 1);
                    same(&pair, &octets[..at], order, offset);
                    changed[at] ^= 1 << (dice() % 8);
                    same(&pair, &changed, order, offset);
                    changed[at] = dice();
                    same(&pair, &changed, order, offset);
                }
            }
        }
    }

    #[test]
    fn any_octets_meet_the_same_fate(
        octets in prop::collection::vec(prop_oneof![4 => Just(0_u8), 4 => 0..4_u8, 1 => any::<u8>()], 0..300),
        offset in 0_usize..8,
    ) {
        for pair in all() {
            for order in ORDERS {
                same(&pair, &octets, order, offset.min(octets.len()));
            }
        }
    }
}

/// Returns pseudo-random numbers that depend only on the seed.
fn dice(seed: u64) -> impl FnMut() -> u8 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[2]
    }
}

/// A struct with one member that is too long.
macro_rules! too_long {
    ($($module:ident)::*) => {
        $($module)::*::Options {
            number: Some(1),
            text: None,
            wide: Some("too long".to_owned()),
            a_thing: None,
            names: None,
            a_base: None,
            value: None,
            a_plain: None,
        }
    };
}

#[test]
fn what_cannot_be_sent_is_refused_alike() {
    fn refusal(value: &impl Encode) -> Error {
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        value.encode(&mut e).expect_err("too long")
    }
    let compiled = refusal(&too_long!(idl4));
    assert_eq!(compiled, refusal(&too_long!(interpreted::idl4)));
    assert_eq!(compiled.to_string(), "at octet 10: a length of 8 exceeds the bound of 4");
}
