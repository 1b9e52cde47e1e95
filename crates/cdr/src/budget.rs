//! Memory budget of the values of one message.

use core::mem::needs_drop;

/// Remaining part of the memory granted for the values of a message.
///
/// Small messages use only the initial grant, so they pay just one comparison per sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    left: u32,
    granted: u32,
}

/// Memory in octets initially granted for the values of every message.
const FIRST: u32 = 1 << 15;

/// Minimum size in octets of a further grant.
const STEP: u32 = 1 << 16;

impl Budget {
    pub(crate) const START: Self = Self { left: FIRST, granted: FIRST };

    /// Deducts octets from the grant; returns `false` if too few are left.
    #[inline(always)]
    pub(crate) fn take(&mut self, octets: usize) -> bool {
        let enough = octets <= self.left as usize;
        if enough {
            self.left -= octets as u32;
        }
        enough
    }

    /// Returns the number of further octets to grant before `octets` can be taken; `None` if the
    /// total would exceed the limit.
    pub(crate) fn step(&self, octets: usize, limit: u32) -> Option<usize> {
        let least = u32::try_from(octets - self.left as usize).ok()?;
        let most = limit.checked_sub(self.granted)?;
        (least <= most).then(|| least.max(STEP).min(most) as usize)
    }

    /// Adds granted octets, and deducts some.
    pub(crate) fn grant(&mut self, more: usize, octets: usize) {
        self.granted += more as u32;
        self.left = (self.left as usize + more - octets) as u32;
    }
}

/// Estimates the memory in octets for a value of a type, including memory that it owns. A type that
/// owns memory is assumed to consist of strings and sequences, each of which has three words inline
/// and at least four on the heap.
pub(crate) const fn footprint<T>() -> usize {
    match needs_drop::<T>() {
        true => size_of::<T>() * 7 / 3 + 8,
        false => size_of::<T>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_never_exceeds_the_limit() {
        let limit = 3 * STEP + 5;
        let mut budget = Budget::START;
        let mut taken = 0;
        for octets in [1, STEP, STEP / 2, 7, STEP, 100].map(|octets| octets as usize) {
            if !budget.take(octets) {
                let Some(more) = budget.step(octets, limit) else {
                    continue;
                };
                budget.grant(more, octets);
            }
            taken += octets;
            assert!(
                budget.granted <= limit && taken + budget.left as usize == budget.granted as usize
            );
        }
        assert!(budget.step(limit as usize, limit).is_none());
        assert!(budget.step(usize::MAX, u32::MAX).is_none());
    }
}
