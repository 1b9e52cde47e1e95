//! `oxbench tls`: the cost of TLS.
//!
//! Calls over TLS are compared with the same calls over TCP, and with an exchange of as many octets through rustls
//! without an ORB. The handshakes of a server are compared with those of a server that uses rustls only.

mod calls;
mod certificates;
mod check;
pub(crate) mod exchange;
pub(crate) mod handshakes;
mod report;

use clap::Args;

use self::certificates::Certificates;
use self::report::Report;
use crate::Result;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Placement;

/// Options of `oxbench tls`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of the client and the server of calls: `0` puts both processes on CPU 0, so that only software is compared;
    /// `0,1` puts them on one each; `free` leaves the choice to the kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// CPUs of the client and the server of handshakes; on one CPU, the client's part would hide the server's
    #[arg(long, value_name = "CPUS", default_value = "0,1")]
    handshake_cpus: Placement,

    /// Number of rounds; in each round all contenders take turns with new processes, beginning with a different one
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of handshakes of each row in each round
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    handshakes: u32,

    /// Number of simultaneous connections in the rows with several connections
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=64))]
    connections: u32,

    /// Make a tenth of the calls and handshakes in three rounds: a quick test that everything works, with little
    /// precision
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
    let certificates = Certificates::new()?;
    let folder = certificates.folder();
    let calls = calls::measure(folder, options.cpus, rounds, divisor)?;
    let plan = handshakes::Plan {
        placement: options.handshake_cpus,
        rounds,
        handshakes: (options.handshakes / divisor).max(1),
        connections: options.connections,
    };
    let (suite, handshakes) = plan.measure(folder)?;
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        handshake_placement: options.handshake_cpus.to_string(),
        rounds,
        suite,
        calls,
        handshakes,
    })
}
