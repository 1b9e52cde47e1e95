//! What a schedule has against it without being impossible (`RtecScheduler::Scheduling_Anomaly`).

use std::fmt;

/// How bad it is, in the order of the IDL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// There is no schedule.
    Fatal,
    /// There is one, and it does not do what was asked.
    Error,
    /// Worth a look.
    Warning,
    /// For information.
    None,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// How bad it is.
    pub severity: Severity,
    /// The operation it is about, if it is one.
    pub operation: Option<String>,
    /// What it is, as a sentence.
    pub description: String,
}

impl Anomaly {
    pub(crate) fn new(
        severity: Severity,
        operation: Option<&str>,
        description: impl Into<String>,
    ) -> Anomaly {
        Anomaly {
            severity,
            operation: operation.map(Into::into),
            description: description.into(),
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Fatal => "fatal",
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::None => "note",
        })
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.description)
    }
}
