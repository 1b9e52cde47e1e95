//! Rates in a document that containers enforce.

use oxorb::components::Pushed;
use oxorb::deployment::References;
use oxorb_deploy::rtcad::ServerResources;

use crate::locality::scene::{COCKPIT, Scene, part_of, resources};

const ONE: Pushed = Pushed { delivered: 1, failed: 0 };
const REFUSED: Pushed = Pushed { delivered: 0, failed: 1 };

/// Returns real-time resources with one work of an instance, such as the rate generator.
fn work(instance: &str, work: &str) -> String {
    format!(
        "document = \"ServerResources\"\n[[instance]]\nname = \"{instance}\"\nwork = [{{ wcet = \"1 ms\", {work} }}]\n"
    )
}

fn redeploy(scene: &Scene, resources: Option<ServerResources>) {
    scene.locality.redeploy(part_of(COCKPIT, "main"), resources).unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
}

#[test]
fn a_source_pushes_as_often_as_the_document_says() {
    let scene = Scene::launch(
        COCKPIT,
        Some(resources(&work(
            "rate",
            "period = \"3600 s\", emits = [\"pulse\", \"pulse\"], beyond = \"refuse\"",
        ))),
    );
    // The document permits two events per period, each as late as its deadline. The events of the next period may
    // follow immediately, so four are accepted at once.
    let pushed: Vec<Pushed> = (1..=5).map(|count| scene.push(count)).collect();
    assert_eq!(pushed, [ONE, ONE, ONE, ONE, REFUSED]);
    let allowed = work("rate", "period = \"3600 s\", emits = [\"pulse\"], beyond = \"allow\"");
    let scene = Scene::launch(COCKPIT, Some(resources(&allowed)));
    assert_eq!([scene.push(1), scene.push(2), scene.push(3)], [ONE, ONE, ONE]);
}

#[test]
fn a_sink_takes_as_many_events_as_the_document_says() {
    let limited = work("gps", "port = \"refresh\", mostRate = \"3600 s\", beyond = \"refuse\"");
    let scene = Scene::launch(COCKPIT, Some(resources(&limited)));
    assert_eq!([scene.push(1), scene.push(2), scene.push(3)], [ONE, ONE, REFUSED]);
    let one = limited.replace("beyond", "burst = 1, beyond");
    let scene = Scene::launch(COCKPIT, Some(resources(&one)));
    assert_eq!([scene.push(1), scene.push(2)], [ONE, REFUSED]);
}

#[test]
fn an_instance_is_replaced_where_its_rate_has_changed() {
    let every = |period: &str| {
        let text = format!(
            "period = \"{period}\", deadline = \"1 ms\", emits = [\"pulse\"], beyond = \"refuse\""
        );
        Some(resources(&work("rate", &text)))
    };
    let scene = Scene::launch(COCKPIT, every("3600 s"));
    assert_eq!([scene.push(1), scene.push(2)], [ONE, REFUSED]);
    redeploy(&scene, every("3600 s"));
    assert_eq!(scene.push(3), REFUSED, "nothing has changed");
    redeploy(&scene, every("7200 s"));
    assert_eq!([scene.push(4), scene.push(5)], [ONE, REFUSED]);
}

#[test]
fn rates_that_cannot_be_enforced_are_refused_with_the_place() {
    let refusal = |text: &str| Scene::refusal(COCKPIT, Some(resources(text)));
    assert_eq!(
        refusal(&work("gps", "port = \"refresh\", beyond = \"refuse\"")),
        "4:9: error: work of \"gps\" at port \"refresh\" has beyond, but no mostRate; specify mostRate = \"20 Hz\""
    );
    assert_eq!(
        refusal(&work("rate", "period = \"1 s\", beyond = \"refuse\"")),
        "4:9: error: work of \"rate\" without a port has beyond, but lists no sources whose rate could be enforced; \
         list them: emits = [\"ready\"]"
    );
    let nowhere = work("gps", "port = \"nowhere\", mostRate = \"1 Hz\", beyond = \"refuse\"");
    let refused = refusal(&nowhere);
    assert!(
        refused.ends_with(
            "the component has no facet, sink or source \"nowhere\" whose rate could be enforced"
        ),
        "{refused}"
    );
    let facet = work("gps", "period = \"1 s\", emits = [\"location\"], beyond = \"refuse\"");
    let refused = refusal(&facet);
    assert!(
        refused.ends_with(
            "the rate of port \"location\" applies to a source, but the port is a facet or sink"
        ),
        "{refused}"
    );
    let source = work("rate", "port = \"pulse\", mostRate = \"1 Hz\", beyond = \"refuse\"");
    let refused = refusal(&source);
    assert!(
        refused.ends_with(
            "the rate of port \"pulse\" applies to a facet or sink, but the port is a source"
        ),
        "{refused}"
    );
}

#[test]
fn rates_of_an_instance_that_a_home_creates_are_refused() {
    let plan = r#"
        [[implementation]]
        name = "Home"
        execParameter = { "home factory" = "create_Avionics_GpsHome_Impl" }
        [[implementation]]
        name = "Gps"
        [[instance]]
        name = "home"
        node = "n"
        implementation = "Home"
        [[instance]]
        name = "gps"
        node = "n"
        implementation = "Gps"
        configProperty = { "edu.vanderbilt.dre.DAnCE.ExplicitHome" = "home" }
    "#;
    let limited = "port = \"refresh\", mostRate = \"1 Hz\", beyond = \"refuse\"";
    let refused = Scene::refusal(plan, Some(resources(&work("gps", limited))));
    assert!(
        refused.ends_with(
            "the real-time resources enforce a rate of instance \"gps\", which a home creates; remove beyond = \
             \"refuse\", or specify a component factory"
        ),
        "{refused}"
    );
    let own = Scene::refusal(plan, Some(resources(&work("home", limited))));
    assert!(own.contains("a rate of instance \"home\", which is a home; remove"), "{own}");
}
