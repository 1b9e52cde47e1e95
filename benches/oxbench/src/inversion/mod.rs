//! `oxbench inversion` (E1): the effect of low-priority clients on a high-priority client.
//!
//! Paper 0, section 5.3: one client calls at 20 Hz, and 1 to 50 others at 10 Hz; in a saturating version, the others
//! call back to back and keep their servant busy for 200 us in each call. `--over unix` and `--over shm` use UNIX
//! sockets and shared memory (E4).

mod bound;
mod check;
mod report;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use self::report::{Point, Report, Version};
use crate::Result;
use crate::load::{Architecture, Contender, Quiet, Samples, Setting, Task};
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Cpus;
use crate::protocols::Folder;

/// Priorities of the two kinds of client, and of their serving threads.
const HIGH: i16 = 60;
const LOW: i16 = 20;

/// Options of `oxbench inversion`.
#[derive(Args)]
pub(crate) struct Options {
    /// Numbers of low-priority clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 20, 30, 40, 50])]
    lows: Vec<usize>,

    /// Seconds of measurement for each point, over all rounds
    #[arg(long, default_value_t = 20.0, value_parser = positive)]
    seconds: f64,

    /// Number of rounds of each point; in each round all architectures take turns with one number of clients
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    /// Calls per second of the high-priority client
    #[arg(long, default_value_t = 20.0, value_parser = positive)]
    high_hz: f64,

    /// Calls per second of each low-priority client; if saturated, the clients call back to back
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    low_hz: f64,

    /// CPU time in us that the servant uses for each low-priority call if saturated
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    work: u32,

    #[command(flatten)]
    pair: Cpus,

    /// Run only these architectures; default: all available ones
    #[arg(long, value_delimiter = ',')]
    architectures: Vec<Architecture>,

    /// Sockets between clients and server
    #[arg(long, value_enum, default_value_t = Over::Tcp)]
    over: Over,

    /// Run only this version of the experiment
    #[arg(long)]
    only: Option<Version>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Sockets between clients and server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Over {
    /// TCP on the loopback interface
    Tcp,
    /// UNIX sockets (E4)
    Unix,
    /// Shared memory (E4); architectures other than OxORB use UNIX sockets
    Shm,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Over::Tcp => "over TCP",
            Over::Unix => "over UNIX sockets",
            Over::Shm => "over shared memory",
        })
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("a number above 0 is wanted".into()),
    }
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let urgent = [Architecture::LanesAsynchronous, Architecture::LanesCollocated];
    let known = [&Architecture::usual()[..], &urgent].concat();
    let sockets = match options.over {
        Over::Tcp => None,
        Over::Unix => Some(("uiop", Arc::new(Folder::new()?))),
        Over::Shm => Some(("shm", Arc::new(Folder::new()?))),
    };
    let contenders = Contender::all(&options.architectures, &known)?.into_iter();
    let contenders: Vec<_> = contenders.map(|it| it.over(sockets.as_ref())).collect();
    let setting = Setting {
        placement: options.pair.cpus,
        duration: Duration::from_secs_f64(options.seconds / f64::from(options.rounds)),
    };
    let versions = match &options.only {
        Some(version) => vec![*version],
        None => Version::value_variants().to_vec(),
    };
    let points = contenders.len() * options.lows.len() * versions.len();
    eprintln!(
        "{points} points of {} s: some {:.0} minutes",
        options.seconds,
        (points as f64 * options.seconds / 60.0).ceil()
    );
    let (mut points, mut kept_out) = (Vec::new(), Vec::new());
    for version in versions {
        // A saturated server uses its whole CPU.
        let awake = match version {
            Version::Paper => options.pair.cpus.cpus(),
            Version::Saturated => options.pair.cpus.cpus_without_server(),
        };
        let quiet = Quiet::begin(&awake);
        kept_out.push((version, quiet.kept_out()));
        // Clients in two processes have no common release.
        let taking: Vec<&Contender> = contenders
            .iter()
            .filter(|it| version == Version::Saturated || !urgent.contains(&it.architecture))
            .collect();
        for &lows in &options.lows {
            let tasks = options.tasks(version, lows);
            let mut seen: Vec<[Samples; 2]> = taking.iter().map(|_| Default::default()).collect();
            for round in 0..options.rounds {
                // Each round begins with another contender, so that drift of the machine affects all equally and none
                // always follows the same one.
                let first = round as usize % taking.len();
                for at in (first..taking.len()).chain(0..first) {
                    let contender = taking[at];
                    eprintln!(
                        "{version}, {lows} low, round {}, {} ...",
                        round + 1,
                        contender.architecture
                    );
                    let mut samples = contender.measure(setting, &[HIGH, LOW], &tasks)?;
                    let [high, low] = &mut seen[at];
                    low.extend(samples.split_off(1).concat());
                    high.extend(samples.concat());
                }
            }
            for (contender, [high, low]) in taking.iter().zip(seen) {
                points.push(Point::new(version, contender.architecture, lows, high, low));
            }
        }
    }
    let mut report = Report {
        machine: Machine::this(),
        placement: options.pair.cpus.to_string(),
        over: options.over,
        kept_out,
        seconds: options.seconds,
        rounds: options.rounds,
        high_hz: options.high_hz,
        low_hz: options.low_hz,
        work: options.work,
        points,
        bounds: Vec::new(),
    };
    report.bounds = bound::bounds(&report)?;
    Ok(report)
}

impl Options {
    /// Returns the tasks of the high client, then of the others.
    fn tasks(&self, version: Version, lows: usize) -> Vec<Task> {
        let period = |hz: f64| Duration::from_secs_f64(1.0 / hz);
        let (low_period, work) = match version {
            Version::Paper => (period(self.low_hz), Duration::ZERO),
            Version::Saturated => (Duration::ZERO, Duration::from_micros(self.work.into())),
        };
        // All clients are released together, as in the paper. Otherwise, at a tenth of the machine's capacity, their
        // calls would never overlap, and warm caches alone would decide which client is faster. The time of a call
        // includes the wait for other clients.
        let from_release = version == Version::Paper;
        let high = Task {
            object: 0,
            priority: HIGH,
            phase: Duration::ZERO,
            period: period(self.high_hz),
            work: Duration::ZERO,
            from_release,
        };
        let low = Task {
            object: 1,
            priority: LOW,
            phase: Duration::ZERO,
            period: low_period,
            work,
            from_release,
        };
        [high].into_iter().chain(std::iter::repeat_n(low, lows)).collect()
    }
}
