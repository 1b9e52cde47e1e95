//! Large replies on their way to clients: how much memory they take, and that it is given back.
//!
//! A client that does not take its replies keeps their memory for as long as a write may take. So large replies under way
//! count in its [share](super::share). An operation that is known to answer at length finds room for its reply before it
//! runs, or waits (`ReplyWait`); a reply that finds none, since nothing was known, becomes an exception. Once no large
//! reply is under way any more, the allocator gives back to the system what they took: glibc would keep most of it for
//! the threads that wrote them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::client::Client;
use super::large_replies::Change;
use super::share::Limits;
use crate::options::Options;

/// Octets of replies under way at a time that are worth a walk through the allocator's memory.
const WORTH_A_WALK: usize = 32 << 20;

/// Octets freed since the last walk that are worth one though others are under way.
const WORTH_ANOTHER: usize = 64 << 20;

/// Octets freed at a time that are worth one then: smaller ones the allocator uses again soon.
const AT_ONCE: usize = 1500 << 10;

/// Octets of large replies under way, of all ORBs of the process, as the allocator is.
static OCTETS: AtomicUsize = AtomicUsize::new(0);

/// The most there were since memory was given back last.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Octets freed since memory was given back last.
static FREED: AtomicUsize = AtomicUsize::new(0);

/// Large replies under way or expected, and operations known to have some.
static LARGE: AtomicUsize = AtomicUsize::new(0);

/// Whether large replies are under way or expected. Without any, requests are not looked at.
#[inline]
pub(super) fn any() -> bool {
    LARGE.load(Ordering::Relaxed) != 0
}

/// Counts memory that was freed, and has the allocator give it back where it is much.
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

/// Takes note of the size of a client's reply to an operation, as [`hash`](super::large_replies::hash) names it.
pub(super) fn remember(client: &Client, operation: u32, octets: usize) {
    match client.share.large.remember(operation, octets) {
        Change::None => {}
        Change::More => drop(LARGE.fetch_add(1, Ordering::Relaxed)),
        Change::Less => drop(LARGE.fetch_sub(1, Ordering::Relaxed)),
    }
}

/// Forgets what is known of a client that is gone, and has the allocator give back what it left.
pub(super) fn forget(client: &Client) {
    LARGE.fetch_sub(client.share.large.len(), Ordering::Relaxed);
    if FREED.load(Ordering::Relaxed) >= WORTH_A_WALK {
        walk();
    }
}

/// Large reply, expected or under way.
pub(super) struct Owed {
    client: Option<Arc<Client>>,
    octets: usize,
    /// The reply is there.
    under_way: bool,
}

impl Owed {
    /// Counts a reply in. `None`: it does not fit.
    pub(super) fn incur(
        client: Option<&Arc<Client>>,
        octets: usize,
        options: &Options,
    ) -> Option<Owed> {
        let limits = Limits::of(options);
        let fits = client.is_none_or(|client| client.share.take_reply(octets, limits));
        fits.then(|| Owed::new(client, octets).under_way(octets))
    }

    /// Counts a reply in that is there in any case.
    pub(super) fn acknowledge(client: Option<&Arc<Client>>, octets: usize) -> Owed {
        let unlimited = Limits::UNLIMITED;
        if let Some(client) = client {
            client.share.take_reply(octets, unlimited);
        }
        Owed::new(client, octets).under_way(octets)
    }

    /// Seeks room for a reply before its request is run. `None`: there is none at present.
    pub(super) fn expect(client: &Arc<Client>, octets: usize, options: &Options) -> Option<Owed> {
        let fits = client.share.expect_reply(octets, Limits::of(options));
        fits.then(|| Owed::new(Some(client), octets))
    }

    /// The reply that was expected is there, with this size. `None`: it is larger, and does not fit.
    pub(super) fn came(mut self, octets: usize, options: &Options) -> Option<Owed> {
        let limits = Limits::of(options);
        let share = self.client.as_ref().map(|client| &client.share);
        if share.is_some_and(|share| !share.resize_reply(self.octets, octets, limits)) {
            return None;
        }
        self.octets = octets;
        Some(self.under_way(octets))
    }

    fn new(client: Option<&Arc<Client>>, octets: usize) -> Owed {
        LARGE.fetch_add(1, Ordering::Relaxed);
        Owed { client: client.cloned(), octets, under_way: false }
    }

    fn under_way(mut self, octets: usize) -> Owed {
        self.under_way = true;
        let now = OCTETS.fetch_add(octets, Ordering::Relaxed) + octets;
        MOST.fetch_max(now, Ordering::Relaxed);
        self
    }
}

/// The reply was written or lost, and its buffer freed; or it was never made.
impl Drop for Owed {
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
