//! Calls of a peer's disconnect operation, by threads that wait for nobody else.

use std::sync::{Arc, Mutex, PoisonError};

use oxorb_delivery::{Attributes, Outcome, Outlet, Qos, Sink};

use super::peer::Peer;
use crate::service::Service;

/// One call. Holds its own outlet until it was made.
struct Farewell {
    peer: Peer,
    outlet: Mutex<Option<Outlet<()>>>,
}

/// Has the peer's disconnect operation called, once. Its exceptions are ignored.
pub(super) fn bid(service: &Service, peer: Peer) {
    let farewell = Arc::new(Farewell {
        peer,
        outlet: Mutex::default(),
    });
    let sink: Arc<dyn Sink<()>> = farewell.clone();
    let qos = Qos {
        events: 1,
        ..Qos::default()
    };
    // Without a place for it, the peer finds out when it calls.
    if let Ok(outlet) = service.updates.connect(sink, qos) {
        *farewell
            .outlet
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(outlet.clone());
        outlet.offer(&(), &Attributes::default());
    }
}

impl Sink<()> for Farewell {
    fn deliver(&self, _: &[()]) -> Outcome {
        let _ = self.peer.disconnect();
        let outlet = self
            .outlet
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(outlet);
        Outcome::Delivered
    }
}
