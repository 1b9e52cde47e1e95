//! Bounds that the project set itself, and whether a run met them. Times never fail anything.

use std::fmt;

use crate::bootstrap::Ratio;

/// What is asked and what was seen.
pub(crate) struct Verdict {
    bound: String,
    /// `None`: the run does not tell.
    met: Option<(bool, String)>,
}

/// One line each.
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

/// Returns the verdict on a ratio that must be below a limit, not equal to it.
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
