//! `oxorb deploy`: a module for each subject.

mod checks;
mod engines;
mod https;
mod packages;
mod repository;

use std::process::{Command, Output, Stdio};

use crate::common::text;

pub(crate) const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/tests/plans");

pub(crate) fn deploy(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.arg("deploy").args(args).current_dir(PLANS).stdin(Stdio::null());
    command.output().expect("the command starts")
}

pub(crate) fn good(args: &[&str]) -> String {
    let output = deploy(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {out}{err}");
    assert_eq!(err, "", "{args:?}");
    out
}

pub(crate) fn refused(args: &[&str]) -> String {
    let output = deploy(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output.stdout));
    text(&output.stdout) + &text(&output.stderr)
}

/// IDL of a component with an extended port, and of a connector with a mirror port.
pub(crate) const BUS: &str = "\
#include <Components.idl>
module Avionics {
  enum Side { LARBOARD, STARBOARD };
  interface Position { readonly attribute double latitude; };
  porttype Duplex { provides Position outward; uses Position inward; };
  component Left { port Duplex link; attribute unsigned short speed; attribute Side facing; };
  connector Wire { mirrorport Duplex near; };
};
";

pub(crate) const COMMAND: &[&str] =
    &["--command", "/bin/true --plan {plan} --node {node} --process {process}"];

/// Command of processes with real-time resources.
pub(crate) const RT_COMMAND: &[&str] =
    &["--command", "/bin/true --plan {plan} --rt {rt} --node {node} --process {process}"];
