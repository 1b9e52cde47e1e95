//! Runs of the program.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_oxorb-demo"));
    program.args(args).stdin(Stdio::null()).output().expect("the program starts")
}

/// Returns the output of a successful run.
pub(crate) fn good(args: &[&str]) -> String {
    let output = run(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {errors}");
    String::from_utf8(output.stdout).expect("the program prints UTF-8")
}

/// Returns the only document of a run's output.
pub(crate) fn json(args: &[&str]) -> Value {
    serde_json::from_str(&good(args)).expect("one JSON document")
}

/// Returns the only message of a failing run.
pub(crate) fn bad(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).expect("the program prints UTF-8")
}
