//! Server instructions that budgets add to a request within them.

use std::fmt;

use serde::Serialize;

use super::{Environment, FEW, MANY, instructions_in, per_call};
use crate::Result;
use crate::experiment::EXPERIMENTS;
use crate::peers::Contender;
use crate::table::Table;

/// Budgets in the form of `-ORBBudget` that no ping exceeds, each with the maximum number of instructions that they may
/// add to a request. The target is 60, which a rate of each client meets. A system call that reads a clock counts as
/// the instructions before and after it.
const KINDS: [(&str, &str, f64); 5] = [
    (
        "a rate of the operation",
        "operation oxbench::Probe::ping requests=100000 burst=100000",
        200.0,
    ),
    ("a rate of each client", "clients requests=100000 burst=100000", 80.0),
    // At such a rate no request is taken in advance, so each one reads the clock.
    (
        "a low rate of the operation",
        "operation oxbench::Probe::ping requests=999 burst=100000",
        260.0,
    ),
    (
        "processor time of the operation",
        "operation oxbench::Probe::ping time=60s/60s longest=60s",
        600.0,
    ),
    (
        "both of both",
        "operation oxbench::Probe::ping requests=100000 burst=100000 time=60s/60s longest=60s; \
         clients requests=100000 burst=100000 time=60s/60s longest=60s",
        660.0,
    ),
];

/// Minimum number of instructions that proves a budget to be in effect.
const LEAST: f64 = 5.0;

/// Environment variable of the option.
const VARIABLE: &str = "OXORB_BUDGET";

/// A minute between two checks of the thread that watches budgets. The number of checks depends on the time that the
/// calls take, so they would make the counts depend on the machine and its load.
const QUANTUM: (&str, &str) = ("OXORB_BUDGETQUANTUM", "60000000");

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
    /// Maximum number that is allowed.
    most: f64,
}

/// Counts the instructions.
pub(super) fn count(contender: &Contender) -> Result<Budgets> {
    let without = server(contender, &[])?;
    let rows = KINDS.into_iter().map(|(kind, budgets, most)| {
        let with = server(contender, &[(VARIABLE, budgets), QUANTUM])?;
        let more = with - without;
        Ok(Row { kind, more, most })
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
        let broken = self.rows.iter().filter_map(|Row { kind, more, most }| {
            (more > most)
                .then(|| format!("{more:.0} instructions for {kind}, {most} allowed"))
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

    #[test]
    fn a_budget_has_its_bound_and_is_seen() {
        for (kind, _, most) in KINDS {
            let broken = |more| {
                let rows = vec![Row { kind, more, most }];
                Budgets { without: 1_800.0, rows }.broken()
            };
            assert_eq!(broken(most - 1.0), [""; 0]);
            assert!(broken(most + 1.0)[0].ends_with(&format!("{kind}, {most} allowed")));
            assert!(broken(0.0)[0].ends_with("nothing was counted"));
        }
    }
}
