//! Project's bounds for E1, and verdicts on a run. Times never cause a failure.

use super::Over;
use super::report::{Point, Report, Version};
use crate::bootstrap::Ratio;
use crate::load::Architecture;
use crate::verdict::{Verdicts, at_least, at_most};

/// Quantile of the high-priority client.
#[derive(Clone, Copy)]
enum Quantile {
    P50,
    P99,
}

impl Quantile {
    fn share(self) -> f64 {
        match self {
            Quantile::P50 => 0.5,
            Quantile::P99 => 0.99,
        }
    }

    /// Returns the quantile at `this` point divided by the quantile at the `other`.
    fn ratio(self, this: &Point, other: &Point) -> Ratio {
        Ratio::of(&this.calls, &other.calls, self.share())
    }
}

pub(super) fn verdicts(report: &Report) -> Verdicts {
    let line = |of| -> Vec<&Point> { report.line(Version::Saturated, of).collect() };
    let [lanes, floor, omniorb] =
        [Architecture::Lanes, Architecture::Floor, Architecture::OmniOrb].map(line);
    let floor_limit = match report.over {
        Over::Tcp => FLOOR,
        Over::Unix | Over::Shm => FLOOR_UNIX,
    };
    let growth_limit = match report.over {
        Over::Tcp | Over::Unix => GROWTH,
        Over::Shm => GROWTH_SHARED,
    };
    let growth = |of: Quantile| growth(&lanes, of);
    let at_most_n = |of: Quantile| Some(of.ratio(lanes.last()?, floor.last()?));
    let above_floor = |of: Quantile| {
        let ratios = lanes.iter().zip(&floor).map(|(lane, floor)| of.ratio(lane, floor));
        worst(ratios)
    };
    let ahead = || Some(Quantile::P99.ratio(omniorb.last()?, lanes.last()?));
    let slower = report
        .points
        .iter()
        .filter(|point| point.architecture == Architecture::Lanes)
        .map(|point| Ratio::exactly(point.high.p50 as f64 / point.low.p50.max(1) as f64));
    let urgent = [Architecture::LanesAsynchronous, Architecture::LanesCollocated];
    let urgent = urgent.into_iter().flat_map(|architecture| {
        let line = line(architecture);
        [("p50", Quantile::P50), ("p99", Quantile::P99)].map(|(name, of)| {
            let bound =
                format!("{architecture}, saturated: high {name} at most n, by that at least n");
            at_most(bound, self::growth(&line, of), growth_limit)
        })
    });
    let of_lanes = [
        at_most("lanes: high p50 below low p50 at every n (largest ratio)", worst(slower), 1.0),
        at_most(
            "lanes, saturated: high p50 at most n, by that at least n",
            growth(Quantile::P50),
            growth_limit,
        ),
        at_most(
            "lanes, saturated: high p99 at most n, by that at least n",
            growth(Quantile::P99),
            growth_limit,
        ),
        at_most(
            "lanes, saturated: high p50 by that of the floor, most n",
            at_most_n(Quantile::P50),
            floor_limit,
        ),
        at_most(
            "lanes, saturated: high p99 by that of the floor, most n",
            at_most_n(Quantile::P99),
            floor_limit,
        ),
        at_most(
            "lanes, saturated: high p50 by that of the floor, worst n",
            above_floor(Quantile::P50),
            floor_limit,
        ),
        at_most(
            "lanes, saturated: high p99 by that of the floor, worst n",
            above_floor(Quantile::P99),
            floor_limit,
        ),
        at_least("saturated, most n: high p99 of omniORB by that of lanes", ahead(), 10.0),
    ];
    let bounds = || report.bounds.iter();
    let beyond = bounds().map(|bound| bound.beyond as f64).sum();
    let of_bounds = [
        at_most(
            "lanes: high calls beyond the bound that was proved",
            bounds().next().map(|_| Ratio::exactly(beyond)),
            0.0,
        ),
        at_most(
            "lanes: that bound by the longest call, largest",
            worst(bounds().map(|bound| Ratio::exactly(bound.slack()))),
            TIGHT,
        ),
    ];
    Verdicts::new(of_lanes.into_iter().chain(urgent).chain(of_bounds))
}

/// Greatest permitted ratio of an urgent call's time to that of the floor; a second, smaller one applies over UNIX
/// sockets.
const FLOOR: f64 = 1.25;
const FLOOR_UNIX: f64 = 1.1;

/// Greatest permitted ratio of an urgent call's time with the most low clients to that with the fewest; a second,
/// smaller one applies over shared memory.
const GROWTH: f64 = 1.5;
const GROWTH_SHARED: f64 = 1.1;

/// Greatest permitted ratio of a proved bound to the longest call.
const TIGHT: f64 = 3.0;

fn growth(line: &[&Point], of: Quantile) -> Option<Ratio> {
    Some(of.ratio(line.last()?, line.first()?))
}

fn worst(ratios: impl Iterator<Item = Ratio>) -> Option<Ratio> {
    ratios.max_by(|this, other| this.seen.total_cmp(&other.seen))
}
