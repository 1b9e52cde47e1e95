//! Message headers of eight octets.

use oxorb_cdr::ByteOrder;
use oxorb_giop::{MessageType, Misbehaviour, Unsupported, Violation};

use crate::octets::ulong_from;

/// Length of a header, in octets.
pub(crate) const LEN: usize = 8;

/// Offset of the size.
pub(crate) const SIZE_AT: usize = 4;

/// Offset of the request id.
pub(crate) const ID_AT: usize = LEN;

/// Name of the protocol in errors.
pub(crate) const NAME: &str = "GIOPlite/RT 1";

/// Version, in the upper half of the second octet.
pub(super) const VERSION: u8 = 0x10;

/// Parses a header, and returns byte order and kind of the message, and the number of octets after
/// the header.
///
/// # Errors
/// [`Violation::Peer`] for the start of another protocol's message and messages that are too short for their kind,
/// [`Violation::Unsupported`] for kinds that GIOPlite/RT does not have.
#[inline]
pub(crate) fn parse(start: &[u8; LEN]) -> Result<(ByteOrder, MessageType, u32), Violation> {
    let [mark, kind, _, _, s0, s1, s2, s3] = *start;
    let order = ByteOrder::from_flag(mark == LITTLE);
    let size = ulong_from(order, [s0, s1, s2, s3]);
    let of_this_version = mark <= LITTLE && kind & 0xf0 == VERSION;
    let kind = MessageType(kind & 0x0f);
    if !of_this_version || kind.0 >= MessageType::FRAGMENT.0 || size < least(kind) {
        return Err(unreadable(start, of_this_version, kind));
    }
    Ok((order, kind, size))
}

/// Returns the header of a message with this size, the number of octets after the header. `fields`
/// are the two octets whose meaning depends on the kind.
#[inline]
pub(crate) const fn octets(
    order: ByteOrder,
    kind: MessageType,
    fields: [u8; 2],
    size: u32,
) -> [u8; LEN] {
    let [s0, s1, s2, s3] = ulong_octets(order, size);
    let [f0, f1] = fields;
    let mark = order.flag() as u8;
    [mark, VERSION | kind.0, f0, f1, s0, s1, s2, s3]
}

/// Returns a header padded with zeros to sixteen octets.
pub(super) const fn padded(header: [u8; LEN]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h] = header;
    [a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// Returns the octets of an unsigned long.
#[inline]
pub(crate) const fn ulong_octets(order: ByteOrder, value: u32) -> [u8; 4] {
    match order {
        ByteOrder::Big => value.to_be_bytes(),
        ByteOrder::Little => value.to_le_bytes(),
    }
}

/// Returns the octets of an unsigned short.
#[inline]
pub(crate) fn ushort_octets(order: ByteOrder, value: u16) -> [u8; 2] {
    match order {
        ByteOrder::Big => value.to_be_bytes(),
        ByteOrder::Little => value.to_le_bytes(),
    }
}

/// Returns the unsigned short in two octets.
#[inline]
pub(crate) fn ushort_from(order: ByteOrder, octets: [u8; 2]) -> u16 {
    match order {
        ByteOrder::Big => u16::from_be_bytes(octets),
        ByteOrder::Little => u16::from_le_bytes(octets),
    }
}

/// Flag of a message in little-endian byte order.
const LITTLE: u8 = 1;

/// Minimum number of octets after the header, if there are any: a request id.
pub(super) const LEAST: u32 = 4;

/// Returns the minimum number of octets after the header of a message.
#[inline]
const fn least(kind: MessageType) -> u32 {
    match kind {
        MessageType::CLOSE_CONNECTION | MessageType::MESSAGE_ERROR => 0,
        _ => LEAST,
    }
}

/// Returns the violation by an invalid header.
#[cold]
fn unreadable(start: &[u8; LEN], of_this_version: bool, kind: MessageType) -> Violation {
    let [s0, s1, s2, s3, ..] = *start;
    if !of_this_version {
        return Violation::Peer(Misbehaviour::Protocol { expected: NAME, start: [s0, s1, s2, s3] });
    }
    match kind.0 >= MessageType::FRAGMENT.0 {
        true => Violation::Unsupported(Unsupported::MessageType(kind)),
        false => Violation::Peer(Misbehaviour::Empty(kind)),
    }
}
