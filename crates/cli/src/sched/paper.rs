//! `oxorb sched simulate --paper`: Table 1 of paper 3 under its four strategies, both constructed as by TAO and event
//! by event.

use std::fmt::Write as _;
use std::path::Path;

use oxorb_sched::simulate::{
    LatePolicy, SimulationOptions, construct, releases, run as simulate, table_1,
};
use oxorb_sched::{DispatchModel, OsPriorities, Schedule, Strategy};
use serde_json::Value;

use super::simulate::{Run, as_json, as_text, draw};
use oxorb_terminal::output::{BAD, Done, Failed, Format, GOOD, STRONG, print, print_json};

const STRATEGIES: [Strategy; 4] = [Strategy::MUF, Strategy::MLF, Strategy::EDF, Strategy::RMS];

/// Simulation forms, by folder name.
const FORMS: [&str; 3] = ["constructed", "events", "events-demoting"];

pub(super) fn run(out: Option<&Path>, format: Format) -> Done {
    let mut forms: Vec<(&str, Vec<Run>)> = Vec::new();
    for form in FORMS {
        let runs = STRATEGIES.iter().map(|&strategy| one(strategy, form));
        forms.push((form, runs.collect::<Result<_, Failed>>()?));
    }
    match format {
        Format::Json => {
            let told = forms.iter().map(|(form, runs)| {
                let runs =
                    runs.iter().map(|run| as_json(&run.name, &run.set, &run.timeline, &run.found));
                ((*form).to_owned(), Value::Array(runs.collect()))
            });
            print_json(&Value::Object(told.collect()))?;
        }
        Format::Text => {
            for (form, runs) in &forms {
                print(format!("\n{STRONG}{form}{STRONG:#}\n"))?;
                for run in runs {
                    print(as_text(&run.name, &run.set, &run.timeline, &run.found))?;
                }
            }
            print(claims(&forms))?;
        }
    }
    if let Some(out) = out {
        for (form, runs) in &forms {
            draw(&out.join(form), runs)?;
        }
        if format == Format::Text {
            print(format!("\npictures and tables written to {}\n", out.display()))?;
        }
    }
    Ok(())
}

fn one(strategy: Strategy, form: &str) -> Result<Run, Failed> {
    let priorities = OsPriorities::range(1, 99)?;
    let repository = table_1::operations()?;
    let model = DispatchModel::Urgency;
    let set = Schedule::compute(&repository, &strategy, &model, &priorities)?.tasks;
    let events = |late| -> Result<_, Failed> {
        let options = SimulationOptions { late };
        Ok(simulate(&set, &releases(&set, table_1::FRAME)?, &options))
    };
    let timeline = match form {
        "constructed" => construct(&set, table_1::FRAME)?,
        "events" => events(LatePolicy::Keep)?,
        _ => events(LatePolicy::Demote)?,
    };
    Ok(Run::of(strategy.name, set, timeline))
}

/// Compares the claims of paper 3 with the numbers.
fn claims(forms: &[(&str, Vec<Run>)]) -> String {
    let mut out = format!("\n{STRONG}claims of the paper{STRONG:#}\n");
    for (form, runs) in forms {
        for (claim, holds) in [
            ("only MUF keeps every critical deadline (4.3)", only_muf(runs)),
            (
                "the other strategies miss deadlines of each critical operation below 20 Hz (4.3)",
                others_miss(runs),
            ),
            (
                "MUF misses the fewest deadlines, by the mean of the operations' fractions (4.3)",
                least(runs, |run| run.overall().mean_fraction),
            ),
            (
                "MUF misses the fewest deadlines, by number (4.3)",
                least(runs, |run| run.overall().missed as f64),
            ),
        ] {
            let (style, word) = if holds { (GOOD, "holds") } else { (BAD, "fails") };
            let _ = writeln!(out, "  {form:16} {style}{word}{style:#}  {claim}");
        }
    }
    out
}

fn only_muf(runs: &[Run]) -> bool {
    let mut keep = runs.iter().map(|run| run.overall().critical_missed == 0);
    keep.next() == Some(true) && !keep.any(|keeps| keeps)
}

fn others_miss(runs: &[Run]) -> bool {
    runs[1..].iter().all(|run| {
        // Indices 4 to 7 are the critical operations, in ascending order of their rates. All but the fastest one must
        // miss deadlines.
        run.found[4..7].iter().all(|one| one.missed > 0)
    })
}

fn least(runs: &[Run], of: impl Fn(&Run) -> f64) -> bool {
    let muf = of(&runs[0]);
    runs[1..].iter().all(|run| muf < of(run))
}
