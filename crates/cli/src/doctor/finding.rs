//! One thing that was looked at.

/// What to think of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Good,
    Improve,
    /// The host does not tell.
    Unknown,
}

/// One thing that was looked at, for people and programs.
#[derive(Debug, serde::Serialize)]
pub(super) struct Finding {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    /// What the host says.
    pub(super) seen: String,
    /// What that does to latency.
    pub(super) means: &'static str,
    /// Commands and settings that change it.
    pub(super) cures: Vec<String>,
}

impl Finding {
    pub(super) fn good(name: &'static str, seen: impl Into<String>) -> Self {
        Finding {
            name,
            verdict: Verdict::Good,
            seen: seen.into(),
            means: "",
            cures: Vec::new(),
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
            ..Finding::good(name, seen)
        }
    }

    pub(super) fn unknown(
        name: &'static str,
        seen: impl Into<String>,
        means: &'static str,
        cures: &[&str],
    ) -> Self {
        Finding {
            verdict: Verdict::Unknown,
            ..Finding::improve(name, seen, means, cures)
        }
    }
}
