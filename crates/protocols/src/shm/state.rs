//! State of a connection, as one of its ends knows it, in one word.
//!
//! A transition sets flags. No transition clears a flag, so transitions of several threads can be in any order.
//!
//! | transition | sets | made by | afterwards |
//! |---|---|---|---|
//! | `Close` | CLOSED, DEAF | `close`, and the end of the link | reads return the end, writes fail |
//! | `CloseRead` | DEAF | `close_read` | reads return the end |
//! | `PeerDied` | GONE | a thread whose socket is hung up | reads return the end after the last octets; writes fail |
//! | `PeerUnheard` | UNHEARD | a wake-up that the peer's socket refuses | writes fail |
//! | `PeerHostile` | NOISY | too many wake-ups without octets; `Close` follows | reads fail with the reason |
//!
//! | ordering | of | pairs with | of |
//! |---|---|---|---|
//! | `SET` | `make` | `SEEN` | `has` |
//!
//! A thread that sees a flag therefore sees all that the other thread did before it set the flag.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, Ordering};

/// Flag of a connection that this end has closed.
pub(crate) const CLOSED: u32 = 1;
/// Flag of a connection that this end no longer reads.
pub(crate) const DEAF: u32 = 2;
/// Flag of a connection whose peer ended without closing it.
pub(crate) const GONE: u32 = 4;
/// Flag of a connection whose peer accepts no wake-ups, because it no longer reads.
pub(crate) const UNHEARD: u32 = 8;
/// Flag of a connection whose peer woke this end too often without octets.
pub(crate) const NOISY: u32 = 16;

const SET: Ordering = Ordering::AcqRel;
const SEEN: Ordering = Ordering::Acquire;

/// Change of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    Close,
    CloseRead,
    PeerDied,
    PeerUnheard,
    PeerHostile,
}

impl Transition {
    /// Returns the flag that names the transition, and all flags that it sets.
    const fn flags(self) -> (u32, u32) {
        match self {
            Transition::Close => (CLOSED, CLOSED | DEAF),
            Transition::CloseRead => (DEAF, DEAF),
            Transition::PeerDied => (GONE, GONE),
            Transition::PeerUnheard => (UNHEARD, UNHEARD),
            Transition::PeerHostile => (NOISY, NOISY),
        }
    }
}

/// Flags of a connection.
#[derive(Debug)]
pub(crate) struct LinkState(AtomicU32);

impl LinkState {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Reports whether one of the flags is set.
    #[inline]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.0.load(SEEN) & flags != 0
    }

    /// Makes a transition. Returns false if its flag was set before.
    pub(crate) fn make(&self, transition: Transition) -> bool {
        let (flag, flags) = transition.flags();
        self.0.fetch_or(flags, SET) & flag == 0
    }
}

#[cfg(test)]
const ALL: [Transition; 5] = [
    Transition::Close,
    Transition::CloseRead,
    Transition::PeerDied,
    Transition::PeerUnheard,
    Transition::PeerHostile,
];

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_state_that_can_be_reached_keeps_the_rules() {
        let (mut reached, mut next) = (BTreeSet::from([0]), vec![0]);
        while let Some(before) = next.pop() {
            for transition in ALL {
                let state = LinkState(AtomicU32::new(before));
                let (flag, flags) = transition.flags();
                assert_eq!(state.make(transition), before & flag == 0, "{transition:?}");
                let after = state.0.into_inner();
                assert_eq!(after, before | flags, "{transition:?} clears no flag");
                assert!(after & CLOSED == 0 || after & DEAF != 0, "a closed end reads no more");
                if reached.insert(after) {
                    next.push(after);
                }
            }
        }
        // Of the 32 states, the eight with CLOSED and without DEAF cannot be reached.
        assert_eq!(reached.len(), 24);
    }

    #[test]
    fn a_flag_is_seen_among_others() {
        let state = LinkState::new();
        assert!(!state.has(CLOSED | DEAF | GONE | UNHEARD | NOISY));
        assert!(state.make(Transition::PeerDied));
        assert!(state.has(CLOSED | GONE) && !state.has(CLOSED | DEAF));
    }
}

#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Each two transitions of two threads: both are seen at the end, one of two equal ones is the first, and what a
    /// thread wrote before its transition is seen with the flag.
    #[test]
    fn transitions_of_two_threads_are_seen_with_what_was_written_before() {
        for first in ALL {
            for second in ALL {
                loom::model(move || {
                    let shared = Arc::new((LinkState::new(), AtomicU32::new(0)));
                    let other = Arc::clone(&shared);
                    let thread = thread::spawn(move || {
                        other.1.store(1, Ordering::Relaxed);
                        other.0.make(first)
                    });
                    let (state, written) = &*shared;
                    let before = state.has(first.flags().0);
                    assert!(!before || written.load(Ordering::Relaxed) == 1);
                    let is_first = [state.make(second), thread.join().unwrap()];
                    assert!(first != second || is_first[0] != is_first[1]);
                    assert!(state.has(first.flags().0) && state.has(second.flags().0));
                });
            }
        }
    }
}
