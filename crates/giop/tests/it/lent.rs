//! Requests and replies whose large payload the inbox borrows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder, Octets, Result};
use oxorb_giop::{
    Inbox, Message, MessageLimits, Request, RequestHeader, Response, TargetAddress, begin_request,
    cancel_request, finish,
};
use oxorb_lend::{Lease, Memory};
use oxorb_object::Version;

/// Payload that counts how often it was given back.
struct Page {
    octets: Vec<u8>,
    back: AtomicUsize,
}

impl Page {
    fn of(octets: &[u8]) -> Arc<Self> {
        Arc::new(Self { octets: octets.to_vec(), back: AtomicUsize::new(0) })
    }

    fn lend(self: &Arc<Self>) -> Lease {
        Lease::new(Arc::clone(self) as Arc<dyn Memory>, 0, self.octets.len(), 0)
    }

    fn back(&self) -> usize {
        self.back.load(Ordering::Relaxed)
    }
}

impl Memory for Page {
    fn copy_to(&self, at: usize, octets: &mut [u8]) {
        octets.copy_from_slice(&self.octets[at..at + octets.len()]);
    }
    fn append_to(&self, at: usize, octets: usize, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.octets[at..at + octets]);
    }
    fn give_back(&self, _ticket: u64) {
        self.back.fetch_add(1, Ordering::Relaxed);
    }
}

const KEY: &[u8] = &[7; 40_000];

/// Returns a request with a payload between other arguments, and the offset of the payload.
fn request(payload: &[u8], key: &[u8]) -> (Vec<u8>, usize) {
    request_of("put", payload, key)
}

fn request_of(operation: &str, payload: &[u8], key: &[u8]) -> (Vec<u8>, usize) {
    let mut e = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::new(2));
    let header = RequestHeader {
        id: 7,
        response: Response::WithTarget,
        key: TargetAddress::Key(key),
        operation,
        contexts: &[],
        terms: None,
        alias: None,
    };
    let begun = begin_request(&mut e, Version::V1_2, &header);
    e.octet(5);
    e.sequence(payload, None).unwrap();
    let at = e.position() - payload.len();
    e.double(2.5);
    e.octet(9);
    finish(&mut e, begun).unwrap();
    (e.finish().to_vec(), at)
}

fn arguments<'d>(d: &mut Decoder<'d>) -> Result<(u8, Octets<'d>, f64, u8)> {
    Ok((d.octet()?, Octets::decode_from(d)?, d.double()?, d.octet()?))
}

/// Returns an inbox that received a message whose octets from `at` on were lent.
fn arrived(message: &[u8], at: usize, page: &Arc<Page>, behind: &[u8]) -> Inbox {
    let mut inbox = Inbox::new(&MessageLimits::default());
    assert_eq!(inbox.borrows(), None);
    inbox.room().0.extend_from_slice(&message[..at]);
    assert_eq!(inbox.poll(), Ok(None));
    assert_eq!(inbox.borrows(), Some(message.len() - at));
    inbox.lend(page.lend());
    assert_eq!(inbox.borrows(), None);
    let tail = &message[at + page.octets.len()..];
    for octet in tail {
        assert_eq!(inbox.poll(), Ok(None));
        assert!(inbox.peek().is_none());
        inbox.room().0.push(*octet);
    }
    inbox.room().0.extend_from_slice(behind);
    inbox
}

fn payload(octets: usize) -> Vec<u8> {
    (0..octets).map(|octet| (octet % 249) as u8).collect()
}

#[test]
fn arguments_around_a_gap_are_read_as_if_it_were_none() {
    for octets in 20_000..20_009 {
        let payload = payload(octets);
        let (page, (message, at)) = (Page::of(&payload), request(&payload, b"key"));
        let mut inbox = arrived(&message, at, &page, &[]);
        assert!(inbox.poll().unwrap().is_some());
        let frame = inbox.frame();
        let request = Request::parse(&frame).unwrap();
        let mut d = frame.decoder_in_place(Dialect::new(2), request.body);
        let (first, leased, number, last) = arguments(&mut d).unwrap();
        assert_eq!(d.position(), message.len());
        d.finish().unwrap();
        assert!(leased.is_leased() && frame.gap.unwrap().was_taken());
        assert_eq!((first, number, last), (5, 2.5, 9));
        assert_eq!((leased.len(), page.back()), (octets, 0));
        let leased = leased.into_owned();
        assert_eq!(inbox.poll(), Ok(None));
        assert!(!inbox.mid_message());
        assert_eq!(page.back(), 0, "the lease outlives the message");
        assert_eq!(leased.into_vec(), payload);
        assert_eq!(page.back(), 1);
    }
}

