//! Running programs of `oxorb deploy static`: events arrive, attributes are set, and the programs end on request.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use avionics::avionics::DisplayRef;
use oxorb_testkit::process::Process;
use oxorb_testkit::realtime::require_realtime;
use rustix::process::{Pid, Signal, kill_process};

/// Time limit, long enough for any machine, and reached only after an error.
const LIMIT: Duration = Duration::from_secs(30);

fn start(program: &str) -> Process {
    start_in(Path::new("."), program)
}

fn start_in(folder: &Path, program: &str) -> Process {
    let mut command = Command::new(program);
    command.current_dir(folder);
    command.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    Process::spawn(command)
}

fn folder(test: &str) -> PathBuf {
    let name = format!("oxorb-runs-{test}-{}", oxorb_testkit::unique());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
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
fn events_pass_through_the_channel_of_the_process() {
    let mut display = start(env!("CARGO_BIN_EXE_channel"));
    display.wait_for_line("navigation: 48.5 11.25", LIMIT);
    // The channel has a thread for its only consumer.
    let threads = fs::read_dir(format!("/proc/{}/task", display.id())).unwrap();
    let names = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("comm")));
    let names: Vec<String> = names.map(Result::unwrap_or_default).collect();
    assert!(names.iter().any(|name| name.contains("pulse")), "{names:?}");
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
    // The program writes a reference to its working directory.
    let folder = folder("texts");
    let mut display = start_in(&folder, env!("CARGO_BIN_EXE_hostile"));
    let line = display.wait_for_line("48.5", LIMIT);
    let title = "\"); std::process::exit(9); // {0} \\ \u{202E} \t'";
    assert_eq!(line, format!("{title}: 48.5 11.25"));
    end(display);
    fs::remove_dir_all(folder).unwrap();
}

/// Threads started by executors inherit the priority; class and priority come from the real-time resources.
#[test]
fn each_instance_is_activated_at_the_priority_of_its_container() {
    if !require_realtime() {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_collision"));
    command.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    command.args(["-ORBSchedPolicy", "SCHED_FIFO", "-ORBPriorityMapping", "direct"]);
    let mut display = Process::spawn(command);
    display.wait_for_line("navigation", LIMIT);
    display.wait_for_line("warning", LIMIT);
    let threads = fs::read_dir(format!("/proc/{}/task", display.id())).unwrap();
    let mut found: Vec<(u32, u32)> = threads
        .flatten()
        .filter(|thread| {
            let name = fs::read_to_string(thread.path().join("comm"));
            name.is_ok_and(|name| name.trim() == "rate generator")
        })
        .map(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            // Fields 41 and 40 of proc_pid_stat(5); the first here is field 3.
            let field = |at: usize| fields.split(' ').nth(at - 3).unwrap().parse().unwrap();
            (field(41), field(40))
        })
        .collect();
    found.sort_unstable();
    // SCHED_FIFO, and the CORBA priorities themselves, by the direct mapping.
    assert_eq!(found, [(1, 10), (1, 20)]);
    end(display);
}

#[test]
fn a_program_ends_well_after_a_client_has_removed_an_instance() {
    let folder = folder("removed");
    let mut display = start_in(&folder, env!("CARGO_BIN_EXE_hostile"));
    display.wait_for_line("48.5", LIMIT);
    let orb = oxorb::Orb::builder().build().unwrap();
    let ior = fs::read_to_string(folder.join("\"); {0}.ior")).unwrap();
    let instance: DisplayRef = orb.resolve(&ior).unwrap();
    instance.remove().unwrap();
    assert!(instance.title().is_err(), "it is removed");
    end(display);
    fs::remove_dir_all(folder).unwrap();
}
