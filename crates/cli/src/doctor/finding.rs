//! Findings: what was checked, and its verdict.

use super::change::Change;

/// Verdict of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Good,
    Improve,
    /// State that the host does not report.
    Unknown,
}

/// Finding about the host, for people and programs.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Finding {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    /// Present state of the host.
    pub(super) seen: String,
    /// Effect of that state on latency.
    pub(super) means: &'static str,
    /// Commands and settings that improve the state.
    pub(super) cures: Vec<String>,
    /// Steps that `--apply` makes and reverts; empty if only a person can.
    pub(super) changes: Vec<Change>,
    /// Reason why `--apply` makes no step.
    pub(super) left: &'static str,
}

/// Reason why `--apply` does not change settings of the kernel's command line.
pub(super) const NEEDS_START: &str = "needs another kernel, or a restart with other parameters";

/// Reason why `--apply` does not change settings that are made where the process is started.
pub(super) const NEEDS_OWNER: &str =
    "depends on how the process is started: its user, its unit or its container";

impl Finding {
    pub(super) fn good(name: &'static str, seen: impl Into<String>) -> Self {
        Finding {
            name,
            verdict: Verdict::Good,
            seen: seen.into(),
            means: "",
            cures: Vec::new(),
            changes: Vec::new(),
            left: "",
        }
    }

    pub(super) fn improve(
        name: &'static str,
        seen: impl Into<String>,
        means: &'static str,
        cures: &[&str],
    ) -> Self {
        Finding {
            verdict: Verdict::Improve,
            means,
            cures: cures.iter().map(ToString::to_string).collect(),
            left: "must be changed by hand",
            ..Finding::good(name, seen)
        }
    }

    pub(super) fn unknown(
        name: &'static str,
        seen: impl Into<String>,
        means: &'static str,
        cures: &[&str],
    ) -> Self {
        Finding { verdict: Verdict::Unknown, ..Finding::improve(name, seen, means, cures) }
    }

    /// Adds the steps of `--apply`.
    pub(super) fn by(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.changes.extend(changes);
        self
    }

    /// Sets the reason why `--apply` makes no step.
    pub(super) fn left(mut self, why: &'static str) -> Self {
        self.left = why;
        self
    }
}
