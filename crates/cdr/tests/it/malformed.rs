//! Invalid octets: an error with kind and position, and never a panic.

use std::borrow::Cow;
use std::sync::Arc;

use oxorb_cdr::ErrorKind::{self, *};
use oxorb_cdr::{
    Any, ByteOrder, Decode, Decoder, DecoderLimits, Dialect, Dynamic, Encoder, Error, Fixed,
    FixedReader, FixedWriter, Layout, Result, Scope, TypeCode, fuzz,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{self, Track, Value, message};

const LATIN: Dialect = Dialect::new(2);

fn big(octets: &[u8]) -> Decoder<'_> {
    Decoder::new(octets, ByteOrder::Big, LATIN)
}

fn strict(octets: &[u8]) -> Decoder<'_> {
    big(octets).with_limits(DecoderLimits { strict: true, ..DecoderLimits::default() })
}

proptest! {
    #[test]
    fn every_truncation_of_a_message_is_noticed((setting, values) in message()) {
        let mut encoder = setting.encoder();
        for value in &values {
            value.encode(&mut encoder).expect("carried");
        }
        let message = encoder.finish().to_vec();
        for length in setting.lead..message.len() {
            let error = setting.check_truncated(&values, &message[..length]);
            prop_assert!(
                matches!(error.kind, Truncated { .. } | LengthImplausible { .. }),
                "{} of {} octets: {}", length, message.len(), error
            );
            prop_assert!(error.at <= length, "{} octets: {}", length, error);
        }
    }

    #[test]
    fn any_octets_give_a_value_or_an_error(octets in vec(any::<u8>(), 0..300)) {
        fuzz::decode_everything(&octets);
    }

    /// Small numbers are often plausible lengths and valid discriminants, so that decoding gets further.
    #[test]
    fn likely_octets_give_a_value_or_an_error(octets in vec(0u8..16, 0..300)) {
        fuzz::decode_everything(&octets);
    }

    #[test]
    fn damaged_messages_give_a_value_or_an_error((setting, values) in message(), at: usize, octet: u8) {
        let mut encoder = setting.encoder();
        for value in &values {
            value.encode(&mut encoder).expect("carried");
        }
        let mut message = encoder.finish().to_vec();
        if !message.is_empty() {
            let at = at % message.len();
            message[at] = octet;
        }
        let mut decoder = setting.decoder(&message);
        for value in &values {
            if let Err(error) = value.read(&mut decoder) {
                prop_assert!(error.at <= message.len(), "{}", error);
                break;
            }
        }
    }
}

