//! Results of a run, as text and as JSON.

use std::fmt;

use serde::Serialize;

use crate::machine::Machine;
use crate::peers::Peer;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Results of one run. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) placement: String,
    pub(crate) rounds: u32,
    pub(crate) experiments: Vec<ExperimentReport>,
}

/// Results of every peer in one experiment.
#[derive(Debug, Serialize)]
pub(crate) struct ExperimentReport {
    pub(crate) name: &'static str,
    /// Size in octets of the GIOP message; the raw exchange also sends messages of this size.
    pub(crate) request_octets: usize,
    pub(crate) reply_octets: usize,
    pub(crate) peers: Vec<PeerReport>,
}

/// Results of one peer in one experiment.
#[derive(Debug, Serialize)]
pub(crate) struct PeerReport {
    pub(crate) peer: Peer,
    pub(crate) calls: u64,
    /// Median of the best round.
    pub(crate) best: u64,
    /// Median over all rounds.
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
    /// CPU time per call of the whole client process, if the kernel reports it.
    pub(crate) client_cpu: Option<u64>,
    /// CPU time per call of the whole server process, if the kernel reports it.
    pub(crate) server_cpu: Option<u64>,
    pub(crate) to_raw: Option<Ratio>,
    pub(crate) to_omniorb: Option<Ratio>,
    /// Quantile and nanoseconds.
    pub(crate) curve: Vec<(f64, u64)>,
}

/// Ratio of two peers' medians.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Ratio {
    /// Ratio of the best rounds: the cost of software with the least disturbance by the machine.
    pub(crate) best: f64,
    /// Smallest and largest ratio of consecutive rounds: how far to trust it.
    pub(crate) range: (f64, f64),
}

impl Ratio {
    /// Compares the medians of alternating rounds. `None` without rounds.
    pub(crate) fn between(these: &[u64], others: &[u64]) -> Option<Ratio> {
        let ratio = |this: u64, other: u64| this as f64 / other as f64;
        let neighbours = these.iter().zip(others);
        let ratios = || neighbours.clone().map(|(&this, &other)| ratio(this, other));
        Some(Ratio {
            best: ratio(*these.iter().min()?, *others.iter().min()?),
            range: (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max)),
        })
    }
}

impl Report {
    /// Returns the results of `peer` in the experiment `name`.
    pub(crate) fn of(&self, name: &str, peer: Peer) -> Option<&PeerReport> {
        let experiment = self.experiments.iter().find(|found| found.name == name)?;
        experiment.peers.iter().find(|found| found.peer == peer)
    }

    /// Draws the times of all calls by quantile: a panel for each experiment, a line for each peer.
    pub(crate) fn drawing(&self) -> Drawing {
        let micros = |&(quantile, time): &(f64, u64)| (quantile, time as f64 / 1e3);
        let panel = |it: &ExperimentReport| {
            let lines = it.peers.iter().map(|it| (it.peer, it.curve.iter().map(micros)));
            Panel::lines(it.name, Axis::percentiles(), Axis::log("microseconds"), lines)
        };
        let title = format!("{}; {}", self.machine, self.placement);
        Drawing { title, across: 2, panels: self.experiments.iter().map(panel).collect() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "{}; {} rounds in turns; microseconds", self.placement, self.rounds)?;
        for ExperimentReport { name, request_octets, reply_octets, peers } in &self.experiments {
            writeln!(f, "\n{name}: {request_octets} octets there, {reply_octets} back")?;
            let ratio = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.best);
            let table = Table::of(peers)
                .left([""], |it| [it.peer])
                .micros(["best p50", "p50", "p99", "p99.9", "max"], 2, |it| {
                    [it.best, it.p50, it.p99, it.p999, it.max]
                })
                .micros(["client cpu", "server cpu"], 2, |it| [it.client_cpu, it.server_cpu])
                .fixed(["to raw", "to omniorb"], 2, |it| [it.to_raw, it.to_omniorb].map(ratio));
            write!(f, "{table}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_taken_between_the_best_rounds() {
        // One round of each was disturbed, which affects only the range.
        let ratio = Ratio::between(&[300, 110, 120], &[100, 100, 200]).unwrap();
        assert_eq!(ratio.best, 1.1);
        assert_eq!(ratio.range, (0.6, 3.0));
        assert_eq!(Ratio::between(&[], &[]), None);
    }
}
