//! Counts of calls and requests.
//!
//! Counting allocates nothing, and takes no lock and no system call: the end of a call or request reads the monotonic
//! clock and makes three to five atomic additions. Threads of different lanes count in different rows, each on its own
//! cache lines. All lanes count the same exception in the same row.
//!
//! All tables have a fixed size. For lanes and exceptions beyond it, each count looks at all 64 rows before it uses the
//! common one. A peer that raises many minor codes can cause that for exceptions.

use std::time::SystemTime;

use oxorb_object::{SystemException, SystemExceptionKind, minor};

use crate::reference::LaneOf;
use crate::threads::clock;
use crate::threads::sync::uncontrolled::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of lanes with rows of their own; all further lanes share one row.
const LANES: usize = 64;

/// Number of exceptions, by kind and minor code, with rows of their own; for all further minor codes each kind has one
/// row.
const EXCEPTIONS: usize = 64;

/// Number of kinds of exceptions.
const KINDS: usize = SystemExceptionKind::ALL.len();

/// Upper bounds of the buckets of durations, in nanoseconds and as OpenMetrics writes them in seconds.
pub(super) const BOUNDS: [(u64, &str); 22] = [
    (1_000, "1e-06"),
    (2_000, "2e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1.0"),
    (2_000_000_000, "2.0"),
    (5_000_000_000, "5.0"),
    (10_000_000_000, "10.0"),
];

/// Number of buckets; the last one has no upper bound.
pub(super) const BUCKETS: usize = BOUNDS.len() + 1;

/// Returns the bucket of a duration in nanoseconds.
pub(super) fn bucket(nanoseconds: u64) -> usize {
    BOUNDS.partition_point(|(bound, _)| *bound < nanoseconds)
}

/// End of a call or of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The operation returned results, or the request was a oneway that ended.
    Results,
    /// The operation raised a user exception.
    UserException,
    /// The operation, or the ORB in its place, raised a system exception.
    SystemException(SystemException),
    /// The client was forwarded to another object.
    Forward,
    /// The request was answered with an exception, or a oneway dropped, before its servant was looked up.
    Refused(SystemException),
    /// The call was sent, and has no answer.
    Sent,
    /// The caller dropped the call before it had an answer.
    Abandoned,
}

impl Ending {
    /// Values of the label `outcome`, in the order of the counters.
    const NAMES: [&str; 7] = [
        "results",
        "user_exception",
        "system_exception",
        "forward",
        "refused",
        "sent",
        "abandoned",
    ];

    /// Outcomes of requests, as indices of [`NAMES`](Self::NAMES).
    const OF_REQUESTS: [usize; 5] = [0, 1, 2, 3, 4];

    /// Outcomes of calls, as indices of [`NAMES`](Self::NAMES).
    const OF_CALLS: [usize; 5] = [0, 1, 2, 5, 6];

    fn place(self) -> usize {
        match self {
            Ending::Results => 0,
            Ending::UserException => 1,
            Ending::SystemException(_) => 2,
            Ending::Forward => 3,
            Ending::Refused(_) => 4,
            Ending::Sent => 5,
            Ending::Abandoned => 6,
        }
    }

    fn exception(self) -> Option<SystemException> {
        match self {
            Ending::SystemException(exception) | Ending::Refused(exception) => Some(exception),
            _ => None,
        }
    }

    /// Reports whether the end has a duration that says something about the operation.
    fn has_duration(self) -> bool {
        !matches!(self, Ending::Refused(_) | Ending::Sent | Ending::Abandoned)
    }
}

/// Start of a request; counted once, when the request ends.
#[derive(Debug, Default)]
pub(crate) struct Started {
    /// Time of the monotonic clock in nanoseconds; 0 if the request has not begun or is counted.
    at: AtomicU64,
    /// Key of the lane that serves the request.
    lane: AtomicU64,
}

impl Started {
    /// Records that the request begins now, in a thread of this lane.
    pub(crate) fn begin(&self, lane: Option<LaneOf>) {
        self.lane.store(key(lane), Relaxed);
        self.at.store(clock::monotonic_nanoseconds().max(1), Relaxed);
    }

    /// Prepares the record for another request.
    pub(crate) fn reset(&mut self) {
        *self.at.get_mut() = 0;
    }

