//! Agreement of proof and enforcement: a proved deadline is missed neither by the simulation nor by
//! a run of the emitted table on a virtual clock, over the queues of the ORB, with the overheads
//! that the analysis counted.

use oxorb_sched::analysis::{DeadlineOutcome, End, analyse};
use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::{CallKind, Characteristics, Constraints};
use oxorb_sched::simulate::{Job, Release, SimulationOptions, Timeline, enforce, releases, run};
use oxorb_sched::time::{MICROSECOND, MILLISECOND};
use oxorb_sched::{
    DispatchModel, DispatchTable, Dispatching, Error, OsPriorities, Overheads, Repository,
    Schedule, Strategy as Scheduling, Task, TaskSet,
};
use proptest::prelude::*;

/// Periods in milliseconds; the frame is 240.
const PERIODS: [u64; 7] = [10, 12, 15, 20, 24, 40, 60];

#[derive(Debug, Clone)]
struct Said {
    /// Index in [`PERIODS`].
    period: usize,
    /// Share of the processor, relative to the others.
    share: u64,
    /// Deadline in eighths of the period.
    deadline: u64,
    criticality: usize,
    importance: usize,
    threads: u32,
    /// Earlier operations that call this one or send events to it: index, number of calls, and
    /// kind.
    callers: Vec<(usize, u32, CallKind)>,
    /// Phase in milliseconds.
    phase: u64,
    jitter: u64,
}

fn said() -> impl Strategy<Value = Said> {
    let kind = prop_oneof![3 => Just(CallKind::OneWay), 1 => Just(CallKind::TwoWay)];
    let callers = prop::collection::vec((0..8usize, 1..3u32, kind), 0..2);
    let levels = (0..5usize, 0..5usize, prop_oneof![4 => Just(1u32), 1 => Just(2)]);
    let times = (
        0..PERIODS.len(),
        1..100u64,
        5..=8u64,
        0..60u64,
        prop_oneof![3 => Just(0u64), 1 => 0..4u64],
    );
    (times, levels, callers).prop_map(
        |((period, share, deadline, phase, jitter), levels, callers)| {
            let (criticality, importance, threads) = levels;
            Said {
                period,
                share,
                deadline,
                criticality,
                importance,
                threads,
                callers,
                phase,
                jitter,
            }
        },
    )
}

/// Returns the operations, with a total utilisation in thousandths of the processor.
fn repository(all: &[Said], load: u64) -> Result<Repository, Error> {
    let shares: u64 = all.iter().map(|said| said.share).sum();
    let mut repository = Repository::new();
    for (at, said) in all.iter().enumerate() {
        let handle = repository.create(&format!("o{at}"))?;
        let period = PERIODS[said.period] * MILLISECOND;
        // An operation without a rate of its own has no threads: it runs at the rate of its
        // callers.
        let own = said.callers.is_empty() || said.share % 3 == 0;
        let characteristics = Characteristics {
            worst_case: (period / 1_000 * load * said.share / shares / u64::from(said.threads))
                .max(1),
            period: if own { period } else { 0 },
            threads: if own { said.threads } else { 0 },
            criticality: Criticality::ALL[said.criticality],
            importance: Importance::ALL[said.importance],
            constraints: Constraints {
                deadline: own.then_some(period / 8 * said.deadline),
                jitter: said.jitter * MILLISECOND,
                ..Constraints::default()
            },
            ..Characteristics::default()
        };
        repository.set(handle, characteristics)?;
        for &(caller, calls, kind) in &said.callers {
            let Some(caller) = (at > 0).then(|| caller % at) else {
                continue;
            };
            let caller = repository.lookup(&format!("o{caller}"))?;
            let (dependent, on) = match kind {
                CallKind::TwoWay => (caller, handle),
                CallKind::OneWay => (handle, caller),
            };
            repository.add_dependency(dependent, on, calls, kind)?;
        }
    }
    Ok(repository)
}

fn overheads() -> impl Strategy<Value = Overheads> {
    let step = prop::sample::select(vec![50, 100, 1_000]);
    let costs = prop_oneof![2 => Just((0, 0)), 1 => (0..20u64, 0..20u64)];
    (step, costs).prop_map(|(step, (dispatch, switch))| Overheads {
        step: step * MICROSECOND,
        dispatch: dispatch * MICROSECOND,
        switch: switch * MICROSECOND,
    })
}

