//! Takeover of connections: state of the thread that watches for long requests. `watching.rs` runs that thread.

use std::io;
use std::sync::OnceLock;

use oxorb_sys::poll::Token;

use super::reactor::{self, Armed, Reactor};
use super::registry::LongRunning;
use crate::ReactorChoice;
use crate::threads::sync::atomic::{AtomicBool, Ordering};

/// Watching thread of an ORB or of a lane, once started.
#[derive(Default)]
pub(crate) struct Takeover {
    /// Reports input of the connections that run long requests.
    reactor: OnceLock<Box<dyn Reactor>>,
    begun: AtomicBool,
    sleeps: AtomicBool,
}

impl Takeover {
    /// Reports whether the caller has to start the thread: true for the first caller.
    pub(super) fn begins(&self) -> bool {
        !self.begun.load(Ordering::Relaxed) && !self.begun.swap(true, Ordering::Relaxed)
    }

    /// Records that the thread could not be started; a later caller tries again.
    pub(super) fn not_begun(&self) {
        self.begun.store(false, Ordering::Relaxed);
    }

    /// Creates the reactor of the thread, unless there is one.
    pub(super) fn prepare(&self) -> io::Result<()> {
        if self.reactor.get().is_none() {
            let _ = self.reactor.set(reactor::make(ReactorChoice::Epoll)?);
        }
        Ok(())
    }

    /// Returns the reactor at which the thread waits, once there is one.
    pub(super) fn reactor(&self) -> Option<&dyn Reactor> {
        self.reactor.get().map(|reactor| &**reactor)
    }

    /// Records whether the thread sleeps until a connection has input after a silence.
    pub(super) fn set_sleeps(&self, sleeps: bool) {
        self.sleeps.store(sleeps, Ordering::SeqCst);
    }

    /// Wakes the thread if it sleeps, because a connection has input after a silence.
    pub(super) fn wakes(&self) {
        if self.sleeps.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Makes the thread check at once, and so detect the end of the ORB.
    pub(crate) fn wake(&self) {
        if let Some(reactor) = self.reactor.get() {
            reactor.wake();
        }
    }

    /// Arms a connection, so that its next input wakes the thread.
    pub(super) fn arm(&self, connection: &LongRunning) {
        let LongRunning { id, link, .. } = connection;
        if let Some(reactor) = self.reactor.get() {
            let token = Token(*id);
            let rearmed = reactor.rearm(link, token, Armed::Once);
            // A link that cannot be watched is checked at each look, so a failure is ignored.
            let _ = rearmed.or_else(|_| reactor.add(link, token, Armed::Once));
        }
    }
}
