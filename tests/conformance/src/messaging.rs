//! Obligations of a [`Messaging`](oxorb_giop::Messaging), with one test each, for any [`Wire`], including GIOP.

use std::sync::Arc;

use oxorb_cdr::{ByteOrder, Decode as _, Encoder};
use oxorb_giop::{
    Alias, Frame, FrameContext, Head, Inbox, LocateStatus, Message, MessageLimits, MessageType,
    Reply, ReplyStatus, Request, RequestHeader, Response, Target, TargetAddress, Terms, Violation,
    Wire,
};
use oxorb_object::{ServiceContext, SystemException, Version};

/// Instantiates the suite of [`Messaging`](oxorb_giop::Messaging) for one protocol, in a separate module.
///
/// `messaging!(name, wire)`, where `wire` is a [`Wire`].
#[macro_export]
macro_rules! messaging {
    ($name:ident, $wire:expr) => {
        mod $name {
            #[allow(unused_imports, reason = "not every protocol needs them all")]
            use super::*;

            $crate::messaging!(@each $wire,
                it_has_a_name_and_a_header_of_fixed_length,
                a_request_comes_back_as_written,
                a_reply_comes_back_as_written,
                a_system_exception_comes_back_as_written,
                locating_comes_back_as_written,
                a_cancellation_names_its_request,
                closing_and_errors_are_whole_messages,
                a_message_of_another_kind_is_refused,
                a_frame_knows_how_to_answer,
                the_number_of_a_request_is_read_without_the_rest,
                values_keep_their_alignment,
                messages_arrive_in_any_split,
                a_message_is_announced_with_its_last_octet,
                a_message_taken_or_split_off_is_understood_alike,
                looking_ahead_shows_what_is_announced_next,
                a_cancellation_behind_a_request_is_found,
                a_message_cut_short_is_an_error_and_nothing_else,
                hostile_octets_cost_a_violation_at_most,
                a_message_larger_than_the_limit_is_refused_by_its_header,
                an_announced_size_costs_no_memory,
                an_alias_stands_for_key_and_operation,
                an_alias_is_known_to_all_readers_of_a_connection,
                an_unknown_alias_is_refused,
                aliases_are_bounded,
                usual_messages_are_like_any_others,
            );
        }
    };
    (@each $wire:expr, $($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                let _guard = $crate::guard();
                $crate::messaging::$test($wire);
            }
        )*
    };
}

/// Checks the name, the length of a header and the CDR rules.
pub fn it_has_a_name_and_a_header_of_fixed_length(wire: Wire) {
    assert!(!wire.name().is_empty() && !wire.name().contains(char::is_whitespace));
    assert!(wire.version().is_supported());
    for (_, octets) in every_message(wire) {
        let context = FrameContext::of(wire);
        let header = frame(&octets, &context).header;
        assert_eq!(header.version, wire.version());
        assert_eq!(header.total(), octets.len());
        assert!(!header.more_fragments);
        if let Some(messaging) = wire.messaging() {
            assert_eq!(usize::from(header.len), messaging.start());
        }
    }
}

