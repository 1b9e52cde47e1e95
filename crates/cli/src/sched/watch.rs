//! `oxorb sched watch`: shows proved and measured times of every operation, live.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

use oxorb_sched::Schedule;
use oxorb_sched::analysis::{self, DeadlineOutcome, Report, Verdict};
use serde::Serialize;

use super::how::Source;
use super::measured::{OperationMeasurement, Server, Times};
use oxorb_terminal::duration;
use oxorb_terminal::output::{BAD, Done, FAINT, Format, GOOD, STRONG, control, print, print_line};
use oxorb_terminal::statistics::Time;

/// Shortest time between two reports.
const SHORTEST: Duration = Duration::from_millis(10);

/// Arguments of `oxorb sched watch`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Address of the server that measures: corbaloc::HOST:PORT, or any reference to its OxorbMeasurements object
    #[arg(long, value_name = "URL")]
    server: String,
    /// Time between two reports, at least 10ms. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "1s", value_parser = duration::seconds().at_least(SHORTEST))]
    interval: Duration,
    /// Number of reports; 0: until the server or this command ends
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    count: u64,
    /// Output format; JSON writes one line for each report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Line of an operation.
#[derive(Serialize)]
struct Line<'s> {
    operation: &'s str,
    critical: bool,
    deadline_ns: u64,
    /// Proved bound; absent if unbounded.
    bound_ns: Option<u64>,
    proved: bool,
    wcet_ns: u64,
    response: Measured,
    cpu: Measured,
    missed: u64,
    overruns: u64,
    refused: u64,
    /// Whether more was measured than was proved or declared.
    exceeded: bool,
}

/// Distribution of times in nanoseconds.
#[derive(Serialize)]
struct Measured {
    count: u64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

impl From<&Times> for Measured {
    fn from(times: &Times) -> Measured {
        Measured {
            count: times.count,
            p50_ns: times.p50,
            p99_ns: times.p99,
            p999_ns: times.p999,
            max_ns: times.longest,
        }
    }
}

pub(super) fn run(args: &Args) -> Done {
    let loaded = args.source.load()?;
    let schedule = args.source.how.schedule(&loaded)?;
    let report = analysis::analyse(&schedule.tasks);
    let server = Server::new(&args.server, args.source.at.timeout())?;
    let live = args.format == Format::Text && std::io::stdout().is_terminal();
    let mut looks = 0;
    loop {
        let measured = server.operations()?;
        let lines = lines(&schedule, &report, &measured);
        match args.format {
            Format::Json => print_line(&serde_json::json!({ "operations": lines }))?,
            Format::Text => {
                if live && looks > 0 {
                    control(&format!("\x1b[{}A\x1b[J", lines.len() + 1))?;
                }
                print(table(&lines))?;
            }
        }
        looks += 1;
        if looks == args.count {
            return Ok(());
        }
        std::thread::sleep(args.interval);
    }
}

/// Verdicts on all tasks of an operation, taken together.
struct Proof {
    /// Whether the deadline of a task is not proved.
    is_late: bool,
    /// Whether there are verdicts, and the deadlines of all tasks are proved.
    proved: bool,
    /// Longest response time; `None` without verdicts, or if a task has no bound.
    bound: Option<u64>,
}

impl Proof {
    /// Combines the verdicts on the tasks of an operation. An operation that runs in its callers' threads has none.
    fn of<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> Proof {
        let none = Proof { is_late: false, proved: false, bound: None };
        verdicts.fold(none, |proof, verdict| {
            // Either is set after the first verdict.
            let is_first = !proof.proved && !proof.is_late;
            let is_late = proof.is_late || verdict.outcome != DeadlineOutcome::Meets;
            let bound = match is_first {
                true => verdict.response,
                false => proof.bound.zip(verdict.response).map(|(one, other)| one.max(other)),
            };
            Proof { is_late, proved: !is_late, bound }
        })
    }
}

fn lines<'s>(
    schedule: &'s Schedule,
    report: &Report,
    measured: &[OperationMeasurement],
) -> Vec<Line<'s>> {
    let tasks = &schedule.tasks.tasks;
    let line = |seen: &OperationMeasurement| {
        let mut assignments = schedule.assignments.iter();
        let assignment = assignments.find(|one| one.entry_point == seen.operation)?;
        let of = |task: usize| tasks[task].handle == Some(assignment.handle);
        let verdicts = report.verdicts.iter().filter(|verdict| of(verdict.task));
        let Proof { is_late, proved, bound } = Proof::of(verdicts);
        let exceeded = seen.overruns > 0
            || !is_late && seen.missed > 0
            || bound.is_some_and(|bound| seen.response.longest > bound);
        Some(Line {
            operation: &assignment.entry_point,
            critical: assignment.critical,
            deadline_ns: assignment.deadline,
            bound_ns: bound,
            proved,
            wcet_ns: assignment.worst_case,
            response: (&seen.response).into(),
            cpu: (&seen.cpu).into(),
            missed: seen.missed,
            overruns: seen.overruns,
            refused: seen.refused,
            exceeded,
        })
    };
    measured.iter().filter_map(line).collect()
}

fn table(lines: &[Line<'_>]) -> String {
    let mut out = format!(
        "{STRONG}{:<28} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6}{STRONG:#}\n",
        "operation", "calls", "deadline", "bound", "p50", "p99", "max", "cpu max", "missed", "over"
    );
    for line in lines {
        let style = match (line.exceeded, line.response.count) {
            (true, _) => BAD,
            (false, 0) => FAINT,
            (false, _) => GOOD,
        };
        let bound = line.bound_ns.map_or("none".to_owned(), |bound| Time(bound).to_string());
        let _ = writeln!(
            out,
            "{style}{:<28}{style:#} {:>8} {:>9} {bound:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6}",
            line.operation,
            line.response.count,
            Time(line.deadline_ns),
            Time(line.response.p50_ns),
            Time(line.response.p99_ns),
            Time(line.response.max_ns),
            Time(line.cpu.max_ns),
            line.missed,
            line.overruns,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use oxorb_sched::analysis::Method;

    use super::*;

    fn verdict(outcome: DeadlineOutcome, response: Option<u64>) -> Verdict {
        let (method, blocker, waits) = (Method::ResponseTime, None, Vec::new());
        Verdict { task: 0, outcome, method, response, blocking: 0, blocker, waits }
    }

    #[test]
    fn an_operation_is_proved_if_all_its_tasks_are() {
        let of = |verdicts: &[(DeadlineOutcome, Option<u64>)]| {
            let verdicts = verdicts.iter().map(|(outcome, response)| verdict(*outcome, *response));
            let Proof { is_late, proved, bound } = Proof::of(verdicts.collect::<Vec<_>>().iter());
            (is_late, proved, bound)
        };
        let good = (DeadlineOutcome::Meets, Some(5));
        let slower = (DeadlineOutcome::Meets, Some(7));
        let unbounded = (DeadlineOutcome::Meets, None);
        assert_eq!(of(&[]), (false, false, None));
        assert_eq!(of(&[good]), (false, true, Some(5)));
        assert_eq!(of(&[good, slower, good]), (false, true, Some(7)));
        assert_eq!(of(&[good, unbounded]), (false, true, None));
        assert_eq!(of(&[unbounded, good]), (false, true, None));
        for outcome in [DeadlineOutcome::Misses, DeadlineOutcome::Unproven] {
            let late = (outcome, Some(9));
            assert_eq!(of(&[late, good]), (true, false, Some(9)));
            assert_eq!(of(&[good, late]), (true, false, Some(9)));
        }
    }
}
