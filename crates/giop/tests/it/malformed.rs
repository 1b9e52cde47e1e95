//! Messages that peers must not send, with the exact violation by each.

use oxorb_cdr::{self as cdr, ErrorKind};
use oxorb_giop::{
    Answer, Frame, Header, Message, MessageType, Misbehaviour, Unsupported, Violation,
};
use oxorb_object::{CompletionStatus, MAX_CONTEXTS, Malformed, SystemException, Version, minor};

use crate::common::{ORDERS, VERSIONS, every_kind, octets};

fn header(text: &str) -> Violation {
    Header::parse(&octets(text).try_into().expect("twelve octets")).unwrap_err()
}

#[test]
fn headers() {
    use Misbehaviour::{ByteOrder, Empty, Magic, NotFragmentable};
    for (text, expected) in [
        ("47455420 2f206874 74702f31", Violation::Peer(Magic(*b"GET "))),
        ("5a494f50 01020000 00000001", Violation::Unsupported(Unsupported::Compression)),
        (
            "47494f50 01030000 00000001",
            Violation::Unsupported(Unsupported::Version(Version { major: 1, minor: 3 })),
        ),
        (
            "47494f50 02000000 00000001",
            Violation::Unsupported(Unsupported::Version(Version { major: 2, minor: 0 })),
        ),
        ("47494f50 01000200 00000001", Violation::Peer(ByteOrder(2))),
        (
            "47494f50 01020008 00000001",
            Violation::Unsupported(Unsupported::MessageType(MessageType(8))),
        ),
        ("47494f50 01020000 00000000", Violation::Peer(Empty(MessageType::REQUEST))),
        ("47494f50 01020007 00000000", Violation::Peer(Empty(MessageType::FRAGMENT))),
        (
            "47494f50 01000007 00000001",
            Violation::Peer(NotFragmentable {
                kind: MessageType::FRAGMENT,
                version: Version::V1_0,
            }),
        ),
        (
            "47494f50 01010203 00000001",
            Violation::Peer(NotFragmentable {
                kind: MessageType::LOCATE_REQUEST,
                version: Version::V1_1,
            }),
        ),
        (
            "47494f50 01020202 00000004",
            Violation::Peer(NotFragmentable {
                kind: MessageType::CANCEL_REQUEST,
                version: Version::V1_2,
            }),
        ),
    ] {
        assert_eq!(header(text), expected, "{text}");
    }
    // GIOP 1.1 and later reserve the upper six flag bits, which a receiver ignores.
    assert!(Header::parse(&octets("47494f50 0102fc00 00000001").try_into().unwrap()).is_ok());
}

#[test]
fn a_frame_must_be_exactly_one_message() {
    let message = octets("47494f50 01020002 00000004 00000007");
    assert_eq!(
        Frame::parse(&message[..11]),
        Err(Violation::Truncated { what: "the GIOP header", needed: 12, left: 11 })
    );
    for given in [15, 17] {
        let mut other = message.clone();
        other.resize(given, 0);
        let expected = Misbehaviour::SizeMismatch { announced: 16, given };
        assert_eq!(Frame::parse(&other), Err(Violation::Peer(expected)));
    }
}

/// Returns the violation of a Request with these octets after the header.
fn request(minor: u8, body: &str) -> Violation {
    let body = octets(body);
    let mut message = b"GIOP\x01".to_vec();
    message.extend([minor, 0, 0]);
    message.extend((body.len() as u32).to_be_bytes());
    message.extend(body);
    Frame::parse(&message).unwrap().message().unwrap_err()
}

#[test]
fn requests() {
    let start = "00000007 03000000";
    let cdr = |kind, at| Violation::from(cdr::Error { kind, at });
    for (body, expected) in [
        ("0003", Violation::Peer(Misbehaviour::TargetDiscriminant(3))),
        (
            "0000 0000 000000ff 6b6579",
            cdr(ErrorKind::LengthImplausible { length: 255, left: 3 }, 24),
        ),
        ("0000 0000 00000001 6b 000000 00000000", Violation::Peer(Misbehaviour::OperationName)),
        ("0000 0000 00000001 6b 000000 00000001 00", Violation::Peer(Misbehaviour::OperationName)),
        (
            "0000 0000 00000001 6b 000000 00000002 6f70",
            Violation::Peer(Misbehaviour::OperationName),
        ),
        (
            "0000 0000 00000001 6b 000000 00000002 ff00",
            Violation::Peer(Misbehaviour::OperationName),
        ),
        (
            "0000 0000 00000001 6b 000000 00000002 6f00 0000 00000001",
            cdr(ErrorKind::LengthImplausible { length: 1, left: 0 }, 40),
        ),
        (
            "0000 0000 00000001 6b 000000 00000002 6f00 0000 00000001 00000001 ffffffff",
            cdr(ErrorKind::LengthImplausible { length: 0xffff_ffff, left: 0 }, 48),
        ),
    ] {
        assert_eq!(request(2, &format!("{start} {body}")), expected, "{body}");
    }
    assert_eq!(request(2, "000000"), cdr(ErrorKind::Truncated { needed: 4, left: 3 }, 12));
}

