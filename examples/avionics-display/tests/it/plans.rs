//! The executable under each plan, as a user would run it.

#[cfg(feature = "collision")]
use std::fs;
use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;
#[cfg(feature = "collision")]
use oxorb_testkit::realtime::require_realtime;

const LIMIT: Duration = Duration::from_secs(30);

const NAVIGATION: &str = "navigation: tick=";
#[cfg(feature = "collision")]
const WARNING: &str = "warning: tick=";

fn run(plan: &str, resources: Option<&str>) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_avionics-display"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/plans")).args([
        "--plan",
        plan,
        "--node",
        "cockpit",
        "--process",
        "main",
    ]);
    if let Some(resources) = resources {
        command.args(["--rt", resources]);
    }
    Process::spawn(command)
}

/// Waits until a display has drawn three pictures, and checks that each is of a different tick and of a position that
/// its sensor has read.
fn is_updated(server: &mut Process, display: &str) {
    let mut ticks = Vec::new();
    while ticks.len() < 3 {
        let line = server.wait_for_line(display, LIMIT);
        let value = |key: &str| -> String {
            let value = line.split(' ').find_map(|pair| pair.strip_prefix(key));
            value.unwrap_or_else(|| panic!("no {key} in {line}")).to_owned()
        };
        let latitude: f64 = value("latitude=").parse().unwrap();
        assert!((48.0..48.3).contains(&latitude), "{line}");
        ticks.push(value("tick=").parse::<u64>().unwrap());
    }
    assert!(ticks.is_sorted_by(|one, next| one < next), "{ticks:?}");
}

#[test]
fn the_navigation_display_is_updated_in_an_ordinary_and_in_a_real_time_server() {
    is_updated(&mut run("navigation.toml", None), NAVIGATION);
    is_updated(&mut run("navigation.toml", Some("navigation.rt.toml")), NAVIGATION);
}

#[cfg(feature = "collision")]
#[test]
fn the_warning_display_is_updated_beside_it_in_both() {
    for resources in [None, Some("with-warning.rt.toml")] {
        let mut server = run("with-warning.toml", resources);
        is_updated(&mut server, WARNING);
        is_updated(&mut server, NAVIGATION);
    }
}

#[cfg(feature = "collision")]
#[test]
fn the_xml_forms_of_the_plans_run_as_well() {
    let mut server = run("with-warning.cdp", Some("with-warning.rt.csr"));
    is_updated(&mut server, WARNING);
}

/// The executor starts its thread like any other thread; class and priority come from the real-time resources.
#[cfg(feature = "collision")]
#[test]
fn each_rate_generator_has_the_priority_of_its_container() {
    if !require_realtime() {
        return;
    }
    let mut server = run("with-warning.toml", Some("with-warning.rt.toml"));
    is_updated(&mut server, WARNING);
    let threads = fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
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
    // SCHED_FIFO, and the native priorities of CORBA priorities 10000 and 20000 by the linear mapping.
    assert_eq!(found, [(1, 30), (1, 60)]);
}
