//! Growing array whose elements never move, read without a lock.

use std::sync::OnceLock;

/// Number of elements in the first bucket; each further bucket has twice as many as the previous
/// one.
const FIRST: u64 = 64;

/// Number of buckets, sufficient for every `u32` index.
const BUCKETS: usize = 27;

/// Array elements by index. Reading takes two array accesses and one atomic load, regardless of the
/// number of elements.
pub(crate) struct Buckets<T>([OnceLock<Box<[T]>>; BUCKETS]);

impl<T: Default> Buckets<T> {
    pub(crate) fn new() -> Self {
        Buckets([const { OnceLock::new() }; BUCKETS])
    }

    /// Returns the element at an untrusted index.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> Option<&T> {
        let (bucket, offset) = place(index);
        self.0.get(bucket)?.get()?.get(offset)
    }

    /// Returns the element at an index, after allocating its bucket if necessary.
    pub(crate) fn grow_to(&self, index: u32) -> &T {
        let (bucket, offset) = place(index);
        let elements = (FIRST as usize) << bucket;
        &self.0[bucket].get_or_init(|| (0..elements).map(|_| T::default()).collect())[offset]
    }
}

#[inline]
fn place(index: u32) -> (usize, usize) {
    let counted = u64::from(index) + FIRST;
    let bucket = counted.ilog2() - FIRST.ilog2();
    (bucket as usize, (counted - (FIRST << bucket)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn indices_follow_each_other_from_bucket_to_bucket() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(63), (0, 63));
        assert_eq!(place(64), (1, 0));
        assert_eq!(place(191), (1, 127));
        assert_eq!(place(192), (2, 0));
        let (bucket, offset) = place(u32::MAX);
        // Compare as `u64`, because the last bucket has 2^32 elements, which a 32-bit `usize`
        // cannot represent.
        assert!(bucket < BUCKETS && (offset as u64) < FIRST << bucket);
    }

    #[test]
    fn elements_are_where_they_were_put() {
        let buckets = Buckets::<AtomicU32>::new();
        assert!(buckets.at(0).is_none());
        for index in 0..1000 {
            buckets.grow_to(index).store(index, Ordering::Relaxed);
        }
        for index in 0..1000 {
            let element = buckets.at(index).unwrap();
            assert_eq!(element.load(Ordering::Relaxed), index);
        }
        assert!(buckets.at(u32::MAX).is_none());
    }
}
