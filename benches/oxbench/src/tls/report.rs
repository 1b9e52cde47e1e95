//! Results of a run, as text and as JSON. Times are in nanoseconds.

use std::fmt;

use serde::Serialize;

use super::calls::{CONTENDERS, Contender};
use super::handshakes::{Kind, Measured, SERVERS, Server};
use crate::bootstrap::Ratio;
use crate::experiment::Experiment;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::record::Record;
use crate::table::{Table, or_dash};
use crate::wire;

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) handshake_placement: String,
    pub(super) rounds: u32,
    /// Cipher suite on which all clients and servers agreed.
    pub(super) suite: String,
    pub(super) calls: Vec<CallReport>,
    pub(super) handshakes: Vec<HandshakeRow>,
}

/// Results of one call by every contender.
#[derive(Serialize)]
pub(super) struct CallReport {
    pub(super) name: &'static str,
    /// Size in octets of the GIOP message; the bare exchanges also send messages of this size.
    request_octets: usize,
    reply_octets: usize,
    rows: Vec<CallRow>,
}

/// Results of one call by one contender.
#[derive(Serialize)]
pub(super) struct CallRow {
    contender: Contender,
    calls: u64,
    /// Median of the best round.
    best: u64,
    /// Median over all rounds.
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
    /// Median of the rounds divided by that of calls over TCP.
    pub(super) to_iiop: Option<Ratio>,
    /// Median of the rounds divided by that of the bare exchange over TLS.
    pub(super) to_rustls: Option<Ratio>,
    /// Quantile and nanoseconds.
    curve: Vec<(f64, u64)>,
}

/// Handshakes of one kind with one server, with a number of simultaneous connections.
#[derive(Serialize)]
pub(super) struct HandshakeRow {
    pub(super) kind: Kind,
    pub(super) connections: u32,
    pub(super) server: Server,
    handshakes: u64,
    /// Handshakes per second, median of the rounds.
    each_second: f64,
    /// Median of the times at the client.
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
    /// Processor time of the server per handshake, if the kernel reports it.
    server_cpu: Option<u64>,
    /// Handshakes per second divided by those of the bare server.
    pub(super) to_rustls: Option<Ratio>,
}

/// Returns the results of one call. `records` has an element for each contender.
pub(super) fn call(experiment: &Experiment, records: &[Record]) -> CallReport {
    let lengths = wire::lengths(experiment.operation, experiment.size);
    let row = |(contender, record): (Contender, &Record)| {
        let [p50, p99, p999, max] = record.quantiles();
        let to = |other: Contender| {
            let others = ascending(&records[other as usize].medians);
            (other != contender).then(|| Ratio::of(&ascending(&record.medians), &others, 0.5))
        };
        CallRow {
            contender,
            calls: record.histogram.len(),
            best: record.best(),
            p50,
            p99,
            p999,
            max,
            to_iiop: to(Contender::Iiop),
            to_rustls: to(Contender::Rustls),
            curve: record.curve(),
        }
    };
    CallReport {
        name: experiment.name,
        request_octets: lengths.request,
        reply_octets: lengths.reply,
        rows: CONTENDERS.into_iter().zip(records).map(row).collect(),
    }
}

/// Returns the results of each server.
pub(super) fn handshakes(measured: &Measured) -> [HandshakeRow; 2] {
    let paces = |of: Server| ascending(&measured.servers[of as usize].paces);
    SERVERS.map(|server| {
        let taken = &measured.servers[server as usize];
        let [p50, p99, p999, max] = taken.times.quantiles();
        let count = taken.times.histogram.len();
        let own = paces(server);
        let pace = own.get(own.len() / 2).copied().unwrap_or_default().max(1);
        let ratio = || Ratio::of(&paces(Server::Rustls), &own, 0.5);
        HandshakeRow {
            kind: measured.kind,
            connections: measured.connections,
            server,
            handshakes: count,
            each_second: 1e9 / pace as f64,
            p50,
            p99,
            p999,
            max,
            server_cpu: taken.cpu.map(|cpu| cpu.as_nanos() as u64 / count.max(1)),
            to_rustls: (server != Server::Rustls).then(ratio),
        }
    })
}

fn ascending(values: &[u64]) -> Vec<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
}

impl Report {
    /// Returns the results of a contender in a call.
    pub(super) fn row(&self, call: &str, contender: Contender) -> Option<&CallRow> {
        let report = self.calls.iter().find(|report| report.name == call)?;
        report.rows.iter().find(|row| row.contender == contender)
    }

    /// Draws the times of each call by quantile with a line for each contender, and the rates of handshakes.
    pub(super) fn drawing(&self) -> Drawing {
        let micros = |&(quantile, time): &(f64, u64)| (quantile, time as f64 / 1e3);
        let call = |it: &CallReport| {
            let lines = it.rows.iter().map(|it| (it.contender, it.curve.iter().map(micros)));
            Panel::lines(it.name, Axis::percentiles(), Axis::log("microseconds"), lines)
        };
        let mut bars: Vec<(String, Vec<(Server, f64)>)> = Vec::new();
        for row in &self.handshakes {
            let name = format!("{}, {} at a time", row.kind, row.connections);
            if bars.last().is_none_or(|(last, _)| *last != name) {
                bars.push((name, Vec::new()));
            }
            if let Some((_, of_row)) = bars.last_mut() {
                of_row.push((row.server, row.each_second));
            }
        }
        let rates = Panel::bars("handshakes", Axis::linear("handshakes a second"), bars);
        let mut panels: Vec<Panel> = self.calls.iter().map(call).collect();
        panels.push(rates);
        Drawing { title: format!("{}; {}", self.machine, self.placement), across: 2, panels }
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
                .micros(["best p50", "p50", "p99", "p99.9", "max"], 2, |it| {
                    [it.best, it.p50, it.p99, it.p999, it.max]
                })
                .right(["to iiop", "to rustls"], |it| [it.to_iiop, it.to_rustls].map(or_dash));
            write!(f, "{table}")?;
        }
        writeln!(f, "\nhandshakes: {}; {}", self.handshake_placement, self.suite)?;
        let table = Table::of(&self.handshakes)
            .left(["kind"], |it| [it.kind])
            .right(["at a time"], |it| [it.connections])
            .left(["server"], |it| [it.server])
            .fixed(["a second"], 0, |it| [it.each_second])
            .micros(["p50", "p99", "p99.9", "max", "server cpu"], 1, |it| {
                [Some(it.p50), Some(it.p99), Some(it.p999), Some(it.max), it.server_cpu]
            })
            .right(["to rustls"], |it| [or_dash(it.to_rustls)]);
        write!(f, "{table}")
    }
}
