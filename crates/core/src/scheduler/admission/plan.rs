//! Plan by which an ORB admits operations, objects, POAs and clients.

use std::str::FromStr;
use std::time::Duration;

use oxorb_cdr::Printable;
use oxorb_sched::admission::{Controller, LateComers, RequestOrder};
use oxorb_sched::time;
use oxorb_sched::{Task, Utilization};

use crate::scheduler::budget::{BeyondBudget, BudgetError};

/// Plan by which an ORB admits operations, objects, POAs and clients: the value of
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
    /// Treatment of late comers, whose deadlines can no longer be guaranteed.
    pub late_comers: LateComers,
    /// Order of precedence of requests.
    pub urgency: RequestOrder,
    /// Treatment of requests beyond an admission.
    pub beyond: BeyondBudget,
    /// Maximum utilization of the processor by guarantees. Default: all of it.
    pub guaranteed: Utilization,
    /// Period of shares. Default 100 ms.
    pub period: Duration,
    /// Longest processor time of one check by the thread that watches budgets. If that thread has a real-time priority,
    /// it preempts all members once in each [`RealTime::budget_quantum`](crate::RealTime::budget_quantum). The default
    /// is 50 us. A check takes longer if there are more serving threads.
    pub look: Duration,
}

impl Default for AdmissionPlan {
    fn default() -> Self {
        AdmissionPlan {
            late_comers: LateComers::default(),
            urgency: RequestOrder::default(),
            beyond: BeyondBudget::default(),
            guaranteed: WHOLE,
            period: Duration::from_millis(100),
            look: Duration::from_micros(50),
        }
    }
}

const WHOLE: Utilization = Utilization(1_000_000_000);

impl AdmissionPlan {
    /// Returns a controller without members. `watched` is the interval at which the watching thread preempts all
    /// members. `allowed` is the part of a processor that the kernel allows the members; `None` if it is unlimited.
    pub(crate) fn controller(
        &self,
        watched: Option<Duration>,
        allowed: Option<Utilization>,
    ) -> Controller {
        let guaranteed = self.guaranteed.min(allowed.unwrap_or(WHOLE));
        let controller = Controller::new(self.late_comers)
            .urgency(self.urgency)
            .guarantee_at_most(guaranteed)
            .period(nanoseconds(self.period));
        match watched.filter(|_| !self.look.is_zero()) {
            None => controller,
            Some(quantum) => {
                // The watching thread sleeps for one quantum after each check, so its period is the sum of the two
                // times.
                let (look, period) = (nanoseconds(self.look), nanoseconds(self.look + quantum));
                controller.behind(Task::periodic("oxorb-budgets", look, period))
            }
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl FromStr for AdmissionPlan {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<AdmissionPlan, BudgetError> {
        let mut plan = AdmissionPlan::default();
        for word in text.split_whitespace() {
            let wrong = || {
                let word = Printable(word);
                BudgetError(format!(
                    "expected late=refuse or share, urgency=deadline or priority, beyond=refuse, demote, throttle or \
                     pause, guarantee=N% (from 0 to 100), period=TIME (up to an hour) or look=TIME (up to a second) \
                     instead of `{word}`"
                ))
            };
            match word.split_once('=').ok_or_else(wrong)? {
                ("late", "refuse") => plan.late_comers = LateComers::Refuse,
                ("late", "share") => plan.late_comers = LateComers::Share,
                ("urgency", "deadline") => plan.urgency = RequestOrder::Deadline,
                ("urgency", "priority") => plan.urgency = RequestOrder::Priority,
                ("beyond", "refuse") => plan.beyond = BeyondBudget::Refuse,
                ("beyond", "demote") => plan.beyond = BeyondBudget::Demote,
                ("beyond", "throttle") => plan.beyond = BeyondBudget::Throttle,
                ("beyond", "pause") => plan.beyond = BeyondBudget::Pause,
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
                ("look", look) => {
                    let nanos = time::parse(look).ok().filter(|nanos| *nanos <= time::SECOND);
                    plan.look = Duration::from_nanos(nanos.ok_or_else(wrong)?);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use oxorb_sched::admission::{Answer, MemberRequest};

    use super::*;

    #[test]
    fn guarantees_count_on_the_thread_that_watches() {
        let plan = AdmissionPlan::default();
        let wanted = || MemberRequest {
            name: "operation A::b".into(),
            worst_case: 2 * time::MILLISECOND,
            period: 10 * time::MILLISECOND,
            deadline: 10 * time::MILLISECOND,
            priority: 0,
            shares: false,
        };
        let response = |watched| match plan.controller(watched, None).admit(wanted()) {
            Ok(Answer::Guaranteed { response }) => response,
            other => panic!("{other:?}"),
        };
        assert_eq!(response(None), 2_000_000);
        // The watching thread preempts the member twice, for 50 us each time.
        assert_eq!(response(Some(Duration::from_millis(1))), 2_100_000);
    }

    #[test]
    fn guarantees_take_at_most_what_the_kernel_allows() {
        let wanted = |name: &str| MemberRequest {
            name: name.into(),
            worst_case: 2 * time::MILLISECOND,
            period: 10 * time::MILLISECOND,
            deadline: 10 * time::MILLISECOND,
            priority: 0,
            shares: false,
        };
        let plan = |percent: u64| AdmissionPlan {
            guaranteed: Utilization(percent * 10_000_000),
            ..AdmissionPlan::default()
        };
        let cases = [(100, None, 5), (100, Some(60), 3), (100, Some(250), 5), (40, Some(60), 2)];
        for (percent, allowed, expected) in cases {
            let allowed = allowed.map(|percent: u64| Utilization(percent * 10_000_000));
            let mut controller = plan(percent).controller(None, allowed);
            let guaranteed = (0..8).filter(|number| {
                let answer = controller.admit(wanted(&number.to_string()));
                matches!(answer, Ok(Answer::Guaranteed { .. }))
            });
            assert_eq!(guaranteed.count(), expected, "{percent} % of {allowed:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_told() {
        let text = "late=share urgency=priority beyond=throttle guarantee=80% period=20ms look=9us";
        let plan: AdmissionPlan = text.parse().unwrap();
        assert_eq!(plan.guaranteed, Utilization(800_000_000));
        assert_eq!(plan.period, Duration::from_millis(20));
        assert_eq!(plan.look, Duration::from_micros(9));
        let paused: AdmissionPlan = "late=share beyond=pause".parse().unwrap();
        assert_eq!(paused.beyond, BeyondBudget::Pause);
        for wrong in
            ["late", "late=never", "guarantee=101%", "period=0ms", "period=3601s", "look=2s", "x=1"]
        {
            let error = wrong.parse::<AdmissionPlan>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
