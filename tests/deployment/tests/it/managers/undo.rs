//! Launches that fail leave nothing behind, and say what failed where.

use std::time::{Duration, Instant};

use oxorb::deployment::wire::to_wire;
use oxorb::deployment::{ExecutionSettings, NodeSettings};
use oxorb_deploy::plan::Plan;
use oxorb_testkit::process::alone;
use oxorb_testkit::watchdog;

use crate::managers::scene::*;

/// Processes of the artifact that were started by this process.
fn children() -> Vec<u32> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.nth(1) == Some(&own.to_string()) && is_alive(pid)
    })
    .collect()
}

/// Launches a plan that fails in a process of its own, so that no other test has processes there.
#[track_caller]
fn fails(scene: &Scene, plan: &Plan, name: &str, reasons: &[&str]) {
    let error = scene.plans.launch(plan).unwrap_err();
    assert_eq!(error.name, name, "{error}");
    for reason in reasons {
        assert!(error.reason.contains(reason), "{error}");
    }
    assert!(scene.plans.all().unwrap().is_empty(), "nothing is left");
}

fn quick() -> NodeSettings {
    NodeSettings {
        call_timeout: Duration::from_secs(3),
        stop_timeout: Duration::from_secs(2),
        ..node_settings()
    }
}

/// A plan whose counter on the second node is trapped.
fn trapped(trap: &'static str) -> Plan {
    plan("trapped", &[reader("r", "north"), counter("c", "south").trapped(trap)], &[("r", "c")])
}

#[test]
fn a_launch_that_fails_anywhere_is_undone_everywhere() {
    // It looks at all children of the process.
    if !alone(a_launch_that_fails_anywhere_is_undone_everywhere) {
        return;
    }
    let _guard = watchdog(LONG * 4);
    let scene = Scene::with(&["north", "south"], &quick(), execution_settings());
    let place = ["node south", "process c"];
    for step in ["attribute", "configure", "activate"] {
        for action in ["refuse", "die", "hang"] {
            let trap: &'static str = format!("{step}:{action}").leak();
            fails(&scene, &trapped(trap), "c", &place);
            wait_for_end(&children());
        }
    }
    // The name is free, and the nodes work.
    let good = scene.plans.launch(&trapped("")).unwrap();
    assert!(all_run(&good.manager.status().unwrap()));
    scene.plans.stop(&good).unwrap();
    wait_for_end(&children());
}

#[test]
fn a_stop_that_hangs_or_dies_ends_all_the_same() {
    let scene = Scene::with(&["n"], &quick(), execution_settings());
    for step in ["passivate", "remove"] {
        for action in ["refuse", "die", "hang"] {
            let trap: &'static str = format!("{step}:{action}").leak();
            let plan = plan("stubborn", &[counter("c", "n").trapped(trap)], &[]);
            let launched = scene.plans.launch(&plan).unwrap();
            let pids = pids(&launched.manager.status().unwrap());
            scene.plans.stop(&launched).unwrap();
            wait_for_end(&pids);
            assert!(scene.plans.all().unwrap().is_empty());
        }
    }
}

#[test]
fn artifacts_that_do_not_run_are_named() {
    let scene = Scene::with(
        &["n"],
        &NodeSettings { start_timeout: Duration::from_secs(2), ..quick() },
        execution_settings(),
    );
    let with = |location: &str| {
        let mut plan = plan("artifact", &[counter("c", "n")], &[]);
        plan.artifact[0].location = vec![location.to_owned()];
        plan
    };
    fails(&scene, &with("/nonexistent/station"), "c", &["/nonexistent/station", "No such file"]);
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    fails(&scene, &with(text), "c", &["Cargo.toml cannot be started"]);
    // A program that knows nothing of localities, and ends.
    fails(&scene, &with("/bin/false"), "c", &["before it called back"]);
    // One that stays.
    let script =
        std::env::temp_dir().join(format!("oxorb-script-that-stays-{}", std::process::id()));
    std::fs::write(&script, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    fails(
        &scene,
        &with(&script.display().to_string()),
        "c",
        &["did not call back within 2s", "start_timeout"],
    );
    std::fs::remove_file(script).unwrap();
}

#[test]
fn plans_that_cannot_be_right_start_nothing() {
    let scene = Scene::new(&["n"]);
    let unknown = plan("unknown", &[counter("c", "moon")], &[]);
    fails(&scene, &unknown, "unknown", &["node moon", "no manager of node moon"]);
    let mut nameless = plan("", &[counter("c", "n")], &[]);
    nameless.label = None;
    fails(&scene, &nameless, "", &["give it a label"]);
    let two = plan(
        "two",
        &[counter("a", "n"), counter("b", "n"), reader("r", "n")],
        &[("r", "a"), ("r", "b")],
    );
    fails(&scene, &two, "two", &["takes one connection"]);
}

#[test]
fn a_launch_that_its_client_leaves_is_undone() {
    let execution =
        ExecutionSettings { client_timeout: Duration::from_secs(2), ..execution_settings() };
    let scene = Scene::with(&["n"], &node_settings(), execution);
    let manager = scene.execution.as_ref().unwrap().reference().clone();
    let plan = plan("left", &[counter("c", "n")], &[]);
    let wire = to_wire(&plan).unwrap();
    for steps in 1..=2 {
        let prepared = manager.prepare_plan(&wire, None).unwrap().unwrap();
        if steps > 1 {
            prepared.start_launch(&[]).unwrap();
        }
        let end = Instant::now() + LONG;
        while !scene.plans.all().unwrap().is_empty() {
            assert!(Instant::now() < end, "{:?}", scene.events.lock().unwrap());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    // The name is free, and a plan that runs stays.
    let launched = scene.plans.launch(&plan).unwrap();
    assert!(all_run(&launched.manager.status().unwrap()));
}
