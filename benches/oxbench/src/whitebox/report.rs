//! Results of a run, as text and as JSON.

use std::fmt;

use serde::Serialize;

use crate::Result;
use crate::load::Architecture;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) clients: usize,
    pub(super) rows: Vec<Row>,
}

/// Results of one architecture.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) architecture: Architecture,
    pub(super) client: Counts,
    pub(super) server: Counts,
}

/// Counts of one side per request.
#[derive(Serialize)]
pub(super) struct Counts {
    /// CPU time in user mode and in the kernel, without counting tools.
    pub(super) user_us: f64,
    pub(super) system_us: f64,
    /// Number of calls by name.
    pub(super) system_calls: Vec<(String, f64)>,
    pub(super) allocations: f64,
    /// Calls of the system library's locks; Rust's own are inlined, and included in `locks`.
    pub(super) mutexes: f64,
    /// Compare-and-swaps of at most 32 bits: an upper bound on the locks taken.
    pub(super) locks: f64,
    /// Atomic operations of all kinds.
    pub(super) atomics: f64,
    /// Instructions in user mode.
    pub(super) instructions: f64,
}

/// Greatest count per call that is regarded as none, because a timer may fire during counting.
const SLACK: f64 = 0.005;

impl Counts {
    pub(super) fn system_calls(&self) -> f64 {
        self.system_calls.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn futexes(&self) -> f64 {
        let mut calls = self.system_calls.iter();
        calls.find(|(name, _)| name == "futex").map_or(0.0, |(_, count)| *count)
    }

    /// Returns the system calls by name, without rare ones.
    fn names_of_calls(&self) -> String {
        let calls = self.system_calls.iter().filter(|(_, count)| *count >= SLACK);
        let calls: Vec<_> = calls.map(|(name, count)| format!("{name} {count:.2}")).collect();
        calls.join(" ")
    }

    /// Returns a sentence for each exceeded bound of a real-time configuration.
    fn broken(&self, side: &str) -> Vec<String> {
        let checks = [
            ("locks", self.locks),
            ("calls of the library's locks", self.mutexes),
            ("futex calls", self.futexes()),
            ("allocations", self.allocations),
        ];
        let broken = checks.into_iter().filter(|(_, count)| *count > SLACK);
        broken
            .map(|(what, count)| format!("{count:.3} {what} on the {side}, none allowed"))
            .collect()
    }
}

impl Report {
    /// Checks the project's bound (E2): no lock and no allocation in the real-time configuration.
    pub(super) fn check(&self) -> Result {
        let row = self
            .rows
            .iter()
            .find(|row| row.architecture == Architecture::Lanes)
            .ok_or("the real-time configuration was not measured")?;
        let mut broken = row.client.broken("client");
        broken.extend(row.server.broken("server"));
        match broken.is_empty() {
            true => Ok(()),
            false => Err(format!("lanes, for each request: {}", broken.join("; ")).into()),
        }
    }
}

/// Counted quantity, and its field.
type Kind = (&'static str, fn(&Counts) -> f64);

impl Report {
    /// Draws the counts per request: a panel for each kind, two bars for each architecture.
    pub(super) fn drawing(&self) -> Drawing {
        let kinds: [Kind; 4] = [
            ("system calls", Counts::system_calls),
            ("locks (at most)", |counts| counts.locks),
            ("allocations", |counts| counts.allocations),
            ("CPU time, us", |counts| counts.user_us + counts.system_us),
        ];
        let panels = kinds.map(|(caption, of)| {
            let bars = self.rows.iter().map(|Row { architecture, client, server }| {
                (architecture, [("client", of(client)), ("server", of(server))])
            });
            Panel::bars(caption, Axis::linear(""), bars)
        });
        let title = format!("{}; for each request", self.machine);
        Drawing { title, across: 2, panels: panels.into() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "for each request; {} clients, back to back, each of another priority where there are priorities\n",
            self.clients
        )?;
        let rows = self.rows.iter().flat_map(|row| {
            [(Some(row.architecture), "client", &row.client), (None, "server", &row.server)]
        });
        let table = Table::of(rows)
            .left([""], |(name, ..)| [name.map_or_else(String::new, |name| name.to_string())])
            .left([""], |(_, side, _)| [side])
            .fixed(["locks", "atomics", "futex", "mallocs", "calls"], 2, |(.., it)| {
                [it.locks, it.atomics, it.futexes(), it.allocations, it.system_calls()]
            })
            .fixed(["user", "system"], 1, |(.., it)| [it.user_us, it.system_us])
            .fixed(["instr."], 0, |(.., it)| [it.instructions])
            .fixed(["mutexes"], 2, |(.., it)| [it.mutexes])
            .left(["system calls"], |(.., it)| [it.names_of_calls()]);
        writeln!(
            f,
            "{table}\nlocks: at most, by compare-and-swaps; user, system: CPU time in us, untraced; mutexes: calls of \
             the C library's"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(locks: f64, futexes: f64, allocations: f64) -> Counts {
        Counts {
            user_us: 1.0,
            system_us: 5.0,
            system_calls: vec![("futex".into(), futexes), ("sendto".into(), 1.0)],
            allocations,
            mutexes: 0.0,
            locks,
            atomics: 3.0,
            instructions: 2000.0,
        }
    }

    fn report(client: Counts) -> Report {
        let server = counts(0.0, 0.0, 0.0);
        Report {
            machine: Machine::this(),
            clients: 10,
            rows: vec![Row { architecture: Architecture::Lanes, client, server }],
        }
    }

    #[test]
    fn each_bound_can_be_broken() {
        assert!(report(counts(0.0, 0.001, 0.0)).check().is_ok());
        for broken in [counts(1.0, 0.0, 0.0), counts(0.0, 0.1, 0.0), counts(0.0, 0.0, 0.5)] {
            assert!(report(broken).check().is_err());
        }
        let mut empty = report(counts(0.0, 0.0, 0.0));
        empty.rows.clear();
        assert!(empty.check().is_err());
    }
}
