//! Connections that clients keep for later: their total number, and their longest idle time.
//!
//! This module is used only when connections are opened or closed, and by the thread that checks idle connections,
//! which lives while there are connections; calls never use it. When a server ends, this process has to close its own
//! side of the connection: without the checks, the descriptor would stay open until the next call to that server,
//! possibly forever.

use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb_sys::thread::ThreadPurpose;

use super::Peer;
use crate::options::Options;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    Condvar, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};
use crate::threads::{Threads, clock};

/// Cache of connections that all peers of one ORB share.
pub(crate) struct Cache {
    threads: Arc<Threads>,
    /// Number of connections that take one call at a time, in use or not.
    open: AtomicUsize,
    state: Mutex<CacheState>,
    changed: Condvar,
}

#[derive(Default)]
struct CacheState {
    peers: Vec<Weak<Peer>>,
    /// Whether a thread checks idle connections.
    watched: bool,
    closed: bool,
}

/// Guard that counts a connection in the cache for as long as the connection lives.
pub(crate) struct ConnectionCount(Arc<Cache>);

/// Time between two checks of idle connections. A connection that its server closes is dropped after two checks at most
/// or, if a thread keeps it to itself, when that thread opens another.
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

    /// Counts an opened connection to `peer`. Beyond `max_client_connections`, the connection that has been idle
    /// longest is closed, regardless of its server.
    pub(crate) fn count(self: &Arc<Self>, peer: &Arc<Peer>, options: &Options) -> ConnectionCount {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        let peers = self.watch(peer, options);
        if options.max_client_connections.is_some_and(|limit| open > limit) {
            purge(&peers);
        }
        ConnectionCount(Arc::clone(self))
    }

    /// Returns the number of open connections that take one call at a time.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Watches the connections to `peer`, one of which is open, from now on. Returns all watched servers.
    pub(super) fn watch(self: &Arc<Self>, peer: &Arc<Peer>, options: &Options) -> Vec<Weak<Peer>> {
        let mut state = self.lock();
        state.peers.retain(|known| known.strong_count() > 0);
        if !state.peers.iter().any(|known| known.as_ptr() == Arc::as_ptr(peer)) {
            state.peers.push(Arc::downgrade(peer));
        }
        if !state.watched && !state.closed {
            // If the thread cannot be started, idle connections stay open longer, which does no other harm.
            let (cache, limit) = (Arc::downgrade(self), options.client_idle_timeout);
            let watch = move || watch(&cache, limit);
            state.watched = self
                .threads
                .spawn(ThreadPurpose::IdleConnections, "oxorb-idle", None, watch)
                .is_ok();
        }
        state.peers.clone()
    }

    /// Closes the connection that has been idle longest, to free its descriptor. Reports whether there was one.
    pub(super) fn make_room(&self) -> bool {
        let peers = self.lock().peers.clone();
        purge(&peers)
    }

    /// Closes connections to free their descriptors: those that their servers have closed, or else, if `any`, the one
    /// that has been idle longest.
    pub(crate) fn give_up(&self, any: bool) {
        let peers = self.lock().peers.clone();
        let open = self.open.load(Ordering::Relaxed);
        let now = clock::now();
        peers.iter().filter_map(Weak::upgrade).for_each(|peer| peer.drop_dead(now));
        if any && self.open.load(Ordering::Relaxed) == open {
            purge(&peers);
        }
    }

    /// Ends the watching thread, because the ORB ends.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock()
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Closes the connection that has been idle longest. Reports whether there was one.
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

/// Drops connections that their servers have closed, and closes those that are idle for `limit`, until none is left.
fn watch(cache: &Weak<Cache>, limit: Option<Duration>) {
    let pause = limit.map_or(LOOK, |limit| (limit / 4).clamp(Duration::from_millis(5), LOOK));
    // The list is reused by all checks, so that they allocate nothing.
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
            // Only idle connections are checked here, because a call itself notices that its connection was closed.
            if let Some(before) = now.checked_sub(pause) {
                peer.drop_dead(before);
            }
        }
    }
}
