//! Datagrams and fragments, tested without sockets.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use oxorb::values::ByteOrder;
use oxorb_event::gateway::datagram::{self, DatagramError, Header};
use oxorb_event::gateway::reassembly::{Dropped, Reassembly, ReassemblyLimits};
use proptest::prelude::*;

fn split(message: &[u8], number: u32, mtu: usize, checksum: bool) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let send = |one: &[u8]| {
        all.push(one.to_vec());
        Ok::<(), Infallible>(())
    };
    let Ok(()) = datagram::split(message, number, mtu, checksum, &mut Vec::new(), send);
    all
}

fn from(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn octets_are_those_of_tao_s_gateway() {
    let little = ByteOrder::NATIVE == ByteOrder::Little;
    let sent = split(b"0123456789", 5, 40, false);
    let mut expected = vec![u8::from(little), b'A', b'B', b'C'];
    for number in [5u32, 10, 2, 8, 1, 2, 0] {
        expected.extend_from_slice(&number.to_ne_bytes());
    }
    expected.extend_from_slice(b"89");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1], expected);

    // The checksum covers all other octets of the datagram. Its most significant octet is first in both byte orders,
    // and its value is that of zlib's crc32.
    let mut big = b"\0ABC".to_vec();
    for number in [1u32, 9, 9, 0, 0, 1] {
        big.extend_from_slice(&number.to_be_bytes());
    }
    big.extend_from_slice(&[0; 4]);
    big.extend_from_slice(b"123456789");
    assert!(datagram::read(&big, false).is_ok());
    assert_eq!(datagram::read(&big, true), Err(DatagramError::Checksum));
    let sum = bitwise_crc(&[&big[..28], &big[32..]].concat());
    big[28..32].copy_from_slice(&sum.to_be_bytes());
    let (header, octets) = datagram::read(&big, true).unwrap();
    assert_eq!((header.order, header.message, octets), (ByteOrder::Big, 1, &b"123456789"[..]));
}

