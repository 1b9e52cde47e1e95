//! Octets written by hand: the encoding of every value according to the specification, in both byte
//! orders.

use std::fmt::Debug;

use oxorb_cdr::{
    ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, Fixed, FixedReader, FixedWriter, Layout,
    LongDouble, OctetSeq, Result,
};

const LATIN: Dialect = Dialect::new(2);

/// Checks that the value encodes to these octets after one other octet, which reveals alignment,
/// and that they decode to it.
#[track_caller]
fn golden<T>(value: T, big: &[u8], little: &[u8])
where
    T: Encode + for<'de> Decode<'de> + PartialEq + Debug,
{
    for (order, octets) in [(ByteOrder::Big, big), (ByteOrder::Little, little)] {
        let message = [&[0xAA], octets].concat();

        // The previous contents of the buffer must not appear in the padding.
        let mut encoder = Encoder::new(vec![0xEE; 64], order, LATIN);
        encoder.octet(0xAA);
        value.encode(&mut encoder).expect("a value of its type");
        assert_eq!(encoder.finish().to_vec(), message, "{order:?}");

        let mut decoder = Decoder::new(&message, order, LATIN).at(1);
        assert_eq!(T::decode(&mut decoder).as_ref(), Ok(&value), "{order:?}");
        assert_eq!(decoder.finish(), Ok(()), "{order:?}");

        if let Some(most) = T::MAX_SIZE {
            assert!(octets.len() <= most, "{order:?}: MAX_SIZE is {most}");
        }
        assert!(octets.len() >= T::MIN_SIZE, "{order:?}: MIN_SIZE is {}", T::MIN_SIZE);
    }
}

#[test]
fn primitives() {
    golden(7u8, &[7], &[7]);
    golden(true, &[1], &[1]);
    golden('é', &[0xE9], &[0xE9]);
    golden(-2i16, &[0, 0xFF, 0xFE], &[0, 0xFE, 0xFF]);
    golden(0x1234u16, &[0, 0x12, 0x34], &[0, 0x34, 0x12]);
    golden(-2i32, &[0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFE], &[0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF]);
    golden(0x12345678u32, &[0, 0, 0, 0x12, 0x34, 0x56, 0x78], &[0, 0, 0, 0x78, 0x56, 0x34, 0x12]);
    golden(
        0x0102030405060708u64,
        &[0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1],
    );
    golden(
        -2i64,
        &[0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE],
        &[0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    );
    golden(1.0f32, &[0, 0, 0, 0x3F, 0x80, 0, 0], &[0, 0, 0, 0, 0, 0x80, 0x3F]);
    golden(
        1.0f64,
        &[0, 0, 0, 0, 0, 0, 0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F],
    );
    golden(
        LongDouble::from(-1.0),
        &[0, 0, 0, 0, 0, 0, 0, 0xBF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xBF],
    );
}

#[test]
fn strings() {
    golden(String::new(), &[0, 0, 0, 0, 0, 0, 1, 0], &[0, 0, 0, 1, 0, 0, 0, 0]);
    golden(
        String::from("hi"),
        &[0, 0, 0, 0, 0, 0, 3, b'h', b'i', 0],
        &[0, 0, 0, 3, 0, 0, 0, b'h', b'i', 0],
    );
    golden(
        String::from("né"),
        &[0, 0, 0, 0, 0, 0, 3, b'n', 0xE9, 0],
        &[0, 0, 0, 3, 0, 0, 0, b'n', 0xE9, 0],
    );
}

#[test]
fn sequences_and_arrays() {
    golden(vec![1u8, 2], &[0, 0, 0, 0, 0, 0, 2, 1, 2], &[0, 0, 0, 2, 0, 0, 0, 1, 2]);
    golden(OctetSeq::from(vec![1, 2]), &[0, 0, 0, 0, 0, 0, 2, 1, 2], &[0, 0, 0, 2, 0, 0, 0, 1, 2]);
    golden(vec![true, false], &[0, 0, 0, 0, 0, 0, 2, 1, 0], &[0, 0, 0, 2, 0, 0, 0, 1, 0]);
    golden(
        vec![1i16, -1],
        &[0, 0, 0, 0, 0, 0, 2, 0, 1, 0xFF, 0xFF],
        &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0xFF, 0xFF],
    );
    golden(
        vec![String::from("a"), String::new()],
        &[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, b'a', 0, 0, 0, 0, 0, 0, 1, 0],
        &[0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0, 1, 0, 0, 0, 0],
    );
    golden([[1u16, 2], [3, 4]], &[0, 0, 1, 0, 2, 0, 3, 0, 4], &[0, 1, 0, 2, 0, 3, 0, 4, 0]);
    golden(['a', 'b'], b"ab", b"ab");
}

