//! The ring of one thread: one writer that waits for nobody, readers that see whole records or none.
#![allow(unexpected_cfgs, reason = "loom is asked for by RUSTFLAGS alone")]

use std::time::Duration;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::Stage;

/// Number of records that a thread keeps: some two hundred calls.
#[cfg(not(all(test, loom)))]
pub const RECORDS: usize = 1 << 12;
/// Number of records that a model fills.
#[cfg(all(test, loom))]
pub const RECORDS: usize = 2;

/// Record that a thread came to the end of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time by the monotonic clock of this host.
    pub at: Duration,
    /// Stage that ended.
    pub stage: Stage,
}

/// Written by the thread that owns it, without a lock.
///
/// The writer announces a record, writes it, and then says that it is there. A reader copies what is there and afterwards
/// looks how much was announced meanwhile: what that may have overwritten it drops.
pub(super) struct Ring {
    records: Box<[Slot]>,
    /// Number of records that were begun.
    begun: AtomicU64,
    /// Number of records that are complete.
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

    /// Adds a record; only for the thread that owns the ring.
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

    /// The records from number `first` on, how many of those are gone, and the number of the next one.
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

/// Every order of steps, and every value that a load may see: a writer that laps its reader.
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
            // In a thread of its own: loom interrupts the first one less.
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

    /// Each is the one of its number, both halves of it.
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

    /// The writer laps the reader all the time: what the reader gets is in order all the same, and nothing is counted
    /// twice or forgotten.
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
