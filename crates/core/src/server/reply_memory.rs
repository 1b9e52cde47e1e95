//! Large replies being written: accounting and release of their memory.
//!
//! A client that does not read its replies occupies their memory for as long as a write may take. Therefore large
//! replies being written count in the client's [share](super::share). An operation known for large replies reserves
//! memory for its reply before it runs, or waits (`ReplyWait`); an unexpected large reply beyond the limit becomes an
//! exception. Once no large reply is being written any more, the allocator returns the memory to the system: glibc
//! would keep most of it for the threads that wrote the replies.

use std::sync::Arc;

use oxorb_giop::Request;

use super::client::Client;
use super::large_replies::{self, EntryChange};
use super::share::ClientLimits;
use crate::options::Options;
use crate::threads::sync::uncontrolled::atomic::{AtomicUsize, Ordering};

/// Total size in octets of the replies being written at a time that justifies a walk through the allocator's memory.
const WORTH_A_WALK: usize = 32 << 20;

/// Number of octets freed since the last walk that justifies one even if other replies are being written.
const WORTH_ANOTHER: usize = 64 << 20;

/// Number of octets freed at a time that justifies a walk then: the allocator reuses smaller blocks soon.
const AT_ONCE: usize = 1500 << 10;

/// Total size in octets of the large replies being written, over all ORBs of the process, which share the allocator.
static OCTETS: AtomicUsize = AtomicUsize::new(0);

/// Maximum of `OCTETS` since the last release of memory.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Number of octets freed since the last release of memory.
static FREED: AtomicUsize = AtomicUsize::new(0);

/// Number of large replies being written or expected, and of operations known for large replies.
static LARGE: AtomicUsize = AtomicUsize::new(0);

/// Reports whether large replies are being written or expected. Otherwise requests are not
/// inspected.
#[inline]
pub(super) fn any() -> bool {
    LARGE.load(Ordering::Relaxed) != 0
}

/// Counts freed memory, and makes the allocator return it to the system if it is much.
pub(super) fn freed(octets: usize) {
    if octets == 0 {
        return;
    }
    let all = FREED.fetch_add(octets, Ordering::Relaxed) + octets;
    if octets >= AT_ONCE && all >= WORTH_ANOTHER {
        walk();
    }
}

fn walk() {
    FREED.store(0, Ordering::Relaxed);
    oxorb_sys::memory::give_back();
}

/// Records the size of a client's reply to an operation, as [`operation`] returns it.
pub(super) fn remember(client: &Client, operation: u32, octets: usize) {
    match client.share.large.remember(operation, octets) {
        EntryChange::None => {}
        EntryChange::More => drop(LARGE.fetch_add(1, Ordering::Relaxed)),
        EntryChange::Less => drop(LARGE.fetch_sub(1, Ordering::Relaxed)),
    }
}

/// Drops the records of a disconnected client, and makes the allocator return its memory.
pub(super) fn forget(client: &Client) {
    LARGE.fetch_sub(client.share.large.len(), Ordering::Relaxed);
    if FREED.load(Ordering::Relaxed) >= WORTH_A_WALK {
        walk();
    }
}

/// Large reply that is expected or being written.
pub(super) struct ReplyMemory {
    client: Option<Arc<Client>>,
    octets: usize,
    /// Whether the reply exists.
    under_way: bool,
}

impl ReplyMemory {
    /// Counts a reply; `None` if it exceeds the limits.
    pub(super) fn incur(
        client: Option<&Arc<Client>>,
        octets: usize,
        options: &Options,
    ) -> Option<ReplyMemory> {
        let limits = ClientLimits::of(options);
        let fits = client.is_none_or(|client| client.share.take_reply(octets, limits));
        fits.then(|| ReplyMemory::new(client, octets).under_way(octets))
    }

    /// Counts an existing reply regardless of the limits.
    pub(super) fn acknowledge(client: Option<&Arc<Client>>, octets: usize) -> ReplyMemory {
        let unlimited = ClientLimits::UNLIMITED;
        if let Some(client) = client {
            client.share.take_reply(octets, unlimited);
        }
        ReplyMemory::new(client, octets).under_way(octets)
    }

    /// Reserves for a reply before its request runs; returns `None` if it currently exceeds the limits.
    pub(super) fn expect(
        client: &Arc<Client>,
        octets: usize,
        options: &Options,
    ) -> Option<ReplyMemory> {
        let fits = client.share.expect_reply(octets, ClientLimits::of(options));
        fits.then(|| ReplyMemory::new(Some(client), octets))
    }

    /// Converts the reservation to the actual size of the reply; `None` if it is larger and exceeds
    /// the limits.
    pub(super) fn came(mut self, octets: usize, options: &Options) -> Option<ReplyMemory> {
        let limits = ClientLimits::of(options);
        let share = self.client.as_ref().map(|client| &client.share);
        if share.is_some_and(|share| !share.resize_reply(self.octets, octets, limits)) {
            return None;
        }
        self.octets = octets;
        Some(self.under_way(octets))
    }

    fn new(client: Option<&Arc<Client>>, octets: usize) -> ReplyMemory {
        LARGE.fetch_add(1, Ordering::Relaxed);
        ReplyMemory { client: client.cloned(), octets, under_way: false }
    }

    fn under_way(mut self, octets: usize) -> ReplyMemory {
        self.under_way = true;
        let now = OCTETS.fetch_add(octets, Ordering::Relaxed) + octets;
        MOST.fetch_max(now, Ordering::Relaxed);
        self
    }
}

/// Releases the octets of a reply that was written or lost, or never made.
impl Drop for ReplyMemory {
    fn drop(&mut self) {
        LARGE.fetch_sub(1, Ordering::Relaxed);
        if let Some(client) = &self.client {
            client.share.return_reply(self.octets);
        }
        if !self.under_way {
            return;
        }
        let last = OCTETS.fetch_sub(self.octets, Ordering::Relaxed) == self.octets;
        if last && MOST.swap(0, Ordering::Relaxed) >= WORTH_A_WALK {
            walk();
        } else {
            freed(self.octets);
        }
    }
}

/// Reservation for the large reply of one request.
pub(super) struct Expected {
    client: Arc<Client>,
    /// Operation, as [`operation`] returns it.
    operation: u32,
    memory: Option<ReplyMemory>,
}

impl Expected {
    /// Returns the reservation of `memory` for the reply to a request of this client and [`operation`].
    pub(super) fn new(
        client: &Arc<Client>,
        operation: u32,
        memory: Option<ReplyMemory>,
    ) -> Expected {
        Expected { client: Arc::clone(client), operation, memory }
    }

    /// Records the size of the reply, and returns the reservation to the sender of the reply.
    pub(super) fn came(mut self, octets: usize) -> Option<ReplyMemory> {
        remember(&self.client, self.operation, octets);
        self.memory.take()
    }
}

impl Drop for Expected {
    /// Records that the reply was small, so that the next reply of the operation is expected to be smaller.
    fn drop(&mut self) {
        if self.memory.is_some() {
            remember(&self.client, self.operation, 0);
        }
    }
}

/// Returns a hash of the object key and operation of a request.
pub(super) fn operation(request: &Request<'_>) -> u32 {
    let key = request.target.object_key().unwrap_or_default();
    large_replies::hash(key, request.operation.as_bytes())
}
