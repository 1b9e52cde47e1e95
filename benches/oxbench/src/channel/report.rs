//! Results of `oxbench channel`, and verdicts on the bounds.

use std::fmt;

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

/// Version of the experiment: places of suppliers, channel and consumers, and behaviour of the low pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Version {
    /// In one process; each low supplier pushes at its rate
    Paced,
    /// In one process; low suppliers push back to back
    Saturated,
    /// Each in its own process; all low suppliers together push at a rate
    Processes,
    /// Each in its own process; low suppliers push back to back. Only measured on request
    ProcessesSaturated,
}

display_by_name!(Version);

impl Version {
    /// Versions that are measured unless others are requested.
    pub(super) const USUAL: [Version; 3] = [Version::Paced, Version::Saturated, Version::Processes];

    /// Reports whether the low suppliers push back to back.
    pub(super) fn is_saturated(self) -> bool {
        matches!(self, Version::Saturated | Version::ProcessesSaturated)
    }

    /// Reports whether the suppliers, the channel and the consumers each have their own process.
    pub(super) fn has_processes(self) -> bool {
        matches!(self, Version::Processes | Version::ProcessesSaturated)
    }
}

/// Results of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) cpu: usize,
    pub(crate) kept_out: Vec<(Version, KeptOut)>,
    /// Whether threads had SCHED_FIFO.
    pub(crate) real_time: bool,
    /// Number of events of the high pair in a round.
    pub(crate) round_events: u32,
    pub(crate) rounds: u32,
    pub(crate) high_period_ns: u64,
    /// Events per second of each low supplier in the paced version, and declared to the scheduling service in all
    /// versions.
    pub(crate) low_hz: u32,
    /// Events per second of all low suppliers together, between processes.
    pub(crate) low_total_hz: u32,
    pub(crate) points: Vec<Point>,
}

/// Result of one strategy with one number of low pairs.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) version: Version,
    pub(crate) strategy: &'static str,
    pub(crate) lows: usize,
    /// Latencies of the high pair in nanoseconds, from the start of the push until the consumer receives the event.
    pub(crate) events: usize,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) max_ns: u64,
    /// Latencies from the release of an event, the time at which the push should begin.
    pub(crate) release_p99_ns: u64,
    pub(crate) release_max_ns: u64,
    /// Events of low consumers per second of pushing.
    pub(crate) low_rate: f64,
    /// Number of events that were lost: their push failed, or the channel dropped them or could not send them.
    pub(crate) dropped: u64,
    /// Latencies from the push, in the order of arrival.
    #[serde(skip)]
    latencies: Vec<u64>,
}

impl Point {
    pub(super) fn new(version: Version, strategy: &'static str, lows: usize, seen: Seen) -> Point {
        let latencies: Vec<u64> = seen.latencies.iter().map(|it| it.from_push).collect();
        let pushed = ascending(latencies.iter().copied());
        let released = ascending(seen.latencies.iter().map(|it| it.from_release));
        Point {
            version,
            strategy,
            lows,
            events: latencies.len(),
            p50_ns: part(&pushed, 0.5),
            p99_ns: part(&pushed, 0.99),
            p999_ns: part(&pushed, 0.999),
            max_ns: part(&pushed, 1.0),
            release_p99_ns: part(&released, 0.99),
            release_max_ns: part(&released, 1.0),
            low_rate: seen.lows as f64 / seen.took.as_secs_f64(),
            dropped: seen.dropped,
            latencies,
        }
    }

    fn by(&self, other: &Point, quantile: f64, block: usize) -> Ratio {
        Ratio::of_blocks(&self.latencies, &other.latencies, quantile, block)
    }
}

fn ascending(times: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times
}

/// Returns the quantile of times in ascending order; 0 if there are none.
fn part(times: &[u64], part: f64) -> u64 {
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * part) as usize).copied().unwrap_or_default()
}

impl Report {
    /// Returns the number of consecutive events that an interval's draws keep together: a tenth of a round.
    fn block(&self) -> usize {
        self.round_events.div_ceil(10) as usize
    }

    pub(super) fn line(&self, version: Version, strategy: &str) -> Vec<&Point> {
        let points = self.points.iter();
        points.filter(|point| point.version == version && point.strategy == strategy).collect()
    }

    /// Returns the versions of the report: the usual ones, whether measured or not, and other measured ones.
    fn versions(&self) -> impl Iterator<Item = Version> {
        let all = Version::value_variants().iter().copied();
        all.filter(move |it| Version::USUAL.contains(it) || self.has(*it))
    }

