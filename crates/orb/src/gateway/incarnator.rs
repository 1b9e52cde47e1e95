//! Creation of the objects of a gateway when they are called.

use std::sync::{Arc, Weak};

use oxorb_core::lock::Mutex;

use crate::Servant;
use crate::bridge::forwarder::{Forwarder, GONE};
use crate::bridge::passage::Passage;
use crate::poa::{ObjectId, Poa, Refused, ServantActivator};

use super::active::ActiveObjects;
use super::side::Side;
use super::sides::Sides;

/// Servant activator that makes an object from its signed id.
pub(crate) struct Incarnator {
    pub(crate) sides: Weak<Sides>,
    /// Direction of the requests to the objects.
    pub(crate) passage: Weak<Passage>,
    /// Side of the clients of the objects.
    pub(crate) side: Side,
    pub(crate) active: Mutex<ActiveObjects>,
}

impl ServantActivator for Incarnator {
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, Refused> {
        let (Some(sides), Some(passage)) = (self.sides.upgrade(), self.passage.upgrade()) else {
            return Err(GONE.into());
        };
        let target = sides.target(self.side, id.as_bytes())?;
        let forwarder = Forwarder::new(&passage, &target);
        let removed = self.active.lock().add(id.clone(), forwarder.activity());
        for unused in removed {
            // Ignore the result: an object that is no longer active need not be removed.
            let _ = poa.deactivate_id(unused);
        }
        Ok(Arc::new(forwarder))
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}
