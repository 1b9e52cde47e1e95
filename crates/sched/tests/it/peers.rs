//! Responses compared with an independent implementation: the analyses verified by the Prosa
//! project, from `response-time-analysis` on PyPI (Bozhko and Brandenburg, "Abstract Response-Time
//! Analysis", ECRTS 2020).

use std::io::Write as _;
use std::process::{Command, Stdio};

use oxorb_sched::analysis::{DeadlineOutcome, analyse};
use oxorb_sched::{DispatchModel, Dispatching, Task, TaskSet};
use oxorb_testkit::peers::missing;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

const SETS: usize = 2_000;

/// Periods of the operations. Their least common multiple is 120.
const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 20, 24];

/// Tasks; the response of the last one is requested.
#[derive(Debug, Clone)]
struct Asked {
    by_deadline: bool,
    preemptive: bool,
    tasks: Vec<Task>,
}

fn asked() -> impl Strategy<Value = Asked> {
    // Deadlines are in quarters of the period, from a half to one and a half periods.
    let task = (1..4u64, prop::sample::select(&PERIODS[..]), 2..7u64);
    let tasks = prop::collection::vec(task, 1..6);
    (any::<bool>(), any::<bool>(), tasks).prop_map(|(by_deadline, preemptive, tasks)| {
        let tasks = tasks.into_iter().enumerate().map(|(place, (wcet, period, quarters))| {
            let mut task = Task::periodic(format!("task {place}"), wcet, period);
            task.deadline = (period * quarters).div_ceil(4).max(wcet);
            task
        });
        Asked { by_deadline, preemptive, tasks: tasks.collect() }
    })
}

impl Asked {
    fn set(&self) -> TaskSet {
        let mut set = match self.by_deadline {
            // The earlier task wins a tie, so the last task waits for all tasks with the same
            // deadline.
            true => {
                TaskSet::dynamic(self.tasks.clone(), Dispatching::Deadline, DispatchModel::Urgency)
            }
            false => TaskSet::fixed_priority(self.tasks.clone()),
        };
        if !self.preemptive {
            set.model = DispatchModel::NonPreemptive;
            set.tasks.iter_mut().for_each(|task| task.band = 0);
        }
        set
    }

    fn line(&self) -> String {
        let policy = if self.by_deadline { "edf" } else { "fp" };
        let preemptive = if self.preemptive { "preemptive" } else { "not" };
        let tasks = self.tasks.iter().map(|task| {
            let Task { wcet, period, deadline, .. } = task;
            format!(" {wcet},{period},{deadline}")
        });
        format!("{policy} {preemptive}{}\n", tasks.collect::<String>())
    }
}

/// Returns the peer's answers; `None` if it is not installed.
fn answers(asked: &[Asked]) -> Option<Vec<Option<u64>>> {
    const PEER: &str = "response-time-analysis";
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/response_times.py");
    let mut python = Command::new("python3");
    python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut python = match python.spawn() {
        Ok(python) => python,
        Err(error) => {
            missing(PEER, &error.to_string());
            return None;
        }
    };
    let mut input = python.stdin.take().unwrap();
    let lines: String = asked.iter().map(Asked::line).collect();
    // The peer answers while it reads its input, so one thread must write the input while another
    // reads the answers.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("ModuleNotFoundError") {
        missing(PEER, "python3 -m pip install response-time-analysis==0.1.1");
        return None;
    }
    assert!(output.status.success(), "{told}");
    writer.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let answer = |line: &str| (line != "none").then(|| line.parse().unwrap());
    Some(answers.lines().map(answer).collect())
}

#[test]
#[ignore = "needs response-time-analysis of PyPI: .ci/full peers"]
fn responses_are_those_of_the_analyses_that_prosa_has_verified() {
    let mut runner = TestRunner::default();
    let asked: Vec<Asked> =
        (0..SETS).map(|_| asked().new_tree(&mut runner).unwrap().current()).collect();
    let Some(answers) = answers(&asked) else { return };
    assert_eq!(answers.len(), asked.len());
    let mut compared = 0;
    for (asked, theirs) in asked.iter().zip(answers) {
        let set = asked.set();
        let verdict = analyse(&set).verdicts.pop().unwrap();
        let deadline = set.tasks.last().unwrap().deadline;
        let in_time = theirs.is_some_and(|response| response <= deadline);
        assert_eq!(
            verdict.outcome == DeadlineOutcome::Meets,
            in_time,
            "{theirs:?} {verdict:?} {asked:#?}"
        );
        if in_time {
            assert_eq!(verdict.response, theirs, "{verdict:?} {asked:#?}");
            compared += 1;
        }
    }
    println!(
        "{compared} of {SETS} are in time, with the same response by both, and the others late by both"
    );
    assert!(compared > SETS / 4);
}
