//! `oxorb sched analyse` and `check` of several nodes: verdicts on each, and on the flows across them.

use std::fmt::Write as _;

use oxorb_sched::analysis::holistic::EndToEnd;
use oxorb_sched::analysis::{DeadlineOutcome, Method};
use oxorb_sched::time::Show;
use oxorb_sched::{Schedule, TaskSet};
use serde_json::{Value, json};

use super::analyse::{Found, mark, verdict_json, verdicts};
use super::how::How;
use super::load::{Loaded, is_wrong};
use super::system::{self, Analysed, Flow};
use oxorb_terminal::output::{BAD, Done, Failed, Format, GOOD, STRONG, print, print_json};

/// Analyses all nodes and flows; safe if each flow and each critical operation is proved.
pub(super) fn found(loaded: &Loaded, how: &How) -> Result<Found, Failed> {
    let analysed = system::analyse(loaded, how)?;
    let nodes = analysed.schedules.iter().enumerate();
    let mut findings = nodes.flat_map(|(at, schedule)| findings(loaded, at, schedule));
    let safe = !findings.any(|(wrong, _)| wrong) && is_safe(&analysed);
    Ok(Found { json: as_json(loaded, &analysed, safe), text: as_text(loaded, &analysed), safe })
}

/// Reports errors of the files, without proving anything.
pub(super) fn check(loaded: &Loaded, how: &How, format: Format) -> Done {
    let analysed = system::analyse(loaded, how)?;
    let findings: Vec<(bool, String)> = analysed
        .schedules
        .iter()
        .enumerate()
        .flat_map(|(at, schedule)| findings(loaded, at, schedule))
        .collect();
    let good = !findings.iter().any(|(wrong, _)| *wrong);
    let told = findings.into_iter().map(|(_, told)| told);
    let system = &loaded.system;
    match format {
        Format::Json => print_json(&json!({
            "good": good,
            "findings": told.collect::<Vec<_>>(),
            "operations": loaded.repository.len(),
            "nodes": system.nodes.len(),
            "flows": system.flows.len(),
        }))?,
        Format::Text => {
            let mut out = String::new();
            for told in told {
                let _ = writeln!(out, "{told}");
            }
            let (style, word) = if good { (GOOD, "good") } else { (BAD, "wrong") };
            let _ = writeln!(
                out,
                "{style}{word}{style:#}: {} operations on {} nodes and links, {} flow{}",
                loaded.repository.len(),
                system.nodes.len(),
                system.flows.len(),
                if system.flows.len() == 1 { "" } else { "s" }
            );
            print(out)?;
        }
    }
    if good { Ok(()) } else { Err(Failed::Told) }
}

/// Returns the objections to the schedule of a node, each with whether it is an error.
fn findings(loaded: &Loaded, at: usize, schedule: &Schedule) -> Vec<(bool, String)> {
    let anomalies = schedule.anomalies.iter();
    let mut findings: Vec<_> =
        anomalies.map(|found| (is_wrong(found), loaded.told(found))).collect();
    let (name, place) = &loaded.system.nodes[at].name;
    for problem in &schedule.problems {
        findings.push((true, format!("{place}: error: {name}: {problem}")));
    }
    findings
}

/// Reports whether all flows and critical tasks are proved. The steps of a flow are covered by the verdict on the flow.
fn is_safe(analysed: &Analysed) -> bool {
    let nodes = analysed.found.resources.iter();
    let mut verdicts = nodes.zip(&analysed.found.verdicts).flat_map(|(node, found)| {
        let tasks = &node.set.tasks;
        found.iter().map(|verdict| (verdict, tasks[verdict.task].critical))
    });
    analysed.found.flows.iter().all(|flow| flow.meets)
        && verdicts.all(|(verdict, critical)| {
            verdict.outcome == DeadlineOutcome::Meets
                || verdict.method == Method::Holistic
                || !critical
        })
}

fn as_text(loaded: &Loaded, analysed: &Analysed) -> String {
    let mut out = String::new();
    let found = &analysed.found;
    for (at, (node, schedule)) in loaded.system.nodes.iter().zip(&analysed.schedules).enumerate() {
        for (_, told) in findings(loaded, at, schedule) {
            let _ = writeln!(out, "{told}");
        }
        let kind = match node.link {
            Some(Some(rate)) => format!("link of {}", bits(rate)),
            Some(None) => "link".to_owned(),
            None => format!("{} by {}", schedule.strategy, schedule.tasks.model),
        };
        let (name, total) = (&node.name.0, schedule.total);
        let _ = writeln!(out, "{STRONG}{name}{STRONG:#}: {kind}, {total} used");
        let others = found.verdicts[at].iter();
        let others = others.filter(|verdict| verdict.method != Method::Holistic);
        out.push_str(&verdicts(&found.resources[at].set, others));
    }
    for (flow, end) in loaded.system.flows.iter().zip(&found.flows) {
        flow_text(&mut out, loaded, analysed, flow, end);
    }
    out
}

