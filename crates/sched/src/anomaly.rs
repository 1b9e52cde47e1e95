//! Anomalies: defects of a schedule that do not prevent it (`RtecScheduler::Scheduling_Anomaly`).

use std::fmt;

/// Severity of an anomaly, in the order of the IDL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A schedule is impossible.
    Fatal,
    /// The schedule does not meet the declared requirements.
    Error,
    /// The declaration is plausible but should be checked.
    Warning,
    /// Information only.
    None,
}

/// Anomaly of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Severity.
    pub severity: Severity,
    /// Operation concerned; `None` for the whole schedule.
    pub operation: Option<String>,
    /// Description in one sentence.
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
