//! A locality that its manager uses only through CORBA, from another ORB.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb::deployment::idl::deployment::{
    Connection, PlanPropertyMapping, PlanSubcomponentPropertyReference, Property, application,
    application_manager,
};
use oxorb::deployment::idl::ox_deployment::{LocalityRef, locality};
use oxorb::deployment::wire::to_wire;
use oxorb::{Interface, Orb};
use oxorb_deploy::value::Any;

use crate::locality::scene::{COCKPIT, Scene, part_of};

/// A locality, and the ORB of its manager.
struct Managed {
    scene: Scene,
    manager: Orb,
    locality: LocalityRef,
    ended: Arc<AtomicBool>,
}

impl Drop for Managed {
    fn drop(&mut self) {
        let _ = self.manager.shutdown(true);
    }
}

impl Managed {
    fn new(process: &str) -> Managed {
        let scene = Scene::new(process);
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let end = move || seen.store(true, Ordering::SeqCst);
        let own = scene.locality.serve(scene.orb.root_poa(), end).unwrap();
        let manager = Orb::builder().build().unwrap();
        let locality: LocalityRef = manager.resolve(&own.to_ior()).unwrap();
        Managed { scene, manager, locality, ended }
    }

    /// Prepares this process's part of a plan and starts its launch.
    fn start_launch(&self, text: &str) -> Vec<Connection> {
        let part = part_of(text, self.scene.locality.process());
        let plan = to_wire(&part).unwrap();
        let manager = self.locality.prepare_plan(&plan, None).unwrap();
        assert!(manager.is_some());
        let (application, connections) = self.locality.start_launch(&[]).unwrap();
        assert!(application.is_some());
        connections
    }
}

/// Returns a plan whose display runs in a separate process.
fn two_processes() -> String {
    format!(
        "{COCKPIT}\n[[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = [\"screen\"]\n"
    )
}

#[test]
fn two_processes_are_connected_by_their_manager() {
    let text = two_processes();
    let (main, screen) = (Managed::new("main"), Managed::new("screen"));
    let mut all = main.start_launch(&text);
    all.extend(screen.start_launch(&text));
    let names: Vec<&str> = all.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["pulse", "position", "another position", "ready"]);
    main.locality.finish_launch(&all, false).unwrap();
    screen.locality.finish_launch(&all, false).unwrap();
    screen.locality.start().unwrap();
    main.locality.start().unwrap();

    assert_eq!(main.scene.push(3).delivered, 1);
    assert_eq!(screen.scene.parts.log.take().last().unwrap(), "update 3 48.5");
    let status = screen.locality.status().unwrap();
    assert_eq!((&*status.node, &*status.process), ("n", "screen"));
    assert_eq!(status.pid, std::process::id());
    assert_eq!(status.connections.len(), 2);
    assert!(status.connections.iter().all(|one| one.connected));

    // Restart the display's process, and pass its new references on as its manager does.
    screen.locality.destroy_application(None).unwrap();
    main.locality.disconnect(&["ready".to_owned()]).unwrap();
    let again = Managed::new("screen");
    let mut all: Vec<Connection> = all.into_iter().filter(|one| one.name != "ready").collect();
    all.extend(again.start_launch(&text));
    again.locality.finish_launch(&all, true).unwrap();
    main.locality.finish_launch(&all, true).unwrap();
    assert_eq!(main.scene.push(4).delivered, 1);
    assert_eq!(again.scene.parts.log.take().last().unwrap(), "update 4 48.5");

    again.locality.destroy_application(None).unwrap();
    main.locality.destroy_application(None).unwrap();
    assert!(main.locality.status().unwrap().instances.is_empty());
    main.locality.shutdown().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !main.ended.load(Ordering::SeqCst) {
        assert!(std::time::Instant::now() < until, "shutdown did not arrive");
        std::thread::yield_now();
    }
}

#[test]
fn values_that_a_launch_sets_survive_a_redeployment() {
    let managed = Managed::new("main");
    let mut plan = to_wire(&part_of(COCKPIT, "main")).unwrap();
    let gps = plan.instance.iter().position(|one| one.name == "gps").unwrap();
    plan.external_property.push(PlanPropertyMapping {
        external_name: "shift".to_owned(),
        delegates_to: vec![PlanSubcomponentPropertyReference {
            property_name: "offset".to_owned(),
            instance_ref: u32::try_from(gps).unwrap(),
        }],
        ..PlanPropertyMapping::default()
    });
    managed.locality.prepare_plan(&plan, None).unwrap();
    let shift = Property { name: "shift".to_owned(), value: oxorb::Any::new(1.5_f64) };
    managed.locality.start_launch(&[shift]).unwrap();
    managed.locality.finish_launch(&[], true).unwrap();
    managed.scene.push(1);
    assert_eq!(managed.scene.parts.log.take().last().unwrap(), "update 1 50");
    // The plan is the same, so no instance is replaced.
    managed.locality.redeploy(&plan).unwrap();
    managed.locality.finish_launch(&[], true).unwrap();
    assert!(managed.scene.parts.log.take().is_empty());
    // An instance that is installed again gets the value again.
    let mut without = plan.clone();
    without.instance.remove(gps);
    without.connection.clear();
    without.external_property.clear();
    for plan in [&without, &plan] {
        managed.locality.redeploy(plan).unwrap();
        managed.locality.finish_launch(&[], true).unwrap();
    }
    managed.scene.parts.log.take();
    managed.scene.push(2);
    assert_eq!(managed.scene.parts.log.take().last().unwrap(), "update 2 50");
}

