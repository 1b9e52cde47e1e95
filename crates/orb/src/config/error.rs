//! Errors of a configuration, and their places.

use std::fmt;

/// A configuration that cannot be used.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is readable.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, or the personality.
    pub origin: String,
    /// The line, from 1; `None`: the whole.
    pub line: Option<usize>,
    /// Description of the mistake and of what would be right.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigError { origin, line, problem } = self;
        match line {
            Some(line) => write!(f, "{origin}:{line}: {problem}"),
            None => write!(f, "{origin}: {problem}"),
        }
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}
