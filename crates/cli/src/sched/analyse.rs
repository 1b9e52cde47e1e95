//! `oxorb sched analyse`.

use std::fmt::Write as _;

use anstyle::Style;
use oxorb_sched::analysis::partition::{self, Fit, NoRoom, Partition};
use oxorb_sched::analysis::{self, End, NoChain, Outcome, Report, Unchained, Verdict, sensitivity};
use oxorb_sched::time::Show;
use oxorb_sched::{Schedule, TaskSet};
use serde_json::{Value, json};

use super::load::{Loaded, is_wrong};
use super::{Source, flows};
use crate::output::{BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json};

pub(super) fn run(source: &Source, sensitivity: bool, cores: Option<u16>, format: Format) -> Done {
    let loaded = source.load()?;
    if !loaded.system.is_empty() {
        return match sensitivity || cores.is_some() {
            false => flows::run(&loaded, &source.how, format),
            true => Err(because(
                "--sensitivity and --cores are about one processor; say with --node which one is meant",
            )),
        };
    }
    if loaded.is_fed {
        return Err(because(
            "jobs of this node begin when steps on other nodes are done; analyse all nodes, without --node",
        ));
    }
    let schedule = source.how.schedule(&loaded)?;
    let findings = Findings::of(&loaded, &schedule);
    if let Some(cores) = cores {
        return on_cores(&schedule, &findings, usize::from(cores), format);
    }
    let report = analysis::analyse(&schedule.tasks);
    let room: Vec<Option<u64>> = match sensitivity {
        true => (0..schedule.tasks.tasks.len())
            .map(|at| sensitivity::longest(&schedule.tasks, at))
            .collect(),
        false => Vec::new(),
    };
    let scale = sensitivity
        .then(|| sensitivity::scale(&schedule.tasks))
        .flatten();
    let safe = findings.sound() && report.protects_critical(&schedule.tasks);
    match format {
        Format::Json => {
            let mut told = as_json(&schedule, &report, &findings);
            told["safe"] = safe.into();
            if sensitivity {
                told["longest_ns"] = json!(room);
                told["scale"] = json!(scale.map(|scale| scale as f64 / 1_000.0));
            }
            print_json(&told)?;
        }
        Format::Text => {
            print(head(&schedule, &report, &findings))?;
            print(verdicts(&schedule.tasks, &report.verdicts, &room))?;
            print(chains(&schedule.tasks, &report.chains))?;
            print(unchained(&schedule.tasks, &report.unchained))?;
            if let Some(scale) = scale {
                let scale = scale as f64 / 1_000.0;
                print(format!(
                    "\nall execution times may grow to {scale:.3} of what they are\n"
                ))?;
            }
            print(conclusion(&schedule, &report, &findings))?;
        }
    }
    if safe { Ok(()) } else { Err(Failed::Told) }
}

/// Objections to a schedule that hold before any deadline is checked.
struct Findings {
    /// As lines.
    told: Vec<String>,
    /// Number of these that are errors of the operations.
    errors: usize,
    /// Reason why the schedule is worthless on one processor.
    problems: Vec<String>,
}

impl Findings {
    fn of(loaded: &Loaded, schedule: &Schedule) -> Findings {
        let anomalies = schedule.anomalies.iter();
        Findings {
            told: anomalies.clone().map(|found| loaded.told(found)).collect(),
            errors: anomalies.filter(|found| is_wrong(found)).count(),
            problems: schedule
                .problems
                .iter()
                .map(|problem| format!("error: {problem}"))
                .collect(),
        }
    }

    /// Reports whether verdicts are about all operations, and the schedule can be had.
    fn sound(&self) -> bool {
        self.errors == 0 && self.problems.is_empty()
    }
}

/// The verdict on the whole set as one line.
fn conclusion(schedule: &Schedule, report: &Report, findings: &Findings) -> String {
    let tasks = &schedule.tasks.tasks;
    let open = |verdict: &&Verdict| verdict.outcome != Outcome::Meets;
    let lost = report.verdicts.iter().filter(open);
    let critical = lost
        .clone()
        .filter(|verdict| tasks[verdict.task].critical)
        .count();
    let others = lost.count() - critical;
    let wrong = findings.errors + findings.problems.len();
    if wrong == 0 && critical == 0 {
        let rest = match others {
            0 => String::new(),
            others => format!("; {others} of others are not"),
        };
        return format!("\n{GOOD}safe{GOOD:#}: every critical deadline is proved{rest}\n");
    }
    let mut why = Vec::new();
    if wrong > 0 {
        why.push(format!(
            "{wrong} error{}",
            if wrong == 1 { "" } else { "s" }
        ));
    }
    if critical > 0 {
        let are = if critical == 1 {
            "deadline is"
        } else {
            "deadlines are"
        };
        why.push(format!("{critical} critical {are} not proved"));
    }
    format!("\n{BAD}not safe{BAD:#}: {}\n", why.join(", "))
}

