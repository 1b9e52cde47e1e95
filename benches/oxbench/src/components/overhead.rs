//! E11: overhead of a call from a receptacle to a facet, compared with a call to a plain object.

use std::fmt;

use serde::Serialize;

use super::calls::{BATCH, Way};
use crate::Result;
use crate::bootstrap::Ratio;
use crate::load::Spread;
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::table::Table;
use crate::verdict::{Verdict, at_most};

/// Sizes in octets of an argument.
const SIZES: [u32; 2] = [8, 4096];

/// Greatest permitted ratio of the time of a call between components to that of a plain call, and the target ratio.
const BOUND: f64 = 1.04;
const GOAL: f64 = 1.01;

/// Number of samples in a block. Blocks of both routes alternate, so that both run under the same conditions.
const BLOCK: u32 = 500;

/// Number of samples between two reads of the allocation counters.
const COUNTED: u32 = 1_000;

/// Extent of the measurement.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Number of pairs of processes, in succession.
    pub(super) rounds: u32,
    /// Number of blocks of each route in a round.
    pub(super) blocks: u32,
}

/// Location of the called object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    Local,
    Remote,
}

/// Results for one size and location.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) octets: u32,
    pub(super) plain: Side,
    pub(super) component: Side,
    /// Ratio of the component's median to the plain object's, in each pair of neighbouring blocks: the median of these
    /// ratios.
    pub(super) overhead: Ratio,
}

/// Calls by one route.
#[derive(Debug, Serialize)]
pub(super) struct Side {
    /// Nanoseconds per call; within a process, each sample is the mean of `BATCH` calls.
    pub(super) calls: Spread,
    /// Allocations per call on both sides together.
    pub(super) allocations: f64,
}

pub(super) fn measure(extent: Extent, placement: Placement) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for place in [Place::Local, Place::Remote] {
        for octets in SIZES {
            eprintln!("calls of {octets} octets, {place} ...");
            rows.push(measure_row(place, octets, extent, placement)?);
        }
    }
    Ok(rows)
}

fn measure_row(place: Place, octets: u32, extent: Extent, placement: Placement) -> Result<Row> {
    let mut samples = [Vec::new(), Vec::new()];
    let mut ratios = Vec::new();
    let mut allocations = [0.0; 2];
    for _ in 0..extent.rounds {
        let mut pair = Processes::start(place, placement)?;
        for way in Way::ALL {
            pair.block(way, octets, BLOCK)?;
        }
        allocations = pair.allocations(octets)?;
        for block in 0..extent.blocks {
            let mut medians = [0.0; 2];
            // The order of the routes alternates.
            for at in [block % 2, (block + 1) % 2].map(|at| at as usize) {
                let mut these = pair.block(Way::ALL[at], octets, BLOCK)?;
                samples[at].extend_from_slice(&these);
                these.sort_unstable();
                medians[at] = these[these.len() / 2] as f64;
            }
            ratios.push(medians[1] / medians[0]);
        }
        pair.finish()?;
    }
    let [plain, component] = samples.map(|samples| {
        let batch = place.batch();
        Spread::of(samples.iter().map(|time| time / u64::from(batch)).collect())
    });
    let [of_plain, of_component] = allocations;
    Ok(Row {
        place,
        octets,
        plain: Side { calls: plain, allocations: of_plain },
        component: Side { calls: component, allocations: of_component },
        overhead: median(ratios),
    })
}

/// Returns the median and its 95 % interval by order statistics, which assume no distribution.
fn median(mut ratios: Vec<f64>) -> Ratio {
    ratios.sort_unstable_by(f64::total_cmp);
    let count = ratios.len();
    let reach = (0.98 * (count as f64).sqrt()).ceil() as usize;
    let last = count.saturating_sub(1);
    let at = |place: usize| ratios.get(place.min(last)).copied().unwrap_or(f64::NAN);
    Ratio {
        seen: at(count / 2),
        interval: Some((at((count / 2).saturating_sub(reach)), at(count / 2 + reach))),
    }
}

impl Place {
    fn batch(self) -> u32 {
        match self {
            Place::Local => BATCH,
            Place::Remote => 1,
        }
    }
}

/// Calling process, and the process of the objects if separate.
struct Processes {
    client: Process,
    server: Option<Process>,
    batch: u32,
}

