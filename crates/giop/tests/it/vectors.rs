//! Messages written by hand from the specification, read and written.

use oxorb_cdr::{ByteOrder, Decode, Dialect, Encode};
use oxorb_giop::{
    AddressingDisposition, CancelRequest, Frame, LocateReply, LocateRequest, LocateStatus, Message,
    MessageType, Reply, ReplyStatus, Request, RequestHeader, Response, Target, TargetAddress,
    begin_locate_reply, begin_reply, begin_request, cancel_request, close_connection, finish,
    locate_reply, locate_request, message_error, place_arguments, system_exception_reply,
};
use oxorb_object::{
    CompletionStatus, Ior, ServiceContext, SystemException, SystemExceptionKind, TaggedProfile,
    Version, minor,
};

use crate::common::{self, VERSIONS, decoder, encoder, octets};

const GIOP: &str = "47494f50";

fn message(rest: &str) -> Vec<u8> {
    octets(&format!("{GIOP}{rest}"))
}

#[test]
fn request_1_2_little_endian_pads_its_body_to_eight() {
    let expected = message(
        "0102 01 00 28000000 | 07000000 03 000000 | 0000 0000 03000000 6b6579 00 | 04000000 61646400 | 00000000 00000000 | 2a000000",
    );
    let mut e = encoder(Version::V1_2, ByteOrder::Little);
    let header = RequestHeader {
        id: 7,
        response: Response::WithTarget,
        key: TargetAddress::Key(b"key"),
        operation: "add",
        contexts: &[],
        terms: None,
        alias: None,
    };
    // The padding after the short discriminant may have any value. OxORB writes zeros.
    let begun = begin_request(&mut e, Version::V1_2, &header);
    assert_eq!(begun.body(), 48);
    e.long(42);
    finish(&mut e, begun).unwrap();
    assert_eq!(e.finish().to_vec(), expected);

    let frame = Frame::parse(&expected).unwrap();
    let request = Request::parse(&frame).unwrap();
    assert_eq!(
        (request.id, request.response, request.operation, request.body),
        (7, Response::WithTarget, "add", 48)
    );
    assert_eq!(request.target, Target::Key(b"key"));
    assert!(request.contexts.is_empty());
    assert_eq!(decoder(&frame, request.body).long(), Ok(42));
}

#[test]
fn request_1_2_without_arguments_has_no_padding() {
    let expected = message(
        "0102 00 00 00000020 | 00000007 00 000000 | 0000 0000 00000003 6b6579 00 | 00000004 61646400 | 00000000",
    );
    let mut e = encoder(Version::V1_2, ByteOrder::Big);
    let header = RequestHeader {
        id: 7,
        response: Response::None,
        key: TargetAddress::Key(b"key"),
        operation: "add",
        contexts: &[],
        terms: None,
        alias: None,
    };
    let begun = begin_request(&mut e, Version::V1_2, &header);
    finish(&mut e, begun).unwrap();
    assert_eq!(e.finish().to_vec(), expected);
    let frame = Frame::parse(&expected).unwrap();
    let request = Request::parse(&frame).unwrap();
    assert_eq!((request.response, request.body), (Response::None, 44));

    // This message has padding although it has no body. It is accepted nevertheless, since some peers send such
    // messages.
    let padded = message(
        "0102 00 00 00000024 | 00000007 01 000000 | 0000 0000 00000003 6b6579 00 | 00000004 61646400 | 00000000 00000000",
    );
    let request = Request::parse(&Frame::parse(&padded).unwrap()).unwrap();
    assert_eq!((request.response, request.body), (Response::WithServer, padded.len()));
}

#[test]
fn request_1_0_and_1_1_carry_contexts_first_and_a_principal_last() {
    let v1_0 = message(
        "0100 00 00 0000002f | 00000001 0000000a 00000004 00001234 | 00000007 01 000000 00000003 6b6579 00 | 00000004 61646400 | 00000000 | aabbcc",
    );
    let v1_1 = message(
        "0101 00 00 0000002f | 00000001 0000000a 00000004 00001234 | 00000007 01 000000 00000003 6b6579 00 | 00000004 61646400 | 00000000 | aabbcc",
    );
    for (version, expected) in [(Version::V1_0, v1_0), (Version::V1_1, v1_1)] {
        let mut e = encoder(version, ByteOrder::Big);
        let header = RequestHeader {
            id: 7,
            response: Response::WithTarget,
            key: TargetAddress::Key(b"key"),
            operation: "add",
            contexts: &[ServiceContext { id: 10, data: &[0, 0, 0x12, 0x34] }],
            terms: None,
            alias: None,
        };
        let begun = begin_request(&mut e, version, &header);
        e.copy_octets(&[0xaa, 0xbb, 0xcc]);
        finish(&mut e, begun).unwrap();
        assert_eq!(e.finish().to_vec(), expected);

        let frame = Frame::parse(&expected).unwrap();
        let request = Request::parse(&frame).unwrap();
        assert_eq!((request.id, request.operation), (7, "add"));
        assert_eq!(request.target.object_key(), Ok(&b"key"[..]));
        assert_eq!(&frame.bytes[request.body..], [0xaa, 0xbb, 0xcc]);
        let context = request.contexts.find(10).unwrap();
        assert_eq!(context.decoder().unwrap().at(2).short(), Ok(0x1234));
        assert_eq!(request.contexts.find(11), None);
        assert_eq!(request.contexts.iter().collect::<Vec<_>>(), [context]);
    }
}

