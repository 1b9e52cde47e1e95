//! `oxbench lanes` (E13, E14): three clients at fixed rates, whose calls take more and more work.
//!
//! Paper 4, sections 3.3 and 3.4: controllers call workers at 25, 50 and 75 Hz with equal work. Without priorities the
//! fastest falls behind first, and in the end all do. With a lane for each rate, the most urgent one for the highest, the
//! slowest falls behind first and 75 Hz is kept; with the order turned round it is the reverse.

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

/// Calls a second of each client.
pub(crate) const RATES: [u32; 3] = [25, 50, 75];

/// Priorities in ascending order.
const PRIORITIES: [i16; 3] = [20, 40, 60];

/// Who is urgent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Nobody: no lanes, no priorities (E13)
    None,
    /// The higher the rate, the higher the priority (E14, IRIP)
    ByRate,
    /// The higher the rate, the lower the priority (E14, IRDP)
    AgainstRate,
}

impl Order {
    fn architecture(self) -> Architecture {
        match self {
            Order::None => Architecture::Threads,
            Order::ByRate | Order::AgainstRate => Architecture::Lanes,
        }
    }

    /// Heading of its rows.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Order::None => "no priorities",
            Order::ByRate => "lanes, the highest rate the most urgent",
            Order::AgainstRate => "lanes, the lowest rate the most urgent",
        }
    }

    /// Of each rate.
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
    /// CPU time of one call, in us. Together the clients ask for 150 times as much a second
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 10000, 12000])]
    work: Vec<u32>,

    /// How long each point is measured, in seconds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    #[command(flatten)]
    pair: Cpus,

    /// Only these orders of priorities; all that can be had by default
    #[arg(long, value_delimiter = ',')]
    orders: Vec<Order>,

    #[command(flatten)]
    output: Output,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let contenders = contenders(&options.orders)?;
    // The server's CPU is asked for more than it has.
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

/// Nobody asked for any: all, and what cannot be had is named and left out.
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
