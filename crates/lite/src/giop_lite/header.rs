//! Message headers of five octets.

use oxorb_giop::{MessageType, Misbehaviour, Unsupported, Violation};

/// Length of a header, in octets.
pub(super) const LEN: usize = 5;

/// Offset of the size.
pub(super) const SIZE_AT: usize = 0;

/// Offset of the first number of a message.
pub(super) const FIELDS_AT: usize = 8;

/// Name of the protocol in errors.
pub(super) const NAME: &str = "GIOPlite";

/// Parses a header, and returns the message's kind, and the number of octets after the header.
///
/// # Errors
/// [`Violation::Peer`] for the start of another protocol's message and messages that are too short for their kind,
/// [`Violation::Unsupported`] for kinds that GIOPlite does not have.
#[inline]
pub(super) fn parse(start: &[u8; LEN]) -> Result<(MessageType, u32), Violation> {
    let [s0, s1, s2, s3, kind] = *start;
    let size = u32::from_ne_bytes([s0, s1, s2, s3]);
    let kind = MessageType(kind);
    if kind.0 >= MessageType::FRAGMENT.0 || size < least(kind) || is_giop(start) {
        return Err(unreadable(start, kind));
    }
    Ok((kind, size))
}

/// Returns the header of a message with this size, the number of octets after the header.
#[inline]
pub(super) const fn octets(kind: MessageType, size: u32) -> [u8; LEN] {
    let [s0, s1, s2, s3] = size.to_ne_bytes();
    [s0, s1, s2, s3, kind.0]
}

/// Returns the violation by a message that exceeds `limit`: a peer of the other byte order
/// announces implausible sizes.
#[cold]
pub(super) fn oversized(start: &[u8], limit: Violation) -> Violation {
    let Some(octets) = start.first_chunk() else {
        return limit;
    };
    let size = u32::from_ne_bytes(*octets);
    let swapped = size.swap_bytes();
    if swapped >= size {
        return limit;
    }
    Violation::Peer(Misbehaviour::OtherByteOrder { protocol: NAME, size, swapped })
}

/// Returns the minimum number of octets after the header: if there are any, they start with an
/// aligned number.
#[inline]
const fn least(kind: MessageType) -> u32 {
    match kind {
        MessageType::CLOSE_CONNECTION | MessageType::MESSAGE_ERROR => 0,
        _ => (FIELDS_AT + 4 - LEN) as u32,
    }
}

/// Reports whether the octets start a GIOP message: its magic would be an implausible size, its
/// major version a kind.
#[inline]
fn is_giop(start: &[u8; LEN]) -> bool {
    start.starts_with(b"GIOP")
}

/// Returns the violation by an invalid header.
#[cold]
fn unreadable(start: &[u8; LEN], kind: MessageType) -> Violation {
    let [s0, s1, s2, s3, _] = *start;
    if is_giop(start) {
        return Violation::Peer(Misbehaviour::Protocol { expected: NAME, start: [s0, s1, s2, s3] });
    }
    match kind.0 >= MessageType::FRAGMENT.0 {
        true => Violation::Unsupported(Unsupported::MessageType(kind)),
        false => Violation::Peer(Misbehaviour::Empty(kind)),
    }
}
