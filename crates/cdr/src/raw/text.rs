//! Octets that are the same text in every code set: ASCII without NUL. After a check of all of
//! them, `from_utf8` need not check them again.

use crate::prelude::*;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use core::arch::x86_64::{
    __m256i, _mm256_cmpgt_epi8, _mm256_min_epi8, _mm256_movemask_epi8, _mm256_setzero_si256,
};
use core::mem::MaybeUninit;

/// Returns the octets as owned text, if all are ASCII and none is NUL: copied and checked in one
/// pass.
// Returns a box, because it fits into two registers. A `String` would be returned in memory:
// written in small pieces and then loaded in larger ones, for which a CPU stalls.
#[inline(never)]
pub(crate) fn plain_copy(octets: &[u8]) -> Option<Box<str>> {
    let mut copy = Box::new_uninit_slice(octets.len());
    if !copy_plain(octets, &mut copy) {
        return None;
    }
    // SAFETY: there are as many places as octets, and `copy_plain` returned `true`, so it has
    // written all of them.
    let copy: Box<[u8]> = unsafe { copy.assume_init() };
    debug_assert!(*copy == *octets && octets.is_ascii());
    // SAFETY: `copy_plain` returned `true`: all of them are ASCII.
    Some(unsafe { alloc::str::from_boxed_utf8_unchecked(copy) })
}

/// Returns the octets as text if all are ASCII and none is NUL. Takes fewer instructions than
/// [`str::from_utf8`], for names, which are nearly always ASCII. `None` does not mean that the
/// octets are not text.
///
/// ```
/// assert_eq!(oxorb_cdr::plain_str(b"ping"), Some("ping"));
/// assert_eq!(oxorb_cdr::plain_str("Größe".as_bytes()), None);
/// ```
#[inline]
pub fn plain_str(octets: &[u8]) -> Option<&str> {
    if !is_plain(octets) {
        return None;
    }
    debug_assert!(octets.is_ascii());
    // SAFETY: `is_plain` returned `true`: all of them are ASCII.
    Some(unsafe { str::from_utf8_unchecked(octets) })
}

/// Reports whether all octets are ASCII and none is NUL.
#[inline]
pub(crate) fn is_plain(octets: &[u8]) -> bool {
    match octets.len() {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        LONG.. if std::is_x86_feature_detected!("avx2") => {
            // SAFETY: this CPU supports these instructions.
            unsafe { are_plain_long_blocks(octets) }
        }
        16.. => are_plain_blocks::<16>(octets),
        _ => is_plain_and_short(octets),
    }
}

/// Copies octets to as many places, and returns whether all are ASCII and none is NUL. Only if so,
/// every place was written.
#[inline]
pub(crate) fn copied_plain(octets: &[u8], places: &mut [u8]) -> bool {
    let places: *mut [u8] = places;
    // SAFETY: uninitialised octets have the same layout as initialised ones, and only octets are
    // written there.
    copy_plain(octets, unsafe { &mut *(places as *mut [MaybeUninit<u8>]) })
}

/// Copies octets to as many places, and returns whether all are ASCII and none is NUL. Only if so,
/// every place was written.
#[inline(always)]
fn copy_plain(octets: &[u8], places: &mut [MaybeUninit<u8>]) -> bool {
    match octets.len() {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        LONG.. if std::is_x86_feature_detected!("avx2") => {
            // SAFETY: this CPU supports these instructions.
            unsafe { copy_plain_long_blocks(octets, places) }
        }
        16.. => copy_plain_blocks::<16>(octets, places),
        _ => copy_short(octets, places) && is_plain_and_short(octets),
    }
}

/// Size of the widest vector used, in octets.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
const VECTOR: usize = size_of::<__m256i>();

/// Number of octets from which wider vectors justify a call and a check for support.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
const LONG: usize = 128;

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2")]
fn are_plain_long_blocks(octets: &[u8]) -> bool {
    are_plain_blocks::<LONG>(octets)
}