/// Checks that a server reads a request as the client wrote it.
pub fn a_request_comes_back_as_written(wire: Wire) {
    let context_of_request = [ServiceContext { id: 0x4f58_0001, data: &[1, 2, 3, 4, 5] }];
    let none: &[ServiceContext<'_>] = &[];
    let terms = Some(Terms { priority: Some(5), within: Some(1 << 40) });
    let context = FrameContext::of(wire);
    let bodies: [&[u8]; 3] = [&[], &[7], &[9; 1000]];
    for order in orders(wire) {
        for (n, id) in [0, 1, 77, u32::MAX].into_iter().enumerate() {
            for length in 0..20 {
                let (key, operation) = (&KEY[..length], &OPERATION[..1 + length]);
                for (contexts, terms, body) in [
                    (none, None, bodies[0]),
                    (none, terms, bodies[1]),
                    (&context_of_request, None, bodies[2]),
                    (&context_of_request, terms, bodies[1]),
                ] {
                    let response = RESPONSES[n % 3];
                    let header = RequestHeader {
                        id,
                        response,
                        key: TargetAddress::Key(key),
                        operation,
                        contexts,
                        terms,
                        alias: None,
                    };
                    let octets = request_with(wire, order, &header, body);
                    let frame = frame(&octets, &context);
                    assert_eq!(frame.header.order, order);
                    let request = Request::parse(&frame).unwrap();
                    assert_eq!((request.id, request.operation), (id, operation));
                    assert_eq!(request.target, Target::Key(key));
                    assert_eq!(request.target.object_key(), Ok(key));
                    assert_eq!(request.response.expected(), response.expected());
                    if wire.version() >= Version::V1_2 {
                        assert_eq!(request.response, response);
                    }
                    let got = frame.terms();
                    assert!(got.is_none() || got == terms);
                    let sent = contexts.first().filter(|_| !wire.needs().no_contexts);
                    let got = request.contexts.iter().next();
                    assert_eq!(got.map(|one| one.data), sent.map(|one| one.data));
                    assert_eq!(&octets[request.body..], body);
                }
            }
        }
    }
}

/// Checks that a client reads a reply as the server wrote it.
pub fn a_reply_comes_back_as_written(wire: Wire) {
    let sent = [ServiceContext { id: 0x4f58_0001, data: &[1, 2, 3, 4, 5] }];
    let context = FrameContext::of(wire);
    for order in orders(wire) {
        for id in [0, 1, u32::MAX] {
            for status in 0..6 {
                for (contexts, body) in [(&sent[..0], b"".as_slice()), (&sent, b"body")] {
                    let status = ReplyStatus(status);
                    let mut e = encoder(wire, order);
                    let begun = wire.begin_reply(&mut e, id, status, contexts);
                    e.copy_octets(body);
                    wire.finish(&mut e, begun).unwrap();
                    let octets = e.finish().to_vec();
                    let frame = frame(&octets, &context);
                    let reply = Reply::parse(&frame).unwrap();
                    assert_eq!(reply.id, id);
                    // A permanent forward may become a temporary one.
                    let as_sent = reply.status == status
                        || (status == ReplyStatus::LOCATION_FORWARD_PERM
                            && reply.status == ReplyStatus::LOCATION_FORWARD);
                    assert!(as_sent, "{status}", status = reply.status.0);
                    let sent = contexts.first().filter(|_| !wire.needs().no_contexts);
                    let got = reply.contexts.iter().next();
                    assert_eq!(got.map(|one| one.data), sent.map(|one| one.data));
                    assert_eq!(&octets[reply.body..], body);
                }
            }
        }
    }
}

/// Checks that an exception of the ORB arrives as it was raised.
pub fn a_system_exception_comes_back_as_written(wire: Wire) {
    let context = FrameContext::of(wire);
    for order in orders(wire) {
        let raised = SystemException::imp_limit(7, oxorb_object::CompletionStatus::No);
        let mut e = encoder(wire, order);
        wire.system_exception_reply(&mut e, 3, raised, &[]).unwrap();
        let octets = e.finish().to_vec();
        let frame = frame(&octets, &context);
        let reply = Reply::parse(&frame).unwrap();
        assert_eq!(reply.status, ReplyStatus::SYSTEM_EXCEPTION);
        let mut d = frame.decoder(wire.dialect()).at(reply.body);
        assert_eq!(SystemException::decode(&mut d).unwrap(), raised);
    }
}

/// Checks LocateRequest and LocateReply.
pub fn locating_comes_back_as_written(wire: Wire) {
    let context = FrameContext::of(wire);
    for order in orders(wire) {
        for length in 0..20 {
            let key = &KEY[..length];
            let mut e = encoder(wire, order);
            wire.locate_request(&mut e, 9, TargetAddress::Key(key)).unwrap();
            let octets = e.finish().to_vec();
            let Message::LocateRequest(locate) = frame(&octets, &context).message().unwrap() else {
                panic!("not a LocateRequest");
            };
            assert_eq!((locate.id, locate.target), (9, Target::Key(key)));

            let status = LocateStatus(length as u32 % 3);
            let mut e = encoder(wire, order);
            let begun = wire.begin_locate_reply(&mut e, 9, status);
            e.copy_octets(key);
            wire.finish(&mut e, begun).unwrap();
            let octets = e.finish().to_vec();
            let Message::LocateReply(reply) = frame(&octets, &context).message().unwrap() else {
                panic!("not a LocateReply");
            };
            assert_eq!((reply.id, reply.status), (9, status));
            assert_eq!(&octets[reply.body..], key);
        }
    }
}

/// Checks CancelRequest, if the protocol has it.
pub fn a_cancellation_names_its_request(wire: Wire) {
    let context = FrameContext::of(wire);
    for order in orders(wire) {
        for id in [0, 1, u32::MAX] {
            let Some(octets) = wire.cancel(order, id) else {
                continue;
            };
            let Message::CancelRequest(cancel) = frame(&octets, &context).message().unwrap() else {
                panic!("not a CancelRequest");
            };
            assert_eq!(cancel.id, id);
        }
    }
}

/// Checks CloseConnection and MessageError, if the protocol has them.
pub fn closing_and_errors_are_whole_messages(wire: Wire) {
    let context = FrameContext::of(wire);
    for order in orders(wire) {
        if let Some(octets) = wire.close(order) {
            let message = frame(&octets, &context).message();
            assert!(matches!(message, Ok(Message::CloseConnection)));
        }
    }
    if let Some(octets) = wire.error() {
        let message = frame(&octets, &context).message();
        assert!(matches!(message, Ok(Message::MessageError)));
    }
}

/// Checks that a Reply is not read as a Request, nor a Request as a Reply.
pub fn a_message_of_another_kind_is_refused(wire: Wire) {
    let context = FrameContext::of(wire);
    for (kind, octets) in every_message(wire) {
        let frame = frame(&octets, &context);
        assert_eq!(frame.header.kind, kind);
        assert_eq!(Request::parse(&frame).is_ok(), kind == MessageType::REQUEST);
        assert_eq!(Reply::parse(&frame).is_ok(), kind == MessageType::REPLY);
    }
}

/// Checks that an answer uses the protocol of its request.
pub fn a_frame_knows_how_to_answer(wire: Wire) {
    let context = FrameContext::of(wire);
    for (_, octets) in every_message(wire) {
        assert_eq!(frame(&octets, &context).wire(), wire);
    }
}

/// Checks [`Frame::request_id`].
pub fn the_number_of_a_request_is_read_without_the_rest(wire: Wire) {
    let context = FrameContext::of(wire);
    for order in orders(wire) {
        let octets = request(wire, order, 0x0102_0304, b"body");
        assert_eq!(frame(&octets, &context).request_id(), 0x0102_0304);
        let mut e = encoder(wire, order);
        wire.locate_request(&mut e, 0x0403_0201, TargetAddress::Key(b"key")).unwrap();
        let octets = e.finish().to_vec();
        assert_eq!(frame(&octets, &context).request_id(), 0x0403_0201);
    }
}

/// Checks that arguments and results have the same alignment for the reader as for the writer.
pub fn values_keep_their_alignment(wire: Wire) {
    let context = FrameContext::of(wire);
    let fill = |e: &mut Encoder<'_>| {
        e.octet(1);
        e.ulonglong(0x0102_0304_0506_0708);
        e.octet(2);
        e.ushort(0x090a);
    };
    for order in orders(wire) {
        for length in 1..17 {
            let mut e = encoder(wire, order);
            let header = RequestHeader { key: TargetAddress::Key(&KEY[..length]), ..plain(3) };
            let begun = wire.begin_request(&mut e, &header);
            fill(&mut e);
            wire.finish(&mut e, begun).unwrap();
            let octets = e.finish().to_vec();
            let frame = frame(&octets, &context);
            let body = Request::parse(&frame).unwrap().body;
            let mut d = frame.decoder(wire.dialect()).at(body);
            assert_eq!(d.octet(), Ok(1));
            assert_eq!(d.ulonglong(), Ok(0x0102_0304_0506_0708));
            assert_eq!(d.octet(), Ok(2));
            assert_eq!(d.ushort(), Ok(0x090a));
        }
    }
}

