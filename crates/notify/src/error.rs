use std::fmt;
use std::path::PathBuf;

/// Reason why an event service cannot be started.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be opened, read or written.
    #[error("the store of events {}: {why}", .path.display())]
    Store {
        /// File of the store.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The ORB already serves events, or was shut down.
    #[error(
        "the event service cannot be served: {0}; an ORB can have one event service, and none after its shutdown"
    )]
    Poa(#[from] oxorb::poa::PoaError),
    /// The objects of the service cannot be served.
    #[error("the event service cannot be served: {0}")]
    System(#[from] oxorb::SystemException),
    /// Threads or timers cannot be started.
    #[error("the threads of the event service cannot be started: {0}")]
    Threads(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
