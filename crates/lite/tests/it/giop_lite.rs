//! GIOPlite compared with octets written by hand from TAO's old sources.

use oxorb_cdr::{ByteOrder, Decode, Encoder};
use oxorb_giop::{
    LocateStatus, Message, MessageLimits, MessageType, Misbehaviour, ReplyStatus, RequestHeader,
    Response, Target, TargetAddress, Unsupported, Violation,
};
use oxorb_lite::GIOP_LITE;
use oxorb_object::{Ior, ServiceContext};

use crate::common::{feed, inbox, inbox_with, message, octets, request, violation};

const NATIVE: ByteOrder = ByteOrder::NATIVE;

/// Returns the header and the numbers of a message; parts that depend on the byte order are swapped
/// where necessary.
fn native(parts: &[(&str, bool)]) -> Vec<u8> {
    let mut message = Vec::new();
    for (text, number) in parts {
        let mut part = octets(text);
        if *number && NATIVE == ByteOrder::Big {
            part.reverse();
        }
        message.extend(part);
    }
    message
}

#[test]
fn a_request_has_no_magic_no_contexts_and_no_padding_before_its_arguments() {
    let expected = native(&[
        ("1f000000", true), // octets after the header
        ("00", false),      // Request
        ("000000", false),  // alignment counts from the start
        ("07000000", true),
        ("01", false), // two-way
        ("000000", false),
        ("03000000", true),
        ("6b657900", false),
        ("04000000", true),
        ("61646400", false),
        ("2a000000", true),
    ]);
    let context = ServiceContext { id: 10, data: &[0, 0, 0, 5] };
    let contexts = [context];
    let header = request(7, b"key", "add", &contexts, None, None);
    let written =
        message(GIOP_LITE, NATIVE, |lite, e| lite.begin_request(e, &header), |e| e.long(42));
    assert_eq!(written, expected);

    let mut inbox = inbox(GIOP_LITE);
    feed(&mut inbox, &written);
    let header = inbox.poll().unwrap().expect("a whole message");
    assert_eq!((header.kind, header.total()), (MessageType::REQUEST, 36));
    let frame = inbox.frame();
    let Ok(Message::Request(read)) = frame.message() else { panic!("a request") };
    assert_eq!((read.id, read.response), (7, Response::WithTarget));
    assert_eq!((read.target, read.operation), (Target::Key(b"key"), "add"));
    assert!(read.contexts.is_empty());
    assert_eq!(frame.request_id(), 7);
    let dialect = frame.wire().dialect();
    assert_eq!(frame.decoder(dialect).at(read.body).long(), Ok(42));
}

