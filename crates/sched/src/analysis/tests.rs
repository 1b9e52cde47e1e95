//! Worked examples, with numbers computed by hand or published.

use super::*;

fn responses(set: &TaskSet) -> Vec<Option<u64>> {
    let verdicts = analyse(set).verdicts;
    verdicts.iter().map(|verdict| verdict.response).collect()
}

#[test]
fn three_tasks_of_the_textbook() {
    // The utilisations C/T are 1/4, 2/6 and 3/13.
    let tasks = [(1, 4), (2, 6), (3, 13)];
    let set =
        TaskSet::fixed_priority(tasks.map(|(wcet, period)| Task::periodic("t", wcet, period)));
    assert_eq!(responses(&set), [Some(1), Some(3), Some(10)]);
    assert!(analyse(&set).is_feasible());
}

#[test]
fn exact_analysis_accepts_what_the_papers_test_refuses() {
    // The paper's test charges the third task for one unit of each of the two jobs that arrive at 5,
    // although the task is done by then and only one unit is left before its deadline at 6.
    let tasks = [(1, 5), (1, 5), (3, 6)];
    let set =
        TaskSet::fixed_priority(tasks.map(|(wcet, period)| Task::periodic("t", wcet, period)));
    assert_eq!(generalised::demand(&set, 2).needed, 7);
    assert!(!generalised::demand(&set, 2).fits());
    assert_eq!(responses(&set), [Some(1), Some(2), Some(5)]);
    assert!(analyse(&set).is_feasible());
}

#[test]
fn jobs_behind_jobs_of_their_own() {
    // In Lehoczky's example deadlines exceed periods, so the first job is not the worst.
    let mut set =
        TaskSet::fixed_priority([Task::periodic("a", 52, 100), Task::periodic("b", 52, 140)]);
    set.tasks[1].deadline = 200;
    assert_eq!(responses(&set), [Some(52), Some(156)]);
    let mut set =
        TaskSet::fixed_priority([Task::periodic("a", 26, 70), Task::periodic("b", 62, 100)]);
    set.tasks[1].deadline = 118;
    // The fifth job of b has the worst response.
    assert_eq!(responses(&set), [Some(26), Some(118)]);
}

#[test]
fn jitter_and_blocking_add_up() {
    let mut set = TaskSet::fixed_priority([Task::periodic("a", 2, 10), Task::periodic("b", 4, 20)]);
    set.tasks[0].jitter = 5;
    set.tasks[1].blocking = 3;
    // a takes 2 and is released up to 5 late. b takes 4, is blocked for 3, and waits for two jobs of a:
    // one that is released late at 0, and the next one at 5.
    assert_eq!(responses(&set), [Some(7), Some(11)]);
}

#[test]
fn a_queue_blocks_and_bands_interrupt() {
    let tasks =
        || [Task::periodic("a", 2, 10), Task::periodic("b", 3, 20), Task::periodic("c", 6, 30)];
    let mut set = TaskSet::fixed_priority(tasks());
    set.model = DispatchModel::NonPreemptive;
    for task in &mut set.tasks {
        task.band = 0;
    }
    // a waits for 5 of c and takes 2. b waits for 5 of c and for a. c waits for a and b, and a second
    // job of a cannot interrupt it.
    assert_eq!(responses(&set), [Some(7), Some(10), Some(11)]);
    set.model = DispatchModel::Band;
    (set.tasks[1].band, set.tasks[2].band) = (1, 1);
    // Now a interrupts b and c, and b still waits for c.
    assert_eq!(responses(&set), [Some(2), Some(10), Some(13)]);
}

#[test]
fn offsets_keep_apart_what_never_meets() {
    let task = |name, wcet, offset| Task { offset: Some(offset), ..Task::periodic(name, wcet, 20) };
    let apart = TaskSet::fixed_priority([task("a", 5, 0), task("b", 5, 10)]);
    assert_eq!(responses(&apart), [Some(5), Some(5)]);
    let mut loose = apart.clone();
    loose.tasks[1].offset = None;
    assert_eq!(responses(&loose), [Some(5), Some(10)]);
    let near = TaskSet::fixed_priority([task("a", 5, 0), task("b", 5, 2)]);
    // b arrives 2 after a, which then has 3 left to run.
    assert_eq!(responses(&near), [Some(5), Some(8)]);
}

