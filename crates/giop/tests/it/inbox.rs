//! All messages, in any split and any fragments, leave the inbox unchanged.

use std::io::IoSlice;

use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_giop::{
    Fragments, Frame, Header, Inbox, MessageLimits, MessageType, Misbehaviour, ReplyStatus,
    Request, Side, Violation, begin_reply, cancel_request, finish,
};
use oxorb_object::Version;
use proptest::prelude::*;

use crate::common::{ORDERS, VERSIONS, every_kind, feed, receive, request, split};

fn inbox() -> Inbox {
    Inbox::new(&MessageLimits::default())
}

fn order() -> impl Strategy<Value = ByteOrder> {
    prop::sample::select(&ORDERS[..])
}

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(&VERSIONS[..])
}

#[test]
fn every_kind_arrives_one_octet_at_a_time_and_all_at_once() {
    for version in VERSIONS {
        for order in ORDERS {
            let messages = every_kind(version, order, 1, b"some octets");
            let stream = messages.concat();
            for reads in [1, 2, 11, 12, 13, usize::MAX] {
                let mut inbox = inbox();
                assert_eq!(receive(&mut inbox, &stream, &[reads]).unwrap(), messages);
                assert!(!inbox.mid_message());
            }
        }
    }
}

proptest! {
    #[test]
    fn any_messages_survive_any_split_into_reads(
        kinds in prop::collection::vec((version(), order(), 0usize..7, 0usize..3000), 1..12),
        reads in prop::collection::vec(1usize..5000, 1..8),
    ) {
        let messages: Vec<_> = kinds
            .iter()
            .map(|&(version, order, kind, size)| {
                let body: Vec<u8> = (0..size).map(|i| i as u8).collect();
                every_kind(version, order, 7, &body).swap_remove(kind)
            })
            .collect();
        let mut inbox = inbox();
        prop_assert_eq!(receive(&mut inbox, &messages.concat(), &reads).unwrap(), messages);
        prop_assert!(!inbox.mid_message());
    }

    #[test]
    fn any_message_survives_any_fragment_boundary(
        order in order(),
        kind in 0usize..4,
        size in 0usize..600,
        cuts in prop::collection::vec(0usize..10_000, 0..8),
        reads in prop::collection::vec(1usize..200, 1..5),
    ) {
        let body: Vec<u8> = (0..size).map(|i| i as u8).collect();
        let message = every_kind(Version::V1_2, order, 7, &body).swap_remove([0, 1, 3, 4][kind]);
        let pieces = split(&message, &cuts);
        let mut inbox = inbox();
        prop_assert_eq!(receive(&mut inbox, &pieces.concat(), &reads).unwrap(), [message]);
        prop_assert!(!inbox.mid_message());
    }

    #[test]
    fn fragmented_messages_may_interleave(
        order in order(),
        sizes in prop::collection::vec(0usize..400, 1..6),
        cuts in prop::collection::vec(0usize..10_000, 0..5),
        schedule in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let messages: Vec<_> =
            sizes.iter().zip(0..).map(|(&size, id)| request(Version::V1_2, order, id, &vec![id as u8; size])).collect();
        let mut queues: Vec<_> = messages.iter().map(|message| split(message, &cuts).into_iter().peekable()).collect();
        let mut stream = Vec::new();
        let mut schedule = schedule.iter();
        while !queues.is_empty() {
            let at = schedule.next().map_or(0, |index| index.index(queues.len()));
            stream.extend(queues[at].next().unwrap());
            if queues[at].peek().is_none() {
                drop(queues.remove(at));
            }
        }
        let mut received = receive(&mut inbox(), &stream, &[57]).unwrap();
        received.sort_by_key(|message| Header::parse(message[..12].try_into().unwrap()).map(|_| message[12..16].to_vec()).unwrap());
        let mut expected = messages;
        expected.sort_by_key(|message| message[12..16].to_vec());
        prop_assert_eq!(received, expected);
    }

    #[test]
    fn our_fragments_are_joined_again_and_keep_alignment(
        order in order(),
        parts in prop::collection::vec((0usize..300, any::<u8>()), 0..6),
        largest in 0usize..700,
        reads in prop::collection::vec(1usize..400, 1..4),
    ) {
        let large: Vec<Vec<u8>> = parts.iter().map(|&(size, value)| vec![value; size]).collect();
        let mut e = Encoder::new(Vec::new(), order, Dialect::new(2)).gather_above(64);
        let begun = begin_reply(&mut e, Version::V1_2, 77, ReplyStatus::NO_EXCEPTION, &[]);
        for part in &large {
            e.double(1.5);
            e.octets(part);
        }
        finish(&mut e, begun).unwrap();
        let message = e.finish();
        let expected = message.to_vec();

        let mut room = [IoSlice::new(&[]); oxorb_cdr::Encoded::MAX_SLICES];
        let slices = message.io_slices(&mut room);
        let mut stream = Vec::new();
        let pieces: Vec<_> = Fragments::new(slices, largest).unwrap().collect();
        for (i, piece) in pieces.iter().enumerate() {
            let before = stream.len();
            let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
            for slice in piece.slices(slices, &mut slots) {
                stream.extend_from_slice(slice);
            }
            let length = stream.len() - before;
            prop_assert_eq!(length, piece.len());
            prop_assert!(length <= largest.max(Fragments::SMALLEST));
            if i + 1 < pieces.len() {
                prop_assert!(length.is_multiple_of(8));
            }
        }
        prop_assert_eq!(receive(&mut inbox(), &stream, &reads).unwrap(), [expected]);
    }

    #[test]
    fn any_octets_end_in_messages_or_a_violation_within_the_limits(
        mut stream in prop::collection::vec(any::<u8>(), 0..400),
        starts in prop::collection::vec((0usize..400, version(), 0u8..10, 0u8..4, 0u32..100), 0..6),
        reads in prop::collection::vec(1usize..100, 1..4),
    ) {
        for (at, version, kind, flags, size) in starts {
            let mut header = *b"GIOP\x01\x00\x00\x00\x00\x00\x00\x00";
            header[5] = version.minor;
            header[6] = flags;
            header[7] = kind;
            header[8..].copy_from_slice(&if flags & 1 == 1 { size.to_le_bytes() } else { size.to_be_bytes() });
            let at = at.min(stream.len());
            stream.splice(at..(at + 12).min(stream.len()), header);
        }
        let mut inbox = Inbox::new(&MessageLimits { max_message: 64, ..MessageLimits::default() });
        if let Ok(messages) = receive(&mut inbox, &stream, &reads) {
            for message in messages {
                let _ = Frame::parse(&message).map(|frame| frame.message().map(drop));
            }
        }
        prop_assert!(inbox.memory() <= 64 << 10);
    }
}

