//! `oxorb sched serve`, and remote operations on the service.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;
use serde_json::{Value, json};

use crate::common::Folder;

const START: Duration = Duration::from_secs(30);
const SET: &str = "tests/sched/avionics.toml";
const IDL: &str = "tests/sched/nav.idl";

fn oxorb() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Service in its own process.
struct Server {
    process: Process,
    said: Value,
}

impl Server {
    fn start(args: &[&str]) -> Server {
        Server::spawn(&["sched", "serve", "--host", "127.0.0.1"], args)
    }

    fn spawn(verb: &[&str], args: &[&str]) -> Server {
        let mut command = oxorb();
        command.args(verb).args(["--format", "json"]).args(args);
        let mut process = Process::spawn(command);
        let line = process.wait_for_line("serving", START);
        let said = serde_json::from_str(&line).expect("one line of JSON");
        Server { process, said }
    }

    fn url(&self) -> &str {
        self.said["corbaloc"][0].as_str().expect("it has an address")
    }

    fn at(&self, args: &[&str]) -> Output {
        sched(&[args, &["--at", self.url()]].concat())
    }

    fn good(&self, args: &[&str]) -> String {
        good(self.at(args))
    }

    fn json(&self, args: &[&str]) -> Value {
        let text = self.good(&[args, &["--format", "json"]].concat());
        serde_json::from_str(&text).expect("one JSON document")
    }
}

fn sched(args: &[&str]) -> Output {
    let mut command = oxorb();
    command.arg("sched").args(args).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn good(output: Output) -> String {
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{why}");
    String::from_utf8(output.stdout).expect("the command prints UTF-8")
}

fn bad(output: Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).expect("the command prints UTF-8")
}

#[test]
fn operations_are_loaded_listed_computed_and_analysed() {
    let server = Server::start(&["--strategy", "RMS"]);
    assert_eq!(server.said["operations"], 0);
    assert_eq!(server.said["scheduled"], false);
    let told = bad(server.at(&["check"]));
    assert!(told.contains("the service has no operations"), "{told}");
    let loaded = server.json(&["load", SET]);
    let expected =
        json!({"created": 4, "updated": 0, "dependencies": 2, "constraints_left_behind": 0});
    assert_eq!(loaded, expected);
    let again = server.good(&["load", SET]);
    assert_eq!(again, "0 operations created, 4 updated, 0 dependencies added\n");
    let listed = server.json(&["list"]);
    assert_eq!(listed["scheduled"], false);
    let filter = &listed["operations"][1];
    assert_eq!(filter["operation"], "nav::Filter::update");
    assert_eq!(filter["wcet_ns"], 6_000_000);
    assert_eq!(filter["os_priority"], Value::Null);
    let needs =
        json!([{"on": "nav::Sensor::sample", "kind": "event", "times": 1, "enabled": "enabled"}]);
    assert_eq!(filter["dependencies"], needs);
    let computed = server.json(&["compute", "--priorities", "10,40"]);
    assert_eq!(computed["good"], true);
    assert_eq!(computed["queues"][1]["os_priority"], 39);
    let text = server.good(&["list"]);
    let row = text.lines().find(|line| line.starts_with("nav::Display::show"));
    let row: Vec<&str> = row.expect("it is listed").split_whitespace().collect();
    assert_eq!(row[..4], ["nav::Display::show", "39", "1", "1"]);
    assert!(text.contains("\n  calls nav::Map::tile x3\n"), "{text}");
    // The verdicts equal those of an analysis of the file itself.
    let here = json(&["analyse", SET, "--format", "json"]);
    let there = server.json(&["analyse", "--strategy", "RMS"]);
    assert_eq!(here, there);
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&good(sched(args))).expect("one JSON document")
}

