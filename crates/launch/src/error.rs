//! Errors that explain why a plan is not launched.

use std::fmt;

use oxorb_deploy::{Finding, Place, Source};

use crate::idl::deployment::{InvalidConnection, PlanError, StartError, StopError};

/// Error of launching or stopping a plan, or a part of it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{finding}")]
pub struct LaunchError {
    /// Name of the instance or connection concerned; empty if the error concerns the whole plan.
    pub name: String,
    /// Position in the plan, problem, and remedy.
    pub finding: Finding,
}

impl LaunchError {
    /// Creates an error about an instance or a connection of the plan.
    pub fn new(name: impl Into<String>, place: Place, what: impl Into<String>) -> Self {
        LaunchError { name: name.into(), finding: Finding::error(place, what) }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn cure(mut self, cure: impl Into<String>) -> Self {
        self.finding = self.finding.cure(cure);
        self
    }

    /// Sets the document to which the position of the error refers.
    #[must_use]
    pub(crate) fn within(mut self, source: Source) -> Self {
        self.finding = self.finding.within(source);
        self
    }

    /// Returns the problem and the remedy, without the position.
    pub fn reason(&self) -> String {
        match self.finding.cure.as_str() {
            "" => self.finding.what.clone(),
            cure => format!("{}; {cure}", self.finding.what),
        }
    }
}

impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<LaunchError> for PlanError {
    fn from(error: LaunchError) -> Self {
        let reason = error.reason();
        let name = error.name;
        PlanError { name, reason }
    }
}

impl From<LaunchError> for StartError {
    fn from(error: LaunchError) -> Self {
        let reason = error.reason();
        let name = error.name;
        StartError { name, reason }
    }
}

impl From<LaunchError> for StopError {
    fn from(error: LaunchError) -> Self {
        let reason = error.reason();
        let name = error.name;
        StopError { name, reason }
    }
}

impl From<LaunchError> for InvalidConnection {
    fn from(error: LaunchError) -> Self {
        let reason = error.reason();
        let name = error.name;
        InvalidConnection { name, reason }
    }
}
