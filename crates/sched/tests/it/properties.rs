//! Properties of every set of tasks: analysis against simulation, and equal arrivals in equal
//! order.

use oxorb_sched::analysis::holistic::{Flow, Resource, Step, analyse_flows};
use oxorb_sched::analysis::{self, DeadlineOutcome, analyse};
use oxorb_sched::level::Criticality;
use oxorb_sched::repository::Characteristics;
use oxorb_sched::simulate::{
    LatePolicy, Release, SimulationOptions, Timeline, construct, releases, run,
};
use oxorb_sched::{
    DispatchModel, Dispatching, OsPriorities, Repository, Schedule, Strategy as Scheduling, Task,
    TaskSet, overloads, time,
};
use proptest::prelude::*;

/// Periods whose least common multiple is small.
const PERIODS: [u64; 6] = [4, 5, 6, 8, 10, 12];

fn tasks(most: usize) -> impl Strategy<Value = Vec<Task>> {
    let task = (0..PERIODS.len(), 1..=4u64, 0..=3u64).prop_map(|(period, wcet, slack)| {
        let period = PERIODS[period];
        Task {
            deadline: period.saturating_sub(slack).max(1),
            ..Task::periodic("t", wcet.min(period), period)
        }
    });
    prop::collection::vec(task, 1..=most)
}

fn model() -> impl Strategy<Value = DispatchModel> {
    prop::sample::select(DispatchModel::ALL.to_vec())
}

fn dispatching() -> impl Strategy<Value = Dispatching> {
    prop::sample::select(vec![Dispatching::Static, Dispatching::Deadline, Dispatching::Laxity])
}

/// Returns static priorities in the given order, with neighbours sharing bands of two.
fn fixed(tasks: Vec<Task>, model: DispatchModel) -> TaskSet {
    let mut set = TaskSet::fixed_priority(tasks);
    set.model = model;
    for (place, task) in set.tasks.iter_mut().enumerate() {
        task.band = match model {
            DispatchModel::Urgency => place as u32,
            DispatchModel::Band => place as u32 / 2,
            DispatchModel::NonPreemptive => 0,
        };
    }
    set
}

fn simulate(set: &TaskSet, frame: u64) -> Timeline {
    let options = SimulationOptions { late: LatePolicy::Keep };
    run(set, &releases(set, frame).unwrap(), &options)
}

fn worst_latencies(set: &TaskSet, timeline: &Timeline) -> Vec<u64> {
    let mut worst = vec![0; set.tasks.len()];
    for job in &timeline.jobs {
        worst[job.task] = worst[job.task].max(job.latency().unwrap());
    }
    worst
}