#[test]
fn verdicts_explain_themselves() {
    let set = TaskSet::fixed_priority([
        Task::periodic("fast", 2_000_000, 5_000_000),
        Task::periodic("slow", 4_000_000, 7_000_000),
        Task::periodic("last", 1_000_000, 100_000_000),
    ]);
    let report = analyse(&set);
    let told: Vec<String> =
        report.verdicts.iter().map(|verdict| verdict.explain(&set).to_string()).collect();
    assert_eq!(told[0], "fast: meets its deadline of 5 ms, response at most 2 ms: own 2 ms");
    assert_eq!(
        told[1],
        "slow: misses its deadline of 7 ms, response up to 8 ms, 1 ms too long: own 4 ms, 4 ms for fast x2"
    );
    assert!(told[2].contains("own 1 ms"), "{}", told[2]);
    assert!(!report.is_feasible());
    assert_eq!(report.guaranteed_priority(&set), Some(0));
}

#[test]
fn work_that_never_ends_is_told_so() {
    let set = TaskSet::fixed_priority([Task::periodic("a", 3, 4), Task::periodic("b", 3, 8)]);
    let report = analyse(&set);
    assert_eq!(report.verdicts[1].outcome, DeadlineOutcome::Misses);
    let told = report.verdicts[1].explain(&set).to_string();
    assert!(told.ends_with("the more urgent work never ends"), "{told}");
}

#[test]
fn deadlines_use_the_whole_processor_where_rates_do_not() {
    let tasks = || [Task::periodic("a", 2, 4), Task::periodic("b", 3, 6)];
    let edf = TaskSet::dynamic(tasks(), Dispatching::Deadline, DispatchModel::Urgency);
    let report = analyse(&edf);
    assert!(report.is_feasible());
    assert_eq!(report.verdicts[0].response, Some(4));
    let rms = TaskSet::fixed_priority(tasks());
    assert!(!analyse(&rms).is_feasible());
    let mut mlf = TaskSet::dynamic(tasks(), Dispatching::Laxity, DispatchModel::Urgency);
    mlf.overheads.step = 1;
    assert!(analyse(&mlf).is_feasible());
    // If laxity is evaluated less often, the set needs some slack, which it does not have.
    mlf.overheads.step = 2;
    assert!(!analyse(&mlf).is_feasible());
}

#[test]
fn the_papers_test_is_not_enough_for_queues_by_laxity() {
    // Two long operations with less laxity go before the short one, but the paper's test counts only
    // one of them.
    let tasks = [
        Task::periodic("short", 1, 10),
        Task::periodic("long_1", 6, 14),
        Task::periodic("long_2", 6, 14),
    ];
    let set = TaskSet::dynamic(tasks, Dispatching::Laxity, DispatchModel::Band);
    assert!(generalised::demand(&set, 0).fits());
    let verdict = analyse_one(&set, 0);
    assert_ne!(verdict.outcome, DeadlineOutcome::Meets);
    assert_eq!(verdict.response, Some(13));
}

#[test]
fn operations_of_which_no_time_is_known_yet() {
    let tasks = [Task::periodic("a", 0, 10), Task::periodic("b", 0, 20)];
    for model in DispatchModel::ALL {
        let set = TaskSet::dynamic(tasks.clone(), Dispatching::Laxity, model);
        let report = analyse(&set);
        assert!(report.is_feasible(), "{model}: {report:?}");
    }
}

#[test]
fn jitter_of_many_periods_is_no_endless_search() {
    // Jobs of b that are delayed by jitter arrive together. They have millions of keys, which must not
    // be tried one by one.
    let mut tasks = [Task::periodic("a", 1, 1_000), Task::periodic("b", 0, 1)];
    tasks[1].jitter = 1 << 59;
    let set = TaskSet::dynamic(tasks, Dispatching::Deadline, DispatchModel::Band);
    assert_eq!(analyse(&set).verdicts.len(), 2);
}

/// Supplier, channel and consumer with one period; the channel's step is less urgent than the consumer.
fn event_chain() -> Vec<Task> {
    let mut tasks = vec![
        Task::periodic("supplier", 2, 10),
        Task::periodic("consumer", 3, 10),
        Task::periodic("channel", 0, 10),
    ];
    tasks[2].after = vec!["supplier".into()];
    tasks[1].after = vec!["channel".into()];
    tasks
}

