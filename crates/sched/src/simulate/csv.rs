//! Results as CSV, for spreadsheets and scripts. Times are in nanoseconds.

use std::fmt::Write as _;

use super::{TaskStatistics, Timeline};
use crate::task::TaskSet;

/// Returns a line for each job.
pub fn jobs_csv(set: &TaskSet, timeline: &Timeline) -> String {
    let mut text = String::from(
        "operation,job,release_ns,deadline_ns,began_ns,done_ns,latency_ns,laxity_ns,missed\n",
    );
    let shown = |value: Option<i128>| value.map_or(String::new(), |value| value.to_string());
    for job in &timeline.jobs {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{}",
            field(&set.tasks[job.task].name),
            job.number,
            job.release,
            job.deadline,
            shown(job.began.map(Into::into)),
            shown(job.done.map(Into::into)),
            shown(job.latency().map(Into::into)),
            shown(job.laxity().map(Into::into)),
            u8::from(job.missed())
        );
    }
    text
}

/// Returns a line for each task and run; `runs` have names, such as those of strategies.
pub fn summary_csv<'a>(
    set: &TaskSet,
    runs: impl IntoIterator<Item = (&'a str, &'a [TaskStatistics])>,
) -> String {
    let mut text = String::from(
        "run,operation,jobs,missed,missed_at_dispatch,dropped,fraction_missed,mean_latency_ns,worst_latency_ns,\
         mean_laxity_ns,worst_laxity_ns\n",
    );
    for (run, statistics) in runs {
        for (task, one) in set.tasks.iter().zip(statistics) {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{:.4},{:.0},{},{:.0},{}",
                field(run),
                field(&task.name),
                one.jobs,
                one.missed,
                one.missed_at_dispatch,
                one.dropped,
                one.fraction_missed(),
                one.mean_latency,
                one.worst_latency,
                one.mean_laxity,
                one.worst_laxity
            );
        }
    }
    text
}

/// Returns the field, quoted if necessary.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        assert_eq!(field("a::b"), "a::b");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