#[test]
fn too_many_contexts() {
    let count = MAX_CONTEXTS + 1;
    let body = format!("{count:08x} {}", "00000001 00000000".repeat(count));
    let limit = Malformed::Limit {
        what: "number of service contexts in a message",
        size: count as u64,
        limit: MAX_CONTEXTS as u64,
    };
    let violation = request(0, &body);
    assert_eq!(violation, limit.into());
    assert_eq!(
        violation.to_exception(CompletionStatus::Maybe),
        SystemException::imp_limit(minor::imp_limit::RECEIVED_TOO_LARGE, CompletionStatus::Maybe)
    );
}

#[test]
fn targets_without_a_key() {
    let target = |target: &str| {
        let body = octets(&format!("00000007 03000000 {target} 00000002 6f00 0000 00000000"));
        let mut message = b"GIOP\x01\x02\x00\x00".to_vec();
        message.extend((body.len() as u32).to_be_bytes());
        message.extend(body);
        let frame = Frame::parse(&message).unwrap();
        match frame.message().unwrap() {
            Message::Request(request) => request.target.object_key().map(<[u8]>::to_vec),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        target("0001 0000 00003039 00000004 00000000"),
        Err(Malformed::NoObjectKey { tag: 0x3039 }.into())
    );
    assert_eq!(
        target("0001 0000 00000000 00000004 00010000"),
        Err(Violation::from(cdr::Error {
            kind: ErrorKind::Truncated { needed: 5, left: 1 },
            at: 3
        }))
    );
    assert_eq!(
        target("0001 0000 00000000 00000004 02010000"),
        Err(Violation::from(cdr::Error { kind: ErrorKind::BadByteOrder(2), at: 0 }))
    );
    assert_eq!(
        target("0002 0000 00000001 00000001 00 000000 00000001 00000000 00000000"),
        Err(Violation::Peer(Misbehaviour::ProfileIndex { index: 1, profiles: 1 }))
    );
}

#[test]
fn every_truncation_of_every_message_is_noticed() {
    for version in VERSIONS {
        for order in ORDERS {
            for whole in every_kind(version, order, 7, b"") {
                for length in Header::LEN..whole.len() {
                    // The size in the header is that of the truncated message, so the violation is found in the fields.
                    let mut message = whole[..length].to_vec();
                    let size = ((length - Header::LEN) as u32).to_be_bytes();
                    let size = if order.flag() && message[6] & 1 == 1 {
                        [size[3], size[2], size[1], size[0]]
                    } else {
                        size
                    };
                    message[8..12].copy_from_slice(&size);
                    let parsed = Frame::parse(&message).and_then(|frame| frame.message().map(drop));
                    assert!(parsed.is_err(), "{length} of {:02x?}", whole);
                }
            }
        }
    }
}

#[test]
fn the_wrong_kind_is_refused() {
    let message = octets("47494f50 01020002 00000004 00000007");
    let frame = Frame::parse(&message).unwrap();
    let expected =
        Misbehaviour::Kind { expected: MessageType::REPLY, found: MessageType::CANCEL_REQUEST };
    assert_eq!(oxorb_giop::Reply::parse(&frame).unwrap_err(), Violation::Peer(expected));
    let fragment = octets("47494f50 01020007 00000004 00000007");
    assert_eq!(
        Frame::parse(&fragment).unwrap().message().unwrap_err(),
        Violation::Peer(Misbehaviour::OrphanFragment { id: None })
    );
}

#[test]
fn answers_follow_blame() {
    let sent = oxorb_giop::MessageLimits { max_message: 10, ..Default::default() }
        .check_outgoing(11)
        .unwrap_err();
    let exception =
        SystemException::imp_limit(minor::imp_limit::MESSAGE_TOO_LARGE, CompletionStatus::No);
    assert_eq!(sent.answer(), Answer::Exception(exception));
    assert_eq!(header("47455420 2f206874 74702f31").answer(), Answer::Close);
    for text in
        ["47494f50 01030000 00000001", "47494f50 01020008 00000001", "47494f50 01020000 00000000"]
    {
        assert_eq!(header(text).answer(), Answer::MessageError);
    }
    let lost = header("47494f50 01020000 00000000").to_exception(CompletionStatus::Maybe);
    assert_eq!(
        lost,
        SystemException::comm_failure(
            minor::comm_failure::PROTOCOL_VIOLATION,
            CompletionStatus::Maybe
        )
    );
}

#[test]
fn violations_are_sentences_that_name_the_value() {
    for (violation, parts) in [
        (header("47455420 2f206874 74702f31"), vec!["GIOP", "GET "]),
        (header("47494f50 01030000 00000001"), vec!["1.3"]),
        (header("47494f50 01010203 00000001"), vec!["LocateRequest", "1.1"]),
        (request(2, "000000"), vec!["octet 12"]),
        (Violation::Peer(Misbehaviour::OrphanFragment { id: Some(9) }), vec!["continues", "9"]),
    ] {
        let text = violation.to_string();
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }
}
