//! Large copies that are fast for every destination.
//!
//! On AMD processors since Zen 3, `rep movsb` copies only 3 octets per nanosecond, instead of 40,
//! if the destination is 1 to 31 octets after the source, both modulo the page size of 4 KiB. Up to
//! version 2.39, glibc uses that instruction for long copies on these processors. Messages are
//! often affected: glibc's allocator returns large blocks at 16 octets after the start of a page,
//! and a payload is copied from the start of one block to a place after a header in another. Short
//! copies use other instructions, so an affected copy is split into short ones. On processors
//! without the problem, the split makes such a copy 5% slower.

use crate::prelude::*;

/// Page size of the processor, in octets.
const PAGE: usize = 4096;
/// Distances modulo the page size at which long copies are slow.
const SLOW: core::ops::Range<usize> = 1..32;
/// Minimum size of a long copy, in octets.
const LONG: usize = 2048;
/// Size of a short copy, in octets.
const PIECE: usize = 1536;

/// Copies all elements, as `copy_from_slice` does.
///
/// ```
/// let mut to = [0; 3];
/// oxorb_cdr::copies::copy(&mut to, &[1, 2, 3]);
/// assert_eq!(to, [1, 2, 3]);
/// ```
///
/// # Panics
/// When the slices differ in length.
#[inline]
pub fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    match is_long(from) && is_slow(to.as_ptr(), from) {
        false => to.copy_from_slice(from),
        true => copy_in_pieces(to, from),
    }
}

/// Appends all elements, as `extend_from_slice` does.
///
/// ```
/// let mut to = vec![1];
/// oxorb_cdr::copies::append(&mut to, &[2, 3]);
/// assert_eq!(to, [1, 2, 3]);
/// ```
#[inline]
pub fn append<T: Copy>(to: &mut Vec<T>, from: &[T]) {
    match is_long(from) {
        false => to.extend_from_slice(from),
        true => append_long(to, from),
    }
}

/// Returns a vector of the elements, as `to_vec` does.
///
/// ```
/// assert_eq!(oxorb_cdr::copies::to_vec(&[1, 2]), [1, 2]);
/// ```
#[inline]
pub fn to_vec<T: Copy>(from: &[T]) -> Vec<T> {
    if !is_long(from) {
        return from.to_vec();
    }
    let mut to = Vec::with_capacity(from.len());
    append_long(&mut to, from);
    to
}

/// Reports whether a long copy to an address `octets` after its source is slow on this processor
/// architecture.
///
/// ```
/// assert!(!oxorb_cdr::copies::is_slow_distance(4096));
/// ```
#[inline]
pub fn is_slow_distance(octets: usize) -> bool {
    cfg!(target_arch = "x86_64") && SLOW.contains(&(octets % PAGE))
}

#[inline]
fn is_long<T>(from: &[T]) -> bool {
    size_of_val(from) >= LONG
}

/// Reports whether a long copy of these elements to this address is slow.
#[inline]
fn is_slow<T>(to: *const T, from: &[T]) -> bool {
    is_slow_distance(to.addr().wrapping_sub(from.as_ptr().addr()))
}

fn append_long<T: Copy>(to: &mut Vec<T>, from: &[T]) {
    // Reserves before the check, because a vector that grows may move, and the check needs the
    // final address.
    to.reserve(from.len());
    match is_slow(to.as_ptr_range().end, from) {
        false => to.extend_from_slice(from),
        true => append_in_pieces(to, from),
    }
}

#[cold]
fn copy_in_pieces<T: Copy>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len(), "copies are as long as what is copied");
    let pieces = from.chunks(piece::<T>());
    for (to, from) in to.chunks_mut(piece::<T>()).zip(pieces) {
        to.copy_from_slice(from);
    }
}

#[cold]
fn append_in_pieces<T: Copy>(to: &mut Vec<T>, from: &[T]) {
    from.chunks(piece::<T>()).for_each(|piece| to.extend_from_slice(piece));
}

/// Number of elements of a short copy.
const fn piece<T>() -> usize {
    match PIECE.checked_div(size_of::<T>()) {
        None | Some(0) => 1,
        Some(elements) => elements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests each possible distance, and lengths around the thresholds.
    #[test]
    fn everything_is_copied_wherever_it_goes() {
        let from: Vec<u8> = (0..=255).cycle().take(3 * PAGE).collect();
        let each = if cfg!(miri) { 13 } else { 1 };
        for distance in (0..PAGE).step_by(97).chain((0..64).step_by(each)) {
            for octets in [0, 1, LONG - 1, LONG, LONG + PIECE, 2 * PAGE - 1] {
                let from = &from[..octets];
                let mut to = vec![0; 4 * PAGE];
                let place = from.as_ptr().addr().wrapping_add(distance);
                let at = place.wrapping_sub(to.as_ptr().addr()) % PAGE;
                assert_eq!(is_slow(to[at..].as_ptr(), from), is_slow_distance(distance));
                copy(&mut to[at..at + octets], from);
                assert_eq!(to[at..at + octets], *from);
                assert!(to[..at].iter().chain(&to[at + octets..]).all(|octet| *octet == 0));
                to.truncate(at);
                append(&mut to, from);
                assert_eq!(to[at..], *from);
            }
        }
    }

    #[test]
    fn elements_of_any_size_are_copied() {
        let numbers: Vec<u64> = (0..2_000).collect();
        let shift: Vec<u64> = core::iter::once(7).chain(numbers.iter().copied()).collect();
        assert_eq!(to_vec(&numbers), numbers);
        assert_eq!(to_vec(&shift[1..]), numbers);
        let mut to = shift.clone();
        copy_in_pieces(&mut to[1..], &numbers);
        append_in_pieces(&mut to, &numbers);
        assert!(to[1..2_001] == *numbers && to[2_001..] == *numbers);
        let large = [[3_u8; 5_000]; 2];
        let mut to = [[0; 5_000]; 2];
        copy_in_pieces(&mut to, &large);
        assert_eq!(to, large);
        assert_eq!(to_vec(&[(); 3]).len(), 3);
    }

    #[test]
    #[should_panic(expected = "as long as")]
    fn lengths_have_to_be_the_same() {
        copy_in_pieces(&mut [1], &[1, 2]);
    }
}
