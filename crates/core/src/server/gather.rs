//! Short wait before a read, so that oneways accumulate and arrive with one read.
//!
//! A thread that serves oneways as fast as they arrive sleeps between any two of them, and their client pays for each
//! wake-up; a thread that stays awake and reads each of them makes the client pay for the lock of the socket and for
//! acknowledgements. Therefore a thread whose last reads, one right after the other, brought only oneways waits for
//! some microseconds before it reads again. The result has to justify the wait: it must exceed the yield of reads
//! without a wait, in proportion to the length of the wait. A two-way request ends the mode at once; an isolated
//! oneway, or a stream with pauses, does not start it. After each wait that was not justified, the next one needs twice
//! as many reads: a client that sends one event after the other, to one consumer or to many, each when the one before
//! has arrived, hardly ever waits.
//!
//! The waiting thread yields. A computing thread then keeps the processor for as long as the system lets it, some
//! milliseconds, by which the requests are delayed. By the measure above such a wait was not justified, and the next
//! one needs the maximum number of reads.

use std::time::{Duration, Instant};

use crate::threads::clock;
use crate::threads::sync::thread;

/// Number of successive reads that must have brought only oneways.
const STREAK: u32 = 8;

/// Maximum number of unjustified waits. Each doubles the reads before the next wait, up to 8,192.
const MOST_WASTED: u32 = 10;

/// Longest time between two successive reads of a stream.
const SOON: Duration = Duration::from_micros(50);

/// Length of a wait: the longest delay of a two-way request behind a stream of oneways.
const WAIT: Duration = Duration::from_micros(50);

/// Number of oneways that a wait must bring in addition to the yield of a read without one, for each [`WAIT`] of its
/// length.
const WORTH: u32 = 8;

/// Length from which on a wait counts as prolonged by a computing thread.
const TAKEN: Duration = Duration::from_micros(500);

/// Yields of the last reads of a connection. A read that fills its buffer counts as one with the reads right after it,
/// up to the first that does not.
#[derive(Default)]
pub(super) struct Gather {
    /// Number of oneways served since the last read.
    oneways: u32,
    /// Whether a two-way request was served since the last read.
    answered: bool,
    /// Whether the last read filled its buffer, so that there is more input.
    filled: bool,
    /// Length of the wait before the last read, if there was one.
    waited: Option<Duration>,
    streak: u32,
    /// Number of oneways that the reads of the streak brought without a wait.
    without: u32,
    /// Number of successive unjustified waits.
    wasted: u32,
    last: Option<Instant>,
}

impl Gather {
    /// Records a served request.
    #[inline]
    pub(super) fn served(&mut self, answered: bool) {
        self.answered |= answered;
        self.oneways = self.oneways.saturating_add(1);
    }

    /// Records a read; `filled` if it filled the buffer.
    #[inline]
    pub(super) fn read(&mut self, filled: bool) {
        self.filled = filled;
    }

    /// Waits if the last reads were those of a stream of oneways. Costs a comparison if requests are answered.
    #[inline]
    pub(super) fn before_read(&mut self) {
        if self.answered || self.oneways == 0 {
            // The count of unjustified waits is kept, so that a client with occasional calls does not wait more often.
            *self = Gather { wasted: self.wasted, ..Gather::default() };
        } else {
            self.note();
        }
    }

    /// Updates the counts, and waits if due. Returns whether it waited.
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
            // The client, or threads that serve other connections, may need this processor, so this thread yields while
            // it waits.
            while clock::since(now) < WAIT {
                thread::yield_now();
            }
            let back = clock::now();
            self.waited = Some(back.saturating_duration_since(now));
            self.last = Some(back);
        }
        self.waited.is_some()
    }

    /// Returns the number of oneways that justifies a wait of this length.
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

    /// Simulates a read with this many oneways right after the one before; returns whether it waits afterwards.
    fn read(gather: &mut Gather, filled: bool, oneways: u32) -> bool {
        gather.read(filled);
        (0..oneways).for_each(|_| gather.served(false));
        gather.last = Some(clock::now());
        gather.note()
    }

    /// Sets the length of the last wait, in units of the usual length, because the test itself may have been stopped
    /// meanwhile.
    fn away(gather: &mut Gather, waits: u32) {
        assert!(gather.waited.is_some());
        gather.waited = Some(WAIT * waits);
    }

    /// Simulates reads with this many oneways each until a wait; returns the number of reads.
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

    /// Events to many consumers over one connection: a read brings all of them, with a wait or
    /// without.
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

    /// Events to more consumers than one read can bring.
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
        // An answered request in between does not reset the count.
        gather.served(true);
        gather.before_read();
        assert_eq!(waits(&mut gather, 4 * STREAK), 0);
        // After a justified wait the next one comes as soon as the first did.
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
