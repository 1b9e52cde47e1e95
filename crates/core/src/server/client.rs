//! Client of a server: what all of its connections count for together.

use super::owed;
use super::share::Share;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// All connections of one client, as their transports know it: of one network address, or one user.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// Changed under the registry's lock only.
    pub(super) connections: AtomicUsize,
    /// Connections that were told to end and have not yet; part of `connections`, and changed under the
    /// registry's lock only.
    pub(super) ending: AtomicUsize,
    /// Requests that are being served.
    running: AtomicUsize,
    /// Memory that they cost.
    pub(super) share: Share,
}

impl Client {
    /// Counts a request in, unless there are `limit` already.
    pub(crate) fn begin(&self, limit: usize) -> bool {
        let admitted = self.running.fetch_add(1, Ordering::Relaxed) < limit;
        if !admitted {
            self.end();
        }
        admitted
    }

    /// A request that was counted in has ended.
    pub(crate) fn end(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        owed::forget(self);
    }
}
