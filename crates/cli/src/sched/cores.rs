//! `oxorb sched analyse --cores`: operations assigned to processors, or processors that share one queue.

use std::fmt::Write as _;

use oxorb_sched::analysis::DeadlineOutcome;
use oxorb_sched::analysis::global;
use oxorb_sched::analysis::partition::{self, Fit, NoRoom, Partition};
use oxorb_sched::time::Show;
use oxorb_sched::{Schedule, TaskSet};
use serde_json::json;

use super::analyse::{Findings, Found, What, mark, verdicts};
use super::load::Loaded;
use oxorb_terminal::output::{Failed, STRONG, because};

/// Assigns operations to processors by the first of `fits` under which every operation fits.
fn spread(set: &TaskSet, cores: usize, fits: &[Fit]) -> Result<(Partition, Fit), NoRoom> {
    let mut refused = None;
    for &fit in fits {
        match partition::partition(set, cores, fit) {
            Ok(found) => return Ok((found, fit)),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    Err(refused.expect("there are ways"))
}

/// Returns a phrase for the processor that an operation is assigned to.
fn goes_to(fit: Fit) -> &'static str {
    match fit {
        Fit::First => "first",
        Fit::Best => "fullest",
        Fit::Worst => "emptiest",
    }
}

pub(super) fn found(
    loaded: &Loaded,
    schedule: &Schedule,
    findings: &Findings,
    cores: usize,
    what: &What,
) -> Result<Found, Failed> {
    if findings.errors > 0 {
        // `errors` counts errors of the operations. `problems` is ignored here, because it concerns a schedule on one
        // processor.
        return Err(because(findings.told.join("\n")));
    }
    if what.sensitivity || what.chance {
        return Err(because(
            "--sensitivity and --chance apply to one processor, and cannot be combined with --cores",
        ));
    }
    if !loaded.repository.sections().is_empty() {
        return Err(because(
            "critical sections can be analysed only on one processor: on several, operations wait for others that run \
             in parallel",
        ));
    }
    if let Some(server) = loaded.extra.servers.first() {
        let (name, place) = &server.name;
        return Err(because(format!(
            "{place}: {name}: servers can be analysed only on one processor, without --cores"
        )));
    }
    match what.global {
        true => shared(schedule, cores),
        false => assigned(schedule, cores, what.fit),
    }
}

fn assigned(schedule: &Schedule, cores: usize, fit: Option<Fit>) -> Result<Found, Failed> {
    let set = &schedule.tasks;
    let fits = fit.map_or(vec![Fit::Worst, Fit::First, Fit::Best], |fit| vec![fit]);
    let (found, fit_used) = spread(set, cores, &fits).map_err(|refused| {
        let name = &set.tasks[refused.task].name;
        because(match fit {
            None => format!(
                "{name} fits on none of the {cores} processors in addition to the operations placed before, whether \
                 each operation is placed on the emptiest, the first or the fullest processor on which it fits"
            ),
            Some(fit) => format!("{name} fits on none of the {cores} processors in addition to the operations placed \
                                  before, by {fit}"),
        })
    })?;
    let used = found.processors.iter().filter(|tasks| !tasks.is_empty());
    let used = used.count();
    let name = |&task: &usize| set.tasks[task].name.as_str();
    let by_core = found.processors.iter().map(|tasks| tasks.iter().map(name).collect::<Vec<_>>());
    let json = json!({
        "cores": by_core.collect::<Vec<_>>(),
        "used": used,
        "fit": goes_to(fit_used),
        "heuristic": fit_used.to_string(),
        "safe": true,
    });
    let mut text = format!(
        "{used} of {cores} processors used: each operation is on the {} one on which it fitted ({fit_used})\n",
        goes_to(fit_used)
    );
    for (core, tasks) in found.processors.iter().enumerate() {
        let part = partition::part(set, tasks);
        let used = oxorb_sched::Utilization::of(&part.tasks);
        let _ = writeln!(text, "{STRONG}processor {core}{STRONG:#}: {used}");
        text.push_str(&verdicts(&part, &found.reports[core].verdicts));
    }
    Ok(Found { json, text, safe: true })
}

fn shared(schedule: &Schedule, cores: usize) -> Result<Found, Failed> {
    let set = &schedule.tasks;
    let report = global::analyse(set, cores)?;
    let safe = report.protects_critical(set);
    let proved_by = report.proved_by.map(|test| test.to_string());
    let mut text = format!(
        "{STRONG}{}{STRONG:#} on {cores} processors with one queue; the tests are sufficient: `open` means not proved, \
         not late\n",
        report.policy
    );
    let rows = report.verdicts.iter().map(|verdict| {
        let task = &set.tasks[verdict.task];
        let (style, mark) = mark(verdict.outcome);
        let response = match (verdict.response, verdict.outcome) {
            (Some(response), _) => format!("response at most {}", Show(response)),
            (None, DeadlineOutcome::Meets) => "beyond that its response has no bound".into(),
            (None, DeadlineOutcome::Misses) => format!("takes {} alone", Show(task.wcet)),
            (None, DeadlineOutcome::Unproven) => "no bound within this deadline".into(),
        };
        let _ = writeln!(
            text,
            "{style}{mark}{style:#} {}: deadline of {}, {response}",
            task.name,
            Show(task.deadline)
        );
        json!({
            "operation": task.name,
            "outcome": format!("{:?}", verdict.outcome).to_lowercase(),
            "critical": task.critical,
            "deadline_ns": task.deadline,
            "response_ns": verdict.response,
        })
    });
    let rows: Vec<_> = rows.collect();
    let json = json!({
        "policy": report.policy.to_string(),
        "processors": cores,
        "sufficient_only": true,
        "proved_by": proved_by,
        "operations": rows,
        "safe": safe,
    });
    if let Some(test) = proved_by {
        let _ = writeln!(text, "all proved by the {test}");
    }
    Ok(Found { json, text, safe })
}
