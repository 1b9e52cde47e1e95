use std::fmt;
use std::path::PathBuf;

/// Error in the storage or the serving of a scheduling service.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The state cannot be opened, read or written.
    #[error("the state {}: {why}", .path.display())]
    State {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The objects cannot be activated: the ORB serves schedules already, or was shut down.
    #[error("schedules cannot be served: {0}")]
    Poa(#[from] oxorb::poa::PoaError),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
