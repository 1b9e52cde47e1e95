//! Admission control: whether an operation may be added to the running ones without endangering a
//! proved deadline.
//!
//! The running operations are analysed together with the new one. It is admitted if its own deadline is proved and
//! every deadline proved before still is; otherwise the [`Refusal`] names the operation that would be late, what it
//! would wait for, and how late it would be.

mod controller;

use std::fmt::{self, Write as _};

pub use controller::{
    Answer, Controller, Late, LateComers, Member, MemberGrant, MemberRequest, RequestOrder, Share,
    Unacceptable,
};

use crate::analysis::{DeadlineOutcome, Method, analyse, demand};
use crate::error::Error;
use crate::repository::{Characteristics, Repository};
use crate::schedule::{OsPriorities, Schedule};
use crate::strategy::{InputMapping, OutputMapping};
use crate::task::{Task, TaskSet, Utilization};
use crate::time::Nanos;

/// Running operations, including the newly admitted one.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Repository for the next call of [`admit`].
    pub repository: Repository,
    /// Schedule to be enforced from now on.
    pub schedule: Schedule,
}

/// Reason why an operation was not admitted.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The declaration is invalid, for example a duplicate name or a time out of range, or no schedule can be computed
    /// for it.
    #[error(transparent)]
    Invalid(#[from] Error),
    /// The operation itself or another one would miss its deadline.
    #[error("{operation} is not admitted, because with it {because}")]
    Late {
        /// Operation that was not admitted.
        operation: String,
        /// Operation that would miss its deadline, which is often the refused operation itself.
        late: String,
        /// Time by which the operation's deadline would be missed, in ns; `None` if the response is unbounded.
        short: Option<Nanos>,
        /// Sentence that explains why the deadline would be missed.
        because: String,
    },
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Admits an operation to the running ones, or refuses it with the reason. `running` stays unchanged; the caller uses
/// the returned repository from then on.
///
/// Runs two analyses and allocates: do not call it on a request's path.
///
/// ```
/// use oxorb_sched::admission::{Refusal, admit};
/// use oxorb_sched::repository::Characteristics;
/// use oxorb_sched::time::MILLISECOND;
/// use oxorb_sched::{DispatchModel, OsPriorities, Repository, Strategy};
///
/// let task = |worst_case, period| Characteristics {
///     worst_case: worst_case * MILLISECOND,
///     period: period * MILLISECOND,
///     threads: 1,
///     ..Characteristics::default()
/// };
/// let priorities = OsPriorities::range(1, 99)?;
/// let admit = |running: &Repository, name, said| {
///     admit(running, name, said, &Strategy::RMS, &DispatchModel::Band, &priorities)
/// };
/// let control = admit(&Repository::new(), "control", task(4, 10)).unwrap();
/// let display = admit(&control.repository, "display", task(8, 20)).unwrap();
/// let refused = admit(&display.repository, "log", task(10, 40)).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "log is not admitted, because with it log: misses its deadline of 40 ms, the more urgent work never ends: the \
///      work of at least this urgency uses 105.00 % of the processor, control 40.00 %, display 40.00 %, log 25.00 %",
/// );
/// # Ok::<(), oxorb_sched::Error>(())
/// ```
///
/// # Errors
/// [`Refusal`].
pub fn admit(
    running: &Repository,
    name: &str,
    said: Characteristics,
    input: &dyn InputMapping,
    output: &dyn OutputMapping,
    priorities: &OsPriorities,
) -> Result<Admitted, Refusal> {
    let mut repository = running.clone();
    let handle = repository.create(name)?;
    repository.set(handle, said)?;
    let schedule = Schedule::compute(&repository, input, output, priorities)?;
    let before = Schedule::compute(running, input, output, priorities)?;
    let proved = analyse(&before.tasks);
    let was_late = |late: &str| {
        let mut verdicts = proved.verdicts.iter();
        verdicts.any(|one| {
            one.outcome != DeadlineOutcome::Meets && before.tasks.tasks[one.task].name == late
        })
    };
    let report = analyse(&schedule.tasks);
    for verdict in &report.verdicts {
        let task = &schedule.tasks.tasks[verdict.task];
        if verdict.outcome == DeadlineOutcome::Meets || was_late(&task.name) {
            continue;
        }
        return Err(Refusal::Late {
            operation: name.into(),
            late: task.name.clone(),
            short: match (verdict.response, verdict.method) {
                (Some(response), _) => Some(response.saturating_sub(task.deadline)),
                (None, Method::Demand(demand::DemandOutcome::Short { by, .. })) => Some(by),
                (None, _) => None,
            },
            because: match verdict.response {
                None if verdict.outcome == DeadlineOutcome::Misses => format!(
                    "{}: {}",
                    verdict.explain(&schedule.tasks),
                    overload(&schedule.tasks, task)
                ),
                _ => verdict.explain(&schedule.tasks).to_string(),
            },
        });
    }
    schedule.check()?;
    Ok(Admitted { repository, schedule })
}

/// Returns the explanation of an unbounded response.
fn overload(set: &TaskSet, late: &Task) -> String {
    let urgent = || set.tasks.iter().filter(|task| task.band <= late.band);
    let mut told = format!(
        "the work of at least this urgency uses {} of the processor",
        Utilization::of(urgent())
    );
    for task in urgent() {
        let _ = write!(told, ", {} {}", task.name, Utilization::of_one(task));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Criticality;
    use crate::strategy::{DispatchModel, Strategy};
    use crate::time::MILLISECOND;

    fn task(worst_case: u64, period: u64, criticality: Criticality) -> Characteristics {
        Characteristics {
            worst_case: worst_case * MILLISECOND,
            period: period * MILLISECOND,
            threads: 1,
            criticality,
            ..Characteristics::default()
        }
    }

    fn try_admit(
        running: &Repository,
        name: &str,
        said: Characteristics,
    ) -> Result<Admitted, Refusal> {
        let priorities = OsPriorities::range(1, 99).unwrap();
        admit(running, name, said, &Strategy::MUF, &DispatchModel::Band, &priorities)
    }

    #[test]
    fn one_that_makes_another_late_is_refused_with_the_name_of_that_one() {
        let low = task(6, 10, Criticality::Low);
        let running = try_admit(&Repository::new(), "low", low).unwrap().repository;
        let refused = try_admit(&running, "high", task(6, 10, Criticality::High)).unwrap_err();
        let Refusal::Late { operation, late, .. } = &refused else {
            panic!("{refused}");
        };
        assert_eq!((operation.as_str(), late.as_str()), ("high", "low"));
        assert!(refused.to_string().contains("high 60.00 %"), "{refused}");
    }

    #[test]
    fn who_was_late_before_does_not_keep_others_out() {
        let mut running = Repository::new();
        let late = running.create("late").unwrap();
        running.set(late, task(12, 10, Criticality::VeryLow)).unwrap();
        let admitted = try_admit(&running, "high", task(1, 10, Criticality::High)).unwrap();
        assert_eq!(admitted.repository.len(), 2);
        assert_eq!(running.len(), 1);
    }

    #[test]
    fn what_cannot_be_is_refused_as_such() {
        let one = task(1, 10, Criticality::Low);
        let running = try_admit(&Repository::new(), "one", one).unwrap().repository;
        assert!(matches!(
            try_admit(&running, "one", one),
            Err(Refusal::Invalid(Error::DuplicateName(_)))
        ));
    }
}