#[test]
fn arguments_of_1_0_and_1_1_are_placed_by_a_principal() {
    for (version, at) in
        [Version::V1_0, Version::V1_1].into_iter().flat_map(|it| (0..8).map(move |at| (it, at)))
    {
        let mut e = encoder(version, ByteOrder::Big);
        let header = RequestHeader {
            id: 7,
            response: Response::WithTarget,
            key: TargetAddress::Key(b"key"),
            operation: "add",
            contexts: &[],
            terms: None,
            alias: None,
        };
        let _begun = begin_request(&mut e, version, &header);
        let begun = place_arguments(&mut e, at);
        assert_eq!(begun.body() % 8, at);
        e.copy_octets(&[0xaa, 0xbb, 0xcc]);
        finish(&mut e, begun).unwrap();
        let message = e.finish().to_vec();
        let frame = Frame::parse(&message).unwrap();
        let request = Request::parse(&frame).unwrap();
        assert_eq!((request.operation, request.body), ("add", begun.body()));
        assert_eq!(message[request.body..], [0xaa, 0xbb, 0xcc]);
        let principal = Request::principal(&frame).unwrap();
        assert!(principal.len() < 8 && principal.iter().all(|octet| *octet == 0));
    }
}

#[test]
fn a_principal_is_skipped() {
    let message = message(
        "0100 01 00 26000000 | 00000000 | 07000000 01 000000 03000000 6b6579 00 | 04000000 61646400 | 05000000 6d65000000 | ff",
    );
    let frame = Frame::parse(&message).unwrap();
    let request = Request::parse(&frame).unwrap();
    assert_eq!(&frame.bytes[request.body..], [0xff]);
}

#[test]
fn replies_differ_in_order_and_alignment() {
    let v1_0 = message("0100 00 01 0000000d | 00000000 00000007 00000001 | 55");
    let v1_2 = message("0102 00 01 0000000d | 00000007 00000001 00000000 | 55");
    for (version, expected) in [(Version::V1_0, v1_0), (Version::V1_2, v1_2)] {
        let mut e = encoder(version, ByteOrder::Big);
        let begun = begin_reply(&mut e, version, 7, ReplyStatus::USER_EXCEPTION, &[]);
        e.octet(0x55);
        finish(&mut e, begun).unwrap();
        assert_eq!(e.finish().to_vec(), expected);
        let frame = Frame::parse(&expected).unwrap();
        let reply = Reply::parse(&frame).unwrap();
        assert_eq!((reply.id, reply.status, reply.body), (7, ReplyStatus::USER_EXCEPTION, 24));
    }
    // After a service context of 4 octets, a body is aligned to the next multiple of 8 in GIOP 1.2, and not aligned in
    // earlier versions.
    for (version, body) in [(Version::V1_0, 36), (Version::V1_1, 36), (Version::V1_2, 40)] {
        let mut e = encoder(version, ByteOrder::Big);
        let contexts = [ServiceContext { id: 1, data: &[0; 4] }];
        let begun = begin_reply(&mut e, version, 7, ReplyStatus::NO_EXCEPTION, &contexts);
        e.octet(0x55);
        finish(&mut e, begun).unwrap();
        let octets = e.finish().to_vec();
        let frame = Frame::parse(&octets).unwrap();
        assert_eq!(Reply::parse(&frame).unwrap().body, body);
        assert_eq!(&octets[body..], [0x55]);
    }
}

