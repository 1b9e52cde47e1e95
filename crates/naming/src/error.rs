use std::fmt;
use std::path::{Path, PathBuf};

/// Reason why names cannot be stored or served.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be opened, read or written.
    #[error(fmt = store)]
    Store {
        /// File of the store; empty for one in memory.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The objects cannot be activated: the ORB already serves names, or was shut down.
    #[error("names cannot be served: {0}")]
    Poa(#[from] oxorb::poa::PoaError),
}

fn store(path: &Path, why: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if path.as_os_str().is_empty() {
        return write!(f, "the names in memory: {why}");
    }
    write!(f, "the store {}: {why}", path.display())
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
