//! The executable artifact of the tests.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    oxorb::deployment::run_locality(oxorb_deployment_tests::implementations())
}
