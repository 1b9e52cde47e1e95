//! Calls of peers' disconnect operations.

use std::sync::Arc;
use std::time::Instant;

use oxorb_delivery::{Attributes, Outcome, Outlet, Qos, Sink};
use oxorb_sys::sync::Mutex;

use super::peer::Peer;
use crate::answers::next_answer;
use crate::service::Service;

/// Call of a disconnect operation. Holds its own outlet until the call was made.
struct Farewell {
    peer: Peer,
    outlet: Mutex<Option<Outlet<()>>>,
}

/// Calls that are under way at a time.
const AT_A_TIME: usize = 64;

/// Calls the disconnect operations of peers, before who ended their connections is answered. None is begun later than
/// `call_timeout`, and each takes as long at most: those that are left then are called [beside](bid).
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
        // What a peer answers changes nothing.
        if next_answer(&mut calls).is_none() {
            break;
        }
    }
    peers.for_each(|peer| bid(service, peer));
}

/// Queues one call of the peer's disconnect operation. Its exceptions are ignored; without room for it no call is made.
pub(crate) fn bid(service: &Service, peer: Peer) {
    let farewell = Arc::new(Farewell { peer, outlet: Mutex::default() });
    let sink: Arc<dyn Sink<()>> = farewell.clone();
    let qos = Qos { events: 1, ..Qos::default() };
    // Without a place for it, the peer finds out when it calls.
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