/// Passes a request to an inbox, and returns whether its payload could be lent. `copies`: whether
/// the servant takes a copy.
fn lends(inbox: &mut Inbox, operation: &str, copies: bool) -> bool {
    let payload = payload(30_000);
    let (message, at) = request_of(operation, &payload, b"key");
    let page = Page::of(&payload);
    inbox.room().0.extend_from_slice(&message[..at]);
    assert_eq!(inbox.poll(), Ok(None));
    let lends = inbox.borrows().is_some();
    match lends {
        true => assert!(!inbox.lend(page.lend())),
        false => {
            let (first, second) = payload.split_at(17_000);
            inbox.room().0.extend_from_slice(first);
            assert_eq!((inbox.poll(), inbox.borrows()), (Ok(None), None));
            inbox.room().0.extend_from_slice(second);
        }
    }
    inbox.room().0.extend_from_slice(&message[at + 30_000..]);
    assert!(inbox.poll().unwrap().is_some());
    let frame = inbox.frame();
    let body = Request::parse(&frame).unwrap().body;
    let mut d = match copies {
        true => frame.decoder_at(Dialect::new(2), body),
        false => frame.decoder_in_place(Dialect::new(2), body),
    };
    let octets = arguments(&mut d).unwrap().1;
    assert_eq!(octets.is_leased(), lends && !copies);
    assert_eq!(octets.into_vec(), payload);
    assert_eq!(inbox.poll(), Ok(None));
    lends
}

#[test]
fn an_operation_that_copies_is_read_as_it_comes_and_tried_again() {
    let mut inbox = Inbox::new(&MessageLimits::default());
    assert!((0..40).all(|_| lends(&mut inbox, "put", false)));
    assert!(lends(&mut inbox, "copy", true), "nobody knows it yet");
    let lent = (0..64).filter(|_| lends(&mut inbox, "copy", true)).count();
    assert_eq!(lent, 4);
    assert!((0..40).all(|_| lends(&mut inbox, "put", false)));
    // From now on, the operation reads its payloads in place. The inbox observes this when it next lends one on trial.
    let read = (0..64).filter(|_| !lends(&mut inbox, "copy", false));
    assert_eq!(read.count(), 15);
    assert!((0..40).all(|_| lends(&mut inbox, "copy", false)));
}

/// However many operations copy their payloads, the payloads of an operation that does not copy are lent.
#[test]
fn notes_about_other_operations_cost_nobody_a_lease() {
    let mut inbox = Inbox::new(&MessageLimits::default());
    let name = |at: usize| format!("{}{at}", "a".repeat(at % 97));
    for at in 0..500 {
        assert!(lends(&mut inbox, &name(at), true), "{at}");
    }
    for at in 500..1000 {
        assert!(lends(&mut inbox, &name(at), false), "{at}");
    }
    // Two operations alternate, one of which copies. The payloads of the other one are always lent.
    assert!((0..200).all(|_| {
        lends(&mut inbox, "copy", true);
        lends(&mut inbox, "put", false)
    }));
    // Once a payload of an operation was lent on trial and read in place, all later ones are lent, even if the
    // operation copies some of them.
    assert!(lends(&mut inbox, "both", true));
    let tried = (0..40).position(|_| lends(&mut inbox, "both", false));
    assert_eq!(tried, Some(15));
    assert!((0..40).all(|at| lends(&mut inbox, "both", at % 3 != 0)));
}

#[test]
fn who_needs_leases_has_all_that_can_be_lent() {
    let mut inbox = Inbox::new(&MessageLimits::default());
    assert!(lends(&mut inbox, "copy", true));
    assert!(!lends(&mut inbox, "copy", true));
    inbox.always_borrow();
    assert!((0..40).all(|at| lends(&mut inbox, "copy", at % 2 == 0)));
}

/// Copying a request in order to keep it does not count as a copy by the servant.
#[test]
fn a_copy_of_a_message_that_is_kept_leaves_the_lease_where_it_is() {
    let payload = payload(30_000);
    let (message, at) = request(&payload, b"key");
    let mut page = Page::of(&payload);
    for _ in 0..3 {
        let mut inbox = arrived(&message, at, &page, &[]);
        inbox.poll().unwrap();
        let frame = inbox.frame();
        assert_eq!(frame.to_whole(), message);
        assert_eq!((frame.to_whole(), page.back()), (message.clone(), 0));
        assert_eq!(inbox.poll(), Ok(None));
        assert_eq!(page.back(), 1);
        page = Page::of(&payload);
        inbox.room().0.extend_from_slice(&message[..at]);
        assert_eq!(inbox.poll(), Ok(None));
        assert!(inbox.borrows().is_some(), "it is lent again");
    }
}

