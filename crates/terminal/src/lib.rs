//! Common parts of OxORB's command-line programs: ORB settings and durations on the command line,
//! output as text or JSON, and latency statistics. Not for real-time threads.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod duration;
pub mod orb;
pub mod output;
pub mod statistics;

use std::process::ExitCode;

use clap::Parser;

use output::{Done, Failed};

/// Runs a program: takes the ORB's settings out of its arguments ([`orb::take_args`]), parses the
/// rest, passes them to `command`, and prints the message of a failure. Prints the help or the
/// version if the arguments ask for it.
///
/// Exit status: 0 for success, 1 for a failure, 2 for wrong arguments and for an unknown or invalid
/// setting.
pub fn main<P: Parser>(command: impl FnOnce(P) -> Done) -> ExitCode {
    let args = match orb::take_args(std::env::args_os()) {
        Ok(args) => args,
        Err(problem) => {
            output::error(&problem);
            return ExitCode::from(2);
        }
    };
    let done = match P::try_parse_from(args) {
        Ok(parsed) => command(parsed),
        Err(wrong) if wrong.use_stderr() => {
            // If standard error cannot be written, only the exit status reports the error.
            let _ = wrong.print();
            return ExitCode::from(2);
        }
        Err(help) => output::print_help(&help),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Told) => ExitCode::FAILURE,
        Err(Failed::Because(why)) => {
            output::error(&why);
            ExitCode::FAILURE
        }
    }
}
