//! Reactors, which tell the threads of a lane which of its connections have something to read.

use std::io;
#[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::poll::Token;
use oxorb_transport::Link;

use crate::ReactorChoice;

#[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
use super::epoll::{BusyPoll, Epoll};

/// Watches links. Each is *armed*, for one report: the thread that gets it has the link to itself until somebody arms it
/// again, and any number of threads may wait. Or for all of them, where one thread alone waits.
pub(crate) trait Reactor: Send + Sync {
    /// Watches a link, armed, under a token.
    fn add(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()>;

    /// Arms a link again; what it has to read by then counts.
    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()>;

    /// Reports nothing of a link until it is armed again.
    fn disarm(&self, link: &Arc<dyn Link>, token: Token) -> io::Result<()>;

    /// Watches a link no more.
    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()>;

    /// The next report; `None`: so long nothing came, or somebody [woke](Self::wake) this.
    fn wait_one(&self, limit: Duration) -> io::Result<Option<Token>>;

    /// Ends a wait, or the next one.
    fn wake(&self);

    /// Whether whoever waits here is awake, so that waiting elsewhere gains nothing.
    fn is_awake(&self) -> bool {
        false
    }

    /// Returns the descriptor that another poller can watch, to be told that there is something to
    /// report.
    #[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Returns this reactor within a model or a simulation.
    #[cfg(all(test, any(feature = "model", feature = "simulation")))]
    fn model(&self) -> crate::sync::OtherReactor;

    /// Watches another reactor, or ceases for the time being: a lane that has run out of threads.
    fn watch(&self, other: &dyn Reactor, token: Token, how: Watch) -> io::Result<()>;
}

/// Number of reports for which a link is armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Armed {
    Once,
    /// All reports, where one thread alone waits: it never has to arm what it has served.
    Always,
}

/// Instruction about a reactor that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Watch the reactor from now on; not armed yet.
    Begin,
    Arm,
    Disarm,
}

/// The one that was chosen.
pub(super) fn make(choice: ReactorChoice) -> io::Result<Box<dyn Reactor>> {
    #[cfg(all(test, any(feature = "model", feature = "simulation")))]
    {
        let _ = choice;
        Ok(Box::<crate::sync::OtherReactor>::default())
    }
    #[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
    match choice {
        ReactorChoice::Epoll => Ok(Box::new(Epoll::new()?)),
        ReactorChoice::BusyPoll { at_most } => Ok(Box::new(BusyPoll::new(at_most)?)),
    }
}
