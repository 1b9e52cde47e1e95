//! Checks that apply to every generated type.

use std::fmt::Debug;

use oxorb::__gen::{Decode, Decoder, Encode, Encoder};
use oxorb::values::{Dynamic, TcKind, Typed};
use oxorb_cdr::{ByteOrder, Dialect, ErrorKind};

/// Writes and reads `value` at each offset, and checks the type's size bounds.
#[track_caller]
pub(crate) fn round_trip<T>(value: T)
where
    T: Encode + Typed + for<'de> Decode<'de> + PartialEq + Debug,
{
    as_described(&value);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        for offset in 0..8 {
            let octets = encoded(&value, order, offset).expect("encodes");
            assert_eq!(gathered(&value, order, offset), octets, "lent memory reads the same");
            let length = octets.len() - offset;
            assert!(length >= T::MIN_SIZE, "{length} octets of {value:?}");
            assert!(T::MAX_SIZE.is_none_or(|max| length <= max), "{length} octets of {value:?}");
            let mut d = decoder(&octets, order, offset);
            assert_eq!(T::decode(&mut d).as_ref(), Ok(&value), "{order:?} from {offset}");
            d.finish().expect("nothing trails");
            for cut in offset..octets.len() {
                let mut d = decoder(&octets[..cut], order, offset);
                assert!(T::decode(&mut d).is_err(), "cut to {cut} octets, {value:?}");
            }
        }
    }
}

/// Checks that the type code describes the octets of the generated code.
#[track_caller]
pub(crate) fn as_described<T: Encode + Typed + Debug>(value: &T) {
    let ty = T::type_code();
    assert!(ty.is_complete(), "{ty}");
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
        if ty.kind() == TcKind::Except {
            // As a separate value, an exception starts with its id.
            e.string(ty.id().expect("exceptions have ids")).expect("ASCII");
        }
        value.encode(&mut e).expect("encodes");
        let octets = e.finish().to_vec();
        let mut d = decoder(&octets, order, 0);
        let tree = Dynamic::decode(&ty, &mut d);
        let tree = tree.unwrap_or_else(|error| panic!("{value:?} as {ty}: {error}"));
        d.finish().expect("nothing trails");
        let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
        tree.encode(&ty, &mut e).expect("what was read can be written");
        assert_eq!(e.finish().to_vec(), octets, "{value:?} as {ty}");
    }
}

pub(crate) fn encoded<T: Encode>(
    value: &T,
    order: ByteOrder,
    offset: usize,
) -> oxorb_cdr::Result<Vec<u8>> {
    let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
    (0..offset).for_each(|_| e.octet(0xEE));
    value.encode(&mut e)?;
    Ok(e.finish().to_vec())
}

/// Returns the encoded value, with everything longer than an octet lent instead of copied.
pub(crate) fn gathered<T: Encode>(value: &T, order: ByteOrder, offset: usize) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2).gather_above(1);
    (0..offset).for_each(|_| e.octet(0xEE));
    value.encode(&mut e).expect("encodes");
    e.finish().to_vec()
}

pub(crate) fn decoder(octets: &[u8], order: ByteOrder, offset: usize) -> Decoder<'_> {
    Decoder::new(octets, order, Dialect::GIOP_1_2).at(offset)
}

/// Returns the error of encoding a value.
pub(crate) fn refused<T: Encode>(value: &T) -> ErrorKind {
    encoded(value, ByteOrder::Big, 0).expect_err("is refused").kind
}
