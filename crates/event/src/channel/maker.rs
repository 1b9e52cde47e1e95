//! The client for which a proxy was created.

use std::time::{Duration, Instant};

use oxorb::servant::{ClientConnection, current_connection};
use oxorb::transport::PeerId;
use oxorb_sys::sync::Mutex;

/// Remote client for which a proxy was created. There is none if this process created the proxy.
pub(crate) struct Maker {
    connection: Option<ClientConnection>,
    /// Time at which a check found that the connection had ended.
    ended: Mutex<Option<Instant>>,
}

impl Maker {
    /// Returns the client whose request this thread is serving.
    pub(crate) fn current() -> Maker {
        let elsewhere = |it: &ClientConnection| *it.client() != PeerId::Process;
        Maker { connection: current_connection().filter(elsewhere), ended: Mutex::default() }
    }

    /// Returns a value for proxies that belong to the application itself.
    pub(crate) fn local() -> Maker {
        Maker { connection: None, ended: Mutex::default() }
    }

    pub(super) fn is_elsewhere(&self) -> bool {
        self.connection.is_some()
    }

    /// Reports whether both values represent the same remote client.
    pub(super) fn is_same_client(&self, other: &Maker) -> bool {
        match (&self.connection, &other.connection) {
            (Some(one), Some(other)) => one.client() == other.client(),
            _ => false,
        }
    }

    pub(super) fn has_left(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.is_open())
    }

    /// Reports whether the connection was found to have ended at least `grace` ago. The first call that finds it ended
    /// records the time.
    pub(super) fn left_before(&self, grace: Duration, now: Instant) -> bool {
        if !self.has_left() {
            return false;
        }
        let ended = *self.ended.lock().get_or_insert(now);
        now.saturating_duration_since(ended) >= grace
    }
}
