//! Server instructions that budgets add to a request within them.

use std::fmt;

use serde::Serialize;

use super::{Environment, FEW, MANY, instructions_in, per_call};
use crate::Result;
use crate::experiment::EXPERIMENTS;
use crate::peers::Contender;
use crate::table::Table;

/// Budgets in the form of `-ORBBudget` that no ping exceeds.
const KINDS: [(&str, &str); 4] = [
    ("a rate of the operation", "operation oxbench::Probe::ping requests=1000000000 burst=1000000"),
    ("a rate of each client", "clients requests=1000000000 burst=1000000"),
    ("processor time of the operation", "operation oxbench::Probe::ping time=60s/60s longest=60s"),
    (
        "both of both",
        "operation oxbench::Probe::ping requests=1000000000 burst=1000000 time=60s/60s longest=60s; \
         clients requests=1000000000 burst=1000000 time=60s/60s longest=60s",
    ),
];

/// Maximum number of additional instructions per request: with one budget of a rate, with one of processor time, and
/// with two budgets of both kinds. The target is 60 per budget; most of the excess is spent on finding the accounts and
/// the request's entry in them. A system call that reads a clock counts as the instructions before and after it.
const MOST: f64 = 400.0;
const MOST_OF_TIME: f64 = 600.0;
const MOST_OF_ALL: f64 = 660.0;

/// Minimum number of instructions that proves a budget to be in effect.
const LEAST: f64 = 5.0;

/// Environment variable of the option.
const VARIABLE: &str = "OXORB_BUDGET";

/// Server instructions for a ping, without budgets and with them.
#[derive(Debug, Serialize)]
pub(super) struct Budgets {
    without: f64,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    kind: &'static str,
    more: f64,
}

/// Counts the instructions.
pub(super) fn count(contender: &Contender) -> Result<Budgets> {
    let without = server(contender, &[])?;
    let rows = KINDS.into_iter().map(|(kind, budgets)| {
        let with = server(contender, &[(VARIABLE, budgets)])?;
        let more = with - without;
        Ok(Row { kind, more })
    });
    Ok(Budgets { without, rows: rows.collect::<Result<_>>()? })
}

/// Returns the server's instructions for a ping.
fn server(contender: &Contender, environment: Environment<'_>) -> Result<f64> {
    let ping = &EXPERIMENTS[0];
    let [_, few] = instructions_in(contender, ping, FEW, environment)?;
    let [_, many] = instructions_in(contender, ping, MANY, environment)?;
    Ok(per_call(few, many))
}

impl Budgets {
    /// Returns a sentence for each exceeded bound.
    pub(super) fn broken(&self) -> Vec<String> {
        let broken = self.rows.iter().filter_map(|row| {
            let bound = match row.kind {
                kind if kind.starts_with("both") => MOST_OF_ALL,
                kind if kind.starts_with("processor time") => MOST_OF_TIME,
                _ => MOST,
            };
            let Row { kind, more } = row;
            (*more > bound)
                .then(|| format!("{more:.0} instructions for {kind}, {bound} allowed"))
                .or_else(|| {
                    // If a budget adds almost no instructions, the server did not apply it.
                    (*more < LEAST)
                        .then(|| format!("{more:.0} instructions for {kind}: nothing was counted"))
                })
        });
        broken.collect()
    }
}

impl fmt::Display for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "instructions of the server for a ping, {:.0} without budgets; more with a budget of:",
            self.without
        )?;
        Table::of(&self.rows).left([""], |it| [it.kind]).fixed([""], 0, |it| [it.more]).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(kind: &'static str, more: f64) -> Vec<String> {
        let rows = vec![Row { kind, more }];
        let without = 1_800.0;
        Budgets { without, rows }.broken()
    }

    #[test]
    fn a_budget_has_its_bound_and_is_seen() {
        assert_eq!(broken(KINDS[0].0, MOST - 1.0), [""; 0]);
        assert!(broken(KINDS[0].0, MOST + 1.0)[0].ends_with("400 allowed"));
        assert!(broken(KINDS[1].0, 0.0)[0].ends_with("nothing was counted"));
        assert_eq!(broken(KINDS[2].0, MOST + 1.0), [""; 0]);
        assert_eq!(broken(KINDS[2].0, MOST_OF_TIME + 1.0).len(), 1);
        assert_eq!(broken(KINDS[3].0, MOST_OF_TIME + 1.0), [""; 0]);
        assert_eq!(broken(KINDS[3].0, MOST_OF_ALL + 1.0).len(), 1);
    }
}