    /// Returns the start time of the request and the key of its lane, once for each request; `None` afterwards.
    fn take(&self) -> Option<(u64, u64)> {
        let at = self.at.load(Relaxed);
        self.at.store(0, Relaxed);
        (at != 0).then(|| (at, self.lane.load(Relaxed)))
    }
}

/// Counts of the calls and requests of one ORB.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Time at which the ORB was made.
    pub(super) made: SystemTime,
    /// Counts of each lane; the last row is that of all lanes without a row of their own.
    lanes: Box<[LaneCounts]>,
    /// System exceptions with which requests ended here.
    raised: ExceptionCounts,
    /// System exceptions with which calls ended.
    received: ExceptionCounts,
}

/// Counts of the threads of one lane.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LaneCounts {
    /// Key of the lane; 0 while the row is free.
    key: AtomicU64,
    requests: EndCounts,
    calls: EndCounts,
}

/// Counts of requests or of calls.
#[derive(Debug, Default)]
struct EndCounts {
    outcomes: [AtomicU64; Ending::NAMES.len()],
    buckets: [AtomicU64; BUCKETS],
    /// Sum of the durations in nanoseconds.
    sum: AtomicU64,
    /// Number of requests that ended after their deadline.
    late: AtomicU64,
}

/// Counts of system exceptions.
#[derive(Debug)]
struct ExceptionCounts {
    rows: Box<[ExceptionCount]>,
    /// Exceptions without a row, by kind.
    others: Box<[AtomicU64]>,
}

#[derive(Debug, Default)]
struct ExceptionCount {
    /// Kind and minor code; 0 while the row is free.
    key: AtomicU64,
    count: AtomicU64,
}

impl Meter {
    /// Returns a meter that has counted nothing. Allocates all its memory, about 50 KiB.
    pub(crate) fn new() -> Meter {
        Meter {
            made: clock::time_of_day(),
            lanes: (0..=LANES).map(|_| LaneCounts::default()).collect(),
            raised: ExceptionCounts::new(),
            received: ExceptionCounts::new(),
        }
    }

    /// Counts the end of a request, unless it is counted already. `late`: its deadline has passed.
    pub(crate) fn request_ended(&self, started: &Started, late: bool, ending: Ending) {
        if let Some((at, lane)) = started.take() {
            self.raised.count(ending.exception());
            self.lane(lane).requests.count(at, late, ending);
        }
    }

    /// Counts a request that was refused before its servant was looked up.
    pub(crate) fn request_refused(&self, lane: Option<LaneOf>, exception: SystemException) {
        let late = exception.kind == SystemExceptionKind::Timeout
            && exception.minor == minor::timeout::DEADLINE_PASSED;
        self.raised.count(Some(exception));
        self.lane(key(lane)).requests.count(0, late, Ending::Refused(exception));
    }

    /// Counts the end of a call of a thread of this lane. `began`: monotonic clock in nanoseconds.
    pub(crate) fn call_ended(&self, lane: Option<LaneOf>, began: u64, ending: Ending) {
        self.received.count(ending.exception());
        self.lane(key(lane)).calls.count(began, false, ending);
    }

    fn lane(&self, key: u64) -> &LaneCounts {
        let (own, shared) = self.lanes.split_at(LANES);
        find(own, key, |row| &row.key).unwrap_or(&shared[0])
    }

    /// Returns the counts of all lanes that have any, in the order of threadpools and lanes.
    pub(super) fn lanes(&self) -> Vec<LaneReading> {
        let (own, shared) = self.lanes.split_at(LANES);
        let used = own.iter().filter_map(|row| match row.key.load(Relaxed) {
            0 => None,
            key => Some((Some(lane_of(key)), row)),
        });
        let is_used = |row: &LaneCounts| row.requests.is_used() || row.calls.is_used();
        let shared = shared.iter().filter(|row| is_used(row)).map(|row| (None, row));
        let mut read: Vec<LaneReading> = used
            .chain(shared)
            .map(|(lane, row)| LaneReading {
                lane,
                requests: row.requests.read(&Ending::OF_REQUESTS),
                calls: row.calls.read(&Ending::OF_CALLS),
            })
            .collect();
        // The shared row comes last.
        let place = |lane: LaneOf| (lane.pool, lane.lane);
        read.sort_by_key(|row| row.lane.map_or((u32::MAX, u32::MAX), place));
        read
    }

