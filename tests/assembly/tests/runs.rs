//! Programs of `oxorb deploy static` run: events arrive, attributes are set, and they end when told.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;
use rustix::process::{Pid, Signal, kill_process};

/// Long enough for any machine; nothing waits for it unless something is wrong.
const LIMIT: Duration = Duration::from_secs(30);

fn start(program: &str) -> Process {
    let mut command = Command::new(program);
    command.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    Process::spawn(command)
}

fn end(mut process: Process) {
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    kill_process(id.expect("a process has an id"), Signal::TERM).expect("it runs");
    process.wait_success(LIMIT);
}

#[test]
fn an_event_passes_the_avionics_display() {
    let mut display = start(env!("CARGO_BIN_EXE_avionics"));
    let line = display.wait_for_line("navigation", LIMIT);
    assert_eq!(line, "navigation: 48.5 11.25");
    end(display);
}

#[test]
fn both_subsystems_run_under_their_policies() {
    let mut display = start(env!("CARGO_BIN_EXE_collision"));
    let navigation = display.wait_for_line("navigation: 48.5 11.25", LIMIT);
    assert_eq!(navigation, "navigation: 48.5 11.25");
    let warning = display.wait_for_line("warning", LIMIT);
    assert_eq!(warning, "warning: 48.75 11.5");
    end(display);
}

#[test]
fn texts_of_a_plan_stay_texts() {
    let mut display = start(env!("CARGO_BIN_EXE_hostile"));
    let line = display.wait_for_line("48.5", LIMIT);
    let title = "\"); std::process::exit(9); // {0} \\ \u{202E} \t'";
    assert_eq!(line, format!("{title}: 48.5 11.25"));
    end(display);
}