/// Checks that the same messages are announced for any split of the octets.
pub fn messages_arrive_in_any_split(wire: Wire) {
    let messages: Vec<Vec<u8>> =
        every_message(wire).into_iter().map(|(_, octets)| octets).collect();
    let stream = messages.concat();
    for reads in [&[1_usize][..], &[2], &[3, 1, 4], &[7, 5], &[16], &[61, 1], &[stream.len()]] {
        let mut inbox = inbox(wire, &MessageLimits::default());
        assert_eq!(receive(&mut inbox, &stream, reads).unwrap(), messages);
        assert!(!inbox.mid_message());
    }
}

/// Checks that a message is announced once it is complete, not before, without any octet of the next one.
pub fn a_message_is_announced_with_its_last_octet(wire: Wire) {
    for (kind, octets) in every_message(wire) {
        let mut inbox = inbox(wire, &MessageLimits::default());
        let (last, most) = octets.split_last().unwrap();
        for octet in most {
            feed(&mut inbox, &[*octet]);
            assert_eq!(inbox.poll(), Ok(None));
            assert!(inbox.mid_message());
            assert!(inbox.peek().is_none());
        }
        feed(&mut inbox, &[*last]);
        assert_eq!(inbox.poll().unwrap().map(|header| header.kind), Some(kind));
        assert_eq!(inbox.frame().bytes, octets);
        assert!(!inbox.mid_message());
        assert_eq!(inbox.poll(), Ok(None));
    }
}

