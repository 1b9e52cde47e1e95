//! `oxorb sched check`.

use oxorb_sched::Schedule;
use serde_json::json;

use super::flows;
use super::how::Source;
use super::load::is_wrong;
use oxorb_terminal::output::{BAD, Done, Failed, Format, GOOD, counted, print, print_json};

pub(super) fn run(source: &Source, format: Format) -> Done {
    let loaded = source.load()?;
    if !loaded.system.is_empty() {
        return flows::check(&loaded, &source.how, format);
    }
    let schedule = source.how.schedule(&loaded)?;
    let problems = schedule.problems.iter();
    let problems: Vec<String> = problems.map(|problem| format!("error: {problem}")).collect();
    let findings = schedule.anomalies.iter().map(|found| loaded.told(found));
    let findings: Vec<String> = findings.chain(problems).collect();
    let good = !schedule.anomalies.iter().any(is_wrong) && schedule.problems.is_empty();
    match format {
        Format::Json => print_json(&json!({
            "good": good,
            "findings": findings,
            "strategy": schedule.strategy,
            "operations": loaded.repository.len(),
            "levels": schedule.levels.len(),
            "utilization": schedule.total.fraction(),
        }))?,
        Format::Text => {
            for finding in &findings {
                print(format!("{finding}\n"))?;
            }
            print(summary(&schedule, loaded.repository.len(), good))?;
        }
    }
    if good { Ok(()) } else { Err(Failed::Told) }
}

fn summary(schedule: &Schedule, operations: usize, good: bool) -> String {
    let (style, word) = if good { (GOOD, "good") } else { (BAD, "wrong") };
    format!(
        "{style}{word}{style:#}: {}, {} under {}, {} of the processor\n",
        counted(operations, "operation"),
        counted(schedule.levels.len(), "level"),
        schedule.strategy,
        schedule.total
    )
}
