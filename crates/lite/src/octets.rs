//! Numbers at known offsets of a message.

use oxorb_cdr::ByteOrder;
use oxorb_giop::{Frame, MessageType, Misbehaviour, Violation};

/// Returns the unsigned long at offset `at`.
///
/// # Errors
/// [`Violation::Truncated`] with the name `what`.
#[inline]
pub(crate) fn ulong(
    message: &[u8],
    order: ByteOrder,
    what: &'static str,
    at: usize,
) -> Result<u32, Violation> {
    let four = message.get(at..).and_then(|rest| rest.first_chunk());
    match four {
        Some(four) => Ok(ulong_from(order, *four)),
        None => Err(truncated(message, what, at, 4)),
    }
}

/// Returns the unsigned long in four octets.
#[inline]
pub(crate) fn ulong_from(order: ByteOrder, octets: [u8; 4]) -> u32 {
    match order {
        ByteOrder::Big => u32::from_be_bytes(octets),
        ByteOrder::Little => u32::from_le_bytes(octets),
    }
}

/// Returns `length` octets starting at offset `at`.
///
/// # Errors
/// [`Violation::Truncated`] with the name `what`.
#[inline]
pub(crate) fn octets<'a>(
    message: &'a [u8],
    what: &'static str,
    at: usize,
    length: usize,
) -> Result<&'a [u8], Violation> {
    let octets = message.get(at..).and_then(|rest| rest.get(..length));
    octets.ok_or_else(|| truncated(message, what, at, length))
}

#[cold]
fn truncated(message: &[u8], what: &'static str, at: usize, needed: usize) -> Violation {
    Violation::Truncated { what, needed, left: message.len().saturating_sub(at) }
}

/// Checks the kind of a message.
///
/// # Errors
/// [`Misbehaviour::Kind`] for a message of another kind.
#[inline]
pub(crate) fn expect(frame: &Frame<'_>, expected: MessageType) -> Result<(), Violation> {
    let found = frame.header.kind;
    match found == expected {
        true => Ok(()),
        false => Err(Violation::Peer(Misbehaviour::Kind { expected, found })),
    }
}
