//! Large replies on their way to clients: how much memory they take, and that it is given back.
//!
//! A client that does not take its replies keeps their memory for as long as a write may take. So each client may have so
//! much of that under way (`MaxReplyOctetsPerClient`); beyond it its requests are refused before they run, and a reply that
//! is too much by then becomes an exception. Once no large reply is under way any more, the allocator gives back to the
//! system what they took: glibc would keep most of it for the threads that wrote them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::registry::Client;

/// Replies up to this size in octets are not counted.
pub(super) const SMALL: usize = 64 << 10;

/// Octets of replies under way that make a walk through the allocator's memory worthwhile.
const WORTH_A_WALK: usize = 32 << 20;

/// Octets of large replies under way, of all ORBs of the process, as the allocator is.
static OCTETS: AtomicUsize = AtomicUsize::new(0);

/// The most there were since memory was given back last.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Whether large replies are under way.
#[inline]
pub(super) fn any() -> bool {
    OCTETS.load(Ordering::Relaxed) != 0
}

/// Large reply under way.
pub(super) struct Owed {
    client: Option<Arc<Client>>,
    octets: usize,
}

impl Owed {
    /// Counts a reply in; `None`: the client has others under way, and all would take more than `limit`.
    pub(super) fn incur(
        client: Option<&Arc<Client>>,
        octets: usize,
        limit: Option<usize>,
    ) -> Option<Owed> {
        if client.is_some_and(|client| !client.owe(octets, limit)) {
            return None;
        }
        let now = OCTETS.fetch_add(octets, Ordering::Relaxed) + octets;
        MOST.fetch_max(now, Ordering::Relaxed);
        Some(Owed {
            client: client.cloned(),
            octets,
        })
    }
}

/// The reply was written or lost, and its buffer freed.
impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(client) = &self.client {
            client.owe_no_more(self.octets);
        }
        let last = OCTETS.fetch_sub(self.octets, Ordering::Relaxed) == self.octets;
        if last && MOST.swap(0, Ordering::Relaxed) >= WORTH_A_WALK {
            oxorb_sys::memory::give_back();
        }
    }
}
