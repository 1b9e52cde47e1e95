//! `oxbench demux` (E15): time from the octets of a request to the servant's operation.
//!
//! No socket and no other process: whole requests are passed to the ORB in memory, in an order that caches cannot
//! predict, and are oneway, so that no reply is written. The measured time includes parsing the request, finding POA,
//! object and operation, and the empty upcall. The report has a panel for each of four questions: the effects of the
//! number of objects, of the number of operations and of the depth of the POA, and the cost of conventional layers. Its
//! last line states demultiplexing's share of a server's time.

mod layered;
mod setup;
mod share;

use std::fmt;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::Result;
use crate::machine::Machine;
use crate::output::Output;
use crate::plot::{self, Axis, Drawing};
use crate::table::Table;
use setup::{By, Requests};
use share::Share;

/// Options of `oxbench demux`.
#[derive(Args)]
pub(crate) struct Options {
    /// Maximum number of objects. Of the numbers 1, 100, 10000 and 1000000, those up to this maximum are measured. An
    /// object takes about 300 octets
    #[arg(long, default_value_t = 1_000_000)]
    objects: usize,

    /// Number of rounds of each point; the best one counts
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

const OBJECTS: [usize; 4] = [1, 100, 10_000, 1_000_000];
const OPERATIONS: [usize; 4] = [1, 10, 100, 500];
const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 20];

/// Maximum number of objects for linear search; larger numbers take minutes and add no insight.
const MOST_LINEAR: usize = 10_000;

/// Minimum number of requests of one round.
const REQUESTS: usize = 20_000;

/// Results of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    pub(crate) panels: Vec<Panel>,
    pub(crate) share: Share,
}

/// Panel for one question.
#[derive(Debug, Serialize)]
pub(crate) struct Panel {
    /// Quantity that grows.
    pub(crate) of: &'static str,
    pub(crate) series: Vec<Series>,
}

/// Series of one strategy.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) strategy: &'static str,
    pub(crate) points: Vec<Point>,
}

/// Single measurement.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Point {
    /// Value of the quantity.
    pub(crate) of: usize,
    /// Nanoseconds per request, in the best round.
    pub(crate) nanoseconds: f64,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let layers = layers(options.rounds)?;
    let share = share::measure(&layers, options.rounds)?;
    let report = Report {
        machine: Machine::this(),
        rounds: options.rounds,
        panels: vec![
            objects(options)?,
            operations(options.rounds)?,
            depths(options.rounds)?,
            layers,
        ],
        share,
    };
    options.output.show(&report, Report::drawing)
}

/// Quantity that grows and its lookup, for counting instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Objects, by their index in the key
    Objects,
    /// Objects, by the hash of their id
    NamedObjects,
    /// Objects, by linear search
    SearchedObjects,
    /// Operations, by their index in the key
    Operations,
    /// Operations, by the perfect hash of their name
    NamedOperations,
    /// Operations, by linear search
    SearchedOperations,
    /// Nested POAs, by their number
    Depth,
    /// Nested POAs, by the hash of their path
    NamedDepth,
}

/// Serves `served` requests of a shape and ends.
pub(crate) fn play(shape: Shape, many: usize, served: usize) -> Result {
    let requests = match shape {
        Shape::Objects => Requests::to_objects(By::Place, many),
        Shape::NamedObjects => Requests::to_objects(By::Hash, many),
        Shape::SearchedObjects => Requests::to_objects(By::Linear, many),
        Shape::Operations => Requests::to_operations(By::Place, many),
        Shape::NamedOperations => Requests::to_operations(By::Perfect, many),
        Shape::SearchedOperations => Requests::to_operations(By::Linear, many),
        Shape::Depth => Requests::to_depth(By::Place, many),
        Shape::NamedDepth => Requests::to_depth(By::Hash, many),
    }?;
    requests.serve_some(served);
    requests.check_served(served);
    Ok(())
}

fn objects(options: &Options) -> Result<Panel> {
    let strategies = [
        ("active demultiplexing", By::Place),
        ("dynamic hash", By::Hash),
        ("perfect hash", By::Perfect),
        ("linear", By::Linear),
    ];
    let series = strategies.into_iter().map(|(strategy, by)| {
        let sizes = OBJECTS
            .into_iter()
            .filter(|many| *many <= options.objects && (by != By::Linear || *many <= MOST_LINEAR));
        let points = sizes.map(|many| {
            eprintln!("{strategy}, {many} objects ...");
            let requests = Requests::to_objects(by, many)?;
            Ok(point(many, &requests, options.rounds))
        });
        Ok(Series { strategy, points: points.collect::<Result<_>>()? })
    });
    Ok(Panel { of: "objects", series: series.collect::<Result<_>>()? })
}

