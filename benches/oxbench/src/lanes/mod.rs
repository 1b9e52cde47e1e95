//! `oxbench lanes` (E13, E14): three clients at fixed rates, with growing work per call.
//!
//! Paper 4, sections 3.3 and 3.4: controllers call workers at 25, 50 and 75 Hz with equal work. Without priorities, the
//! fastest controller falls behind first, and in the end all do. With a lane for each rate, and the most urgent lane
//! for the highest rate, the slowest controller falls behind first and 75 Hz is kept. With the lanes in reverse order,
//! the opposite holds.

mod report;

use std::time::Duration;

use clap::{Args, ValueEnum};

pub(crate) use self::report::kept;
use self::report::{Point, Report};
use crate::Result;
use crate::load::{Architecture, Contender, Quiet, Setting, Task};
use crate::machine::Machine;
use crate::output::Output;
use crate::placement::Cpus;

/// Calls per second of each client.
pub(crate) const RATES: [u32; 3] = [25, 50, 75];

/// Priorities in ascending order.
const PRIORITIES: [i16; 3] = [20, 40, 60];

/// Order of priorities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Neither lanes nor priorities (E13)
    None,
    /// Higher priority for a higher rate (E14, IRIP)
    ByRate,
    /// Lower priority for a higher rate (E14, IRDP)
    AgainstRate,
}

impl Order {
    fn architecture(self) -> Architecture {
        match self {
            Order::None => Architecture::Threads,
            Order::ByRate | Order::AgainstRate => Architecture::Lanes,
        }
    }

    /// Returns the heading of its rows.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Order::None => "no priorities",
            Order::ByRate => "lanes, the highest rate the most urgent",
            Order::AgainstRate => "lanes, the lowest rate the most urgent",
        }
    }

    /// Returns the priority of each rate.
    fn priorities(self) -> [i16; 3] {
        let [low, middle, high] = PRIORITIES;
        match self {
            Order::None | Order::ByRate => [low, middle, high],
            Order::AgainstRate => [high, middle, low],
        }
    }
}

/// Options of `oxbench lanes`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPU time of one call, in us. All clients together request 150 times this time per second. The default is the
    /// work of `oxbench components`: 20 to 240 repetitions of 50 us
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 2000, 3000, 4000, 5000, 5500, 6000, 6500, 7000, 8000, 9000, 10500, 12000])]
    work: Vec<u32>,

    /// Seconds of measurement for each point
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    #[command(flatten)]
    pair: Cpus,

    /// Run only these orders of priorities; default: all available ones
    #[arg(long, value_delimiter = ',')]
    orders: Vec<Order>,

    #[command(flatten)]
    output: Output,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let contenders = contenders(&options.orders)?;
    // The load exceeds the capacity of the server's CPU.
    let quiet = Quiet::begin(&options.pair.cpus.cpus_without_server());
    let setting =
        Setting { placement: options.pair.cpus, duration: Duration::from_secs(options.seconds) };
    let mut points = Vec::new();
    for &work in &options.work {
        for (order, contender) in &contenders {
            let name = order.to_possible_value().expect("none is skipped");
            eprintln!("{work} us, priorities {} ...", name.get_name());
            let priorities = order.priorities();
            let task = |object: usize| Task {
                object,
                priority: priorities[object],
                phase: Duration::ZERO,
                period: Duration::from_secs(1) / RATES[object],
                work: Duration::from_micros(work.into()),
                from_release: false,
            };
            let tasks = [0, 1, 2].map(task);
            let samples = contender.measure(setting, &priorities, &tasks)?;
            points.push(Point::new(*order, work, samples, setting.duration));
        }
    }
    Ok(Report {
        machine: Machine::this(),
        placement: options.pair.cpus.to_string(),
        kept_out: quiet.kept_out(),
        seconds: options.seconds,
        points,
    })
}

/// Returns the requested orders; by default all, with unavailable ones reported and left out.
fn contenders(asked: &[Order]) -> Result<Vec<(Order, Contender)>> {
    let mut contenders = Vec::new();
    let all = Order::value_variants();
    for &order in if asked.is_empty() { all } else { asked } {
        let mut found = match asked {
            [] => Contender::all(&[], &[order.architecture()])?,
            _ => Contender::all(&[order.architecture()], &[])?,
        };
        contenders.extend(found.pop().map(|contender| (order, contender)));
    }
    Ok(contenders)
}