#[test]
fn a_message_that_alone_fills_the_buffer_is_taken_without_a_copy() {
    let message = request(Version::V1_2, ByteOrder::Little, 1, &vec![7; 100_000]);
    let mut inbox = inbox();
    let mut rest = &message[..];
    while inbox.poll().unwrap().is_none() {
        let n = feed(&mut inbox, rest);
        rest = &rest[n..];
    }
    let at = inbox.frame().bytes.as_ptr();
    let taken = inbox.take();
    assert_eq!(taken.as_ptr(), at);
    assert_eq!(*taken, message);
    assert!(!inbox.mid_message());
    assert_eq!(inbox.poll(), Ok(None));
}

#[test]
fn a_small_message_needs_one_read_and_a_large_one_two() {
    let mut inbox = inbox();
    assert_eq!(inbox.poll(), Ok(None));
    let (_, most) = inbox.room();
    assert!(most >= 4096, "{most}");

    let message = request(Version::V1_2, ByteOrder::Little, 1, &[0; 65_536]);
    let mut rounds = |message: &[u8]| {
        let (mut rest, mut reads) = (message, 0);
        while inbox.poll().unwrap().is_none() {
            let n = feed(&mut inbox, rest);
            rest = &rest[n..];
            reads += 1;
        }
        assert!(rest.is_empty());
        reads
    };
    assert_eq!(rounds(&message), 2);
    assert_eq!(rounds(&message), 1, "the capacity of the last one is used again");
    let slightly_larger = request(Version::V1_2, ByteOrder::Little, 1, &[0; 66_000]);
    assert_eq!(rounds(&slightly_larger), 1);
}

#[test]
fn an_announced_size_costs_at_most_a_step_ahead_of_what_arrived() {
    let limits = MessageLimits { max_message: 1 << 30, ..MessageLimits::default() };
    let mut inbox = Inbox::new(&limits);
    let header = Header {
        version: Version::V1_2,
        order: ByteOrder::Big,
        more_fragments: false,
        kind: MessageType::REQUEST,
        len: Header::LEN as u8,
        size: 1 << 29,
    };
    assert_eq!(feed(&mut inbox, &header.to_bytes()), 12);
    let mut arrived = 12;
    for _ in 0..100 {
        assert_eq!(inbox.poll(), Ok(None));
        arrived += feed(&mut inbox, &[0; 60_000]);
        assert!(
            inbox.memory() <= (2 * arrived).max(arrived + (1 << 20)) + 4096,
            "{}",
            inbox.memory()
        );
    }
    assert!(inbox.mid_message());
}