#[test]
fn annotations_of_idl_feed_a_service() {
    let server = Server::start(&["--strategy", "MUF"]);
    let loaded = server.json(&["load", IDL]);
    assert_eq!(loaded["created"], 2);
    // The rate of the filter is not declared, so the filter cannot be scheduled.
    let output = server.at(&["compute"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.starts_with("error: unresolved local dependencies: nav::Filter::update"),
        "{told}"
    );
}

#[test]
fn refusals_are_told_where_the_service_runs() {
    let mut server = Server::start(&[]);
    let folder = Folder::new("sched-service-refused");
    let file = folder.path("set.toml");
    let set =
        "[[operation]]\nname = \"a\"\nwcet = \"3 ms\"\nperiod = \"2 ms\"\ncriticality = \"HIGH\"\n";
    std::fs::write(&file, set).unwrap();
    server.good(&["load", &file]);
    let told = bad(server.at(&["compute"]));
    assert!(
        told.contains(
            "cannot compute with priorities from 1 to 99: RtecScheduler::UTILIZATION_BOUND_EXCEEDED"
        ),
        "{told}"
    );
    let line = server.process.wait_for_line("recompute_scheduling", START);
    let said: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(said["why"], "the critical operations alone need 150.00 % of the processor");
}

#[test]
fn files_are_served_as_either_face() {
    let server = Server::start(&[SET, "--run-time"]);
    assert_eq!(server.said["face"], "run time");
    assert_eq!(server.said["scheduled"], true);
    // Analysed operations may be declared again without effect; new ones are refused.
    let loaded = server.json(&["load", SET]);
    assert_eq!(loaded["created"], 4);
    assert_eq!(server.json(&["compute"])["good"], true);
    let folder = Folder::new("sched-service-run-time");
    let file = folder.path("set.toml");
    std::fs::write(&file, "[[operation]]\nname = \"new\"\nperiod = \"1 s\"\n").unwrap();
    let told = bad(server.at(&["load", &file]));
    assert!(told.contains("cannot create \"new\": RtecScheduler::INTERNAL"), "{told}");

    let server = Server::start(&[SET]);
    assert_eq!(server.said["face"], "configuration");
    assert_eq!(server.json(&["list"])["operations"][0]["os_priority"], 99);
    assert_eq!(server.json(&["load", &file])["created"], 1);
    assert_eq!(server.json(&["list"])["scheduled"], false);
}

#[test]
fn a_state_outlives_kill_and_files_win_over_it() {
    let folder = Folder::new("sched-service-state");
    let state = folder.path("schedule.redb");
    let mut server = Server::start(&["--state", &state, "--strategy", "RMS"]);
    server.good(&["load", SET]);
    server.good(&["compute", "--priorities", "3,30"]);
    let before = server.json(&["list"]);
    server.process.kill();
    let mut server = Server::start(&["--state", &state, "--strategy", "RMS"]);
    assert_eq!(server.json(&["list"]), before);
    server.process.kill();
    let file = folder.path("set.toml");
    let set =
        "[[operation]]\nname = \"nav::Sensor::sample\"\nwcet = \"1 ms\"\nperiod = \"20 Hz\"\n";
    std::fs::write(&file, set).unwrap();
    let server = Server::start(&[&file, "--state", &state]);
    let listed = server.json(&["list"]);
    assert_eq!(listed["operations"][0]["wcet_ns"], 1_000_000);
    assert_eq!(listed["operations"].as_array().unwrap().len(), 4);
    let told = bad(sched(&["serve", "--state", &state]));
    assert!(
        told.contains("another process, or this one, already stores schedules in it"),
        "{told}"
    );
}

#[test]
fn it_binds_itself_in_the_naming_service() {
    let names =
        Server::spawn(&["name", "serve", "--listen", "iiop://127.0.0.1:0", "--in-memory"], &[]);
    let init = format!("NameService={}", names.url());
    let mut server = Server::start(&["--bind", "-ORBInitRef", &init]);
    assert_eq!(server.said["bound"], "ScheduleService");
    server.good(&["load", SET]);
    // The service is found by a `corbaname:`, and by default in the Naming Service.
    let address = names.url().trim_start_matches("corbaloc::");
    let address = address.trim_end_matches("/NameService");
    let url = format!("corbaname::{address}#ScheduleService");
    let listed = json(&["list", "--ref", &url, "--format", "json"]);
    assert_eq!(listed["operations"].as_array().unwrap().len(), 4);
    let same = json(&["list", "--format", "json", "-ORBInitRef", &init]);
    assert_eq!(same, listed);
    let told = bad(sched(&["list", "--at", "corbaloc::127.0.0.1:1/ScheduleService"]));
    let advice =
        "`oxorb sched serve --port 4711` starts one at corbaloc::localhost:4711/ScheduleService";
    assert!(told.contains(advice), "{told}");
    // The server unbinds its name when it ends (N4).
    let pid = server.process.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(killed.expect("kill is there").success());
    server.process.wait_success(START);
    let left =
        oxorb().args(["name", "ls", "--at", names.url()]).output().expect("the command starts");
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}
