//! Examples from papers and books, with the numbers printed there.

use oxorb_sched::analysis::priorities::{optimal, ordered};
use oxorb_sched::analysis::{DeadlineOutcome, analyse};
use oxorb_sched::{DispatchModel, Task, TaskSet};

fn responses(set: &TaskSet) -> Vec<Option<u64>> {
    analyse(set).verdicts.iter().map(|verdict| verdict.response).collect()
}

fn with_deadline(name: &str, wcet: u64, period: u64, deadline: u64) -> Task {
    Task { deadline, ..Task::periodic(name, wcet, period) }
}

/// Burns and Wellings, "Real-Time Systems and Programming Languages": process sets C and D of the
/// chapter on scheduling.
#[test]
fn process_sets_of_burns_and_wellings() {
    let c = [("c", 5, 20), ("b", 10, 40), ("a", 40, 80)];
    let set =
        TaskSet::fixed_priority(c.map(|(name, wcet, period)| Task::periodic(name, wcet, period)));
    assert_eq!(responses(&set), [Some(5), Some(15), Some(80)]);
    let d = [("a", 3, 7), ("b", 3, 12), ("c", 5, 20)];
    let set =
        TaskSet::fixed_priority(d.map(|(name, wcet, period)| Task::periodic(name, wcet, period)));
    assert_eq!(responses(&set), [Some(3), Some(6), Some(20)]);
}

/// Lehoczky, "Fixed Priority Scheduling of Periodic Task Sets with Arbitrary Deadlines", RTSS 1990:
/// of seven jobs in the busy period the fifth has the longest response.
#[test]
fn the_fifth_job_of_lehoczky() {
    let set =
        TaskSet::fixed_priority([Task::periodic("1", 26, 70), with_deadline("2", 62, 100, 118)]);
    assert_eq!(responses(&set), [Some(26), Some(118)]);
    assert!(analyse(&set).is_feasible());
}

/// Lehoczky's paper, and Audsley's: shorter deadlines first is not optimal if deadlines exceed
/// periods.
#[test]
fn deadlines_beyond_periods_need_another_order() {
    let set = TaskSet::fixed_priority([
        with_deadline("1", 52, 100, 110),
        with_deadline("2", 52, 140, 154),
    ]);
    assert_eq!(responses(&set), [Some(52), Some(156)]);
    let order = optimal(&set).unwrap();
    assert_eq!(order, [1, 0]);
    assert_eq!(responses(&ordered(&set, &order)), [Some(108), Some(52)]);
}

/// Davis, Burns, Bril and Lukkien, "Controller Area Network (CAN) Schedulability Analysis: Refuted,
/// Revisited and Revised", Real-Time Systems 35(3), 2007: three messages of 1 ms each. The second
/// instance of C is late, which the refuted analysis misses.
#[test]
fn the_refutation_of_the_can_analysis() {
    // Times are in units of 1/1000 ms.
    let mut set = TaskSet::fixed_priority([
        with_deadline("A", 1_000, 2_500, 2_500),
        with_deadline("B", 1_000, 3_500, 3_250),
        with_deadline("C", 1_000, 3_500, 3_250),
    ]);
    set.model = DispatchModel::NonPreemptive;
    set.tasks.iter_mut().for_each(|task| task.band = 0);
    let found = analyse(&set).verdicts;
    assert_eq!(found[2].response, Some(3_500));
    assert_eq!(found[2].outcome, DeadlineOutcome::Misses);
    // A less urgent message blocks for 999, as it began at least one unit before.
    assert_eq!((found[0].response, found[1].response), (Some(1_999), Some(2_999)));
    assert!(found[..2].iter().all(|verdict| verdict.outcome == DeadlineOutcome::Meets));
}