/// Copies the octets that `are_plain_long_blocks` checks. Loads each vector once, and stores it
/// aligned in the copy.
///
/// A store across a cache line takes twice as long, and the time of a copy must not depend on the
/// allocator's choice of address. The first vector and the last block overlap those between them.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2")]
fn copy_plain_long_blocks(octets: &[u8], places: &mut [MaybeUninit<u8>]) -> bool {
    if octets.len() < LONG || octets.len() != places.len() {
        return false;
    }
    let start = places.as_ptr().align_offset(VECTOR);
    // The last octet is excluded, so that a group of vectors that would end with it is not copied
    // twice: the block at `last` contains it.
    let end = octets.len() - 1;
    let (Some(first), Some(first_place)) = (octets.first_chunk(), places.first_chunk_mut()) else {
        return false;
    };
    let first = vector(first);
    put(first, first_place);
    let mut least = [first; 4];
    let last = octets.len() - LONG;
    copy_vectors(&octets[last..], &mut places[last..], &mut least);
    let (Some(octets), Some(places)) = (octets.get(start..end), places.get_mut(start..end)) else {
        return false;
    };
    copy_vectors(octets, places, &mut least);
    let [a, b, c, d] = least;
    let least = _mm256_min_epi8(_mm256_min_epi8(a, b), _mm256_min_epi8(c, d));
    _mm256_movemask_epi8(_mm256_cmpgt_epi8(least, _mm256_setzero_si256())) == -1
}