    fn has(&self, version: Version) -> bool {
        self.points.iter().any(|point| point.version == version)
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
    let block = report.block();
    let mut verdicts = Vec::new();
    for version in report.versions() {
        let limit = if version.is_saturated() { SATURATED } else { GROWTH };
        for strategy in ["RMS", "MUF"] {
            let line = report.line(version, strategy);
            for (name, quantile) in QUANTILES {
                let ends = line.first().zip(line.last()).filter(|_| line.len() > 1);
                let growth = ends.map(|(least, most)| most.by(least, quantile, block));
                let bound = format!(
                    "{version}, {strategy}: high {name} at most low pairs, by that at least"
                );
                verdicts.push(at_most(bound, growth, limit));
            }
        }
    }
    for saturated in report.versions().filter(|it| it.is_saturated()) {
        let paced = if saturated.has_processes() { Version::Processes } else { Version::Paced };
        for strategy in ["RMS", "MUF"] {
            let (most, least) = (report.line(saturated, strategy), report.line(paced, strategy));
            for (name, quantile) in QUANTILES {
                let ends = most.last().zip(least.first());
                let ratio = ends.map(|(most, least)| most.by(least, quantile, block));
                let bound = format!(
                    "{strategy}: high {name} at most pairs {saturated}, by that at least {paced}"
                );
                verdicts.push(at_most(bound, ratio, SATURATED));
            }
        }
    }
    for version in report.versions() {
        let [rms, muf] = ["RMS", "MUF"].map(|strategy| report.line(version, strategy));
        for (name, quantile) in QUANTILES {
            let ratios = rms.iter().zip(&muf).map(|(rms, muf)| muf.by(rms, quantile, block));
            let worst = ratios.max_by(|one, other| one.seen.total_cmp(&other.seen));
            let bound = format!("{version}: high {name} under MUF by RMS, worst number of pairs");
            verdicts.push(at_most(bound, worst, DYNAMIC));
        }
    }
    Verdicts::new(verdicts)
}

impl Report {
    /// Draws the latency of the high pair over the number of low pairs: a panel for each measured version. The panels
    /// of the versions in one process have the same scale, and so have the panels of the versions in several processes.
    pub(super) fn drawing(&self) -> Drawing {
        let panel = |version: Version| {
            let is_alike = |it: &&Point| it.version.has_processes() == version.has_processes();
            let alike = self.points.iter().filter(is_alike);
            let slowest = alike.map(|point| point.p99_ns).max().unwrap_or(1);
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
        let measured = self.versions().filter(|it| self.has(*it));
        let panels = measured.map(panel).collect();
        Drawing { title: self.machine.to_string(), across: 2, panels }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "all on CPU {}; high every {} ns, {} rounds of {} events a point",
            self.cpu, self.high_period_ns, self.rounds, self.round_events
        )?;
        writeln!(
            f,
            "paced: each low pair at {} Hz; processes: all low pairs together at {} Hz",
            self.low_hz, self.low_total_hz
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
            .micros(["high p50 us", "high p99 us", "high p99.9 us", "high max us"], 1, |it| {
                [it.p50_ns, it.p99_ns, it.p999_ns, it.max_ns]
            })
            .micros(["p99 from release us", "max from release us"], 1, |it| {
                [it.release_p99_ns, it.release_max_ns]
            })
            .fixed(["low events/s"], 0, |it| [it.low_rate])
            .right(["dropped"], |it| [it.dropped]);
        table.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::channel::load::Latency;

    fn report(of: impl Fn(Version, &str, usize) -> u64) -> String {
        let mut points = Vec::new();
        for &version in Version::value_variants() {
            for lows in [1, 1_000] {
                for strategy in ["RMS", "MUF"] {
                    let from_push = of(version, strategy, lows);
                    let latency = Latency { from_push, from_release: from_push + 1_000 };
                    let took = Duration::from_secs(1);
                    let seen = Seen { latencies: vec![latency; 5], took, ..Seen::default() };
                    points.push(Point::new(version, strategy, lows, seen));
                }
            }
        }
        let report = Report {
            machine: Machine::this(),
            cpu: 0,
            kept_out: vec![],
            real_time: true,
            round_events: 5,
            rounds: 1,
            high_period_ns: 1_000_000,
            low_hz: 1,
            low_total_hz: 2_000,
            points,
        };
        verdicts(&report).to_string()
    }

    #[test]
    fn a_point_has_both_latencies_and_the_low_rate_of_the_time_that_the_pushes_took() {
        let latency = |from_push| Latency { from_push, from_release: from_push + 500 };
        let seen = Seen {
            latencies: [3, 1, 2].map(latency).to_vec(),
            lows: 30,
            dropped: 4,
            took: Duration::from_millis(1_500),
        };
        let point = Point::new(Version::Paced, "RMS", 1, seen);
        assert_eq!((point.p50_ns, point.max_ns), (2, 3));
        assert_eq!((point.release_p99_ns, point.release_max_ns), (502, 503));
        assert_eq!((point.low_rate, point.dropped), (20.0, 4));
        assert_eq!(point.latencies, [3, 1, 2]);
    }

    #[test]
    fn each_bound_is_met_or_not() {
        let flat = report(|_, _, _| 10_000);
        assert_eq!(flat.matches("met ").count(), 32, "{flat}");
        assert!(!flat.contains("NOT MET"), "{flat}");
        let steep = report(|_, _, lows| 10_000 + lows as u64 * 6);
        assert_eq!(steep.matches("NOT MET").count(), 24, "{steep}");
        let costly = report(|_, strategy, _| 10_000 + 1_100 * u64::from(strategy == "MUF"));
        assert_eq!(costly.matches("NOT MET").count(), 8, "{costly}");
    }
}
