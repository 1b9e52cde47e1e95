//! Results of a run, as text and as JSON. Times are in nanoseconds.

use std::fmt;

use serde::Serialize;

use super::Taken;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    /// Number of CPUs that client, gateway and server share.
    pub(super) cpus: usize,
    pub(super) rounds: u32,
    /// Number of calls that the gateway makes simultaneously.
    pub(super) calls: u32,
    pub(super) rows: Vec<Row>,
}

/// Results of a number of simultaneous connections.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) connections: u32,
    requests: u64,
    /// Requests per second, median of the rounds.
    pub(super) each_second: f64,
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
    /// Processor time of the gateway per request, if the kernel reports it.
    gateway_cpu: Option<u64>,
    /// Quantile and nanoseconds.
    curve: Vec<(f64, u64)>,
}

impl Row {
    pub(super) fn of(taken: &Taken) -> Row {
        let [p50, p99, p999, max] = taken.times.quantiles();
        let requests = taken.times.histogram.len();
        let mut paces = taken.paces.clone();
        paces.sort_unstable();
        let pace = paces.get(paces.len() / 2).copied().unwrap_or_default().max(1);
        Row {
            connections: taken.connections,
            requests,
            each_second: 1e9 / pace as f64,
            p50,
            p99,
            p999,
            max,
            gateway_cpu: taken.cpu.map(|cpu| cpu.as_nanos() as u64 / requests.max(1)),
            curve: taken.times.curve(),
        }
    }
}

impl Report {
    /// Draws the rates, and the times by quantile with a line for each number of connections.
    pub(super) fn drawing(&self) -> Drawing {
        let bars = self.rows.iter().map(|row| {
            let name = format!("{} connections", row.connections);
            (name, [("", row.each_second)])
        });
        let rates = Panel::bars("rate", Axis::linear("requests a second"), bars);
        let micros = |&(quantile, time): &(f64, u64)| (quantile, time as f64 / 1e3);
        let lines = self.rows.iter().map(|row| (row.connections, row.curve.iter().map(micros)));
        let times = Panel::lines("times", Axis::percentiles(), Axis::log("microseconds"), lines);
        let title = format!("{}; {}", self.machine, self.placement);
        Drawing { title, across: 2, panels: vec![rates, times] }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{}; {} rounds; {} simultaneous calls of the gateway; microseconds\n",
            self.placement, self.rounds, self.calls
        )?;
        let table = Table::of(&self.rows)
            .right(["connections"], |it| [it.connections])
            .fixed(["a second"], 0, |it| [it.each_second])
            .micros(["p50", "p99", "p99.9", "max", "gateway cpu"], 1, |it| {
                [Some(it.p50), Some(it.p99), Some(it.p999), Some(it.max), it.gateway_cpu]
            });
        write!(f, "{table}")
    }
}
