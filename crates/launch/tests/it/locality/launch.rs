//! A plan from its launch to its end.

use oxorb::Interface;
use oxorb::components::CcmObjectRef;
use oxorb::deployment::References;
use oxorb::deployment::idl::ox_deployment::InstancePhase;

use crate::locality::avionics::{GpsRef, RateGenRef};
use crate::locality::scene::{COCKPIT, Scene};

#[test]
fn a_plan_runs_and_ends() {
    let scene = Scene::launch(COCKPIT, None);
    // The order is fixed only for the first two lines, and for providers, which start before their users.
    let lines = scene.parts.log.take();
    let expected =
        ["hertz 20", "gps set_session_context", "gps activate", "rate activate", "screen activate"];
    let mut sorted = lines.clone();
    sorted.sort();
    let mut wanted = expected.map(str::to_owned).to_vec();
    wanted.sort();
    assert_eq!(sorted, wanted);
    assert_eq!(lines[..2], expected[..2]);
    assert!(at(&lines, "gps activate") < at(&lines, "rate activate"));

    assert_eq!(scene.push(7).delivered, 1);
    assert_eq!(scene.parts.log.take(), ["update 7 48.5"]);

    let status = scene.locality.status();
    let names: Vec<&str> = status.instances.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["rate", "screen", "gps"]);
    let is_active = |one: &oxorb::deployment::idl::ox_deployment::InstanceStatus| {
        one.phase == InstancePhase::Active
    };
    assert!(status.instances.iter().all(is_active));
    assert_eq!(status.connections.len(), 4);
    assert!(status.connections.iter().all(|one| one.connected));
    let rate: RateGenRef = status.instances[0].reference.clone().unwrap().unchecked_narrow();
    assert_eq!(rate.hertz().unwrap(), 20);

    scene.locality.stop().unwrap();
    let lines = scene.parts.log.take();
    // No instance is removed before all are passive. Users are passivated before their providers.
    let removals: Vec<&String> = lines.iter().filter(|line| line.contains("remove")).collect();
    assert_eq!(removals.len(), 3);
    assert!(at(&lines, "rate passivate") < at(&lines, "gps passivate"));
    assert!(at(&lines, "gps passivate") < at(&lines, removals[0]));
    assert!(scene.locality.status().instances.is_empty());
    assert!(rate.hertz().is_err());
    assert!(scene.orb.root_poa().children().is_empty());

    // The same process can launch the plan again.
    scene.prepare(COCKPIT, None).unwrap();
    scene.locality.install().unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
    assert_eq!(scene.push(8).delivered, 1);
}

fn at(lines: &[String], line: &str) -> usize {
    let found = lines.iter().position(|one| one == line);
    found.unwrap_or_else(|| panic!("no {line:?} in {lines:?}"))
}

#[test]
fn instances_are_started_when_told() {
    let scene = Scene::new("main");
    scene.prepare(COCKPIT, None).unwrap();
    let provided = scene.locality.install().unwrap();
    let of: Vec<&str> = provided.iter().map(|one| &*one.connection).collect();
    assert_eq!(of, ["pulse", "ready", "position", "another position"]);
    scene.locality.finish(&References::new(), false).unwrap();
    let phases = || {
        let status = scene.locality.status();
        let phases = status.instances.into_iter().map(|one| one.phase);
        phases.collect::<Vec<_>>()
    };
    assert_eq!(phases(), [InstancePhase::Configured; 3]);
    scene.locality.start().unwrap();
    assert_eq!(phases(), [InstancePhase::Active; 3]);
    // A client cannot activate the instance by `configuration_complete`. Only the deployer can activate it.
    let status = scene.locality.status();
    let screen: CcmObjectRef = status.instances[1].reference.clone().unwrap().unchecked_narrow();
    assert!(screen.configuration_complete().is_err());
}

#[test]
fn a_home_makes_its_components() {
    let text = r#"
        [[implementation]]
        name = "Home"
        execParameter = { "home factory" = "create_Avionics_GpsHome_Impl" }
        [[implementation]]
        name = "Gps"
        [[instance]]
        name = "gps"
        node = "n"
        implementation = "Gps"
        configProperty = { "edu.vanderbilt.dre.DAnCE.ExplicitHome" = "home", offset = 1.5 }
        [[instance]]
        name = "home"
        node = "n"
        implementation = "Home"
        configProperty = { test = true }
    "#;
    let scene = Scene::launch(text, None);
    let lines = scene.parts.log.take();
    assert_eq!(lines[0], "home test true");
    let status = scene.locality.status();
    let gps: GpsRef = status.instances[0].reference.clone().unwrap().unchecked_narrow();
    assert_eq!(gps.provide_location().unwrap().unwrap().latitude().unwrap(), 50.0);
    assert!(gps.get_ccm_home().unwrap().is_some());
    scene.locality.stop().unwrap();
    assert!(gps.get_ccm_home().is_err());
}

#[test]
fn the_reference_of_an_instance_goes_to_a_file() {
    let file = std::env::temp_dir().join(format!("oxorb-launch-{}.ior", std::process::id()));
    let text = format!(
        "{COCKPIT}\n[[instance]]\nname = \"filed\"\nnode = \"n\"\nimplementation = \"Gps\"\n\
         configProperty = {{ \"edu.vanderbilt.dre.DAnCE.InstanceIOR\" = {:?} }}\n",
        file.to_str().unwrap()
    );
    let scene = Scene::launch(&text, None);
    let url = format!("file://{}", file.display());
    let gps: GpsRef = scene.orb.resolve(&url).unwrap();
    assert!(gps.provide_location().unwrap().is_some());
    scene.locality.stop().unwrap();
    assert!(!file.exists());
}

#[test]
fn references_from_elsewhere_are_connected() {
    let other = Scene::launch(COCKPIT, None);
    let status = other.locality.status();
    let gps: GpsRef = status.instances[2].reference.clone().unwrap().unchecked_narrow();
    let location = gps.provide_location().unwrap().unwrap();
    let text = format!(
        r#"
        [[implementation]]
        name = "Display"
        execParameter = {{ "component factory" = "create_Avionics_Display_Impl" }}
        [[instance]]
        name = "screen"
        node = "n"
        implementation = "Display"
        [[connection]]
        name = "position"
        SimplexReceptacle = "screen.source"
        externalReference = [{{ location = {:?}, provider = true }}]
        "#,
        location.to_ior()
    );
    let scene = Scene::launch(&text, None);
    assert!(scene.locality.status().connections[0].connected);
}