/// Returns the CRC-32 by its definition, bit by bit.
fn bitwise_crc(octets: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for octet in octets {
        crc ^= u32::from(*octet);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

#[test]
fn what_is_no_datagram_of_a_gateway_is_refused() {
    let good = split(b"0123456789", 5, 100, true).remove(0);
    assert_eq!(datagram::read(&good[..31], true), Err(DatagramError::Short));
    assert_eq!(datagram::read(&good[..40], true), Err(DatagramError::Contradiction));
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(datagram::read(&bad, true).is_err(), "octet {at} changed");
    }
    let mut foreign = good.clone();
    foreign[1] = b'X';
    assert_eq!(datagram::read(&foreign, false), Err(DatagramError::Foreign));
}

fn header(message: u32, size: u32, offset: u32, fragment: u32, count: u32) -> Header {
    Header { order: ByteOrder::NATIVE, message, size, offset, fragment, count }
}

fn small() -> ReassemblyLimits {
    ReassemblyLimits {
        sources: 2,
        window: 4,
        message: 64,
        octets: 100,
        age: Duration::from_secs(1),
        silence: Duration::from_secs(10),
    }
}

#[test]
fn memory_time_and_senders_are_bounded() {
    let mut all = Reassembly::new(small());
    let start = Instant::now();
    let mut take = |port, header: Header, now: Duration| {
        let octets = [7u8; 8];
        let taken = all.take(from(port), &header, &octets, start + now);
        (taken.map(|message| message.map(|octets| octets.len())), all.held(), all.counts())
    };
    let at = Duration::from_millis;
    // The first message is too large. The second and the third one together exceed the limit, so the second one is
    // dropped.
    assert_eq!(take(1, header(1, 65, 0, 0, 9), at(0)).0, Err(Dropped::TooLarge));
    assert_eq!(take(1, header(1, 60, 0, 0, 8), at(0)).1, 60);
    let (taken, held, counts) = take(1, header(2, 60, 0, 0, 8), at(1));
    assert_eq!((taken, held, counts.evicted), (Ok(None), 60, 1));
    // Message 10 moves the window, so message 6 is too late. Repeated fragments are duplicates.
    assert_eq!(take(1, header(10, 16, 0, 0, 2), at(2)).2.incomplete, 1);
    assert_eq!(take(1, header(6, 16, 0, 0, 2), at(2)).0, Err(Dropped::Late));
    assert_eq!(take(1, header(10, 16, 0, 0, 2), at(2)).0, Err(Dropped::Duplicate));
    assert_eq!(take(1, header(10, 16, 8, 1, 3), at(2)).0, Err(Dropped::Contradiction));
    assert_eq!(take(1, header(10, 16, 8, 1, 2), at(3)).0, Ok(Some(16)));
    assert_eq!(take(1, header(10, 16, 8, 1, 2), at(3)).0, Err(Dropped::Duplicate));
    // Message 11 is dropped because it waits too long.
    assert_eq!(take(1, header(11, 16, 0, 0, 2), at(4)).1, 16);
    let (_, held, counts) = take(1, header(12, 8, 0, 0, 1), at(1_005));
    assert_eq!((held, counts.incomplete, counts.complete), (0, 2, 2));
    // A third sender replaces the one that was silent for the longest time, and the fragments of that sender are
    // dropped.
    assert_eq!(take(1, header(13, 16, 0, 0, 2), at(1_006)).1, 16);
    assert_eq!(take(2, header(1, 16, 0, 0, 2), at(1_007)).1, 32);
    assert_eq!(take(3, header(1, 16, 0, 0, 2), at(1_008)).1, 32);
    // A sender that has restarted is accepted only after a silence.
    assert_eq!(take(3, header(900, 8, 0, 0, 1), at(1_009)).0, Ok(Some(8)));
    assert_eq!(take(3, header(1, 8, 0, 0, 1), at(1_010)).0, Err(Dropped::Late));
    assert_eq!(take(3, header(1, 8, 0, 0, 1), at(20_000)).0, Ok(Some(8)));
    // Message numbers wrap around.
    assert_eq!(take(3, header(u32::MAX, 8, 0, 0, 1), at(40_000)).0, Ok(Some(8)));
    assert_eq!(take(3, header(1, 8, 0, 0, 1), at(40_001)).0, Ok(Some(8)));
    assert_eq!(take(3, header(0, 8, 0, 0, 1), at(40_002)).0, Ok(Some(8)));
}

#[test]
fn a_sender_whose_datagrams_are_all_dropped_counts_as_new_after_a_while() {
    let mut all = Reassembly::new(small());
    let start = Instant::now();
    let mut take = |message, seconds| {
        let now = start + Duration::from_secs(seconds);
        let taken = all.take(from(1), &header(message, 8, 0, 0, 1), &[7; 8], now);
        taken.map(|message| message.is_some())
    };
    assert_eq!(take(900, 0), Ok(true));
    // The sender restarts with number 1, or the datagram with number 900 was forged.
    for message in 1..=9u32 {
        let taken = take(message, u64::from(message));
        assert_eq!(taken, Err(Dropped::Late), "{message}");
    }
    assert_eq!(take(11, 11), Ok(true));
    assert_eq!(take(12, 12), Ok(true));
}

#[test]
fn forged_senders_do_not_drive_out_one_that_sends() {
    let mut all = Reassembly::new(ReassemblyLimits { sources: 8, ..ReassemblyLimits::default() });
    let now = Instant::now();
    let mut take = |port, header: Header, now| {
        all.take(from(port), &header, &[7; 8], now).map(|message| message.is_some())
    };
    assert_eq!(take(1, header(1, 8, 0, 0, 1), now), Ok(true));
    assert_eq!(take(1, header(2, 16, 0, 0, 2), now), Ok(false));
    // Other senders follow, more than the limit permits. Each sends a complete message or a part of one.
    for port in 100..140 {
        let count = u32::from(port % 2);
        let taken = take(port, header(1, 8 + 8 * count, 0, 0, 1 + count), now);
        assert_eq!(taken, Ok(count == 0), "{port}");
    }
    assert_eq!(take(1, header(2, 16, 8, 1, 2), now), Ok(true));
    // A sender that has been silent is replaced first, even if it sent useful datagrams before.
    let later = now + Duration::from_secs(11);
    for port in 200..208 {
        assert_eq!(take(port, header(1, 16, 0, 0, 2), later), Ok(false));
    }
    for port in 200..208 {
        assert_eq!(take(port, header(1, 16, 8, 1, 2), later), Ok(true), "{port}");
    }
}

#[test]
fn fragments_that_overlap_are_refused_and_leave_no_gap() {
    let mut all = Reassembly::new(small());
    let now = Instant::now();
    let mut take = |offset, fragment, octets: &[u8]| {
        let taken = all.take(from(1), &header(1, 24, offset, fragment, 3), octets, now);
        taken.map(|message| message.map(|octets| octets.into_owned()))
    };
    assert_eq!(take(0, 0, &[1; 8]), Ok(None));
    // The lengths of the first fragment and of these two add up to the size of the message.
    assert_eq!(take(4, 1, &[2; 8]), Err(Dropped::Contradiction));
    assert_eq!(take(0, 2, &[2; 8]), Err(Dropped::Contradiction));
    // A fragment that is not within the message is refused, too.
    assert_eq!(take(17, 2, &[2; 8]), Err(Dropped::Contradiction));
    assert_eq!(take(16, 3, &[2; 8]), Err(Dropped::Contradiction));
    // The fragments that were refused do not prevent the complete message.
    assert_eq!(take(16, 2, &[4; 8]), Ok(None));
    assert_eq!(take(9, 1, &[3; 8]), Err(Dropped::Contradiction));
    let message = [[1u8; 8], [3; 8], [4; 8]].concat();
    assert_eq!(take(8, 1, &[3; 8]), Ok(Some(message)));
}

#[test]
fn fragments_that_are_refused_displace_no_message() {
    let mut all = Reassembly::new(small());
    let now = Instant::now();
    assert_eq!(all.take(from(1), &header(1, 60, 0, 0, 2), &[7; 30], now), Ok(None));
    // Another sender begins a message with a fragment that is empty, or is not within the message. Both messages
    // together exceed the limit.
    let refused: [(u32, u32, &[u8]); 3] = [(0, 0, &[]), (31, 0, &[8; 30]), (0, 2, &[8; 30])];
    for (offset, fragment, octets) in refused {
        let taken = all.take(from(2), &header(1, 60, offset, fragment, 2), octets, now);
        assert_eq!(taken, Err(Dropped::Contradiction));
    }
    assert_eq!((all.held(), all.counts().evicted), (60, 0));
    let taken = all.take(from(1), &header(1, 60, 30, 1, 2), &[7; 30], now).unwrap();
    assert_eq!(taken.as_deref(), Some(&[7; 60][..]));
}

#[test]
fn fragments_that_are_refused_move_no_window() {
    let mut all = Reassembly::new(small());
    let now = Instant::now();
    let mut take = |port, header: Header, octets: &[u8]| {
        all.take(from(port), &header, octets, now).map(|message| message.is_some())
    };
    assert_eq!(take(1, header(1, 16, 0, 0, 2), &[7; 8]), Ok(false));
    // The message with number 100 is far ahead of the window. Its first fragment is empty, or is not within the
    // message.
    let refused: [(u32, u32, &[u8]); 3] = [(0, 0, &[]), (9, 0, &[8; 8]), (0, 2, &[8; 8])];
    for (offset, fragment, octets) in refused {
        for port in [1, 2] {
            let taken = take(port, header(100, 16, offset, fragment, 2), octets);
            assert_eq!(taken, Err(Dropped::Contradiction), "{port}");
        }
    }
    // Neither the sender with an incomplete message nor the new sender has lost its window.
    assert_eq!(take(1, header(1, 16, 8, 1, 2), &[7; 8]), Ok(true));
    assert_eq!(take(2, header(1, 8, 0, 0, 1), &[7; 8]), Ok(true));
}

#[test]
fn every_octet_of_a_large_message_may_be_a_fragment_boundary() {
    let message: Vec<u8> = (0..200).map(|octet| octet + 1).collect();
    for boundary in 1..200 {
        let mut all = Reassembly::new(ReassemblyLimits::default());
        let now = Instant::now();
        let (first, second) = message.split_at(boundary);
        let mut take = |offset: usize, fragment, octets: &[u8]| {
            let header = header(1, 200, offset as u32, fragment, 2);
            let taken = all.take(from(1), &header, octets, now);
            taken.map(|message| message.map(|octets| octets.into_owned()))
        };
        assert_eq!(take(boundary, 1, second), Ok(None), "{boundary}");
        let longer = &message[..boundary + 1];
        assert_eq!(take(0, 0, longer), Err(Dropped::Contradiction), "{boundary}");
        assert_eq!(take(0, 0, first), Ok(Some(message.clone())), "{boundary}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Datagrams arrive in any order and number. Each message whose fragments all arrive is returned once, and no other
    /// message is returned.
    #[test]
    fn messages_come_whole_once_or_not_at_all(
        sizes in prop::collection::vec(0usize..300, 1..8),
        mtu in 40usize..120,
        checksum: bool,
        // For each datagram: its number of copies, and the positions of these copies.
        fates in prop::collection::vec((0usize..4, any::<u32>(), any::<u32>(), any::<u32>()), 400),
    ) {
        let messages: Vec<Vec<u8>> = sizes.iter().enumerate()
            .map(|(at, size)| (0..*size).map(|octet| (octet * 7 + at) as u8).collect())
            .collect();
        let mut lost = vec![false; messages.len()];
        let mut sent = Vec::new();
        let mut fates = fates.iter().cycle();
        for (at, message) in messages.iter().enumerate() {
            for one in split(message, at as u32, mtu, checksum) {
                let (times, a, b, c) = *fates.next().unwrap();
                lost[at] |= times == 0;
                sent.extend([a, b, c][..times].iter().map(|when| (*when, one.clone())));
            }
        }
        sent.sort();
        let mut reassembly = Reassembly::new(ReassemblyLimits::default());
        let mut came = vec![Vec::new(); messages.len()];
        let now = Instant::now();
        for (_, one) in &sent {
            let (header, octets) = datagram::read(one, checksum).unwrap();
            if let Ok(Some(message)) = reassembly.take(from(1), &header, octets, now) {
                came[header.message as usize].push(message.into_owned());
            }
        }
        for at in 0..messages.len() {
            let expected = if lost[at] { vec![] } else { vec![messages[at].clone()] };
            prop_assert_eq!(&came[at], &expected, "message {}", at);
        }
        if !lost.contains(&true) {
            prop_assert_eq!(reassembly.held(), 0);
        }
    }

    #[test]
    fn any_octets_are_taken_within_the_limits(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        oxorb_event::fuzz::datagrams(&octets);
    }

    /// The headers of these datagrams are well-formed, but contain hostile numbers.
    #[test]
    fn any_numbers_are_taken_within_the_limits(
        numbers in prop::collection::vec((0u32..6, 0u32..80, 0u32..80, 0u32..9, 0u32..10, 0usize..30), 1..40),
    ) {
        let mut reassembly = Reassembly::new(small());
        let now = Instant::now();
        for (message, size, offset, fragment, count, length) in numbers {
            let mut one = vec![u8::from(ByteOrder::NATIVE == ByteOrder::Little), b'A', b'B', b'C'];
            for number in [message, size, length as u32, offset, fragment, count, 0] {
                one.extend_from_slice(&number.to_ne_bytes());
            }
            one.resize(32 + length, 1);
            if let Ok((header, octets)) = datagram::read(&one, false) {
                let taken = reassembly.take(from(1), &header, octets, now);
                if let Ok(Some(message)) = taken {
                    prop_assert_eq!(message.len(), size as usize);
                    let all_were_sent = message.iter().all(|octet| *octet == 1);
                    prop_assert!(all_were_sent, "the message has octets that nobody sent");
                }
            }
            prop_assert!(reassembly.held() <= small().octets);
        }
    }
}

/// Runs the fuzz target `gateway` with its seeds, and with each seed after single octets have been changed.
#[test]
fn the_fuzz_entry_point_takes_its_seeds() {
    let folder = format!("{}/../../fuzz/seeds/gateway", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for seed in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}")) {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        count += 1;
        for at in 0..seed.len() {
            for change in [0, 1, 0x80] {
                seed[at] ^= change;
                oxorb_event::fuzz::datagrams(&seed);
                seed[at] ^= change;
            }
        }
    }
    assert!(count > 0, "no seeds in {folder}");
}
