//! Plans that are launched and stopped normally.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use oxorb::deployment::idl::ox_deployment::ProcessState;
use oxorb::deployment::{ExecutionSettings, NodeEvent, NodeSettings};
use oxorb_testkit::watchdog;

use crate::managers::scene::*;

#[test]
fn a_plan_over_two_nodes_is_launched_connected_and_stopped() {
    let scene = Scene::new(&["north", "south"]);
    let plan = plan(
        "two nodes",
        &[counter("c", "north"), reader("near", "north"), reader("far", "south")],
        &[("near", "c"), ("far", "c")],
    );
    let launched = scene.plans.launch(&plan).unwrap();
    let status = launched.manager.status().unwrap();
    assert_eq!(status.len(), 3, "{status:#?}");
    assert!(all_run(&status), "{status:#?}");
    // Both readers read the same counter.
    assert_eq!(read_at(&status, "near").unwrap(), 1);
    assert_eq!(read_at(&status, "far").unwrap(), 2);
    assert_eq!(process(&status, "far").node, "south");
    let pids = pids(&status);
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|&pid| is_alive(pid)));
    assert_eq!(scene.plans.all().unwrap().len(), 1);

    scene.plans.stop(&launched).unwrap();
    wait_for_end(&pids);
    assert!(scene.plans.all().unwrap().is_empty());
    assert!(launched.manager.status().is_err(), "its object no longer exists");
    let stopped = NodeEvent::Stopped { plan: "two nodes".to_owned() };
    assert_eq!(*scene.events.lock().unwrap(), [stopped]);
    // The name can be used again.
    let again = scene.plans.launch(&plan).unwrap();
    assert!(all_run(&again.manager.status().unwrap()));
}

#[test]
fn a_connector_of_a_template_module_is_deployed_as_a_component_is() {
    let scene = Scene::new(&["north", "south"]);
    let mut plan = plan("relayed", &[counter("c", "north"), reader("r", "south")], &[("r", "c")]);
    let relay = read(
        "[[artifact]]\nname = \"station\"\nlocation = \"x\"\n\
         [[implementation]]\nname = \"Relay\"\nartifact = \"station\"\n\
         [implementation.execParameter]\n\"component factory\" = \"create_Counts_Relay_Impl\"\n\
         [[instance]]\nname = \"relay\"\nnode = \"south\"\nimplementation = \"Relay\"\n\
         [[instance]]\nname = \"r\"\nnode = \"south\"\nimplementation = \"Relay\"\n\
         [[instance]]\nname = \"c\"\nnode = \"north\"\nimplementation = \"Relay\"\n\
         [[connection]]\nname = \"r-relay\"\nSimplexReceptacle = \"r.source\"\nFacet = \"relay.entry\"\n\
         [[connection]]\nname = \"relay-c\"\nSimplexReceptacle = \"relay.outlet\"\nFacet = \"c.output\"\n",
    );
    plan.implementation.extend(relay.implementation);
    plan.instance.push(relay.instance[0].clone());
    plan.connection = relay.connection;
    let launched = scene.plans.launch(&plan).unwrap();
    let status = launched.manager.status().unwrap();
    assert!(all_run(&status), "{status:#?}");
    assert_eq!(read_at(&status, "r").unwrap(), 101);
    assert_eq!(read_at(&status, "r").unwrap(), 102);
}

#[test]
fn instances_without_constraints_share_a_process() {
    let scene = Scene::new(&["n"]);
    let mut plan = plan("together", &[counter("c", "n"), reader("r", "n")], &[("r", "c")]);
    plan.locality_constraint.clear();
    let launched = scene.plans.launch(&plan).unwrap();
    let status = launched.manager.status().unwrap();
    assert_eq!(status.len(), 1, "{status:#?}");
    assert_eq!(status[0].process, "main");
    assert_eq!(status[0].instances.len(), 2);
    assert!(all_run(&status), "{status:#?}");
}

#[test]
fn a_plan_is_there_once() {
    let scene = Scene::new(&["n"]);
    let plan = plan("once", &[counter("c", "n")], &[]);
    scene.plans.launch(&plan).unwrap();
    let error = scene.plans.launch(&plan).unwrap_err();
    assert_eq!(error.name, "once");
    assert!(error.reason.contains("redeploy it"), "{error}");
}

#[test]
fn what_is_beyond_a_limit_names_its_setting() {
    let execution = ExecutionSettings { max_plans: 1, max_instances: 2, ..execution_settings() };
    let node = NodeSettings { max_processes: 1, ..node_settings() };
    let scene = Scene::with(&["n"], &node, execution);
    let refused = |instances: &[Instance], label: &str, setting: &str| {
        let plan = plan(label, instances, &[]);
        let error = scene.plans.launch(&plan).unwrap_err().to_string();
        assert!(error.contains(setting), "{error}");
    };
    let three = [counter("a", "n"), counter("b", "n"), counter("c", "n")];
    refused(&three, "large", "max_instances");
    refused(
        &three[..2],
        "processes",
        "2 processes here, but the limit is 1 (NodeSettings::max_processes",
    );
    let one = plan("one", &three[..1], &[]);
    let launched = scene.plans.launch(&one).unwrap();
    refused(&three[..1], "second", "max_plans");
    // Together they have more processes than the node permits.
    let larger = plan("one", &three[..2], &[]);
    let error = scene.plans.redeploy(&larger).unwrap_err().to_string();
    assert!(error.contains("max_processes"), "{error}");
    // The rejected plan left no processes behind.
    let status = launched.manager.status().unwrap();
    assert_eq!(process(&status, "a").state, ProcessState::Running);
    assert_eq!(scene.plans.all().unwrap().len(), 1);
}

#[test]
fn a_manager_closes_after_its_last_plan() {
    // If a call in the scope fails, the other thread waits endlessly.
    let _guard = watchdog(LONG * 4);
    let scene = Scene::new(&["n"]);
    let execution = scene.execution.as_ref().unwrap();
    let [first, second] = ["first", "second"].map(|label| {
        let plan = plan(label, &[counter("c", "n")], &[]);
        scene.plans.launch(&plan).unwrap()
    });
    let (waited, waits) = channel();
    let early = thread::scope(|scope| {
        scope.spawn(move || {
            execution.close_after_last_plan();
            waited.send(()).unwrap();
        });
        scene.plans.stop(&first).unwrap();
        let early = waits.recv_timeout(Duration::from_millis(200)).is_ok();
        scene.plans.stop(&second).unwrap();
        early
    });
    assert!(!early, "one plan was still running");
    waits.recv_timeout(LONG).unwrap();
    // The process would stop a further plan at once, so the manager refuses it.
    let error = scene.plans.launch(&plan("third", &[counter("c", "n")], &[])).unwrap_err();
    assert!(error.reason.contains("the execution manager is shutting down"), "{error}");
    // Without plans, the call returns at once.
    execution.close_after_last_plan();
}

#[test]
fn managers_that_are_dropped_end_their_processes() {
    let scene = Scene::new(&["n"]);
    let plan = plan("dropped", &[counter("c", "n")], &[]);
    let launched = scene.plans.launch(&plan).unwrap();
    let pids = pids(&launched.manager.status().unwrap());
    drop(scene);
    wait_for_end(&pids);
}