/// Checks that a message taken from the inbox has the same meaning as in it.
pub fn a_message_taken_or_split_off_is_understood_alike(wire: Wire) {
    let stream: Vec<u8> =
        (0..4).flat_map(|id| request(wire, ByteOrder::NATIVE, id, b"body")).collect();
    let mut inbox = inbox(wire, &MessageLimits::default());
    let mut other = Inbox::new(&MessageLimits::default());
    feed(&mut inbox, &stream);
    for id in 0..4 {
        assert!(inbox.poll().unwrap().is_some());
        let expected = format!("{:?}", Request::parse(&inbox.frame()).unwrap());
        if id % 2 == 0 {
            let context = inbox.context().cloned();
            let taken = inbox.take();
            let frame = Frame::parse_in(&taken, context.as_ref()).unwrap();
            let request = Request::parse(&frame).unwrap();
            assert_eq!(format!("{request:?}"), expected);
        } else {
            inbox.split_to(&mut other);
            let frame = other.frame();
            assert_eq!(frame.wire(), wire);
            assert_eq!(format!("{:?}", Request::parse(&frame).unwrap()), expected);
        }
    }
    assert_eq!(inbox.poll(), Ok(None));
}

/// Checks [`Inbox::peek`] and [`Inbox::peek_frame`].
pub fn looking_ahead_shows_what_is_announced_next(wire: Wire) {
    let mut inbox = inbox(wire, &MessageLimits::default());
    for (_, octets) in every_message(wire) {
        feed(&mut inbox, &octets);
    }
    for (kind, octets) in every_message(wire) {
        assert_eq!(inbox.peek().unwrap().unwrap().kind, kind);
        let ahead = inbox.peek_frame().unwrap();
        assert_eq!((ahead.bytes, ahead.wire()), (&octets[..], wire));
        assert!(ahead.message().is_ok());
        assert_eq!(inbox.poll().unwrap().unwrap().kind, kind);
    }
    assert!(inbox.peek().is_none() && inbox.peek_frame().is_none());
}

/// Checks [`Inbox::is_cancelled`], if the protocol supports cancellation.
pub fn a_cancellation_behind_a_request_is_found(wire: Wire) {
    let Some(cancel) = wire.cancel(ByteOrder::NATIVE, 2) else {
        return;
    };
    let mut inbox = inbox(wire, &MessageLimits::default());
    for id in 1..4 {
        feed(&mut inbox, &request(wire, ByteOrder::NATIVE, id, b"body"));
    }
    feed(&mut inbox, &cancel);
    for id in 1..4 {
        assert!(inbox.poll().unwrap().is_some());
        assert_eq!(inbox.is_cancelled(id), id == 2);
    }
    assert!(inbox.poll().unwrap().is_some());
    assert!(!inbox.is_cancelled(2));
}

