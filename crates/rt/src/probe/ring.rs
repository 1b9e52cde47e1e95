//! Ring of one thread: one writer that never waits, and readers that see only complete records.
#![allow(unexpected_cfgs, reason = "loom is asked for by RUSTFLAGS alone")]

use std::time::Duration;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::Stage;

/// Number of records in a ring: about two hundred calls.
#[cfg(not(all(test, loom)))]
pub const RECORDS: usize = 1 << 12;
/// Number of records in a ring under the model checker.
#[cfg(all(test, loom))]
pub const RECORDS: usize = 2;

/// Record of the end of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time of this host's monotonic clock.
    pub at: Duration,
    /// Stage that ended.
    pub stage: Stage,
}

/// Ring of records, written without a lock by the thread that owns it.
///
/// The writer announces a record, writes it, and then publishes it. A reader copies the published
/// records, then checks which records have been announced in the meantime, and drops those that may
/// have been overwritten.
pub(super) struct Ring {
    records: Box<[Slot]>,
    /// Number of announced records.
    begun: AtomicU64,
    /// Number of published records.
    done: AtomicU64,
}

struct Slot {
    nanoseconds: AtomicU64,
    stage: AtomicU64,
}

impl Ring {
    pub(super) fn new() -> Ring {
        let empty = || Slot { nanoseconds: AtomicU64::new(0), stage: AtomicU64::new(0) };
        Ring {
            records: std::iter::repeat_with(empty).take(RECORDS).collect(),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    /// Adds a record. Only the thread that owns the ring may call this.
    #[inline]
    pub(super) fn push(&self, stage: Stage) {
        self.push_at(oxorb_sys::clock::monotonic_nanoseconds(), stage);
    }

    #[inline]
    fn push_at(&self, now: u64, stage: Stage) {
        let number = self.done.load(Ordering::Relaxed);
        self.begun.store(number + 1, Ordering::Relaxed);
        fence(Ordering::Release); // whoever sees a part of the record sees that it was begun
        let slot = &self.records[number as usize % RECORDS];
        slot.nanoseconds.store(now, Ordering::Relaxed);
        slot.stage.store(stage as u64, Ordering::Relaxed);
        self.done.store(number + 1, Ordering::Release);
    }

    /// Returns the records from number `first` on, the number of lost records, and the number of
    /// the next one.
    pub(super) fn since(&self, first: u64) -> (Vec<Record>, u64, u64) {
        let end = self.done.load(Ordering::Acquire);
        let start = first.max(end.saturating_sub(RECORDS as u64));
        let mut records: Vec<Option<Record>> = (start..end).map(|number| self.at(number)).collect();
        fence(Ordering::Acquire); // what was begun before a part that we saw, we see
        let begun = self.begun.load(Ordering::Relaxed);
        let whole = begun.saturating_sub(RECORDS as u64).clamp(start, end);
        records.drain(..(whole - start) as usize);
        (records.into_iter().flatten().collect(), whole - first, end)
    }

    fn at(&self, number: u64) -> Option<Record> {
        let slot = &self.records[number as usize % RECORDS];
        let nanoseconds = slot.nanoseconds.load(Ordering::Relaxed);
        Some(Record {
            at: Duration::from_nanos(nanoseconds),
            stage: Stage::of(slot.stage.load(Ordering::Relaxed))?,
        })
    }
}

/// Model of a writer that laps its reader, under every order of steps and every value that a load
/// may see.
#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn a_reader_sees_whole_records_or_none() {
        loom::model(|| {
            let ring = Arc::new(Ring::new());
            let written = Arc::clone(&ring);
            let writer = thread::spawn(move || {
                for number in 0..3 {
                    written.push_at(number, Stage::ALL[number as usize]);
                }
            });
            // Read in a separate thread, because loom preempts the first thread less.
            let read = Arc::clone(&ring);
            let reader = thread::spawn(move || {
                let (records, lost, next) = read.since(0);
                check(&records, lost);
                assert_eq!(lost + records.len() as u64, next);
                next
            });
            let next = reader.join().unwrap();
            writer.join().unwrap();
            let (records, lost, end) = ring.since(next);
            check(&records, next + lost);
            assert_eq!((next + lost + records.len() as u64, end), (3, 3));
        });
    }

    /// Checks that both halves of each record belong to its number.
    fn check(records: &[Record], first: u64) {
        for (number, record) in (first..).zip(records) {
            assert_eq!(record.at, Duration::from_nanos(number));
            assert_eq!(record.stage, Stage::ALL[number as usize]);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_keeps_the_newest_and_counts_the_others() {
        let ring = Ring::new();
        let more = 3;
        for number in 0..RECORDS + more {
            let stage = if number < more { Stage::CallBegun } else { Stage::CallEnded };
            ring.push(stage);
        }
        let (records, lost, next) = ring.since(0);
        assert_eq!((records.len(), lost), (RECORDS, more as u64));
        assert!(records.iter().all(|record| record.stage == Stage::CallEnded));
        assert!(records.is_sorted_by_key(|record| record.at));
        ring.push(Stage::RouteFound);
        let (records, lost, _) = ring.since(next);
        assert_eq!((records.len(), lost), (1, 0), "each record is taken once");
    }

    /// The writer keeps overtaking the reader, and still the records are read in order, and none is
    /// counted twice or forgotten.
    #[test]
    fn a_reader_sees_whole_records_or_none() {
        const PUSHED: u64 = 40 * RECORDS as u64;
        let ring = Ring::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..PUSHED {
                    ring.push(Stage::ALL[number as usize % Stage::ALL.len()]);
                }
            });
            let (mut next, mut seen) = (0, 0);
            while next < PUSHED {
                let (records, lost, end) = ring.since(next);
                let first = next + lost;
                seen += lost + records.len() as u64;
                for (number, record) in (first..).zip(&records) {
                    assert_eq!(record.stage, Stage::ALL[number as usize % Stage::ALL.len()]);
                }
                assert!(records.is_sorted_by_key(|record| record.at));
                assert_eq!(seen, end);
                next = end;
            }
        });
    }
}
