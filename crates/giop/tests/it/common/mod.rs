//! Shared helpers of these tests: messages of every kind, and a path through an inbox.

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encoder};
use oxorb_giop::{
    Frame, Header, Inbox, LocateStatus, ReplyStatus, RequestHeader, Response, TargetAddress,
    Violation, begin_locate_reply, begin_reply, begin_request, cancel_request, close_connection,
    finish, locate_request, message_error,
};
use oxorb_object::{ServiceContext, Version};
pub(crate) use oxorb_testkit::octets;

pub(crate) const VERSIONS: [Version; 3] = [Version::V1_0, Version::V1_1, Version::V1_2];
pub(crate) const ORDERS: [ByteOrder; 2] = [ByteOrder::Big, ByteOrder::Little];

pub(crate) fn encoder(version: Version, order: ByteOrder) -> Encoder<'static> {
    Encoder::new(Vec::new(), order, Dialect::new(version.minor))
}

pub(crate) fn request(version: Version, order: ByteOrder, id: u32, body: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = RequestHeader {
        id,
        response: Response::WithTarget,
        key: TargetAddress::Key(b"a key"),
        operation: "operation",
        contexts: &[ServiceContext { id: 10, data: &[0, 0, 0x12, 0x34] }],
        terms: None,
        alias: None,
    };
    let begun = begin_request(&mut e, version, &header);
    e.copy_octets(body);
    finish(&mut e, begun).expect("a small message");
    e.finish().to_vec()
}

pub(crate) fn reply(version: Version, order: ByteOrder, id: u32, body: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    let begun = begin_reply(&mut e, version, id, ReplyStatus::NO_EXCEPTION, &[]);
    e.copy_octets(body);
    finish(&mut e, begun).expect("a small message");
    e.finish().to_vec()
}

pub(crate) fn locate(version: Version, order: ByteOrder, id: u32, key: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    locate_request(&mut e, version, id, TargetAddress::Key(key)).expect("a small message");
    e.finish().to_vec()
}

pub(crate) fn located(version: Version, order: ByteOrder, id: u32, body: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    let begun = begin_locate_reply(&mut e, version, id, LocateStatus::OBJECT_FORWARD);
    e.copy_octets(body);
    finish(&mut e, begun).expect("a small message");
    e.finish().to_vec()
}

/// Returns one message of every kind.
pub(crate) fn every_kind(version: Version, order: ByteOrder, id: u32, body: &[u8]) -> Vec<Vec<u8>> {
    vec![
        request(version, order, id, body),
        reply(version, order, id.wrapping_add(1), body),
        cancel_request(version, order, id.wrapping_add(2)).to_vec(),
        locate(version, order, id.wrapping_add(3), body),
        located(version, order, id.wrapping_add(4), body),
        close_connection(version, order).to_vec(),
        message_error(version).to_vec(),
    ]
}

/// Appends as many octets as the inbox offers; returns their number.
pub(crate) fn feed(inbox: &mut Inbox, octets: &[u8]) -> usize {
    let (buffer, most) = inbox.room();
    assert!(most > 0, "an inbox always has room for one octet");
    assert!(buffer.capacity() - buffer.len() >= most, "the room offered is there");
    let n = most.min(octets.len());
    buffer.extend_from_slice(&octets[..n]);
    n
}

/// Returns all messages announced for `stream`, read in pieces of the given sizes, repeatedly.
pub(crate) fn receive(
    inbox: &mut Inbox,
    stream: &[u8],
    reads: &[usize],
) -> Result<Vec<Vec<u8>>, Violation> {
    let mut messages = Vec::new();
    let mut rest = stream;
    let mut sizes = reads.iter().copied().cycle();
    loop {
        while let Some(header) = inbox.poll()? {
            let frame = inbox.frame();
            assert_eq!(frame.header, header);
            assert_eq!(Frame::parse(frame.bytes), Ok(frame), "a frame is a whole message");
            // Every second message is moved out of the inbox; the others are borrowed.
            if messages.len().is_multiple_of(2) {
                messages.push(frame.bytes.to_vec());
            } else {
                messages.push(inbox.take().to_vec());
            }
        }
        if rest.is_empty() {
            return Ok(messages);
        }
        let read = sizes.next().unwrap_or(1).clamp(1, rest.len());
        let n = feed(inbox, &rest[..read]);
        rest = &rest[n..];
    }
}

/// Splits a GIOP 1.2 (or 1.1) message at the given offsets; real peers must use multiples of 8 in
/// GIOP 1.2, but a receiver joins any pieces.
pub(crate) fn split(message: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let whole = Frame::parse(message).expect("a message").header;
    let id: [u8; 4] = message[12..16].try_into().expect("a request id");
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| 16 + cut % (message.len() - 15)).collect();
    cuts.sort_unstable();
    cuts.push(message.len());
    let mut pieces = Vec::new();
    let mut from = Header::LEN;
    for (i, &to) in cuts.iter().enumerate() {
        let first = i == 0;
        let mut body = Vec::new();
        if !first && whole.version >= Version::V1_2 {
            body.extend_from_slice(&id);
        }
        body.extend_from_slice(&message[from..to]);
        let header = Header {
            more_fragments: to != message.len() || i + 1 != cuts.len(),
            kind: if first { whole.kind } else { oxorb_giop::MessageType::FRAGMENT },
            size: body.len() as u32,
            ..whole
        };
        let mut piece = header.to_bytes().to_vec();
        piece.extend_from_slice(&body);
        pieces.push(piece);
        from = to;
    }
    pieces
}

pub(crate) fn decoder<'a>(frame: &Frame<'a>, at: usize) -> Decoder<'a> {
    frame.decoder(Dialect::new(frame.header.version.minor)).at(at)
}
