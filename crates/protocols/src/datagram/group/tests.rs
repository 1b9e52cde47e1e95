//! Reassembly under all conditions: seeded permutations, duplicates, losses, truncations, floods.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::packet::{HEADER, header};
use super::reassembly::{Limits, MOST_COLLECTIONS, MOST_OF_SOURCE, REMEMBERED, Reassembly};

const LIMITS: Limits = Limits { sources: 4, kept: 100_000, timeout: Duration::from_secs(1) };

/// Pseudo-random generator (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
    }
}

fn source(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 1000 + number))
}

fn id(number: u64) -> [u8; 12] {
    let mut id = [0; 12];
    id[4..].copy_from_slice(&number.to_be_bytes());
    id
}

fn message(number: u64, octets: usize) -> Vec<u8> {
    let octet = |at: usize| (at as u8).wrapping_mul(31) ^ number as u8;
    (0..octets).map(octet).collect()
}

fn packets(number: u64, message: &[u8], most: usize) -> Vec<Vec<u8>> {
    let of = message.len().div_ceil(most) as u32;
    let packet = |(payload, at): (&[u8], u32)| {
        let mut packet = header(&id(number), at, of, payload.len() as u16).to_vec();
        packet.extend_from_slice(payload);
        packet
    };
    message.chunks(most).zip(0..).map(packet).collect()
}

#[test]
fn each_message_comes_out_once_in_any_order_with_duplicates_and_loss() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let mut reassembly = Reassembly::new(LIMITS);
        let now = Instant::now();
        let mut sent = Vec::new();
        let mut lost = Vec::new();
        for number in 0..12 {
            let whole = message(number, 1 + numbers.below(900));
            let from = source(numbers.below(3) as u16);
            let mut all = packets(number, &whole, 1 + numbers.below(100));
            let loses = numbers.below(4) == 0;
            if loses {
                all.remove(numbers.below(all.len()));
            }
            lost.push(loses);
            for packet in all {
                for _ in 0..=numbers.below(3) {
                    sent.push((from, packet.clone()));
                }
            }
        }
        numbers.shuffle(&mut sent);
        let mut came = Vec::new();
        for (from, packet) in &sent {
            came.extend(reassembly.take(now, *from, packet));
            assert!(reassembly.kept() <= LIMITS.kept);
        }
        let expected = lost.iter().filter(|lost| !**lost).count();
        assert_eq!(came.len(), expected, "seed {seed}: {:?}", reassembly.counts());
        for whole in &came {
            let known = (0..12).any(|number| *whole == message(number, whole.len()));
            assert!(known, "seed {seed}");
        }
        let later = now + Duration::from_millis(1001);
        assert_eq!(reassembly.take(later, source(0), b"nonsense"), None);
        assert_eq!(reassembly.kept(), 0, "seed {seed}");
        assert_eq!(reassembly.counts().malformed, 1);
        let again = sent.iter().filter_map(|(from, it)| reassembly.take(later, *from, it));
        assert_eq!(again.count(), 0, "seed {seed}: what is over begins nothing new");
    }
}

#[test]
fn cuts_and_changes_of_octets_never_panic_nor_break_the_limits() {
    for seed in 0..100 {
        let mut numbers = Numbers(seed);
        let mut reassembly = Reassembly::new(LIMITS);
        let now = Instant::now();
        for number in 0..40 {
            let whole = message(number, 1 + numbers.below(500));
            for mut packet in packets(number, &whole, 40) {
                match numbers.below(4) {
                    0 => packet.truncate(numbers.below(packet.len())),
                    1 => {
                        let at = numbers.below(packet.len());
                        packet[at] ^= 1 << numbers.below(8);
                    }
                    _ => {}
                }
                reassembly.take(now, source(numbers.below(9) as u16), &packet);
                assert!(reassembly.kept() <= LIMITS.kept);
            }
        }
    }
}

#[test]
fn packets_that_contradict_each_other_end_their_collection() {
    let now = Instant::now();
    let packet = |number: u32, of: u32| {
        let mut packet = header(&id(7), number, of, 1).to_vec();
        packet.push(1);
        packet
    };
    // The second packet has another count; the second packet's count excludes the first packet; the count exceeds the
    // limit of a message.
    for (first, second) in [((0, 3), (1, 4)), ((5, 9), (2, 3)), ((0, 70_000), (1, 70_000))] {
        let mut reassembly = Reassembly::new(LIMITS);
        assert_eq!(reassembly.take(now, source(0), &packet(first.0, first.1)), None);
        assert_eq!(reassembly.take(now, source(0), &packet(second.0, second.1)), None);
        assert_eq!(reassembly.counts().contradictory, 1);
        assert_eq!(reassembly.kept(), 0);
    }
}

#[test]
fn floods_are_kept_within_the_limits_and_leave_room_for_others() {
    let now = Instant::now();
    let mut reassembly = Reassembly::new(LIMITS);
    for number in 0..1000 {
        let first = &packets(number, &message(number, 3000), 1400)[0];
        reassembly.take(now, source(0), first);
        assert!(reassembly.kept() <= MOST_OF_SOURCE * (1400 + 64));
    }
    for number in 0..1000 {
        let first = &packets(number, &message(number, 3000), 1400)[0];
        reassembly.take(now, source(number as u16 % 50), first);
        assert!(reassembly.kept() <= LIMITS.kept.min(MOST_COLLECTIONS * 1464));
    }
    let whole = message(5000, 3000);
    let mut all = packets(5000, &whole, 1400).into_iter();
    let came = all.find_map(|packet| reassembly.take(now, source(60), &packet));
    assert_eq!(came, Some(whole));
    // A message that is larger than the memory limit is never completed.
    let huge = message(5001, LIMITS.kept);
    let all = packets(5001, &huge, 1400).into_iter();
    assert_eq!(all.filter_map(|it| reassembly.take(now, source(61), &it)).count(), 0);
}

#[test]
fn a_source_is_remembered_for_as_many_messages_as_told() {
    let now = Instant::now();
    let mut reassembly = Reassembly::new(LIMITS);
    let one = |number: u64| packets(number, &message(number, 10), 1400).remove(0);
    for number in 0..=REMEMBERED as u64 {
        assert!(reassembly.take(now, source(0), &one(number)).is_some());
        assert!(reassembly.take(now, source(0), &one(number)).is_none());
    }
    assert!(reassembly.take(now, source(0), &one(1)).is_none());
    assert!(reassembly.take(now, source(0), &one(0)).is_some(), "forgotten by now");
    assert!(reassembly.take(now, source(1), &one(1)).is_some(), "ids are a source's own");
    assert_eq!(HEADER + 10, one(0).len());
}
