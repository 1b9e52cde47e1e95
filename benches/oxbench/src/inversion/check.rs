//! The bounds that the project set itself for E1, and whether a run met them. Times never fail anything.

use std::fmt;

use super::report::{Point, Report, Version};
use crate::load::Architecture;

/// What is asked and what was seen.
pub(super) struct Verdict {
    bound: &'static str,
    /// `None`: the run does not tell.
    met: Option<(bool, String)>,
}

/// One line each.
pub(super) struct Verdicts(Vec<Verdict>);

pub(super) fn verdicts(report: &Report) -> Verdicts {
    let lanes: Vec<&Point> = report
        .line(Version::Saturated, Architecture::Lanes)
        .collect();
    let floor: Vec<&Point> = report
        .line(Version::Saturated, Architecture::Floor)
        .collect();
    let omniorb: Vec<&Point> = report
        .line(Version::Saturated, Architecture::OmniOrb)
        .collect();
    let growth = |of: fn(&Point) -> u64| Some(ratio(of(lanes.last()?), of(lanes.first()?)));
    let above_floor = |of: fn(&Point) -> u64| {
        let ratios = lanes
            .iter()
            .zip(&floor)
            .map(|(lane, floor)| ratio(of(lane), of(floor)));
        ratios.reduce(f64::max)
    };
    let p50: fn(&Point) -> u64 = |point| point.high.p50;
    let p99: fn(&Point) -> u64 = |point| point.high.p99;
    let ahead = || Some(ratio(p99(omniorb.last()?), p99(lanes.last()?)));
    let slower = report
        .points
        .iter()
        .filter(|point| point.architecture == Architecture::Lanes)
        .map(|point| ratio(point.high.p50, point.low.p50));
    Verdicts(vec![
        at_most(
            "lanes: high p50 below low p50 at every n (largest ratio)",
            slower.reduce(f64::max),
            1.0,
        ),
        at_most(
            "lanes, saturated: high p50 at most n, by that at least n",
            growth(p50),
            1.5,
        ),
        at_most(
            "lanes, saturated: high p99 at most n, by that at least n",
            growth(p99),
            1.5,
        ),
        at_most(
            "lanes, saturated: high p50 by that of the floor, worst n",
            above_floor(p50),
            1.25,
        ),
        at_most(
            "lanes, saturated: high p99 by that of the floor, worst n",
            above_floor(p99),
            1.25,
        ),
        at_least(
            "saturated, most n: high p99 of omniORB by that of lanes",
            ahead(),
            10.0,
        ),
    ])
}

fn ratio(this: u64, other: u64) -> f64 {
    this as f64 / other.max(1) as f64
}

fn at_most(bound: &'static str, seen: Option<f64>, limit: f64) -> Verdict {
    let met = seen.map(|seen| (seen <= limit, format!("{seen:.2}, wanted at most {limit}")));
    Verdict { bound, met }
}

fn at_least(bound: &'static str, seen: Option<f64>, limit: f64) -> Verdict {
    let met = seen.map(|seen| (seen >= limit, format!("{seen:.1}, wanted at least {limit}")));
    Verdict { bound, met }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Verdict { bound, met } in &self.0 {
            match met {
                Some((true, seen)) => writeln!(f, "met      {bound}: {seen}")?,
                Some((false, seen)) => writeln!(f, "NOT MET  {bound}: {seen}")?,
                None => writeln!(f, "unknown  {bound}: not measured in this run")?,
            }
        }
        Ok(())
    }
}
