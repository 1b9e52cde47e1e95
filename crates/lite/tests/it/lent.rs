//! Messages of both protocols whose large payload the inbox borrows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxorb_cdr::{ByteOrder, Decoder, Octets, Result};
use oxorb_giop::{Alias, Frame, Inbox, Message, Messaging, ReplyStatus, Target};
use oxorb_lend::{Lease, Memory};
use oxorb_lite::{GIOP_LITE, GIOP_LITE_RT};

use crate::common::{inbox, message, request};

/// Payload that counts how often it was returned.
struct Page(Vec<u8>, AtomicUsize);

impl Memory for Page {
    fn copy_to(&self, at: usize, octets: &mut [u8]) {
        octets.copy_from_slice(&self.0[at..at + octets.len()]);
    }
    fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.0[at..at + octets]);
    }
    fn give_back(&self, _ticket: u64) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

const BOTH: [&dyn Messaging; 2] = [GIOP_LITE, GIOP_LITE_RT];

/// Returns a message with or without a known alias, if the protocol has aliases, and the offset of
/// its payload.
fn put(protocol: &'static dyn Messaging, known: bool, payload: &[u8]) -> (Vec<u8>, usize) {
    call(protocol, ("put", 3, known), payload)
}

/// Returns a request of an operation with an alias, known or not.
fn call(
    protocol: &'static dyn Messaging,
    (operation, number, known): (&str, u16, bool),
    payload: &[u8],
) -> (Vec<u8>, usize) {
    let alias = Alias { number, known };
    let alias = (protocol.needs().aliases > 0).then_some(alias);
    let header = request(7, b"the key", operation, &[], None, alias);
    let mut at = 0;
    let message = message(
        protocol,
        ByteOrder::NATIVE,
        |protocol, e| protocol.begin_request(e, &header),
        |e| {
            e.octet(5);
            e.length(payload.len(), None).unwrap();
            e.copy_octets(payload);
            at = e.position() - payload.len();
            e.double(2.5);
        },
    );
    (message, at)
}

fn got(protocol: &'static dyn Messaging, payload: &[u8]) -> (Vec<u8>, usize) {
    let mut at = 0;
    let message = message(
        protocol,
        ByteOrder::NATIVE,
        |protocol, e| protocol.begin_reply(e, 7, ReplyStatus::NO_EXCEPTION, &[]),
        |e| {
            e.octet(5);
            e.length(payload.len(), None).unwrap();
            e.copy_octets(payload);
            at = e.position() - payload.len();
            e.double(2.5);
        },
    );
    (message, at)
}

fn body(frame: &Frame<'_>) -> usize {
    match frame.message() {
        Ok(Message::Request(request)) => {
            assert_eq!((request.id, request.target), (7, Target::Key(b"the key")));
            assert_eq!(request.operation, "put");
            request.body
        }
        Ok(Message::Reply(reply)) => {
            assert_eq!((reply.id, reply.status), (7, ReplyStatus::NO_EXCEPTION));
            reply.body
        }
        other => panic!("{other:?}"),
    }
}

fn values<'d>(d: &mut Decoder<'d>) -> Result<(u8, Octets<'d>, f64)> {
    Ok((d.octet()?, Octets::decode_from(d)?, d.double()?))
}

/// Feeds a message of which `octets` octets from `at` on are lent.
fn lend(inbox: &mut Inbox, message: &[u8], at: usize, octets: usize) -> Arc<Page> {
    let page = Arc::new(Page(message[at..at + octets].to_vec(), AtomicUsize::new(0)));
    inbox.room().0.extend_from_slice(&message[..at]);
    assert_eq!(inbox.poll(), Ok(None));
    assert!(inbox.borrows().is_some_and(|most| most >= octets), "at {at}");
    inbox.lend(Lease::new(page.clone(), 0, octets, 0));
    assert_eq!(inbox.poll(), Ok(None));
    inbox.room().0.extend_from_slice(&message[at + octets..]);
    page
}

#[test]
fn values_around_a_gap_are_read_as_if_it_were_none() {
    for protocol in BOTH {
        let mut inbox = inbox(protocol);
        for octets in 20_000..20_009 {
            let payload: Vec<u8> = (0..octets).map(|octet| (octet % 249) as u8).collect();
            // The first message defines the alias, if the protocol has aliases.
            let first = put(protocol, octets > 20_000, &payload);
            for (message, at) in [first, got(protocol, &payload)] {
                let page = lend(&mut inbox, &message, at, octets);
                assert!(inbox.poll().unwrap().is_some());
                let frame = inbox.frame();
                let dialect = frame.wire().dialect();
                let mut d = frame.decoder_in_place(dialect, body(&frame));
                let (first, leased, number) = values(&mut d).unwrap();
                d.finish().unwrap();
                assert!(leased.is_leased());
                assert_eq!((first, number), (5, 2.5), "{octets}");
                assert_eq!(leased.into_vec(), payload);
                assert_eq!(inbox.poll(), Ok(None));
                assert_eq!(page.1.load(Ordering::Relaxed), 1);
            }
        }
    }
}

