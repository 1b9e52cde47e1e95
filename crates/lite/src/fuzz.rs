//! Entry points of the fuzz target of messages: whatever the octets are, nothing may panic, hang, or exceed the limits.

use oxorb_giop::{Inbox, Limits, Message, Messaging, Wire};

/// Reads `data` as what a peer sends in a protocol that the first octet chooses, in reads whose size the second chooses;
/// every message in every detail.
pub fn receive(data: &[u8]) {
    let [protocol, read, stream @ ..] = data else {
        return;
    };
    let messaging = crate::ALL[usize::from(*protocol) % crate::ALL.len()];
    receive_as(messaging, *read, stream);
}

fn receive_as(messaging: &'static dyn Messaging, read: u8, stream: &[u8]) {
    let limits = Limits {
        max_message: 4 << 10,
        ..Limits::default()
    };
    let mut inbox = Inbox::new(&limits).speaking(Wire::Other(messaging));
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
                    Ok(Some(_)) => examine(&inbox),
                }
            }
        }
        assert!(inbox.memory() <= 1 << 20, "memory stays within the limits");
    }
}

fn examine(inbox: &Inbox) {
    let frame = inbox.frame();
    assert_eq!(frame.header.total(), frame.bytes.len());
    let Ok(message) = frame.message() else { return };
    let body = match message {
        Message::Request(request) => {
            assert_eq!(request.contexts.iter().count(), request.contexts.len());
            assert!(!request.operation.is_empty());
            request.body
        }
        Message::Reply(reply) => {
            assert_eq!(reply.contexts.iter().count(), reply.contexts.len());
            reply.body
        }
        Message::LocateReply(reply) => reply.body,
        _ => 0,
    };
    assert!(body <= frame.bytes.len());
}
