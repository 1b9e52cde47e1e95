//! Shared helpers of the tests of both protocols.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{
    Alias, Begun, Inbox, MessageLimits, Messaging, RequestHeader, Response, TargetAddress, Terms,
    Violation, Wire,
};
use oxorb_object::ServiceContext;
pub(crate) use oxorb_testkit::octets;

/// Returns the complete message that `begin` starts and `body` ends.
pub(crate) fn message(
    messaging: &'static dyn Messaging,
    order: ByteOrder,
    begin: impl FnOnce(&dyn Messaging, &mut Encoder<'_>) -> Begun,
    body: impl FnOnce(&mut Encoder<'_>),
) -> Vec<u8> {
    let wire = Wire::Other(messaging);
    let mut e = Encoder::new(Vec::new(), order, wire.dialect());
    let begun = begin(messaging, &mut e);
    body(&mut e);
    wire.finish(&mut e, begun).expect("a small message");
    e.finish().to_vec()
}

/// Returns the header fields of a request that expects a reply.
pub(crate) fn request<'h>(
    id: u32,
    key: &'h [u8],
    operation: &'h str,
    contexts: &'h [ServiceContext<'h>],
    terms: Option<Terms>,
    alias: Option<Alias>,
) -> RequestHeader<'h> {
    RequestHeader {
        id,
        response: Response::WithTarget,
        key: TargetAddress::Key(key),
        operation,
        contexts,
        terms,
        alias,
    }
}

/// Returns an inbox for the messages of a protocol.
pub(crate) fn inbox(messaging: &'static dyn Messaging) -> Inbox {
    inbox_with(messaging, &MessageLimits::default())
}

/// Returns an inbox with these limits.
pub(crate) fn inbox_with(messaging: &'static dyn Messaging, limits: &MessageLimits) -> Inbox {
    Inbox::new(limits).speaking(Wire::Other(messaging))
}

/// Appends octets as if a link had read them.
pub(crate) fn feed(inbox: &mut Inbox, mut octets: &[u8]) {
    while !octets.is_empty() {
        let (buffer, most) = inbox.room();
        let (now, later) = octets.split_at(most.min(octets.len()));
        buffer.extend_from_slice(now);
        octets = later;
    }
}

/// Returns the violation by these octets.
pub(crate) fn violation(messaging: &'static dyn Messaging, octets: &[u8]) -> Violation {
    let mut inbox = inbox(messaging);
    feed(&mut inbox, octets);
    loop {
        match inbox.poll() {
            Err(violation) => return violation,
            Ok(None) => panic!("nothing is wrong with {octets:02x?}, or they are not all there"),
            Ok(Some(_)) => {
                if let Err(violation) = inbox.frame().message() {
                    return violation;
                }
            }
        }
    }
}
