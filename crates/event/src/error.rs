use std::fmt;

/// Reason why a channel cannot be served.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The objects cannot be activated, because the ORB already serves a channel with this name or was shut down, or
    /// because the real-time policies of the proxies contradict each other.
    #[error("the event channel cannot be served: {0}")]
    Poa(#[from] oxorb::poa::PoaError),
    /// The channel was destroyed.
    #[error("the event channel was destroyed")]
    Destroyed,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