/// Checks that a truncated message is rejected at any length, and never read beyond its end.
pub fn a_message_cut_short_is_an_error_and_nothing_else(wire: Wire) {
    let context = FrameContext::of(wire);
    for (_, octets) in every_message(wire) {
        for length in 0..octets.len() {
            let cut = &octets[..length];
            assert!(Frame::parse_in(cut, context.as_ref()).is_err());
            if let Ok(frame) = Frame::beginning(cut, context.as_ref()) {
                examine(&frame);
            }
        }
    }
}

/// Checks every change of one octet of every message, and random octets.
pub fn hostile_octets_cost_a_violation_at_most(wire: Wire) {
    let limits = MessageLimits { max_message: 4 << 10, ..MessageLimits::default() };
    for (_, mut octets) in every_message(wire) {
        for at in 0..octets.len() {
            for change in [0x01, 0x02, 0x04, 0x7f, 0x80, 0xff] {
                octets[at] ^= change;
                survive(wire, &octets, &limits);
                octets[at] ^= change;
            }
        }
    }
    let mut state = 1_u64;
    for round in 0..2_000 {
        let octets: Vec<u8> = (0..round % 97)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        survive(wire, &octets, &limits);
    }
}

/// Checks that a message beyond [`MessageLimits::max_message`] is rejected before its body arrives, and stays rejected.
pub fn a_message_larger_than_the_limit_is_refused_by_its_header(wire: Wire) {
    for order in orders(wire) {
        let octets = request(wire, order, 1, &[0; 100_000]);
        let context = FrameContext::of(wire);
        let start = usize::from(frame(&octets, &context).header.len);
        let limits = MessageLimits { max_message: octets.len() - 1, ..MessageLimits::default() };
        let mut inbox = inbox(wire, &limits);
        feed(&mut inbox, &octets[..start]);
        for _ in 0..2 {
            assert!(inbox.poll().unwrap_err().is_limit());
        }
        let mut inbox = self::inbox(wire, &MessageLimits { max_message: octets.len(), ..limits });
        assert_eq!(receive(&mut inbox, &octets, &[4096]).unwrap(), [octets]);
    }
}

/// Checks that memory is allocated only for octets that have arrived.
pub fn an_announced_size_costs_no_memory(wire: Wire) {
    let octets = request(wire, ByteOrder::NATIVE, 1, &vec![0; 32 << 20]);
    let mut inbox = inbox(wire, &MessageLimits::default());
    for octet in &octets[..200] {
        feed(&mut inbox, &[*octet]);
        assert_eq!(inbox.poll(), Ok(None));
    }
    assert_eq!(inbox.awaited(), octets.len());
    assert!(inbox.memory() <= 2 << 20, "{}", inbox.memory());
}

/// Checks that a defined alias stands for its definition, if the protocol has aliases.
pub fn an_alias_stands_for_key_and_operation(wire: Wire) {
    if wire.needs().aliases == 0 {
        return;
    }
    for order in orders(wire) {
        let mut inbox = inbox(wire, &MessageLimits::default());
        for number in 0..4 {
            for known in [false, true, true, false] {
                feed(&mut inbox, &aliased(wire, order, number, known));
                assert!(inbox.poll().unwrap().is_some());
                assert_aliased(&inbox.frame(), number);
                let context = inbox.context().cloned();
                let taken = inbox.take();
                let frame = Frame::parse_in(&taken, context.as_ref()).unwrap();
                assert_aliased(&frame, number);
            }
        }
        let (defines, uses) =
            (aliased(wire, order, 3, false).len(), aliased(wire, order, 3, true).len());
        assert!(uses < defines, "{uses} octets instead of {defines}");
    }
}

