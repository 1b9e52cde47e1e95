//! `oxbench throughput`: calls a second of 1 to 16 clients that call at once, for each architecture.

use std::fmt;
use std::time::Duration;

use clap::{Args, ValueEnum as _};
use serde::Serialize;

use crate::Result;
use crate::format::Format;
use crate::load::{Architecture, Contender, Setting, Spread, Task};
use crate::machine::Machine;
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

    /// Rounds of each architecture; they take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// CPUs of client and server: `0,1` one each, `0` both on one, `free` wherever the kernel puts them
    #[arg(long, default_value = "free")]
    cpus: Placement,

    /// Only these architectures; all that can be had by default
    #[arg(long, value_delimiter = ',')]
    architectures: Vec<Architecture>,

    /// What to print on standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    placement: String,
    rounds: u32,
    points: Vec<Point>,
}

/// One architecture with one number of clients.
#[derive(Serialize)]
struct Point {
    architecture: Architecture,
    clients: usize,
    /// Calls a second, of the best round.
    rate: f64,
    /// How long calls took, over all rounds.
    calls: Spread,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.format.print(&report)?;
    Ok(())
}

fn measure(options: &Options) -> Result<Report> {
    // Without priorities all calls are alike, so lanes have nothing to tell apart.
    let known: Vec<Architecture> = Architecture::value_variants()
        .iter()
        .copied()
        .filter(|&it| it != Architecture::Lanes)
        .collect();
    let contenders = Contender::all(&options.architectures, &known)?;
    let setting = Setting {
        placement: options.cpus,
        duration: Duration::from_millis(options.time),
    };
    let mut points = Vec::new();
    for &clients in &options.clients {
        let task = Task {
            object: 0,
            priority: 0,
            phase: Duration::ZERO,
            period: Duration::ZERO,
            work: Duration::ZERO,
        };
        let tasks = vec![task; clients];
        let mut rounds: Vec<Vec<Vec<u64>>> = contenders.iter().map(|_| Vec::new()).collect();
        for round in 1..=options.rounds {
            for (contender, seen) in contenders.iter().zip(&mut rounds) {
                eprintln!(
                    "{clients} clients, round {round}, {} ...",
                    contender.architecture
                );
                seen.push(contender.measure(setting, &[0], &tasks)?.concat());
            }
        }
        for (contender, seen) in contenders.iter().zip(rounds) {
            let most = seen.iter().map(Vec::len).max().unwrap_or_default();
            points.push(Point {
                architecture: contender.architecture,
                clients,
                rate: most as f64 / setting.duration.as_secs_f64(),
                calls: Spread::of(seen.concat()),
            });
        }
    }
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        rounds: options.rounds,
        points,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{}; best of {} rounds; microseconds\n",
            self.placement, self.rounds
        )?;
        writeln!(
            f,
            "  {:>7} {:9}{:>12}{:>12}{:>10}{:>10}{:>10}",
            "clients", "", "calls/s", "to omniorb", "p50", "p99", "max"
        )?;
        for point in &self.points {
            let omniorb = self.points.iter().find(|other| {
                other.clients == point.clients && other.architecture == Architecture::OmniOrb
            });
            let ratio = omniorb.map_or_else(
                || "-".to_owned(),
                |omniorb| format!("{:.2}", point.rate / omniorb.rate),
            );
            write!(
                f,
                "  {:>7} {:9}{:>12.0}{ratio:>12}",
                point.clients, point.architecture, point.rate
            )?;
            for time in [point.calls.p50, point.calls.p99, point.calls.max] {
                write!(f, "{:>10.1}", time as f64 / 1000.0)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