fn flow_text(out: &mut String, loaded: &Loaded, analysed: &Analysed, flow: &Flow, end: &EndToEnd) {
    let outcome = if end.meets { DeadlineOutcome::Meets } else { DeadlineOutcome::Unproven };
    let (style, mark) = mark(outcome);
    let name = &flow.name.0;
    let _ =
        writeln!(out, "{style}{mark}{style:#} {STRONG}{name}{STRONG:#}: {}", verdict(flow, end));
    let width = flow.steps.iter().map(|(step, _)| step.len()).max().unwrap_or(0);
    let nodes = loaded.system.nodes.iter().map(|node| node.name.0.len());
    let nodes = nodes.max().unwrap_or(0);
    for (((step, _), by), best) in flow.steps.iter().zip(&end.by).zip(&end.best) {
        let Some((at, set, task)) = place(loaded, analysed, step) else {
            continue;
        };
        let node = &loaded.system.nodes[at].name.0;
        let verdict = &analysed.found.verdicts[at][task];
        let told = match by {
            Some(by) if *best > 0 => {
                format!("done between {} and {}: {}", Show(*best), Show(*by), verdict.reasons(set))
            }
            Some(by) => format!("done by {}: {}", Show(*by), verdict.reasons(set)),
            None => "its completion time is unknown".to_owned(),
        };
        let _ = writeln!(out, "       {step:width$} on {node:nodes$}  {told}");
    }
}

/// Returns the verdict on a flow as a sentence.
fn verdict(flow: &Flow, end: &EndToEnd) -> String {
    let deadline = Show(flow.deadline);
    match end.response {
        Some(response) if end.meets => {
            format!("meets its deadline of {deadline}, response at most {}", Show(response))
        }
        Some(response) => format!(
            "may miss its deadline of {deadline}, response up to {}, {} too long",
            Show(response),
            Show(response.saturating_sub(flow.deadline))
        ),
        None => format!(
            "may miss its deadline of {deadline}: one of its steps, or of a flow that shares a node or link with it, \
             has no bound"
        ),
    }
}

/// Returns the index of a step's node, its tasks, and its index among them.
fn place<'a>(
    loaded: &Loaded,
    analysed: &'a Analysed,
    step: &str,
) -> Option<(usize, &'a TaskSet, usize)> {
    let at = loaded.system.place_of(step)?;
    let set = &analysed.found.resources[at].set;
    let task = set.tasks.iter().position(|task| task.name == step)?;
    Some((at, set, task))
}

fn bits(rate: u64) -> String {
    let (scale, unit) = match rate {
        1_000_000_000.. if rate.is_multiple_of(1_000_000_000) => (1_000_000_000, "Gbit/s"),
        1_000_000.. if rate.is_multiple_of(1_000_000) => (1_000_000, "Mbit/s"),
        1_000.. if rate.is_multiple_of(1_000) => (1_000, "kbit/s"),
        _ => (1, "bit/s"),
    };
    format!("{} {unit}", rate / scale)
}

fn as_json(loaded: &Loaded, analysed: &Analysed, safe: bool) -> Value {
    let found = &analysed.found;
    let nodes = loaded.system.nodes.iter().zip(&analysed.schedules);
    let nodes = nodes.enumerate().map(|(at, (node, schedule))| {
        let set = &found.resources[at].set;
        let verdicts = found.verdicts[at].iter().map(|it| {
            let mut told = verdict_json(set, it);
            told["jitter_ns"] = set.tasks[it.task].jitter.into();
            told["in_flow"] = (it.method == Method::Holistic).into();
            told
        });
        let findings = findings(loaded, at, schedule).into_iter().map(|(_, told)| told);
        json!({
            "name": node.name.0,
            "kind": if node.link.is_some() { "link" } else { "processor" },
            "strategy": schedule.strategy,
            "model": set.model.name(),
            "utilization": schedule.total.fraction(),
            "findings": findings.collect::<Vec<_>>(),
            "operations": verdicts.collect::<Vec<_>>(),
        })
    });
    let flows = loaded.system.flows.iter().zip(&found.flows).map(|(flow, end)| {
        let steps = flow.steps.iter().zip(&end.by).zip(&end.best);
        let steps = steps.map(|(((step, _), by), best)| {
            let node =
                place(loaded, analysed, step).map(|(at, ..)| &loaded.system.nodes[at].name.0);
            json!({"operation": step, "node": node, "done_by_ns": by, "done_from_ns": best})
        });
        json!({
            "name": flow.name.0,
            "deadline_ns": flow.deadline,
            "response_ns": end.response,
            "holistic_ns": end.holistic,
            "offsets_ns": end.offsets,
            "meets": end.meets,
            "because": verdict(flow, end),
            "steps": steps.collect::<Vec<_>>(),
        })
    });
    json!({
        "safe": safe,
        "rounds": found.rounds,
        "nodes": nodes.collect::<Vec<_>>(),
        "flows": flows.collect::<Vec<_>>(),
    })
}
