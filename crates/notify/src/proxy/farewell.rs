//! Calls of a peer's disconnect operation, by threads that wait for nobody else.

use std::sync::Arc;

use oxorb_delivery::{Attributes, Outcome, Outlet, Qos, Sink};
use oxorb_sys::sync::Mutex;

use super::peer::Peer;
use crate::service::Service;

/// Call of a disconnect operation. Holds its own outlet until the call was made.
struct Farewell {
    peer: Peer,
    outlet: Mutex<Option<Outlet<()>>>,
}

/// Queues one call of the peer's disconnect operation. Its exceptions are ignored; without room for it no call is made.
pub(super) fn bid(service: &Service, peer: Peer) {
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
        let _ = self.peer.disconnect();
        let outlet = self.outlet.lock().take();
        drop(outlet);
        Outcome::Delivered
    }
}
