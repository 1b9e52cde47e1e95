//! Values read back equal values written, in every byte order, GIOP version and code set, at every
//! alignment.

use std::io::IoSlice;

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoded, Encoder};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{Setting, Track, carried, member_by_member, message, setting, track, value};

proptest! {
    #[test]
    fn any_value_is_read_back_or_refused_when_written(setting in setting(), value in value()) {
        let mut encoder = setting.encoder();
        let written = value.encode(&mut encoder);
        prop_assert_eq!(written.is_ok(), carried(&value, setting.dialect), "{:?}", written);
        if written.is_ok() {
            prop_assert_eq!(setting.check(std::slice::from_ref(&value), &encoder.finish().to_vec()), Ok(()));
        }
    }

    #[test]
    fn any_message_is_read_back((setting, values) in message()) {
        let mut encoder = setting.encoder();
        for value in &values {
            value.encode(&mut encoder).expect("carried");
        }
        let length = encoder.position();
        let message = encoder.finish().to_vec();
        prop_assert_eq!(message.len(), length);
        prop_assert_eq!(setting.check(&values, &message), Ok(()));
        // The alignment of the octets in memory determines what can be borrowed, but must not
        // change the decoded values.
        for shift in 1..8 {
            let shifted = [vec![0; shift], message.clone()].concat();
            prop_assert_eq!(setting.check(&values, &shifted[shift..]), Ok(()));
        }
    }

    #[test]
    fn gathering_changes_no_octet((setting, values) in message(), threshold in 0usize..20) {
        let mut copied = setting.encoder();
        let mut gathered = setting.encoder().gather_above(threshold);
        for value in &values {
            value.encode(&mut copied).expect("carried");
            value.encode(&mut gathered).expect("carried");
            prop_assert_eq!(copied.position(), gathered.position());
        }
        let (copied, gathered) = (copied.finish(), gathered.finish());
        prop_assert!(copied.is_contiguous());
        prop_assert_eq!(copied.len(), gathered.len());
        prop_assert_eq!(copied.contiguous(), gathered.to_vec());
        let mut room = [IoSlice::new(&[]); Encoded::MAX_SLICES];
        let slices = gathered.io_slices(&mut room);
        prop_assert!(slices.iter().all(|slice| !slice.is_empty()));
        prop_assert!(slices.len() <= 1 || !gathered.is_contiguous());
    }

    #[test]
    fn a_fixed_layout_is_its_members_one_by_one(setting in setting(), tracks in vec(track(), 0..6)) {
        let mut together = setting.encoder();
        together.sequence(&tracks, None).expect("unbounded");
        let mut apart = setting.encoder();
        apart.sequence_with(&tracks, None, |e, track| member_by_member(track, e)).expect("unbounded");
        let (together, apart) = (together.finish().to_vec(), apart.finish().to_vec());
        prop_assert_eq!(&together, &apart);

        let mut decoder = setting.decoder(&together);
        prop_assert_eq!(decoder.sequence::<Track>(None), Ok(tracks));
        prop_assert_eq!(decoder.finish(), Ok(()));
    }
}

#[test]
fn more_slices_than_can_be_gathered_are_copied() {
    let pieces: Vec<[u8; 3]> = (0..20).map(|n| [n; 3]).collect();
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2)).gather_above(0);
    for piece in &pieces {
        encoder.octets(piece);
        encoder.octet(0xFF);
    }
    let message = encoder.finish();
    let mut room = [IoSlice::new(&[]); Encoded::MAX_SLICES];
    assert_eq!(message.io_slices(&mut room).len(), 16);
    let expected: Vec<u8> =
        pieces.iter().flat_map(|piece| [piece[0], piece[1], piece[2], 0xFF]).collect();
    assert_eq!(message.to_vec(), expected);
}

#[test]
fn gathered_slices_are_the_callers_memory_and_numbers_stay_aligned_after_them() {
    let (octets, doubles) = ([7u8; 101], [1.5f64; 50]);
    let mut encoder =
        Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::new(2)).gather_above(100);
    encoder.octet(1);
    let patched = {
        encoder.align(4);
        encoder.position()
    };
    encoder.ulong(0);
    encoder.octets(&octets);
    encoder.doubles(&doubles);
    encoder.ulong(9);
    encoder.patch_ulong(patched, 5);
    let end = encoder.position();
    encoder.string("gone again").expect("plain");
    encoder.truncate(end);
    let message = encoder.finish();
    assert_eq!((message.len(), message.is_contiguous()), (8 + 101 + 3 + 400 + 4, false));
    let mut room = [IoSlice::new(&[]); Encoded::MAX_SLICES];
    let slices = message.io_slices(&mut room);
    assert_eq!(slices[1].as_ptr(), octets.as_ptr());
    assert_eq!(slices[3].as_ptr(), doubles.as_ptr().cast());

    let message = message.to_vec();
    let mut decoder = Decoder::new(&message, ByteOrder::NATIVE, Dialect::new(2)).at(patched);
    assert_eq!((decoder.ulong(), decoder.octets(101)), (Ok(5), Ok(octets.as_slice())));
    assert_eq!(decoder.doubles(50).as_deref(), Ok(doubles.as_slice()));
    assert_eq!(decoder.ulong(), Ok(9));
}

#[test]
fn an_encapsulation_may_follow_what_was_gathered() {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2)).gather_above(4);
    encoder.octets(&[1, 2, 3, 4, 5, 6]);
    encoder
        .encapsulation(|e| {
            e.octets(&[7; 9]);
            Ok(())
        })
        .expect("short");
    let message = encoder.finish();
    assert_eq!(
        message.to_vec(),
        [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 10, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7]
    );
}

/// Numbers in foreign order are copied regardless of the threshold.
#[test]
fn what_must_be_swapped_is_not_gathered() {
    let foreign =
        if ByteOrder::NATIVE == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
    let mut encoder = Encoder::new(Vec::new(), foreign, Dialect::new(2)).gather_above(0);
    encoder.longs(&[1, 2, 3]);
    assert!(encoder.finish().is_contiguous());
}

#[test]
fn the_buffer_comes_back_and_is_used_again() {
    let mut buffer = Vec::new();
    let mut grown_to = 0;
    for round in 0..3 {
        let mut encoder = Encoder::new(buffer, ByteOrder::Big, Dialect::new(2));
        (0..1000).for_each(|n| encoder.ulong(n));
        let message = encoder.finish();
        assert_eq!(
            (message.len(), message.contiguous()[..8].to_vec()),
            (4000, vec![0, 0, 0, 0, 0, 0, 0, 1])
        );
        buffer = message.into_buffer();
        if round == 0 {
            grown_to = buffer.capacity();
        }
        assert_eq!(buffer.capacity(), grown_to);
    }
}

#[test]
fn a_failed_encapsulation_leaves_nothing_behind() {
    let setting = Setting { order: ByteOrder::Big, dialect: Dialect::new(2), lead: 3 };
    let mut encoder = setting.encoder();
    let failed = encoder.encapsulation(|e| {
        e.ulong(1);
        e.string("not in ISO 8859-1: €")
    });
    assert!(failed.is_err());
    assert_eq!(encoder.position(), 3);
    encoder.ulong(5);
    assert_eq!(encoder.finish().contiguous(), [0xAA, 0xAA, 0xAA, 0, 0, 0, 0, 5]);
}

#[test]
#[should_panic(expected = "after the last gathered slice")]
fn what_was_gathered_cannot_be_truncated() {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2)).gather_above(0);
    encoder.octet(1);
    encoder.octets(&[1, 2, 3]);
    encoder.truncate(1);
}
