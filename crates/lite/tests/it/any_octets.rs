//! Arbitrary octets, divided into reads at arbitrary points.

use oxorb_cdr::ByteOrder;
use oxorb_giop::{Alias, Message, Messaging, Terms};
use oxorb_lite::{ALL, fuzz};
use proptest::prelude::*;

use crate::common::{feed, inbox, message, request};

fn written(
    messaging: &'static dyn Messaging,
    little: bool,
    key: &[u8],
    operation: &str,
    terms: Option<Terms>,
    body: &[u8],
) -> Vec<u8> {
    let alias = Alias { number: 3, known: false };
    let order = match messaging.needs().same_order {
        true => ByteOrder::NATIVE,
        false => ByteOrder::from_flag(little),
    };
    let header = request(9, key, operation, &[], terms, Some(alias));
    message(
        messaging,
        order,
        |messaging, e| messaging.begin_request(e, &header),
        |e| e.copy_octets(body),
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_in_any_split(
        protocol in 0..ALL.len(),
        little in any::<bool>(),
        key in prop::collection::vec(any::<u8>(), 0..40),
        operation in "[a-z_]{1,9}",
        priority in prop::option::of(0..i16::MAX),
        within in prop::option::of(0..1u64 << 40),
        body in prop::collection::vec(any::<u8>(), 0..20),
        split in 1..20usize,
    ) {
        let messaging = ALL[protocol];
        let terms = (priority.is_some() || within.is_some()).then_some(Terms { priority, within });
        let octets = written(messaging, little, &key, &operation, terms, &body);
        let mut inbox = inbox(messaging);
        let mut read = false;
        for piece in octets.chunks(split) {
            feed(&mut inbox, piece);
            prop_assert!(!read);
            if inbox.poll().unwrap().is_some() {
                read = true;
                let frame = inbox.frame();
                let Ok(Message::Request(request)) = frame.message() else {
                    panic!("a request")
                };
                prop_assert_eq!(request.id, 9);
                prop_assert_eq!(request.target.object_key().unwrap(), &key[..]);
                prop_assert_eq!(request.operation, &operation);
                prop_assert_eq!(frame.terms(), terms.filter(|_| !messaging.needs().no_contexts));
                prop_assert_eq!(&frame.bytes[request.body..], &body[..]);
            }
        }
        prop_assert!(read);
    }

    /// An inbox parses common headers itself, with the same result as the messaging.
    #[test]
    fn an_inbox_reads_headers_as_the_messaging_does(
        protocol in 0..ALL.len(),
        damage in prop::option::of((0..8usize, any::<u8>())),
        size in prop::array::uniform4(0..3u8),
        kind in 0..9u8,
        mark in 0..3u8,
    ) {
        let messaging = ALL[protocol];
        let [s0, s1, s2, s3] = size;
        let mut start = match messaging.start() {
            5 => vec![s0, s1, s2, s3, kind],
            _ => vec![mark, 0x10 | kind, 0xff, 0xff, s0, s1, s2, s3],
        };
        if let Some((at, value)) = damage && let Some(octet) = start.get_mut(at) {
            *octet = value;
        }
        let asked = messaging.header(&start);
        let mut inbox = inbox(messaging);
        feed(&mut inbox, &start);
        feed(&mut inbox, &[0; 1 << 12]);
        match (asked, inbox.poll()) {
            (Ok(asked), Ok(Some(read))) => prop_assert_eq!(asked, read),
            (Ok(asked), Ok(None)) => prop_assert!(asked.total() > start.len() + (1 << 12)),
            // The message is too large, or it is a request with an undefined alias.
            (Ok(_), Err(_)) => {}
            (Err(asked), read) => prop_assert_eq!(Err(asked), read),
        }
    }

    #[test]
    fn damaged_messages_and_noise_are_survived(
        protocol in 0..ALL.len(),
        read in any::<u8>(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        damage in prop::collection::vec((0..60usize, any::<u8>()), 0..4),
        whole in any::<bool>(),
    ) {
        let messaging = ALL[protocol];
        let mut octets = written(messaging, true, b"key", "add", None, b"args");
        for (at, value) in damage {
            if let Some(octet) = octets.get_mut(at) {
                *octet = value;
            }
        }
        let start = [protocol as u8, read];
        let stream = if whole { &octets } else { &noise };
        fuzz::receive(&[&start[..], stream, stream].concat());
    }
}
