//! Record of the locks that a thread takes, kept in debug builds for tests.

/// Returns the distinct locks of this crate that the calling thread has taken since its previous call, as numbers that
/// identify the locks; `None` in release builds. Allocates memory.
///
/// # Panics
/// Panics if the thread took more than 32 locks.
pub fn locks_taken() -> Option<Vec<usize>> {
    noted::take()
}

// The locks of a model checker are not recorded.
#[cfg(not(all(test, feature = "model")))]
pub(crate) use noted::note;

#[cfg(debug_assertions)]
mod noted {
    use std::cell::Cell;

    /// Maximum number of recorded locks. No event requires more.
    const MOST: usize = 32;

    thread_local! {
        static TAKEN: Cell<([usize; MOST], usize)> = const { Cell::new(([0; MOST], 0)) };
    }

    #[cfg(not(all(test, feature = "model")))]
    pub(crate) fn note(lock: usize) {
        let _ = TAKEN.try_with(|taken| {
            let (mut locks, count) = taken.get();
            if !locks[..count.min(MOST)].contains(&lock) {
                if let Some(free) = locks.get_mut(count) {
                    *free = lock;
                }
                taken.set((locks, count + 1));
            }
        });
    }

    pub(super) fn take() -> Option<Vec<usize>> {
        let (locks, count) = TAKEN.replace(([0; MOST], 0));
        assert!(count <= MOST, "more than {MOST} locks were taken");
        Some(locks[..count].to_vec())
    }
}

#[cfg(not(debug_assertions))]
mod noted {
    #[inline(always)]
    pub(crate) fn note(_: usize) {}

    pub(super) fn take() -> Option<Vec<usize>> {
        None
    }
}
