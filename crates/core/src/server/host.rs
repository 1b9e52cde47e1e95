//! Interface of the ORB for its server half.

use std::sync::Arc;

use oxorb_giop::{Frame, Inbox};
use oxorb_object::ServiceContexts;
use oxorb_rt::Priority;
use oxorb_transport::Link;

use super::Sink;
use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::followers::Followers;
use super::lane::Lane;
use super::modules::DispatchingModules;
use super::registry::Registry;
use super::session::{Caller, SessionStep};
use super::takeover::Takeover;
use crate::options::{Options, PoolThread};
use crate::reference::LaneOf;
use crate::scheduler::Scheduled;
use crate::scheduler::budget::Described;
use crate::shared::Shared;
use crate::threads::sync::attributed::Builder;

/// Parts of an ORB that its server half uses.
pub(crate) trait Parts: Send + Sync + 'static {
    /// Returns the state that neither half owns.
    fn shared(&self) -> &Shared;

    /// Returns the registry of open connections.
    fn registry(&self) -> &Registry;

    /// Returns the followers that take over connections with their own threads.
    fn followers(&self) -> &Followers<Connection>;

    /// Returns the ORB's takeover of connections.
    fn takeover(&self) -> &Takeover;

    /// Returns the run-time scheduler's dispatching modules, if there are any.
    fn modules(&self) -> Option<&DispatchingModules>;

    /// Closes connections that this ORB opened, to free descriptors: those that their servers have closed or, if there
    /// are none and `any`, the one that has idled longest.
    fn give_up_opened(&self, any: bool);

    #[inline]
    fn options(&self) -> &Options {
        &self.shared().options
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.shared().is_closing()
    }
}

/// ORB whose requests a thread serves: its parts, and upcalls, which need the whole ORB.
///
/// A clone keeps the ORB alive. Generic code is compiled for the one implementation, at no cost.
pub(crate) trait Host: Parts + Clone {
    /// Serves the message `frame`, which `inbox` announces.
    fn dispatch(
        &self,
        inbox: &Inbox,
        frame: &Frame<'_>,
        caller: Caller<'_>,
        sink: &mut Sink,
    ) -> SessionStep;

    /// Returns the lane that a filter has chosen, if it exists.
    fn lane(&self, picked: PoolThread) -> Option<Arc<Lane>>;

    /// Returns the name of the lane that serves requests for a key's object at a caller's priority; `None` if the ORB's
    /// own threads serve them.
    fn lane_of(&self, key: &[u8], priority: Option<Priority>) -> Option<LaneOf>;

    /// Returns a lane of a threadpool by its name, if it exists. Takes no lock.
    fn lane_named(&self, name: LaneOf) -> Option<Arc<Lane>>;

    /// Returns the least urgent and the most urgent lane of all threadpools, if there are any. Takes no lock.
    fn extreme_lanes(&self) -> Option<(Arc<Lane>, Arc<Lane>)>;

    /// Applies the properties of a lane's connections to one that another thread accepted. `tag` identifies its
    /// protocol.
    fn set_up_for(&self, lane: &Arc<Lane>, link: &dyn Link, tag: u32);

    /// Considers a client's offer of its connection, made with its request to the object of `key`.
    fn consider_offer(&self, caller: &mut Caller<'_>, key: &[u8], contexts: &ServiceContexts<'_>);

    /// Passes the description of a key's object to `look`, if the object is active.
    fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>));

    /// Returns the rows of the run-time scheduler's table for an object's operations.
    fn scheduled(&self, key: &[u8]) -> Option<Scheduled>;

    /// Returns a handle that may outlive the calling function.
    fn keeper(&self) -> Arc<dyn Keeper>;
}

/// ORB as kept by served connections, and by requests that other threads serve or answer later.
pub(crate) trait Keeper: Parts {
    /// Starts a thread that serves `connection` and then calls `last`. Returns the connection if the system provides no
    /// thread.
    fn take_over(
        self: Arc<Self>,
        builder: Builder,
        owner: ConnectionOwner,
        connection: Connection,
        last: fn(),
    ) -> Result<(), Option<Box<Connection>>>;

    /// Serves a request that was taken off its connection, in the calling thread.
    fn serve_detached(self: Arc<Self>, connection: &mut Connection, owner: &ConnectionOwner);
}
