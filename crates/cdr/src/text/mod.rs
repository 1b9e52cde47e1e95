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
    let (blocks, rest) = octets.as_chunks::<32>();
    // A block at a time, without a way out in the middle, becomes a few vector instructions.
    blocks.iter().all(is_plain_block) && is_plain_rest(rest)
}

#[inline(always)]
fn is_plain_rest(octets: &[u8]) -> bool {
    match octets.last_chunk() {
        // The last word overlaps the one before it, which does no harm.
        Some(last) => octets.as_chunks().0.iter().all(is_plain_word) && is_plain_word(last),
        None => octets.iter().all(|octet| (1..0x80).contains(octet)),
    }
}

#[inline(always)]
fn is_plain_block(block: &[u8; 32]) -> bool {
    // Taking one sets the top bit if the octet was 0.
    block
        .iter()
        .fold(0, |bits, &octet| bits | octet | octet.wrapping_sub(1))
        < 0x80
}

#[inline(always)]
fn is_plain_word(word: &[u8; 8]) -> bool {
    // Taking one from each octet sets its top bit if it was 0; only then does it borrow from the next one.
    let word = u64::from_le_bytes(*word);
    (word.wrapping_sub(0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080 == 0
}