/// The count of a sequence of doubles ends at an offset of eight, so its elements need no padding.
#[test]
fn elements_are_padded_only_when_there_are_some() {
    golden(Vec::<f64>::new(), &[0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 0]);
    golden(
        vec![vec![1.0f64], vec![]],
        &[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0, 0, 0, 0],
    );
    golden(
        [Vec::<Hop>::new(), Vec::new()],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
}

#[derive(Clone, PartialEq, Debug)]
struct Hop {
    kind: u8,
    distance: i32,
    lane: i16,
}

impl Fixed for Hop {
    const LAYOUT: Layout = Layout::EMPTY.then::<u8>().then::<i32>().then::<i16>();

    fn put(&self, w: &mut FixedWriter<'_>) {
        self.kind.put(w);
        self.distance.put(w);
        self.lane.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self { kind: Fixed::take(r)?, distance: Fixed::take(r)?, lane: Fixed::take(r)? })
    }
}

oxorb_cdr::fixed!(Hop);

#[test]
fn structs_of_fixed_layout() {
    let hop = |kind| Hop { kind, distance: 0x01020304, lane: 5 };
    // A single struct starts right after the preceding octet, at offset 1.
    golden(hop(9), &[9, 0, 0, 1, 2, 3, 4, 0, 5], &[9, 0, 0, 4, 3, 2, 1, 5, 0]);
    // In a sequence, the first struct starts at offset 8, and the others at 18, 26, and so on. The others are shorter,
    // because they need less padding before the long.
    golden(
        vec![hop(7), hop(8), hop(9)],
        &[
            [0, 0, 0, 0, 0, 0, 3].as_slice(),
            &[7, 0, 0, 0, 1, 2, 3, 4, 0, 5],
            &[8, 0, 1, 2, 3, 4, 0, 5],
            &[9, 0, 1, 2, 3, 4, 0, 5],
        ]
        .concat(),
        &[
            [0, 0, 0, 3, 0, 0, 0].as_slice(),
            &[7, 0, 0, 0, 4, 3, 2, 1, 5, 0],
            &[8, 0, 4, 3, 2, 1, 5, 0],
            &[9, 0, 4, 3, 2, 1, 5, 0],
        ]
        .concat(),
    );
}

#[test]
fn sizes_are_known_beforehand() {
    assert_eq!((u8::MIN_SIZE, u8::MAX_SIZE), (1, Some(1)));
    assert_eq!((f64::MIN_SIZE, f64::MAX_SIZE), (8, Some(15)));
    assert_eq!((LongDouble::MIN_SIZE, LongDouble::MAX_SIZE), (16, Some(23)));
    assert_eq!((Hop::MIN_SIZE, Hop::MAX_SIZE), (7, Some(10)));
    assert_eq!((<[u16; 7]>::MIN_SIZE, <[Vec<u8>; 3]>::MIN_SIZE), (14, 12));
    assert!(<[u16; 7]>::MAX_SIZE >= Some(15));
    assert_eq!(
        (String::MAX_SIZE, <[String; 2]>::MAX_SIZE, Vec::<u8>::MAX_SIZE),
        (None, None, None)
    );
    let arrays = [<[Hop; 0]>::LAYOUT, <[Hop; 1]>::LAYOUT, <[Hop; 4]>::LAYOUT]
        .map(|layout| layout.size_at(0));
    assert_eq!(arrays, [0, 10, 10 + 3 * 8]);
}

#[test]
fn an_octet_sequence_is_its_part_of_the_buffer() {
    let part = OctetSeq::new(vec![1, 2, 3, 4, 5], 1..4);
    assert_eq!((part.len(), &part[..]), (3, &[2, 3, 4][..]));
    assert_eq!(part, vec![2, 3, 4]);
    assert_ne!(part, [2, 3]);
    assert_eq!(format!("{part:?}"), "[2, 3, 4]");
    assert_eq!(part.clone().into_vec(), [2, 3, 4]);
    assert_eq!(Vec::from(OctetSeq::new(vec![1, 2, 3], 0..2)), [1, 2]);
    assert_eq!(OctetSeq::default(), []);
}