fn head(schedule: &Schedule, report: &Report, findings: &Findings) -> String {
    let mut out = String::new();
    for told in findings.told.iter().chain(&findings.problems) {
        let _ = writeln!(out, "{told}");
    }
    let bounds = &report.bounds;
    let level = |level: Option<i32>| level.map_or("none".into(), |level| level.to_string());
    let frame = schedule
        .frame
        .map_or("over 36 years".into(), |frame| Show(frame).to_string());
    let _ = writeln!(
        out,
        "{STRONG}{}{STRONG:#}, dispatched by {}: {} in all, {} critical; frame {frame}",
        schedule.strategy, schedule.tasks.model, schedule.total, schedule.critical
    );
    let _ = writeln!(
        out,
        "bound for {} chains of periods {:.1} % {FAINT}(Liu and Layland){FAINT:#}, product {:.3} of 2 \
         {FAINT}(hyperbolic){FAINT:#}, phasing penalty {:.1} %",
        bounds.chains,
        bounds.liu_layland * 100.0,
        bounds.hyperbolic,
        bounds.phasing_penalty * 100.0
    );
    let _ = writeln!(out, "critical: {}", schedule.critical_set);
    let exact = report
        .guaranteed_priority(&schedule.tasks)
        .map(|band| band as i32);
    let _ = writeln!(
        out,
        "critical down to priority {}, guaranteed down to {} {FAINT}(by the test of paper 3: {}){FAINT:#}\n",
        level(schedule.minimum_critical_priority),
        level(exact),
        level(schedule.minimum_guaranteed_priority)
    );
    out
}

/// How an outcome is shown.
pub(super) fn mark(outcome: Outcome) -> (Style, &'static str) {
    match outcome {
        Outcome::Meets => (GOOD, "ok  "),
        Outcome::Misses => (BAD, "miss"),
        Outcome::Unproven => (BAD, "open"),
    }
}

pub(super) fn verdicts<'a>(
    set: &TaskSet,
    verdicts: impl IntoIterator<Item = &'a Verdict>,
    room: &[Option<u64>],
) -> String {
    let mut out = String::new();
    for verdict in verdicts {
        let task = &set.tasks[verdict.task];
        let (style, mark) = mark(verdict.outcome);
        let critical = if task.critical {
            "critical"
        } else {
            "        "
        };
        let _ = write!(
            out,
            "{style}{mark}{style:#} {critical} {:>3}  {}",
            task.band,
            verdict.explain(set)
        );
        if let Some(Some(longest)) = room.get(verdict.task) {
            let _ = write!(out, "; might take up to {}", Show(*longest));
        }
        out.push('\n');
    }
    out
}

/// Chains of events with their bounds from end to end.
fn chains(set: &TaskSet, chains: &[End]) -> String {
    let mut out = String::new();
    for End {
        steps,
        firsts,
        response,
    } in chains
    {
        let names: Vec<&str> = names(set, steps).collect();
        let (begin, rest) = names.split_at(*firsts);
        let path = [&[begin.join(" + ").as_str()], rest].concat().join(" -> ");
        let first = match begin {
            [first] => (*first).to_owned(),
            several => format!("the last of {}", several.join(", ")),
        };
        let _ = match response {
            Some(response) => {
                let within = Show(*response);
                writeln!(
                    out,
                    "chain {path}: done at most {within} after the release of {first}"
                )
            }
            None => writeln!(out, "chain {path}: no bound from end to end"),
        };
    }
    out
}

/// Receivers of events without a bound from end to end, with the reason.
fn unchained(set: &TaskSet, without: &[Unchained]) -> String {
    let mut out = String::new();
    for Unchained { task, why } in without {
        let (name, why) = (&set.tasks[*task].name, reason(set, why));
        let _ = writeln!(out, "{name}: no bound from end to end: {why}");
    }
    out
}

/// Returns the reason in words.
fn reason(set: &TaskSet, why: &NoChain) -> String {
    match why {
        NoChain::Periods(firsts) => {
            let first = |&at: &usize| {
                let task = &set.tasks[at];
                format!("{} ({})", task.name, Show(task.period))
            };
            let firsts: Vec<String> = firsts.iter().map(first).collect();
            let firsts = firsts.join(", ");
            format!("its first senders have different periods: {firsts}")
        }
        NoChain::Step(at) => {
            let name = &set.tasks[*at].name;
            format!("{name} has an offset or jitter, or another period than its senders")
        }
        NoChain::Circle => "its events come back to it".into(),
        _ => "its senders make no chain".into(),
    }
}

fn names<'s>(set: &'s TaskSet, places: &'s [usize]) -> impl Iterator<Item = &'s str> {
    places.iter().map(|&place| set.tasks[place].name.as_str())
}

