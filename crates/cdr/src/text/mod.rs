//! Characters: what the code set of a connection makes of them, and no replacement for those it cannot carry.

mod narrow;
mod wide;

use crate::{ErrorKind, Result};

/// Whether a string is longer than its bound, counted in characters.
fn exceeds(v: &str, bound: u32) -> Result<(), ErrorKind> {
    let bound = bound as usize;
    if v.len() <= bound {
        return Ok(()); // a character is at least one octet
    }
    match v.chars().count() {
        length if length > bound => Err(ErrorKind::BoundExceeded { length, bound }),
        _ => Ok(()),
    }
}

/// Whether all octets are ASCII and none is NUL, so that they are the same text in every code set.
#[inline]
fn is_plain(octets: &[u8]) -> bool {
    if octets.len() < LONG {
        return are_plain_words(octets);
    }
    let (blocks, rest) = octets.as_chunks();
    are_plain_blocks(blocks) && are_plain_words(rest)
}

/// From so many octets on, vectors are worth their set-up.
const LONG: usize = 96;

#[inline(always)]
fn are_plain_words(octets: &[u8]) -> bool {
    match octets.last_chunk() {
        // The last word overlaps the one before it, which does no harm.
        Some(last) => octets.as_chunks().0.iter().all(is_plain_word) && is_plain_word(last),
        None => octets.iter().all(|octet| (1..0x80).contains(octet)),
    }
}

/// Many octets at a time in lanes that are put together once, without a way out in the middle: four vector instructions
/// for each block.
#[inline(never)]
fn are_plain_blocks(blocks: &[[u8; 32]]) -> bool {
    let (mut bits, mut least) = ([0; 32], [u8::MAX; 32]);
    for block in blocks {
        for lane in 0..32 {
            bits[lane] |= block[lane];
            least[lane] = block[lane].min(least[lane]);
        }
    }
    bits.iter().fold(0, |all, bits| all | bits) < 0x80 && are_plain_words(&least)
}

#[inline(always)]
fn is_plain_word(word: &[u8; 8]) -> bool {
    // Taking one from each octet sets its top bit if it was 0; only then does it borrow from the next one.
    let word = u64::from_le_bytes(*word);
    (word.wrapping_sub(0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080 == 0
}
