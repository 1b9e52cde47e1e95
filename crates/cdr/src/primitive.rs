//! Numbers in CDR: a size, which is also the alignment up to eight, and a byte order.

use core::hint::cold_path;

use bytemuck::Pod;

/// Number whose octets in memory equal its octets on the wire, in one byte order or the other.
pub(crate) trait Primitive: Pod {
    /// Number as octets.
    type Wire: Pod;

    const SIZE: usize = size_of::<Self>();
    /// Natural alignment; a power of two, at most eight.
    const ALIGN: usize = if Self::SIZE > 8 { 8 } else { Self::SIZE };

    fn to_wire(self, swap: bool) -> Self::Wire;

    /// Writes the number to the start of `room`, which must be long enough, as one store; copying a
    /// slice whose length only the caller knows can become a call.
    fn store(self, swap: bool, room: &mut [u8]);

    fn from_wire(wire: Self::Wire, swap: bool) -> Self;

    /// Reads the number in `octets`, which must have exactly its size.
    fn load(octets: &[u8], swap: bool) -> Self;

    /// Writes numbers in foreign order into exactly the octets they take; the loop becomes vector
    /// instructions.
    fn store_all_swapped(items: &[Self], room: &mut [u8]);
}

/// Mask of all positions in memory. After masking with it, adding a small size cannot overflow, so
/// the compiler checks only the end of a range.
pub(crate) const POSITIONS: usize = usize::MAX >> 1;

/// Returns the padding from an offset to the next multiple of `align`, a power of two.
#[inline(always)]
pub(crate) const fn padding(offset: usize, align: usize) -> usize {
    offset.wrapping_neg() & (align - 1)
}

/// Returns the next multiple of `align`, a power of two.
#[inline(always)]
pub(crate) const fn aligned(offset: usize, align: usize) -> usize {
    offset.wrapping_add(align - 1) & !(align - 1)
}

macro_rules! primitive {
    ($($number:ty as $bits:ty),* $(,)?) => {$(
        impl Primitive for $number {
            type Wire = [u8; size_of::<$number>()];

            #[inline(always)]
            fn to_wire(self, swap: bool) -> Self::Wire {
                let bits: $bits = bytemuck::cast(self);
                (if swap { bits.swap_bytes() } else { bits }).to_ne_bytes()
            }

            #[inline(always)]
            fn store(self, swap: bool, room: &mut [u8]) {
                let wire = room.first_chunk_mut().expect("room for the number");
                if swap {
                    cold_path();
                    *wire = self.to_wire(true);
                } else {
                    *wire = self.to_wire(false);
                }
            }

            #[inline(always)]
            fn from_wire(wire: Self::Wire, swap: bool) -> Self {
                let bits = <$bits>::from_ne_bytes(wire);
                bytemuck::cast(if swap { bits.swap_bytes() } else { bits })
            }

            #[inline(always)]
            fn load(octets: &[u8], swap: bool) -> Self {
                let wire = octets.first_chunk().expect("octets of a number");
                if swap {
                    cold_path(); // a branch that is foreseen costs less than to swap and then choose
                    return Self::from_wire(*wire, true);
                }
                Self::from_wire(*wire, false)
            }

            fn store_all_swapped(items: &[Self], room: &mut [u8]) {
                for (octets, number) in room.as_chunks_mut().0.iter_mut().zip(items) {
                    *octets = number.to_wire(true);
                }
            }
        }
    )*};
}

primitive!(
    u8 as u8, i16 as u16, u16 as u16, i32 as u32, u32 as u32, i64 as u64, u64 as u64, f32 as u32,
    f64 as u64
);
primitive!(u128 as u128);
