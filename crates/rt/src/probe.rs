//! Timeprobes: the times at which requests end their stages.
//!
//! Probes are always compiled in, and switched on and off at run time. While they are off, a stamp
//! is one relaxed load and a branch. While they are on, it reads the clock and writes one record of
//! 16 octets into a ring of the calling thread; it never waits, and a full ring overwrites its
//! oldest records. All processes of a host share the clock, so the stages of client and server can
//! be compared.
//!
//! ```
//! use oxorb_rt::probe::{self, Stage};
//!
//! probe::prepare(); // this thread's ring, before the deadline counts
//! probe::on();
//! probe::stamp(Stage::CallBegun);
//! probe::stamp(Stage::RouteFound);
//! probe::off();
//! probe::stamp(Stage::CallEnded); // leaves no trace
//!
//! let traces = probe::take();
//! let stages: Vec<Stage> = traces[0].records.iter().map(|record| record.stage).collect();
//! assert_eq!(stages, [Stage::CallBegun, Stage::RouteFound]);
//! ```

mod ring;
mod stage;

pub use ring::{RECORDS, Record};
pub use stage::{ProbeSide, Stage};

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::sync::Mutex;
use ring::Ring;

/// Records of one thread.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the thread; empty if it has none.
    pub thread: String,
    /// Records, oldest first.
    pub records: Vec<Record>,
    /// Number of older records overwritten since the last call of [`take`].
    pub lost: u64,
}

static ON: AtomicBool = AtomicBool::new(false);
static RINGS: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

thread_local! {
    static RING: OnceCell<Arc<Ring>> = const { OnceCell::new() };
}

/// Reader's side of a ring.
struct Shared {
    thread: String,
    ring: Arc<Ring>,
    /// Number of the first record not yet taken.
    taken: u64,
}

/// Switches all probes of this process on. A thread notices it at its next stamp.
pub fn on() {
    ON.store(true, Ordering::Relaxed);
}

/// Switches all probes of this process off; their records stay until [taken](take).
pub fn off() {
    ON.store(false, Ordering::Relaxed);
}

/// Reports whether the probes are on.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Records that the calling thread has ended `stage`.
///
/// **Real-time cost.** No lock, no system call if the clock needs none, and no allocation except
/// that of the ring at a thread's first stamp, which [`prepare`] does ahead of time.
#[inline(always)]
pub fn stamp(stage: Stage) {
    if is_on() {
        record(stage);
    }
}

/// Creates the ring of the calling thread, if it has none. Allocates 16 octets for each of
/// [`RECORDS`]; takes a lock.
pub fn prepare() {
    let _ = RING.try_with(|ring| {
        ring.get_or_init(open);
    });
}

/// Returns the records of all threads since the last call, without threads that have none.
///
/// Threads may continue to record stamps meanwhile. Allocates.
pub fn take() -> Vec<Trace> {
    let mut rings = RINGS.lock();
    let traces = rings.iter_mut().filter_map(Shared::take).collect();
    // Remove the rings of threads that have ended, because they add no more records.
    rings.retain(|shared| Arc::strong_count(&shared.ring) > 1);
    traces
}

#[cold]
#[inline(never)]
fn record(stage: Stage) {
    // Thread-local values of a thread that is ending may be destroyed already. In that case record
    // nothing.
    let _ = RING.try_with(|ring| ring.get_or_init(open).push(stage));
}

#[cold]
fn open() -> Arc<Ring> {
    let ring = Arc::new(Ring::new());
    let mut rings = RINGS.lock();
    rings.push(Shared {
        thread: std::thread::current().name().unwrap_or_default().to_owned(),
        ring: Arc::clone(&ring),
        taken: 0,
    });
    ring
}

impl Shared {
    fn take(&mut self) -> Option<Trace> {
        let (records, lost, next) = self.ring.since(self.taken);
        self.taken = next;
        (!records.is_empty()).then(|| Trace { thread: self.thread.clone(), records, lost })
    }
}
