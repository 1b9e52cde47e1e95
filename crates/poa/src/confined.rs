//! Servants confined to one thread: created, called and dropped by the only thread of a lane.

use std::rc::Rc;
use std::sync::Arc;

use oxorb_core::{
    ConfinedBy, ConfinedServant, CurrentLane, NotConfined, Orb, Servant, ThreadpoolId,
};
use oxorb_object::PriorityModel;
use oxorb_rt::Priority;

use crate::poa::{Poa, PoaInner};
use crate::policies::ThreadPolicy;
use crate::{ObjectId, PoaError};

impl Poa {
    /// Activates a servant that never leaves one thread, under an id that the POA creates. The
    /// servant may use `Rc`, `Cell` and `RefCell`, and needs no mutex.
    ///
    /// The only thread of the lane that serves the POA's objects calls `make`, which must therefore be `Send`, serves
    /// all requests, and drops the servant when the object is deactivated or the lane ends. A request received by
    /// another thread waits for the lane's thread; if it has not begun after `-ORBHoldTime`, it fails with TRANSIENT.
    ///
    /// Waits until the servant is created.
    ///
    /// # Errors
    /// [`PoaError::NotConfined`]: the POA's threadpool has no single-threaded lane for the objects,
    /// or its thread did not create the servant. Those of [`activate`](Self::activate).
    pub fn activate_confined<I: ConfinedBy<S>, S: 'static>(
        &self,
        make: impl FnOnce() -> S + Send + 'static,
    ) -> Result<I, PoaError> {
        self.activate_servant(self.confine::<I, S>(make)?).map(I::from_ref)
    }

    /// Activates a confined servant as [`activate_confined`](Self::activate_confined), under an id
    /// that the application chooses.
    ///
    /// # Errors
    /// Those of [`activate_confined`](Self::activate_confined) and of [`activate_with_id`](Self::activate_with_id).
    pub fn activate_confined_with_id<I: ConfinedBy<S>, S: 'static>(
        &self,
        id: impl Into<ObjectId>,
        make: impl FnOnce() -> S + Send + 'static,
    ) -> Result<I, PoaError> {
        self.activate_servant_with_id(&id.into(), self.confine::<I, S>(make)?).map(I::from_ref)
    }

    /// Creates a servant in the only thread of the POA's lane, and returns a handle through which
    /// any thread can call it: for [`activate_servant`](Self::activate_servant) and its variants,
    /// and [`set_servant`](Self::set_servant). The thread drops the servant when the last handle is
    /// dropped.
    ///
    /// # Errors
    /// [`PoaError::NotConfined`].
    pub fn confine<I: ConfinedBy<S>, S: 'static>(
        &self,
        make: impl FnOnce() -> S + Send + 'static,
    ) -> Result<Arc<dyn Servant>, PoaError> {
        self.confine_servant(|| I::confined(make()))
    }

    /// Creates a servant without a static type, like [`confine`](Self::confine).
    ///
    /// # Errors
    /// Those of [`confine`](Self::confine).
    pub fn confine_servant(
        &self,
        make: impl FnOnce() -> Rc<dyn ConfinedServant> + Send + 'static,
    ) -> Result<Arc<dyn Servant>, PoaError> {
        let (orb, pool, priority) = self.inner.confining(None)?;
        Ok(orb.confine(pool, priority, make)?)
    }
}

impl PoaInner {
    /// Rejects a confined servant whose thread differs from the one that serves the object.
    pub(crate) fn check_confinement(
        &self,
        servant: &dyn Servant,
        id: Option<&[u8]>,
    ) -> Result<(), PoaError> {
        let Some(lane) = servant.confinement() else {
            return Ok(());
        };
        match self.lane_of(id)? == lane {
            true => Ok(()),
            false => Err(ELSEWHERE.into()),
        }
    }

    fn lane_of(&self, id: Option<&[u8]>) -> Result<CurrentLane, PoaError> {
        let (orb, pool, priority) = self.confining(id)?;
        Ok(orb.confining_lane(pool, priority)?)
    }

    /// Returns the ORB, the threadpool and, under the server-declared model, the priority of the object with this id.
    /// Without an id, returns the priority of objects that have none of their own.
    fn confining(
        &self,
        id: Option<&[u8]>,
    ) -> Result<(Orb, ThreadpoolId, Option<Priority>), PoaError> {
        let orb = self.adapter.upgrade().and_then(|adapter| adapter.orb());
        let orb = orb.ok_or(PoaError::Destroyed)?;
        let realtime = &self.policies.realtime;
        let pool = realtime.threadpool.ok_or(NO_POOL)?;
        if self.policies.thread != ThreadPolicy::OrbControlled {
            return Err(OTHER_THREADS.into());
        }
        let priority = match self.model() {
            Some((PriorityModel::ServerDeclared, of_all)) if realtime.priority_bands.is_none() => {
                Some(id.and_then(|id| self.own_priority(id)).unwrap_or(of_all))
            }
            _ => None,
        };
        Ok((orb, pool, priority))
    }
}

const NO_POOL: NotConfined = NotConfined::Threads(
    "its POA has no threadpool: create one with a lane of one thread, and name it in the POA's policies \
     (RtPolicies::threadpool)",
);

const OTHER_THREADS: NotConfined = NotConfined::Threads(
    "its POA has a thread policy that does not leave the threads to the lane: use ThreadPolicy::OrbControlled",
);

const ELSEWHERE: NotConfined = NotConfined::Threads(
    "the thread of another lane created the servant: create it for this POA (confine)",
);
