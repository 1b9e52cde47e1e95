//! The trait through which this crate calls the object adapter, the only layer above it that it calls.

use oxorb_rt::Priority;

use crate::policy::LargePayloads;
use crate::scheduler::budget::Described;
use crate::{Orb, Outcome, PoolThread, Ref, Scheduled, Servant, Upcall};

/// Finds the servant of an object key and lets it answer.
///
/// The portable object adapter implements this trait; a gateway can implement it, too. An ORB has one adapter. Server
/// threads call [`dispatch`](Adapter::dispatch) and [`locate`](Adapter::locate) concurrently and for each request, so
/// these methods should neither allocate nor take a lock that connections share; an implementation documents its
/// exceptions.
pub trait Adapter: Send + Sync + 'static {
    /// Serves one request; the [`Outcome`] proves that it was answered.
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome;

    /// Calls `serve` with the servant of an active object, as [`dispatch`](Self::dispatch) would, if its POA can serve
    /// the request immediately and in this thread. Otherwise does nothing, and the caller marshals the request.
    #[doc(hidden)]
    fn serve_direct(&self, orb: &Orb, key: &[u8], serve: &mut dyn FnMut(&dyn Servant)) {
        let _ = (orb, key, serve);
    }

    /// Returns the location of the object of a key, without calling the object.
    fn locate(&self, key: &[u8]) -> Located;

    /// Returns the BidirectionalPolicy of an object: whether its requests may come over connections that this side
    /// opened, and whether its callers may offer their connections for callbacks. If `None`, the configuration of the
    /// ORB applies.
    ///
    /// Called when a client offers its connection, and for each request over a connection that this side opened.
    fn bidirectional(&self, key: &[u8]) -> Option<bool> {
        let _ = key;
        None
    }

    /// Returns the policy of an object about large payloads of requests. If `None`, the configuration of the endpoint
    /// or the ORB applies. Called for each request with octets of 16 KiB or more, if its operation has `@in_place`
    /// parameters.
    fn large_payloads(&self, key: &[u8]) -> Option<LargePayloads> {
        let _ = key;
        None
    }

    /// Returns the rows of the run-time scheduler's table for the operations of an object, as
    /// [`Orb::scheduled`](crate::Orb::scheduled) returned them at its activation. Called for each request if there are
    /// dispatching modules.
    fn scheduled(&self, key: &[u8]) -> Option<Scheduled> {
        let _ = key;
        None
    }

    /// Passes the description of the object of a key to `look`, if the object is active, for [budgets](crate::Budget).
    /// Called only if the ORB has budgets: once per thread for each key and operation, or more often in a thread that
    /// serves many of them.
    fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
        let _ = (key, look);
    }

    /// Returns the lane that serves requests for the object of a key at the priority of a caller, or the threads of a
    /// threadpool without lanes. `None` if the ORB's own threads serve them, or if the object's POA does not exist.
    ///
    /// Without a `priority`, the lane is that of requests whose callers have no priority. Takes a lock only for an
    /// object that is not active and has a priority of its own. Called for each connection and each request if lanes
    /// share a port.
    fn lane_of(&self, key: &[u8], priority: Option<Priority>) -> Option<PoolThread> {
        let _ = (key, priority);
        None
    }

    /// Passes to `look` the id of the object whose request the calling thread runs, if any, for
    /// [`PriorityTransform::outbound`](oxorb_rt::PriorityTransform::outbound). Called only if the ORB has a transform.
    fn look_at_running(&self, look: &mut dyn FnMut(&[u8])) {
        let _ = look;
    }

    /// Releases requests that are held back, because the ORB is about to end and would have to wait for them.
    fn closing(&self) {}

    /// Refuses new requests from now on, because the ORB is shutting down. Running requests continue.
    fn close(&self);
}

/// Location of an object (LocateRequest).
#[derive(Debug, Clone)]
pub enum Located {
    /// Requests to this server reach the object.
    Here,
    /// The server has no such object.
    Unknown,
    /// Requests to another reference reach the object.
    Forward(Ref),
}
