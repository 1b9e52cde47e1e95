//! The connections that clients keep for later: how many in all, and for how long.
//!
//! Only opening and closing a connection come here, and the thread that looks for
//! idle ones, which lives while there are connections; never a call.

use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb_sys::thread::Purpose;

use super::Peer;
use crate::clock;
use crate::lock::Mutex;
use crate::options::Options;
use crate::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};
use crate::threads::Threads;

/// Shared by all peers of one ORB.
pub(crate) struct Cache {
    threads: Arc<Threads>,
    /// Connections that take one call at a time, in use or not.
    open: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    peers: Vec<Weak<Peer>>,
    /// A thread looks for connections that idle.
    watched: bool,
    closed: bool,
}

/// Connection among those of the cache, for as long as it lives.
pub(crate) struct Counted(Arc<Cache>);

/// Longest time between two looks: a process that only calls now and then should sleep.
const SELDOM: Duration = Duration::from_secs(30);

impl Cache {
    pub(crate) fn new(threads: &Arc<Threads>) -> Self {
        Cache {
            threads: Arc::clone(threads),
            open: AtomicUsize::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// A connection to `peer` was opened. Beyond `max_client_connections` the one
    /// that idles longest has to go, whosever it is.
    pub(crate) fn count(self: &Arc<Self>, peer: &Arc<Peer>, options: &Options) -> Counted {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        let mut state = self.lock();
        state.peers.retain(|known| known.strong_count() > 0);
        if !state.peers.iter().any(|known| known.as_ptr() == Arc::as_ptr(peer)) {
            state.peers.push(Arc::downgrade(peer));
        }
        if let Some(limit) = options.client_idle_timeout
            && !state.watched
            && !state.closed
        {
            // Without a thread they stay open for longer; nothing else suffers.
            let cache = Arc::downgrade(self);
            let watch = move || watch(&cache, limit);
            state.watched =
                self.threads.spawn(Purpose::IdleConnections, "oxorb-idle", None, watch).is_ok();
        }
        let peers = state.peers.clone();
        drop(state);
        if options.max_client_connections.is_some_and(|limit| open > limit) {
            purge(&peers);
        }
        Counted(Arc::clone(self))
    }

    /// Closes the connection that idles longest, if one does: its descriptor is free then.
    pub(super) fn make_room(&self) -> bool {
        let peers = self.lock().peers.clone();
        purge(&peers)
    }

    /// The ORB ends.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Closes the connection that idles longest, if one does.
fn purge(peers: &[Weak<Peer>]) -> bool {
    let oldest = peers
        .iter()
        .filter_map(Weak::upgrade)
        .filter_map(|peer| Some((peer.idle_since()?, peer)))
        .min_by_key(|(since, _)| *since);
    match oldest {
        Some((since, peer)) => peer.close_idle(since) > 0,
        None => false,
    }
}

/// Closes connections that idle for `limit`, until there are none left to watch.
fn watch(cache: &Weak<Cache>, limit: Duration) {
    let pause = (limit / 4).clamp(Duration::from_millis(5), SELDOM);
    while let Some(cache) = cache.upgrade() {
        let mut state = cache.lock();
        if state.closed || cache.open.load(Ordering::Relaxed) == 0 {
            state.watched = false;
            return;
        }
        let peers = state.peers.clone();
        let (state, _) = cache.changed.wait_timeout(state, pause);
        drop(state);
        let Some(before) = clock::now().checked_sub(limit) else {
            continue;
        };
        for peer in peers.iter().filter_map(Weak::upgrade) {
            peer.close_idle(before);
        }
    }
}