#[test]
#[should_panic(expected = "must lie in the buffer")]
fn an_octet_sequence_cannot_reach_beyond_its_buffer() {
    OctetSeq::new(vec![1, 2], 1..3);
}

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u32)]
enum Colour {
    Red,
    Green,
}

impl Fixed for Colour {
    const LAYOUT: Layout = u32::LAYOUT;

    fn put(&self, w: &mut FixedWriter<'_>) {
        (*self as u32).put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(match u32::take(r)? {
            0 => Self::Red,
            1 => Self::Green,
            other => return Err(r.bad_enumerator(other)),
        })
    }
}

oxorb_cdr::fixed!(Colour);

#[test]
fn enumerations() {
    golden(Colour::Green, &[0, 0, 0, 0, 0, 0, 1], &[0, 0, 0, 1, 0, 0, 0]);
    golden(
        [Colour::Red, Colour::Green],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    );
}

/// The data of an IIOP 1.2 profile for host "h", port 0x1234, key 1 2 3, without components.
#[test]
fn encapsulations_align_anew_and_name_their_order() {
    let big: &[u8] =
        &[0, 1, 2, 0, 0, 0, 0, 2, b'h', 0, 0x12, 0x34, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0];
    let little: &[u8] =
        &[1, 1, 2, 0, 2, 0, 0, 0, b'h', 0, 0x34, 0x12, 3, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0];
    fn profile(e: &mut Encoder<'_>) -> Result<()> {
        e.octet(1);
        e.octet(2);
        e.string("h")?;
        e.ushort(0x1234);
        e.length(3, None)?;
        e.copy_octets(&[1, 2, 3]);
        e.length(0, None)
    }
    for (order, data) in [(ByteOrder::Big, big), (ByteOrder::Little, little)] {
        assert_eq!(Encoder::encapsulated(order, Dialect::GIOP_1_2, profile).as_deref(), Ok(data));

        let mut encoder = Encoder::new(Vec::new(), order, LATIN);
        encoder.ushort(0);
        encoder.encapsulation(profile).expect("fits");
        encoder.ulong(7);
        let message = encoder.finish().to_vec();
        assert_eq!(message[8..32], *data);

        let mut outer = Decoder::new(&message, order, LATIN).at(2);
        for mut inner in [outer.encapsulation(), Decoder::encapsulated(data, LATIN)]
            .map(|inner| inner.expect("whole"))
        {
            assert_eq!(inner.order(), order);
            assert_eq!(
                (inner.octet(), inner.octet(), inner.string()),
                (Ok(1), Ok(2), Ok("h".into()))
            );
            assert_eq!((inner.ushort(), inner.sequence(None)), (Ok(0x1234), Ok(vec![1u8, 2, 3])));
            assert_eq!((inner.length(None, 8), inner.finish()), (Ok(0), Ok(())));
        }
        assert_eq!(outer.ulong(), Ok(7));
    }
}

#[test]
fn an_encapsulation_keeps_its_own_order_in_a_message_of_the_other() {
    let message = [0, 0, 0, 8, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 6];
    let mut outer = Decoder::new(&message, ByteOrder::Big, LATIN);
    let mut inner = outer.encapsulation().expect("whole");
    assert_eq!((inner.ulong(), outer.ulong()), (Ok(5), Ok(6)));
}

#[test]
fn lengths_can_be_patched_and_positions_gone_back_to() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut encoder = Encoder::new(Vec::new(), order, LATIN);
        encoder.octet(1);
        encoder.ulong(0);
        let before = encoder.position();
        encoder.double(1.0);
        encoder.truncate(before);
        encoder.octet(2);
        encoder.align(8);
        encoder.align(8);
        encoder.patch_ulong(4, encoder.position() as u32);
        let message = encoder.finish().to_vec();
        let mut decoder = Decoder::new(&message, order, LATIN).at(4);
        assert_eq!((decoder.ulong(), decoder.octet()), (Ok(16), Ok(2)));
        assert_eq!(message.len(), 16);
    }
}