/// Passes a request to an inbox, and returns whether its payload could be lent. If `copies` is
/// true, the servant copies the payload.
fn lends(inbox: &mut Inbox, protocol: &'static dyn Messaging, known: bool, copies: bool) -> bool {
    let payload = vec![6; 30_000];
    let name = if copies { ("copy", 4) } else { ("put", 3) };
    let (message, at) = call(protocol, (name.0, name.1, known), &payload);
    inbox.room().0.extend_from_slice(&message[..at]);
    assert_eq!(inbox.poll(), Ok(None));
    let lends = inbox.borrows().is_some();
    match lends {
        true => {
            let page = Arc::new(Page(payload.clone(), AtomicUsize::new(0)));
            assert!(!inbox.lend(Lease::new(page, 0, payload.len(), 0)));
        }
        false => inbox.room().0.extend_from_slice(&payload),
    }
    inbox.room().0.extend_from_slice(&message[at + payload.len()..]);
    assert!(inbox.poll().unwrap().is_some());
    let frame = inbox.frame();
    let Ok(Message::Request(request)) = frame.message() else {
        panic!("no request");
    };
    assert_eq!(request.operation, name.0);
    let dialect = frame.wire().dialect();
    let mut d = match copies {
        true => frame.decoder_at(dialect, request.body),
        false => frame.decoder_in_place(dialect, request.body),
    };
    let octets = values(&mut d).unwrap().1;
    assert_eq!(octets.is_leased(), lends && !copies);
    assert_eq!(octets.into_vec(), payload);
    assert_eq!(inbox.poll(), Ok(None));
    lends
}

/// If an operation copies its payload, the inbox reads most of its requests as they arrive and only
/// sometimes tries to borrow. This also applies to requests with aliases, and to alternating
/// operations.
#[test]
fn an_operation_that_copies_is_read_as_it_comes_and_tried_again() {
    for protocol in BOTH {
        let mut inbox = inbox(protocol);
        assert!(lends(&mut inbox, protocol, false, false));
        assert!(lends(&mut inbox, protocol, false, true), "the name");
        let _ = lends(&mut inbox, protocol, true, true);
        let mut lent = 0;
        for _ in 0..64 {
            assert!(lends(&mut inbox, protocol, true, false));
            lent += u32::from(lends(&mut inbox, protocol, true, true));
        }
        assert_eq!(lent, 4, "{protocol:?}");
        inbox.always_borrow();
        assert!((0..40).all(|_| lends(&mut inbox, protocol, true, true)));
    }
}

/// The sender chooses the gap's position, even in the header or right after it.
#[test]
fn wherever_the_gap_is_the_message_is_the_one_that_was_sent() {
    let payload = [9; 40_000];
    for protocol in BOTH {
        for known in [false, true] {
            let (message, payload_at) = put(protocol, known, &payload);
            for at in (8..payload_at).chain([payload_at + 3, payload_at + 10_000]) {
                let mut inbox = inbox(protocol);
                if known {
                    inbox.room().0.extend(put(protocol, false, &[]).0);
                    assert!(inbox.poll().unwrap().is_some());
                    assert_eq!(inbox.poll(), Ok(None));
                }
                let page = lend(&mut inbox, &message, at, 17_000);
                if at % 2 == 0 {
                    // `peek_frame` must show the same message.
                    body(&inbox.peek_frame().expect("it is whole"));
                }
                assert!(inbox.poll().unwrap().is_some(), "{at}");
                let frame = inbox.frame();
                assert_eq!(frame.whole(), message, "{at}");
                let mut d = frame.decoder_at(frame.wire().dialect(), body(&frame));
                let (_, octets, number) = values(&mut d).unwrap();
                assert_eq!((octets.into_vec(), number), (payload.to_vec(), 2.5), "{at}");
                inbox.discard();
                assert_eq!(page.1.load(Ordering::Relaxed), 1);
            }
        }
    }
}

#[test]
fn a_reply_is_taken_apart_and_read_elsewhere() {
    let payload = vec![8; 30_000];
    for protocol in BOTH {
        let mut inbox = inbox(protocol);
        let (message, at) = got(protocol, &payload);
        let page = lend(&mut inbox, &message, at, payload.len());
        inbox.room().0.extend_from_slice(&message);
        assert!(inbox.poll().unwrap().is_some());
        let context = inbox.context().cloned();
        let (rest, gap) = inbox.take_apart();
        assert_eq!(rest.len(), message.len() - payload.len());
        assert!(inbox.poll().unwrap().is_some(), "what follows is there");
        let (whole, none) = inbox.take_apart();
        assert!(*whole == message && none.is_none());
        drop(inbox);
        let frame = Frame::parse_lent(&rest, context.as_ref(), gap.as_deref()).unwrap();
        let mut d = frame.decoder_in_place(frame.wire().dialect(), body(&frame));
        let (_, octets, number) = values(&mut d).unwrap();
        assert_eq!((octets.is_leased(), number), (true, 2.5));
        assert_eq!(page.1.load(Ordering::Relaxed), 0);
        assert_eq!(octets.into_vec(), payload);
        drop(gap);
        assert_eq!(page.1.load(Ordering::Relaxed), 1);
    }
}
