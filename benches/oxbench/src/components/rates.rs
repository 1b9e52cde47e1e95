//! E13, E14: controllers at three rates with growing work, in processes configured by their plan alone.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use oxorb::Orb;
use serde::Serialize;

use super::generated::load::{ControllerRef, Statistics};
use super::locality::{Locality, Stage};
use super::plans;
use crate::Result;
use crate::bootstrap::Ratio;
use crate::lanes::{Order, RATES};
use crate::load::{KeptOut, Quiet, may_use_priorities};
use crate::placement::{Placement, Role};
use crate::table::Table;
use crate::verdict::{Verdict, at_least, below};

/// Share of its rate below which a controller counts as failed.
const KEPT: f64 = 0.95;

/// Share of the 75 Hz calls that must be kept under the greatest work if they are the most urgent.
const URGENT: f64 = 0.9;

/// Time limit of a controller's last call.
const PATIENCE: Duration = Duration::from_secs(30);

/// All points, and their common parameters.
#[derive(Debug, Serialize)]
pub(super) struct Rates {
    pub(super) kept_out: KeptOut,
    pub(super) seconds: u64,
    /// Processor time of one repetition, in us.
    pub(super) repetition: f64,
    /// Number of files that the processes of all points executed.
    pub(super) executables: usize,
    pub(super) points: Vec<Point>,
}

/// Result of one order of priorities with one amount of work.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) order: Order,
    pub(super) repetitions: u32,
    /// Results in the order of `RATES`.
    pub(super) pairs: Vec<Pair>,
}

/// Result of one controller.
#[derive(Debug, Serialize)]
pub(super) struct Pair {
    pub(super) hertz: u32,
    /// Calls per second.
    pub(super) kept: f64,
    /// Share of the releases whose call did not return within its period.
    pub(super) missed: f64,
    /// Mean time of a call, in milliseconds.
    pub(super) mean: f64,
    pub(super) longest: f64,
}

/// Extent of the measurement.
pub(super) struct Extent<'e> {
    pub(super) repetitions: &'e [u32],
    pub(super) orders: &'e [Order],
    pub(super) seconds: u64,
    pub(super) placement: Placement,
}

pub(super) fn measure(extent: &Extent<'_>) -> Result<Rates> {
    let orders: Vec<Order> = match extent.orders {
        [] => Order::value_variants().to_vec(),
        asked => asked.to_vec(),
    };
    let may = may_use_priorities();
    // The load exceeds the capacity of the server's CPU.
    let quiet = Quiet::begin(&extent.placement.cpus_without_server());
    let mut executables = BTreeSet::new();
    let mut points = Vec::new();
    let mut work = extent.repetitions.to_vec();
    work.sort_unstable();
    work.dedup();
    for repetitions in work {
        for &order in &orders {
            if order != Order::None && !may {
                eprintln!(
                    "{} is left out: it needs the privilege to run at SCHED_FIFO",
                    order.heading()
                );
                continue;
            }
            eprintln!("{repetitions} repetitions, {} ...", order.heading());
            points.push(measure_point(order, repetitions, extent, &mut executables)?);
        }
    }
    Ok(Rates {
        kept_out: quiet.kept_out(),
        seconds: extent.seconds,
        repetition: plans::repetition()?,
        executables: executables.len(),
        points,
    })
}

fn measure_point(
    order: Order,
    repetitions: u32,
    extent: &Extent<'_>,
    executables: &mut BTreeSet<PathBuf>,
) -> Result<Point> {
    let plan = plans::pairs(repetitions)?;
    let stage = Stage::new(("pairs.cdp", &plan), plans::resources(order))?;
    let sides = [("server", Role::Server), ("client", Role::Client)];
    let mut processes = sides
        .into_iter()
        .map(|(node, role)| Locality::start(&stage, node, extent.placement, role))
        .collect::<Result<Vec<_>>>()?;
    processes.iter_mut().try_for_each(Locality::wait)?;
    for process in &processes {
        executables.insert(process.executable()?);
    }
    let orb = Orb::builder().build()?;
    let controllers = RATES
        .into_iter()
        .map(|hertz| Ok(orb.resolve(&stage.reference(&plans::reference_file(hertz)?)?)?))
        .collect::<Result<Vec<ControllerRef>>>()?;
    controllers.iter().try_for_each(|it| it.start())?;
    std::thread::sleep(Duration::from_secs(extent.seconds));
    controllers.iter().try_for_each(|it| it.stop())?;
    let results = controllers.iter().map(at_rest).collect::<Result<Vec<_>>>()?;
    orb.shutdown(true)?;
    processes.into_iter().try_for_each(Locality::finish)?;
    let pairs = RATES.into_iter().zip(results);
    Ok(Point {
        order,
        repetitions,
        pairs: pairs.map(|(hertz, seen)| Pair::of(hertz, &seen)).collect(),
    })
}

