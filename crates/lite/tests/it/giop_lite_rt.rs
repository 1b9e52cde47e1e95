//! GIOPlite/RT compared with octets written by hand from `docs/design/giop-lite-rt.md`.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{
    Alias, Inbox, LocateStatus, Message, MessageType, Messaging, Misbehaviour, ReplyStatus,
    Request, RequestHeader, Response, Target, TargetAddress, Terms, Unsupported, Violation,
};
use oxorb_lite::{ALIAS_OCTETS, ALIASES, GIOP_LITE_RT};
use oxorb_object::{PolicyValueWriter, ServiceContext, context_id, policy_type};

use crate::common::{feed, inbox, message, octets, request, violation};

const LITTLE: ByteOrder = ByteOrder::Little;

const FIRST: Option<Alias> = Some(Alias { number: 5, known: false });
const LATER: Option<Alias> = Some(Alias { number: 5, known: true });

fn written(header: &RequestHeader<'_>, order: ByteOrder, argument: Option<i32>) -> Vec<u8> {
    message(
        GIOP_LITE_RT,
        order,
        |rt, e| rt.begin_request(e, header),
        |e| {
            if let Some(argument) = argument {
                e.long(argument);
            }
        },
    )
}

/// Polls a message, and checks a request in it.
fn next(inbox: &mut Inbox, check: impl FnOnce(Request<'_>)) {
    inbox.poll().unwrap().expect("a whole message");
    match inbox.frame().message() {
        Ok(Message::Request(request)) => check(request),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_request_of_a_pair_names_it_and_later_ones_take_sixteen_octets() {
    let first = written(&request(7, b"key", "add", &[], None, FIRST), LITTLE, Some(42));
    assert_eq!(
        first,
        octets(
            "01 10 ffff 1c000000 | 07000000 0500 03 01 | 03000000 6b6579 00 03000000 616464 00 | 2a000000"
        )
    );
    let later = written(&request(8, b"key", "add", &[], None, LATER), LITTLE, Some(43));
    assert_eq!(later, octets("01 10 ffff 0c000000 | 08000000 0500 03 00 | 2b000000"));
    let mut inbox = inbox(GIOP_LITE_RT);
    feed(&mut inbox, &first);
    feed(&mut inbox, &later);
    for (id, body) in [(7, 32), (8, 16)] {
        next(&mut inbox, |request| {
            assert_eq!((request.id, request.body), (id, body));
            assert_eq!((request.target, request.operation), (Target::Key(b"key"), "add"));
            assert_eq!(request.response, Response::WithTarget);
        });
        assert_eq!(inbox.frame().terms(), None);
    }
}

#[test]
fn big_endian_messages_say_so() {
    let first = written(&request(7, b"key", "add", &[], None, FIRST), ByteOrder::Big, Some(42));
    assert_eq!(
        first,
        octets(
            "00 10 ffff 0000001c | 00000007 0005 03 01 | 00000003 6b6579 00 00000003 616464 00 | 0000002a"
        )
    );
    let mut inbox = inbox(GIOP_LITE_RT);
    feed(&mut inbox, &first);
    next(&mut inbox, |request| assert_eq!(request.id, 7));
    let frame = inbox.frame();
    assert_eq!(frame.decoder(frame.wire().dialect()).at(32).long(), Ok(42));
}

#[test]
fn priority_and_deadline_travel_in_the_header() {
    let terms = Some(Terms { priority: Some(300), within: Some(20) });
    let octets = octets(
        "01 10 2c01 10000000 | 07000000 0500 03 02 | d007000000000000", // 2,000 ns
    );
    let header = request(7, b"key", "add", &[], terms, LATER);
    assert_eq!(written(&header, LITTLE, None), octets);
    let mut inbox = inbox(GIOP_LITE_RT);
    let first = request(6, b"key", "add", &[], None, FIRST);
    feed(&mut inbox, &written(&first, LITTLE, None));
    feed(&mut inbox, &octets);
    next(&mut inbox, |request| assert_eq!(request.id, 6));
    assert_eq!(inbox.frame().terms(), None);
    next(&mut inbox, |request| {
        assert_eq!(request.operation, "add");
        assert_eq!(request.body, 24);
    });
    assert_eq!(inbox.frame().terms(), terms);
}

#[test]
fn contexts_of_priority_and_deadline_become_header_fields() {
    let mut policies = PolicyValueWriter::new();
    policies.time(policy_type::RELATIVE_ROUNDTRIP_TIMEOUT, 20);
    let other = ServiceContext { id: 99, data: b"\x01abc" };
    let context = |id, data| ServiceContext { id, data };
    let contexts = [
        context(context_id::INVOCATION_POLICIES, policies.octets()),
        other,
        context(context_id::RT_CORBA_PRIORITY, &[0, 0, 1, 44]),
    ];
    let terms = Some(Terms { priority: Some(300), within: Some(20) });
    let mut inbox = inbox(GIOP_LITE_RT);
    let header = request(7, b"key", "add", &contexts, None, FIRST);
    feed(&mut inbox, &written(&header, LITTLE, Some(1)));
    next(&mut inbox, |request| {
        assert_eq!(request.contexts.iter().collect::<Vec<_>>(), [other]);
    });
    assert_eq!(inbox.frame().terms(), terms);
    let header = request(8, b"key", "add", &contexts[2..], None, LATER);
    let later = written(&header, LITTLE, None);
    assert_eq!(later.len(), 16);
    feed(&mut inbox, &later);
    next(&mut inbox, |request| {
        assert!(request.contexts.is_empty());
    });
    let priority = inbox.frame().terms().and_then(|terms| terms.priority);
    assert_eq!(priority, Some(300));

    // Policies with other contents than the time limit are sent unchanged.
    let mut policies = PolicyValueWriter::new();
    policies.time(policy_type::RELATIVE_ROUNDTRIP_TIMEOUT, 20);
    policies.utc(policy_type::REPLY_END_TIME, 5);
    let contexts = [context(context_id::INVOCATION_POLICIES, policies.octets())];
    let header = request(9, b"key", "add", &contexts, None, LATER);
    feed(&mut inbox, &written(&header, LITTLE, None));
    next(&mut inbox, |request| {
        assert_eq!(request.contexts.iter().collect::<Vec<_>>(), contexts);
    });
    assert_eq!(inbox.frame().terms(), None);
}

#[test]
fn service_contexts_follow_where_there_are_any() {
    let contexts = [
        ServiceContext { id: 98, data: &[0, 0, 0, 5] },
        ServiceContext { id: 99, data: b"\x01abc" },
    ];
    let header = request(7, b"key", "add", &contexts, None, FIRST);
    let mut inbox = inbox(GIOP_LITE_RT);
    feed(&mut inbox, &written(&header, LITTLE, Some(1)));
    let later = request(8, b"key", "add", &contexts, None, LATER);
    feed(&mut inbox, &written(&later, LITTLE, Some(1)));
    for _ in 0..2 {
        next(&mut inbox, |request| {
            assert_eq!(request.contexts.iter().collect::<Vec<_>>(), contexts);
            assert_eq!(request.body % 8, 0);
        });
    }
    let begin = |rt: &dyn Messaging, e: &mut Encoder<'_>| {
        rt.begin_reply(e, 8, ReplyStatus::USER_EXCEPTION, &contexts)
    };
    feed(&mut inbox, &message(GIOP_LITE_RT, LITTLE, begin, |e| e.long(9)));
    inbox.poll().unwrap();
    let frame = inbox.frame();
    let Ok(Message::Reply(reply)) = frame.message() else { panic!("a reply") };
    assert_eq!(reply.contexts.iter().collect::<Vec<_>>(), contexts);
    let mut body = frame.decoder(frame.wire().dialect()).at(reply.body);
    assert_eq!(body.long(), Ok(9));
}

#[test]
fn an_empty_reply_takes_twelve_octets() {
    let begin = |rt: &dyn Messaging, e: &mut Encoder<'_>| {
        rt.begin_reply(e, 7, ReplyStatus::LOCATION_FORWARD_PERM, &[])
    };
    let reply = message(GIOP_LITE_RT, LITTLE, begin, |_| {});
    assert_eq!(reply, octets("01 11 04 00 04000000 | 07000000"));
    let mut inbox = inbox(GIOP_LITE_RT);
    feed(&mut inbox, &reply);
    inbox.poll().unwrap();
    match inbox.frame().message() {
        Ok(Message::Reply(reply)) => {
            assert_eq!((reply.id, reply.body), (7, 12));
            assert_eq!(reply.status, ReplyStatus::LOCATION_FORWARD_PERM);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn locating_cancelling_closing() {
    let begin = |rt: &dyn Messaging, e: &mut Encoder<'_>| {
        rt.begin_locate_request(e, 9, TargetAddress::Key(b"key"))
    };
    let locate = message(GIOP_LITE_RT, LITTLE, begin, |_| {});
    assert_eq!(locate, octets("01 13 0000 0b000000 | 09000000 03000000 6b6579"));
    let begin = |rt: &dyn Messaging, e: &mut Encoder<'_>| {
        rt.begin_locate_reply(e, 9, LocateStatus::OBJECT_FORWARD)
    };
    let located = message(GIOP_LITE_RT, LITTLE, begin, |e| e.octet(1));
    assert_eq!(located, octets("01 14 02 00 05000000 | 09000000 01"));
    let cancel = GIOP_LITE_RT.cancel(LITTLE, 9).unwrap();
    assert_eq!(*cancel, octets("01 12 0000 04000000 | 09000000"));
    let close = GIOP_LITE_RT.close(LITTLE).unwrap();
    assert_eq!(*close, octets("01 15 0000 00000000"));
    let error = GIOP_LITE_RT.error().unwrap();
    assert_eq!(error[1], 0x16);

    let mut inbox = inbox(GIOP_LITE_RT);
    for message in [&locate[..], &located, &cancel, &close, &error] {
        feed(&mut inbox, message);
    }
    let mut kinds = Vec::new();
    while let Some(header) = inbox.poll().unwrap() {
        inbox.frame().message().unwrap();
        kinds.push(header.kind);
    }
    assert_eq!(
        kinds,
        [
            MessageType::LOCATE_REQUEST,
            MessageType::LOCATE_REPLY,
            MessageType::CANCEL_REQUEST,
            MessageType::CLOSE_CONNECTION,
            MessageType::MESSAGE_ERROR,
        ]
    );
}

#[test]
fn a_request_that_another_thread_serves_keeps_what_its_number_stands_for() {
    let mut inbox = inbox(GIOP_LITE_RT);
    for header in
        [request(7, b"key", "add", &[], None, FIRST), request(8, b"key", "add", &[], None, LATER)]
    {
        feed(&mut inbox, &written(&header, LITTLE, Some(42)));
    }
    next(&mut inbox, |_| ());
    next(&mut inbox, |_| ());
    let mut apart = Inbox::new(&oxorb_giop::MessageLimits::default());
    inbox.split_to(&mut apart);
    let context = std::sync::Arc::clone(apart.context().expect("of another protocol"));
    drop(inbox);
    let check = |frame: oxorb_giop::Frame<'_>| match frame.message() {
        Ok(Message::Request(request)) => {
            assert_eq!(
                (request.id, request.target, request.operation),
                (8, Target::Key(b"key"), "add")
            );
        }
        other => panic!("{other:?}"),
    };
    check(apart.frame());
    let octets = apart.take();
    check(oxorb_giop::Frame::parse_in(&octets, Some(&context)).unwrap());
}

#[test]
fn numbers_are_bounded_and_keep_their_meaning() {
    let unknown = written(&request(1, b"k", "f", &[], None, LATER), LITTLE, None);
    assert_eq!(
        violation(GIOP_LITE_RT, &unknown),
        Violation::Peer(Misbehaviour::UnknownAlias { number: 5 })
    );
    let too_high = Some(Alias { number: ALIASES, known: false });
    let beyond = written(&request(1, b"k", "f", &[], None, too_high), LITTLE, None);
    assert!(matches!(
        violation(GIOP_LITE_RT, &beyond),
        Violation::Limit { size: 1024, limit: 1023, .. }
    ));
    let long = vec![b'k'; ALIAS_OCTETS];
    let beyond = written(&request(1, &long, "f", &[], None, FIRST), LITTLE, None);
    assert!(matches!(
        violation(GIOP_LITE_RT, &beyond),
        Violation::Limit { size: 257, limit: 256, .. }
    ));
    let mut twice = written(&request(1, b"k", "f", &[], None, FIRST), LITTLE, None);
    let again = twice.clone();
    twice.extend(&again);
    let changed = written(&request(3, b"k", "g", &[], None, FIRST), LITTLE, None);
    twice.extend(changed);
    assert_eq!(
        violation(GIOP_LITE_RT, &twice),
        Violation::Peer(Misbehaviour::Undefined {
            protocol: "giop-lite-rt",
            what: "second meaning of alias",
            value: 5,
        })
    );
    // A request without an alias stores nothing, so only the limit on the message size applies.
    let mut inbox = inbox(GIOP_LITE_RT);
    let unnumbered = written(&request(1, &long, "f", &[], None, None), LITTLE, None);
    let before = inbox.memory();
    feed(&mut inbox, &unnumbered);
    next(&mut inbox, |request| {
        assert_eq!(request.target, Target::Key(&long));
    });
    assert!(before <= inbox.memory());
}

#[test]
fn other_protocols_and_damaged_messages_are_named() {
    assert_eq!(
        violation(GIOP_LITE_RT, b"GIOP\x01\x02\x01\0\0\0\0\0"),
        Violation::Peer(Misbehaviour::Protocol { expected: "GIOPlite/RT 1", start: *b"GIOP" })
    );
    assert!(matches!(
        violation(GIOP_LITE_RT, &octets("01 20 ffff 08000000 07000000 05000300")),
        Violation::Peer(Misbehaviour::Protocol { .. })
    ));
    assert_eq!(
        violation(GIOP_LITE_RT, &octets("01 17 0000 00000000")),
        Violation::Unsupported(Unsupported::MessageType(MessageType::FRAGMENT))
    );
    assert_eq!(
        violation(GIOP_LITE_RT, &octets("01 10 ffff 00000000")),
        Violation::Peer(Misbehaviour::Empty(MessageType::REQUEST))
    );
    assert!(matches!(
        violation(GIOP_LITE_RT, &octets("01 10 ffff 04000000 07000000")),
        Violation::Truncated { .. }
    ));
    assert!(matches!(
        violation(GIOP_LITE_RT, &octets("01 10 ffff 08000000 07000000 ffff0308")),
        Violation::Peer(Misbehaviour::UnknownAlias { .. } | Misbehaviour::Undefined { .. })
    ));
    assert!(matches!(
        violation(GIOP_LITE_RT, &octets("01 11 0002 04000000 07000000")),
        Violation::Peer(Misbehaviour::Undefined { value: 2, .. })
    ));
    let whole = written(&request(7, b"key", "add", &[], None, FIRST), LITTLE, None);
    for length in 16..whole.len() - 1 {
        let mut cut = whole[..length].to_vec();
        cut[4..8].copy_from_slice(&(length as u32 - 8).to_le_bytes());
        assert!(
            matches!(violation(GIOP_LITE_RT, &cut), Violation::Truncated { .. }),
            "cut to {length} octets"
        );
    }
}
