//! The ORB as its server half knows it.

use std::sync::Arc;

use oxorb_giop::{Frame, Inbox};
use oxorb_object::ServiceContexts;

use super::Sink;
use super::connection::Connection;
use super::followers::Followers;
use super::home::Home;
use super::lane::Lane;
use super::modules::DispatchingModules;
use super::registry::Registry;
use super::session::{Caller, Next};
use super::takeover::Takeover;
use crate::budget::Described;
use crate::options::{Options, PoolThread};
use crate::scheduler::Scheduled;
use crate::shared::Shared;
use crate::sync::attributed::Builder;

/// Parts of an ORB that its server half uses.
pub(crate) trait Parts: Send + Sync + 'static {
    /// Returns what neither half owns.
    fn shared(&self) -> &Shared;

    /// Returns the connections that are open.
    fn registry(&self) -> &Registry;

    /// Returns the threads that take over connections which have threads of their own.
    fn followers(&self) -> &Followers<Connection>;

    /// Returns what has connections of the ORB's own threads taken over.
    fn takeover(&self) -> &Takeover;

    /// Returns the run-time scheduler's dispatching modules, where there are any.
    fn modules(&self) -> Option<&DispatchingModules>;

    /// Closes connections that this ORB opened, for want of descriptors: those that their servers have closed, or else, if
    /// `any`, the one that idles longest.
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

/// ORB whose requests a thread serves: its parts, and the upcalls that only the whole can make.
///
/// A clone keeps the ORB alive. All that is generic over it is compiled for the one ORB there is, and costs what naming it
/// would.
pub(crate) trait Host: Parts + Clone {
    /// Serves the message that `inbox` announces, which is `frame`.
    fn dispatch(
        &self,
        inbox: &Inbox,
        frame: &Frame<'_>,
        caller: Caller<'_>,
        sink: &mut Sink,
    ) -> Next;

    /// Returns the lane that a filter has picked, if there is such.
    fn lane(&self, picked: PoolThread) -> Option<Arc<Lane>>;

    /// Considers a client's offer of its connection, made with its request to the object of `key`.
    fn consider_offer(&self, caller: &mut Caller<'_>, key: &[u8], contexts: &ServiceContexts<'_>);

    /// Shows what the object of a key is, if it is active.
    fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>));

    /// Returns what the run-time scheduler's table says of an object's operations.
    fn scheduled(&self, key: &[u8]) -> Option<Scheduled>;

    /// Returns a handle for what outlives the calling function.
    fn keeper(&self) -> Arc<dyn Keeper>;
}

/// ORB of what is kept: of a connection that is served, and of requests that others serve or answer later.
pub(crate) trait Keeper: Parts {
    /// Starts a thread that serves `connection`, and then ends with `last`. When the system gives none, gives it back.
    fn take_over(
        self: Arc<Self>,
        builder: Builder,
        home: Home,
        connection: Connection,
        last: fn(),
    ) -> Result<(), Option<Box<Connection>>>;

    /// Serves a request that was taken off its connection, in the calling thread.
    fn serve_detached(self: Arc<Self>, connection: &mut Connection, home: &Home);
}