#[test]
fn files_for_references_are_refused_under_managers() {
    let managed = Managed::new("main");
    let plan = to_wire(&part_of(COCKPIT, "main")).unwrap();
    for name in ["ComponentIOR", "edu.vanderbilt.dre.DAnCE.InstanceIOR"] {
        let file = oxorb::deployment::wire::to_any(&Any::string("/nowhere/gps.ior".to_owned()));
        let mut own = plan.clone();
        own.instance[0]
            .config_property
            .push(Property { name: name.to_owned(), value: file.unwrap() });
        let mut mapped = plan.clone();
        mapped.external_property.push(PlanPropertyMapping {
            external_name: "file".to_owned(),
            delegates_to: vec![PlanSubcomponentPropertyReference {
                property_name: name.to_owned(),
                instance_ref: 0,
            }],
            ..PlanPropertyMapping::default()
        });
        for plan in [own, mapped] {
            let prepared = managed.locality.prepare_plan(&plan, None).unwrap_err();
            let redeployed = managed.locality.redeploy(&plan).unwrap_err();
            for refused in [format!("{prepared:?}"), format!("{redeployed:?}")] {
                assert!(refused.contains("do not write"), "{refused}");
                assert!(refused.contains(name), "{refused}");
            }
        }
    }
}

#[test]
fn what_fails_is_told_by_the_exceptions_of_the_interface() {
    let managed = Managed::new("main");
    let mut plan = to_wire(&part_of(&two_processes(), "main")).unwrap();
    let entry = plan.implementation[0].exec_parameter.clone();
    plan.implementation[0].exec_parameter.clear();
    let refused = managed.locality.prepare_plan(&plan, None).unwrap_err();
    let text = format!("{refused:?}");
    assert!(text.contains("PlanError") && text.contains("names no entry point"), "{text}");

    plan.implementation[0].exec_parameter = entry;
    plan.instance[0].config_property[0].name = "rate".to_owned();
    managed.locality.prepare_plan(&plan, None).unwrap();
    let refused = managed.locality.start_launch(&[]).unwrap_err();
    let application_manager::StartLaunchError::StartError(refused) = refused else {
        panic!("{refused}");
    };
    assert_eq!(refused.name, "rate");
    assert!(refused.reason.contains("there is no such attribute"), "{}", refused.reason);

    plan.instance[0].config_property[0].name = "hertz".to_owned();
    managed.locality.prepare_plan(&plan, None).unwrap();
    managed.locality.start_launch(&[]).unwrap();
    let refused = managed.locality.finish_launch(&[], true).unwrap_err();
    let application::FinishLaunchError::InvalidConnection(refused) = refused else {
        panic!("{refused}");
    };
    assert_eq!(refused.name, "ready");
    assert!(refused.reason.contains("screen.update"), "{}", refused.reason);

    plan.instance[0].implementation_ref = 99;
    let refused = managed.locality.redeploy(&plan).unwrap_err();
    let locality::RedeployError::PlanError(refused) = refused else {
        panic!("{refused}");
    };
    assert_eq!(refused.reason, "index 99 is out of range: there are 2");
    assert_eq!(managed.locality.status().unwrap().instances.len(), 2);
}

#[test]
fn real_time_resources_travel_in_the_plan() {
    let managed = Managed::new("main");
    let mut part = part_of(COCKPIT, "main");
    let resources = crate::locality::scene::resources(
        "document = \"ServerResources\"\n[orbConfigs]\n[[orbConfigs.policySet]]\nid = \"declared\"\n\
         priorityModel = { server_priority = 7, priority_model = \"SERVER_DECLARED\" }\n\
         [[instance]]\nname = \"gps\"\npolicySet = \"declared\"\n",
    );
    oxorb::deployment::attach_resources(&mut part, &resources).unwrap();
    managed.locality.prepare_plan(&to_wire(&part).unwrap(), None).unwrap();
    managed.locality.start_launch(&[]).unwrap();
    managed.locality.finish_launch(&[], true).unwrap();
    let status = managed.locality.status().unwrap();
    assert_eq!(status.instances[2].container, "declared");
}
