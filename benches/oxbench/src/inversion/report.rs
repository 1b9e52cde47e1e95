//! What a run found out, for reading and for programs.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use super::Over;
use super::bound::Bound;
use crate::load::{Architecture, KeptOut, Samples, Spread};
use crate::machine::Machine;

/// The two versions of the experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Version {
    /// Low-priority clients at a fixed rate, as paper 0 has it
    Paper,
    /// Low-priority clients back to back, and servants that work
    Saturated,
}

/// Everything one run found out.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) over: Over,
    pub(super) kept_out: Vec<(Version, KeptOut)>,
    /// Of each point, over all rounds.
    pub(super) seconds: f64,
    pub(super) rounds: u32,
    pub(super) high_hz: f64,
    pub(super) low_hz: f64,
    /// Microseconds of CPU time for each low call of the saturated version.
    pub(super) work: u32,
    pub(super) points: Vec<Point>,
    /// Bounds of the points with lanes.
    pub(super) bounds: Vec<Bound>,
}

/// One architecture with one number of low-priority clients.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) version: Version,
    pub(super) architecture: Architecture,
    pub(super) lows: usize,
    pub(super) high: Spread,
    pub(super) low: Spread,
    /// Each call of the high client, in ascending order.
    #[serde(skip)]
    pub(super) calls: Samples,
}

impl Point {
    pub(super) fn new(
        version: Version,
        architecture: Architecture,
        lows: usize,
        mut high: Samples,
        low: Samples,
    ) -> Point {
        Point {
            version,
            architecture,
            lows,
            high: Spread::of(high.clone()),
            low: Spread::of(low),
            calls: {
                high.sort_unstable();
                high
            },
        }
    }
}

impl Report {
    /// The points of one architecture, in the order of their numbers of clients.
    pub(super) fn line(
        &self,
        version: Version,
        architecture: Architecture,
    ) -> impl Iterator<Item = &Point> {
        let of =
            move |point: &&Point| point.version == version && point.architecture == architecture;
        self.points.iter().filter(of)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::Paper => "paper",
            Version::Saturated => "saturated",
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{}, {}; {} s a point in {} rounds; microseconds",
            self.placement, self.over, self.seconds, self.rounds
        )?;
        for &version in Version::value_variants() {
            let mut points = self.points.iter().filter(|at| at.version == version).peekable();
            if points.peek().is_none() {
                continue;
            }
            match version {
                Version::Paper => writeln!(
                    f,
                    "\npaper: high at {} Hz, low at {} Hz, released together, counted from the release",
                    self.high_hz, self.low_hz
                )?,
                Version::Saturated => writeln!(
                    f,
                    "\nsaturated: high at {} Hz, low back to back with {} us of work",
                    self.high_hz, self.work
                )?,
            }
            for (_, kept_out) in self.kept_out.iter().filter(|(of, _)| *of == version) {
                writeln!(f, "{kept_out}")?;
            }
            writeln!(
                f,
                "  {:>4} {:18}{:>10}{:>10}{:>10}{:>10}{:>10}   {:>10}{:>10}{:>10}",
                "low", "", "high p50", "p99", "p99.9", "max", "jitter", "low p50", "p99", "calls"
            )?;
            for point in points {
                writeln!(f, "  {point}")?;
            }
        }
        if !self.bounds.is_empty() {
            writeln!(
                f,
                "\nlanes: bounds of high by the analysis of admission\n  {:>4} {:10}{:>12}{:>12}{:>10}{:>10}{:>10}",
                "low", "", "bound", "max", "by max", "calls", "beyond"
            )?;
        }
        for bound in &self.bounds {
            writeln!(f, "  {bound}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Point { high, low, lows, architecture, .. } = self;
        write!(f, "{lows:>4} {architecture:18}")?;
        for time in [high.p50, high.p99, high.p999, high.max] {
            write!(f, "{:>10}", microseconds(time as f64))?;
        }
        write!(f, "{:>10}   ", microseconds(high.jitter))?;
        for time in [low.p50, low.p99] {
            write!(f, "{:>10}", microseconds(time as f64))?;
        }
        write!(f, "{:>10}", low.calls)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>4} {:10}{:>12}{:>12}{:>10.2}{:>10}{:>10}",
            self.lows,
            self.version.to_string(),
            microseconds(self.bound_ns as f64),
            microseconds(self.max_ns as f64),
            self.slack(),
            self.calls,
            self.beyond
        )
    }
}

fn microseconds(nanoseconds: f64) -> String {
    format!("{:.1}", nanoseconds / 1000.0)
}