/// Checks that another thread that continues reading knows the aliases read by the first one, and those of split-off
/// messages.
pub fn an_alias_is_known_to_all_readers_of_a_connection(wire: Wire) {
    let limits = MessageLimits::default();
    if wire.needs().aliases == 0 {
        return;
    }
    let reading = oxorb_giop::Reading::of(wire).expect("not GIOP");
    let inbox = || Inbox::new(&limits).continuing(Some(&reading));
    let (mut first, mut second, mut off) = (inbox(), inbox(), Inbox::new(&limits));
    feed(&mut first, &aliased(wire, ByteOrder::NATIVE, 1, false));
    assert!(first.poll().unwrap().is_some());
    feed(&mut second, &aliased(wire, ByteOrder::NATIVE, 1, true));
    assert!(second.peek_frame().is_some_and(|frame| {
        assert_aliased(&frame, 1);
        true
    }));
    assert!(second.poll().unwrap().is_some());
    second.split_to(&mut off);
    assert_aliased(&off.frame(), 1);
}

/// Checks that an undefined alias is rejected, and so is a redefinition.
pub fn an_unknown_alias_is_refused(wire: Wire) {
    if wire.needs().aliases == 0 {
        return;
    }
    let mut inbox = inbox(wire, &MessageLimits::default());
    feed(&mut inbox, &aliased(wire, ByteOrder::NATIVE, 2, true));
    assert!(inbox.poll().is_err());
    let mut other = self::inbox(wire, &MessageLimits::default());
    feed(&mut other, &aliased(wire, ByteOrder::NATIVE, 1, false));
    assert!(other.poll().is_ok());
    let header = RequestHeader {
        operation: "another",
        alias: Some(Alias { number: 1, known: false }),
        ..plain(1)
    };
    feed(&mut other, &request_with(wire, ByteOrder::NATIVE, &header, b""));
    assert!(other.poll().is_err());
}

/// Checks that a peer that defines all aliases uses bounded memory.
pub fn aliases_are_bounded(wire: Wire) {
    let aliases = wire.needs().aliases;
    if aliases == 0 {
        return;
    }
    let mut inbox = inbox(wire, &MessageLimits::default());
    for number in 0..aliases {
        feed(&mut inbox, &aliased(wire, ByteOrder::NATIVE, number, false));
        assert!(inbox.poll().unwrap().is_some());
    }
    assert!(inbox.memory() <= 2 << 20, "{}", inbox.memory());
    if aliases < u16::MAX {
        feed(&mut inbox, &aliased(wire, ByteOrder::NATIVE, aliases, true));
        assert!(inbox.poll().is_err());
    }
}