#[test]
fn who_does_not_know_of_gaps_gets_the_whole_message() {
    let payload = payload(30_000);
    let (message, at) = request(&payload, b"key");
    let page = Page::of(&payload);
    let mut inbox = arrived(&message, at, &page, &[]);
    inbox.poll().unwrap();
    let frame = inbox.frame();
    let body = Request::parse(&frame).unwrap().body;
    // First decode a sequence of another type, which is not the lent payload. No octets are taken from the gap for it.
    let mut d = frame.decoder_in_place(Dialect::new(2), body);
    let _ = d.sequence::<u64>(None);
    assert!(!frame.gap.unwrap().was_taken());
    let mut d = frame.decoder_at(Dialect::new(2), body);
    let (_, octets, number, _) = arguments(&mut d).unwrap();
    assert_eq!((octets.as_slice(), number), (Some(&payload[..]), 2.5));
    assert_eq!(frame.whole(), message);
    inbox.discard();
    assert_eq!(page.back(), 1);

    let mut inbox = arrived(&message, at, &page, b"GIOP");
    inbox.poll().unwrap();
    assert_eq!(*inbox.take(), message);
    assert!(inbox.mid_message());
    assert_eq!(page.back(), 2);
}

#[test]
fn a_message_with_a_gap_moves_to_another_inbox_and_others_follow_it() {
    let payload = payload(30_000);
    let (message, at) = request(&payload, b"key");
    let page = Page::of(&payload);
    let cancel = cancel_request(Version::V1_2, ByteOrder::Little, 7);
    let behind = [&message[..], &cancel].concat();
    let mut inbox = arrived(&message, at, &page, &behind);
    inbox.poll().unwrap();
    assert!(inbox.is_cancelled(7));
    let mut other = Inbox::new(&MessageLimits::default());
    inbox.split_to(&mut other);
    assert_eq!(other.frame().whole(), message);
    drop(other);
    assert_eq!(page.back(), 1);
    assert!(inbox.poll().unwrap().is_some());
    assert_eq!(inbox.frame().bytes, message);
    inbox.poll().unwrap();
    assert!(matches!(inbox.frame().message(), Ok(Message::CancelRequest(_))));
    assert_eq!(inbox.poll(), Ok(None));
}

/// The sender chooses the gap's position, which need not be that of an argument.
#[test]
fn what_is_no_argument_is_copied_before_it_is_looked_at() {
    let (message, _) = request(b"payload", KEY);
    let at = message.len() - KEY.len();
    for at in [12, 20, at / 2, at + 5000] {
        let page = Page::of(&message[at..at + 30_000]);
        let mut inbox = arrived(&message, at, &page, &message);
        for _ in 0..2 {
            assert!(inbox.poll().unwrap().is_some());
            let frame = inbox.frame();
            assert!(frame.gap.is_none() && frame.bytes == message, "{at}");
            assert_eq!(page.back(), 1);
        }
        assert_eq!(inbox.poll(), Ok(None));
    }
    // These gaps begin within the length that precedes the payload, and within the payload.
    let payload = payload(50_000);
    let (message, at) = request(&payload, b"key");
    for at in [at - 2, at + 3, at + 8] {
        let page = Page::of(&message[at..at + 30_000]);
        let mut inbox = arrived(&message, at, &page, &[]);
        inbox.poll().unwrap();
        let frame = inbox.frame();
        let body = Request::parse(&frame).unwrap().body;
        let _ = arguments(&mut frame.decoder_in_place(Dialect::new(2), body));
        assert!(!frame.gap.unwrap().was_taken());
        assert_eq!(frame.whole(), message);
    }
}

#[test]
fn other_messages_and_fragments_and_small_requests_are_read() {
    let (mut message, at) = request(&payload(30_000), b"key");
    let mut start = |kind: u8, flags: u8, octets: usize| {
        (message[7], message[6]) = (kind, flags);
        let mut inbox = Inbox::new(&MessageLimits::default());
        inbox.room().0.extend_from_slice(&message[..octets]);
        assert_eq!(inbox.poll(), Ok(None));
        inbox.borrows()
    };
    assert!(start(0, 1, at).is_some());
    assert!(start(1, 1, at).is_some());
    for other in [2, 3, 4, 5, 6, 7] {
        assert_eq!(start(other, 1, at), None);
    }
    assert_eq!(start(0, 3, at), None);
    assert_eq!(start(0, 1, 20_000), None, "less than a large payload is left");
}

#[test]
fn who_looks_ahead_at_a_gap_in_the_header_sees_the_whole_message() {
    let (message, at) = (request(b"small", KEY).0, 40);
    let page = Page::of(&message[at..at + 20_000]);
    let mut inbox = arrived(&message, at, &page, &[]);
    let frame = inbox.peek_frame().unwrap();
    assert!(frame.gap.is_none() && frame.bytes == message);
    assert_eq!(page.back(), 1);
}

#[test]
fn memory_for_copies_is_spare_and_given_back() {
    let payload = payload(30_000);
    let (message, at) = request(&payload, b"key");
    let mut inbox = arrived(&message, at, &Page::of(&payload), &[]);
    inbox.poll().unwrap();
    assert_eq!(inbox.frame().whole().len(), message.len());
    assert_eq!(inbox.poll(), Ok(None));
    assert!(inbox.spare() >= message.len());
    inbox.shrink_to(1_000);
    assert!(inbox.spare() < 20_000, "{}", inbox.spare());
}
