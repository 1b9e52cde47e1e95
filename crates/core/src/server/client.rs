//! Clients of a server, with the counts over all of their connections.

use std::sync::Arc;

use super::reply_memory;
use super::share::Share;
use crate::threads::sync::atomic::{AtomicUsize, Ordering};

/// Counts over all connections of one client, as the transport identifies it: by network address or
/// user.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// Number of connections; changed only under the registry's lock.
    pub(super) connections: AtomicUsize,
    /// Number of connections that have been asked to end and have not ended yet; included in `connections`, and changed
    /// only under the registry's lock.
    pub(super) ending: AtomicUsize,
    /// Number of requests being served.
    running: AtomicUsize,
    /// Memory used by the client's messages.
    pub(super) share: Share,
    /// Octets of the large messages of all clients of the server.
    pub(super) all_messages: Arc<AtomicUsize>,
}

impl Client {
    /// Returns a client without connections, whose large messages count in `all_messages`, too.
    pub(super) fn counted_in(all_messages: &Arc<AtomicUsize>) -> Client {
        Client {
            connections: AtomicUsize::new(0),
            ending: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            share: Share::default(),
            all_messages: Arc::clone(all_messages),
        }
    }

    /// Counts a request, unless `limit` requests are running already.
    pub(crate) fn begin(&self, limit: usize) -> bool {
        let admitted = self.running.fetch_add(1, Ordering::Relaxed) < limit;
        if !admitted {
            self.end();
        }
        admitted
    }

    /// Ends a request that was counted.
    pub(crate) fn end(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        reply_memory::forget(self);
    }
}
