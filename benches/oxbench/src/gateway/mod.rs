//! `oxbench gateway`: the cost of a gateway between a client and a server.
//!
//! Calls through a gateway are compared with the same calls without one. The time that a gateway adds is compared with
//! the time of a second plain call. Many simultaneous connections show what a connection costs.

mod calls;
mod check;
mod connections;
mod report;
pub(crate) mod sides;

use clap::Args;

use self::report::Report;
use crate::Result;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Placement;

/// Options of `oxbench gateway`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of the processes: `0` puts all on CPU 0, so that only software is compared; `0,1` puts the client on CPU 0,
    /// and the gateway and the server on CPU 1; `free` leaves the choice to the kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Number of rounds; in each round all contenders take turns with new processes, beginning with a different one
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of simultaneous connections in the measurement of connections
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(2..=20_000))]
    connections: u32,

    /// Make a tenth of the calls in three rounds: a quick test that everything works, with little precision
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (rounds, divisor) = if options.quick { (3, 10) } else { (options.rounds, 1) };
    let calls = calls::measure(options.cpus, rounds, divisor)?;
    let connections = connections::measure(options.cpus, options.connections)?;
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        rounds,
        calls,
        connections,
    })
}
