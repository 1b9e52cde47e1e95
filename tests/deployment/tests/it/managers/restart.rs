//! Processes that end while their plan runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use oxorb::Interface as _;
use oxorb::deployment::idl::deployment::Connection;
use oxorb::deployment::idl::ox_deployment::ProcessState;
use oxorb::deployment::wire::to_wire;
use oxorb::deployment::{ExecutionSettings, Launched, NodeEvent, RestartPolicy};
use oxorb_deploy::plan::ExternalEndpoint;
use oxorb_deployment_tests::CounterRef;

use crate::managers::scene::*;

fn policy(limit: u32) -> ExecutionSettings {
    ExecutionSettings {
        restart: RestartPolicy::OnFailure { limit, delay: Duration::from_millis(20) },
        ..execution_settings()
    }
}

fn chain(label: &str) -> oxorb_deploy::plan::Plan {
    plan(
        label,
        &[counter("c", "north"), reader("near", "north"), reader("far", "south")],
        &[("near", "c"), ("far", "c")],
    )
}

#[test]
fn a_process_that_was_killed_runs_again_and_is_connected() {
    let scene = Scene::with(&["north", "south"], &node_settings(), policy(3));
    let launched = scene.plans.launch(&chain("restart")).unwrap();
    let before = launched.manager.status().unwrap();
    assert_eq!(read_at(&before, "far").unwrap(), 1);
    kill(process(&before, "c").pid);
    let after =
        scene.wait(&launched, |status| all_run(status) && process(status, "c").restarts == 1);
    assert_ne!(process(&after, "c").pid, process(&before, "c").pid);
    assert_eq!(process(&after, "far").pid, process(&before, "far").pid);
    assert_eq!(process(&after, "near").pid, process(&before, "near").pid);
    // The restarted counter begins at the start again, for both readers.
    assert_eq!(read_at(&after, "near").unwrap(), 1);
    assert_eq!(read_at(&after, "far").unwrap(), 2);
    // The restart is reported once these connections are made.
    scene.wait(&launched, |_| scene.events.lock().unwrap().len() >= 2);
    let events = scene.events.lock().unwrap().clone();
    assert!(
        matches!(&events[0], NodeEvent::ProcessLost { node, process, instances, .. }
            if node == "north" && process == "c" && instances == &["c"]),
        "{events:?}"
    );
    assert!(matches!(&events[1], NodeEvent::ProcessRestarted { .. }), "{events:?}");
}

#[test]
fn a_user_that_was_killed_is_connected_again() {
    let scene = Scene::with(&["north", "south"], &node_settings(), policy(3));
    let launched = scene.plans.launch(&chain("user")).unwrap();
    let before = launched.manager.status().unwrap();
    assert_eq!(read_at(&before, "far").unwrap(), 1);
    kill(process(&before, "far").pid);
    let after =
        scene.wait(&launched, |status| all_run(status) && process(status, "far").restarts == 1);
    assert_eq!(read_at(&after, "far").unwrap(), 2, "the counter went on");
}

#[test]
fn an_object_outside_the_plan_is_connected_again() {
    let scene = Scene::with(&["n"], &node_settings(), policy(3));
    let counts = scene.plans.launch(&plan("counts", &[counter("c", "n")], &[])).unwrap();
    let status = counts.manager.status().unwrap();
    let component: CounterRef = instance(&status, "c").unchecked_narrow();
    let output = component.provide_output().unwrap().unwrap();
    // A plan whose receptacle is a port of the whole plan, to which the client of the launch gives the reference.
    let mut user = plan("user", &[reader("r", "n"), counter("beside", "n")], &[("r", "beside")]);
    let connection = &mut user.connection[0];
    connection.internal_endpoint.retain(|end| !end.provides());
    connection.external_endpoint =
        vec![ExternalEndpoint { port_name: "source".to_owned(), ..ExternalEndpoint::default() }];
    let execution = scene.execution.as_ref().unwrap().reference();
    let manager = execution.prepare_plan(&to_wire(&user).unwrap(), None).unwrap().unwrap();
    let (application, mut connections) = manager.start_launch(&[]).unwrap();
    let name = user.connection[0].name.clone();
    connections.push(Connection { name, endpoint: vec![Some(output.unchecked_narrow())] });
    application.unwrap().finish_launch(&connections, true).unwrap();
    let launched = Launched { name: "user".to_owned(), manager: manager.unchecked_narrow() };
    let before = launched.manager.status().unwrap();
    assert_eq!(read_at(&before, "r").unwrap(), 1);
    kill(process(&before, "r").pid);
    let after = scene
        .wait(&launched, |status| process(status, "r").restarts == 1 && runs(process(status, "r")));
    assert_eq!(read_at(&after, "r").unwrap(), 2);
    // A redeployment does not end the connection.
    user.instance.retain(|one| one.name != "beside");
    for constraint in &mut user.locality_constraint {
        constraint.constrained_instance.truncate(1);
    }
    scene.plans.redeploy(&user).unwrap();
    let after = launched.manager.status().unwrap();
    assert_eq!(read_at(&after, "r").unwrap(), 3);
}

