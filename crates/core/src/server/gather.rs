//! A short wait before a read, so that requests nobody waits for gather and come with one read.
//!
//! A thread that serves oneways as fast as they come sleeps between any two of them, and their client pays for waking it
//! each time; a thread that is awake and reads each of them makes the client pay for the lock of the socket and for
//! acknowledgements. So a thread whose last reads brought nothing but requests without answers, one right after the other,
//! looks away for some microseconds before it reads again. What it then finds has to be worth the wait: more than reads bring
//! without one, for as long as it took. A request that somebody waits for ends that at once; an isolated oneway, or one of a
//! stream with pauses, does not begin it. After each wait that brought little the next one takes twice as many reads: a client
//! that sends one event after the other to one consumer or to many, each when the one before has arrived, hardly ever waits.
//!
//! While it looks away it lets others run. One that computes takes the processor for as long as the system gives it, some
//! milliseconds, by which the requests come later. By that measure such a wait brought little, and the next one is as far away
//! as it can be.

use std::time::{Duration, Instant};

use crate::clock;
use crate::sync::thread;

/// Reads in a row that must have brought oneways only.
const STREAK: u32 = 8;

/// Most waits that brought little of which it takes note. Each doubles the reads up to the next wait, to 8,192 at most.
const MOST_WASTED: u32 = 10;

/// The longest time from one of these reads to the next.
const SOON: Duration = Duration::from_micros(50);

/// Time for which the thread looks away: the longest that a request with an answer waits behind a stream of oneways.
const WAIT: Duration = Duration::from_micros(50);

/// Least number of oneways that one wait must bring, beyond what a read brings without one, to be followed by another one: for
/// each [`WAIT`] that it took.
const WORTH: u32 = 8;

/// A wait as long as this was taken by a thread that computes, and had better not been begun.
const TAKEN: Duration = Duration::from_micros(500);

/// Sizes of the last reads of a connection. A read that brings as much as there is room for and those right after it, up to
/// the first that brings less, count as one.
#[derive(Default)]
pub(super) struct Gather {
    /// Requests without answers served since the last read.
    oneways: u32,
    /// A request with an answer was among those served since the last read.
    answered: bool,
    /// The last read brought as much as it could: there is more.
    filled: bool,
    /// Time for which the thread looked away before the last read, if it did.
    waited: Option<Duration>,
    streak: u32,
    /// Oneways that the reads of the streak brought, which nobody waited before.
    without: u32,
    /// Waits in a row that brought little.
    wasted: u32,
    last: Option<Instant>,
}

