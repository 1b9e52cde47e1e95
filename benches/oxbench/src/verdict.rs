//! Project's bounds, and verdicts on a run. A verdict never causes a failure.

use std::fmt;

use crate::bootstrap::Ratio;

/// Bound and observation.
pub(crate) struct Verdict {
    bound: String,
    /// Whether the bound was met, and the observation; `None` if the run does not show it.
    met: Option<(bool, String)>,
}

/// Verdicts, printed one per line.
pub(crate) struct Verdicts(Vec<Verdict>);

impl Verdicts {
    pub(crate) fn new(verdicts: impl IntoIterator<Item = Verdict>) -> Verdicts {
        Verdicts(verdicts.into_iter().collect())
    }
}

pub(crate) fn at_most(bound: impl Into<String>, seen: Option<Ratio>, limit: f64) -> Verdict {
    let met = |seen: Ratio| (seen.seen <= limit, format!("{seen}, wanted at most {limit}"));
    Verdict { bound: bound.into(), met: seen.map(met) }
}

/// Returns the verdict on a ratio that must be strictly below a limit.
pub(crate) fn below(bound: impl Into<String>, seen: Option<Ratio>, limit: f64) -> Verdict {
    let met = |seen: Ratio| (seen.seen < limit, format!("{seen}, wanted below {limit}"));
    Verdict { bound: bound.into(), met: seen.map(met) }
}

pub(crate) fn at_least(bound: impl Into<String>, seen: Option<Ratio>, limit: f64) -> Verdict {
    let met = |seen: Ratio| (seen.seen >= limit, format!("{seen}, wanted at least {limit}"));
    Verdict { bound: bound.into(), met: seen.map(met) }
}

/// Returns the verdict on a ratio that must not be below 1 by more than its interval.
pub(crate) fn not_below(bound: impl Into<String>, seen: Option<Ratio>) -> Verdict {
    let met = |seen: Ratio| {
        (seen.most() >= 1.0, format!("{seen}, wanted at least 1 within the interval"))
    };
    Verdict { bound: bound.into(), met: seen.map(met) }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Verdict { bound, met } in &self.0 {
            match met {
                Some((true, seen)) => writeln!(f, "met      {bound}: {seen}")?,
                Some((false, seen)) => writeln!(f, "NOT MET  {bound}: {seen}")?,
                None => writeln!(f, "unknown  {bound}: not measured in this run")?,
            }
        }
        Ok(())
    }
}