#[test]
fn response_flags_are_those_of_tao() {
    for (response, flags) in
        [(Response::None, 0), (Response::WithServer, 129), (Response::WithTarget, 1)]
    {
        let header = RequestHeader { response, ..request(1, b"k", "f", &[], None, None) };
        let begin =
            |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| lite.begin_request(e, &header);
        let mut written = message(GIOP_LITE, NATIVE, begin, |_| {});
        assert_eq!(written[12], flags);
        let read = |octets: &[u8]| {
            let mut inbox = inbox(GIOP_LITE);
            feed(&mut inbox, octets);
            inbox.poll().unwrap();
            match inbox.frame().message() {
                Ok(Message::Request(request)) => request.response,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read(&written), response);
        written[12] = 3; // SYNC_WITH_TARGET
        assert_eq!(read(&written), Response::WithTarget);
    }
}

#[test]
fn a_reply_has_its_body_at_sixteen() {
    let expected = native(&[
        ("0f000000", true),
        ("01", false),
        ("000000", false),
        ("07000000", true),
        ("00000000", true),
        ("2a000000", true),
    ]);
    let begin = |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| {
        lite.begin_reply(e, 7, ReplyStatus::NO_EXCEPTION, &[])
    };
    let written = message(GIOP_LITE, NATIVE, begin, |e| e.long(42));
    assert_eq!(written, expected);
    let mut inbox = inbox(GIOP_LITE);
    feed(&mut inbox, &written);
    inbox.poll().unwrap();
    let frame = inbox.frame();
    let Ok(Message::Reply(reply)) = frame.message() else { panic!("a reply") };
    assert_eq!((reply.id, reply.status, reply.body), (7, ReplyStatus::NO_EXCEPTION, 16));
}

#[test]
fn a_permanent_forward_goes_as_one_for_now() {
    let begin = |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| {
        lite.begin_reply(e, 7, ReplyStatus::LOCATION_FORWARD_PERM, &[])
    };
    let written = message(GIOP_LITE, NATIVE, begin, |e| {
        e.ulong(1); // the reference to nothing
        e.octet(0);
        e.ulong(0);
    });
    let mut inbox = inbox(GIOP_LITE);
    feed(&mut inbox, &written);
    inbox.poll().unwrap();
    let frame = inbox.frame();
    let Ok(Message::Reply(reply)) = frame.message() else { panic!("a reply") };
    assert_eq!(reply.status, ReplyStatus::LOCATION_FORWARD);
    let mut body = frame.decoder(frame.wire().dialect()).at(reply.body);
    assert_eq!(Ior::decode(&mut body), Ok(Ior::default()));
}

#[test]
fn locating() {
    let expected = native(&[
        ("0e000000", true),
        ("03", false),
        ("000000", false),
        ("09000000", true),
        ("03000000", true),
        ("6b6579", false),
    ]);
    let begin = |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| {
        lite.begin_locate_request(e, 9, TargetAddress::Key(b"key"))
    };
    let written = message(GIOP_LITE, NATIVE, begin, |_| {});
    assert_eq!(written, expected);
    let mut inbox = inbox(GIOP_LITE);
    feed(&mut inbox, &written);
    let begin = |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| {
        lite.begin_locate_reply(e, 9, LocateStatus::OBJECT_HERE)
    };
    feed(&mut inbox, &message(GIOP_LITE, NATIVE, begin, |_| {}));
    inbox.poll().unwrap();
    match inbox.frame().message() {
        Ok(Message::LocateRequest(locate)) => {
            assert_eq!((locate.id, locate.target), (9, Target::Key(b"key")));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(inbox.poll().unwrap().map(|header| header.total()), Some(16));
    match inbox.frame().message() {
        Ok(Message::LocateReply(reply)) => {
            assert_eq!((reply.id, reply.status), (9, LocateStatus::OBJECT_HERE));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn cancel_close_and_error_have_their_type_at_offset_four() {
    let cancel =
        native(&[("07000000", true), ("02", false), ("000000", false), ("09000000", true)]);
    assert_eq!(*GIOP_LITE.cancel(NATIVE, 9).unwrap(), *cancel);
    assert_eq!(*GIOP_LITE.close(NATIVE).unwrap(), [0, 0, 0, 0, 5]);
    // TAO swapped both fields of a MessageError: it wrote the type at offset 0 and the size after
    // it.
    assert_eq!(*GIOP_LITE.error().unwrap(), [0, 0, 0, 0, 6]);
    let mut inbox = inbox(GIOP_LITE);
    for short in [GIOP_LITE.cancel(NATIVE, 9), GIOP_LITE.close(NATIVE), GIOP_LITE.error()] {
        feed(&mut inbox, &short.unwrap());
    }
    inbox.poll().unwrap();
    assert!(matches!(
        inbox.frame().message(),
        Ok(Message::CancelRequest(cancel)) if cancel.id == 9
    ));
    inbox.poll().unwrap();
    assert!(matches!(inbox.frame().message(), Ok(Message::CloseConnection)));
    inbox.poll().unwrap();
    assert!(matches!(inbox.frame().message(), Ok(Message::MessageError)));
    assert_eq!(inbox.poll(), Ok(None));
}

#[test]
fn a_machine_of_the_other_byte_order_is_told_apart_by_its_absurd_sizes() {
    let header = request(7, b"key", "add", &[], None, None);
    let begin =
        |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| lite.begin_request(e, &header);
    let mut foreign = message(GIOP_LITE, NATIVE, begin, |_| {});
    foreign[..4].reverse();
    let wrong = violation(GIOP_LITE, &foreign);
    assert_eq!(
        wrong,
        Violation::Peer(Misbehaviour::OtherByteOrder {
            protocol: "GIOPlite",
            size: 27 << 24,
            swapped: 27,
        })
    );
    assert!(wrong.to_string().contains("no byte-order mark"), "{wrong}");
}

#[test]
fn what_is_too_large_in_both_byte_orders_is_too_large() {
    let limits = MessageLimits { max_message: 64, ..MessageLimits::default() };
    let mut inbox = inbox_with(GIOP_LITE, &limits);
    feed(&mut inbox, &[&60u32.to_ne_bytes()[..], &[0]].concat());
    assert!(matches!(
        inbox.poll(),
        Err(Violation::Limit { size: 65, limit: 64, setting: "MaxMessage", .. })
    ));
}

#[test]
fn other_protocols_and_damaged_messages_are_named() {
    let giop = violation(GIOP_LITE, b"GIOP\x01\x02\x01\0\0\0\0\0");
    assert_eq!(
        giop,
        Violation::Peer(Misbehaviour::Protocol { expected: "GIOPlite", start: *b"GIOP" })
    );
    assert!(giop.to_string().contains("\"GIOP\""), "{giop}");
    assert_eq!(
        violation(GIOP_LITE, &[0, 0, 0, 0, 7]),
        Violation::Unsupported(Unsupported::MessageType(MessageType::FRAGMENT))
    );
    for kind in 0..5 {
        assert_eq!(
            violation(GIOP_LITE, &[0, 0, 0, 0, kind]),
            Violation::Peer(Misbehaviour::Empty(MessageType(kind)))
        );
    }
    let header = request(7, b"key", "add", &[], None, None);
    let begin =
        |lite: &dyn oxorb_giop::Messaging, e: &mut Encoder<'_>| lite.begin_request(e, &header);
    let whole = message(GIOP_LITE, NATIVE, begin, |_| {});
    for length in 12..whole.len() {
        let mut cut = whole[..length].to_vec();
        let size = (length - 5) as u32;
        cut[..4].copy_from_slice(&size.to_ne_bytes());
        assert!(
            matches!(violation(GIOP_LITE, &cut), Violation::Truncated { .. }),
            "cut to {length} octets"
        );
    }
    let mut unnamed = whole.clone();
    unnamed[28] = 0xff;
    assert_eq!(violation(GIOP_LITE, &unnamed), Violation::Peer(Misbehaviour::OperationName));
}
