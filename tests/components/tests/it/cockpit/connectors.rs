//! Connectors between extended ports, and the components of an instance of a template module.

use std::sync::{Arc, Mutex};

use oxorb_component_tests::avionics::{
    self, LeftRef, Position, RightRef, WireRef, left, right, wire,
};
use oxorb_component_tests::doubles::{self, HolderRef, PipeRef, Sink, holder, pipe};

use crate::cockpit::executors::Gps;
use crate::cockpit::scene::Scene;

/// Attribute with a constant value.
macro_rules! speed {
    ($get:ident, $set:ident) => {
        fn $get(&self) -> oxorb::Result<u32> {
            Ok(9600)
        }
        fn $set(&self, _: u32) -> oxorb::Result<()> {
            Ok(())
        }
    };
}

struct Left;
impl avionics::LeftExecutor for Left {
    speed!(link_speed, set_link_speed);
    fn link_outward(self: &Arc<Self>, _: &left::Context) -> Arc<dyn Position> {
        Arc::new(Gps::at(1.5))
    }
}

struct Right;
impl avionics::RightExecutor for Right {
    speed!(link_speed, set_link_speed);
    fn link_inward(self: &Arc<Self>, _: &right::Context) -> Arc<dyn Position> {
        Arc::new(Gps::at(2.5))
    }
}

/// Forwards in both directions the facet of the opposite end.
struct Wire;
impl avionics::WireExecutor for Wire {
    speed!(near_speed, set_near_speed);
    speed!(far_speed, set_far_speed);
    fn near_inward(self: &Arc<Self>, context: &wire::Context) -> Arc<dyn Position> {
        let context = context.clone();
        Arc::new(Forward(move || context.far_inward()?.latitude()))
    }
    fn far_outward(self: &Arc<Self>, context: &wire::Context) -> Arc<dyn Position> {
        let context = context.clone();
        Arc::new(Forward(move || context.near_outward()?.latitude()))
    }
}

struct Forward<F>(F);
impl<F: Fn() -> oxorb::Result<f64> + Send + Sync + 'static> Position for Forward<F> {
    fn latitude(&self) -> oxorb::Result<f64> {
        (self.0)()
    }
}

#[test]
fn a_connector_joins_a_port_and_its_mirror() {
    let scene = Scene::new();
    let left: LeftRef = scene.container.install("left", Left).unwrap();
    let right: RightRef = scene.container.install("right", Right).unwrap();
    let wire: WireRef = scene.container.install("wire", Wire).unwrap();
    let (left, right, wire) = (scene.seen(&left), scene.seen(&right), scene.seen(&wire));
    let join = |from: Option<avionics::PositionRef>| from.expect("a facet is never nil");
    wire.connect_near_outward(Some(&join(left.provide_link_outward().unwrap()))).unwrap();
    left.connect_link_inward(Some(&join(wire.provide_near_inward().unwrap()))).unwrap();
    right.connect_link_outward(Some(&join(wire.provide_far_outward().unwrap()))).unwrap();
    // Half a connector forwards in one direction, and raises an exception in the other.
    let to_left = left.get_connection_link_inward().unwrap().unwrap();
    let to_right = right.get_connection_link_outward().unwrap().unwrap();
    assert_eq!(to_right.latitude(), Ok(1.5));
    let refused = to_left.latitude().unwrap_err();
    assert_eq!(refused.minor, oxorb::minor::bad_inv_order::RECEPTACLE_EMPTY);
    wire.connect_far_inward(Some(&join(right.provide_link_inward().unwrap()))).unwrap();
    assert_eq!(to_left.latitude(), Ok(2.5));
    // A connector is a component: described, configured and removed like one.
    let facets = wire.get_all_facets().unwrap();
    assert_eq!(facets.len(), 2);
    wire.configuration_complete().unwrap();
    wire.remove().unwrap();
    assert!(to_right.latitude().is_err());
}

#[derive(Default)]
struct Holder(Arc<Kept>);

#[derive(Default)]
struct Kept(Mutex<Vec<f64>>);

impl Sink for Kept {
    fn put(&self, value: f64) -> oxorb::Result<()> {
        self.0.lock().unwrap().push(value);
        Ok(())
    }
}

impl doubles::HolderExecutor for Holder {
    fn into(self: &Arc<Self>, _: &holder::Context) -> Arc<dyn Sink> {
        Arc::clone(&self.0) as Arc<dyn Sink>
    }
}

/// Connector that passes its events on.
struct Pipe;
struct Entry(pipe::Context);

impl Sink for Entry {
    fn put(&self, value: f64) -> oxorb::Result<()> {
        self.0.outlet()?.put(value)
    }
}

impl doubles::PipeExecutor for Pipe {
    fn entry(self: &Arc<Self>, context: &pipe::Context) -> Arc<dyn Sink> {
        Arc::new(Entry(context.clone()))
    }
}

#[test]
fn components_and_connectors_of_a_template_module_run() {
    let scene = Scene::new();
    let executor = Holder::default();
    let kept = Arc::clone(&executor.0);
    let holder: HolderRef = scene.container.install("holder", executor).unwrap();
    let pipe: PipeRef = scene.container.install("pipe", Pipe).unwrap();
    let (holder, pipe) = (scene.seen(&holder), scene.seen(&pipe));
    pipe.connect_outlet(holder.provide_into().unwrap().as_ref()).unwrap();
    for component in [&*holder, &*pipe] {
        component.configuration_complete().unwrap();
    }
    let entry = pipe.provide_entry().unwrap().unwrap();
    entry.put(2.5).unwrap();
    entry.put(-1.0).unwrap();
    assert_eq!(*kept.0.lock().unwrap(), [2.5, -1.0]);
}
