//! The connections that clients keep for later: how many in all, and for how long.
//!
//! Only opening and closing a connection come here, and the thread that looks at idle ones, which lives while there are
//! connections; never a call. A server that ends leaves its side of the connection to this process: unless somebody looks,
//! the descriptor stays open for as long as nobody calls there again, which may be for ever.

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
    /// A thread looks at connections that idle.
    watched: bool,
    closed: bool,
}

/// Connection among those of the cache, for as long as it lives.
pub(crate) struct Counted(Arc<Cache>);

/// Time between two looks at connections that idle. One that its server closes is dropped after two of them at most, or,
/// where a thread keeps it to itself, when that thread opens another.
pub(super) const LOOK: Duration = Duration::from_secs(2);

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
        let peers = self.watch(peer, options);
        if options.max_client_connections.is_some_and(|limit| open > limit) {
            purge(&peers);
        }
        Counted(Arc::clone(self))
    }

    /// Looks at the connections to `peer` from now on, one of which is open: returns all servers that are looked at.
    pub(super) fn watch(self: &Arc<Self>, peer: &Arc<Peer>, options: &Options) -> Vec<Weak<Peer>> {
        let mut state = self.lock();
        state.peers.retain(|known| known.strong_count() > 0);
        if !state.peers.iter().any(|known| known.as_ptr() == Arc::as_ptr(peer)) {
            state.peers.push(Arc::downgrade(peer));
        }
        if !state.watched && !state.closed {
            // Without a thread they stay open for longer; nothing else suffers.
            let (cache, limit) = (Arc::downgrade(self), options.client_idle_timeout);
            let watch = move || watch(&cache, limit);
            state.watched =
                self.threads.spawn(Purpose::IdleConnections, "oxorb-idle", None, watch).is_ok();
        }
        state.peers.clone()
    }

    /// Closes the connection that idles longest, if one does: its descriptor is free then.
    pub(super) fn make_room(&self) -> bool {
        let peers = self.lock().peers.clone();
        purge(&peers)
    }

    /// Closes connections for want of descriptors: those that their servers have closed, or else, if `any`, the one that
    /// idles longest.
    pub(crate) fn give_up(&self, any: bool) {
        let peers = self.lock().peers.clone();
        let open = self.open.load(Ordering::Relaxed);
        let now = clock::now();
        peers.iter().filter_map(Weak::upgrade).for_each(|peer| peer.drop_dead(now));
        if any && self.open.load(Ordering::Relaxed) == open {
            purge(&peers);
        }
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

/// Drops connections that their servers have closed, and closes those that idle for `limit`, until none is left to watch.
fn watch(cache: &Weak<Cache>, limit: Option<Duration>) {
    let pause = limit.map_or(LOOK, |limit| (limit / 4).clamp(Duration::from_millis(5), LOOK));
    // Kept, so that no look allocates.
    let mut peers = Vec::new();
    while let Some(cache) = cache.upgrade() {
        let mut state = cache.lock();
        let has_open = |peer: &Weak<Peer>| peer.upgrade().is_some_and(|peer| peer.has_open());
        state.peers.retain(has_open);
        if state.closed || state.peers.is_empty() {
            state.watched = false;
            return;
        }
        let (state, _) = cache.changed.wait_timeout(state, pause);
        peers.clone_from(&state.peers);
        drop(state);
        let now = clock::now();
        for peer in peers.iter().filter_map(Weak::upgrade) {
            if let Some(before) = limit.and_then(|limit| now.checked_sub(limit)) {
                peer.close_idle(before);
            }
            // Those in use are looked at by whoever uses them.
            if let Some(before) = now.checked_sub(pause) {
                peer.drop_dead(before);
            }
        }
    }
}
