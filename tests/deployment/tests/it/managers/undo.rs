//! Failed launches leave nothing behind, and report what failed where.

use std::time::{Duration, Instant};

use oxorb::deployment::wire::to_wire;
use oxorb::deployment::{ExecutionSettings, NodeSettings};
use oxorb_deploy::plan::Plan;
use oxorb_testkit::process::alone;
use oxorb_testkit::{side_by_side, watchdog};

use crate::managers::scene::*;

/// Returns the artifact's processes started by this process.
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

/// Launches a plan that fails, and checks that nothing is left of it.
#[track_caller]
fn fails(scene: &Scene, plan: &Plan, name: &str, reasons: &[&str]) {
    fails_beside_others(scene, plan, name, reasons);
    assert!(scene.plans.all().unwrap().is_empty(), "nothing is left");
}

#[track_caller]
fn fails_beside_others(scene: &Scene, plan: &Plan, name: &str, reasons: &[&str]) {
    let error = scene.plans.launch(plan).unwrap_err();
    assert_eq!(error.name, name, "{error}");
    for reason in reasons {
        assert!(error.reason.contains(reason), "{error}");
    }
}

fn quick() -> NodeSettings {
    NodeSettings {
        call_timeout: Duration::from_secs(10),
        stop_timeout: Duration::from_secs(2),
        ..node_settings()
    }
}

/// Returns a plan whose counter on the second node has a trap.
fn trapped(label: &str, trap: &'static str) -> Plan {
    plan(label, &[reader("r", "north"), counter("c", "south").trapped(trap)], &[("r", "c")])
}

#[test]
fn a_launch_that_fails_anywhere_is_undone_everywhere() {
    // The test checks all children of the process.
    if !alone(a_launch_that_fails_anywhere_is_undone_everywhere) {
        return;
    }
    let _guard = watchdog(LONG * 4);
    let scene = Scene::with(&["north", "south"], &quick(), execution_settings());
    let place = ["node south", "process c"];
    for action in ["refuse", "die", "hang"] {
        side_by_side(3, ["attribute", "configure", "activate"], |step| {
            let trap: &'static str = format!("{step}:{action}").leak();
            fails_beside_others(&scene, &trapped(step, trap), "c", &place);
        });
        assert!(scene.plans.all().unwrap().is_empty(), "nothing is left");
        wait_for_end(&children());
    }
    // The names can be used again, and the nodes still work.
    let good = scene.plans.launch(&trapped("attribute", "")).unwrap();
    assert!(all_run(&good.manager.status().unwrap()));
    scene.plans.stop(&good).unwrap();
    wait_for_end(&children());
}

#[test]
fn a_stop_that_hangs_or_dies_ends_all_the_same() {
    let scene = Scene::with(&["n"], &quick(), execution_settings());
    let steps = ["passivate", "remove"];
    let traps =
        ["refuse", "die", "hang"].map(|action| steps.map(|step| format!("{step}:{action}")));
    side_by_side(2, traps.into_iter().flatten(), |trap| {
        let plan = plan(&trap.clone(), &[counter("c", "n").trapped(trap.leak())], &[]);
        let launched = scene.plans.launch(&plan).unwrap();
        let pids = pids(&launched.manager.status().unwrap());
        scene.plans.stop(&launched).unwrap();
        wait_for_end(&pids);
    });
    assert!(scene.plans.all().unwrap().is_empty());
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
    // A program that ends at once, and does not act as a locality.
    fails(&scene, &with("/bin/false"), "c", &["before it called back"]);
    // A program that does not end.
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
    fails(&scene, &two, "two", &["accepts one connection"]);
}

#[test]
fn a_launch_that_its_client_leaves_is_undone() {
    let execution =
        ExecutionSettings { client_timeout: Duration::from_secs(5), ..execution_settings() };
    let scene = Scene::with(&["n"], &node_settings(), execution);
    let manager = scene.execution.as_ref().unwrap().reference().clone();
    // One plan fails after its first step, one after its second.
    let plans = ["first", "second"].map(|label| plan(label, &[counter("c", "n")], &[]));
    for (step, plan) in plans.iter().enumerate() {
        let prepared = manager.prepare_plan(&to_wire(plan).unwrap(), None).unwrap().unwrap();
        if step > 0 {
            prepared.start_launch(&[]).unwrap();
        }
    }
    let end = Instant::now() + LONG;
    while !scene.plans.all().unwrap().is_empty() {
        assert!(Instant::now() < end, "{:?}", scene.events.lock().unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
    // The names can be used again, and the running plans are not affected.
    for plan in &plans {
        let launched = scene.plans.launch(plan).unwrap();
        assert!(all_run(&launched.manager.status().unwrap()));
    }
}
