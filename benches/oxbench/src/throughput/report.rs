//! Results of a run, as text and as JSON.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum as _;
use serde::Serialize;

use super::SERVERS;
use crate::bootstrap::Ratio;
use crate::load::{Architecture, KeptOut, Samples, Spread};
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::{Table, or_dash, spread};
use crate::verdict::{Verdicts, at_least, not_below};

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) kept_out: Vec<(String, KeptOut)>,
    pub(super) rounds: u32,
    /// Milliseconds of each round.
    pub(super) milliseconds: u64,
    /// Whether all clients share one connection.
    pub(super) one_connection: bool,
    pub(super) points: Vec<Point>,
}

/// Results of one architecture with one number of clients in one placement.
#[derive(Clone, Serialize)]
pub(super) struct Point {
    pub(super) placement: String,
    /// Architecture of the clients.
    pub(super) architecture: Architecture,
    /// Architecture of the server; that of the clients unless they share one connection.
    pub(super) server: Architecture,
    /// Microseconds of the servant's work for each call.
    pub(super) work: u64,
    pub(super) clients: usize,
    /// Calls per second of each round, in ascending order.
    pub(super) rates: Vec<u64>,
    /// Median of the rates divided by that of omniORB.
    pub(super) to_omniorb: Option<Ratio>,
    /// Times of calls, over all rounds.
    pub(super) calls: Spread,
}

impl Point {
    /// Creates a point. `rounds`: times of each call of each round.
    pub(super) fn new(
        placement: String,
        architecture: Architecture,
        work: Duration,
        clients: usize,
        duration: Duration,
        rounds: Vec<Samples>,
    ) -> Point {
        let rate = |round: &Samples| (round.len() as f64 / duration.as_secs_f64()) as u64;
        let mut rates: Vec<u64> = rounds.iter().map(rate).collect();
        rates.sort_unstable();
        Point {
            placement,
            architecture,
            server: architecture,
            work: work.as_micros() as u64,
            clients,
            rates,
            to_omniorb: None,
            calls: Spread::of(rounds.concat()),
        }
    }

    /// Compares with omniORB. `omniorb`: its rates, in ascending order.
    pub(super) fn compare(&mut self, omniorb: &[u64]) {
        if !self.is_omniorb() {
            self.to_omniorb = Some(Ratio::of(&self.rates, omniorb, 0.5));
        }
    }

    /// Reports whether the server is omniORB.
    pub(super) fn is_omniorb(&self) -> bool {
        self.server == Architecture::OmniOrb
    }

    /// Reports whether this point is compared with `omniorb`: if both have the same clients, or if the clients and the
    /// server of this point are of the same architecture.
    pub(super) fn is_beside(&self, omniorb: &Point) -> bool {
        self.architecture == omniorb.architecture || self.server == self.architecture
    }

    /// Returns the median of the rounds' calls per second.
    pub(super) fn rate(&self) -> u64 {
        let middle = self.rates.len().saturating_sub(1) / 2;
        self.rates.get(middle).copied().unwrap_or_default()
    }
}

impl Report {
    /// Returns the placements, in the order of measurement.
    pub(super) fn placements(&self) -> impl Iterator<Item = &str> {
        self.kept_out.iter().map(|(placement, _)| placement.as_str())
    }

    /// Returns the points of one architecture in one placement with one server, ordered by number of clients.
    pub(super) fn line<'r>(
        &'r self,
        placement: &'r str,
        (architecture, server): (Architecture, Architecture),
    ) -> impl Iterator<Item = &'r Point> {
        self.points.iter().filter(move |at| {
            at.placement == placement && at.architecture == architecture && at.server == server
        })
    }

    /// Returns the architectures of clients and server that were measured or should have been.
    pub(super) fn pairs(&self) -> Vec<(Architecture, Architecture)> {
        let all = Architecture::value_variants().iter().copied();
        match self.one_connection {
            false => all.map(|it| (it, it)).collect(),
            true => all
                .filter(|it| it.shares())
                .flat_map(|it| SERVERS.map(|server| (it, server)))
                .collect(),
        }
    }

    /// Returns verdicts: OxORB must be ahead of omniORB for every number of clients. With one connection and the same
    /// clients, it must not be below omniORB by more than the interval.
    pub(super) fn verdicts(&self) -> Verdicts {
        let foreign = [
            Architecture::Floor,
            Architecture::OmniOrb,
            Architecture::OmniOrbShared,
            Architecture::JacOrb,
        ];
        let ours = |server: Architecture| !foreign.contains(&server) && !server.has_lanes();
        let mut pairs = self.pairs();
        pairs.retain(|&(_, server)| ours(server));
        let last = |ratio: &Ratio| match self.one_connection {
            true => ratio.most(),
            false => ratio.seen,
        };
        Verdicts::new(self.placements().flat_map(|placement| {
            let verdict = |&(architecture, server): &(Architecture, Architecture)| {
                let worst = self
                    .line(placement, (architecture, server))
                    .filter_map(|point| Some((point, point.to_omniorb?)))
                    .min_by(|(_, this), (_, other)| last(this).total_cmp(&last(other)));
                let at = worst.map_or(String::new(), |(point, _)| match point.work {
                    0 => format!(" (with {} clients)", point.clients),
                    work => format!(" (with {} clients, {work} us of work)", point.clients),
                });
                let who = match self.one_connection {
                    true => format!("{architecture} with the server of {server}"),
                    false => architecture.to_string(),
                };
                let bound = format!(
                    "{placement}: calls a second of {who} by those of omniORB, worst n{at}"
                );
                let worst = worst.map(|(_, ratio)| ratio);
                match self.one_connection {
                    true => not_below(bound, worst),
                    false => at_least(bound, worst, AHEAD),
                }
            };
            pairs.iter().map(verdict).collect::<Vec<_>>()
        }))
    }
}

