//! A short wait before a read, so that requests nobody waits for gather and come with one read.
//!
//! A thread that serves oneways as fast as they come sleeps between any two of them, and their client pays for waking it
//! each time: several times what sending costs. So a thread whose last reads brought nothing but requests without answers,
//! one right after the other, looks away for some microseconds before it reads again. A request that somebody
//! waits for ends that at once; an isolated oneway does not begin it.

use std::time::{Duration, Instant};

use crate::sync::thread;

/// Reads in a row that must have brought oneways only.
const STREAK: u32 = 8;

/// The time from one of them to the next, at most.
const SOON: Duration = Duration::from_micros(50);

/// How long the thread looks away.
const WAIT: Duration = Duration::from_micros(5);

/// What the last reads of a connection brought.
#[derive(Default)]
pub(super) struct Gather {
    /// Requests without answers were served since the last read.
    oneways: bool,
    /// Somebody waited for an answer.
    answered: bool,
    /// The last read brought as much as it could: there is more.
    filled: bool,
    streak: u32,
    last: Option<Instant>,
}

impl Gather {
    /// A request was served.
    #[inline]
    pub(super) fn served(&mut self, answered: bool) {
        self.answered |= answered;
        self.oneways = true;
    }

    /// Something was read. `filled`: as much as there was room for.
    #[inline]
    pub(super) fn read(&mut self, filled: bool) {
        self.filled = filled;
    }

    /// Before the next read. Costs a comparison where requests are answered.
    #[inline]
    pub(super) fn before_read(&mut self) {
        if self.answered || !self.oneways {
            *self = Gather::default();
        } else {
            self.note();
        }
    }

    /// Whether it waited.
    #[cold]
    fn note(&mut self) -> bool {
        let now = Instant::now();
        let soon = |last: Instant| now.saturating_duration_since(last) <= SOON;
        let follows = self.filled || self.last.is_some_and(soon);
        self.streak = if follows {
            STREAK.min(self.streak + 1)
        } else {
            0
        };
        self.oneways = false;
        self.last = Some(now);
        let waits = !self.filled && self.streak >= STREAK;
        if waits {
            // The client may have no other processor.
            thread::yield_now();
            while now.elapsed() < WAIT {
                std::hint::spin_loop();
            }
            self.last = Some(Instant::now());
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it waits after a read that brought a oneway, right after the one before.
    fn read(gather: &mut Gather, filled: bool) -> bool {
        gather.read(filled);
        gather.served(false);
        gather.last = Some(Instant::now());
        gather.note()
    }

    #[test]
    fn a_stream_of_oneways_is_gathered_until_somebody_waits_for_an_answer() {
        let mut gather = Gather::default();
        let waited: Vec<bool> = (0..STREAK + 2).map(|_| read(&mut gather, false)).collect();
        let (first, rest) = waited.split_at(STREAK as usize - 1);
        assert!(
            !first.contains(&true) && !rest.contains(&false),
            "{waited:?}"
        );
        assert!(!read(&mut gather, true), "there is more");
        assert!(read(&mut gather, false));
        gather.served(false);
        gather.served(true);
        gather.before_read();
        assert!(!read(&mut gather, false));
    }

    #[test]
    fn isolated_oneways_are_served_at_once() {
        let mut gather = Gather::default();
        for _ in 0..2 * STREAK {
            gather.served(false);
            gather.last = Instant::now().checked_sub(2 * SOON);
            assert!(!gather.note());
        }
    }
}
