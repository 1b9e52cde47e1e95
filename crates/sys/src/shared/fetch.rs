//! Prefetching memory before it is needed.
//!
//! If another processor wrote a cache line last, fetching the line takes as long as hundreds of instructions. On x86 an
//! instruction prefetches it in the background; on other processors these functions do nothing.

/// Prefetches the octet `at` of shared words into the processor's cache, to be read soon. Has no other effect.
#[inline]
pub fn prefetch<W>(words: &[W], at: usize) {
    if at < size_of_val(words) {
        fetch::<false>(words.as_ptr().cast::<u8>().wrapping_add(at));
    }
}

/// Prefetches the octet `at` of shared words into the processor's cache, to be written soon. Has no other effect.
#[inline]
pub fn prefetch_to_write<W>(words: &[W], at: usize) {
    if at < size_of_val(words) {
        fetch::<true>(words.as_ptr().cast::<u8>().wrapping_add(at));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn fetch<const TO_WRITE: bool>(octet: *const u8) {
    use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction has no architecturally visible effect, whatever the address.
    unsafe {
        match TO_WRITE {
            true => _mm_prefetch::<_MM_HINT_ET0>(octet.cast()),
            false => _mm_prefetch::<_MM_HINT_T0>(octet.cast()),
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn fetch<const TO_WRITE: bool>(_octet: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changes_wherever_the_octet_is() {
        let words = [1_u32, 2];
        for at in [0, 7, 8, usize::MAX] {
            prefetch(&words, at);
            prefetch_to_write(&words, at);
        }
        assert_eq!(words, [1, 2]);
    }
}
