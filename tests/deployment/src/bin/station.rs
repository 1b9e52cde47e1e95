//! Components as an executable artifact; a copy whose name contains `silent` never calls back.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_name().unwrap_or_default();
    if name.to_string_lossy().contains("silent") {
        loop {
            std::thread::park();
        }
    }
    oxorb::deployment::run_locality(oxorb_deployment_tests::implementations())
}