#[test]
fn without_a_policy_a_lost_process_stays_lost_and_is_not_connected() {
    let scene = Scene::new(&["north", "south"]);
    let launched = scene.plans.launch(&chain("never")).unwrap();
    let before = launched.manager.status().unwrap();
    kill(process(&before, "c").pid);
    let after = scene.wait(&launched, |status| {
        let far = process(status, "far");
        process(status, "c").state == ProcessState::Lost
            && far.connections.iter().all(|one| !one.connected)
    });
    let lost = process(&after, "c");
    assert_eq!(lost.pid, 0);
    assert!(lost.detail.contains("signal: 9"), "{lost:?}");
    assert!(process(&after, "far").connections.len() == 1);
    // The user of the lost process reports that its receptacle is not connected, and does not call a dead object.
    let error = read_at(&after, "far").unwrap_err();
    assert_eq!(error.minor, oxorb::minor::bad_inv_order::RECEPTACLE_EMPTY);
    // Redeployment starts the lost process again, and connects its user.
    scene.plans.redeploy(&chain("never")).unwrap();
    let again = launched.manager.status().unwrap();
    assert!(all_run(&again), "{again:#?}");
    assert_eq!(read_at(&again, "far").unwrap(), 1);
    assert_eq!(process(&again, "far").pid, process(&before, "far").pid);
}

#[test]
fn restarts_have_a_limit() {
    let scene = Scene::with(&["n"], &node_settings(), policy(2));
    let plan = plan("limit", &[counter("c", "n")], &[]);
    let launched = scene.plans.launch(&plan).unwrap();
    for restarts in 0..=2 {
        let status = scene
            .wait(&launched, |status| all_run(status) && process(status, "c").restarts == restarts);
        kill(process(&status, "c").pid);
    }
    let given_up = |event: &NodeEvent| matches!(event, NodeEvent::ProcessLost { reason, .. } if reason.contains("2 times, the limit"));
    scene.wait(&launched, |status| {
        process(status, "c").state == ProcessState::Lost
            && scene.events.lock().unwrap().iter().any(given_up)
    });
}

#[test]
fn a_process_that_is_done_is_not_started_again() {
    let scene = Scene::with(&["n"], &node_settings(), policy(3));
    let plan =
        plan("done", &[counter("c", "n").trapped("call:leave"), reader("r", "n")], &[("r", "c")]);
    let launched = scene.plans.launch(&plan).unwrap();
    let status = launched.manager.status().unwrap();
    read_at(&status, "r").unwrap_err();
    let status =
        scene.wait(&launched, |status| process(status, "c").state == ProcessState::Stopped);
    assert!(process(&status, "c").detail.contains("exit status: 0"), "{status:#?}");
    let told = |event: &NodeEvent| matches!(event, NodeEvent::ProcessLost { reason, .. } if reason.contains("after status 0"));
    scene.wait(&launched, |_| scene.events.lock().unwrap().iter().any(told));
}

/// Script that runs the artifact, and may do something else when a process is restarted.
struct Script(PathBuf);

