//! Clients of a server, with the counts over all of their connections.

use super::owed;
use super::share::Share;
use crate::sync::atomic::{AtomicUsize, Ordering};

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
}

impl Client {
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
        owed::forget(self);
    }
}