/// Checks that requests begun from an earlier one's head, and replies read by their form, equal those of the general
/// encoder and decoder, in a protocol whose usual messages have a form.
pub fn usual_messages_are_like_any_others(wire: Wire) {
    let Some(form) = wire.form() else {
        return;
    };
    for order in orders(wire) {
        for body in [b"".as_slice(), b"arguments"] {
            let mut e = encoder(wire, order);
            let begun = wire.begin_request(&mut e, &plain(7));
            let head = Head::of(&e, begun).expect("short names have a head");
            let mut e = encoder(wire, order);
            let begun = head.begin(&mut e, form, 0x0102_0304);
            e.copy_octets(body);
            form.finish(&mut e, begun).unwrap();
            assert_eq!(e.finish().to_vec(), request(wire, order, 0x0102_0304, body));
        }
    }
    let write = |order, id, status, contexts: &[ServiceContext<'_>], body: &[u8]| {
        let mut e = encoder(wire, order);
        let begun = wire.begin_reply(&mut e, id, status, contexts);
        e.copy_octets(body);
        wire.finish(&mut e, begun).unwrap();
        e.finish().to_vec()
    };
    let announced = |octets: &[u8]| {
        let mut inbox = inbox(wire, &MessageLimits::default());
        assert!(inbox.is_clear());
        feed(&mut inbox, octets);
        inbox.announce_reply(form, 7).then(|| {
            let reply = Reply::parse(&inbox.frame()).unwrap();
            assert_eq!((reply.id, reply.status), (7, ReplyStatus::NO_EXCEPTION));
            assert!(reply.contexts.is_empty());
            assert_eq!(reply.body, usize::from(form.body));
            assert_eq!(inbox.frame().bytes, octets);
        })
    };
    let context = [ServiceContext { id: 0x4f58_0001, data: &[1, 2, 3] }];
    for body in [b"".as_slice(), b"results"] {
        let usual = write(ByteOrder::NATIVE, 7, ReplyStatus::NO_EXCEPTION, &[], body);
        assert!(announced(&usual).is_some());
        // Another id, an incomplete message, more than one message, and no message.
        let other = write(ByteOrder::NATIVE, 8, ReplyStatus::NO_EXCEPTION, &[], body);
        assert!(announced(&other).is_none());
        assert!(announced(&[&usual[..], &usual].concat()).is_none());
        assert!(announced(&usual[..usual.len() - 1]).is_none());
        // Any deviation is left to the general decoder.
        for at in 0..usize::from(form.body) {
            let mut damaged = usual.clone();
            damaged[at] ^= 0x41;
            let parsed = Frame::parse_in(&damaged, FrameContext::of(wire).as_ref())
                .and_then(|frame| Reply::parse(&frame).map(|reply| (reply.id, reply.status)));
            if parsed != Ok((7, ReplyStatus::NO_EXCEPTION)) {
                assert!(announced(&damaged).is_none(), "octet {at}");
            }
        }
        let exception = write(ByteOrder::NATIVE, 7, ReplyStatus::USER_EXCEPTION, &[], body);
        assert!(announced(&exception).is_none());
        if !wire.needs().no_contexts {
            let more = write(ByteOrder::NATIVE, 7, ReplyStatus::NO_EXCEPTION, &context, body);
            assert!(announced(&more).is_none());
        }
    }
}

fn aliased(wire: Wire, order: ByteOrder, number: u16, known: bool) -> Vec<u8> {
    let key = u32::from(number).to_be_bytes();
    let header = RequestHeader {
        key: TargetAddress::Key(&key),
        alias: Some(Alias { number, known }),
        ..plain(7)
    };
    request_with(wire, order, &header, b"body")
}

fn assert_aliased(frame: &Frame<'_>, number: u16) {
    let request = Request::parse(frame).unwrap();
    let key = u32::from(number).to_be_bytes();
    assert_eq!(request.target.object_key(), Ok(&key[..]));
    assert_eq!((request.id, request.operation), (7, plain(7).operation));
    assert_eq!(&frame.bytes[request.body..], b"body");
}

const KEY: &[u8; 20] = b"\x00key of an object\xff\xfe\x00";
const OPERATION: &str = "_get_operation_of_20";
const RESPONSES: [Response; 3] = [Response::WithTarget, Response::None, Response::WithServer];

fn orders(wire: Wire) -> Vec<ByteOrder> {
    match wire.needs().same_order {
        true => vec![ByteOrder::NATIVE],
        false => vec![ByteOrder::Big, ByteOrder::Little],
    }
}

fn encoder(wire: Wire, order: ByteOrder) -> Encoder<'static> {
    Encoder::new(Vec::new(), order, wire.dialect())
}

fn plain(id: u32) -> RequestHeader<'static> {
    RequestHeader {
        id,
        response: Response::WithTarget,
        key: TargetAddress::Key(b"key"),
        operation: "operation",
        contexts: &[],
        terms: None,
        alias: None,
    }
}

