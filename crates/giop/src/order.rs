//! Unsigned longs at known offsets, read and written without a codec.

use oxorb_cdr::ByteOrder;

/// Returns the octets of an unsigned long.
#[inline]
pub(crate) fn ulong_octets(order: ByteOrder, value: u32) -> [u8; 4] {
    match order {
        ByteOrder::Big => value.to_be_bytes(),
        ByteOrder::Little => value.to_le_bytes(),
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
