//! Anomalies: what a schedule has against it without being impossible
//! (`RtecScheduler::Scheduling_Anomaly`).

use std::fmt;

/// Severity of an anomaly, in the order of the IDL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A schedule does not exist.
    Fatal,
    /// The schedule does not do what was asked.
    Error,
    /// Worth a look.
    Warning,
    /// Information.
    None,
}

/// Anomaly of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Severity.
    pub severity: Severity,
    /// The operation it is about, if it is one.
    pub operation: Option<String>,
    /// Description, a sentence.
    pub description: String,
}

impl Anomaly {
    pub(crate) fn new(
        severity: Severity,
        operation: Option<&str>,
        description: impl Into<String>,
    ) -> Anomaly {
        Anomaly { severity, operation: operation.map(Into::into), description: description.into() }
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
