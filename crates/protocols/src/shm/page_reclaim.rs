//! Return of the pages of idle connections to the system.
//!
//! Each end returns the pages of the ring and the blocks that it writes: only this process can then
//! have unread octets there. One thread of the process handles all its connections with this
//! setting ([`Pages::GivenBack`](oxorb_transport::Pages)), and ends with the last of them. A write
//! only sets one flag and reads another, without a fence in between: the thread executes a
//! [`barrier`] for it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use oxorb_sys::schedule::ThreadPriority;
use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};
use oxorb_sys::{barrier, thread};

use crate::shm::blocks::Blocks;
use crate::shm::ring::Direction;
use crate::shm::segment::Segment;

/// Gate that writes pass, shared with the thread that returns pages, once it exists.
#[derive(Debug, Default)]
pub(crate) struct Gate(OnceLock<Arc<PageReclaim>>);

/// Write in progress.
pub(crate) struct Passing<'g>(Option<&'g PageReclaim>);

impl Gate {
    /// Begins a write. Waits only while pages are being returned, some microseconds for each
    /// hundred of them.
    #[inline]
    pub(crate) fn pass(&self) -> Passing<'_> {
        let reclaim = self.0.get();
        if let Some(reclaim) = reclaim {
            reclaim.writing.store(true, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            if reclaim.giving_back.load(Ordering::Acquire) {
                reclaim.wait();
            }
        }
        Passing(reclaim.map(|reclaim| &**reclaim))
    }

    /// Returns the pages of a direction whenever nothing was written for `after`. To be called
    /// before the first write.
    ///
    /// # Errors
    /// The system provides no thread, or no barrier for all of them.
    pub(crate) fn reclaim(
        &self,
        segment: &Arc<Segment>,
        blocks: &Arc<Blocks>,
        at: Direction,
        after: Duration,
    ) -> io::Result<()> {
        let reclaim = Arc::new(PageReclaim {
            segment: Arc::clone(segment),
            blocks: Arc::clone(blocks),
            at,
            after,
            writing: AtomicBool::new(false),
            giving_back: AtomicBool::new(false),
            turn: Mutex::new(()),
        });
        if self.0.set(Arc::clone(&reclaim)).is_err() {
            let text = "the time after which pages are returned is already set";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        look_after(&reclaim)
    }
}

impl Drop for Passing<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(reclaim) = self.0 {
            reclaim.writing.store(false, Ordering::Release);
        }
    }
}

/// State shared by the writers of a direction and the thread that returns its pages.
#[derive(Debug)]
struct PageReclaim {
    segment: Arc<Segment>,
    blocks: Arc<Blocks>,
    at: Direction,
    /// Idle time after which pages are returned.
    after: Duration,
    writing: AtomicBool,
    giving_back: AtomicBool,
    /// Held while pages are being returned.
    turn: Mutex<()>,
}

impl PageReclaim {
    /// Waits for the other thread to finish before writing.
    #[cold]
    fn wait(&self) {
        self.writing.store(false, Ordering::Release);
        let turn = self.turn.lock();
        // No pages are returned while this mutex is held. The next thread that locks it to return pages executes a
        // barrier first, and so observes the flag.
        self.writing.store(true, Ordering::Relaxed);
        drop(turn);
    }

    /// Returns the pages, unless a write is in progress or some octets are unread.
    fn give_back(&self) -> bool {
        let _turn = self.turn.lock();
        self.giving_back.store(true, Ordering::Relaxed);
        // After the barrier, a write that began before it is visible here, and a write that begins later observes
        // `giving_back`.
        let given = barrier::all_threads().is_ok()
            && !self.writing.load(Ordering::Acquire)
            && self.at.all_read(&self.segment).is_some()
            && self.give_all_back();
        self.giving_back.store(false, Ordering::Release);
        given
    }

    fn give_all_back(&self) -> bool {
        let (segment, at) = (&self.segment, self.at);
        let blocks = segment.blocks();
        let area = at.in_blocks(segment, 0);
        let mut given = segment.give_back(at.in_ring(segment), segment.ring()).is_ok();
        given &= blocks == 0
            || self.blocks.while_free(segment, || {
                // This fails only if it has failed for the ring, too, which `given` records.
                let _ = segment.give_back(area, blocks);
            });
        given
    }
}

/// Connection as known by the thread that handles all of them.
struct Known {
    reclaim: Weak<PageReclaim>,
    after: Duration,
    /// Number of octets written at the last check.
    written: u32,
    since: Instant,
    /// Whether nothing was written since the pages were returned.
    is_empty: bool,
}

#[derive(Default)]
struct Keeper {
    known: Vec<Known>,
    runs: bool,
}

static KEEPER: Mutex<Keeper> = Mutex::new(Keeper { known: Vec::new(), runs: false });
/// Wakes the thread for a new connection with a shorter idle time.
static NEWS: Condvar = Condvar::new();

/// Longest interval between two checks.
const TICK: Duration = Duration::from_millis(500);

fn keeper() -> MutexGuard<'static, Keeper> {
    KEEPER.lock()
}

fn look_after(reclaim: &Arc<PageReclaim>) -> io::Result<()> {
    let mut keeper = keeper();
    if !keeper.runs {
        barrier::register()?;
        thread::Builder::new("oxorb-shm-pages").schedule(ThreadPriority::default()).spawn(run)?;
        keeper.runs = true;
    }
    keeper.known.push(Known {
        reclaim: Arc::downgrade(reclaim),
        after: reclaim.after,
        written: 0,
        since: Instant::now(),
        is_empty: true,
    });
    NEWS.notify_one();
    Ok(())
}

/// Handles all connections until none are left.
fn run() {
    let mut keeper = keeper();
    loop {
        keeper.known.retain(|known| known.reclaim.strong_count() > 0);
        if keeper.known.is_empty() {
            keeper.runs = false;
            return;
        }
        let mut tick = TICK;
        for known in &mut keeper.known {
            known.look();
            tick = tick.min(known.after / 2);
        }
        keeper = NEWS.wait_timeout(keeper, tick.max(Duration::from_millis(1))).0;
    }
}

impl Known {
    fn look(&mut self) {
        let Some(reclaim) = self.reclaim.upgrade() else {
            return;
        };
        match reclaim.at.all_read(&reclaim.segment) {
            Some(written) if written == self.written => {
                if !self.is_empty && self.since.elapsed() >= self.after {
                    self.is_empty = reclaim.give_back();
                    // If the pages could not be returned, as during an open lease, the next attempt follows after
                    // another idle time.
                    self.since = Instant::now();
                }
            }
            written => {
                self.written = written.unwrap_or(self.written.wrapping_add(1));
                (self.since, self.is_empty) = (Instant::now(), false);
            }
        }
    }
}