impl Gather {
    /// Notes that a request was served.
    #[inline]
    pub(super) fn served(&mut self, answered: bool) {
        self.answered |= answered;
        self.oneways = self.oneways.saturating_add(1);
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
            *self = Gather { wasted: self.wasted, ..Gather::default() };
        } else {
            self.note();
        }
    }

    /// Reports whether it waited.
    #[cold]
    fn note(&mut self) -> bool {
        let now = clock::now();
        if self.filled {
            self.last = Some(now);
            return false;
        }
        let soon = |last: Instant| now.saturating_duration_since(last) <= SOON;
        let follows = self.last.is_some_and(soon);
        let wasted = self.waited.is_some_and(|away| self.oneways < self.worth(away));
        self.wasted = match self.waited {
            Some(away) if wasted && away >= TAKEN => MOST_WASTED,
            Some(_) if wasted => (self.wasted + 1).min(MOST_WASTED),
            Some(_) => 0,
            None => self.wasted,
        };
        let wanted = STREAK << self.wasted;
        match follows && !wasted {
            true if self.streak < wanted => {
                self.streak += 1;
                self.without = self.without.saturating_add(self.oneways);
            }
            true => {}
            false => (self.streak, self.without) = (0, 0),
        }
        self.oneways = 0;
        self.last = Some(now);
        self.waited = None;
        if self.streak >= wanted {
            // The client, or who serves other connections, may have no other processor.
            while clock::since(now) < WAIT {
                thread::yield_now();
            }
            let back = clock::now();
            self.waited = Some(back.saturating_duration_since(now));
            self.last = Some(back);
        }
        self.waited.is_some()
    }

    /// Returns the number of oneways from which on a wait of this length was worth it.
    fn worth(&self, away: Duration) -> u32 {
        let waits = away.as_nanos() / WAIT.as_nanos();
        let waits = u32::try_from(waits).unwrap_or(u32::MAX).max(1);
        let without = self.without / self.streak.max(1);
        without.saturating_add(WORTH.saturating_mul(waits))
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

    /// Says for how many times the usual the thread looked away: whoever tests may have been stopped meanwhile.
    fn away(gather: &mut Gather, waits: u32) {
        assert!(gather.waited.is_some());
        gather.waited = Some(WAIT * waits);
    }

    /// Makes the thread look away, after reads that brought so many oneways each; returns the
    /// number of reads.
    fn wait(gather: &mut Gather, oneways: u32) -> u32 {
        let reads = 1 + (0..).take_while(|_| !read(gather, false, oneways)).count() as u32;
        away(gather, 1);
        reads
    }

    #[test]
    fn a_stream_of_oneways_is_gathered_until_somebody_waits_for_an_answer() {
        let mut gather = Gather::default();
        assert_eq!(wait(&mut gather, 1), STREAK);
        for _ in 0..5 {
            assert!(read(&mut gather, false, 1 + WORTH));
            away(&mut gather, 1);
        }
        assert!(!read(&mut gather, true, WORTH), "there is more");
        assert!(read(&mut gather, false, 1));
        gather.served(false);
        gather.served(true);
        gather.before_read();
        assert!(!read(&mut gather, false, WORTH));
    }

    /// Events to many consumers over one connection: a read brings them all, wait or not.
    #[test]
    fn a_wait_that_brings_what_reads_bring_anyhow_is_not_repeated() {
        for oneways in [WORTH, 10, 100] {
            let mut gather = Gather::default();
            assert_eq!(wait(&mut gather, oneways), STREAK);
            for wasted in 1..4 {
                assert!(!read(&mut gather, false, oneways + WORTH - 1));
                assert_eq!(wait(&mut gather, oneways), STREAK << wasted);
            }
        }
    }

    /// Events to so many consumers that one read does not take them all.
    #[test]
    fn a_wait_before_two_reads_is_worth_what_both_bring_beyond_what_two_bring_anyhow() {
        for (brought, wasted) in [(64 + 36, 1), (64 + 43, 1), (64 + 44, 0)] {
            let mut gather = Gather::default();
            let both = |gather: &mut Gather, brought: u32| {
                assert!(!read(gather, true, 64));
                read(gather, false, brought - 64)
            };
            while !both(&mut gather, 100) {}
            away(&mut gather, 1);
            both(&mut gather, brought);
            assert_eq!(gather.wasted, wasted, "{brought}");
        }
    }

    #[test]
    fn a_wait_in_which_others_kept_the_processor_has_to_bring_as_much_more() {
        for (waits, brought, wasted) in
            [(1, 9, 0), (2, 16, 1), (2, 17, 0), (80, 100, MOST_WASTED), (80, 641, 0)]
        {
            let mut gather = Gather::default();
            wait(&mut gather, 1);
            away(&mut gather, waits);
            read(&mut gather, false, brought);
            assert_eq!(gather.wasted, wasted, "{waits} {brought}");
        }
    }

    #[test]
    fn a_wait_that_brings_little_is_not_repeated() {
        let mut gather = Gather::default();
        let waits = |gather: &mut Gather, reads: u32| {
            let waits = (0..reads).filter(|_| {
                let waits = read(gather, false, 1);
                if waits {
                    away(gather, 1);
                }
                waits
            });
            waits.count()
        };
        assert_eq!(waits(&mut gather, 4 * STREAK), 2, "after {STREAK} reads, and twice as many");
        let longest = STREAK << MOST_WASTED;
        assert!(waits(&mut gather, 4 * longest) < 16, "one wait in {longest} reads at last");
        // An answered request in between does not make the thread forget it.
        gather.served(true);
        gather.before_read();
        assert_eq!(waits(&mut gather, 4 * STREAK), 0);
        // One wait that is worth it, and the next comes as soon as the first did.
        wait(&mut gather, 1);
        assert!(read(&mut gather, false, 1 + WORTH));
        away(&mut gather, 1);
        assert!(!read(&mut gather, false, 1));
        assert_eq!(wait(&mut gather, 1), 2 * STREAK, "one was wasted since");
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
