//! `oxbench components`: experiments of paper 4, section 3, and the cost of deployment.
//!
//! - E11: cost of a call between components, compared with a call between plain objects.
//! - E13, E14: controllers at 25, 50 and 75 Hz with growing work. They run without priorities, with lanes by rate, and
//!   with lanes against the rate; only the documents of the deployment differ.
//! - E16: effort of writing these documents.
//! - Cost of deployment: a hundred instances on four nodes of this machine.

mod calls;
mod deployment;
mod effort;
mod executors;
mod locality;
mod overhead;
mod plans;
mod rates;
mod report;

use clap::{Args, ValueEnum};

pub(crate) use self::calls::{call, serve};
pub(crate) use self::deployment::serve_bare;
pub(crate) use self::locality::{is_locality, run_locality};
use self::report::Report;
use crate::Result;
use crate::lanes::Order;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Cpus;

#[allow(missing_docs)]
pub(crate) mod generated {
    oxorb::include_idl!("components");
}

/// Parts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// Compare a call between components with a call between plain objects (E11)
    Calls,
    /// Run controllers at three rates (E13, E14)
    Rates,
    /// Count the lines of plans and code needed to make the application real-time (E16)
    Effort,
    /// Deploy a hundred instances on four nodes
    Deployment,
}

/// Options of `oxbench components`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of pairs of processes for each kind of call, and number of rounds of the deployment
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Work of a call, in repetitions of 50 us; default: 20 to 240. All controllers together request 150 times this
    /// work per second
    #[arg(long, value_delimiter = ',')]
    work: Vec<u32>,

    /// Seconds of measurement for each point of work
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Run only these orders of priorities; default: all available ones
    #[arg(long, value_delimiter = ',')]
    orders: Vec<Order>,

    /// Run two rounds, and three points of work for one second each: a quick test that everything works, with little
    /// precision
    #[arg(long)]
    quick: bool,

    /// Run only these parts; default: all
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,

    #[command(flatten)]
    pair: Cpus,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Number of blocks of each kind of call in a round.
const BLOCKS: u32 = 20;

/// Points of work, close to those of the paper, and those of a quick run.
const WORK: [u32; 13] = [20, 40, 60, 80, 100, 110, 120, 130, 140, 160, 180, 210, 240];
const QUICK: [u32; 3] = [20, 130, 240];

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let wanted = |part| options.only.is_empty() || options.only.contains(&part);
    let placement = options.pair.cpus;
    let (rounds, blocks, work, seconds) = match options.quick {
        true => (2, 4, &QUICK[..], 1),
        false => (options.rounds, BLOCKS, &WORK[..], options.seconds),
    };
    let work = match &options.work[..] {
        [] => work,
        asked => asked,
    };
    let calls = overhead::Extent { rounds, blocks };
    let rates = rates::Extent { repetitions: work, orders: &options.orders, seconds, placement };
    Ok(Report {
        machine: Machine::this(),
        placement: placement.to_string(),
        overhead: match wanted(Part::Calls) {
            true => overhead::measure(calls, placement)?,
            false => Vec::new(),
        },
        rates: match wanted(Part::Rates) {
            true => Some(rates::measure(&rates)?),
            false => None,
        },
        effort: match wanted(Part::Effort) {
            true => effort::count(),
            false => Vec::new(),
        },
        deployment: match wanted(Part::Deployment) {
            true => Some(deployment::measure(rounds)?),
            false => None,
        },
    })
}
