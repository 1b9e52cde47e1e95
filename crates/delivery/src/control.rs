//! Control of consumers and suppliers: a thread pings them and releases those that do not answer.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb_sys::schedule::ThreadPriority;

use crate::clock::LONGEST_WAIT;
use crate::sync::{Lock, Signal};

/// A consumer or supplier that can be pinged.
pub trait Peer: Send + Sync {
    /// Pings the peer. Must return within `limit`.
    fn ping(&self, limit: Duration) -> Ping;

    /// Releases the peer because pings found it dead. Called at most once.
    fn lost(&self);
}

/// Answer to a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    /// The peer answered.
    Alive,
    /// The peer did not answer in time.
    NoAnswer,
    /// The peer no longer exists.
    Gone,
}

/// Consumer and supplier control: one thread that pings all peers one after the other, once per period. Dropping it
/// stops the thread.
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::time::Duration;
/// use oxorb_delivery::{Control, Peer, Ping};
///
/// struct Dead(mpsc::Sender<()>);
///
/// impl Peer for Dead {
///     fn ping(&self, _: Duration) -> Ping { Ping::Gone }
///     fn lost(&self) { self.0.send(()).unwrap() }
/// }
///
/// let (tell, told) = mpsc::channel();
/// let control = Control::start(Duration::from_millis(1), Control::TIMEOUT, 0)?;
/// let peer: Arc<dyn Peer> = Arc::new(Dead(tell));
/// let _watch = control.watch(&peer);
/// assert_eq!(told.recv(), Ok(()));
/// # std::io::Result::Ok(())
/// ```
pub struct Control {
    shared: Arc<Shared>,
}

struct Shared {
    period: Duration,
    timeout: Duration,
    retries: u32,
    peers: Lock<Vec<Watched>>,
    changed: Signal,
    ended: AtomicBool,
    lost: AtomicU64,
}

#[derive(Clone)]
struct Watched {
    peer: Weak<dyn Peer>,
    /// Number of consecutive unanswered pings, shared with the copy of the list that the current round uses.
    unanswered: Arc<AtomicU64>,
}

/// Registration of a peer for pings. Dropping it ends the registration.
#[must_use = "the peer is not watched any more as soon as this goes"]
pub struct Watch {
    shared: Weak<Shared>,
    mark: Arc<AtomicU64>,
}

impl Control {
    /// Period of TAO's consumer and supplier control.
    pub const PERIOD: Duration = Duration::from_secs(5);
    /// Time-out of TAO's pings.
    pub const TIMEOUT: Duration = Duration::from_millis(10);

    /// Starts the thread. A peer is lost after `retries` + 1 consecutive pings without an answer.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(period: Duration, timeout: Duration, retries: u32) -> io::Result<Control> {
        let shared = Arc::new(Shared {
            period,
            timeout,
            retries,
            peers: Lock::new(Vec::new()),
            changed: Signal::default(),
            ended: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        });
        let control = Control { shared: Arc::clone(&shared) };
        oxorb_sys::thread::Builder::new("control")
            .schedule(ThreadPriority::default())
            .spawn(move || shared.run())?;
        Ok(control)
    }

    /// Watches a peer until the returned value or the peer is dropped, or the peer is lost.
    pub fn watch(&self, peer: &Arc<dyn Peer>) -> Watch {
        let mark = Arc::new(AtomicU64::new(0));
        self.shared
            .peers
            .lock()
            .push(Watched { peer: Arc::downgrade(peer), unanswered: Arc::clone(&mark) });
        Watch { shared: Arc::downgrade(&self.shared), mark }
    }

    /// Returns the number of peers lost so far.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn run(&self) {
        while !self.ended.load(Ordering::SeqCst) {
            let seen = self.changed.seen();
            if !self.ended.load(Ordering::SeqCst) {
                // The system rejects a sleep that is too long, and the thread would then ping without a pause.
                self.changed.wait(seen, self.period.min(LONGEST_WAIT));
            }
            let round = self.peers.lock().clone();
            for watched in round {
                if self.ended.load(Ordering::SeqCst) {
                    return;
                }
                self.ping(&watched);
            }
        }
    }

    fn ping(&self, watched: &Watched) {
        let Some(peer) = watched.peer.upgrade() else {
            self.forget(&watched.unanswered);
            return;
        };
        let call = AssertUnwindSafe(|| peer.ping(self.timeout));
        let is_lost = match panic::catch_unwind(call).unwrap_or(Ping::NoAnswer) {
            Ping::Alive => {
                watched.unanswered.store(0, Ordering::Relaxed);
                false
            }
            Ping::NoAnswer => {
                let before = watched.unanswered.fetch_add(1, Ordering::Relaxed);
                before >= u64::from(self.retries)
            }
            Ping::Gone => true,
        };
        if is_lost && self.forget(&watched.unanswered) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            let _ = panic::catch_unwind(AssertUnwindSafe(|| peer.lost()));
        }
    }

    /// Stops watching a peer, and reports whether it was watched.
    fn forget(&self, mark: &Arc<AtomicU64>) -> bool {
        let mut peers = self.peers.lock();
        let before = peers.len();
        peers.retain(|watched| !Arc::ptr_eq(&watched.unanswered, mark));
        peers.len() < before
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.shared.changed.notify();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.forget(&self.mark);
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("period", &self.shared.period)
            .field("timeout", &self.shared.timeout)
            .field("peers", &self.shared.peers.lock().len())
            .field("lost", &self.lost())
            .finish()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
