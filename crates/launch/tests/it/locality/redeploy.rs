//! Instances that are replaced while others keep running.

use oxorb::deployment::References;

use crate::locality::scene::{COCKPIT, Scene, part_of};

fn redeploy(scene: &Scene, text: &str) {
    let plan = part_of(text, "main");
    scene.locality.redeploy(plan, None).unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
}

fn gps_with(attributes: &str) -> String {
    let gps = "name = \"gps\"\nnode = \"n\"\n";
    COCKPIT.replace(gps, &format!("{gps}configProperty = {{ {attributes} }}\n"))
}

#[test]
fn one_instance_is_replaced_and_connected_again() {
    let scene = Scene::launch(COCKPIT, None);
    assert_eq!(scene.push(1).delivered, 1);
    scene.parts.log.take();

    redeploy(&scene, &gps_with("offset = 1.5"));
    // The other instances are not affected.
    assert_eq!(
        scene.parts.log.take(),
        ["gps passivate", "gps remove", "gps set_session_context", "gps activate"]
    );
    assert!(scene.locality.status().connections.iter().all(|one| one.connected));
    assert_eq!(scene.push(2).delivered, 1);
    assert_eq!(scene.parts.log.take(), ["update 2 50"]);
}

#[test]
fn an_equal_plan_changes_nothing() {
    let scene = Scene::launch(COCKPIT, None);
    scene.parts.log.take();
    redeploy(&scene, COCKPIT);
    assert!(scene.parts.log.take().is_empty());
    assert_eq!(scene.push(1).delivered, 1);
}

#[test]
fn instances_and_connections_go_and_come() {
    let scene = Scene::launch(COCKPIT, None);
    scene.parts.log.take();
    // Without its connection to a position, the display cannot update.
    let (before, _) = COCKPIT.split_once("[[connection]]\nname = \"position\"").unwrap();
    redeploy(&scene, before);
    assert!(scene.parts.log.take().is_empty());
    assert_eq!(scene.locality.status().connections.len(), 2);
    scene.push(1);
    assert!(scene.parts.log.take().is_empty());
    // Replace the receiver by another instance.
    let second = COCKPIT.replace("\"gps\"\n", "\"receiver\"\n").replace("gps.", "receiver.");
    redeploy(&scene, &second);
    let lines = scene.parts.log.take();
    assert_eq!(lines[..2], ["gps passivate", "gps remove"]);
    assert!(!lines.iter().any(|line| line.starts_with("rate") || line.starts_with("screen")));
    assert_eq!(scene.push(2).delivered, 1);
    assert_eq!(scene.parts.log.take(), ["update 2 48.5"]);
}

#[test]
fn a_plan_that_is_wrong_touches_nothing() {
    let scene = Scene::launch(COCKPIT, None);
    scene.parts.log.take();
    let wrong = gps_with("offset = 1.5").replace("create_Avionics_Gps_Impl", "create_Gps");
    let refused = scene.locality.redeploy(part_of(&wrong, "main"), None);
    assert!(refused.unwrap_err().to_string().contains("has no entry point \"create_Gps\""));
    assert!(scene.parts.log.take().is_empty());
    assert_eq!(scene.push(1).delivered, 1);
}

#[test]
fn a_replacement_that_fails_leaves_the_others_running() {
    let scene = Scene::launch(COCKPIT, None);
    scene.parts.log.take();
    let refused = scene.locality.redeploy(part_of(&gps_with("offset = 91.0"), "main"), None);
    assert!(refused.unwrap_err().to_string().contains("OutOfRange"));
    let status = scene.locality.status();
    let names: Vec<&str> = status.instances.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["rate", "screen"]);
    assert!(status.connections.iter().all(|one| !one.connected));
    // A later redeployment can still succeed.
    redeploy(&scene, COCKPIT);
    assert_eq!(scene.push(1).delivered, 1);
    assert!(scene.parts.log.take().contains(&"update 1 48.5".to_owned()));
}

#[test]
fn connections_end_by_name() {
    let scene = Scene::launch(COCKPIT, None);
    scene.locality.disconnect(&["pulse".to_owned(), "none".to_owned()]);
    let connected = || {
        let status = scene.locality.status();
        let names = status.connections.into_iter().filter(|one| !one.connected);
        names.map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(connected(), ["pulse"]);
    assert_eq!(scene.push(1).delivered, 0);
    scene.locality.finish(&References::new(), true).unwrap();
    assert!(connected().is_empty());
    assert_eq!(scene.push(2).delivered, 1);
}

#[test]
fn a_connection_that_ended_itself_is_made_again() {
    let scene = Scene::launch(COCKPIT, None);
    // An update without a position fails, and the connection ends after three consecutive failures.
    scene.locality.disconnect(&["position".to_owned()]);
    for count in 1..=4 {
        scene.push(count);
    }
    let broken = |scene: &Scene| {
        let status = scene.locality.status();
        let broken = status.connections.into_iter().filter(|one| !one.connected);
        broken.map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(broken(&scene), ["ready", "position"]);
    let limit = std::time::Duration::from_secs(10);
    assert_eq!(scene.locality.mend(limit).unwrap(), 1);
    assert_eq!(broken(&scene), ["position"]);
    assert_eq!(scene.locality.mend(limit).unwrap(), 0);
    scene.locality.finish(&References::new(), true).unwrap();
    scene.parts.log.take();
    scene.push(5);
    assert_eq!(scene.parts.log.take(), ["update 5 48.5"]);
}