#[test]
fn system_exception_reply_1_2() {
    let expected = message(
        "0102 00 01 0000003c | 00000007 00000002 00000000 \
         | 00000024 49444c3a6f6d672e6f72672f434f5242412f \
           4241445f4f5045524154494f4e3a312e30 00 | 4f4d0002 00000001",
    );
    let exception = SystemException::bad_operation(
        minor::bad_operation::UNKNOWN_OPERATION,
        CompletionStatus::No,
    );
    assert_eq!(exception.repository_id(), "IDL:omg.org/CORBA/BAD_OPERATION:1.0");
    let mut e = encoder(Version::V1_2, ByteOrder::Big);
    system_exception_reply(&mut e, Version::V1_2, 7, exception, &[]).unwrap();
    let octets = e.finish().to_vec();
    assert_eq!(octets, expected);
    let frame = Frame::parse(&octets).unwrap();
    let reply = Reply::parse(&frame).unwrap();
    assert_eq!(reply.status, ReplyStatus::SYSTEM_EXCEPTION);
    assert_eq!(SystemException::decode(&mut decoder(&frame, reply.body)), Ok(exception));
}

#[test]
fn every_system_exception_survives_the_wire_and_an_unknown_one_becomes_unknown() {
    assert_eq!(SystemExceptionKind::ALL.len(), 40);
    for &kind in SystemExceptionKind::ALL {
        assert_eq!(SystemExceptionKind::from_name(kind.name()), Some(kind));
        for completed in [CompletionStatus::Yes, CompletionStatus::No, CompletionStatus::Maybe] {
            let exception = SystemException::new(kind, 0x1234_5678, completed);
            let mut e = encoder(Version::V1_2, ByteOrder::Little);
            exception.encode(&mut e).unwrap();
            let octets = e.finish().to_vec();
            let mut d = oxorb_cdr::Decoder::new(&octets, ByteOrder::Little, Dialect::new(2));
            assert_eq!(SystemException::decode(&mut d), Ok(exception));
        }
    }
    let mut e = encoder(Version::V1_2, ByteOrder::Little);
    e.string("IDL:omg.org/CORBA/BRAND_NEW:1.0").unwrap();
    e.ulong(5);
    e.ulong(2);
    let octets = e.finish().to_vec();
    let mut d = oxorb_cdr::Decoder::new(&octets, ByteOrder::Little, Dialect::new(2));
    let unknown = SystemException::unknown(0x4f4d_0002, CompletionStatus::Maybe);
    assert_eq!(SystemException::decode(&mut d), Ok(unknown));
}

#[test]
fn locate_messages() {
    let v1_0 = message("0100 00 03 0000000b | 00000007 00000003 6b6579");
    let v1_2 = message("0102 00 03 0000000f | 00000007 0000 0000 00000003 6b6579");
    for (version, expected) in [(Version::V1_0, &v1_0), (Version::V1_2, &v1_2)] {
        let mut e = encoder(version, ByteOrder::Big);
        locate_request(&mut e, version, 7, TargetAddress::Key(b"key")).unwrap();
        assert_eq!(e.finish().to_vec(), *expected);
        let located = LocateRequest::parse(&Frame::parse(expected).unwrap()).unwrap();
        assert_eq!((located.id, located.target), (7, Target::Key(b"key")));
    }

    let here = message("0102 01 04 08000000 | 07000000 01000000");
    let mut e = encoder(Version::V1_2, ByteOrder::Little);
    locate_reply(&mut e, Version::V1_2, 7, LocateStatus::OBJECT_HERE).unwrap();
    assert_eq!(e.finish().to_vec(), here);

    // The body of a LocateReply is never aligned, so the reference begins at offset 20 in every version.
    for version in VERSIONS {
        let mut e = encoder(version, ByteOrder::Big);
        let begun = begin_locate_reply(&mut e, version, 7, LocateStatus::OBJECT_FORWARD_PERM);
        e.copy_octets(&octets("00000001 00 000000 00000000")); // nil
        finish(&mut e, begun).unwrap();
        let octets = e.finish().to_vec();
        let frame = Frame::parse(&octets).unwrap();
        let reply = LocateReply::parse(&frame).unwrap();
        assert_eq!(reply.body, 20);
        let earlier = version < Version::V1_2;
        let status =
            if earlier { LocateStatus::OBJECT_FORWARD } else { LocateStatus::OBJECT_FORWARD_PERM };
        assert_eq!(reply.status, status);
        assert_eq!(Ior::decode(&mut decoder(&frame, 20)), Ok(Ior::nil()));
    }
}

#[test]
fn control_messages() {
    let cancel = message("0102 01 02 04000000 | 07000000");
    assert_eq!(cancel_request(Version::V1_2, ByteOrder::Little, 7).to_vec(), cancel);
    assert_eq!(CancelRequest::parse(&Frame::parse(&cancel).unwrap()), Ok(CancelRequest { id: 7 }));
    assert_eq!(
        close_connection(Version::V1_1, ByteOrder::Big).to_vec(),
        message("0101 00 05 00000000")
    );
    let error = message_error(Version::V1_0);
    assert!(matches!(Frame::parse(&error).unwrap().message(), Ok(Message::MessageError)));
    assert_eq!(error[4..6], [1, 0]);
}

