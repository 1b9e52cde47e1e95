//! Containers with real-time policies, in the same server as an ordinary one.

use std::sync::{Arc, Mutex};

use oxorb::Orb;
use oxorb::components::Container;
use oxorb::poa::RtPolicies;
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::values::Value;
use oxorb_component_tests::avionics::{
    self, Alarm, DisplayRef, StationRef, Tick, display, station,
};

use crate::cockpit::scene::Scene;

/// Lane and priority of the serving thread; `None` in ordinary threads.
type Served = Option<(u32, i16)>;

fn served(orb: &Orb) -> Served {
    let lane = orb.current_lane()?;
    Some((lane.lane, orb.thread_priority()?.get()))
}

/// Executor that records the threads serving its facet and its sinks.
struct Noting(Orb, Arc<Mutex<Vec<Served>>>);

impl Noting {
    fn note(&self) {
        self.1.lock().unwrap().push(served(&self.0));
    }
}

impl avionics::Position for Noting {
    fn latitude(&self) -> oxorb::Result<f64> {
        self.note();
        Ok(0.0)
    }
}

impl avionics::StationExecutor for Noting {
    fn antenna(self: &Arc<Self>, _: &station::Context) -> Arc<dyn avionics::Position> {
        self.clone()
    }
}

impl avionics::DisplayExecutor for Noting {
    fn push_update(&self, _: &display::Context, _: &Value<Tick>) -> oxorb::Result<()> {
        self.note();
        Ok(())
    }

    fn push_warning(&self, _: &display::Context, _: &Value<Alarm>) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Calls a facet and a sink of a container, and returns their serving threads.
fn called(scene: &Scene, container: &Container) -> Vec<Served> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noting = || Noting(scene.server.clone(), seen.clone());
    let station: StationRef = container.install("station", noting()).unwrap();
    let display: DisplayRef = container.install("display", noting()).unwrap();
    let (station, display) = (scene.seen(&station), scene.seen(&display));
    let antenna = station.provide_antenna().unwrap().unwrap();
    antenna.latitude().unwrap();
    display.configuration_complete().unwrap();
    let update = display.get_consumer_update().unwrap().unwrap();
    let tick = Value::new(Tick { count: 1 });
    update.push_tick(&tick.into()).unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn facets_and_sinks_are_served_in_the_lane_of_their_container() {
    let scene = Scene::new();
    let lane = |priority| ThreadpoolLane::new(Priority::new(priority).unwrap(), 1);
    let lanes = Threadpool::with_lanes([lane(10_000), lane(20_000)]);
    let pool = scene.server.create_threadpool(lanes).unwrap();
    let container = |name: &str, server_priority| {
        let priority_model =
            Some(PriorityModelPolicy { model: PriorityModel::ServerDeclared, server_priority });
        let policies =
            RtPolicies { threadpool: Some(pool), priority_model, ..RtPolicies::default() };
        let container = Container::builder(scene.server.root_poa(), name).realtime(policies);
        container.create().unwrap()
    };
    let (slow, urgent) = (container("slow", 10_000), container("urgent", 20_000));
    assert_eq!(called(&scene, &slow), [Some((0, 10_000)); 2]);
    assert_eq!(called(&scene, &urgent), [Some((1, 20_000)); 2]);
    // The scene's own container has no policies.
    assert_eq!(called(&scene, &scene.container), [None; 2]);
}