/// Decoding of any type, without an expected value.
trait Read {
    fn read(&self, d: &mut Decoder<'_>) -> Result<()>;
}

impl Read for Value {
    fn read(&self, d: &mut Decoder<'_>) -> Result<()> {
        match self {
            Self::Strings(_) => d.sequence::<String>(None).map(drop),
            Self::Tracks(_) => d.sequence::<Track>(None).map(drop),
            Self::Tree(_) => support::Tree::decode(d).map(drop),
            Self::Booleans(_) => d.sequence::<bool>(None).map(drop),
            Self::Wstring(_) => d.wstring().map(drop),
            Self::Wchar(_) => d.wchar().map(drop),
            Self::Encapsulation(values) => {
                let mut inner = d.encapsulation()?;
                values.iter().try_for_each(|value| value.read(&mut inner))
            }
            _ => d.sequence::<u64>(None).map(drop),
        }
    }
}

trait CheckTruncated {
    fn check_truncated(&self, values: &[Value], message: &[u8]) -> Error;
}

impl CheckTruncated for support::Setting {
    fn check_truncated(&self, values: &[Value], message: &[u8]) -> Error {
        self.check(values, message).expect_err("a part is not the whole")
    }
}

#[test]
fn errors_say_what_and_where() {
    fn case<'de, T: Decode<'de> + std::fmt::Debug>(octets: &'de [u8], kind: ErrorKind, at: usize) {
        let error = T::decode(&mut strict(octets).at(1)).expect_err("malformed");
        assert_eq!(error, kind.at(at));
    }
    case::<u16>(&[9], Truncated { needed: 3, left: 0 }, 1);
    case::<u32>(&[9, 0, 0, 0, 1, 2, 3], Truncated { needed: 7, left: 6 }, 1);
    case::<[u16; 4]>(&[9, 0, 0, 1, 0, 2], Truncated { needed: 9, left: 5 }, 1);
    case::<bool>(&[9, 2], BadBoolean(2), 1);
    case::<[bool; 3]>(&[9, 0, 1, 7], BadBoolean(7), 3);
    case::<Vec<bool>>(&[9, 0, 0, 0, 0, 0, 0, 3, 0, 1, 7], BadBoolean(7), 10);
    case::<Vec<u8>>(&[9, 0, 0, 0, 0, 0, 0, 3, 0, 1], LengthImplausible { length: 3, left: 2 }, 4);
    case::<Vec<f64>>(
        &[9, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        LengthImplausible { length: 1, left: 3 },
        4,
    );
    case::<String>(&[9, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'], BadString, 8);
    case::<Track>(&[9, 3, 0, 0, 0, 0, 0, 0], Truncated { needed: 56, left: 7 }, 1);
    let bad = [[9].as_slice(), &[3; 56]].concat();
    case::<Track>(&bad, BadBoolean(3), 1);
}

/// `struct { boolean a; unsigned short b; }`, for an error in the middle of a sequence of fixed layout.
#[derive(Clone, Debug, PartialEq)]
struct Flagged(bool, u16);

impl Fixed for Flagged {
    const LAYOUT: Layout = Layout::EMPTY.then::<bool>().then::<u16>();

    fn put(&self, w: &mut FixedWriter<'_>) {
        self.0.put(w);
        self.1.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self(Fixed::take(r)?, Fixed::take(r)?))
    }
}

oxorb_cdr::fixed!(Flagged);

#[test]
fn the_first_bad_element_of_a_sequence_is_named() {
    let mut octets = vec![0, 0, 0, 4];
    octets.extend([[1, 0, 0, 7], [0, 0, 0, 7], [5, 0, 0, 7], [6, 0, 0, 7]].concat());
    assert_eq!(strict(&octets).sequence::<Flagged>(None), Err(BadBoolean(5).at(12)));
    octets[12] = 1;
    assert_eq!(strict(&octets).sequence::<Flagged>(None), Err(BadBoolean(6).at(16)));
    octets[16] = 1;
    assert_eq!(big(&octets).sequence::<Flagged>(None).map(|items| items.len()), Ok(4));
    // The count is plausible for elements of minimum size, but the last element is truncated. Each element takes four
    // octets here, and the minimum is three.
    octets.pop();
    assert_eq!(
        big(&octets).sequence::<Flagged>(None),
        Err(Truncated { needed: 12, left: 11 }.at(8))
    );
}

/// A decoder accepts arbitrary octets as true, since other ORBs send them for uninitialised booleans.
#[test]
fn any_octet_but_0_is_true_unless_the_decoder_is_strict() {
    assert_eq!(big(&[0xA0]).boolean(), Ok(true));
    assert_eq!(<[bool; 3]>::decode(&mut big(&[0, 2, 255])), Ok([false, true, true]));
    let booleans = [0, 0, 0, 4, 0, 1, 0xA0, 0];
    let read = vec![false, true, true, false];
    assert_eq!(big(&booleans).sequence::<bool>(None), Ok(read.clone()));
    assert!(matches!(big(&booleans).at(4).booleans(2), Ok(Cow::Borrowed([false, true]))));
    let octets = [0, 0, 0, 3, 1, 0, 0, 7, 0xA0, 0, 0, 8, 0, 0, 0, 9];
    let structs = vec![Flagged(true, 7), Flagged(true, 8), Flagged(false, 9)];
    assert_eq!(big(&octets).sequence::<Flagged>(None), Ok(structs));
    assert_eq!(Flagged::decode(&mut big(&octets).at(8)), Ok(Flagged(true, 8)));
    let optional = big(&[3, 0, 0, 9]).optional(|d| d.ushort());
    assert_eq!(optional, Ok(Some(9)));
    let any = [0, 0, 0, 8, 0xA0];
    let any = Any::decode(&mut big(&any)).unwrap();
    assert_eq!(any.get::<bool>(), Ok(Some(true)));
    let dynamic = |mut d: Decoder<'_>| Dynamic::decode(&TypeCode::BOOLEAN, &mut d);
    assert_eq!(dynamic(big(&[0xA0])), Ok(Dynamic::Boolean(true)));
    assert!(dynamic(strict(&[0xA0])).is_err());
}

#[test]
fn octets_behind_arguments_are_let_pass_unless_the_decoder_is_strict() {
    let read = |mut d: Decoder<'_>| d.ushort().and_then(|_| d.finish_arguments());
    assert_eq!(read(big(&[0, 1, 0])), Ok(()));
    assert_eq!(read(strict(&[0, 1, 0])), Err(TrailingOctets(1).at(2)));
    assert_eq!(read(strict(&[0, 1])), Ok(()));
}

#[test]
fn errors_inside_encapsulations_count_from_the_start_of_the_message() {
    let octets = [9, 9, 9, 9, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 2];
    let mut inner = big(&octets).at(4).encapsulation().expect("whole");
    assert_eq!(inner.position(), 9);
    let mut innermost = inner.encapsulation().expect("whole");
    assert_eq!((innermost.order(), innermost.position()), (ByteOrder::Little, 17));
    assert_eq!(innermost.ulong(), Err(Truncated { needed: 7, left: 3 }.at(17)));
    assert_eq!(innermost.finish(), Err(TrailingOctets(3).at(17)));
}

#[test]
fn a_byte_order_is_0_or_1() {
    assert_eq!(Decoder::encapsulated(&[2, 0], LATIN).err(), Some(BadByteOrder(2).at(0)));
    assert_eq!(
        Decoder::encapsulated(&[], LATIN).err(),
        Some(Truncated { needed: 1, left: 0 }.at(0))
    );
    assert_eq!(big(&[0, 0, 0, 1, 7]).encapsulation().err(), Some(BadByteOrder(7).at(4)));
    assert_eq!(
        big(&[0, 0, 0, 0]).encapsulation().err(),
        Some(Truncated { needed: 1, left: 0 }.at(4))
    );
}

#[test]
fn bounds_hold_both_ways() {
    let octets = [0, 0, 0, 3, 1, 2, 3];
    let exceeded = BoundExceeded { length: 3, bound: 2 };
    assert_eq!(big(&octets).sequence::<u8>(Some(3)), Ok(vec![1, 2, 3]));
    assert_eq!(big(&octets).sequence::<u8>(Some(2)), Err(exceeded.at(0)));
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, LATIN);
    assert_eq!(encoder.sequence(&[1u8, 2, 3], Some(2)), Err(exceeded.at(0)));
    assert_eq!(encoder.sequence(&[1u8, 2, 3], Some(3)), Ok(()));
    assert_eq!(encoder.finish().contiguous(), octets);
}

#[test]
fn elements_of_no_octets_are_limited_by_number() {
    let octets = [0, 0, 0, 9];
    let limits = DecoderLimits { max_empty_elements: 8, ..DecoderLimits::default() };
    assert_eq!(big(&octets).length(None, 0), Ok(9));
    let refused = big(&octets).with_limits(limits).length(None, 0);
    assert_eq!(refused, Err(LengthImplausible { length: 9, left: 0 }.at(0)));
}

#[test]
fn nesting_is_limited() {
    // Each encapsulation contains all that follow.
    let mut octets = Vec::new();
    for left in (0..100u32).rev() {
        octets.extend((left * 8 + 4).to_be_bytes());
        octets.extend([0; 4]);
    }
    octets.truncate(99 * 8 + 8);
    let mut decoder = big(&octets);
    for _ in 0..DecoderLimits::default().max_depth {
        decoder = decoder.encapsulation().expect("within the limit");
        decoder.octets(3).expect("padding");
    }
    assert!(matches!(decoder.encapsulation(), Err(Error { kind: TooDeep { limit: 64 }, .. })));

    // Each node of the tree has the name "", no marks, and one branch.
    let branch = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let octets = branch.repeat(1000);
    let error = support::Tree::decode(&mut big(&octets)).expect_err("too deep");
    assert_eq!(error.kind, TooDeep { limit: 64 });
    let shallow = DecoderLimits { max_depth: 3, ..DecoderLimits::default() };
    let error =
        support::Tree::decode(&mut big(&octets).with_limits(shallow)).expect_err("too deep");
    assert_eq!(error, TooDeep { limit: 3 }.at(4 * 16));
}

#[test]
fn nesting_ends_where_it_began() {
    let mut decoder =
        big(&[]).with_limits(DecoderLimits { max_depth: 1, ..DecoderLimits::default() });
    for _ in 0..3 {
        assert_eq!(decoder.nested(|_| Ok(())), Ok(()));
        assert_eq!(decoder.nested(|d| d.nested(|_| Ok(()))), Err(TooDeep { limit: 1 }.at(0)));
    }
}

#[test]
fn positions_beyond_the_end_are_the_end() {
    let mut decoder = big(&[1, 2]).at(5);
    assert_eq!(
        (decoder.remaining(), decoder.octet()),
        (0, Err(Truncated { needed: 1, left: 0 }.at(2)))
    );
}

#[test]
fn the_scope_goes_along() {
    #[derive(Clone)]
    struct Orb(&'static str);

    impl Scope for Orb {
        fn keep(&self) -> Arc<dyn Scope> {
            Arc::new(self.clone())
        }
    }

    let scope = Orb("orb");
    let octets = [0, 0, 0, 1, 0];
    let mut decoder = big(&octets).with_scope(&scope);
    assert_eq!(decoder.scope::<u32>(), None);
    let inner = decoder.encapsulation().expect("whole");
    assert_eq!(inner.scope::<Orb>().map(|orb| orb.0), Some("orb"));
}

#[test]
fn errors_are_sentences() {
    let kinds = [
        (BoundExceeded { length: 3, bound: 2 }, "a length of 3 exceeds the bound of 2"),
        (
            LengthImplausible { length: 9, left: 2 },
            "a length of 9 is announced, but only 2 octets are left",
        ),
        (BadEnumerator(7), "the enumeration has no member number 7"),
        (TooDeep { limit: 64 }, "values are nested more than 64 deep"),
        (TrailingOctets(3), "3 octets follow the end of the value"),
    ];
    for (kind, sentence) in kinds {
        assert_eq!(kind.at(5).to_string(), format!("at octet 5: {sentence}"));
    }
}