    /// Returns the counts of the exceptions with which requests ended here.
    pub(super) fn raised(&self) -> Vec<ExceptionReading> {
        self.raised.read()
    }

    /// Returns the counts of the exceptions with which calls ended.
    pub(super) fn received(&self) -> Vec<ExceptionReading> {
        self.received.read()
    }
}

/// Counts of a lane, as read for a page.
pub(super) struct LaneReading {
    /// Lane, with threadpool 0 for all threads outside threadpools; `None` for the lanes that share a row.
    pub(super) lane: Option<LaneOf>,
    pub(super) requests: EndReading,
    pub(super) calls: EndReading,
}

/// Counts of requests or calls, as read for a page.
pub(super) struct EndReading {
    /// Label and count of each outcome.
    pub(super) outcomes: Vec<(&'static str, u64)>,
    pub(super) buckets: [u64; BUCKETS],
    pub(super) sum: u64,
    pub(super) late: u64,
}

/// Count of an exception, as read for a page.
pub(super) struct ExceptionReading {
    pub(super) kind: SystemExceptionKind,
    /// Minor code; `None` for all codes without a row.
    pub(super) minor: Option<u32>,
    pub(super) count: u64,
}

impl EndCounts {
    fn count(&self, began: u64, late: bool, ending: Ending) {
        self.outcomes[ending.place()].fetch_add(1, Relaxed);
        if late {
            self.late.fetch_add(1, Relaxed);
        }
        if ending.has_duration() {
            let took = clock::monotonic_nanoseconds().saturating_sub(began);
            self.sum.fetch_add(took, Relaxed);
            self.buckets[bucket(took)].fetch_add(1, Relaxed);
        }
    }

    fn is_used(&self) -> bool {
        self.outcomes.iter().any(|count| count.load(Relaxed) != 0)
    }

