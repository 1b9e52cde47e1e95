//! `oxorb sched analyse`.

use std::fmt::Write as _;

use anstyle::Style;
use oxorb_sched::analysis::partition::{self, Fit};
use oxorb_sched::analysis::{self, Outcome, Report, Verdict, sensitivity};
use oxorb_sched::time::Show;
use oxorb_sched::{Schedule, TaskSet};
use serde_json::{Value, json};

use super::load::Loaded;
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
    if let Some(cores) = cores {
        return on_cores(&schedule, usize::from(cores), format);
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
    let safe = report.protects_critical(&schedule.tasks);
    match format {
        Format::Json => {
            let mut told = as_json(&schedule, &report);
            told["safe"] = safe.into();
            if sensitivity {
                told["longest_ns"] = json!(room);
                told["scale"] = json!(scale.map(|scale| scale as f64 / 1_000.0));
            }
            print_json(&told)?;
        }
        Format::Text => {
            print(head(&loaded, &schedule, &report))?;
            print(verdicts(&schedule.tasks, &report.verdicts, &room))?;
            if let Some(scale) = scale {
                let scale = scale as f64 / 1_000.0;
                print(format!(
                    "\nall execution times may grow to {scale:.3} of what they are\n"
                ))?;
            }
        }
    }
    if safe { Ok(()) } else { Err(Failed::Told) }
}

fn head(loaded: &Loaded, schedule: &Schedule, report: &Report) -> String {
    let mut out = String::new();
    for found in &schedule.anomalies {
        let _ = writeln!(out, "{}", loaded.told(found));
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

fn as_json(schedule: &Schedule, report: &Report) -> Value {
    let set = &schedule.tasks;
    let verdicts = report.verdicts.iter().map(|it| verdict_json(set, it));
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
        "feasible": report.is_feasible(),
        "operations": verdicts.collect::<Vec<_>>(),
    })
}

fn on_cores(schedule: &Schedule, cores: usize, format: Format) -> Done {
    let set = &schedule.tasks;
    let found = partition::partition(set, cores, Fit::First).map_err(|refused| {
        because(format!(
            "{} fits on none of {cores} processors beside what is there already",
            set.tasks[refused.task].name
        ))
    })?;
    let name = |&task: &usize| set.tasks[task].name.as_str();
    match format {
        Format::Json => {
            let cores = found
                .processors
                .iter()
                .map(|tasks| tasks.iter().map(name).collect::<Vec<_>>());
            print_json(&json!({ "cores": cores.collect::<Vec<_>>() }))
        }
        Format::Text => {
            let mut out = String::new();
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
