//! A locality in this process, and plans to launch in it.

use std::sync::Arc;

use oxorb::Orb;
use oxorb::components::EventCarrier;
use oxorb::deployment::{LaunchError, Locality, References, part};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::{Document, Format, Limits, processes};

use crate::locality::avionics::Tick;
use crate::locality::executors::Parts;

/// Rate generator, receiver and display on one node.
pub(crate) const COCKPIT: &str = r#"
[[implementation]]
name = "RateGen"
execParameter = { "component factory" = "create_Avionics_RateGen_Impl" }
[[implementation]]
name = "Gps"
execParameter = { "component factory" = "create_Avionics_Gps_Impl" }
[[implementation]]
name = "Display"
execParameter = { "component factory" = "create_Avionics_Display_Impl" }

[[instance]]
name = "rate"
node = "n"
implementation = "RateGen"
[instance.configProperty]
hertz = { ulong = 20 }
[[instance]]
name = "screen"
node = "n"
implementation = "Display"
[[instance]]
name = "gps"
node = "n"
implementation = "Gps"

[[connection]]
name = "pulse"
EventPublisher = "rate.pulse"
EventConsumer = "gps.refresh"
[[connection]]
name = "ready"
EventEmitter = "gps.ready"
EventConsumer = "screen.update"
[[connection]]
name = "position"
Facet = "gps.location"
SimplexReceptacle = "screen.source"
[[connection]]
name = "another position"
Facet = "gps.location"
MultiplexReceptacle = "screen.others"
"#;

pub(crate) fn plan(text: &str) -> Plan {
    let read = Document::read(text, Format::Toml, &Limits::default());
    read.unwrap().into_plan().unwrap()
}

pub(crate) fn resources(text: &str) -> ServerResources {
    let read = Document::read(text, Format::Toml, &Limits::default());
    read.unwrap().into_resources().unwrap()
}

/// Returns the part of the plan in this process, or in the only process of the plan.
pub(crate) fn part_of(text: &str, process: &str) -> Plan {
    let plan = plan(text);
    let all = processes(&plan);
    let one = all.iter().find(|one| one.name == process).unwrap();
    part(&plan, one)
}

pub(crate) struct Scene {
    pub(crate) orb: Orb,
    pub(crate) parts: Parts,
    pub(crate) locality: Arc<Locality>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.locality.stop();
        let _ = self.orb.shutdown(true);
    }
}

impl Scene {
    pub(crate) fn new(process: &str) -> Scene {
        let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let parts = Parts::default();
        parts.orb.set(orb.clone()).unwrap();
        let locality = Locality::new(&orb, orb.root_poa(), parts.implementations(), "n", process);
        Scene { orb, parts, locality }
    }

    /// Creates a scene whose executable also has an event channel.
    pub(crate) fn with_events<E: std::fmt::Display + 'static>(
        open: impl Fn() -> Result<Arc<dyn EventCarrier>, E> + Send + Sync + 'static,
    ) -> Scene {
        let mut scene = Scene::new("main");
        let implementations = scene.parts.implementations().events_by(open);
        let root = scene.orb.root_poa();
        scene.locality = Locality::new(&scene.orb, root, implementations, "n", "main");
        scene
    }

    /// Launches a plan that runs in one process.
    pub(crate) fn launch(text: &str, resources: Option<ServerResources>) -> Scene {
        let scene = Scene::new("main");
        scene.prepare(text, resources).unwrap();
        scene.locality.install().unwrap();
        scene.locality.finish(&References::new(), true).unwrap();
        scene
    }

    pub(crate) fn prepare(
        &self,
        text: &str,
        resources: Option<ServerResources>,
    ) -> Result<(), LaunchError> {
        self.locality.prepare(part_of(text, "main"), resources)
    }

    /// Returns the reason why a plan is refused. Checks that no part of the plan remains.
    pub(crate) fn refusal(text: &str, resources: Option<ServerResources>) -> String {
        let scene = Scene::new("main");
        let launched = scene
            .prepare(text, resources)
            .and_then(|()| scene.locality.install())
            .and_then(|_| scene.locality.finish(&References::new(), true));
        let error = launched.unwrap_err();
        scene.locality.stop().unwrap();
        assert!(scene.locality.status().instances.is_empty());
        let left = scene.orb.root_poa().children();
        assert!(left.is_empty(), "{:?}", left[0].name());
        error.to_string()
    }

    /// Pushes a tick from the rate generator.
    pub(crate) fn push(&self, count: u32) -> oxorb::components::Pushed {
        let sources = self.parts.sources.lock().unwrap();
        let source = sources.last().expect("a rate generator is active");
        source.push_pulse(oxorb::values::Value::new(Tick { count }))
    }
}
