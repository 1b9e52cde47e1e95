//! Errors of a configuration, with their positions.

use std::fmt;

/// Error in a configuration.
///
/// `Debug` prints the same text as `Display`, so that a `main` which returns the error is readable.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// File or personality.
    pub origin: String,
    /// Line number, counted from 1; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    /// Description of the mistake and of its correction.
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
