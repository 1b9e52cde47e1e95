//! The client half of an ORB: its peers, and the threads for asynchronous calls.

use std::sync::Arc;
use std::time::Instant;

use oxorb_rt::Priority;

use super::peers::Peers;
use super::{Alarms, Cache, Callbacks, Deliveries, Peer};
use crate::shared::Shared;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicBool, Ordering};
use crate::threads::{ByPriority, Ends, Threads};

/// State of the client half.
pub(crate) struct ClientSide {
    /// Callback threads, which run the reply handlers of calls, by the priority at which these were made.
    pub(crate) callbacks: ByPriority<Callbacks>,
    /// Alarms, which wake the tasks of calls.
    pub(crate) alarms: ByPriority<Alarms>,
    /// Queues of answers to reply handlers that are objects.
    pub(crate) deliveries: ByPriority<Deliveries>,
    pub(super) peers: Mutex<Peers>,
    pub(super) cache: Arc<Cache>,
    /// Whether connections to servers are offered for callbacks.
    offers: AtomicBool,
}

impl ClientSide {
    pub(crate) fn new(shared: &Shared) -> ClientSide {
        let threads = &shared.threads;
        ClientSide {
            callbacks: by_priority(threads, Callbacks::new),
            alarms: by_priority(threads, Alarms::new),
            deliveries: by_priority(threads, Deliveries::new),
            peers: Mutex::default(),
            cache: Arc::new(Cache::new(threads)),
            offers: AtomicBool::new(shared.options.offer_bidirectional),
        }
    }

    /// Offers connections that are opened from now on for callbacks.
    pub(crate) fn offer_bidirectional(&self) {
        self.offers.store(true, Ordering::Relaxed);
        for peer in self.peers.lock().iter() {
            peer.set_both_ways(true);
        }
    }

    pub(crate) fn offers_bidirectional(&self) -> bool {
        self.offers.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections that take one call at a time.
    pub(crate) fn open_connections(&self) -> usize {
        self.cache.open()
    }

    /// Closes connections to free descriptors ([`Cache::give_up`]).
    pub(crate) fn give_up_idle(&self, any: bool) {
        self.cache.give_up(any);
    }

    /// Sends buffered oneways until `until` at the latest, then closes all connections and ends the threads.
    pub(crate) fn end(&self, until: Instant) {
        let peers: Vec<Arc<Peer>> = {
            let peers = self.peers.lock();
            peers.iter().cloned().collect()
        };
        for peer in &peers {
            peer.flush(until);
        }
        self.cache.close();
        for peer in &peers {
            peer.close();
        }
        self.callbacks.close();
        self.alarms.close();
        self.deliveries.close();
    }
}

fn by_priority<T: Ends>(
    threads: &Arc<Threads>,
    make: impl Fn(&Arc<Threads>, Option<Priority>) -> T + Send + Sync + 'static,
) -> ByPriority<T> {
    let threads = Arc::clone(threads);
    ByPriority::new(move |priority| make(&threads, priority))
}
