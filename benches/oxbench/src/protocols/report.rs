//! Results of a run, for reading and for programs. Times are in nanoseconds.

use std::fmt;

use serde::Serialize;

use super::Record;
use super::cube::Cube;
use super::matrix::{self, Maker, Protocol, Transport};
use crate::bootstrap::Ratio;
use crate::machine::Machine;

/// Everything one run found out.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) rounds: u32,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) cubes: Vec<CubeReport>,
}

/// Protocol that this build, or this machine, does not have.
#[derive(Serialize)]
pub(super) struct LeftOut {
    pub(super) protocol: &'static str,
    pub(super) reason: String,
}

/// One call over every protocol.
#[derive(Serialize)]
pub(super) struct CubeReport {
    pub(super) cube: Cube,
    pub(super) name: String,
    /// Octets of the GIOP messages, which the raw exchange moves as well.
    pub(super) request_octets: usize,
    pub(super) reply_octets: usize,
    pub(super) rows: Vec<Row>,
}

/// One call over one protocol.
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
    /// Medians of the rounds by those of others over the same transport.
    pub(super) to_raw: Option<Ratio>,
    pub(super) to_omniorb: Option<Ratio>,
    pub(super) to_giop: Option<Ratio>,
    pub(super) to_giop_lite: Option<Ratio>,
}

/// Makes a report of what was recorded: protocols across, cubes down.
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
            let histogram = &records[at].histogram;
            let to = |maker: Maker| {
                let other = matrix::of(maker, protocol.transport)?;
                let others = medians(other).filter(|_| other != *protocol)?;
                Some(Ratio::of(&medians(protocol)?, &others, 0.5))
            };
            Row {
                protocol,
                calls: histogram.len(),
                best: records[at].medians.iter().copied().min().unwrap_or(0),
                p50: histogram.value_at_quantile(0.5),
                p99: histogram.value_at_quantile(0.99),
                p999: histogram.value_at_quantile(0.999),
                max: histogram.max(),
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
    /// Returns the usual row of a maker and a transport.
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
        let rounds = self.rounds;
        writeln!(f, "{}; {rounds} rounds in turns; microseconds", self.placement)?;
        for LeftOut { protocol, reason } in &self.left_out {
            writeln!(f, "LEFT OUT: {protocol}: {reason}")?;
        }
        for cube in &self.cubes {
            write!(f, "\n{cube}")?;
        }
        self.gaps(f)
    }
}

impl Report {
    /// Prints how much longer than the floor a call takes, size by size: over a pluggable protocol the ORB's part is the
    /// same for every size but for copies.
    fn gaps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.cubes.first() else {
            return Ok(());
        };
        let ours = |row: &&Row| row.protocol.is_ours() && row.to_raw.is_some();
        let protocols: Vec<_> = first.rows.iter().filter(ours).map(|row| row.protocol).collect();
        if protocols.is_empty() {
            return Ok(());
        }
        write!(f, "\nover raw, p50\n  {:14}", "")?;
        for protocol in &protocols {
            write!(f, " {protocol:>17}")?;
        }
        for cube in &self.cubes {
            write!(f, "\n  {:14}", cube.name)?;
            for protocol in &protocols {
                let gap = cube.gap(protocol).map(|gap| format!("{:.2}", gap / 1000.0));
                write!(f, " {:>17}", gap.unwrap_or_else(|| "-".into()))?;
            }
        }
        writeln!(f)
    }
}

impl CubeReport {
    /// Nanoseconds that a call takes longer than the raw exchange over the same transport.
    fn gap(&self, protocol: &Protocol) -> Option<f64> {
        let raw = self.row(Maker::Raw, protocol.transport)?;
        Some(self.row_of(protocol)?.p50 as f64 - raw.p50 as f64)
    }
}

impl fmt::Display for CubeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CubeReport { name, request_octets, reply_octets, .. } = self;
        writeln!(f, "{name}: {request_octets} octets there, {reply_octets} back")?;
        let head = ["to raw", "to omniorb", "to giop"];
        let [raw, omniorb, giop] = head;
        writeln!(
            f,
            "  {:17} {:>9} {:>9} {:>9} {:>9} {:>9}   {raw:>21} {omniorb:>21} {giop:>21}",
            "", "best p50", "p50", "p99", "p99.9", "max"
        )?;
        self.rows.iter().try_for_each(|row| writeln!(f, "  {row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = |ratio: Option<Ratio>| ratio.map_or_else(|| "-".into(), |it| it.to_string());
        let us = |nanoseconds: u64| format!("{:.2}", nanoseconds as f64 / 1000.0);
        write!(
            f,
            "{:17} {:>9} {:>9} {:>9} {:>9} {:>9}   {:>21} {:>21} {:>21}",
            self.protocol,
            us(self.best),
            us(self.p50),
            us(self.p99),
            us(self.p999),
            us(self.max),
            ratio(self.to_raw),
            ratio(self.to_omniorb),
            ratio(self.to_giop),
        )
    }
}
