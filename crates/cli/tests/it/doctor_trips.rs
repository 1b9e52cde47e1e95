//! `oxorb doctor --measure --interface` and `--to`, and `--answer` in its own process. Needs no privilege.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;
use serde_json::Value;

use crate::common::text;

const LONG: Duration = Duration::from_secs(120);

fn doctor(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.arg("doctor").args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    doctor(args).output().expect("the command starts")
}

/// Starts a process that answers round trips. Returns its reference, too.
fn answerer(args: &[&str]) -> (Process, String) {
    let mut process = Process::spawn(doctor(args));
    let reference = process.wait_for_line("IOR:", LONG);
    (process, reference)
}

/// Ends an answerer by a signal.
fn end(mut answerer: Process) {
    let sent = Command::new("kill").args(["-TERM", &answerer.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    answerer.wait_success(LONG);
}

/// Runs a measurement that would take an hour, and must be refused before it begins.
fn refused(to: &str) -> String {
    let args = ["--measure", "--seconds", "3600", "--idle", "--to", to];
    let mut process = Process::spawn(doctor(&args));
    let status = process.wait(LONG);
    let lines = process.output().iter().filter(|line| line.error);
    let said: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
    assert_eq!(status.code(), Some(1), "{said:?}");
    said.join("\n")
}

/// Name of the loopback interface, which every host has.
fn loopback() -> String {
    let all = oxorb_sys::interface::addresses().expect("the system lists its interfaces");
    let found = all.iter().find(|it| it.loopback && it.up && it.address.is_ipv4());
    found.expect("a loopback interface").interface.clone()
}

fn calls(trips: &Value, kind: &str) -> u64 {
    trips[kind]["calls"].as_u64().expect("a number")
}

#[test]
fn round_trips_go_to_loopback_to_the_named_interface_and_to_the_answering_process() {
    let (answerer, reference) = answerer(&["--answer", "iiop://127.0.0.1:0"]);
    let name = loopback();
    let args = ["--measure", "--seconds", "1", "--priorities", "0", "--format", "json"];
    let output = run(&[&args[..], &["--interface", &name, "--to", &reference]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let measured: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let trips = measured["trips"].as_array().expect("a list");
    let places: Vec<&str> = trips.iter().filter_map(|it| it["place"].as_str()).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    assert_eq!(places[0], "loopback (127.0.0.1)");
    assert!(places[1].starts_with(&format!("{name} (")), "{places:?}");
    assert_eq!(places[2], "the other host");
    for trips in trips {
        assert!(calls(trips, "alone") > 0 && calls(trips, "loaded") > 0, "{trips}");
    }
    end(answerer);
}

#[test]
fn idle_round_trips_have_no_load_and_are_named_in_the_text() {
    let (answerer, reference) = answerer(&["--answer", "iiop://127.0.0.1:0"]);
    let args = ["--measure", "--seconds", "1", "--priorities", "0", "--idle", "--to", &reference];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("loopback (127.0.0.1), alone"), "{said}");
    assert!(said.contains("the other host, alone"), "{said}");
    assert!(!said.contains(", loaded") && said.contains("beside 0 busy threads"), "{said}");
    end(answerer);
}

/// The default endpoint has a port of the system's choice.
#[test]
fn answering_needs_no_endpoint_and_ends_with_a_signal() {
    let (answerer, reference) = answerer(&["--answer"]);
    assert!(reference.starts_with("IOR:"), "{reference}");
    end(answerer);
}

#[test]
fn a_host_that_does_not_answer_is_reported_before_anything_is_measured() {
    let (answerer, reference) = answerer(&["--answer", "iiop://127.0.0.1:0"]);
    end(answerer);
    for to in [reference.as_str(), "IOR:00"] {
        let said = refused(to);
        assert!(said.contains("error: "), "{said}");
    }
}

#[test]
fn targets_without_a_measurement_are_refused() {
    for args in [&["--to", "IOR:00"][..], &["--interface", "lo"], &["--idle"]] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("--measure"), "{}", text(&output.stderr));
    }
}