impl Script {
    /// Creates a script; `again` runs when process `process` is started for the second time and later.
    fn new(name: &str, process: &str, again: &str) -> Script {
        let name = format!("oxorb-restart-{name}-{}", oxorb_testkit::unique());
        let script = Script(std::env::temp_dir().join(name));
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *\"--process {process}\"*)\n\
             if [ -e \"$0.seen\" ]; then {again}; fi; : > \"$0.seen\";; esac\n\
             exec '{}' \"$@\"\n",
            env!("CARGO_BIN_EXE_station")
        );
        std::fs::write(&script.0, text).unwrap();
        std::fs::set_permissions(&script.0, std::fs::Permissions::from_mode(0o755)).unwrap();
        script
    }

    fn plan(&self, mut plan: oxorb_deploy::plan::Plan) -> oxorb_deploy::plan::Plan {
        plan.artifact[0].location = vec![self.0.display().to_string()];
        plan
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0.with_extension("seen"));
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_restart_that_takes_longer_than_the_lease_keeps_the_plan() {
    let settings = ExecutionSettings { lease: Duration::from_secs(3), ..policy(1) };
    let scene = Scene::with(&["north", "south"], &node_settings(), settings);
    let script = Script::new("slow", "c", "sleep 5");
    let launched = scene.plans.launch(&script.plan(chain("slow"))).unwrap();
    let before = launched.manager.status().unwrap();
    kill(process(&before, "c").pid);
    let after =
        scene.wait(&launched, |status| all_run(status) && process(status, "c").restarts == 1);
    for user in ["near", "far"] {
        assert_eq!(process(&after, user).pid, process(&before, user).pid);
        assert!(read_at(&after, user).is_ok());
    }
    let events = scene.events.lock().unwrap().clone();
    let lost = |event: &NodeEvent| matches!(event, NodeEvent::NodeLost { .. });
    assert!(!events.iter().any(lost), "{events:?}");
}

/// Two counters, each on a separate node, and a process that uses both.
fn pair(label: &str, nodes: [&'static str; 2]) -> oxorb_deploy::plan::Plan {
    let mut plan = plan(
        label,
        &[
            counter("c1", nodes[0]),
            counter("c2", nodes[1]),
            reader("r1", "south"),
            reader("r2", "south"),
        ],
        &[("r1", "c1"), ("r2", "c2")],
    );
    let apart = &mut plan.locality_constraint[0].constrained_instance;
    apart.truncate(2);
    plan
}

#[test]
fn a_user_of_two_processes_that_were_killed_is_connected_to_both_again() {
    let settings = ExecutionSettings {
        restart: RestartPolicy::OnFailure { limit: 1, delay: Duration::from_secs(1) },
        ..execution_settings()
    };
    let scene = Scene::with(&["north", "east", "south"], &node_settings(), settings);
    let plan = pair("both", ["north", "east"]);
    let launched = scene.plans.launch(&plan).unwrap();
    let before = launched.manager.status().unwrap();
    for counter in ["c1", "c2"] {
        kill(process(&before, counter).pid);
    }
    let after = scene.wait(&launched, |status| {
        let again = |name| process(status, name).restarts == 1;
        all_run(status) && again("c1") && again("c2")
    });
    for user in ["r1", "r2"] {
        assert_eq!(read_at(&after, user).unwrap(), 1, "{after:#?}");
    }
}

#[test]
fn a_process_runs_again_though_another_does_not() {
    let settings = ExecutionSettings {
        restart: RestartPolicy::OnFailure { limit: 1, delay: Duration::from_secs(1) },
        ..execution_settings()
    };
    let scene = Scene::with(&["north", "south"], &node_settings(), settings);
    let script = Script::new("partly", "c2", "exit 1");
    let plan = plan(
        "partly",
        &[counter("c1", "north"), counter("c2", "north"), reader("r1", "south")],
        &[("r1", "c1")],
    );
    let launched = scene.plans.launch(&script.plan(plan)).unwrap();
    let before = launched.manager.status().unwrap();
    for counter in ["c1", "c2"] {
        kill(process(&before, counter).pid);
    }
    let after = scene.wait(&launched, |status| {
        let c1 = process(status, "c1");
        let given_up = process(status, "c2").state == ProcessState::Lost;
        c1.restarts == 1 && runs(c1) && runs(process(status, "r1")) && given_up
    });
    assert_eq!(read_at(&after, "r1").unwrap(), 1);
    let told = |event: &NodeEvent| matches!(event, NodeEvent::ProcessRestarted { process, .. } if process == "c1");
    scene.wait(&launched, |_| scene.events.lock().unwrap().iter().any(told));
}
