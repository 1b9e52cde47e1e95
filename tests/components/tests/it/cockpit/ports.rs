//! Ports, by their own operations and by name.

use oxorb::components::{CcmObjectRef, EventConsumerBaseRef};
use oxorb::values::ValueLink;
use oxorb::{Interface, ObjectRef};
use oxorb_component_tests::avionics::{GpsRef, LeftRef, PositionRef, RightRef, TickConsumerRef};

use crate::cockpit::executors::Gps;
use crate::cockpit::scene::Scene;

#[test]
fn facets_by_type_and_by_name() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let location: PositionRef = cockpit.gps.provide_location().unwrap().unwrap();
    assert_eq!(location.latitude(), Ok(48.5));
    let named = cockpit.gps.provide_facet("location").unwrap().unwrap();
    assert!(named.reference().is_equivalent(location.reference()));
    let raw = cockpit.gps.provide_raw().unwrap().unwrap();
    assert_eq!(raw.narrow::<PositionRef>().unwrap().unwrap().latitude(), Ok(48.5));
    // The interface that the component supports, and its attributes.
    cockpit.gps.set_test(true).unwrap();
    assert_eq!(cockpit.gps.test(), Ok(true));
    cockpit.rate.set_hertz(20).unwrap();
    assert_eq!(cockpit.rate.hertz(), Ok(20));
    assert!(cockpit.gps.set_offset(1.0).is_err());
}

#[test]
fn a_simplex_receptacle_by_type_and_by_name() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let location = cockpit.gps.provide_location().unwrap().unwrap();
    assert_eq!(cockpit.display.get_connection_source().unwrap(), None);
    cockpit.display.connect_source(Some(&location)).unwrap();
    let connected = cockpit.display.get_connection_source().unwrap().unwrap();
    assert!(connected.reference().is_equivalent(location.reference()));
    let one = cockpit.display.get_connections("source").unwrap();
    assert_eq!(one.len(), 1);
    assert!(one[0].get().unwrap().ck.is_null(), "a simplex port has no cookie");
    assert!(cockpit.display.disconnect_source().unwrap().is_some());

    let object: ObjectRef = location.unchecked_narrow();
    let cookie = cockpit.display.connect("source", Some(&object)).unwrap();
    assert!(cookie.is_null());
    let gone = cockpit.display.disconnect("source", &ValueLink::null()).unwrap();
    assert!(gone.unwrap().reference().is_equivalent(location.reference()));
}

#[test]
fn an_object_that_takes_the_place_of_another_is_read_from_then_on() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let first = cockpit.gps.provide_location().unwrap().unwrap();
    let other: GpsRef = scene.container.install("other", Gps::at(7.0)).unwrap();
    let second = scene.seen(&other.provide_location().unwrap().unwrap());
    for (object, latitude) in [(&first, 48.5), (&second, 7.0), (&first, 48.5)] {
        cockpit.display.connect_source(Some(object)).unwrap();
        let read = cockpit.display.get_connection_source().unwrap().unwrap();
        assert_eq!(read.latitude(), Ok(latitude));
        cockpit.display.disconnect_source().unwrap();
        assert_eq!(cockpit.display.get_connection_source().unwrap(), None);
    }
}

#[test]
fn a_multiplex_receptacle_by_type_and_by_name() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let location = cockpit.gps.provide_location().unwrap().unwrap();
    let object: ObjectRef = location.unchecked_narrow();
    let first = cockpit.display.connect_others(Some(&location)).unwrap();
    let second = cockpit.display.connect("others", Some(&object)).unwrap();
    let octets = |cookie: &ValueLink<_>| -> Vec<u8> {
        let cookie: ValueLink<oxorb::components::Cookie> = cookie.clone();
        cookie.get().unwrap().cookie_value.to_vec()
    };
    assert_eq!(octets(&first).len(), 16);
    assert_ne!(octets(&first), octets(&second));
    let all = cockpit.display.get_connections_others().unwrap();
    let cookies: Vec<_> = all.iter().map(|one| octets(&one.ck)).collect();
    assert_eq!(cookies, [octets(&first), octets(&second)]);
    assert!(cockpit.display.disconnect_others(&first).unwrap().is_some());
    assert!(cockpit.display.disconnect("others", &second).unwrap().is_some());
    assert_eq!(cockpit.display.get_connections_others().unwrap().len(), 0);
}