    fn read(&self, outcomes: &[usize]) -> EndReading {
        let outcome = |&at: &usize| (Ending::NAMES[at], self.outcomes[at].load(Relaxed));
        EndReading {
            outcomes: outcomes.iter().map(outcome).collect(),
            buckets: std::array::from_fn(|at| self.buckets[at].load(Relaxed)),
            sum: self.sum.load(Relaxed),
            late: self.late.load(Relaxed),
        }
    }
}

impl ExceptionCounts {
    fn new() -> ExceptionCounts {
        ExceptionCounts {
            rows: (0..EXCEPTIONS).map(|_| ExceptionCount::default()).collect(),
            others: (0..KINDS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn count(&self, exception: Option<SystemException>) {
        let Some(exception) = exception else {
            return;
        };
        let kind = exception.kind as usize;
        // `KINDS` is added so that no key is 0.
        let key = (((KINDS + kind) as u64) << 32) | u64::from(exception.minor);
        match find(&self.rows, key, |row| &row.key) {
            Some(row) => row.count.fetch_add(1, Relaxed),
            None => self.others[kind].fetch_add(1, Relaxed),
        };
    }

    fn read(&self) -> Vec<ExceptionReading> {
        let kind = |at: usize| SystemExceptionKind::ALL.get(at).copied();
        let rows = self.rows.iter().filter_map(|row| {
            let key = row.key.load(Relaxed);
            let kind = kind(((key >> 32) as usize).checked_sub(KINDS)?)?;
            Some(ExceptionReading { kind, minor: Some(key as u32), count: row.count.load(Relaxed) })
        });
        let others = self.others.iter().enumerate().filter_map(|(at, count)| {
            let (kind, count) = (kind(at)?, count.load(Relaxed));
            (count != 0).then_some(ExceptionReading { kind, minor: None, count })
        });
        let mut read: Vec<ExceptionReading> = rows.chain(others).collect();
        read.sort_by_key(|one| (one.kind, one.minor.is_none(), one.minor));
        read
    }
}

/// Returns the key of a lane, which is not 0.
fn key(lane: Option<LaneOf>) -> u64 {
    let LaneOf { pool, lane } = lane.unwrap_or(LaneOf { pool: 0, lane: 0 });
    ((u64::from(pool) << 32) | u64::from(lane)).wrapping_add(1)
}

fn lane_of(key: u64) -> LaneOf {
    let key = key.wrapping_sub(1);
    LaneOf { pool: (key >> 32) as u32, lane: key as u32 }
}

/// Returns the row with a key, which is not 0. For a new key, takes a free row; returns `None` if there is none.
fn find<R>(rows: &[R], key: u64, key_of: impl Fn(&R) -> &AtomicU64) -> Option<&R> {
    // Neighbouring keys begin their search at different rows.
    let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    let places = (0..rows.len()).map(|step| (first + step) % rows.len());
    for row in places.map(|place| &rows[place]) {
        let cell = key_of(row);
        let found = match cell.load(Relaxed) {
            0 => match cell.compare_exchange(0, key, Relaxed, Relaxed) {
                Ok(_) => key,
                Err(other) => other,
            },
            found => found,
        };
        if found == key {
            return Some(row);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use oxorb_object::CompletionStatus;

    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_bound_is_not_below_it() {
        for (at, (bound, text)) in BOUNDS.into_iter().enumerate() {
            assert_eq!((bucket(bound), bucket(bound + 1)), (at, at + 1), "{text}");
            let seconds: f64 = text.parse().unwrap();
            assert_eq!((seconds * 1e9).round() as u64, bound, "{text}");
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn more_lanes_than_rows_share_the_last_row() {
        let meter = Meter::new();
        for number in 0..2 * LANES as u32 {
            let lane = (number != 0).then_some(LaneOf { pool: number, lane: number % 3 });
            meter.call_ended(lane, 1, Ending::Sent);
        }
        let read = meter.lanes();
        assert_eq!(read.len(), LANES + 1);
        let sent: Vec<u64> = read.iter().map(|row| row.calls.outcomes[3].1).collect();
        assert_eq!(sent[..LANES], [1; LANES]);
        assert_eq!((sent[LANES], read[LANES].lane), (LANES as u64, None));
        assert_eq!(read[0].lane, Some(LaneOf { pool: 0, lane: 0 }));
    }

    #[test]
    fn more_minor_codes_than_rows_are_counted_by_kind() {
        let meter = Meter::new();
        let raise = |minor| SystemException::transient(minor, CompletionStatus::No);
        for minor in 0..1000 {
            meter.request_refused(None, raise(minor));
            meter.request_refused(None, raise(0));
        }
        let read = meter.raised();
        assert_eq!(read.len(), EXCEPTIONS + 1);
        assert!(read.iter().all(|one| one.kind == SystemExceptionKind::Transient));
        assert_eq!((read[0].minor, read[0].count), (Some(0), 1001));
        let last = &read[EXCEPTIONS];
        assert_eq!((last.minor, last.count), (None, 1000 - EXCEPTIONS as u64));
        assert!(meter.received().is_empty());
    }

    #[test]
    fn a_refusal_is_late_only_if_the_deadline_of_the_client_has_passed() {
        let meter = Meter::new();
        for code in [minor::timeout::DISPATCHED_LATE, minor::timeout::DEADLINE_PASSED] {
            meter.request_refused(None, SystemException::timeout(code, CompletionStatus::No));
        }
        let read = meter.lanes();
        assert_eq!((read[0].requests.outcomes[4], read[0].requests.late), (("refused", 2), 1));
    }

    #[test]
    fn a_request_is_counted_once_and_only_if_it_has_begun() {
        let meter = Meter::new();
        let mut started = Started::default();
        meter.request_ended(&started, false, Ending::Results);
        assert!(meter.lanes().is_empty());
        let lane = LaneOf { pool: 3, lane: 1 };
        started.begin(Some(lane));
        for _ in 0..2 {
            meter.request_ended(&started, true, Ending::UserException);
        }
        started.begin(Some(lane));
        started.reset();
        meter.request_ended(&started, true, Ending::UserException);
        let read = meter.lanes();
        assert_eq!((read.len(), read[0].lane), (1, Some(lane)));
        let requests = &read[0].requests;
        assert_eq!(requests.outcomes[1], ("user_exception", 1));
        assert_eq!((requests.late, requests.buckets.iter().sum::<u64>()), (1, 1));
    }
}