/// Returns the worst latency of each task over all phases in whole units.
fn exhaust(set: &TaskSet) -> Vec<u64> {
    let frame = time::frame(set.tasks.iter().map(|task| task.period)).unwrap();
    let mut worst = vec![0; set.tasks.len()];
    let mut phased = set.clone();
    let mut offsets = vec![0; set.tasks.len()];
    loop {
        for (task, &offset) in phased.tasks.iter_mut().zip(&offsets) {
            task.offset = Some(offset);
        }
        let timeline = simulate(&phased, 3 * frame);
        for (worst, found) in worst.iter_mut().zip(worst_latencies(&phased, &timeline)) {
            *worst = found.max(*worst);
        }
        let mut at = 0;
        while at < offsets.len() {
            offsets[at] += 1;
            if offsets[at] < set.tasks[at].period {
                break;
            }
            offsets[at] = 0;
            at += 1;
        }
        if at == offsets.len() {
            return worst;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Response-time analysis equals the result of an exhaustive simulation of small sets.
    #[test]
    fn response_times_are_exact_for_small_sets(tasks in tasks(3), model in model()) {
        let set = fixed(tasks, model);
        prop_assume!(!overloads(&set.tasks));
        let found = exhaust(&set);
        let verdicts = analyse(&set).verdicts;
        for (verdict, worst) in verdicts.iter().zip(found) {
            prop_assert_eq!(verdict.response, Some(worst), "{}", verdict.explain(&set));
        }
    }

    /// The bounds for queues by deadline and laxity are never below an exhaustive simulation's.
    #[test]
    fn bounds_of_dynamic_queues_are_never_too_small(
        tasks in tasks(3),
        dispatching in dispatching(),
        model in model(),
    ) {
        let set = TaskSet::dynamic(tasks, dispatching, model);
        prop_assume!(!overloads(&set.tasks));
        let found = exhaust(&set);
        let verdicts = analyse(&set).verdicts;
        for (verdict, worst) in verdicts.iter().zip(found) {
            if let Some(response) = verdict.response {
                prop_assert!(response >= worst, "{worst}: {}", verdict.explain(&set));
            }
            if verdict.outcome == DeadlineOutcome::Meets {
                prop_assert!(worst <= set.tasks[verdict.task].deadline, "{}", verdict.explain(&set));
            }
        }
    }

    /// Mixed levels, any strategy and model: a proved deadline is never missed, and a miss found by
    /// an exact analysis occurs when all arrive together.
    #[test]
    fn feasible_sets_never_miss(
        tasks in tasks(6),
        levels in prop::collection::vec(0..3u32, 6),
        dispatching in prop::collection::vec(dispatching(), 3),
        model in model(),
        phases in prop::collection::vec(0..12u64, 6),
        step in 1..=4u64,
    ) {
        let mut set = TaskSet::dynamic(tasks, Dispatching::Static, model);
        set.overheads.step = step;
        for (place, task) in set.tasks.iter_mut().enumerate() {
            task.level = levels[place];
            task.dispatching = dispatching[levels[place] as usize];
            task.band = match model {
                DispatchModel::NonPreemptive => 0,
                _ => task.level,
            };
        }
        let report = analyse(&set);
        let frame = time::frame(set.tasks.iter().map(|task| task.period)).unwrap();
        for (place, task) in set.tasks.iter_mut().enumerate() {
            task.offset = Some(phases[place]);
        }
        let timeline = simulate(&set, 2 * frame + 12);
        for job in &timeline.jobs {
            let verdict = &report.verdicts[job.task];
            if verdict.outcome == DeadlineOutcome::Meets {
                prop_assert!(!job.missed(), "{}", verdict.explain(&set));
            }
        }
    }

    /// Known offsets never make a bound longer, and the shorter bound is still safe.
    #[test]
    fn offsets_are_safe(tasks in tasks(4), phases in prop::collection::vec(0..12u64, 4)) {
        let loose = fixed(tasks, DispatchModel::Urgency);
        let mut phased = loose.clone();
        for (place, task) in phased.tasks.iter_mut().enumerate() {
            task.offset = Some(phases[place] % task.period);
        }
        prop_assume!(!overloads(&loose.tasks));
        let frame = time::frame(loose.tasks.iter().map(|task| task.period)).unwrap();
        let worst = worst_latencies(&phased, &simulate(&phased, 3 * frame));
        let (with, without) = (analyse(&phased), analyse(&loose));
        for (place, worst) in worst.into_iter().enumerate() {
            let response = with.verdicts[place].response.unwrap();
            prop_assert!(worst <= response);
            prop_assert!(response <= without.verdicts[place].response.unwrap());
        }
    }

    /// Releases delayed by jitter stay within the bound.
    #[test]
    fn jitter_is_safe(
        tasks in tasks(4),
        jitters in prop::collection::vec(0..4u64, 4),
        late in prop::collection::vec(0..4u64, 64),
        model in model(),
    ) {
        let mut set = fixed(tasks, model);
        for (task, jitter) in set.tasks.iter_mut().zip(&jitters) {
            task.jitter = *jitter;
        }
        let report = analyse(&set);
        let frame = time::frame(set.tasks.iter().map(|task| task.period)).unwrap();
        let nominal = releases(&set, 2 * frame).unwrap();
        let mut delayed: Vec<(Release, u64)> = nominal
            .iter()
            .enumerate()
            .map(|(at, release)| {
                let delay = late[at % late.len()].min(jitters[release.task]);
                (Release { at: release.at + delay, ..*release }, release.at)
            })
            .collect();
        delayed.sort_by_key(|(release, _)| *release);
        let only: Vec<Release> = delayed.iter().map(|(release, _)| *release).collect();
        let timeline = run(&set, &only, &SimulationOptions::default());
        for (job, (_, nominal)) in timeline.jobs.iter().zip(&delayed) {
            if let Some(response) = report.verdicts[job.task].response {
                prop_assert!(job.done.unwrap() - nominal <= response);
            }
        }
    }

    /// Late events, so close to the next ones that jobs of one task compete, stay within the proved
    /// bounds in every queue: response and deadline count from their arrival.
    #[test]
    fn late_events_are_safe(
        numbers in prop::collection::vec((6..24u64, 1..100u64, 0..24u64, 0..30u64), 1..4),
        late in prop::collection::vec(0..100u64, 24),
        dispatching in dispatching(),
        model in model(),
        step in 1..=8u64,
    ) {
        let tasks = numbers.iter().map(|&(period, share, delay, slack)| {
            let wcet = (period * share / (100 * numbers.len() as u64)).max(1);
            let delay = delay.saturating_sub(6);
            Task { delay, deadline: wcet + slack, ..Task::periodic("t", wcet, period) }
        });
        let mut set = TaskSet::dynamic(tasks, dispatching, model);
        set.overheads.step = step;
        let verdicts = analyse(&set).verdicts;
        let mut come = Vec::new();
        for (place, task) in set.tasks.iter().enumerate() {
            for number in 0..6 {
                // Three quarters of the values delay an event fully or not at all.
                let share = late[(place * 6 + number) % late.len()] * 4;
                let share = if share < 100 { 4 * share.min(25) } else { 100 * (share / 100 % 2) };
                let at = task.deadline % 7 + number as u64 * task.period + task.delay * share / 100;
                come.push(Release { at, task: place });
            }
        }
        come.sort_unstable();
        for job in &run(&set, &come, &SimulationOptions::default()).jobs {
            let verdict = &verdicts[job.task];
            prop_assert!(
                verdict.outcome != DeadlineOutcome::Meets || !job.missed(),
                "{job:?} {}", verdict.explain(&set)
            );
            if let Some(response) = verdict.response {
                prop_assert!(job.latency().unwrap() <= response, "{job:?} {}", verdict.explain(&set));
            }
        }
    }

    /// Equal arrivals give an equal order, however the set is written down.
    #[test]
    fn the_same_arrivals_give_the_same_order(
        tasks in tasks(6),
        dispatching in dispatching(),
        model in model(),
    ) {
        let set = TaskSet::dynamic(tasks, dispatching, model);
        let first = simulate(&set, 60);
        prop_assert_eq!(&first, &simulate(&set, 60));
        // Reversing the tasks changes their indices but not the static order.
        let mut turned = set.clone();
        turned.tasks.reverse();
        let last = set.tasks.len() - 1;
        let spans = |timeline: &Timeline, place: fn(usize, usize) -> usize| -> Vec<(usize, u64, u64)> {
            let slices = timeline.slices.iter();
            slices
                .map(|slice| (place(timeline.jobs[slice.job].task, last), slice.from, slice.to))
                .collect()
        };
        let second = simulate(&turned, 60);
        prop_assert_eq!(
            spans(&first, |task, _| task),
            spans(&second, |task, last| last - task)
        );
        prop_assert_eq!(construct(&set, 60), construct(&set, 60));
    }

    /// The quick demand test for EDF agrees with a simulation of the whole frame.
    #[test]
    fn demand_is_exact_for_deadlines(tasks in tasks(5)) {
        let set = TaskSet::dynamic(tasks, Dispatching::Deadline, DispatchModel::Urgency);
        let all: Vec<&Task> = set.tasks.iter().collect();
        let outcome = analysis::demand::test(&all);
        let frame = time::frame(set.tasks.iter().map(|task| task.period)).unwrap();
        let missed = simulate(&set, 2 * frame).jobs.iter().any(|job| job.missed());
        match outcome {
            analysis::demand::DemandOutcome::Meets => prop_assert!(!missed),
            analysis::demand::DemandOutcome::Overload => prop_assert!(overloads(&set.tasks)),
            _ => prop_assert!(missed, "{outcome:?}"),
        }
        prop_assert_eq!(analyse(&set).is_feasible(), outcome == analysis::demand::DemandOutcome::Meets);
    }
}

/// Realistic times: whole and half milliseconds, far from multiples of the step.
fn slow_tasks(most: usize) -> impl Strategy<Value = Vec<Task>> {
    let task = (0..PERIODS.len(), 1..=4_000u64, 0..=3u64).prop_map(|(period, wcet, slack)| {
        let period = PERIODS[period] * time::MILLISECOND;
        Task {
            deadline: period - slack * time::MILLISECOND / 2,
            ..Task::periodic("t", wcet * time::MICROSECOND, period)
        }
    });
    prop::collection::vec(task, 2..=most)
}

/// Scales the execution times to a load under which all deadlines are met with little time left
/// over. Then it matters that laxity is evaluated only once a step.
fn nearly_full(tasks: &mut [Task], per_mille: u64) {
    let load: f64 = tasks.iter().map(|task| task.wcet as f64 / task.deadline as f64).sum();
    for task in tasks {
        let wcet = task.wcet as f64 / load * per_mille as f64 / 1_000.0;
        task.wcet = (wcet as u64).max(1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A proof under MLF holds if laxity is evaluated once a step and not continuously.
    #[test]
    fn laxity_that_is_looked_at_each_step_misses_nothing_proved(
        tasks in slow_tasks(5),
        per_mille in 900..=1_000u64,
        step in prop::sample::select(vec![20, 100, 500, 2_000]),
    ) {
        let mut tasks = tasks;
        nearly_full(&mut tasks, per_mille);
        let mut set = TaskSet::dynamic(tasks, Dispatching::Laxity, DispatchModel::Urgency);
        set.overheads.step = step * time::MICROSECOND;
        let report = analyse(&set);
        let timeline = simulate(&set, 120 * time::MILLISECOND);
        for job in &timeline.jobs {
            let verdict = &report.verdicts[job.task];
            prop_assert!(
                verdict.outcome != DeadlineOutcome::Meets || !job.missed(),
                "{}", verdict.explain(&set)
            );
        }
    }
}

/// A thousand operations are within the limits of the analysis; `examples/thousand.rs` shows how
/// long it takes.
#[test]
fn a_thousand_operations() {
    let mut repository = Repository::new();
    for at in 0..1_000u64 {
        let handle = repository.create(&format!("operation_{at}")).unwrap();
        let period = (1 + at % 40) * 5 * time::MILLISECOND;
        let said = Characteristics {
            // All operations together load 0.7 of the processor.
            worst_case: period * 7 / 10_000,
            period,
            criticality: Criticality::ALL[at as usize % 5],
            threads: 1,
            ..Characteristics::default()
        };
        repository.set(handle, said).unwrap();
    }
    let priorities = OsPriorities::range(1, 99).unwrap();
    for strategy in [Scheduling::RMS, Scheduling::EDF] {
        for model in [DispatchModel::Urgency, DispatchModel::Band] {
            let schedule = Schedule::compute(&repository, &strategy, &model, &priorities).unwrap();
            let report = analyse(&schedule.tasks);
            assert_eq!(report.verdicts.len(), 1_000);
            assert!(
                report.verdicts.iter().any(|verdict| verdict.outcome == DeadlineOutcome::Meets)
            );
        }
    }
}

/// Simulates a step of a flow, released when the previous step is done, among tasks with phases of
/// their own.
fn play(set: &TaskSet, step: usize, begun: &[u64], phases: &[u64], frame: u64) -> Vec<u64> {
    let mut phased = set.clone();
    for (task, phase) in phased.tasks.iter_mut().zip(phases) {
        task.offset = Some(*phase);
    }
    let others = releases(&phased, frame).unwrap().into_iter();
    let mut all: Vec<Release> = others.filter(|release| release.task != step).collect();
    all.extend(begun.iter().map(|&at| Release { at, task: step }));
    all.sort();
    let timeline = run(set, &all, &SimulationOptions::default());
    let jobs = timeline.jobs.iter().filter(|job| job.task == step);
    jobs.map(|job| job.done.unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A flow over a processor, a link and another processor is never slower than the holistic
    /// bound.
    #[test]
    fn flows_are_never_slower_than_analysed(
        nodes in prop::collection::vec(tasks(3), 3),
        wcets in prop::collection::vec(1..=2u64, 3),
        places in prop::collection::vec(0..4usize, 3),
        phases in prop::collection::vec(0..12u64, 9),
        first in 0..12u64,
    ) {
        let period = 12;
        let mut resources = Vec::new();
        let mut steps = Vec::new();
        for (resource, tasks) in nodes.into_iter().enumerate() {
            let task = places[resource].min(tasks.len());
            let mut tasks = tasks;
            tasks.insert(task, Task::periodic("step", wcets[resource], period));
            let model = match resource {
                1 => DispatchModel::NonPreemptive,
                _ => DispatchModel::Urgency,
            };
            let set = fixed(tasks, model);
            prop_assume!(!overloads(&set.tasks));
            resources.push(Resource { name: "r".into(), set });
            steps.push(Step { resource, task });
        }
        let flow = Flow { name: "flow".into(), steps: steps.clone(), deadline: 1_000 };
        let found = analyse_flows(&resources, &[flow]).unwrap();
        let frame = 240;
        let begins: Vec<u64> = (0..).map(|job| first + job * period).take_while(|&at| at < frame).collect();
        let mut begun = begins.clone();
        for (place, step) in steps.iter().enumerate() {
            let set = &resources[step.resource].set;
            begun = play(set, step.task, &begun, &phases[place * 3..], frame + 120);
            if let Some(by) = found.flows[0].by[place] {
                for (done, begin) in begun.iter().zip(&begins) {
                    prop_assert!(done - begin <= by, "step {place}: {done} - {begin} > {by}");
                }
            }
        }
    }
}