/// Smallest ratio that counts as strictly ahead of omniORB: the table shows two digits.
const AHEAD: f64 = 1.01;

impl Report {
    /// Draws calls per second over the number of clients, with the least work: a panel for each placement, with equal
    /// scales.
    pub(super) fn drawing(&self) -> Drawing {
        let least_work = self.points.iter().map(|point| point.work).min();
        let thousands = |point: &Point| point.rate() as f64 / 1e3;
        let most = self.points.iter().map(thousands).fold(1.0, f64::max);
        let panel = |placement| {
            let lines = self.pairs().into_iter().map(|pair| {
                let (architecture, server) = pair;
                let name = match self.one_connection {
                    true => format!("{architecture}, served by {server}"),
                    false => architecture.to_string(),
                };
                let line = self.line(placement, pair);
                let line = line.filter(|point| Some(point.work) == least_work);
                (name, line.map(|point| (point.clients as f64, thousands(point))))
            });
            let rate = Axis::linear("thousand calls a second").between(0.0, most * 1.1);
            Panel::lines(placement, Axis::linear("clients"), rate, lines)
        };
        let panels: Vec<Panel> = self.placements().map(panel).collect();
        Drawing { title: self.machine.to_string(), across: 2, panels }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{} rounds of {} ms a point: the median, and the lowest and the highest; microseconds",
            self.rounds, self.milliseconds
        )?;
        for (placement, kept_out) in &self.kept_out {
            writeln!(f, "\n{placement}; {kept_out}")?;
            let points = self.points.iter().filter(|it| it.placement == *placement);
            let table = Table::of(points)
                .right(["work"], |it| [it.work])
                .right(["clients"], |it| [it.clients])
                .left(["", "server"], |it| [it.architecture, it.server])
                .right(["calls/s"], |it| [it.rate()])
                .right([""], |it| [spread(&it.rates, 1)])
                .left(["to omniorb"], |it| [or_dash(it.to_omniorb)])
                .micros(["p50", "p99", "max"], 1, |Point { calls, .. }| {
                    [calls.p50, calls.p99, calls.max]
                });
            write!(f, "{table}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(architecture: Architecture, clients: usize, rates: &[usize]) -> Point {
        let rounds = rates.iter().map(|&rate| vec![1000; rate]).collect();
        let duration = Duration::from_secs(1);
        Point::new("here".into(), architecture, Duration::ZERO, clients, duration, rounds)
    }

    #[test]
    fn ahead_at_every_count_is_ahead_at_the_worst() {
        let mut points = vec![
            point(Architecture::Threads, 1, &[300, 200, 210]),
            point(Architecture::Threads, 4, &[90, 80, 70]),
        ];
        assert_eq!(points[0].rate(), 210);
        points[0].compare(&[100, 100, 100]);
        points[1].compare(&[100, 100, 100]);
        let report = Report {
            machine: Machine::this(),
            kept_out: vec![("here".into(), KeptOut { throttling: true, awake: vec![] })],
            rounds: 3,
            milliseconds: 1000,
            one_connection: false,
            points,
        };
        let verdicts = report.verdicts().to_string();
        let threads = verdicts.lines().find(|line| line.contains(" threads "));
        let threads = threads.expect("it was measured");
        assert!(
            threads.starts_with("NOT MET") && threads.contains("4 clients): 0.80"),
            "{threads}"
        );
        assert!(verdicts.contains("unknown  here: calls a second of led"), "{verdicts}");
    }

    #[test]
    fn clients_of_one_connection_are_compared_with_the_same_clients_of_omniorb() {
        let with = |architecture, server, rates: &[usize]| Point {
            server,
            ..point(architecture, 4, rates)
        };
        let (shared, omniorb) = (Architecture::Shared, Architecture::OmniOrb);
        let jacorb = with(Architecture::JacOrb, omniorb, &[500, 500, 500]);
        let theirs = with(shared, omniorb, &[200, 200, 200]);
        let mut ours = with(shared, Architecture::Threads, &[190, 190, 190]);
        assert!(ours.is_beside(&theirs) && !ours.is_beside(&jacorb));
        ours.compare(&theirs.rates);
        let report = Report {
            machine: Machine::this(),
            kept_out: vec![("here".into(), KeptOut { throttling: true, awake: vec![] })],
            rounds: 3,
            milliseconds: 1000,
            one_connection: true,
            points: vec![ours, theirs, jacorb],
        };
        let verdicts = report.verdicts().to_string();
        let told = |line: &str| verdicts.lines().any(|it| it.starts_with(line));
        assert!(
            told("NOT MET  here: calls a second of shared with the server of threads"),
            "{verdicts}"
        );
        assert!(
            told("unknown  here: calls a second of jacorb with the server of workers"),
            "{verdicts}"
        );
    }
}
