//! A short wait before a read, so that requests nobody waits for gather and come with one read.
//!
//! A thread that serves oneways as fast as they come sleeps between any two of them, and their client pays for waking it
//! each time; a thread that is awake and reads each of them makes the client pay for the lock of the socket and for
//! acknowledgements. So a thread whose last reads brought nothing but requests without answers, one right after the other,
//! looks away for some microseconds before it reads again. What it then finds has to be worth the wait. A request that
//! somebody waits for ends that at once; an isolated oneway, or one of a stream with pauses, does not begin it. After each
//! wait that brought little the next one takes twice as many reads: a client that sends one event after the other, each when
//! the one before has arrived, hardly ever waits.

use std::time::{Duration, Instant};

use crate::clock;
use crate::sync::thread;

/// Reads in a row that must have brought oneways only.
const STREAK: u32 = 8;

/// Most such reads from a wait that brought little to the next one.
const LONGEST_STREAK: u32 = 8192;

/// The longest time from one of these reads to the next.
const SOON: Duration = Duration::from_micros(50);

/// Time for which the thread looks away: the longest that a request with an answer waits behind a stream of oneways.
const WAIT: Duration = Duration::from_micros(50);

/// Least number of oneways that one wait must bring to be followed by another one.
const WORTH: u32 = 8;

/// Sizes of the last reads of a connection.
#[derive(Default)]
pub(super) struct Gather {
    /// Requests without answers served since the last read.
    oneways: u32,
    /// A request with an answer was among those served since the last read.
    answered: bool,
    /// The last read brought as much as it could: there is more.
    filled: bool,
    /// The thread looked away before the last read.
    waited: bool,
    streak: u32,
    /// Waits in a row that brought little.
    wasted: u32,
    last: Option<Instant>,
}

impl Gather {
    /// Notes that a request was served.
    #[inline]
    pub(super) fn served(&mut self, answered: bool) {
        self.answered |= answered;
        self.oneways += 1;
    }

    /// Notes a read. `filled`: it brought as much as there was room for.
    #[inline]
    pub(super) fn read(&mut self, filled: bool) {
        self.filled = filled;
    }

    /// Looks away, where the last reads were those of a stream of oneways. Costs a comparison where requests are answered.
    #[inline]
    pub(super) fn before_read(&mut self) {
        if self.answered || self.oneways == 0 {
            // What waits were worth still holds: a client that calls now and then is to wait no more often.
            *self = Gather {
                wasted: self.wasted,
                ..Gather::default()
            };
        } else {
            self.note();
        }
    }

    /// Reports whether it waited.
    #[cold]
    fn note(&mut self) -> bool {
        let now = clock::now();
        let soon = |last: Instant| now.saturating_duration_since(last) <= SOON;
        let follows = self.filled || self.last.is_some_and(soon);
        let wasted = self.waited && !self.filled && self.oneways < WORTH;
        self.wasted = match (self.waited, wasted) {
            (true, true) => self.wasted.saturating_add(1),
            (true, false) => 0,
            (false, _) => self.wasted,
        };
        let wanted = STREAK << self.wasted.min((LONGEST_STREAK / STREAK).ilog2());
        self.streak = match follows && !wasted {
            true => wanted.min(self.streak + 1),
            false => 0,
        };
        self.oneways = 0;
        self.last = Some(now);
        self.waited = !self.filled && self.streak >= wanted;
        if self.waited {
            // The client, or who serves other connections, may have no other processor.
            while clock::since(now) < WAIT {
                thread::yield_now();
            }
            self.last = Some(clock::now());
        }
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports whether it waits after a read that brought so many oneways, right after the one before.
    fn read(gather: &mut Gather, filled: bool, oneways: u32) -> bool {
        gather.read(filled);
        (0..oneways).for_each(|_| gather.served(false));
        gather.last = Some(clock::now());
        gather.note()
    }

    #[test]
    fn a_stream_of_oneways_is_gathered_until_somebody_waits_for_an_answer() {
        let mut gather = Gather::default();
        let waited: Vec<bool> = (0..STREAK + 2)
            .map(|_| read(&mut gather, false, WORTH))
            .collect();
        let (first, rest) = waited.split_at(STREAK as usize - 1);
        assert!(
            !first.contains(&true) && !rest.contains(&false),
            "{waited:?}"
        );
        assert!(!read(&mut gather, true, 1), "there is more");
        assert!(read(&mut gather, false, 1));
        gather.served(false);
        gather.served(true);
        gather.before_read();
        assert!(!read(&mut gather, false, WORTH));
    }

    #[test]
    fn a_wait_that_brings_little_is_not_repeated() {
        let mut gather = Gather::default();
        let waits =
            |gather: &mut Gather| (0..4 * STREAK).filter(|_| read(gather, false, 1)).count();
        assert_eq!(
            waits(&mut gather),
            2,
            "after {STREAK} reads, and twice as many"
        );
        let many = (0..4 * LONGEST_STREAK).filter(|_| read(&mut gather, false, 1));
        assert!(
            many.count() < 16,
            "one wait in {LONGEST_STREAK} reads at last"
        );
        // An answered request in between does not make the thread forget it.
        gather.served(true);
        gather.before_read();
        assert_eq!(waits(&mut gather), 0);
        // One wait that is worth it, and the next comes as soon as the first did.
        while !read(&mut gather, false, 1) {}
        let again = (0..STREAK).filter(|_| read(&mut gather, false, WORTH));
        assert_eq!(again.count(), STREAK as usize);
    }

    #[test]
    fn isolated_oneways_are_served_at_once() {
        let mut gather = Gather::default();
        for _ in 0..2 * STREAK {
            gather.served(false);
            gather.last = clock::now().checked_sub(2 * SOON);
            assert!(!gather.note());
        }
    }
}
