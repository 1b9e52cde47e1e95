//! Common parts of OxORB's command-line programs: ORB settings and durations on the command line,
//! output as text or JSON, and latency statistics. Not for real-time threads.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod duration;
pub mod orb;
pub mod output;
pub mod statistics;

use std::ffi::OsString;
use std::process::ExitCode;

use output::{Done, Failed};

/// Runs a program: takes the ORB's settings out of its arguments ([`orb::take_args`]), passes the
/// rest to `command`, and prints the message of a failure.
///
/// Exit status: 0 for success, 1 for a failure, 2 for an unknown or invalid setting.
pub fn main(command: impl FnOnce(Vec<OsString>) -> Done) -> ExitCode {
    let args = match orb::take_args(std::env::args_os()) {
        Ok(args) => args,
        Err(problem) => {
            output::error(&problem);
            return ExitCode::from(2);
        }
    };
    match command(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Told) => ExitCode::FAILURE,
        Err(Failed::Because(why)) => {
            output::error(&why);
            ExitCode::FAILURE
        }
    }
}