/// Returns the results of a controller, once its last call has returned.
fn at_rest(controller: &ControllerRef) -> Result<Statistics> {
    let begin = Instant::now();
    loop {
        let seen = controller.results()?;
        if !seen.running {
            return Ok(seen);
        }
        if begin.elapsed() > PATIENCE {
            return Err(
                "a controller was told to stop, and its call has not returned for 30 s".into()
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Pair {
    fn of(hertz: u32, seen: &Statistics) -> Pair {
        let due = (seen.seconds * f64::from(hertz)).max(1.0);
        Pair {
            hertz,
            // The time contains one more release than periods.
            kept: (seen.calls as f64).min(due) / seen.seconds.max(f64::EPSILON),
            missed: seen.missed as f64 / due,
            mean: seen.mean / 1e6,
            longest: seen.longest as f64 / 1e6,
        }
    }
}

impl Rates {
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let first = |order, slow, fast| self.fails_before(order, slow, fast);
        let urgent = self.of(Order::ByRate).last();
        let urgent = urgent.map(|point| Ratio::exactly(point.pairs[2].kept / 75.0));
        let text = "repetitions at which it fails first";
        vec![
            below(format!("no priorities: {text}, 75 Hz by 25 Hz"), first(Order::None, 2, 0), 1.0),
            below(
                format!("lanes by rate: {text}, 25 Hz by 75 Hz"),
                first(Order::ByRate, 0, 2),
                1.0,
            ),
            at_least("lanes by rate, greatest work: share of 75 Hz that is kept", urgent, URGENT),
            below(
                format!("lanes against rate: {text}, 75 Hz by 25 Hz"),
                first(Order::AgainstRate, 2, 0),
                1.0,
            ),
        ]
    }

    fn of(&self, order: Order) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.order == order)
    }

    /// Returns a ratio: the repetitions at which the rate `this` first fails, divided by those at which `other` first
    /// fails (infinite if it never does). `None` if `this` never fails.
    fn fails_before(&self, order: Order, this: usize, other: usize) -> Option<Ratio> {
        let first = |at: usize| {
            let failed = |point: &&Point| {
                let pair = &point.pairs[at];
                pair.kept < KEPT * f64::from(pair.hertz)
            };
            self.of(order).find(failed).map(|point| f64::from(point.repetitions))
        };
        Some(Ratio::exactly(first(this)? / first(other).unwrap_or(f64::INFINITY)))
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "controllers and workers from their plan alone; {} s a point; {}; {} executable in all processes",
            self.seconds, self.kept_out, self.executables
        )?;
        let asked = self.repetition * f64::from(RATES.iter().sum::<u32>()) / 1e6;
        let [slow, middle, fast] = RATES.map(|rate| format!("{rate} Hz"));
        for &order in Order::value_variants() {
            let table = Table::of(self.of(order))
                .right(["repetitions"], |it| [it.repetitions])
                .percent(["of one CPU"], 0, |it| [f64::from(it.repetitions) * asked])
                .fixed([&format!("calls a second: {slow}"), &middle, &fast], 1, |it| {
                    it.pairs.iter().map(|pair| pair.kept)
                })
                .percent([&format!("deadlines missed: {slow}"), &middle, &fast], 0, |it| {
                    it.pairs.iter().map(|pair| pair.missed)
                });
            if !table.is_empty() {
                write!(f, "\n{}\n{table}", order.heading())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(order: Order, repetitions: u32, kept: [f64; 3]) -> Point {
        let pair = |(hertz, kept)| Pair { hertz, kept, missed: 0.0, mean: 0.0, longest: 0.0 };
        Point { order, repetitions, pairs: RATES.into_iter().zip(kept).map(pair).collect() }
    }

    #[test]
    fn who_fails_first_is_seen() {
        let rates = Rates {
            kept_out: KeptOut { throttling: false, awake: Vec::new() },
            seconds: 1,
            repetition: 50.0,
            executables: 1,
            points: vec![
                point(Order::None, 20, [25.0, 50.0, 75.0]),
                point(Order::None, 110, [25.0, 50.0, 60.0]),
                point(Order::None, 210, [20.0, 20.0, 20.0]),
                point(Order::ByRate, 20, [25.0, 50.0, 75.0]),
                point(Order::ByRate, 210, [1.0, 10.0, 75.0]),
            ],
        };
        let seen = |order, this, other| rates.fails_before(order, this, other).map(|it| it.seen);
        assert_eq!(seen(Order::None, 2, 0), Some(110.0 / 210.0));
        assert_eq!(seen(Order::ByRate, 0, 2), Some(0.0));
        assert_eq!(seen(Order::ByRate, 2, 0), None);
        assert_eq!(seen(Order::AgainstRate, 2, 0), None);
    }
}
