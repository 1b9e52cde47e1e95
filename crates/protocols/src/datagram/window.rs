//! Window of received numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of values that a window remembers, back from the highest.
pub const WINDOW: u32 = 1024;

const WORDS: usize = (WINDOW / 64) as usize;

/// Result for a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Number received for the first time.
    New,
    /// Number received before.
    Twice,
    /// Number too far behind the highest to be remembered.
    TooOld,
}

/// Received numbers of one source, [`WINDOW`] back from the highest: one bit each. Numbers increase
/// and wrap around (as in RFC 1982); request ids increase by one or two.
///
/// Only one thread may record numbers at a time, but not always the same one. Recording a number takes
/// no lock and allocates nothing; each skipped number costs clearing a bit.
#[derive(Debug, Default)]
pub struct Window {
    /// Highest number, with a flag above it that is set once there is one.
    highest: AtomicU64,
    bits: [AtomicU64; WORDS],
}

/// Flag set by the first number.
const SOME: u64 = 1 << 32;

impl Window {
    /// Records a number, and returns whether it is new.
    #[inline]
    pub fn note(&self, number: u32) -> Seen {
        let highest = self.highest.load(Relaxed);
        if highest & SOME == 0 {
            self.highest.store(SOME | u64::from(number), Relaxed);
            self.set(number);
            return Seen::New;
        }
        let ahead = number.wrapping_sub(highest as u32);
        if ahead == 0 {
            return Seen::Twice;
        }
        if ahead < 1 << 31 {
            self.clear(highest as u32, ahead);
            self.highest.store(SOME | u64::from(number), Relaxed);
            self.set(number);
            return Seen::New;
        }
        if ahead.wrapping_neg() >= WINDOW {
            return Seen::TooOld;
        }
        match self.bits[word(number)].load(Relaxed) & bit(number) {
            0 => {
                self.set(number);
                Seen::New
            }
            _ => Seen::Twice,
        }
    }

    /// Returns the highest number, in a form that also tells whether there is one.
    pub fn highest(&self) -> u64 {
        self.highest.load(Relaxed)
    }

    /// Forgets the recorded numbers, and records `number` as the highest one.
    pub fn begin_again(&self, number: u32) {
        for word in &self.bits {
            word.store(0, Relaxed);
        }
        self.highest.store(SOME | u64::from(number), Relaxed);
        self.set(number);
    }

    fn set(&self, number: u32) {
        let word = &self.bits[word(number)];
        word.store(word.load(Relaxed) | bit(number), Relaxed);
    }

    /// Clears the bits for the `ahead` numbers after `highest`, which still hold those of older
    /// numbers.
    #[inline]
    fn clear(&self, highest: u32, ahead: u32) {
        if ahead >= WINDOW {
            for word in &self.bits {
                word.store(0, Relaxed);
            }
            return;
        }
        for step in 1..=ahead {
            let number = highest.wrapping_add(step);
            let word = &self.bits[word(number)];
            word.store(word.load(Relaxed) & !bit(number), Relaxed);
        }
    }
}

#[inline]
fn word(number: u32) -> usize {
    (number % WINDOW / 64) as usize
}

#[inline]
fn bit(number: u32) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_number_is_new_once_in_any_order() {
        let window = Window::default();
        for number in [5, 7, 6, 1028, 100] {
            assert_eq!(window.note(number), Seen::New, "{number}");
            assert_eq!(window.note(number), Seen::Twice, "{number}");
        }
        assert_eq!(window.note(4), Seen::TooOld);
        assert_eq!(window.note(5), Seen::Twice, "the last that is known");
        assert_eq!(window.note(1028 + WINDOW), Seen::New);
        assert_eq!(window.note(1028), Seen::TooOld);
        assert_eq!(window.note(1029), Seen::New);
    }

    #[test]
    fn numbers_wrap_round() {
        let window = Window::default();
        for number in [u32::MAX - 1, 1, u32::MAX, 0] {
            assert_eq!(window.note(number), Seen::New, "{number}");
            assert_eq!(window.note(number), Seen::Twice, "{number}");
        }
    }

    #[test]
    fn it_agrees_with_a_set_of_all_numbers() {
        for seed in 1..=20_u64 {
            let (window, mut all) = (Window::default(), HashSet::new());
            let (mut state, mut highest) = (seed, None::<u32>);
            let mut random = |most: u32| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u32 % most
            };
            for _ in 0..20_000 {
                let jump = [3, 3, 3, 64, 5000][random(5) as usize];
                let number = match highest {
                    None => random(1000),
                    Some(highest) => (highest + random(jump)).saturating_sub(random(1500)),
                };
                let expected = match highest {
                    Some(highest) if highest.saturating_sub(number) >= WINDOW => Seen::TooOld,
                    _ if all.insert(number) => Seen::New,
                    _ => Seen::Twice,
                };
                assert_eq!(window.note(number), expected, "{number} after {highest:?}");
                highest = highest.max(Some(number));
            }
        }
    }
}