impl Processes {
    fn start(place: Place, placement: Placement) -> Result<Processes> {
        let mut command = own_side("component-caller")?;
        let server = match place {
            Place::Local => None,
            Place::Remote => {
                let name = "the process of the called component".to_owned();
                let mut called = own_side("component-called")?;
                let mut server = Process::start(name, placement, Role::Server, &mut called)?;
                command.args(server.hear()?.split_whitespace());
                Some(server)
            }
        };
        let name = "the process of the calling component".to_owned();
        let mut client = Process::start(name, placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Processes { client, server, batch: place.batch() })
    }

    /// Returns the nanoseconds of each sample of one block.
    fn block(&mut self, way: Way, octets: u32, samples: u32) -> Result<Vec<u64>> {
        self.client.tell(&format!("run {} {octets} {samples}", way.name()))?;
        self.client.expect("done")?;
        self.client.samples(samples)
    }

    /// Returns the allocations per call of each route, by all threads of all processes. They are the difference between
    /// many and few calls.
    fn allocations(&mut self, octets: u32) -> Result<[f64; 2]> {
        let mut counts = [0.0; 2];
        for (count, way) in counts.iter_mut().zip(Way::ALL) {
            let few = self.allocated_during(way, octets, COUNTED)?;
            let many = self.allocated_during(way, octets, 3 * COUNTED)?;
            let calls = f64::from(2 * COUNTED * self.batch);
            *count = many.saturating_sub(few) as f64 / calls;
        }
        Ok(counts)
    }

    fn allocated_during(&mut self, way: Way, octets: u32, samples: u32) -> Result<u64> {
        let before = self.allocated()?;
        self.client.tell(&format!("run {} {octets} {samples}", way.name()))?;
        self.client.expect("done")?;
        Ok(self.allocated()? - before)
    }

    fn allocated(&mut self) -> Result<u64> {
        let mut sum = 0;
        let both = [Some(&mut self.client), self.server.as_mut()];
        for process in both.into_iter().flatten() {
            process.tell("allocations")?;
            sum += process.hear()?.parse::<u64>()?;
        }
        Ok(sum)
    }

    fn finish(self) -> Result {
        self.client.finish()?;
        self.server.map_or(Ok(()), Process::finish)
    }
}

impl Row {
    pub(super) fn verdicts(&self) -> [Verdict; 3] {
        let Row { octets, place, .. } = self;
        let what = format!("{octets} octets, {place}: component by plain");
        let more = (self.component.allocations - self.plain.allocations).max(0.0);
        [
            at_most(what.clone(), Some(self.overhead), BOUND),
            at_most(format!("{what} (goal)"), Some(self.overhead), GOAL),
            at_most(
                format!("{octets} octets, {place}: allocations of a call more than plain"),
                // Another thread of the process may allocate meanwhile.
                Some(Ratio::exactly((more * 100.0).round() / 100.0)),
                0.0,
            ),
        ]
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Place::Local => "local",
            Place::Remote => "remote",
        })
    }
}

/// Prints a table of the calls, and below it the overhead of components.
pub(super) fn show(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sides = rows.iter().flat_map(|row| {
        [("plain", &row.plain), ("component", &row.component)].map(|(name, side)| (row, name, side))
    });
    let table = Table::of(sides)
        .left([""], |(row, ..)| [row.place])
        .right(["octets"], |(row, ..)| [row.octets])
        .left([""], |(_, name, _)| [name])
        .micros(["p50", "p99", "p99.9", "max"], 3, |(.., Side { calls, .. })| {
            [calls.p50, calls.p99, calls.p999, calls.max]
        })
        .fixed(["mean", "std dev"], 3, |(.., side)| {
            [side.calls.mean / 1e3, side.calls.jitter / 1e3]
        })
        .fixed(["allocs"], 2, |(.., side)| [side.allocations]);
    write!(f, "{table}")?;
    for Row { place, octets, plain, component, overhead } in rows {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let (from, to) = overhead.interval.unwrap_or((f64::NAN, f64::NAN));
        writeln!(
            f,
            "  {place}, {octets} octets: overhead {:+.1} % ({:+.1} to {:+.1}); of the means {:+.1} %",
            percent(overhead.seen),
            percent(from),
            percent(to),
            percent(component.calls.mean / plain.calls.mean)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_its_interval() {
        let ratios = (0..101).map(|at| 1.0 + f64::from(at) / 1000.0).collect();
        let found = median(ratios);
        let (from, to) = found.interval.unwrap();
        assert!((found.seen - 1.05).abs() < 1e-9, "{found}");
        assert!(1.0 < from && from < found.seen && found.seen < to && to < 1.1);
        assert_eq!(median(vec![1.5]).interval, Some((1.5, 1.5)));
        assert!(median(Vec::new()).seen.is_nan());
    }
}