/// One verdict.
pub(super) fn verdict_json(set: &TaskSet, verdict: &Verdict) -> Value {
    let task = &set.tasks[verdict.task];
    let waits = verdict.waits.iter().map(
        |wait| json!({"for": set.tasks[wait.task].name, "jobs": wait.jobs, "time_ns": wait.time}),
    );
    json!({
        "operation": task.name,
        "outcome": format!("{:?}", verdict.outcome).to_lowercase(),
        "critical": task.critical,
        "criticality": task.criticality.name(),
        "preemption_priority": task.band,
        "wcet_ns": task.wcet,
        "period_ns": task.period,
        "deadline_ns": task.deadline,
        "response_ns": verdict.response,
        "blocking_ns": verdict.blocking,
        "waits": waits.collect::<Vec<_>>(),
        "because": verdict.explain(set).to_string(),
    })
}

fn as_json(schedule: &Schedule, report: &Report, findings: &Findings) -> Value {
    let set = &schedule.tasks;
    let verdicts = report.verdicts.iter().map(|it| verdict_json(set, it));
    let chains = report.chains.iter().map(|chain| {
        let steps: Vec<&str> = names(set, &chain.steps).collect();
        json!({"steps": steps, "firsts": chain.firsts, "response_ns": chain.response})
    });
    let unchained = report
        .unchained
        .iter()
        .map(|one| json!({"operation": set.tasks[one.task].name, "reason": reason(set, &one.why)}));
    let bounds = &report.bounds;
    json!({
        "strategy": schedule.strategy,
        "model": set.model.name(),
        "utilization": schedule.total.fraction(),
        "critical_utilization": schedule.critical.fraction(),
        "frame_ns": schedule.frame,
        "bounds": {
            "chains": bounds.chains,
            "liu_layland": bounds.liu_layland,
            "hyperbolic": bounds.hyperbolic,
            "phasing_penalty": bounds.phasing_penalty,
        },
        "minimum_critical_priority": schedule.minimum_critical_priority,
        "minimum_guaranteed_priority": schedule.minimum_guaranteed_priority,
        "guaranteed_priority": report.guaranteed_priority(set),
        "critical_set": schedule.critical_set.to_string(),
        "findings": findings.told.iter().chain(&findings.problems).collect::<Vec<_>>(),
        "feasible": findings.sound() && report.is_feasible(),
        "operations": verdicts.collect::<Vec<_>>(),
        "chains": chains.collect::<Vec<_>>(),
        "unchained": unchained.collect::<Vec<_>>(),
    })
}

/// Assigns operations to processors so that the load is shared, or else, where that leaves no room for one, so that there
/// is room. Returns in words to which of several processors an operation goes.
fn spread(set: &TaskSet, cores: usize) -> Result<(Partition, &'static str), NoRoom> {
    let ways = [
        (Fit::Worst, "emptiest"),
        (Fit::First, "first"),
        (Fit::Best, "fullest"),
    ];
    let mut refused = None;
    for (fit, goes_to) in ways {
        match partition::partition(set, cores, fit) {
            Ok(found) => return Ok((found, goes_to)),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    Err(refused.expect("there are ways"))
}

fn on_cores(schedule: &Schedule, findings: &Findings, cores: usize, format: Format) -> Done {
    let set = &schedule.tasks;
    if findings.errors > 0 {
        // Problems are about one processor; errors are about operations.
        return Err(because(findings.told.join("\n")));
    }
    let (found, goes_to) = spread(set, cores).map_err(|refused| {
        because(format!(
            "{} fits on none of {cores} processors beside what is there already, whether each operation goes to the \
             emptiest, the first or the fullest processor on which it fits",
            set.tasks[refused.task].name
        ))
    })?;
    let used = found.processors.iter().filter(|tasks| !tasks.is_empty());
    let used = used.count();
    let name = |&task: &usize| set.tasks[task].name.as_str();
    match format {
        Format::Json => {
            let cores = found
                .processors
                .iter()
                .map(|tasks| tasks.iter().map(name).collect::<Vec<_>>());
            print_json(&json!({
                "cores": cores.collect::<Vec<_>>(),
                "used": used,
                "fit": goes_to,
            }))
        }
        Format::Text => {
            let mut out = format!(
                "{used} of {cores} processors used: each operation is on the {goes_to} one on which it fitted\n"
            );
            for (core, tasks) in found.processors.iter().enumerate() {
                let part = partition::part(set, tasks);
                let used = oxorb_sched::Utilization::of(&part.tasks);
                let _ = writeln!(out, "{STRONG}processor {core}{STRONG:#}: {used}");
                out.push_str(&verdicts(&part, &found.reports[core].verdicts, &[]));
            }
            print(out)
        }
    }
}
