//! Plans that are changed while they run.

use oxorb_deploy::plan::Plan;

use crate::managers::scene::*;

fn first() -> Plan {
    plan(
        "changing",
        &[counter("a", "north"), counter("b", "south"), reader("r", "north"), reader("s", "south")],
        &[("r", "a"), ("s", "b")],
    )
}

#[test]
fn another_instance_leaves_the_others_alone() {
    let scene = Scene::new(&["north", "south"]);
    let launched = scene.plans.launch(&first()).unwrap();
    let before = launched.manager.status().unwrap();
    assert_eq!(read_at(&before, "r").unwrap(), 1);
    assert_eq!(read_at(&before, "s").unwrap(), 1);
    // `s` is removed, `t` is added and reads at another node; `r` reads the counter that `s` has read.
    let second = plan(
        "changing",
        &[counter("a", "north"), counter("b", "south"), reader("r", "north"), reader("t", "south")],
        &[("r", "b"), ("t", "a")],
    );
    // A comparison reports the changes without making them.
    let (_, changes) = scene.plans.compare(&second).unwrap();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    assert_eq!((changes.added, changes.removed), (names(&["t"]), names(&["s"])));
    assert_eq!(changes.connected, names(&["r-b", "t-a"]));
    assert_eq!(changes.disconnected, names(&["r-a", "s-b"]));
    assert!(changes.restarted.is_empty() && changes.properties.is_empty());
    assert_eq!(pids(&launched.manager.status().unwrap()), pids(&before));
    scene.plans.redeploy(&second).unwrap();
    assert!(scene.plans.compare(&second).unwrap().1.is_empty());
    let after = launched.manager.status().unwrap();
    assert_eq!(after.len(), 4, "{after:#?}");
    assert!(all_run(&after), "{after:#?}");
    for stays in ["a", "b", "r"] {
        assert_eq!(process(&after, stays).pid, process(&before, stays).pid);
    }
    // Counters have kept their state.
    assert_eq!(read_at(&after, "r").unwrap(), 2);
    assert_eq!(read_at(&after, "t").unwrap(), 2);
    wait_for_end(&[process(&before, "s").pid]);
    assert_eq!(*scene.events.lock().unwrap(), []);
}

#[test]
fn an_instance_with_other_values_is_replaced_and_connected_again() {
    let scene = Scene::new(&["north", "south"]);
    let launched = scene.plans.launch(&first()).unwrap();
    let before = launched.manager.status().unwrap();
    assert_eq!(read_at(&before, "r").unwrap(), 1);
    assert_eq!(read_at(&before, "s").unwrap(), 1);
    let mut second = first();
    let changed = second.instance.iter_mut().find(|one| one.name == "a").unwrap();
    changed.config_property[0].value = oxorb_deploy::value::Any::string("never:springs");
    let (_, changes) = scene.plans.compare(&second).unwrap();
    assert_eq!(changes.restarted.keys().collect::<Vec<_>>(), ["a"]);
    let [property] = changes.properties.as_slice() else { panic!("{changes:?}") };
    assert_eq!((&*property.instance, &*property.property), ("a", "trap"));
    assert_eq!(property.after.as_deref(), Some("\"never:springs\""));
    scene.plans.redeploy(&second).unwrap();
    let after = launched.manager.status().unwrap();
    assert!(all_run(&after), "{after:#?}");
    assert_eq!(process(&after, "r").pid, process(&before, "r").pid);
    assert_eq!(read_at(&after, "r").unwrap(), 1, "another counter");
    assert_eq!(read_at(&after, "s").unwrap(), 2, "the counter as it was");
}

#[test]
fn a_plan_may_take_a_node_and_leave_one() {
    let scene = Scene::new(&["north", "south"]);
    let alone = plan("moving", &[counter("c", "north")], &[]);
    let launched = scene.plans.launch(&alone).unwrap();
    let both = plan("moving", &[counter("c", "north"), reader("r", "south")], &[("r", "c")]);
    scene.plans.redeploy(&both).unwrap();
    let status = launched.manager.status().unwrap();
    assert!(all_run(&status), "{status:#?}");
    assert_eq!(read_at(&status, "r").unwrap(), 1);
    let left = process(&status, "r").pid;
    scene.plans.redeploy(&alone).unwrap();
    assert_eq!(launched.manager.status().unwrap().len(), 1);
    wait_for_end(&[left]);
}

#[test]
fn a_change_that_fails_puts_the_plan_back() {
    let scene = Scene::new(&["north", "south"]);
    let launched = scene.plans.launch(&first()).unwrap();
    let before = launched.manager.status().unwrap();
    assert_eq!(read_at(&before, "r").unwrap(), 1);
    let wrong = plan(
        "changing",
        &[
            counter("a", "north"),
            counter("b", "south"),
            reader("r", "north"),
            reader("t", "south").trapped("activate:refuse"),
        ],
        &[("r", "b"), ("t", "a")],
    );
    let error = scene.plans.redeploy(&wrong).unwrap_err();
    assert!(error.reason.contains("node south"), "{error}");
    assert!(error.reason.contains("the previous plan continues to run"), "{error}");
    let after = launched.manager.status().unwrap();
    assert!(all_run(&after), "{after:#?}");
    assert_eq!(after.len(), 4);
    for stays in ["a", "b", "r"] {
        assert_eq!(process(&after, stays).pid, process(&before, stays).pid);
    }
    assert_eq!(read_at(&after, "r").unwrap(), 2, "connected to the same counter again");
}

/// Changes the first plan to a failing one, and checks that all of the first runs again.
#[track_caller]
fn fails_and_is_put_back(change: impl Fn(&mut Plan)) {
    let scene = Scene::new(&["north", "south"]);
    let launched = scene.plans.launch(&first()).unwrap();
    let mut wrong = first();
    change(&mut wrong);
    // The second attempt fails in the same way: the change is not recorded as done.
    for _ in 0..2 {
        let error = scene.plans.redeploy(&wrong).unwrap_err();
        assert!(error.reason.contains("the previous plan continues to run"), "{error}");
        let after = launched.manager.status().unwrap();
        assert_eq!(after.len(), 4, "{after:#?}");
        assert!(all_run(&after), "{after:#?}");
        assert!(read_at(&after, "r").is_ok());
        assert!(read_at(&after, "s").is_ok());
    }
}

#[test]
fn an_instance_that_was_removed_for_one_that_fails_is_installed_again() {
    fails_and_is_put_back(|plan| {
        let mut all = plan.instance.iter_mut();
        let changed = all.find(|one| one.name == "a").unwrap();
        changed.config_property[0].value = oxorb_deploy::value::Any::string("attribute:refuse");
    });
}

#[test]
fn processes_that_were_ended_for_a_program_that_exits_run_again() {
    fails_and_is_put_back(|plan| plan.artifact[0].location = vec!["/bin/true".to_owned()]);
}

#[test]
fn a_plan_that_does_not_run_cannot_be_changed() {
    let scene = Scene::new(&["north"]);
    let error = scene.plans.redeploy(&first()).unwrap_err();
    assert_eq!(error.name, "changing");
    assert!(error.reason.contains("there are none"), "{error}");
}
