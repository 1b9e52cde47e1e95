//! Creation of the objects of a gateway when they are called.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use oxorb_core::lock::Mutex;

use crate::Servant;
use crate::bridge::forwarder::{Forwarder, GONE};
use crate::bridge::passage::Passage;
use crate::poa::{ObjectId, Poa, Refused, ServantActivator};

use super::side::Side;
use super::sides::Sides;

/// Servant activator that makes an object from its signed id.
pub(crate) struct Incarnator {
    pub(crate) sides: Weak<Sides>,
    /// Direction of the requests to the objects.
    pub(crate) passage: Weak<Passage>,
    /// Side of the clients of the objects.
    pub(crate) side: Side,
    pub(crate) max_active: usize,
    /// Ids of the active objects, the oldest first.
    pub(crate) active: Mutex<VecDeque<ObjectId>>,
}

impl ServantActivator for Incarnator {
    fn incarnate(&self, id: &ObjectId, poa: &Poa) -> Result<Arc<dyn Servant>, Refused> {
        let (Some(sides), Some(passage)) = (self.sides.upgrade(), self.passage.upgrade()) else {
            return Err(GONE.into());
        };
        let target = sides.target(self.side, id.as_bytes())?;
        // An id is queued again whenever its object is made again, and the order is that of creation, not of use. Both
        // can only remove an object too early, and its next call makes it again.
        let oldest = {
            let mut active = self.active.lock();
            active.push_back(id.clone());
            let is_full = active.len() > self.max_active.max(1);
            if is_full { active.pop_front() } else { None }
        };
        if let Some(oldest) = oldest {
            // Ignore the result: an object that is no longer active need not be removed.
            let _ = poa.deactivate_id(oldest);
        }
        Ok(Arc::new(Forwarder::new(&passage, &target)))
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}
