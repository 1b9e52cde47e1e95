//! Calls to the disconnect operations of peers.

use std::sync::Arc;
use std::time::Instant;

use oxorb_delivery::{Attributes, Outcome, Outlet, Qos, Sink};
use oxorb_sys::sync::Mutex;

use super::peer::Peer;
use crate::answers::next_answer;
use crate::service::Service;

/// A queued call to a disconnect operation. It keeps its own outlet alive until the call has been made.
struct Farewell {
    peer: Peer,
    outlet: Mutex<Option<Outlet<()>>>,
}

/// Maximum number of concurrent calls.
const AT_A_TIME: usize = 64;

/// Calls the disconnect operations of peers concurrently, and waits for the replies. No call begins after
/// `call_timeout`, and each call takes at most this time. The remaining calls are [queued](bid).
pub(crate) fn bid_all(service: &Service, peers: Vec<Peer>) {
    let end = Instant::now().checked_add(service.settings.call_timeout);
    let in_time = || end.is_none_or(|end| Instant::now() < end);
    let mut peers = peers.into_iter();
    let mut calls = Vec::new();
    loop {
        while calls.len() < AT_A_TIME
            && in_time()
            && let Some(peer) = peers.next()
        {
            calls.push(((), peer.disconnect()));
        }
        // Ignore the results: the connections have ended even if peers raise exceptions.
        if next_answer(&mut calls).is_none() {
            break;
        }
    }
    peers.for_each(|peer| bid(service, peer));
}

/// Queues a call to the peer's disconnect operation. Exceptions are ignored. If no outlet is available, the peer is not
/// called.
pub(crate) fn bid(service: &Service, peer: Peer) {
    let farewell = Arc::new(Farewell { peer, outlet: Mutex::default() });
    let sink: Arc<dyn Sink<()>> = farewell.clone();
    let qos = Qos { events: 1, ..Qos::default() };
    // If no outlet is available, the peer is not notified, and its next call to the proxy fails.
    if let Ok(outlet) = service.updates.connect(sink, qos) {
        *farewell.outlet.lock() = Some(outlet.clone());
        outlet.offer(&(), &Attributes::default());
    }
}

impl Sink<()> for Farewell {
    fn deliver(&self, _: &[()]) -> Outcome {
        let _ = self.peer.disconnect().wait();
        let outlet = self.outlet.lock().take();
        drop(outlet);
        Outcome::Delivered
    }
}
