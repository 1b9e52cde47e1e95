//! Threadpools of an ORB, and the lane of the calling thread.

use std::sync::{Arc, Weak};

use crate::reference::LaneOf;
use crate::server;
use crate::threads::TakesJobs;
use crate::{
    CallbackThreads, CurrentLane, Orb, SetupError, Threadpool, ThreadpoolError, ThreadpoolId,
    ThreadpoolLanes,
};

impl Orb {
    /// Creates a threadpool: starts its static threads, at the priority of their lane, and opens its endpoints. Not for
    /// the path of a request.
    ///
    /// Each lane listens on the endpoints of the option LaneListenEndpoints. Without that option it listens on the
    /// hosts of the ORB's own endpoints. If those endpoints have fixed ports, lanes get the ports that follow them, in
    /// the order in which threadpools are created and their lanes are given; otherwise the system chooses the ports.
    /// With `-ORBListenEndpoints iiop://:5000` the lanes of a first pool of two get 5001 and 5002, the first lane of
    /// the next pool 5003. With the option LanesOnOnePort all lanes share the ORB's own endpoints, which are opened if
    /// they are not open yet.
    ///
    /// ```
    /// use oxorb_core::{Options, Orb, Threadpool};
    ///
    /// let mut options = Options::default();
    /// options.listen_on("iiop://127.0.0.1:0")?;
    /// let orb = Orb::new(options);
    /// let pool = orb.create_threadpool(Threadpool::new(2))?;
    /// orb.destroy_threadpool(pool)?;
    /// assert!(orb.destroy_threadpool(pool).is_err(), "it is gone");
    /// # orb.shutdown(true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ThreadpoolError::BadParameter`], [`ThreadpoolError::Priority`], [`ThreadpoolError::Setup`]; nothing of the
    /// pool remains then.
    pub fn create_threadpool(&self, plan: Threadpool) -> Result<ThreadpoolId, ThreadpoolError> {
        plan.check(self.shared())?;
        if self.is_closing() {
            return Err(SetupError::ShutDown.into());
        }
        self.shared().lock_memory();
        self.start_modules()?;
        let pool = self.pools().create(self, plan)?;
        // The acceptors start after the lanes, so that they know the priorities of these.
        if self.options().realtime.lanes_on_one_port
            && let Err(error) = self.listen()
        {
            let _ = self.destroy_threadpool(pool);
            return Err(error.into());
        }
        Ok(pool)
    }

    /// Ends a threadpool (`destroy_threadpool`): closes its endpoints, lets running requests finish, sends clients
    /// CloseConnection, and ends its threads. Blocks until then, at most 30 s for requests that do not end, whose
    /// connections are then cut. References to objects in its POAs are invalid afterwards.
    ///
    /// # Errors
    /// [`ThreadpoolError::Unknown`] (InvalidThreadpool); BAD_INV_ORDER from within a request, which would wait for
    /// itself; TIMEOUT if a servant still runs, whose thread ends with it.
    pub fn destroy_threadpool(&self, id: ThreadpoolId) -> Result<(), ThreadpoolError> {
        self.pools().destroy(self.registry(), id)
    }

    /// Returns the lanes of a threadpool; `None` if there is no such pool.
    pub fn threadpool(&self, id: ThreadpoolId) -> Option<ThreadpoolLanes> {
        self.pools().lanes_of(id)
    }

    /// Reports whether references to objects of a threadpool, or of the ORB's own threads, name ports that are the same
    /// at the next start. For the object adapter.
    #[doc(hidden)]
    pub fn has_fixed_ports(&self, pool: Option<ThreadpoolId>) -> bool {
        let Some(pool) = pool.filter(|_| !self.options().realtime.lanes_on_one_port) else {
            let listen = &self.options().listen;
            return !listen.is_empty() && listen.iter().all(|at| self.options().is_fixed(at));
        };
        self.pools().has_fixed_ports(pool)
    }

    /// Returns the threadpool and lane of this ORB to which the calling thread belongs: for a servant, those that serve
    /// its request. `None` in threads of the ORB's own pool, of connections and of the application. Reads one
    /// thread-local.
    ///
    /// ```
    /// let orb = oxorb_core::Orb::new(oxorb_core::Options::default());
    /// assert_eq!(orb.current_lane(), None, "this is a thread of the application");
    /// ```
    pub fn current_lane(&self) -> Option<CurrentLane> {
        self.serving_lane().map(|serving| CurrentLane {
            threadpool: ThreadpoolId(serving.pool),
            lane: serving.lane,
        })
    }

    /// Returns the lane of this ORB to which the calling thread belongs.
    #[inline]
    pub(crate) fn serving_lane(&self) -> Option<LaneOf> {
        server::serving_lane(self.scheduling().number())
    }

    /// Returns the lane to which the calling thread belongs, if the reply handlers of its calls run there.
    pub(crate) fn jobs_of_lane(&self) -> Option<Weak<dyn TakesJobs>> {
        if self.options().callback_threads != CallbackThreads::Lane {
            return None;
        }
        let lane = self.pools().of_lane(self.serving_lane()?)?;
        let lane: Arc<dyn TakesJobs> = lane;
        Some(Arc::downgrade(&lane))
    }

    /// Returns the threadpool of this ORB to which the calling thread belongs. For the object adapter.
    #[doc(hidden)]
    pub fn serving_pool(&self) -> Option<ThreadpoolId> {
        self.serving_lane().map(|lane| ThreadpoolId(lane.pool))
    }
}
