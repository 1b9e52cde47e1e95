//! Results of `oxbench channel`, and verdicts on the bounds.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

use super::load::Seen;
use crate::bootstrap::Ratio;
use crate::dispatch::NO_PRIORITIES;
use crate::format::display_by_name;
use crate::load::KeptOut;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;
use crate::verdict::{Verdicts, at_most};

/// Behaviour of the low pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Version {
    /// Low suppliers push at their rate
    Paced,
    /// Low suppliers push back to back
    Saturated,
}

display_by_name!(Version);

/// Results of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) cpu: usize,
    pub(crate) kept_out: Vec<(Version, KeptOut)>,
    /// Whether threads had SCHED_FIFO.
    pub(crate) real_time: bool,
    pub(crate) seconds: u32,
    pub(crate) rounds: u32,
    pub(crate) high_hz: u32,
    pub(crate) low_hz: u32,
    pub(crate) points: Vec<Point>,
}

/// Result of one strategy with one number of low pairs.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) version: Version,
    pub(crate) strategy: &'static str,
    pub(crate) lows: usize,
    /// Latencies of the high pair in nanoseconds, from the push to the consumer.
    pub(crate) events: usize,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
    /// Events per second received by low consumers.
    pub(crate) low_rate: f64,
    /// Number of events dropped by queues.
    pub(crate) dropped: u64,
    /// Latencies in ascending order.
    #[serde(skip)]
    latencies: Vec<u64>,
}

impl Point {
    pub(super) fn new(
        version: Version,
        strategy: &'static str,
        lows: usize,
        mut seen: Seen,
        took: Duration,
    ) -> Point {
        seen.latencies.sort_unstable();
        let last = seen.latencies.len().saturating_sub(1);
        let part = |part: f64| {
            let at = (last as f64 * part) as usize;
            seen.latencies.get(at).copied().unwrap_or_default()
        };
        Point {
            version,
            strategy,
            lows,
            events: seen.latencies.len(),
            p50_ns: part(0.5),
            p99_ns: part(0.99),
            max_ns: part(1.0),
            low_rate: seen.lows as f64 / took.as_secs_f64(),
            dropped: seen.dropped,
            latencies: seen.latencies,
        }
    }

    fn by(&self, other: &Point, quantile: f64) -> Ratio {
        Ratio::of(&self.latencies, &other.latencies, quantile)
    }
}

impl Report {
    pub(super) fn line(&self, version: Version, strategy: &str) -> Vec<&Point> {
        let points = self.points.iter();
        points.filter(|point| point.version == version && point.strategy == strategy).collect()
    }
}

/// Greatest permitted ratio of an event's time with the most low pairs to that with the fewest.
const GROWTH: f64 = 1.2;
/// Greatest permitted ratio with saturated low pairs.
const SATURATED: f64 = 1.5;
/// Greatest permitted ratio of a time under MUF to that under RMS.
const DYNAMIC: f64 = 1.1;

const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

pub(super) fn verdicts(report: &Report) -> Verdicts {
    let mut verdicts = Vec::new();
    for (version, limit) in [(Version::Paced, GROWTH), (Version::Saturated, SATURATED)] {
        for strategy in ["RMS", "MUF"] {
            let line = report.line(version, strategy);
            for (name, quantile) in QUANTILES {
                let ends = line.first().zip(line.last()).filter(|_| line.len() > 1);
                let growth = ends.map(|(least, most)| most.by(least, quantile));
                let bound = format!(
                    "{version}, {strategy}: high {name} at most low pairs, by that at least"
                );
                verdicts.push(at_most(bound, growth, limit));
            }
        }
    }
    for strategy in ["RMS", "MUF"] {
        for (name, quantile) in QUANTILES {
            let paced = report.line(Version::Paced, strategy);
            let saturated = report.line(Version::Saturated, strategy);
            let ends = saturated.last().zip(paced.first());
            let ratio = ends.map(|(saturated, paced)| saturated.by(paced, quantile));
            let bound =
                format!("{strategy}: high {name} at most saturated pairs, by that at least paced");
            verdicts.push(at_most(bound, ratio, SATURATED));
        }
    }
    for version in Version::value_variants() {
        let [rms, muf] = ["RMS", "MUF"].map(|strategy| report.line(*version, strategy));
        for (name, quantile) in QUANTILES {
            let ratios = rms.iter().zip(&muf).map(|(rms, muf)| muf.by(rms, quantile));
            let worst = ratios.max_by(|one, other| one.seen.total_cmp(&other.seen));
            let bound = format!("{version}: high {name} under MUF by RMS, worst number of pairs");
            verdicts.push(at_most(bound, worst, DYNAMIC));
        }
    }
    Verdicts::new(verdicts)
}

