//! Results of a run, as text and as JSON. Times are in nanoseconds.

use std::fmt;

use serde::Serialize;

use super::cube::{Cube, Operation};
use super::matrix::{self, Maker, Protocol, Transport};
use crate::bootstrap::Ratio;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::record::Record;
use crate::table::{Table, or_dash};

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) rounds: u32,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) cubes: Vec<CubeReport>,
}

/// Protocol that this build or this machine lacks.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) protocol: &'static str,
    pub(super) reason: String,
}

/// Results of one call over every protocol.
#[derive(Serialize)]
pub(super) struct CubeReport {
    pub(super) cube: Cube,
    pub(super) name: String,
    /// Size in octets of the GIOP message; the raw exchange also sends messages of this size.
    pub(super) request_octets: usize,
    pub(super) reply_octets: usize,
    pub(super) rows: Vec<Row>,
}

/// Results of one call over one protocol.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) protocol: &'static Protocol,
    pub(super) calls: u64,
    /// Median of the best round.
    pub(super) best: u64,
    /// Median over all rounds.
    pub(super) p50: u64,
    pub(super) p99: u64,
    pub(super) p999: u64,
    pub(super) max: u64,
    /// Medians of the rounds divided by those of other rows over the same transport.
    pub(super) to_raw: Option<Ratio>,
    pub(super) to_omniorb: Option<Ratio>,
    pub(super) to_giop: Option<Ratio>,
    pub(super) to_giop_lite: Option<Ratio>,
}

/// Creates the reports of the recorded calls, with a row for each protocol.
pub(super) fn cubes(
    cubes: &[Cube],
    protocols: &[&'static Protocol],
    records: &[Vec<Record>],
) -> Vec<CubeReport> {
    let report = |(at, cube): (usize, &Cube)| {
        let medians = |of: &Protocol| {
            let place = protocols.iter().position(|known| *known == of)?;
            let mut medians = records[place][at].medians.clone();
            medians.sort_unstable();
            Some(medians).filter(|medians| !medians.is_empty())
        };
        let row = |(protocol, records): (&&'static Protocol, &Vec<Record>)| {
            let record = &records[at];
            let [p50, p99, p999, max] = record.quantiles();
            let to = |maker: Maker| {
                let other = matrix::of(maker, protocol.transport)?;
                let others = medians(other).filter(|_| other != *protocol)?;
                Some(Ratio::of(&medians(protocol)?, &others, 0.5))
            };
            Row {
                protocol,
                calls: record.histogram.len(),
                best: record.best(),
                p50,
                p99,
                p999,
                max,
                to_raw: to(Maker::Raw),
                to_omniorb: to(Maker::OmniOrb),
                to_giop: to(Maker::Giop).filter(|_| protocol.is_ours()),
                to_giop_lite: to(Maker::GiopLite).filter(|_| protocol.maker == Maker::GiopLiteRt),
            }
        };
        let lengths = cube.lengths();
        CubeReport {
            cube: *cube,
            name: cube.to_string(),
            request_octets: lengths.request,
            reply_octets: lengths.reply,
            rows: {
                let pairs = protocols.iter().zip(records);
                let seen = pairs.filter(|(_, records)| !records[at].medians.is_empty());
                seen.map(row).collect()
            },
        }
    };
    cubes.iter().enumerate().map(report).collect()
}

impl CubeReport {
    /// Returns the row of a maker and a transport with the usual copies.
    pub(super) fn row(&self, maker: Maker, transport: Transport) -> Option<&Row> {
        self.row_of(matrix::of(maker, transport)?)
    }

    /// Returns the row of a protocol.
    pub(super) fn row_of(&self, protocol: &Protocol) -> Option<&Row> {
        self.rows.iter().find(|row| row.protocol == protocol)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "{}; {} rounds in turns; microseconds", self.placement, self.rounds)?;
        for LeftOut { protocol, reason } in &self.left_out {
            writeln!(f, "LEFT OUT: {protocol}: {reason}")?;
        }
        for CubeReport { name, request_octets, reply_octets, rows, .. } in &self.cubes {
            writeln!(f, "\n{name}: {request_octets} octets there, {reply_octets} back")?;
            let table = Table::of(rows)
                .left([""], |it| [it.protocol])
                .micros(["best p50", "p50", "p99", "p99.9", "max"], 2, |it| {
                    [it.best, it.p50, it.p99, it.p999, it.max]
                })
                .right(["to raw", "to omniorb", "to giop"], |it| {
                    [it.to_raw, it.to_omniorb, it.to_giop].map(or_dash)
                });
            write!(f, "{table}")?;
        }
        // Prints for each size how much longer a call takes than the raw exchange. Apart from copies, the ORB's part of
        // a call does not depend on the size.
        let ours = |row: &&Row| row.protocol.is_ours() && row.to_raw.is_some();
        let rows = self.cubes.iter().take(1).flat_map(|cube| &cube.rows);
        let protocols: Vec<_> = rows.filter(ours).map(|row| row.protocol).collect();
        if protocols.is_empty() {
            return Ok(());
        }
        let gaps =
            Table::of(&self.cubes).left([""], |cube| [&cube.name]).fixed(&protocols, 2, |cube| {
                protocols.iter().map(|protocol| cube.gap(protocol).map(|gap| gap / 1e3))
            });
        write!(f, "\nover raw, p50\n{gaps}")
    }
}