fn request_with(wire: Wire, order: ByteOrder, header: &RequestHeader<'_>, body: &[u8]) -> Vec<u8> {
    let mut e = encoder(wire, order);
    let begun = wire.begin_request(&mut e, header);
    e.copy_octets(body);
    wire.finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

fn request(wire: Wire, order: ByteOrder, id: u32, body: &[u8]) -> Vec<u8> {
    request_with(wire, order, &plain(id), body)
}

/// Returns one message of every kind of the protocol, in each of its byte orders.
fn every_message(wire: Wire) -> Vec<(MessageType, Vec<u8>)> {
    let mut messages = Vec::new();
    for order in orders(wire) {
        messages.push((MessageType::REQUEST, request(wire, order, 7, b"a body")));
        let mut e = encoder(wire, order);
        let begun = wire.begin_reply(&mut e, 7, ReplyStatus::NO_EXCEPTION, &[]);
        e.copy_octets(b"a result");
        wire.finish(&mut e, begun).unwrap();
        messages.push((MessageType::REPLY, e.finish().to_vec()));
        let mut e = encoder(wire, order);
        wire.locate_request(&mut e, 8, TargetAddress::Key(b"a key")).unwrap();
        messages.push((MessageType::LOCATE_REQUEST, e.finish().to_vec()));
        let mut e = encoder(wire, order);
        let begun = wire.begin_locate_reply(&mut e, 8, LocateStatus::OBJECT_HERE);
        wire.finish(&mut e, begun).unwrap();
        messages.push((MessageType::LOCATE_REPLY, e.finish().to_vec()));
        let short = [
            (MessageType::CANCEL_REQUEST, wire.cancel(order, 7)),
            (MessageType::CLOSE_CONNECTION, wire.close(order)),
        ];
        for (kind, octets) in short {
            messages.extend(octets.map(|octets| (kind, octets.to_vec())));
        }
    }
    let error = wire.error();
    messages.extend(error.map(|octets| (MessageType::MESSAGE_ERROR, octets.to_vec())));
    messages
}

fn frame<'f>(octets: &'f [u8], context: &'f Option<Arc<FrameContext>>) -> Frame<'f> {
    Frame::parse_in(octets, context.as_ref()).unwrap()
}

fn inbox(wire: Wire, limits: &MessageLimits) -> Inbox {
    Inbox::new(limits).speaking(wire)
}

fn feed(inbox: &mut Inbox, octets: &[u8]) {
    let mut rest = octets;
    while !rest.is_empty() {
        let (buffer, most) = inbox.room();
        assert!(most > 0, "an inbox always has room for one octet");
        let (now, later) = rest.split_at(most.min(rest.len()));
        buffer.extend_from_slice(now);
        rest = later;
    }
}

/// Reads `stream` in pieces of the given sizes, cyclically; returns the octets of each message announced.
fn receive(inbox: &mut Inbox, stream: &[u8], reads: &[usize]) -> Result<Vec<Vec<u8>>, Violation> {
    let mut messages = Vec::new();
    let mut rest = stream;
    let mut sizes = reads.iter().copied().cycle();
    while !rest.is_empty() {
        let read = sizes.next().unwrap_or(1).clamp(1, rest.len());
        let (now, later) = rest.split_at(read);
        feed(inbox, now);
        rest = later;
        while inbox.poll()?.is_some() {
            messages.push(inbox.frame().bytes.to_vec());
        }
    }
    Ok(messages)
}

/// Makes an inbox read arbitrary octets.
fn survive(wire: Wire, octets: &[u8], limits: &MessageLimits) {
    let mut inbox = inbox(wire, limits);
    'read: for octets in octets.chunks(64) {
        feed(&mut inbox, octets);
        loop {
            match inbox.poll() {
                Ok(Some(_)) => examine(&inbox.frame()),
                Ok(None) => break,
                Err(violation) => {
                    assert!(!violation.to_string().is_empty());
                    violation.answer();
                    break 'read;
                }
            }
        }
    }
    assert!(inbox.memory() <= 256 << 10, "{}", inbox.memory());
}

/// Reads all fields of a message, and checks that they are within it.
fn examine(frame: &Frame<'_>) {
    frame.request_id();
    let Ok(message) = frame.message() else { return };
    let (contexts, body) = match message {
        Message::Request(request) => {
            let _ = request.target.object_key();
            (Some(request.contexts), request.body)
        }
        Message::Reply(reply) => (Some(reply.contexts), reply.body),
        Message::LocateReply(reply) => (None, reply.body),
        _ => (None, 0),
    };
    assert!(body <= frame.bytes.len());
    if let Some(contexts) = contexts {
        assert_eq!(contexts.iter().count(), contexts.len());
    }
}
