//! The avionics display as an executable artifact.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    oxorb::deployment::run_locality(avionics::implementations())
}