/// Calls that are drawn if they were measured. The bars of the other small calls are as long as those of `void`.
const DRAWN: [&str; 4] = ["void", "struct", "longs-4096", "octets-4096"];

impl Report {
    /// Draws bars for each call of `DRAWN`; or, for many sizes of sequences only, a panel for each transport with a
    /// line for each protocol.
    pub(super) fn drawing(&self) -> Drawing {
        let ways = [(Operation::Octets, ""), (Operation::Sent, ", one way")];
        let ways = ways.map(|(operation, text)| {
            let cubes = self.cubes.iter().filter(|cube| cube.cube.operation == operation);
            (cubes.collect::<Vec<_>>(), text)
        });
        let of_sizes: usize = ways.iter().map(|(cubes, _)| cubes.len()).sum();
        let panels = if of_sizes > 2 && of_sizes == self.cubes.len() {
            let ways = ways.iter().filter(|(cubes, _)| !cubes.is_empty());
            let panels = ways.flat_map(|(cubes, text)| {
                matrix::TRANSPORTS.map(|transport| lines(cubes, transport, text))
            });
            panels.collect()
        } else {
            let is_drawn = |cube: &&CubeReport| DRAWN.contains(&cube.name.as_str());
            let drawn: Vec<_> = self.cubes.iter().filter(is_drawn).map(CubeReport::bars).collect();
            if drawn.is_empty() { self.cubes.iter().map(CubeReport::bars).collect() } else { drawn }
        };
        Drawing { title: format!("{}; {}", self.machine, self.placement), across: 2, panels }
    }
}

/// Draws calls over a transport by the size of their sequence.
fn lines(cubes: &[&CubeReport], transport: Transport, text: &str) -> Panel {
    let rows = cubes.iter().flat_map(|cube| cube.rows.iter().map(|row| (cube.cube.size, row)));
    let rows: Vec<_> = rows.filter(|(_, row)| row.protocol.transport == transport).collect();
    let mut protocols: Vec<&Protocol> = Vec::new();
    for (_, row) in &rows {
        if !protocols.contains(&row.protocol) {
            protocols.push(row.protocol);
        }
    }
    let lines = protocols.into_iter().map(|protocol| {
        let of_it = rows.iter().filter(move |(_, row)| row.protocol == protocol);
        (protocol, of_it.map(|(size, row)| (f64::from(*size), row.p50 as f64 / 1e3)))
    });
    let (size, time) = (Axis::log("octets of the sequence"), Axis::log("microseconds, p50"));
    Panel::lines(format!("{transport}{text}"), size, time, lines)
}

impl CubeReport {
    fn bars(&self) -> Panel {
        let bars = self.rows.iter().map(|row| (row.protocol, [("", row.p50 as f64 / 1e3)]));
        Panel::bars(&self.name, Axis::linear("microseconds, p50"), bars)
    }

    /// Returns by how many nanoseconds a call takes longer than the raw exchange over the same transport.
    fn gap(&self, protocol: &Protocol) -> Option<f64> {
        let raw = self.row(Maker::Raw, protocol.transport)?;
        Some(self.row_of(protocol)?.p50 as f64 - raw.p50 as f64)
    }
}
