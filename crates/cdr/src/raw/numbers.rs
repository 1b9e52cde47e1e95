//! Blocks of numbers in foreign order.

use crate::prelude::*;
use crate::primitive::Primitive;

/// Returns the numbers in octets of foreign order, as many as are complete; each is written
/// directly to its place, without clearing the memory first.
pub(crate) fn swapped<T: Primitive>(octets: &[u8]) -> Vec<T> {
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    if octets.len() >= LONG && std::is_x86_feature_detected!("avx2") {
        // SAFETY: this CPU supports these instructions.
        return unsafe { swapped_in_vectors(octets) };
    }
    swapped_one_by_one(octets)
}

/// Number of octets from which vector instructions justify a call and a check for support.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
const LONG: usize = 128;

/// Compiles [`swapped_one_by_one`] for a CPU that can shuffle octets within a vector.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2")]
fn swapped_in_vectors<T: Primitive>(octets: &[u8]) -> Vec<T> {
    swapped_one_by_one(octets)
}

#[inline(always)]
fn swapped_one_by_one<T: Primitive>(octets: &[u8]) -> Vec<T> {
    let count = octets.len() / T::SIZE;
    let mut numbers = Vec::with_capacity(count);
    let places = &mut numbers.spare_capacity_mut()[..count];
    for (octets, place) in octets.chunks_exact(T::SIZE).zip(places) {
        place.write(T::from_wire(bytemuck::pod_read_unaligned(octets), true));
    }
    // SAFETY: `octets` has `count` complete pieces, so each of the first `count` places was
    // written.
    unsafe { numbers.set_len(count) };
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_whole_number_is_swapped() {
        let octets: Vec<u8> = (0..=255).cycle().take(400).collect();
        let (offsets, each) = if cfg!(miri) { (2, 37) } else { (8, 1) };
        for offset in 0..offsets {
            for end in (offset..octets.len()).step_by(each) {
                let octets = &octets[offset..end];
                let (pairs, fours, eights) =
                    (octets.as_chunks(), octets.as_chunks(), octets.as_chunks());
                let foreign = |wire: &[u8; 2]| i16::from_ne_bytes(*wire).swap_bytes();
                assert_eq!(swapped::<i16>(octets), pairs.0.iter().map(foreign).collect::<Vec<_>>());
                let foreign = |wire: &[u8; 4]| u32::from_ne_bytes(*wire).swap_bytes();
                assert_eq!(swapped::<u32>(octets), fours.0.iter().map(foreign).collect::<Vec<_>>());
                let foreign =
                    |wire: &[u8; 8]| f64::from_bits(u64::from_ne_bytes(*wire).swap_bytes());
                let expected: Vec<f64> = eights.0.iter().map(foreign).collect();
                let bits =
                    |numbers: Vec<f64>| numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(swapped(octets)), bits(expected));
            }
        }
    }
}