fn operations(rounds: u32) -> Result<Panel> {
    let strategies = [
        ("slot in the key", By::Place),
        ("perfect hash", By::Perfect),
        ("binary search", By::Binary),
        ("linear", By::Linear),
    ];
    let series = strategies.into_iter().map(|(strategy, by)| {
        let points = OPERATIONS.into_iter().map(|many| {
            eprintln!("{strategy}, {many} operations ...");
            let requests = Requests::to_operations(by, many)?;
            Ok(point(many, &requests, rounds))
        });
        Ok(Series { strategy, points: points.collect::<Result<_>>()? })
    });
    Ok(Panel { of: "operations", series: series.collect::<Result<_>>()? })
}

fn depths(rounds: u32) -> Result<Panel> {
    let strategies =
        [("transient: number in the key", By::Place), ("persistent: hash of the path", By::Hash)];
    let series = strategies.into_iter().map(|(strategy, by)| {
        let points = DEPTHS.into_iter().map(|depth| {
            eprintln!("{strategy}, depth {depth} ...");
            let requests = Requests::to_depth(by, depth)?;
            Ok(point(depth, &requests, rounds))
        });
        Ok(Series { strategy, points: points.collect::<Result<_>>()? })
    });
    Ok(Panel { of: "POA depth", series: series.collect::<Result<_>>()? })
}

const LAYERED: &str = "layers: names, tables, strings";
const ONE_STEP: &str = "one step: place in the key";

/// Compares conventional layers with OxORB's single step: 100 objects with 50 operations each, below nested POAs of
/// each depth.
fn layers(rounds: u32) -> Result<Panel> {
    let strategies = [
        (LAYERED, By::Layers),
        ("perfect hash of the operation", By::Perfect),
        (ONE_STEP, By::Place),
    ];
    let series = strategies.into_iter().map(|(strategy, by)| {
        let points = [1, 4, 16].into_iter().map(|depth| {
            eprintln!("{strategy}, depth {depth} ...");
            let requests = Requests::to_layers(by, depth)?;
            Ok(point(depth, &requests, rounds))
        });
        Ok(Series { strategy, points: points.collect::<Result<_>>()? })
    });
    Ok(Panel {
        of: "POA depth, beside conventional layers",
        series: series.collect::<Result<_>>()?,
    })
}

fn point(of: usize, requests: &Requests, rounds: u32) -> Point {
    let laps = REQUESTS.div_ceil(requests.len());
    let round = || {
        let begin = Instant::now();
        for _ in 0..laps {
            requests.serve();
        }
        begin.elapsed().as_secs_f64() * 1e9 / (laps * requests.len()) as f64
    };
    // The first round warms up.
    round();
    let best = (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min);
    requests.check(laps * (rounds as usize + 1));
    Point { of, nanoseconds: best }
}

impl Report {
    /// Draws the time of a request: a panel for each question, a line for each strategy.
    fn drawing(&self) -> Drawing {
        let panel = |Panel { of, series }: &Panel| {
            let lines = series.iter().map(|series| {
                let points = series.points.iter();
                (series.strategy, points.map(|point| (point.of as f64, point.nanoseconds)))
            });
            plot::Panel::lines(of, Axis::log(of), Axis::log("nanoseconds"), lines)
        };
        let title = format!("{}: from octets to upcall", self.machine);
        Drawing { title, across: 2, panels: self.panels.iter().map(panel).collect() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "from octets to upcall, nanoseconds a request, best of {} rounds",
            self.rounds
        )?;
        for Panel { of, series } in &self.panels {
            let longest = series.iter().max_by_key(|series| series.points.len());
            let sizes = longest.into_iter().flat_map(|series| &series.points);
            let table = Table::of(series).left([of], |it| [it.strategy]).fixed(
                sizes.map(|point| point.of),
                1,
                |it| it.points.iter().map(|at| at.nanoseconds),
            );
            write!(f, "\n{table}")?;
        }
        self.share.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_serves_every_request() {
        for requests in [
            Requests::to_objects(By::Place, 100).unwrap(),
            Requests::to_objects(By::Hash, 100).unwrap(),
            Requests::to_objects(By::Perfect, 100).unwrap(),
            Requests::to_objects(By::Linear, 100).unwrap(),
            Requests::to_operations(By::Place, 10).unwrap(),
            Requests::to_operations(By::Perfect, 10).unwrap(),
            Requests::to_operations(By::Binary, 10).unwrap(),
            Requests::to_operations(By::Linear, 10).unwrap(),
            Requests::to_depth(By::Place, 5).unwrap(),
            Requests::to_depth(By::Hash, 5).unwrap(),
            Requests::to_layers(By::Layers, 5).unwrap(),
            Requests::to_layers(By::Perfect, 5).unwrap(),
            Requests::to_layers(By::Place, 5).unwrap(),
            Requests::to_nothing().unwrap(),
        ] {
            requests.serve();
            requests.serve();
            requests.check(2);
        }
    }
}
