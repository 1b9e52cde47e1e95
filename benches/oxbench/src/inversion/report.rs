//! Results of a run, as text and as JSON.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use super::Over;
use super::bound::Bound;
use crate::format::display_by_name;
use crate::load::{Architecture, KeptOut, Samples, Spread};
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Version of the experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Version {
    /// Low-priority clients that call at a fixed rate, as in paper 0
    Paper,
    /// Low-priority clients that call back to back, and servants that use CPU time
    Saturated,
}

/// Results of one run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) over: Over,
    pub(super) kept_out: Vec<(Version, KeptOut)>,
    /// Seconds of each point, over all rounds.
    pub(super) seconds: f64,
    pub(super) rounds: u32,
    pub(super) high_hz: f64,
    pub(super) low_hz: f64,
    /// Microseconds of CPU time for each low-priority call of the saturated version.
    pub(super) work: u32,
    pub(super) points: Vec<Point>,
    /// Bounds of the points with lanes.
    pub(super) bounds: Vec<Bound>,
}

/// Results of one architecture with one number of low-priority clients.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) version: Version,
    pub(super) architecture: Architecture,
    pub(super) lows: usize,
    pub(super) high: Spread,
    pub(super) low: Spread,
    /// Time of each call of the high-priority client, in ascending order.
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
    /// Returns the points of one architecture, ordered by number of clients.
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

display_by_name!(Version);

impl Report {
    /// Draws p50 and p99 of the high-priority client over the number of low-priority clients: a panel for each version,
    /// a line for each architecture.
    pub(super) fn drawing(&self) -> Drawing {
        let panel = |version, name, of: fn(&Point) -> u64| {
            let lines = Architecture::value_variants().iter().map(|&architecture| {
                let line = self.line(version, architecture);
                (architecture, line.map(|it| (it.lows as f64, of(it).max(1) as f64 / 1e3)))
            });
            let caption = format!("{version}: {name} of the high-priority client");
            let lows = Axis::linear("clients of low priority");
            Panel::lines(caption, lows, Axis::log("microseconds"), lines)
        };
        let panels = self.versions().flat_map(|version| {
            [panel(version, "p50", |it| it.high.p50), panel(version, "p99", |it| it.high.p99)]
        });
        Drawing {
            title: format!("{}; {}, {}", self.machine, self.placement, self.over),
            across: 2,
            panels: panels.collect(),
        }
    }

    /// Returns the versions that were measured.
    fn versions(&self) -> impl Iterator<Item = Version> {
        let all = Version::value_variants().iter().copied();
        all.filter(|&version| self.points.iter().any(|at| at.version == version))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        let Report { placement, over, seconds, rounds, high_hz, low_hz, work, .. } = self;
        writeln!(f, "{placement}, {over}; {seconds} s a point in {rounds} rounds; microseconds")?;
        for version in self.versions() {
            match version {
                Version::Paper => writeln!(
                    f,
                    "\npaper: high at {high_hz} Hz, low at {low_hz} Hz, released together, counted from the release"
                )?,
                Version::Saturated => writeln!(
                    f,
                    "\nsaturated: high at {high_hz} Hz, low back to back with {work} us of work"
                )?,
            }
            for (_, kept_out) in self.kept_out.iter().filter(|(of, _)| *of == version) {
                writeln!(f, "{kept_out}")?;
            }
            let table = Table::of(self.points.iter().filter(|at| at.version == version))
                .right(["low"], |it| [it.lows])
                .left([""], |it| [it.architecture])
                .micros(["high p50", "p99", "p99.9", "max"], 1, |Point { high, .. }| {
                    [high.p50, high.p99, high.p999, high.max]
                })
                .fixed(["jitter"], 1, |it| [it.high.jitter / 1e3])
                .micros(["low p50", "p99"], 1, |it| [it.low.p50, it.low.p99])
                .right(["calls"], |it| [it.low.calls]);
            write!(f, "{table}")?;
        }
        if self.bounds.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nlanes: bounds of high by the analysis of admission")?;
        let table = Table::of(&self.bounds)
            .right(["low"], |it| [it.lows])
            .left([""], |it| [it.version])
            .micros(["bound", "max"], 1, |it| [it.bound_ns, it.max_ns])
            .fixed(["by max"], 2, |it| [it.slack()])
            .right(["calls", "beyond"], |it| [it.calls, it.beyond]);
        table.fmt(f)
    }
}
