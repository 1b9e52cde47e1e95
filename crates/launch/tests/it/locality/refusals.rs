//! Plans that are refused, and the reasons.

use oxorb::deployment::References;

use crate::locality::scene::{COCKPIT, Scene};

fn refusal(from: &str, to: &str) -> String {
    assert!(COCKPIT.contains(from), "{from}");
    Scene::refusal(&COCKPIT.replace(from, to), None)
}

#[test]
fn entry_points() {
    assert_eq!(
        refusal("create_Avionics_Gps_Impl", "create_Gps"),
        "7:19: error: this executable has no entry point \"create_Gps\", of implementation \"Gps\" and instance \"gps\"; \
         it has create_Avionics_Display_Impl, create_Avionics_GpsHome_Impl, create_Avionics_Gps_Impl, \
         create_Avionics_RateGen_Impl; link the implementation in"
    );
    assert_eq!(
        refusal("create_Avionics_Gps_Impl", "create_Avionics_GpsHome_Impl"),
        "7:19: error: entry point \"create_Avionics_GpsHome_Impl\" makes a home, but a component is needed; specify it \
         with the execParameter \"home factory\""
    );
    let none = refusal("\"component factory\" = \"create_Avionics_Gps_Impl\"", "other = 1");
    assert!(
        none.ends_with(
            "error: the implementation of instance \"gps\" names no entry point; give implementation \"Gps\" the \
             execParameter \"component factory\" or \"home factory\""
        ),
        "{none}"
    );
}

#[test]
fn ports() {
    let facet = refusal("Facet = \"gps.location\"\nSimplex", "Facet = \"gps.place\"\nSimplex");
    assert!(
        facet.ends_with(
            "error: connection \"position\" cannot be made: \"gps\" has no facet \"place\"; it has location, raw"
        ),
        "{facet}"
    );
    let receptacle = refusal("screen.source", "screen.origin");
    assert!(
        receptacle.ends_with(
            "error: connection \"position\" cannot be made: \"screen\" has no SimplexReceptacle \"origin\"; it has \
             source, others"
        ),
        "{receptacle}"
    );
    // A consumer of ticks does not accept alarms.
    let other = refusal("rate.pulse", "rate.late");
    assert!(
        other.contains(
            "connection \"pulse\" was not made: rate.late refused IDL:Avionics/TickConsumer:1.0"
        ),
        "{other}"
    );
}

#[test]
fn settings_that_nothing_honours() {
    let text =
        refusal("hertz = { ulong = 20 }", "\"edu.vanderbilt.dre.DAnCE.DomainNC\" = \"rate\"");
    assert!(
        text.ends_with(
            "error: instance \"rate\" uses edu.vanderbilt.dre.DAnCE.DomainNC, which is not supported; use \
             edu.vanderbilt.dre.DAnCE.RegisterNaming, with a name relative to the initial naming context"
        ),
        "{text}"
    );
}

#[test]
fn connections_that_others_would_have_to_make() {
    let text = refusal(
        "Facet = \"gps.location\"\nMultiplexReceptacle = \"screen.others\"",
        "Facet = \"gps.location\"\nexternalReference = [{ location = \"corbaloc::h/screen\", provider = false }]",
    );
    assert!(
        text.contains(
            "error: connection \"another position\" would be made by corbaloc::h/screen, which does not belong to this \
             plan"
        ),
        "{text}"
    );
}

#[test]
fn a_launch_whose_third_instance_fails_leaves_nothing() {
    let scene = Scene::new("main");
    let text = COCKPIT.replace("\"gps\"\n", "\"broken\"\n").replace("gps.", "broken.");
    scene.prepare(&text, None).unwrap();
    let error = scene.locality.install().unwrap_err();
    assert_eq!(error.name, "broken");
    assert!(
        error.to_string().contains(
            "error: instance \"broken\" was not installed: the executor's set_session_context raised"
        ),
        "{error}"
    );
    assert_eq!(
        scene.parts.log.take(),
        ["hertz 20", "broken set_session_context", "screen remove", "rate remove"]
    );
    assert!(scene.locality.status().instances.is_empty());
    assert!(scene.orb.root_poa().children().is_empty());
    // The failed launch leaves nothing that prevents the next attempt.
    scene.prepare(COCKPIT, None).unwrap();
    scene.locality.install().unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
}

#[test]
fn a_second_plan_waits_for_the_end_of_the_first() {
    let scene = Scene::launch(COCKPIT, None);
    let error = scene.prepare(COCKPIT, None).unwrap_err();
    assert_eq!(
        error.reason(),
        "process \"main\" already runs instances of a plan; stop them, or redeploy"
    );
    assert_eq!(scene.push(1).delivered, 1);
}

#[test]
fn a_missing_reference_is_named() {
    let text = format!(
        "{COCKPIT}\n[[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = [\"gps\"]\n"
    );
    let scene = Scene::new("main");
    scene.prepare(&text, None).unwrap();
    scene.locality.install().unwrap();
    let error = scene.locality.finish(&References::new(), true).unwrap_err();
    assert!(
        error.to_string().ends_with(
            "error: connection \"pulse\" lacks the reference of gps.refresh, in another process; launch that process first"
        ),
        "{error}"
    );
}
