//! Accounts of operations of objects that a thread has found in the ledger before.

use std::hint::cold_path;
use std::rc::Rc;

use super::ledger::Bundle;

/// Number of operations of objects whose accounts a thread caches.
const SEEN: usize = 32;

/// Longest keys and names that are cached, in octets.
const KEY: usize = 64;
const NAME: usize = 48;

/// Cache of a thread.
pub(super) type Seen = [Option<One>; SEEN];

/// Cached operation of an object, with its accounts.
pub(super) struct One {
    epoch: u64,
    key: Text<KEY>,
    operation: Text<NAME>,
    bundle: Rc<Bundle>,
}

/// Key or name, stored inline. Texts of up to 32 octets are compared as numbers, without a call.
struct Text<const N: usize> {
    length: usize,
    ends: Ends,
    middle: Ends,
    octets: [u8; N],
}

/// First and last eight octets of a text as numbers. Texts of equal length up to 16 octets are equal if these are.
type Ends = (u64, u64);

impl<const N: usize> Text<N> {
    fn of(text: &[u8]) -> Option<Self> {
        let mut octets = [0; N];
        octets.get_mut(..text.len())?.copy_from_slice(text);
        Some(Text { length: text.len(), ends: ends(text), middle: middle(text), octets })
    }

    /// Compares the text with `text`, whose ends are `of_text`.
    #[inline(always)]
    fn is(&self, text: &[u8], of_text: Ends) -> bool {
        if self.length != text.len() || self.ends != of_text {
            return false;
        }
        text.len() <= 16
            || self.middle == middle(text)
                && (text.len() <= 32 || self.octets.get(..text.len()) == Some(text))
    }
}

#[inline(always)]
fn ends(text: &[u8]) -> Ends {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (short(text), 0),
    }
}

/// Returns a number that differs for all texts of an equal length below eight octets.
#[inline(always)]
fn short(text: &[u8]) -> u64 {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => text.iter().fold(0u64, |number, octet| number << 8 | u64::from(*octet)),
    }
}

/// Returns the eight octets after the first eight, and the eight octets before the last eight, as numbers; zeros for a
/// text of less than 16 octets. Texts of equal length from 17 to 32 octets are equal if these and their ends are.
#[inline(always)]
fn middle(text: &[u8]) -> Ends {
    match (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        (Some(first), Some(last)) => (ends(first).1, ends(last).0),
        _ => (0, 0),
    }
}

/// Caches the accounts of an operation of an object, unless its key or its name is too long.
pub(super) fn remember(
    seen: &mut Option<Box<Seen>>,
    epoch: u64,
    key: &[u8],
    operation: &[u8],
    bundle: &Rc<Bundle>,
) {
    let place = place(ends(key), middle(key), ends(operation));
    if let Some((key, operation)) = Text::of(key).zip(Text::of(operation)) {
        let seen = seen.get_or_insert_with(|| Box::new([const { None }; SEEN]));
        seen[place] = Some(One { epoch, key, operation, bundle: Rc::clone(bundle) });
    }
}

/// Returns the cached accounts of an operation of an object.
#[inline(always)]
pub(super) fn known<'s>(
    seen: &'s Seen,
    epoch: u64,
    key: &[u8],
    operation: &[u8],
) -> Option<&'s Rc<Bundle>> {
    let (of_key, of_operation) = (ends(key), ends(operation));
    match &seen[place(of_key, middle(key), of_operation)] {
        Some(one)
            if one.epoch == epoch
                && one.key.is(key, of_key)
                && one.operation.is(operation, of_operation) =>
        {
            Some(&one.bundle)
        }
        _ => {
            cold_path();
            None
        }
    }
}

/// Returns the index in the cache for an operation of an object.
#[inline(always)]
fn place(key: Ends, middle: Ends, operation: Ends) -> usize {
    // A sum is also different for texts of eight octets, whose two ends are equal. The ends of a key with a suffix for
    // the operation lack the lower half of the object's number in its POA, which is in the middle.
    let key = key.0.wrapping_add(key.1).wrapping_add(middle.1);
    let operation = operation.0.wrapping_add(operation.1);
    let mixed = (key ^ operation.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - SEEN.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_one_octet_are_different() {
        for length in 0..=48u8 {
            let text: Vec<u8> = (0..length).collect();
            let stored = Text::<48>::of(&text).unwrap();
            assert!(stored.is(&text, ends(&text)));
            for at in 0..text.len() {
                let mut other = text.clone();
                other[at] ^= 0x80;
                assert!(!stored.is(&other, ends(&other)), "octet {at} of {length}");
            }
            let longer = [&text[..], &[0]].concat();
            assert!(!stored.is(&longer, ends(&longer)));
            if let Some((_, shorter)) = text.split_last() {
                assert!(!stored.is(shorter, ends(shorter)));
            }
        }
        assert!(Text::<48>::of(&[0; 49]).is_none());
    }
}
