//! Notes of `oxorb sched analyse` on a task, in addition to its verdict.

use std::fmt::Write as _;

use oxorb_sched::analysis::{DeadlineOutcome, Report, best, chance, mixed, sensitivity};
use oxorb_sched::time::{Nanos, Show};
use oxorb_sched::{Schedule, TaskSet};
use serde_json::{Value, json};

use super::analyse::{What, mark};
use super::load::Loaded;
use oxorb_terminal::output::Failed;

/// Notes on tasks, by index; empty if not requested.
#[derive(Default)]
pub(super) struct Notes {
    /// Longest execution time with which all deadlines are met.
    longest: Vec<Option<Nanos>>,
    /// Shortest period with which all deadlines are met.
    shortest: Vec<Option<Nanos>>,
    /// Feasible growth of all execution times, in thousandths.
    scale: Option<u64>,
    /// Bounds on the probability of a miss.
    chances: Vec<Option<f64>>,
    /// Lower bounds on completion times of jobs: always, and once the system has settled after its start.
    best: Vec<(Nanos, Nanos)>,
    asked_for_room: bool,
}

impl Notes {
    pub(super) fn of(loaded: &Loaded, schedule: &Schedule, what: &What) -> Result<Notes, Failed> {
        let set = &schedule.tasks;
        let places = || 0..set.tasks.len();
        let mut notes = Notes {
            best: set.tasks.iter().map(best::alone).zip(best::responses(set)).collect(),
            ..Notes::default()
        };
        if what.sensitivity {
            notes.asked_for_room = true;
            notes.longest = places().map(|at| sensitivity::longest(set, at)).collect();
            notes.shortest = places().map(|at| sensitivity::shortest_period(set, at)).collect();
            notes.scale = sensitivity::scale(set);
        }
        if what.chance {
            let times = loaded.extra.distributions(&loaded.repository, schedule)?;
            notes.chances = places().map(|at| chance::miss(set, at, &times)).collect();
        }
        Ok(notes)
    }

    /// Returns the text after a task's verdict in its line.
    pub(super) fn of_task(&self, at: usize) -> String {
        let mut out = String::new();
        if let Some((best, later)) = self.best.get(at).filter(|(best, _)| *best > 0) {
            let _ = write!(out, "; at least {}", Show(*best));
            if later > best {
                let _ = write!(out, ", and {} once all have run", Show(*later));
            }
        }
        if let Some(Some(longest)) = self.longest.get(at) {
            let _ = write!(out, "; could take up to {}", Show(*longest));
        }
        if let Some(Some(shortest)) = self.shortest.get(at) {
            let _ = write!(out, "; could be released every {}", Show(*shortest));
        }
        match self.chances.get(at) {
            Some(Some(chance)) => {
                let _ = write!(out, "; late with a probability of at most {chance:.2e}");
            }
            Some(None) => out.push_str("; no bound on the probability of being late"),
            None => {}
        }
        out
    }

    pub(super) fn last_lines(&self) -> String {
        let mut out = String::new();
        if let Some(scale) = self.scale {
            let scale = scale as f64 / 1_000.0;
            let _ = write!(out, "\nall execution times may grow by the factor {scale:.3}\n");
        }
        if !self.chances.is_empty() {
            out.push_str(
                "\nthe probabilities assume that execution times are independent of each other, and that unproved jobs \
                 are aborted at their deadlines\n",
            );
        }
        out
    }

    pub(super) fn add_to(&self, json: &mut Value, report: &Report) {
        if self.asked_for_room {
            json["longest_ns"] = json!(self.longest);
            json["shortest_period_ns"] = json!(self.shortest);
            json["scale"] = json!(self.scale.map(|scale| scale as f64 / 1_000.0));
        }
        let Some(rows) = json["operations"].as_array_mut() else {
            return;
        };
        for (at, row) in rows.iter_mut().enumerate() {
            if let Some((best, later)) = self.best.get(at).filter(|(best, _)| *best > 0) {
                row["best_ns"] = json!(best);
                row["later_best_ns"] = json!(later);
                let worst = report.verdicts[at].response;
                row["jitter_ns"] = json!(worst.map(|worst| worst.saturating_sub(*best)));
            }
            if let Some(chance) = self.chances.get(at) {
                row["late_probability"] = json!(chance);
            }
        }
    }
}

/// Returns the verdicts for the modes of mixed criticality, as lines of text.
pub(super) fn mixed_text(set: &TaskSet, found: &[mixed::MixedVerdict]) -> String {
    let mut out = String::from(
        "\nmixed criticality (AMC-rtb): response without overruns, then with overruns, when operations without a \
         declared overrun are dropped\n",
    );
    for one in found {
        let task = &set.tasks[one.task];
        let outcome = if one.meets() { DeadlineOutcome::Meets } else { DeadlineOutcome::Unproven };
        let (style, mark) = mark(outcome);
        let show =
            |response: Option<Nanos>| response.map_or("no bound".into(), |it| Show(it).to_string());
        let high = match one.is_high {
            true => format!("then {}", show(one.high)),
            false => "then dropped".into(),
        };
        let _ = writeln!(
            out,
            "{style}{mark}{style:#} {}: deadline of {}, response {}, {high}",
            task.name,
            Show(task.deadline),
            show(one.low)
        );
    }
    out
}

pub(super) fn mixed_json(set: &TaskSet, found: &[mixed::MixedVerdict]) -> Value {
    let row = |one: &mixed::MixedVerdict| {
        json!({
            "operation": set.tasks[one.task].name,
            "high": one.is_high,
            "low_response_ns": one.low,
            "high_response_ns": one.high,
            "meets": one.meets(),
        })
    };
    found.iter().map(row).collect::<Vec<_>>().into()
}