#[test]
fn a_target_may_be_a_profile_or_a_whole_reference() {
    // The octets of an IIOP 1.0 profile are the byte order, the version 1.0, padding, the host "h", the port, and the
    // object key "key".
    let data = octets("00 01 00 00 00000002 6800 0af9 00000003 6b6579");
    let foreign = TaggedProfile { tag: 0x3039, data: vec![1, 2, 3] };
    let ior = Ior {
        type_id: "IDL:X:1.0".into(),
        profiles: vec![foreign.clone(), TaggedProfile { tag: 0, data: data.clone() }],
    };
    for order in common::ORDERS {
        for (target, disposition) in [
            (TargetAddress::Key(b"key"), AddressingDisposition::KEY),
            (TargetAddress::Profile { tag: 0, data: &data }, AddressingDisposition::PROFILE),
            (TargetAddress::Reference { index: 1, ior: &ior }, AddressingDisposition::REFERENCE),
        ] {
            for version in VERSIONS {
                let mut e = encoder(version, order);
                let header = RequestHeader {
                    id: 1,
                    response: Response::WithTarget,
                    key: target,
                    operation: "op",
                    contexts: &[],
                    terms: None,
                    alias: None,
                };
                let begun = begin_request(&mut e, version, &header);
                e.octet(9);
                finish(&mut e, begun).unwrap();
                let octets = e.finish().to_vec();
                let frame = Frame::parse(&octets).unwrap();
                let request = Request::parse(&frame).unwrap();
                assert_eq!(request.target.object_key(), Ok(&b"key"[..]));
                assert_eq!(octets[request.body..], [9]);
                if version == Version::V1_2 {
                    assert_eq!(decoder(&frame, 20).short(), Ok(disposition.0));
                }
                if let Target::Reference { index, ior: view } = request.target {
                    assert_eq!((index, view.profiles()), (1, 2));
                    assert_eq!(view.to_ior().as_ref(), Ok(&ior));
                    assert_eq!(view.profile(0).unwrap().data, foreign.data);
                }
            }
        }
    }
}

#[test]
fn message_reads_every_kind() {
    for version in VERSIONS {
        for order in common::ORDERS {
            for octets in common::every_kind(version, order, 3, b"body") {
                let frame = Frame::parse(&octets).unwrap();
                let kind = match frame.message().unwrap() {
                    Message::Request(request) => {
                        assert_eq!(&octets[request.body..], b"body");
                        MessageType::REQUEST
                    }
                    Message::Reply(_) => MessageType::REPLY,
                    Message::CancelRequest(_) => MessageType::CANCEL_REQUEST,
                    Message::LocateRequest(_) => MessageType::LOCATE_REQUEST,
                    Message::LocateReply(_) => MessageType::LOCATE_REPLY,
                    Message::CloseConnection => MessageType::CLOSE_CONNECTION,
                    Message::MessageError => MessageType::MESSAGE_ERROR,
                };
                assert_eq!(kind, frame.header.kind);
            }
        }
    }
}

#[test]
fn gathered_arguments_count_in_the_size() {
    let large = vec![0x5a; 10_000];
    let mut e = encoder(Version::V1_2, ByteOrder::Little).gather_above(100);
    let begun = begin_reply(&mut e, Version::V1_2, 1, ReplyStatus::NO_EXCEPTION, &[]);
    e.ulong(large.len() as u32);
    e.octets(&large);
    finish(&mut e, begun).unwrap();
    let message = e.finish();
    assert!(!message.is_contiguous());
    let octets = message.to_vec();
    assert_eq!(Frame::parse(&octets).unwrap().header.total(), octets.len());
}

#[test]
fn permanent_forwarding_exists_since_1_2() {
    for version in VERSIONS {
        let mut e = encoder(version, ByteOrder::Big);
        let begun = begin_reply(&mut e, version, 7, ReplyStatus::LOCATION_FORWARD_PERM, &[]);
        finish(&mut e, begun).unwrap();
        let octets = e.finish().to_vec();
        let expected = if version < Version::V1_2 {
            ReplyStatus::LOCATION_FORWARD
        } else {
            ReplyStatus::LOCATION_FORWARD_PERM
        };
        let frame = Frame::parse(&octets).unwrap();
        assert_eq!(Reply::parse(&frame).unwrap().status, expected);
    }
}