/// Returns the first job that is late although its deadline was proved.
fn broken(set: &TaskSet, proved: &[bool], timeline: &Timeline) -> Option<String> {
    let late = timeline.jobs.iter().find(|job| proved[job.task] && job.missed())?;
    Some(format!("{late:?} of {:#?}", set.tasks[late.task]))
}

/// Returns the first job at the end of a chain that ends later than proved.
fn beyond_end_to_end(set: &TaskSet, chains: &[End], timeline: &Timeline) -> Option<String> {
    for End { steps, firsts, response } in chains {
        let (first, last) = (*steps.first()?, *steps.last()?);
        let Some(response) = *response else {
            continue;
        };
        let begins = steps[..*firsts].iter();
        let begins = begins.map(|&first| set.tasks[first].offset.unwrap_or(0));
        let begin = begins.max()?;
        for job in timeline.jobs.iter().filter(|job| job.task == last) {
            let nominal = begin + job.number * set.tasks[first].period;
            if job.done.is_none_or(|done| done > nominal + response) {
                return Some(format!(
                    "{job:?} of {:#?}, {response} from {nominal} on",
                    set.tasks[last]
                ));
            }
        }
    }
    None
}

/// When a job that blocks a chain ends, it releases receivers of the previous instance. They follow
/// the chain's last step but are more urgent than that step, so the bound must count them.
#[test]
fn receivers_that_a_blocking_job_releases_count() {
    let task = |name: &str, wcet, period| Task::periodic(name, wcet, period);
    let mut tasks = vec![
        task("echo", 1, 40),
        task("first late", 4, 40),
        task("second late", 4, 40),
        task("supplier", 2, 40),
        task("channel", 2, 40),
    ];
    // Split work of 34 into seven tasks, none of which blocks longer than `relay`.
    tasks.extend((0..7).map(|number| task(&format!("display {number}"), 5 - number / 6, 80)));
    tasks.push(task("relay", 5, 40));
    let after = [(0, 4), (1, 12), (2, 12), (4, 3), (12, 4)];
    for (receiver, sender) in after {
        tasks[receiver].after = vec![tasks[sender].name.clone()];
    }
    let set = TaskSet::dynamic(tasks, Dispatching::Static, DispatchModel::NonPreemptive);
    let simulated = run(&set, &releases(&set, 160).unwrap(), &SimulationOptions::default());
    let channel = |job: &&Job| job.task == 4 && job.number == 1;
    let second = simulated.jobs.iter().find(channel).unwrap();
    assert_eq!(second.done, Some(40 + 16), "the example happens");
    let chains = analyse(&set).chains;
    assert_eq!(chains.len(), 3, "{chains:?}");
    assert_eq!(beyond_end_to_end(&set, &chains, &simulated), None);
}

/// Full preemption by laxity: a job that has run for longer than the distance to the next job of
/// its task takes turns with that job, so that the later instance of a chain precedes the earlier
/// one.
#[test]
fn instances_of_a_chain_that_take_turns_count() {
    let mut set = TaskSet::fixed_priority([
        Task::periodic("urgent", 13, 40),
        Task::periodic("sender", 2, 20),
        Task::periodic("receiver", 9, 20),
    ]);
    set.tasks[2].after = vec!["sender".into()];
    set.tasks[2].dispatching = Dispatching::Laxity;
    set.overheads.step = 1;
    let simulated = run(&set, &releases(&set, 40).unwrap(), &SimulationOptions::default());
    let first = simulated.jobs.iter().find(|job| job.task == 2).unwrap();
    let alone = 13 + 2 + 9 + 2;
    assert_eq!(first.done, Some(alone + 1), "the example happens");
    let chains = analyse(&set).chains;
    assert_eq!(chains[0].response, Some(13 + 2 * (2 + 9)));
    assert_eq!(beyond_end_to_end(&set, &chains, &simulated), None);
}