/// Copies vectors, four at a time, and omits an incomplete group.
// Unrolled by hand: for a loop over the four vectors, the compiler generates a call of `memcpy` and
// a second loop that checks them.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2")]
#[inline]
fn copy_vectors(octets: &[u8], places: &mut [MaybeUninit<u8>], least: &mut [__m256i; 4]) {
    let blocks = octets.as_chunks().0.as_chunks().0.iter();
    let places = places.as_chunks_mut().0.as_chunks_mut().0;
    for ([a, b, c, d], [to_a, to_b, to_c, to_d]) in blocks.zip(places) {
        let [a, b, c, d] = [vector(a), vector(b), vector(c), vector(d)];
        put(a, to_a);
        put(b, to_b);
        put(c, to_c);
        put(d, to_d);
        least[0] = _mm256_min_epi8(least[0], a);
        least[1] = _mm256_min_epi8(least[1], b);
        least[2] = _mm256_min_epi8(least[2], c);
        least[3] = _mm256_min_epi8(least[3], d);
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline(always)]
fn vector(octets: &[u8; VECTOR]) -> __m256i {
    bytemuck::cast(*octets)
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline(always)]
fn put(vector: __m256i, place: &mut [MaybeUninit<u8>; VECTOR]) {
    write(place, bytemuck::cast(vector));
}

/// Finds the least octet of each lane, as a signed number: only ASCII other than NUL is above zero.
/// There is no early exit, so that blocks become vector instructions; if the length is not a
/// multiple of a block, the last one overlaps the one before it.
#[inline(always)]
fn are_plain_blocks<const N: usize>(octets: &[u8]) -> bool {
    let Some((_, last)) = ends::<N>(octets) else {
        return false;
    };
    let mut least = signed(last);
    for block in octets.as_chunks::<N>().0 {
        lower(&mut least, block);
    }
    are_above_zero(&least)
}

/// Checks blocks as `are_plain_blocks` does, and copies each.
#[inline(always)]
fn copy_plain_blocks<const N: usize>(octets: &[u8], places: &mut [MaybeUninit<u8>]) -> bool {
    if octets.len() < N || octets.len() != places.len() {
        return false;
    }
    let last = octets.len() - N;
    let (Some(last), Some(last_place)) =
        (octets[last..].first_chunk::<N>(), places[last..].first_chunk_mut())
    else {
        return false;
    };
    write(last_place, *last);
    let mut least = signed(last);
    for (block, place) in octets.as_chunks().0.iter().zip(places.as_chunks_mut().0) {
        write(place, *block);
        lower(&mut least, block);
    }
    are_above_zero(&least)
}

/// Writes all places with as few stores as the compiler can.
// `map` of arrays is not used, because it is a call for each block without link-time optimisation.
#[inline(always)]
fn write<const N: usize>(places: &mut [MaybeUninit<u8>; N], octets: [u8; N]) {
    let places: *mut [MaybeUninit<u8>; N] = places;
    // SAFETY: both are N octets without alignment, and the places may be overwritten with any
    // octets.
    unsafe { places.cast::<[u8; N]>().write(octets) };
}

#[inline(always)]
fn signed<const N: usize>(octets: &[u8; N]) -> [i8; N] {
    let mut signed = [0; N];
    for lane in 0..N {
        signed[lane] = octets[lane].cast_signed();
    }
    signed
}

/// Returns the first and the last `N` octets, which overlap if there are fewer than `2 * N`; `None`
/// if there are fewer than `N`.
// `last_chunk` is not used, because it can leave a comparison of the address with zero in the code.
#[inline(always)]
fn ends<const N: usize>(octets: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    let last = octets.len().checked_sub(N)?;
    Some((octets.first_chunk()?, octets[last..].first_chunk()?))
}

#[inline(always)]
fn lower<const N: usize>(least: &mut [i8; N], block: &[u8; N]) {
    for lane in 0..N {
        least[lane] = least[lane].min(block[lane].cast_signed());
    }
}

#[inline(always)]
fn are_above_zero<const N: usize>(least: &[i8; N]) -> bool {
    least.iter().fold(true, |all, least| all & (*least > 0))
}

/// Checks fewer than 16 octets: as two overlapping words of 8 octets, as two overlapping halves of
/// 4, or one by one.
#[inline(always)]
fn is_plain_and_short(octets: &[u8]) -> bool {
    if let Some((first, last)) = ends(octets) {
        return is_plain_word(u64::from_ne_bytes(*first))
            && is_plain_word(u64::from_ne_bytes(*last));
    }
    if let Some((first, last)) = ends(octets) {
        let half = |octets| u64::from(u32::from_ne_bytes(octets));
        return is_plain_word(half(*first) << 32 | half(*last));
    }
    octets.iter().all(|octet| octet.cast_signed() > 0)
}

#[inline(always)]
fn is_plain_word(word: u64) -> bool {
    // Subtracting one sets the top bit of an octet that was 0. Only such an octet borrows from the
    // next one, so without zeros no octet affects another.
    (word.wrapping_sub(0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080 == 0
}

/// Copies fewer than 16 octets in the pieces that `is_plain_and_short` checks. Always returns
/// `true`.
#[inline(always)]
fn copy_short(octets: &[u8], places: &mut [MaybeUninit<u8>]) -> bool {
    copy_ends::<8>(octets, places)
        || copy_ends::<4>(octets, places)
        || (octets.iter().zip(places)).fold(true, |_, (octet, place)| {
            place.write(*octet);
            true
        })
}

#[inline(always)]
fn copy_ends<const N: usize>(octets: &[u8], places: &mut [MaybeUninit<u8>]) -> bool {
    if octets.len() < N || octets.len() != places.len() {
        return false;
    }
    for at in [0, octets.len() - N] {
        if let (Some(end), Some(place)) =
            (octets[at..].first_chunk::<N>(), places[at..].first_chunk_mut())
        {
            write(place, *end);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests all lengths up to beyond a long block, some around further blocks, aligned and
    /// unaligned, with one octet of each kind at each position.
    #[test]
    fn plain_is_ascii_without_nul_wherever_the_exception_is() {
        let (longest, more, offsets) = match cfg!(miri) {
            true => (24, [0; 6], 1),
            false => (150, [255, 256, 257, 287, 288, 417], 2),
        };
        for length in (0..=longest).chain(more) {
            for offset in 0..offsets {
                let mut octets: Vec<u8> = (1..=0x7F).cycle().take(offset + length).collect();
                check(&octets[offset..], true);
                for at in offset..octets.len() {
                    for exception in [0, 0x80, 0xFF] {
                        let before = core::mem::replace(&mut octets[at], exception);
                        check(&octets[offset..], false);
                        octets[at] = before;
                    }
                }
            }
        }
    }

    /// A copy writes all places and no others, regardless of the alignment of octets and places.
    #[test]
    fn a_copy_is_whole_wherever_it_lies() {
        let octets: Vec<u8> = (1..=0x7F).cycle().take(500).collect();
        let lengths: &[usize] = match cfg!(miri) {
            true => &[0, 7, 40],
            false => &[0, 7, 15, 16, 40, 127, 128, 129, 159, 160, 161, 256, 289, 384, 417],
        };
        for &length in lengths {
            for to in 0..33 {
                let from = to % 5;
                let mut room = vec![0xEE; to + length + 40];
                assert!(copied_plain(&octets[from..][..length], &mut room[to..][..length]));
                assert_eq!(room[to..][..length], octets[from..][..length], "{length} at {to}");
                let beside = room[..to].iter().chain(&room[to + length..]);
                assert!(beside.copied().all(|octet| octet == 0xEE));
            }
        }
    }

    fn check(octets: &[u8], plain: bool) {
        let text = plain.then(|| core::str::from_utf8(octets).expect("ASCII"));
        assert_eq!(is_plain(octets), plain, "{octets:?}");
        assert_eq!(plain_str(octets), text);
        assert_eq!(plain_copy(octets).as_deref(), text);
    }
}