#[test]
fn ports_describe_themselves() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let location = cockpit.gps.provide_location().unwrap().unwrap();
    cockpit.display.connect_others(Some(&location)).unwrap();
    let consumer = cockpit.display.get_consumer_update().unwrap().unwrap();
    cockpit.rate.subscribe_pulse(Some(&consumer)).unwrap();
    cockpit.gps.connect_ready(Some(&consumer)).unwrap();

    let ports = cockpit.display.get_all_ports().unwrap().get().unwrap();
    let receptacles: Vec<_> = ports.receptacles.iter().map(|one| one.get().unwrap()).collect();
    let shown = receptacles
        .iter()
        .map(|one| (&*one.base.name, &*one.base.type_id, one.is_multiple, one.connections.len()));
    let position = "IDL:Avionics/Position:1.0";
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [("source", position, false, 0), ("others", position, true, 1)]
    );
    let sinks: Vec<_> = ports.consumers.iter().map(|one| one.get().unwrap()).collect();
    assert_eq!((&*sinks[0].base.name, sinks.len()), ("update", 2));
    assert_eq!(sinks[0].base.type_id, "IDL:Avionics/Tick:1.0");

    let ports = cockpit.gps.get_all_ports().unwrap().get().unwrap();
    let facets: Vec<_> = ports.facets.iter().map(|one| one.get().unwrap()).collect();
    assert_eq!(facets[0].base.name, "location");
    assert!(facets[0].facet_ref.is_some() && facets.len() == 2);
    let emitter = ports.emitters[0].get().unwrap();
    assert!(emitter.consumer.is_some());
    let publishers = cockpit.rate.get_named_publishers(&["pulse".to_owned()]).unwrap();
    assert_eq!(publishers[0].get().unwrap().consumer.len(), 1);

    let component: CcmObjectRef = cockpit.gps.clone().into();
    let facet: ObjectRef = location.unchecked_narrow();
    assert_eq!(component.same_component(Some(&facet)), Ok(true));
    let other: ObjectRef = cockpit.rate.unchecked_narrow();
    assert_eq!(component.same_component(Some(&other)), Ok(false));
    assert_eq!(component.same_component(None), Ok(false));
}

#[test]
fn consumers_by_type_and_by_name() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let typed: TickConsumerRef = cockpit.display.get_consumer_update().unwrap().unwrap();
    let named: EventConsumerBaseRef = cockpit.display.get_consumer("update").unwrap().unwrap();
    assert!(named.reference().is_equivalent(typed.reference()));
    let cookie = cockpit.rate.subscribe("pulse", Some(&named)).unwrap();
    assert!(cockpit.rate.unsubscribe_pulse(&cookie).unwrap().is_some());
    let cookie = cockpit.rate.subscribe_pulse(Some(&typed)).unwrap();
    assert!(cockpit.rate.unsubscribe("pulse", &cookie).unwrap().is_some());
    cockpit.gps.connect_consumer("ready", Some(&named)).unwrap();
    assert!(cockpit.gps.disconnect_ready().unwrap().is_some());
    cockpit.gps.connect_ready(Some(&typed)).unwrap();
    assert!(cockpit.gps.disconnect_consumer("ready").unwrap().is_some());
}

#[test]
fn extended_ports_are_flat_and_mirrored() {
    use std::sync::Arc;

    use oxorb_component_tests::avionics::{self, left, right};

    use crate::cockpit::executors::Gps;

    struct Left;
    impl avionics::LeftExecutor for Left {
        fn link_speed(&self) -> oxorb::Result<u32> {
            Ok(9600)
        }
        fn set_link_speed(&self, _: u32) -> oxorb::Result<()> {
            Ok(())
        }
        fn link_outward(self: &Arc<Self>, _: &left::Context) -> Arc<dyn avionics::Position> {
            Arc::new(Gps::at(1.5))
        }
    }
    struct Right;
    impl avionics::RightExecutor for Right {
        fn link_speed(&self) -> oxorb::Result<u32> {
            Ok(9600)
        }
        fn set_link_speed(&self, _: u32) -> oxorb::Result<()> {
            Ok(())
        }
        fn link_inward(self: &Arc<Self>, _: &right::Context) -> Arc<dyn avionics::Position> {
            Arc::new(Gps::at(2.5))
        }
    }
    let scene = Scene::new();
    let left: LeftRef = scene.container.install("left", Left).unwrap();
    let right: RightRef = scene.container.install("right", Right).unwrap();
    let (left, right) = (scene.seen(&left), scene.seen(&right));
    let outward = left.provide_link_outward().unwrap();
    right.connect_link_outward(outward.as_ref()).unwrap();
    left.connect_link_inward(right.provide_link_inward().unwrap().as_ref()).unwrap();
    let through = left.get_connection_link_inward().unwrap().unwrap();
    assert_eq!(through.latitude(), Ok(2.5));
    let through = right.get_connection_link_outward().unwrap().unwrap();
    assert_eq!(through.latitude(), Ok(1.5));
    assert_eq!(left.link_speed(), Ok(9600));
}
