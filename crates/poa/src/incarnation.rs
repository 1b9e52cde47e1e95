//! Objects that a servant activator incarnates when they are called.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use crate::adapter::RootAdapter;
use crate::current;
use crate::object_map::Found;
use crate::poa::{Poa, PoaInner};
use crate::refusal::{DISCARDED, INCARNATE_POLICY, NO_OBJECT, NO_POA, WOULD_DEADLOCK};
use crate::servant_manager::Refused;
use crate::{ObjectId, PoaError, ServantActivator};

/// Outcome of incarnating an object that was not active.
pub(crate) enum Incarnated {
    Active(Found),
    /// The object's previous servant has not been returned yet.
    Leaving,
}

impl RootAdapter {
    /// Requests a servant from the activator. Only one thread does so at a time, so that two
    /// concurrent requests for an object incarnate it once.
    pub(crate) fn incarnate(
        self: &Arc<Self>,
        poa: &Arc<PoaInner>,
        activator: &dyn ServantActivator,
        id: &ObjectId,
        until: Instant,
    ) -> Result<Incarnated, Refused> {
        let octets = id.as_bytes();
        // Reject a request that was made from within the `incarnate` call that is to create the
        // object's servant: it would wait for itself.
        if current::is_for(self, poa, octets) {
            return Err(WOULD_DEADLOCK.into());
        }
        let _turn = poa.turn.enter(self.limits.max_held, until)?;
        loop {
            if let Some(object) = poa.objects.find(poa.place_of(octets), octets) {
                return Ok(Incarnated::Active(object));
            }
            if poa.is_destroyed() {
                return Err(NO_POA.into());
            }
            if poa.life.is_leaving(octets) {
                return Ok(Incarnated::Leaving);
            }
            if Instant::now() >= until {
                return Err(DISCARDED.into());
            }
            let incarnated = {
                let _here = current::enter_manager(self, poa, Some(octets));
                let handle = Poa::of(self, poa);
                panic::catch_unwind(AssertUnwindSafe(|| activator.incarnate(id, &handle)))
            };
            let servant = match incarnated {
                Ok(incarnated) => incarnated?,
                Err(panic) => panic::resume_unwind(panic),
            };
            match poa.insert(servant, Some(octets)) {
                // The next iteration finds the object. If it was deactivated in the meantime, it is
                // incarnated again.
                Ok(_) | Err(PoaError::ObjectAlreadyActive) => {}
                Err(PoaError::ServantAlreadyActive) => return Err(INCARNATE_POLICY.into()),
                Err(PoaError::Destroyed) => return Err(NO_POA.into()),
                Err(_) => return Err(NO_OBJECT.into()),
            }
        }
    }
}
