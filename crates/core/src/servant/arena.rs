//! Arenas of threads that serve requests: memory for the values of `@borrowed` parameters.
//!
//! Each thread keeps its own arenas, so that taking one costs no lock. A request takes an arena when its skeleton asks
//! for one, and returns the arena after the answer. A nested request (a call to an object of the same process) takes
//! another arena.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use oxorb_cdr::Arena;

use crate::options::{ArenaFull, Options};

/// Maximum number of arenas that a thread keeps.
const KEPT: usize = 4;

thread_local! {
    /// Size in octets of each arena of this thread, if its lane specifies a size.
    static OCTETS: Cell<Option<usize>> = const { Cell::new(None) };
    static FREE: RefCell<Vec<Arena>> = const { RefCell::new(Vec::new()) };
}

/// Arena that is lent to a request until the value is dropped.
#[derive(Debug)]
pub struct LentArena(Option<Arena>);

/// Creates an arena of `octets` octets for requests that the calling thread will serve, and touches its pages so that
/// these requests cause no page faults.
pub(crate) fn prepare(octets: usize) {
    OCTETS.set(Some(octets));
    FREE.with_borrow_mut(|free| {
        free.reserve(KEPT);
        free.push(Arena::touched(octets));
    });
}

impl LentArena {
    /// Returns an arena of the calling thread. Allocates if the thread has none.
    pub(crate) fn of_thread(options: &Options) -> LentArena {
        let octets = OCTETS.get().unwrap_or(options.value_arena);
        let kept = FREE.with_borrow_mut(Vec::pop);
        let kept = kept.filter(|arena| arena.octets() == octets);
        let mut arena = kept.unwrap_or_else(|| Arena::new(octets));
        arena.set_growing(options.value_arena_full == ArenaFull::Heap);
        LentArena(Some(arena))
    }
}

impl Deref for LentArena {
    type Target = Arena;

    #[inline]
    fn deref(&self) -> &Arena {
        self.0.as_ref().expect("there until this is dropped")
    }
}

impl Drop for LentArena {
    fn drop(&mut self) {
        let Some(mut arena) = self.0.take() else {
            return;
        };
        arena.reset();
        // If the thread is ending, the list may no longer exist, and the arena is dropped.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < KEPT {
                free.push(arena);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_used_again_and_one_within_another_is_its_own() {
        let options = Options::default();
        let first = {
            let arena = LentArena::of_thread(&options);
            let inner = LentArena::of_thread(&options);
            assert!(!std::ptr::eq(&*arena, &*inner));
            arena.octets()
        };
        assert_eq!(first, options.value_arena);
        assert_eq!(FREE.with_borrow(Vec::len), 2);
        drop(LentArena::of_thread(&options));
        assert_eq!(FREE.with_borrow(Vec::len), 2);
    }

    #[test]
    fn the_lane_decides_the_size_of_its_threads_arenas() {
        prepare(2048);
        assert_eq!(LentArena::of_thread(&Options::default()).octets(), 2048);
        assert_eq!(FREE.with_borrow(Vec::len), 1);
    }
}