/// By laxity, two jobs of one task preempt each other repeatedly even on a processor of their own
/// if events release the second soon after the first. All work meets its deadlines, but each step
/// may take time that the first job needs.
#[test]
fn jobs_of_one_task_that_take_turns_count() {
    let mut task = Task::periodic("task", 22, 24);
    (task.deadline, task.delay) = (38, 17);
    let mut set = TaskSet::dynamic([task], Dispatching::Laxity, DispatchModel::Urgency);
    set.overheads.step = 7;
    let come = [17, 24, 48].map(|at| Release { at, task: 0 });
    let simulated = run(&set, &come, &SimulationOptions::default());
    assert!(simulated.jobs[0].missed(), "the example happens");
    assert_eq!(analyse(&set).verdicts[0].outcome, DeadlineOutcome::Unproven);
    set.overheads.step = 1;
    assert_eq!(analyse(&set).verdicts[0].outcome, DeadlineOutcome::Meets);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_proved_is_missed_neither_in_simulation_nor_by_the_table(
        all in prop::collection::vec(said(), 1..7),
        load in 300..1_000u64,
        strategy in prop::sample::select(Scheduling::ALL.to_vec()),
        model in prop::sample::select(DispatchModel::ALL.to_vec()),
        overheads in overheads(),
    ) {
        let repository = repository(&all, load).unwrap();
        let priorities = OsPriorities::range(1, 99).unwrap();
        let Ok(mut schedule) = Schedule::compute(&repository, &strategy, &model, &priorities) else {
            return Ok(());
        };
        schedule.tasks.overheads = overheads;
        let report = analyse(&schedule.tasks);
        let proved: Vec<bool> = report
            .verdicts
            .iter()
            .map(|verdict| verdict.outcome == DeadlineOutcome::Meets)
            .collect();
        let table = DispatchTable::from(&schedule);
        let rows = schedule.rows();
        let mut set = schedule.tasks.clone();
        for phased in [false, true] {
            if phased {
                for (place, task) in set.tasks.iter_mut().enumerate() {
                    task.offset = Some(all[place % all.len()].phase * MILLISECOND);
                }
            }
            let releases = releases(&set, 240 * MILLISECOND).unwrap();
            let simulated = run(&set, &releases, &SimulationOptions::default());
            if !phased {
                let late = beyond_end_to_end(&set, &report.chains, &simulated);
                prop_assert_eq!(late, None, "simulated");
            }
            prop_assert_eq!(broken(&set, &proved, &simulated), None, "simulated, phased: {}", phased);
            let enforced = enforce(&table, &rows, &set, &releases);
            prop_assert_eq!(enforced.is_none(), table.enforceable().is_err());
            prop_assert!(enforced.is_some() || model != DispatchModel::Band);
            if let Some(enforced) = enforced {
                prop_assert_eq!(broken(&set, &proved, &enforced), None, "enforced, phased: {}", phased);
            }
        }
    }
}

/// The random operations are significant: deadlines are proved under each strategy and model, also
/// by events, and tables are run.
#[test]
fn the_random_operations_are_proved_and_enforced_often_enough() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let operations = prop::collection::vec(said(), 4..7);
    for strategy in Scheduling::ALL {
        for model in DispatchModel::ALL {
            let (mut proved, mut by_events, mut tables, mut tasks) = (0, 0, 0, 0);
            let (mut chains, mut bounded) = (0, 0);
            for load in (300..900).step_by(20) {
                let all = operations.new_tree(&mut runner).unwrap().current();
                let repository = repository(&all, load).unwrap();
                let priorities = OsPriorities::range(1, 99).unwrap();
                let Ok(schedule) = Schedule::compute(&repository, &strategy, &model, &priorities)
                else {
                    continue;
                };
                tasks += schedule.tasks.tasks.len();
                tables += u32::from(DispatchTable::from(&schedule).enforceable().is_ok());
                let report = analyse(&schedule.tasks);
                chains += report.chains.len();
                let ends = report.chains.iter();
                bounded += ends.filter(|chain| chain.response.is_some()).count();
                for verdict in report.verdicts {
                    let meets = verdict.outcome == DeadlineOutcome::Meets;
                    let task = &schedule.tasks.tasks[verdict.task];
                    proved += usize::from(meets);
                    by_events += usize::from(meets && !task.after.is_empty());
                }
            }
            let why = format!("{strategy}, {model}: {proved} of {tasks}, {by_events} by events");
            assert!(proved * 5 > tasks && by_events > 2, "{why}");
            assert!(bounded > 2, "{why}, {bounded} of {chains} chains");
            assert!(tables > 10 || model != DispatchModel::Band, "{why}");
        }
    }
}
