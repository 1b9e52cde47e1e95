//! Fast paths read and write the same messages as the messaging itself.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{Alias, Begun, Inbox, Messaging, ReplyStatus, Request, Wire};
use oxorb_lite::{ALL, GIOP_LITE_RT};
use proptest::prelude::*;

use crate::common::{feed, inbox, message, request};

/// Returns an inbox that has received a request that defines an alias and one that uses it, if the
/// protocol has aliases.
fn announced(messaging: &'static dyn Messaging) -> Inbox {
    let mut inbox = inbox(messaging);
    for known in [false, true] {
        feed(&mut inbox, &numbered(messaging, known));
    }
    assert!(inbox.poll().unwrap().is_some() && inbox.poll().unwrap().is_some());
    inbox
}

fn numbered(messaging: &'static dyn Messaging, known: bool) -> Vec<u8> {
    let alias = Some(Alias { number: 3, known });
    let header = request(9, b"key", "ping", &[], None, alias);
    message(
        messaging,
        ByteOrder::NATIVE,
        |messaging, e| messaging.begin_request(e, &header),
        |e| e.long(7),
    )
}

/// Returns the message that `begin` starts, with a body of one number.
fn reply(wire: Wire, order: ByteOrder, begin: impl FnOnce(&mut Encoder<'_>) -> Begun) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order, wire.dialect());
    let begun = begin(&mut e);
    e.long(42);
    wire.finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

#[test]
fn replies_to_a_frame_are_those_of_its_messaging() {
    for messaging in ALL {
        let (inbox, wire) = (announced(*messaging), Wire::Other(*messaging));
        let frame = inbox.frame();
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for status in (0..6).map(ReplyStatus) {
                for id in [0, 7, 0x8091_a2b3] {
                    let here = reply(wire, order, |e| frame.begin_reply(e, id, status, &[]));
                    let there = reply(wire, order, |e| messaging.begin_reply(e, id, status, &[]));
                    assert_eq!(here, there, "{} {status:?}", messaging.name());
                }
            }
        }
    }
}

#[test]
fn a_request_with_nothing_but_an_alias_is_read() {
    let inbox = announced(GIOP_LITE_RT);
    let frame = inbox.frame();
    assert!(frame.context.is_some_and(|context| context.aliased().is_some()));
    let request = Request::parse(&frame).unwrap();
    assert_eq!((request.id, request.operation, request.body), (9, "ping", 16));
}

proptest! {
    #[test]
    fn both_ways_of_reading_a_request_agree_whatever_is_damaged(
        at in 0..20usize,
        value in any::<u8>(),
    ) {
        let mut damaged = numbered(GIOP_LITE_RT, true);
        damaged[at] = value;
        let mut inbox = inbox(GIOP_LITE_RT);
        feed(&mut inbox, &numbered(GIOP_LITE_RT, false));
        feed(&mut inbox, &damaged);
        prop_assert!(inbox.poll().unwrap().is_some());
        if let Ok(Some(_)) = inbox.poll() {
            let frame = inbox.frame();
            let [one, other] = [Request::parse(&frame), GIOP_LITE_RT.request(&frame)];
            prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
    }
}