fn only_chain(set: &TaskSet) -> End {
    let mut chains = analyse(set).chains;
    assert_eq!(chains.len(), 1, "{chains:?}");
    chains.remove(0)
}

#[test]
fn a_sender_does_not_wait_for_the_receiver_that_waits_for_it() {
    let set = TaskSet::fixed_priority(event_chain());
    // Nothing else runs, so the response is 2 + 0 + 3.
    let end = End { steps: vec![0, 2, 1], firsts: 1, response: Some(5) };
    assert_eq!(only_chain(&set), end);
    assert!(analyse(&set).is_feasible());
}

/// Two suppliers of one period, and a consumer that needs an event of each: the slower path counts,
/// from the later release.
#[test]
fn a_chain_with_several_first_senders_has_the_bound_of_its_longest_way() {
    let mut tasks = vec![
        Task::periodic("near", 2, 20),
        Task::periodic("far", 3, 20),
        Task::periodic("channel", 1, 20),
        Task::periodic("consumer", 4, 20),
    ];
    tasks[2].after = vec!["far".into()];
    tasks[3].after = vec!["near".into(), "channel".into()];
    let set = TaskSet::fixed_priority(tasks);
    // The bounds of the senders are computed separately: near takes 2, far waits for near and takes 5,
    // and channel takes 6. Then the consumer runs.
    let end = only_chain(&set);
    assert_eq!((end.steps, end.firsts), (vec![0, 1, 2, 3], 2));
    let bound = end.response.unwrap();
    // If all are released at once, they take 2 + 3 + 1 + 4. Late releases may come close to those of
    // the next period.
    assert!((10..=20).contains(&bound), "{bound}");
    // With different periods there is no common release to count from.
    let mut set = set;
    assert_eq!(analyse(&set).unchained, []);
    set.tasks[0].period = 40;
    let report = analyse(&set);
    assert_eq!(report.chains, []);
    let why = NoChain::Periods(vec![0, 1]);
    assert_eq!(report.unchained, [Unchained { task: 3, why }]);
}

#[test]
fn a_step_with_a_release_of_its_own_is_named() {
    let mut tasks = event_chain();
    tasks[2].jitter = 1;
    let set = TaskSet::fixed_priority(tasks);
    let report = analyse(&set);
    assert_eq!(report.chains, []);
    let why = NoChain::Step(2);
    assert_eq!(report.unchained, [Unchained { task: 1, why }]);
}

#[test]
fn a_chain_waits_for_all_above_its_least_urgent_step_and_nothing_below() {
    let mut tasks = event_chain();
    tasks.insert(0, Task::periodic("alarm", 1, 4));
    tasks.push(Task::periodic("display", 4, 40));
    // The chain takes 2 + 0 + 3, and alarm takes 1 at 0 and 1 at 4.
    let set = TaskSet::fixed_priority(tasks.clone());
    assert_eq!(only_chain(&set).response, Some(7));
    // In one non-preemptive queue, display may have begun a nanosecond before and takes 3 more. The
    // chain takes 2 + 0 + 3, and alarm runs at 0 and at 4.
    let model = DispatchModel::NonPreemptive;
    let set = TaskSet::dynamic(tasks, Dispatching::Static, model);
    assert_eq!(only_chain(&set).response, Some(10));
}

#[test]
fn instances_of_a_chain_that_wait_for_each_other_are_all_looked_at() {
    // The processor is busy for 18 of each 20 and then runs two instances of the chain.
    let mut tasks = event_chain();
    tasks.insert(0, Task::periodic("other", 8, 20));
    let set = TaskSet::fixed_priority(tasks);
    // After 8 + 2, the supplier's second job precedes the channel of the first instance, which
    // therefore takes 5 more. The second instance ends at 18, 8 after its release.
    assert_eq!(only_chain(&set).response, Some(15));
}

#[test]
fn a_chain_released_late_counts_from_when_it_should_have_been() {
    let mut set = TaskSet::fixed_priority(event_chain());
    set.tasks[0].jitter = 3;
    assert_eq!(only_chain(&set).response, Some(8));
}
