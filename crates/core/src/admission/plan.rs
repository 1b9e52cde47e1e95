//! Plan by which an ORB admits.

use std::str::FromStr;
use std::time::Duration;

use oxorb_cdr::Printable;
use oxorb_sched::Utilization;
use oxorb_sched::admission::{Controller, LateComers, Urgency};
use oxorb_sched::time;

use crate::budget::{BeyondBudget, BudgetError};

/// Plan by which an ORB admits operations, objects, POAs and clients: of
/// [`RealTime::admission`](crate::RealTime::admission).
///
/// ```
/// use oxorb_core::{AdmissionPlan, BeyondBudget};
/// use oxorb_sched::admission::LateComers;
///
/// let mut plan = AdmissionPlan::default();
/// plan.late_comers = LateComers::Share;
/// plan.beyond = BeyondBudget::Demote;
/// assert_eq!("late=share beyond=demote".parse(), Ok(plan));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionPlan {
    /// Treatment of late comers, for whom no deadline can be guaranteed any more.
    pub late_comers: LateComers,
    /// Order by which requests go first.
    pub urgency: Urgency,
    /// Treatment of requests beyond what was admitted.
    pub beyond: BeyondBudget,
    /// Most of the processor that guarantees take. Default: all of it.
    pub guaranteed: Utilization,
    /// Period of shares. Default 100 ms.
    pub period: Duration,
}

impl Default for AdmissionPlan {
    fn default() -> Self {
        AdmissionPlan {
            late_comers: LateComers::default(),
            urgency: Urgency::default(),
            beyond: BeyondBudget::default(),
            guaranteed: WHOLE,
            period: Duration::from_millis(100),
        }
    }
}

const WHOLE: Utilization = Utilization(1_000_000_000);

impl AdmissionPlan {
    pub(crate) fn controller(&self) -> Controller {
        Controller::new(self.late_comers)
            .urgency(self.urgency)
            .guarantee_at_most(self.guaranteed)
            .period(u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl FromStr for AdmissionPlan {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<AdmissionPlan, BudgetError> {
        let mut plan = AdmissionPlan::default();
        for word in text.split_whitespace() {
            let wrong = || {
                let word = Printable(word);
                BudgetError(format!(
                    "expected late=refuse or share, urgency=deadline or priority, beyond=refuse, demote or throttle, \
                     guarantee=N% (from 0 to 100) or period=TIME (up to an hour) instead of `{word}`"
                ))
            };
            match word.split_once('=').ok_or_else(wrong)? {
                ("late", "refuse") => plan.late_comers = LateComers::Refuse,
                ("late", "share") => plan.late_comers = LateComers::Share,
                ("urgency", "deadline") => plan.urgency = Urgency::Deadline,
                ("urgency", "priority") => plan.urgency = Urgency::Priority,
                ("beyond", "refuse") => plan.beyond = BeyondBudget::Refuse,
                ("beyond", "demote") => plan.beyond = BeyondBudget::Demote,
                ("beyond", "throttle") => plan.beyond = BeyondBudget::Throttle,
                ("guarantee", percent) => {
                    let number = percent.strip_suffix('%').unwrap_or(percent).parse::<u64>();
                    let number = number.ok().filter(|number| *number <= 100);
                    plan.guaranteed = Utilization(number.ok_or_else(wrong)? * 10_000_000);
                }
                ("period", period) => {
                    let nanos = time::parse(period).ok().filter(|nanos| *nanos > 0);
                    plan.period = Duration::from_nanos(nanos.ok_or_else(wrong)?);
                    if plan.period > Duration::from_secs(3600) {
                        return Err(wrong());
                    }
                }
                _ => return Err(wrong()),
            }
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_plan_is_told() {
        let text = "late=share urgency=priority beyond=throttle guarantee=80% period=20ms";
        let plan: AdmissionPlan = text.parse().unwrap();
        assert_eq!(plan.guaranteed, Utilization(800_000_000));
        assert_eq!(plan.period, Duration::from_millis(20));
        for wrong in ["late", "late=never", "guarantee=101%", "period=0ms", "period=3601s", "x=1"] {
            let error = wrong.parse::<AdmissionPlan>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
