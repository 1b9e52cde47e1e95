//! Timeprobes: when a request passed which stage.
//!
//! Stamps stand in the code for good and are switched on and off while it runs. Off, a stamp is one relaxed load and a
//! branch. On, it reads the clock and writes one record of 16 octets into a ring that belongs to the calling thread
//! alone; nobody is waited for, and when the ring is full the oldest records go. All processes of a host share the
//! clock, so the stages of client and server can be put side by side.
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
pub use stage::{Side, Stage};

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::sync::Mutex;
use ring::Ring;

/// Records that a thread has stamped.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name of the thread; empty when it has none.
    pub thread: String,
    /// Oldest first.
    pub records: Vec<Record>,
    /// Number of older records that had to make room since the last ones were taken.
    pub lost: u64,
}

static ON: AtomicBool = AtomicBool::new(false);
static RINGS: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

thread_local! {
    static RING: OnceCell<Arc<Ring>> = const { OnceCell::new() };
}

/// A ring as its readers know it.
struct Shared {
    thread: String,
    ring: Arc<Ring>,
    /// Records before this one were taken.
    taken: u64,
}

/// Switches all probes of this process on. Threads see it with their next stamps.
pub fn on() {
    ON.store(true, Ordering::Relaxed);
}

/// Switches them off; what was stamped stays until it is [taken](take).
pub fn off() {
    ON.store(false, Ordering::Relaxed);
}

/// Whether they are on.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Notes that the calling thread has come to the end of `stage`.
///
/// **Real-time cost.** No lock, no system call where the clock needs none, and no allocation but that of the ring at a
/// thread's first stamp, which [`prepare`] does ahead of time.
#[inline(always)]
pub fn stamp(stage: Stage) {
    if is_on() {
        record(stage);
    }
}

/// Makes the ring of the calling thread, if it has none. Allocates 16 octets for each of [`RECORDS`]; takes a lock.
pub fn prepare() {
    let _ = RING.try_with(|ring| {
        ring.get_or_init(open);
    });
}

/// Takes what all threads have stamped since this was asked last. Those that have stamped nothing are left out.
///
/// They may go on stamping meanwhile and do not notice. Allocates.
pub fn take() -> Vec<Trace> {
    let mut rings = RINGS.lock();
    let traces = rings.iter_mut().filter_map(Shared::take).collect();
    // Of threads that have ended nothing more is to come.
    rings.retain(|shared| Arc::strong_count(&shared.ring) > 1);
    traces
}

#[cold]
#[inline(never)]
fn record(stage: Stage) {
    // A thread at its very end has no ring any more.
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
