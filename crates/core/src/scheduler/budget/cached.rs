//! Accounts of operations of objects that a thread has found in the ledger before.

use std::rc::Rc;

use super::ledger::Bundle;

/// Number of operations of objects whose accounts a thread caches.
const SEEN: usize = 32;

/// Longest keys and names that are cached, in octets.
const KEY: usize = 64;
const NAME: usize = 48;

/// Cache of a thread.
#[derive(Default)]
pub(super) struct Cache {
    /// Entry that was found last: a thread often serves one operation of one object in succession.
    last: Option<Rc<One>>,
    entries: Option<Box<[Option<Rc<One>>; SEEN]>>,
}

/// Cached operation of an object, with its accounts.
struct One {
    epoch: u64,
    key: Text<KEY>,
    operation: Text<NAME>,
    bundle: Rc<Bundle>,
}

/// Key or name, stored inline. Texts of up to 32 octets are compared without a call.
struct Text<const N: usize> {
    length: usize,
    /// First and last octets of a text of less than 16 octets.
    ends: Ends,
    /// First and last 16 octets of a longer text as numbers, which are aligned and compared together.
    first: u128,
    last: u128,
    octets: [u8; N],
}

/// First and last eight octets of a text as numbers. Texts of equal length up to 16 octets are equal if these are.
type Ends = (u64, u64);

impl<const N: usize> Text<N> {
    fn of(text: &[u8]) -> Option<Self> {
        let mut octets = [0; N];
        octets.get_mut(..text.len())?.copy_from_slice(text);
        let first = text.first_chunk().map_or(0, |first| u128::from_ne_bytes(*first));
        let last = text.last_chunk().map_or(0, |last| u128::from_ne_bytes(*last));
        Some(Text { length: text.len(), ends: ends(text), first, last, octets })
    }

    #[inline(always)]
    fn is(&self, text: &[u8]) -> bool {
        if self.length != text.len() {
            return false;
        }
        if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            let (first, last) = (u128::from_ne_bytes(*first), u128::from_ne_bytes(*last));
            return (self.first ^ first) | (self.last ^ last) == 0
                && (text.len() <= 32 || self.octets.get(..text.len()) == Some(text));
        }
        match (text.first_chunk(), text.last_chunk()) {
            (Some(first), Some(last)) => {
                self.ends == (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
            }
            _ => self.ends.0 == short(text),
        }
    }
}

impl One {
    #[inline(always)]
    fn is(&self, epoch: u64, key: &[u8], operation: &[u8]) -> bool {
        self.epoch == epoch && self.operation.is(operation) && self.key.is(key)
    }
}

impl Cache {
    /// Returns the accounts of an operation of an object, if they were found last.
    // A closure would not be inlined.
    #[inline(always)]
    pub(super) fn last(&self, epoch: u64, key: &[u8], operation: &[u8]) -> Option<&Rc<Bundle>> {
        match &self.last {
            Some(last) if last.is(epoch, key, operation) => Some(&last.bundle),
            _ => None,
        }
    }

    /// Finds the accounts of an operation of an object, which are the last ones then; `None` if they are not cached.
    pub(super) fn find(&mut self, epoch: u64, key: &[u8], operation: &[u8]) -> Option<&Rc<Bundle>> {
        let entry = self.entries.as_ref().and_then(|all| all[place(key, operation)].as_ref());
        let found = entry.filter(|one| one.is(epoch, key, operation))?;
        Some(&self.last.insert(Rc::clone(found)).bundle)
    }

    /// Caches the accounts of an operation of an object, unless its key or its name is too long.
    pub(super) fn remember(
        &mut self,
        epoch: u64,
        key: &[u8],
        operation: &[u8],
        bundle: &Rc<Bundle>,
    ) {
        let place = place(key, operation);
        if let Some((key, operation)) = Text::of(key).zip(Text::of(operation)) {
            let one = Rc::new(One { epoch, key, operation, bundle: Rc::clone(bundle) });
            let entries = self.entries.get_or_insert_with(|| Box::new([const { None }; SEEN]));
            entries[place] = Some(Rc::clone(&one));
            self.last = Some(one);
        }
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

/// Returns the eight octets before the last eight as a number; 0 for a text of less than 16 octets.
fn middle(text: &[u8]) -> u64 {
    text.last_chunk::<16>().map_or(0, |last| ends(last).0)
}

/// Returns the index in the cache for an operation of an object.
fn place(key: &[u8], operation: &[u8]) -> usize {
    // A sum is also different for texts of eight octets, whose two ends are equal. The ends of a key with a suffix for
    // the operation lack the lower half of the object's number in its POA, which is in the middle.
    let (key, operation, middle) = (ends(key), ends(operation), middle(key));
    let key = key.0.wrapping_add(key.1).wrapping_add(middle);
    let operation = operation.0.wrapping_add(operation.1);
    let mixed = (key ^ operation.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - SEEN.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_whichever_was_found_before() {
        let bundles = [(); 3].map(|()| Rc::new(Bundle::of([const { None }; 3])));
        let keys: [&[u8]; 3] = [b"radar", b"lamp", b"OX1aincarnation.oo......"];
        let mut cache = Cache::default();
        for (key, bundle) in keys.iter().zip(&bundles) {
            cache.remember(7, key, b"sweep", bundle);
        }
        for at in [0, 1, 1, 2, 0, 0, 2, 1, 0] {
            let found = cache.find(7, keys[at], b"sweep");
            assert!(found.is_some_and(|found| Rc::ptr_eq(found, &bundles[at])), "key {at}");
            for (other, key) in keys.iter().enumerate() {
                let last = cache.last(7, key, b"sweep");
                assert_eq!(last.is_some(), other == at, "key {other} after {at}");
                assert!(last.is_none_or(|last| Rc::ptr_eq(last, &bundles[at])), "key {at}");
            }
            assert!(cache.last(8, keys[at], b"sweep").is_none(), "the rules have changed");
            assert!(cache.find(8, keys[at], b"sweep").is_none(), "the rules have changed");
            assert!(cache.find(7, keys[at], b"sweeps").is_none());
            assert!(cache.last(7, keys[at], b"sweep").is_some(), "another one was not found");
        }
    }

    #[test]
    fn texts_that_differ_in_one_octet_are_different() {
        for length in 0..=48u8 {
            let text: Vec<u8> = (0..length).collect();
            let stored = Text::<48>::of(&text).unwrap();
            assert!(stored.is(&text));
            for at in 0..text.len() {
                let mut other = text.clone();
                other[at] ^= 0x80;
                assert!(!stored.is(&other), "octet {at} of {length}");
            }
            let longer = [&text[..], &[0]].concat();
            assert!(!stored.is(&longer));
            if let Some((_, shorter)) = text.split_last() {
                assert!(!stored.is(shorter));
            }
        }
        assert!(Text::<48>::of(&[0; 49]).is_none());
    }
}
