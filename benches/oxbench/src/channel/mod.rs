//! `oxbench channel` (E8): one high-priority pair of supplier and consumer shares an event channel with 1 to 1,000
//! low-priority pairs. The channel has the queues of a computed schedule. Dispatching by laxity (MUF) is compared with
//! static priorities (RMS).
//!
//! Paper 3, section 5.1: the latency of an event of the high pair, from the push to the consumer, includes the time of
//! the scheduler and the dispatching module. In the paced version, the suppliers push at the rates of the paper; in the
//! saturated version, the low suppliers push as fast as their consumers allow. All threads run on one CPU, with the
//! priorities of the schedule.

mod load;
mod report;
mod scheduled;

use std::time::Duration;

use clap::{Args, ValueEnum as _};
use oxorb::sched::Strategy;

use self::load::{Load, Seen};
use self::report::{Point, Report, Version};
use self::scheduled::Scheduled;
use crate::Result;
use crate::load::Quiet;
use crate::machine::Machine;
use crate::output::CheckedOutput;

/// Options of `oxbench channel`.
#[derive(Args)]
pub(crate) struct Options {
    /// Measure for a few seconds only, with at most 100 low-priority pairs, to test that everything works
    #[arg(long)]
    quick: bool,

    /// Numbers of low-priority pairs
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1_000])]
    lows: Vec<usize>,

    /// Seconds of measurement for each point, over all rounds
    #[arg(long, default_value_t = 12)]
    seconds: u32,

    /// Number of rounds of each point; in each round, both strategies take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    /// Events per second of the high-priority supplier
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    high_hz: u32,

    /// Events per second of each low-priority supplier; if saturated, the suppliers push back to back
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    low_hz: u32,

    /// CPU for all threads
    #[arg(long, default_value_t = 0)]
    cpu: usize,

    /// Run only this version of the experiment
    #[arg(long)]
    only: Option<Version>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Strategies in the order of the first round.
const STRATEGIES: [Strategy; 2] = [Strategy::RMS, Strategy::MUF];

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, report::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (mut lows, seconds, rounds) = match options.quick {
        true => (vec![1, 10, 100], 1, 1),
        false => (options.lows.clone(), options.seconds, options.rounds),
    };
    // Bounds compare the smallest number with the largest.
    lows.sort_unstable();
    lows.dedup();
    let versions = match options.only {
        Some(version) => vec![version],
        None => Version::value_variants().to_vec(),
    };
    let points = versions.len() * lows.len() * STRATEGIES.len();
    eprintln!("{points} points of {seconds} s");
    let (mut points, mut kept_out, mut real_time) = (Vec::new(), Vec::new(), true);
    for version in versions {
        // Real-time threads that use a whole CPU would starve the thread that keeps it awake.
        let awake = match version {
            Version::Paced => &[options.cpu][..],
            Version::Saturated => &[],
        };
        let quiet = Quiet::begin(awake);
        kept_out.push((version, quiet.kept_out()));
        for &lows in &lows {
            let load = Load {
                lows,
                duration: Duration::from_secs(seconds.into()) / rounds,
                high_period: Duration::from_secs(1) / options.high_hz,
                low_period: match version {
                    Version::Paced => Some(Duration::from_secs(1) / options.low_hz),
                    Version::Saturated => None,
                },
                cpu: options.cpu,
            };
            let scheduled = |strategy| Scheduled::new(strategy, lows, load.periods(options.low_hz));
            let [rms, muf] = STRATEGIES.map(scheduled);
            let mut both = [(rms?, Seen::default()), (muf?, Seen::default())];
            for round in 0..rounds {
                // Alternates, so that drift of the machine affects both alike and neither always follows the other.
                both.rotate_left((round % 2) as usize);
                for (scheduled, seen) in &mut both {
                    let strategy = scheduled.strategy();
                    eprintln!("{version}, {lows} low, round {}, {strategy} ...", round + 1);
                    real_time &= load.measure(scheduled, seen)?;
                }
            }
            both.sort_by_key(|(scheduled, _)| scheduled.strategy() != STRATEGIES[0].name);
            for (scheduled, seen) in both {
                let took = Duration::from_secs(seconds.into());
                points.push(Point::new(version, scheduled.strategy(), lows, seen, took));
                scheduled.end()?;
            }
        }
    }
    Ok(Report {
        machine: Machine::this(),
        cpu: options.cpu,
        kept_out,
        real_time,
        seconds,
        rounds,
        high_hz: options.high_hz,
        low_hz: options.low_hz,
        points,
    })
}