#[test]
fn memory_of_a_large_message_is_given_back() {
    let limits = MessageLimits { kept_capacity: 64 << 10, ..MessageLimits::default() };
    let mut inbox = Inbox::new(&limits);
    let large = request(Version::V1_2, ByteOrder::Little, 1, &vec![0; 1 << 20]);
    for message in [large.clone(), split(&large, &[1000, 300_000]).concat()] {
        assert_eq!(receive(&mut inbox, &message, &[usize::MAX]).unwrap().len(), 1);
        assert_eq!(inbox.poll(), Ok(None));
        assert!(inbox.memory() <= 200 << 10, "{}", inbox.memory());
    }
}

#[test]
fn a_message_above_the_limit_is_refused_by_its_header() {
    let limits = MessageLimits { max_message: 100, ..MessageLimits::default() };
    let too_large = |size| Violation::Limit {
        what: "size in octets of a message",
        size,
        limit: 100,
        setting: "MaxMessage",
        side: Side::Received,
    };
    let message = request(Version::V1_2, ByteOrder::Little, 1, &[0; 200]);
    let mut inbox = Inbox::new(&limits);
    feed(&mut inbox, &message[..12]);
    assert_eq!(inbox.poll(), Err(too_large(message.len() as u64)));
    assert_eq!(inbox.poll(), Err(too_large(message.len() as u64)), "it stays refused");

    // Each of these fragments is small, but the message that they form is too large.
    let pieces = split(&message, &[50, 100, 150]);
    let mut inbox = Inbox::new(&limits);
    assert!(matches!(
        receive(&mut inbox, &pieces.concat(), &[64]),
        Err(Violation::Limit { setting: "MaxMessage", .. })
    ));
    let text = too_large(248).to_string();
    for part in ["248", "100", "MaxMessage", "received from the peer"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn incomplete_messages_are_limited_in_number_and_octets() {
    let limits = MessageLimits {
        max_partial_messages: 2,
        max_partial_octets: 400,
        ..MessageLimits::default()
    };
    let start = |id, size: usize| {
        let message = request(Version::V1_2, ByteOrder::Big, id, &vec![0; size]);
        split(&message, &[size]).swap_remove(0)
    };
    let mut inbox = Inbox::new(&limits);
    let stream = [start(1, 10), start(2, 10), start(3, 10)].concat();
    assert_eq!(
        receive(&mut inbox, &stream, &[999]),
        Err(Violation::Limit {
            what: "number of incomplete fragmented messages",
            size: 3,
            limit: 2,
            setting: "MaxPartialMessages",
            side: Side::Received,
        })
    );
    let mut inbox = Inbox::new(&limits);
    let stream = [start(1, 200), start(2, 200)].concat();
    assert!(matches!(
        receive(&mut inbox, &stream, &[999]),
        Err(Violation::Limit { setting: "MaxPartialOctets", limit: 400, .. })
    ));
}

/// Returns the kind of a message and the octets of a request's body, which in GIOP 1.1 may be in
/// pieces.
fn in_one(message: &[u8]) -> (MessageType, Vec<u8>) {
    let frame = Frame::parse(message).unwrap();
    let octets = Request::parse(&frame).map(|request| {
        let mut d = frame.decoder(Dialect::new(1)).at(request.body);
        d.octets(100).unwrap().to_vec()
    });
    (frame.header.kind, octets.unwrap_or_default())
}

fn received(inbox: &mut Inbox, stream: &[u8]) -> Vec<(MessageType, Vec<u8>)> {
    let messages = receive(inbox, stream, &[31]).unwrap();
    messages.iter().map(|message| in_one(message)).collect()
}

#[test]
fn a_cancelled_message_is_dropped_and_its_id_free_again() {
    for version in [Version::V1_1, Version::V1_2] {
        let message = request(version, ByteOrder::Little, 5, &[1; 100]);
        let pieces = split(&message, &[60]);
        let cancel = cancel_request(version, ByteOrder::Little, 5).to_vec();
        let stream = [pieces[0].clone(), cancel.clone(), pieces.concat()].concat();
        let mut inbox = inbox();
        assert_eq!(received(&mut inbox, &stream), [in_one(&cancel), in_one(&message)]);
        assert!(!inbox.mid_message());

        let other = cancel_request(version, ByteOrder::Little, 6).to_vec();
        let stream = [pieces[0].clone(), other.clone(), pieces[1].clone()].concat();
        assert_eq!(received(&mut inbox, &stream), [in_one(&other), in_one(&message)]);
    }
}

#[test]
fn fragments_that_do_not_fit_are_refused() {
    let refused = |stream: &[u8]| receive(&mut inbox(), stream, &[999]).unwrap_err();
    for version in [Version::V1_1, Version::V1_2] {
        let message = request(version, ByteOrder::Big, 5, &[1; 100]);
        let pieces = split(&message, &[20, 60]);
        let id = (version == Version::V1_2).then_some(5);
        assert_eq!(refused(&pieces[1]), Violation::Peer(Misbehaviour::OrphanFragment { id }));
        assert_eq!(
            refused(&[&pieces[0][..], &pieces[0]].concat()),
            Violation::Peer(Misbehaviour::DuplicatePartial { id })
        );
        let little = split(&request(version, ByteOrder::Little, 5, &[1; 100]), &[20, 60]);
        assert_eq!(
            refused(&[&pieces[0][..], &little[1]].concat()),
            Violation::Peer(Misbehaviour::FragmentMismatch { id })
        );
    }
    // This Fragment is too short to contain its request id.
    assert_eq!(
        refused(b"GIOP\x01\x02\x00\x07\x00\x00\x00\x02\x00\x00"),
        Violation::Truncated { what: "the request id of a fragmented message", needed: 4, left: 2 }
    );
}

#[test]
fn an_empty_last_fragment_ends_a_message() {
    for version in [Version::V1_1, Version::V1_2] {
        let message = request(version, ByteOrder::Big, 5, &[1; 100]);
        let end = message.len() - 16;
        let pieces = split(&message, &[end, end]);
        assert_eq!(pieces.len(), 3);
        assert_eq!(receive(&mut inbox(), &pieces.concat(), &[17]).unwrap(), [message]);
    }
}

#[test]
fn only_giop_1_2_is_split_and_only_when_too_large() {
    for (version, body, expected) in [
        (Version::V1_0, 500, 1),
        (Version::V1_1, 500, 1),
        (Version::V1_2, 10, 1),
        (Version::V1_2, 500, 5),
    ] {
        let message = request(version, ByteOrder::Big, 5, &vec![1; body]);
        let slices = [IoSlice::new(&message)];
        let pieces: Vec<_> = Fragments::new(&slices, 128).unwrap().collect();
        assert_eq!(pieces.len(), expected, "GIOP {version}, {body} octets");
        if expected == 1 {
            let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
            let sent: Vec<u8> = pieces[0]
                .slices(&slices, &mut slots)
                .iter()
                .flat_map(|slice| slice.to_vec())
                .collect();
            assert_eq!(sent, message);
        }
    }
}

#[test]
fn the_first_fragment_holds_the_whole_header() {
    let key = [7; 300];
    let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    let header = oxorb_giop::RequestHeader {
        id: 1,
        response: oxorb_giop::Response::WithTarget,
        key: oxorb_giop::TargetAddress::Key(&key),
        operation: "op",
        contexts: &[],
        terms: None,
        alias: None,
    };
    let begun = oxorb_giop::begin_request(&mut e, Version::V1_2, &header);
    e.copy_octets(&[1; 500]);
    finish(&mut e, begun).unwrap();
    let message = e.finish().to_vec();
    let slices = [IoSlice::new(&message)];
    let pieces: Vec<_> = Fragments::new(&slices, 64).unwrap().collect();
    assert_eq!(pieces[0].len(), begun.body());
    assert!(pieces[1..].iter().all(|piece| piece.len() <= 64));
}

#[test]
fn complete_and_cancelled_messages_no_longer_count() {
    let message = request(Version::V1_2, ByteOrder::Big, 5, &[1; 300]);
    let limits = MessageLimits {
        max_partial_messages: 1,
        max_partial_octets: message.len() + 100,
        ..MessageLimits::default()
    };
    let pieces = split(&message, &[100, 200]);
    let cancelled = [
        pieces[0].clone(),
        pieces[1].clone(),
        cancel_request(Version::V1_2, ByteOrder::Big, 5).to_vec(),
    ];
    let mut inbox = Inbox::new(&limits);
    for stream in [pieces.concat(), cancelled.concat()] {
        for _ in 0..5 {
            assert_eq!(receive(&mut inbox, &stream, &[77]).map(|all| all.len()), Ok(1));
        }
    }
}
