//! Reactors, which report to the threads of a lane which of its connections have input.

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

/// Watches links. A link is *armed* for one report: the thread that gets the report owns the link until a thread rearms
/// it, and any number of threads may wait. With a single waiting thread, a link may be armed for all reports.
pub(crate) trait Reactor: Send + Sync {
    /// Adds a link, armed, under a token.
    fn add(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()>;

    /// Arms a link again; input that has arrived before is reported.
    fn rearm(&self, link: &Arc<dyn Link>, token: Token, armed: Armed) -> io::Result<()>;

    /// Disarms a link until it is armed again.
    fn disarm(&self, link: &Arc<dyn Link>, token: Token) -> io::Result<()>;

    /// Removes a link.
    fn remove(&self, link: &Arc<dyn Link>) -> io::Result<()>;

    /// Waits for the next report; `None` if `limit` passes, or a thread [wakes](Self::wake) the
    /// reactor.
    fn wait_one(&self, limit: Duration) -> io::Result<Option<Token>>;

    /// Ends the current wait, or the next one.
    fn wake(&self);

    /// Reports whether waiting threads poll, so that waiting elsewhere has no advantage.
    fn is_awake(&self) -> bool {
        false
    }

    /// Returns a descriptor that is readable while there are reports, for another poller.
    #[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the reactor of a model or a simulation.
    #[cfg(all(test, any(feature = "model", feature = "simulation")))]
    fn model(&self) -> crate::threads::sync::OtherReactor;

    /// Starts or stops watching another reactor: that of a lane whose threads are all busy.
    fn watch(&self, other: &dyn Reactor, token: Token, how: ReactorCommand) -> io::Result<()>;
}

/// Number of reports for which a link is armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Armed {
    Once,
    /// All reports, for a single waiting thread, which never has to rearm a link.
    Always,
}

/// Instruction for a watched reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReactorCommand {
    /// Start to watch the reactor, disarmed.
    Begin,
    Arm,
    Disarm,
}

/// Creates the chosen reactor.
pub(super) fn make(choice: ReactorChoice) -> io::Result<Box<dyn Reactor>> {
    #[cfg(all(test, any(feature = "model", feature = "simulation")))]
    {
        let _ = choice;
        Ok(Box::<crate::threads::sync::OtherReactor>::default())
    }
    #[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
    match choice {
        ReactorChoice::Epoll => Ok(Box::new(Epoll::new()?)),
        ReactorChoice::BusyPoll { at_most } => Ok(Box::new(BusyPoll::new(at_most)?)),
    }
}
