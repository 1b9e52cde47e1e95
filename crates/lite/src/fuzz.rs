//! Entry points of the fuzz target for messages: no input may cause a panic, a hang, or exceeded
//! limits.

use oxorb_giop::{Inbox, Message, MessageLimits, Messaging, Wire};
use oxorb_object::Version;

/// Parses `data` as octets from a peer in the protocol that the first octet selects, in reads whose
/// size the second determines, and every message in full detail.
pub fn receive(data: &[u8]) {
    let [protocol, read, stream @ ..] = data else {
        return;
    };
    let messaging = crate::ALL[usize::from(*protocol) % crate::ALL.len()];
    receive_as(messaging, *read, stream);
}

/// Drives two ends of a connection by the events in `data`, in the protocol that the first octet
/// selects: a version of GIOP, or a protocol of this crate.
pub fn session(data: &[u8]) {
    let Some((&protocol, events)) = data.split_first() else {
        return;
    };
    let giop = [Version::V1_0, Version::V1_1, Version::V1_2].map(Wire::Giop);
    let other = crate::ALL.iter().map(|messaging| Wire::Other(*messaging));
    let wires: Vec<Wire> = giop.into_iter().chain(other).collect();
    oxorb_giop::fuzz::session(wires[usize::from(protocol) % wires.len()], events);
}

fn receive_as(messaging: &'static dyn Messaging, read: u8, stream: &[u8]) {
    let limits = MessageLimits { max_message: 4 << 10, ..MessageLimits::default() };
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
