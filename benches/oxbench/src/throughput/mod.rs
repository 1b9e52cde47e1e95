//! `oxbench throughput`: calls a second of 1 to 16 clients that call at once, for each architecture.
//!
//! Small calls, back to back, without priorities. What decides is less the ORB than where its threads run, so both
//! placements are in one report: client and server on a CPU each, and wherever the kernel puts them.

mod plot;
mod report;

use std::time::Duration;

use clap::{Args, ValueEnum as _};

use self::report::{Point, Report};
use crate::Result;
use crate::load::{Architecture, Contender, Quiet, Setting, Task};
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Placement;

/// Options of `oxbench throughput`.
#[derive(Args)]
pub(crate) struct Options {
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16])]
    clients: Vec<usize>,

    /// How long each round is, in milliseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(100..))]
    time: u64,

    /// Rounds of each point; in each round all architectures take their turn, beginning with another one
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// CPUs of client and server: `0,1` one each, `0` both on one, `free` wherever the kernel puts them; may be repeated
    #[arg(long, default_values = ["0,1", "free"])]
    cpus: Vec<Placement>,

    /// Only these architectures; all that can be had by default
    #[arg(long, value_delimiter = ',')]
    architectures: Vec<Architecture>,

    /// CPU time that the servant uses up for each call, in microseconds; may be repeated
    #[arg(long, value_delimiter = ',', default_values_t = [0])]
    work: Vec<u64>,

    /// Only clients that share one connection, OxORB's and omniORB's: what the server does with requests side by side
    #[arg(long)]
    one_connection: bool,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::verdicts, plot::draw)
}

fn measure(options: &Options) -> Result<Report> {
    // Without priorities all calls are alike, so lanes have nothing to tell apart.
    let known: Vec<Architecture> = Architecture::value_variants()
        .iter()
        .copied()
        .filter(|&it| match options.one_connection {
            true => it.shares(),
            false => !matches!(it, Architecture::Lanes | Architecture::OmniOrbShared),
        })
        .collect();
    let contenders = Contender::all(&options.architectures, &known)?;
    let (mut points, mut kept_out) = (Vec::new(), Vec::new());
    for &placement in &options.cpus {
        // A CPU that sleeps whenever nobody calls would be measured, and not who calls.
        let quiet = Quiet::begin(&placement.cpus());
        kept_out.push((placement.to_string(), quiet.kept_out()));
        let setting = Setting {
            placement,
            duration: Duration::from_millis(options.time),
        };
        for &work in &options.work {
            let work = Duration::from_micros(work);
            for &clients in &options.clients {
                points.extend(measure_at(
                    setting,
                    work,
                    clients,
                    options.rounds,
                    &contenders,
                )?);
            }
        }
    }
    Ok(Report {
        machine: Machine::this(),
        kept_out,
        rounds: options.rounds,
        milliseconds: options.time,
        points,
    })
}

/// One point of each contender.
fn measure_at(
    setting: Setting,
    work: Duration,
    clients: usize,
    rounds: u32,
    contenders: &[Contender],
) -> Result<Vec<Point>> {
    let task = Task {
        object: 0,
        priority: 0,
        phase: Duration::ZERO,
        period: Duration::ZERO,
        work,
        from_release: false,
    };
    let tasks = vec![task; clients];
    let mut seen = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        // What drifts on the machine hits all alike, and nobody always follows the same one.
        let first = round as usize % contenders.len();
        for at in (first..contenders.len()).chain(0..first) {
            let architecture = contenders[at].architecture;
            eprintln!(
                "{}, {clients} clients, round {}, {architecture} ...",
                setting.placement,
                round + 1
            );
            seen[at].push(contenders[at].measure(setting, &[0], &tasks)?.concat());
        }
    }
    let placement = setting.placement.to_string();
    let points = contenders.iter().zip(seen).map(|(contender, rounds)| {
        let architecture = contender.architecture;
        Point::new(
            placement.clone(),
            architecture,
            work,
            clients,
            setting.duration,
            rounds,
        )
    });
    let mut points: Vec<Point> = points.collect();
    // Clients that share a connection beside others that do, where there are any.
    let peer = |architecture| {
        points
            .iter()
            .find(|point| point.architecture == architecture)
    };
    let omniorb = peer(Architecture::OmniOrb).or_else(|| peer(Architecture::OmniOrbShared));
    if let Some(omniorb) = omniorb.map(|point| point.rates.clone()) {
        for point in &mut points {
            point.compare(&omniorb);
        }
    }
    Ok(points)
}
