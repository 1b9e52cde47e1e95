//! Entry points of the fuzz targets for messages and sessions: no input may cause a panic or a hang,
//! or exceed a limit.

use std::prelude::rust_2024::*;
mod session;

pub use session::session;

use crate::{FirstMessage, Frame, Inbox, Message, MessageLimits, Target};

/// Passes `data` to an inbox as octets from a peer, in reads whose size the first octet determines, and parses every
/// message completely.
pub fn receive(data: &[u8]) {
    let Some((&read, stream)) = data.split_first() else {
        return;
    };
    let limits = MessageLimits {
        max_message: 4 << 10,
        max_partial_octets: 16 << 10,
        ..MessageLimits::default()
    };
    let mut inbox = Inbox::new(&limits);
    for octets in stream.chunks(usize::from(read) + 1) {
        let mut rest = octets;
        while !rest.is_empty() {
            let (buffer, most) = inbox.room();
            let (now, later) = rest.split_at(most.min(rest.len()));
            buffer.extend_from_slice(now);
            rest = later;
            loop {
                match inbox.poll() {
                    Err(violation) => {
                        assert!(!violation.to_string().is_empty());
                        violation.answer();
                        return;
                    }
                    Ok(None) => break,
                    Ok(Some(_)) => examine(inbox.frame()),
                }
            }
        }
        assert!(inbox.memory() <= 128 << 10, "memory stays within the limits");
    }
}

/// Reads `data` as the first octets of a connection, after each octet that arrives. Once these are enough to select the
/// threads of the connection, further octets must not change the selection.
pub fn first_message(data: &[u8]) {
    let mut before = FirstMessage::Incomplete;
    for end in 0..=data.len() {
        let now = FirstMessage::parse(&data[..end]);
        assert!(before == FirstMessage::Incomplete || before == now);
        before = now;
    }
}

fn examine(frame: Frame<'_>) {
    assert_eq!(frame.header.total(), frame.bytes.len());
    assert!(frame.bytes.len() >= usize::from(frame.header.len));
    let Ok(message) = frame.message() else { return };
    let start = usize::from(frame.header.len);
    let (target, contexts, body) = match message {
        Message::Request(request) => (Some(request.target), Some(request.contexts), request.body),
        Message::Reply(reply) => (None, Some(reply.contexts), reply.body),
        Message::LocateRequest(locate) => (Some(locate.target), None, start),
        Message::LocateReply(reply) => (None, None, reply.body),
        _ => (None, None, start),
    };
    assert!(body <= frame.bytes.len());
    if let Some(contexts) = contexts {
        assert_eq!(contexts.iter().count(), contexts.len());
    }
    if let Some(target) = target {
        let _ = target.object_key();
        if let Target::Reference { ior, .. } = target {
            let _ = ior.to_ior();
        }
    }
}
