//! Reasons why a package is not installed.

/// Reason why a package is not installed or read.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A package of this name is installed.
    NameExists,
    /// The package, its name or its location is not accepted.
    Package(String),
    /// The folder of packages could not be written, or the manager may not use one of its folders.
    Store(String),
    /// The package is written or deleted, but a failure of the computer may still undo that.
    Unsure(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal::Package(reason)
    }
}
