//! The one upward trait of this crate.

use crate::budget::Described;
use crate::policy::LargePayloads;
use crate::{Orb, Outcome, Ref, Scheduled, Servant, Upcall};

/// Finds the servant of an object key and lets it answer.
///
/// The portable object adapter implements this; a gateway could, too. An ORB
/// has one adapter. [`dispatch`](Adapter::dispatch) and
/// [`locate`](Adapter::locate) are called by server threads concurrently and on
/// the steady path, so they should neither allocate nor take a lock that is
/// shared between connections; what an implementation cannot keep of that, it
/// documents.
pub trait Adapter: Send + Sync + 'static {
    /// Serves one request; the [`Outcome`] proves that it was answered.
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome;

    /// Calls `serve` with the servant of an active object whose POA lets requests in at once and in this thread, as
    /// [`dispatch`](Self::dispatch) would call it. Otherwise does nothing, and the request is marshalled.
    #[doc(hidden)]
    fn serve_direct(&self, orb: &Orb, key: &[u8], serve: &mut dyn FnMut(&dyn Servant)) {
        let _ = (orb, key, serve);
    }

    /// Says where the object of a key is, without calling it.
    fn locate(&self, key: &[u8]) -> Located;

    /// Returns the BidirectionalPolicy of an object: whether its requests may come over connections
    /// that this side opened, and whether its callers may offer their connections for callbacks.
    /// `None`: as the ORB is configured.
    ///
    /// Asked when a client offers, and for each request over a connection that
    /// this side opened.
    fn bidirectional(&self, key: &[u8]) -> Option<bool> {
        let _ = key;
        None
    }

    /// Returns the policy of an object about large payloads that requests bring. `None`: as the endpoint or the ORB is
    /// configured. Asked for each request with octets of 16 KiB or more for an operation that has them in place.
    fn large_payloads(&self, key: &[u8]) -> Option<LargePayloads> {
        let _ = key;
        None
    }

    /// Returns the rows of the run-time scheduler's table for the operations of an object, as
    /// [`Orb::scheduled`](crate::Orb::scheduled) told when it was activated. Asked for each request
    /// where there are dispatching modules.
    fn scheduled(&self, key: &[u8]) -> Option<Scheduled> {
        let _ = key;
        None
    }

    /// Shows what the object of a key is, if it is active: for [budgets](crate::Budget). Asked where an ORB has some, once for
    /// each key and operation that a thread sees, or again where it sees many.
    fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
        let _ = (key, look);
    }

    /// Shows the id of the object whose request the calling thread runs, if it runs one: for
    /// [`PriorityTransform::outbound`](oxorb_rt::PriorityTransform::outbound). Not asked unless an ORB has a transform.
    fn look_at_running(&self, look: &mut dyn FnMut(&[u8])) {
        let _ = look;
    }

    /// The ORB is about to end: let go of requests that are held back, which
    /// would have to be waited for.
    fn closing(&self) {}

    /// Refuses new requests from now on; those running go on (shutdown).
    fn close(&self);
}

/// Location of an object (LocateRequest).
#[derive(Debug, Clone)]
pub enum Located {
    /// Requests sent here reach the object.
    Here,
    /// The server has no such object.
    Unknown,
    /// The object is behind another reference.
    Forward(Ref),
}