impl Report {
    /// Draws the latency of the high pair over the number of low pairs: a panel for each version, with equal scales.
    pub(super) fn drawing(&self) -> Drawing {
        let slowest = self.points.iter().map(|point| point.p99_ns).max().unwrap_or(1);
        let panel = |&version: &Version| {
            let lines = ["RMS", "MUF"].into_iter().flat_map(|strategy| {
                let line = self.line(version, strategy);
                let line = |name: &str, of: fn(&Point) -> u64| {
                    let points = line.iter().map(|it| (it.lows as f64, of(it) as f64 / 1e3));
                    (format!("{strategy} {name}"), points.collect::<Vec<_>>())
                };
                [line("p50", |it| it.p50_ns), line("p99", |it| it.p99_ns)]
            });
            let time = Axis::linear("microseconds").between(0.0, slowest as f64 * 1.2 / 1e3);
            Panel::lines(format!("high pair, {version}"), Axis::log("low pairs"), time, lines)
        };
        let panels = Version::value_variants().iter().map(panel).collect();
        Drawing { title: self.machine.to_string(), across: 2, panels }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "all on CPU {}, {} s a point in {} rounds, high at {} Hz, low at {} Hz or saturated",
            self.cpu, self.seconds, self.rounds, self.high_hz, self.low_hz
        )?;
        for (version, kept_out) in &self.kept_out {
            writeln!(f, "{version}: {kept_out}")?;
        }
        if !self.real_time {
            writeln!(f, "{NO_PRIORITIES}")?;
        }
        let table = Table::of(&self.points)
            .left(["version"], |it| [it.version])
            .left(["strategy"], |it| [it.strategy])
            .right(["low pairs", "events"], |it| [it.lows, it.events])
            .micros(["high p50 us", "high p99 us", "high max us"], 1, |it| {
                [it.p50_ns, it.p99_ns, it.max_ns]
            })
            .fixed(["low events/s"], 0, |it| [it.low_rate])
            .right(["dropped"], |it| [it.dropped]);
        table.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(of: impl Fn(Version, &str, usize) -> u64) -> String {
        let mut points = Vec::new();
        for &version in Version::value_variants() {
            for lows in [1, 1_000] {
                for strategy in ["RMS", "MUF"] {
                    let seen =
                        Seen { latencies: vec![of(version, strategy, lows); 5], ..Seen::default() };
                    let took = Duration::from_secs(1);
                    points.push(Point::new(version, strategy, lows, seen, took));
                }
            }
        }
        let report = Report {
            machine: Machine::this(),
            cpu: 0,
            kept_out: vec![],
            real_time: true,
            seconds: 1,
            rounds: 1,
            high_hz: 20,
            low_hz: 1,
            points,
        };
        verdicts(&report).to_string()
    }

    #[test]
    fn each_bound_is_met_or_not() {
        let flat = report(|_, _, _| 10_000);
        assert_eq!(flat.matches("met ").count(), 16, "{flat}");
        assert!(!flat.contains("NOT MET"), "{flat}");
        let steep = report(|_, _, lows| 10_000 + lows as u64 * 6);
        assert_eq!(steep.matches("NOT MET").count(), 12, "{steep}");
        let costly = report(|_, strategy, _| 10_000 + 1_100 * u64::from(strategy == "MUF"));
        assert_eq!(costly.matches("NOT MET").count(), 4, "{costly}");
    }
}
