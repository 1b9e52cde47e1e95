//! Instances with a name in the Naming Service (`RegisterNaming`).

use std::sync::Arc;

use oxorb::deployment::{LaunchError, Locality, References, part};
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Document, Format, Limits, processes};
use oxorb_deployment_tests::{CounterRef, ReaderRef, implementations};
use oxorb_naming::{NameService, Names, Store};

/// Returns the part of a plan with two instances of these names.
fn named(counter: &str, reader: &str) -> Plan {
    let text = format!(
        r#"
        [[implementation]]
        name = "Counter"
        execParameter = {{ "component factory" = "create_Station_Counter_Impl" }}
        [[implementation]]
        name = "Reader"
        execParameter = {{ "component factory" = "create_Station_Reader_Impl" }}
        [[instance]]
        name = "c"
        node = "n"
        implementation = "Counter"
        configProperty = {{ "edu.vanderbilt.dre.DAnCE.RegisterNaming" = {counter:?} }}
        [[instance]]
        name = "r"
        node = "n"
        implementation = "Reader"
        configProperty = {{ "edu.vanderbilt.dre.DAnCE.RegisterNaming" = {reader:?} }}
        [[connection]]
        name = "r-c"
        SimplexReceptacle = "r.source"
        Facet = "c.output"
        "#
    );
    let read = Document::read(&text, Format::Toml, &Limits::default());
    let plan = read.unwrap().into_plan().unwrap();
    part(&plan, &processes(&plan)[0])
}

struct Scene {
    server: Orb,
    orb: Orb,
    locality: Arc<Locality>,
}

impl Scene {
    /// Creates a name server, and a locality whose ORB knows it.
    fn new() -> Scene {
        let orb = || Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let (server, orb) = (orb(), orb());
        let service = NameService::start(&server, Store::in_memory().unwrap()).unwrap();
        orb.register_initial_reference("NameService", service.root().reference());
        let locality = Locality::new(&orb, orb.root_poa(), implementations(), "n", "main");
        Scene { server, orb, locality }
    }

    fn launch(&self, plan: Plan) -> Result<(), LaunchError> {
        self.locality.prepare(plan, None)?;
        self.locality.install()?;
        self.locality.finish(&References::new(), true)
    }

    fn names(&self) -> Names {
        Names::of(&self.orb).unwrap()
    }

    fn is_bound(&self, name: &str) -> bool {
        self.names().resolve::<ObjectRef>(name).is_ok()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for orb in [&self.orb, &self.server] {
            let _ = orb.shutdown(true);
        }
    }
}

#[test]
fn instances_are_found_by_name_until_they_are_removed() {
    let scene = Scene::new();
    scene.launch(named("plant/hall.1/counter", "reader.r")).unwrap();
    let reader: ReaderRef = scene.names().resolve("reader.r").unwrap();
    let dial = reader.provide_dial().unwrap().unwrap();
    assert_eq!(dial.read(), Ok(1));
    let counter: CounterRef = scene.names().resolve("plant/hall.1/counter").unwrap();
    assert!(counter.provide_output().unwrap().is_some());

    // Another name means another instance; the contexts exist by now.
    let changed = named("plant/hall.1/second", "reader.r");
    scene.locality.redeploy(changed, None).unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
    assert!(!scene.is_bound("plant/hall.1/counter"));
    assert!(scene.is_bound("plant/hall.1/second"));

    // A name that was rebound by others is left to them.
    scene.names().rebind("reader.r", &counter).unwrap();
    scene.locality.stop().unwrap();
    assert!(!scene.is_bound("plant/hall.1/second"));
    assert!(scene.is_bound("reader.r"));
}

#[test]
fn a_name_that_cannot_be_had_undoes_the_launch() {
    let scene = Scene::new();
    let refused = scene.launch(named("counter", "reader//r")).unwrap_err();
    let refused = refused.to_string();
    for part in [
        "error: instance \"r\" did not get the name \"reader//r\" in the Naming Service",
        "a component of it is empty",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    assert!(scene.locality.status().instances.is_empty());
    assert!(!scene.is_bound("counter"), "undone as well");

    scene.orb.forget_initial_reference("NameService");
    let refused = scene.launch(named("counter", "reader")).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("-ORBInitRef NameService=URL"), "{refused}");
}
