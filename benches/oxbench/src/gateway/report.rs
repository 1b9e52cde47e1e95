//! Results of a run, as text and as JSON. Times are in nanoseconds.

use std::fmt;

use serde::Serialize;

use super::calls::{CONTENDERS, Contender, Taken};
use super::connections::ConnectionsReport;
use crate::bootstrap::Ratio;
use crate::experiment::Experiment;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::{Table, or_dash};
use crate::wire;

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) rounds: u32,
    pub(super) calls: Vec<CallReport>,
    pub(super) connections: ConnectionsReport,
}

/// Results of one call by every contender.
#[derive(Serialize)]
pub(super) struct CallReport {
    pub(super) name: &'static str,
    /// Size in octets of the GIOP message of a direct call.
    request_octets: usize,
    reply_octets: usize,
    pub(super) rows: Vec<CallRow>,
}

/// Results of one call by one contender.
#[derive(Serialize)]
pub(super) struct CallRow {
    pub(super) contender: Contender,
    calls: u64,
    /// Median of the best round.
    best: u64,
    /// Median over all rounds.
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
    /// Median of the rounds minus that of direct calls in the same round; median of these differences.
    hop: Option<u64>,
    /// Differences of the rounds divided by the medians of direct calls.
    pub(super) hop_to_direct: Option<Ratio>,
    /// Allocations of the process between client and server for each call, in the median round.
    pub(super) allocations: Option<f64>,
    /// Quantile and nanoseconds.
    curve: Vec<(f64, u64)>,
}

/// Returns the results of one call. `all` has an element for each contender.
pub(super) fn call(experiment: &Experiment, all: &[Taken]) -> CallReport {
    let lengths = wire::lengths(experiment.operation, experiment.size);
    let direct = &all[Contender::Direct as usize].calls.medians;
    let row = |(contender, taken): (Contender, &Taken)| {
        let Taken { calls: record, allocations } = taken;
        let [p50, p99, p999, max] = record.quantiles();
        let calls = record.histogram.len();
        let is_direct = contender == Contender::Direct;
        let rounds = record.medians.iter().zip(direct);
        let hops = ascending(rounds.map(|(this, direct)| this.saturating_sub(*direct)));
        let made = ascending(allocations.iter().copied());
        let made = made.get(made.len() / 2).copied().unwrap_or_default();
        let calls_of_round = calls / allocations.len().max(1) as u64;
        CallRow {
            contender,
            calls,
            best: record.best(),
            p50,
            p99,
            p999,
            max,
            hop: hops.get(hops.len() / 2).copied().filter(|_| !is_direct),
            hop_to_direct: (!is_direct)
                .then(|| Ratio::of(&hops, &ascending(direct.iter().copied()), 0.5)),
            allocations: (!is_direct).then(|| made as f64 / calls_of_round.max(1) as f64),
            curve: record.curve(),
        }
    };
    CallReport {
        name: experiment.name,
        request_octets: lengths.request,
        reply_octets: lengths.reply,
        rows: CONTENDERS.into_iter().zip(all).map(row).collect(),
    }
}

fn ascending(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}

impl Report {
    /// Returns the results of a contender in a call.
    pub(super) fn row(&self, call: &str, contender: Contender) -> Option<&CallRow> {
        let report = self.calls.iter().find(|report| report.name == call)?;
        report.rows.iter().find(|row| row.contender == contender)
    }

    /// Draws the times of each call by quantile, with a line for each contender.
    pub(super) fn drawing(&self) -> Drawing {
        let micros = |&(quantile, time): &(f64, u64)| (quantile, time as f64 / 1e3);
        let panel = |it: &CallReport| {
            let lines = it.rows.iter().map(|it| (it.contender, it.curve.iter().map(micros)));
            Panel::lines(it.name, Axis::percentiles(), Axis::log("microseconds"), lines)
        };
        let title = format!("{}; {}", self.machine, self.placement);
        Drawing { title, across: 2, panels: self.calls.iter().map(panel).collect() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "{}; {} rounds in turns; microseconds", self.placement, self.rounds)?;
        for CallReport { name, request_octets, reply_octets, rows } in &self.calls {
            writeln!(f, "\n{name}: {request_octets} octets there, {reply_octets} back")?;
            let table = Table::of(rows)
                .left([""], |it| [it.contender])
                .micros(["best p50", "p50", "p99", "p99.9", "max", "hop"], 2, |it| {
                    [Some(it.best), Some(it.p50), Some(it.p99), Some(it.p999), Some(it.max), it.hop]
                })
                .right(["hop to direct"], |it| [or_dash(it.hop_to_direct)])
                .fixed(["allocations"], 3, |it| [it.allocations]);
            write!(f, "{table}")?;
        }
        let ConnectionsReport { connections, served, opened_each_second, memory, threads, rows } =
            &self.connections;
        writeln!(
            f,
            "\n{connections} connections: {served} served, {opened_each_second:.0} opened a second, {memory} octets of \
             memory each, {threads} threads"
        )?;
        let table = Table::of(rows).right(["open"], |it| [it.open]).micros(
            ["p50", "p99", "p99.9", "max"],
            2,
            |it| [it.p50, it.p99, it.p999, it.max],
        );
        write!(f, "{table}")
    }
}
