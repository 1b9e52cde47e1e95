//! First messages of connections, in every prefix: the object and the priority that select the lane of a connection.

use oxorb_cdr::ByteOrder;
use oxorb_giop::{
    FirstMessage, Header, RequestHeader, Response, TargetAddress, begin_request, cancel_request,
    close_connection, finish, message_error,
};
use oxorb_object::{Qos, ServiceContext, Version, context_id, priority_range_context};
use oxorb_testkit::alloc::allocations;

use crate::common::{ORDERS, VERSIONS, encoder, locate, octets, reply};

/// Priority of the callers, in the service context RTCorbaPriority.
const PRIORITY: ServiceContext<'static> =
    ServiceContext { id: context_id::RT_CORBA_PRIORITY, data: &[0, 0, 0x12, 0x34] };

fn request(
    version: Version,
    order: ByteOrder,
    contexts: &[ServiceContext<'_>],
    body: &[u8],
) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = RequestHeader {
        id: 7,
        response: Response::WithTarget,
        key: TargetAddress::Key(b"a key"),
        operation: "operation",
        contexts,
        terms: None,
        alias: None,
    };
    let begun = begin_request(&mut e, version, &header);
    e.copy_octets(body);
    finish(&mut e, begun).expect("a small message");
    e.finish().to_vec()
}

/// Checks that every prefix of a message is incomplete until `expected` is found, at the latest with the last octet;
/// returns the number of octets that were needed.
fn found_after(message: &[u8], expected: FirstMessage<'_>) -> usize {
    let is_found = |end: &usize| FirstMessage::parse(&message[..*end]) != FirstMessage::Incomplete;
    let needed = (0..=message.len()).find(is_found).expect("the message is complete");
    for end in needed..=message.len() {
        assert_eq!(FirstMessage::parse(&message[..end]), expected, "{end} octets");
    }
    let behind = [message, &[0xff; 40]].concat();
    assert_eq!(FirstMessage::parse(&behind), expected, "octets of the next message");
    needed
}

#[test]
fn a_request_is_found_before_its_arguments_have_arrived() {
    let expected = FirstMessage::Request { key: b"a key", priority: Some(0x1234) };
    for (version, order) in VERSIONS.into_iter().flat_map(|it| ORDERS.map(|order| (it, order))) {
        let bare = request(version, order, &[PRIORITY], &[]);
        assert_eq!(found_after(&bare, expected), bare.len(), "{version:?}");
        let long = request(version, order, &[PRIORITY], &[0xaa; 500]);
        let needed = found_after(&long, expected);
        assert!(needed <= bare.len(), "{version:?}: {needed} octets");
    }
}

#[test]
fn the_first_fragment_of_a_request_is_enough() {
    let expected = FirstMessage::Request { key: b"a key", priority: Some(0x1234) };
    for version in [Version::V1_1, Version::V1_2] {
        for order in ORDERS {
            let mut first = request(version, order, &[PRIORITY], &[0xaa; 16]);
            first[6] |= 2; // more fragments follow
            found_after(&first, expected);
            // A first fragment that ends within the header fields.
            let order = ByteOrder::Big;
            let mut short = request(version, order, &[PRIORITY], &[])[..Header::LEN + 4].to_vec();
            short[6] |= 2;
            short[8..12].copy_from_slice(&[0, 0, 0, 4]);
            assert_eq!(found_after(&short, FirstMessage::Other), short.len());
        }
    }
}

#[test]
fn the_priority_comes_from_the_context_the_quality_of_service_or_the_band() {
    let qos = Qos { priority: Some(5), ..Qos::default() }.encode();
    let qos = Qos::context(&qos);
    let band = priority_range_context(10, 19);
    let band = ServiceContext { id: context_id::RT_CORBA_PRIORITY_RANGE, data: &band };
    let broken = ServiceContext { id: context_id::RT_CORBA_PRIORITY_RANGE, data: &[7] };
    let cases: [(&[ServiceContext<'_>], Option<i16>); 6] = [
        (&[], None),
        (&[band, qos, PRIORITY], Some(0x1234)),
        (&[band, qos], Some(5)),
        (&[band], Some(10)),
        (&[broken], None),
        (&[broken, PRIORITY], Some(0x1234)),
    ];
    for (contexts, priority) in cases {
        let message = request(Version::V1_2, ByteOrder::Little, contexts, b"body");
        found_after(&message, FirstMessage::Request { key: b"a key", priority });
    }
}

#[test]
fn other_messages_select_nothing() {
    for (version, order) in VERSIONS.into_iter().flat_map(|it| ORDERS.map(|order| (it, order))) {
        let expected = FirstMessage::Request { key: b"a key", priority: None };
        found_after(&locate(version, order, 3, b"a key"), expected);
        for other in [
            reply(version, order, 3, b"body"),
            cancel_request(version, order, 3).to_vec(),
            close_connection(version, order).to_vec(),
            message_error(version).to_vec(),
        ] {
            assert_eq!(found_after(&other, FirstMessage::Other), Header::LEN);
        }
    }
    // A TLS record, a GIOP version that does not exist, and a request whose key is longer than the message.
    for text in [
        "16030100 c4010000 c0030300",
        "47494f50 01030000 00000001",
        "47494f50 01020000 00000010 00000001 03000000 00000000 7fffffff",
    ] {
        let octets = octets(text);
        found_after(&octets, FirstMessage::Other);
    }
}

#[test]
fn nothing_is_allocated() {
    let message = request(Version::V1_2, ByteOrder::Big, &[PRIORITY], &[0; 100]);
    let ((), made) = allocations(|| {
        for end in 0..=message.len() {
            std::hint::black_box(FirstMessage::parse(&message[..end]));
        }
    });
    assert_eq!(made.count, 0);
}
