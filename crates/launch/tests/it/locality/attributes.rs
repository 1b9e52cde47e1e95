//! Attributes that a plan can set, and attributes that it cannot set.

use crate::locality::scene::{COCKPIT, Scene};

/// Returns the plan with other attributes of its rate generator.
fn rate_with(attributes: &str) -> String {
    COCKPIT.replace("hertz = { ulong = 20 }", attributes)
}

/// Returns the plan with attributes of its receiver.
fn gps_with(attributes: &str) -> String {
    let gps = "name = \"gps\"\nnode = \"n\"\n";
    COCKPIT.replace(gps, &format!("{gps}configProperty = {{ {attributes} }}\n"))
}

#[test]
fn those_of_supported_interfaces_are_set_in_the_order_of_the_plan() {
    let scene = Scene::launch(&gps_with("test = true, offset = 1.5"), None);
    assert!(scene.parts.log.take().contains(&"test true".to_owned()));
    scene.push(1);
    assert_eq!(scene.parts.log.take(), ["update 1 50"]);
}

#[test]
fn each_refusal_has_its_place() {
    let unknown = Scene::refusal(&rate_with("rate = 20"), None);
    assert_eq!(
        unknown,
        "17:1: error: attribute \"rate\" of instance \"rate\" was not set: there is no such attribute; it has hertz"
    );
    let other_type = Scene::refusal(&rate_with("hertz = 20"), None);
    assert_eq!(
        other_type,
        "17:1: error: attribute \"hertz\" of instance \"rate\" was not set: expected unsigned long, found long; \
         write { ulong = ... }"
    );
    let text = Scene::refusal(&rate_with("hertz = \"20\""), None);
    assert!(text.contains("expected unsigned long, found string"), "{text}");
    let raised = Scene::refusal(&gps_with("offset = 91.0"), None);
    assert!(
        raised
            .contains("attribute \"offset\" of instance \"gps\" was not set: the component raised")
            && raised.contains("OutOfRange"),
        "{raised}"
    );
}
