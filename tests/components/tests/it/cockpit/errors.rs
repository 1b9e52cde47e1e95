//! Requests that the generic and the typed operations reject.

use oxorb::components::{Cookie, event_consumer_base, events, navigation, receptacles};
use oxorb::values::{Value, ValueLink};
use oxorb::{Interface, ObjectRef, SystemExceptionKind};
use oxorb_component_tests::avionics::{Tick, display, gps};

use crate::cockpit::scene::{Cockpit, Scene};

fn location(cockpit: &Cockpit) -> ObjectRef {
    let location = cockpit.gps.provide_location().unwrap().unwrap();
    location.unchecked_narrow()
}

#[test]
fn unknown_names() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let (gps, object) = (&cockpit.gps, location(&cockpit));
    // A port of another kind is unknown, too.
    for name in ["nothing", "refresh", ""] {
        assert!(matches!(
            gps.provide_facet(name).unwrap_err(),
            navigation::ProvideFacetError::InvalidName(_)
        ));
    }
    let error = cockpit.display.connect("nothing", Some(&object)).unwrap_err();
    assert!(matches!(error, receptacles::ConnectError::InvalidName(_)));
    let error = cockpit.display.disconnect("nothing", &ValueLink::null()).unwrap_err();
    assert!(matches!(error, receptacles::DisconnectError::InvalidName(_)));
    assert!(cockpit.display.get_connections("update").is_err());
    assert!(gps.get_consumer("location").is_err());
    assert!(matches!(
        gps.subscribe("ready", None).unwrap_err(),
        events::SubscribeError::InvalidName(_)
    ));
    assert!(gps.connect_consumer("pulse", None).is_err());
    let names = ["location".to_owned(), "nothing".to_owned()];
    assert!(gps.get_named_facets(&names).is_err());
    assert_eq!(gps.get_named_facets(&names[..1]).unwrap().len(), 1);
}

#[test]
fn connections_of_the_wrong_type() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let wrong: ObjectRef = cockpit.rate.unchecked_narrow();
    for name in ["source", "others"] {
        for object in [Some(&wrong), None] {
            let error = cockpit.display.connect(name, object).unwrap_err();
            assert!(
                matches!(error, receptacles::ConnectError::InvalidConnection(_)),
                "{name}: {error}"
            );
        }
    }
    let nil = cockpit.display.connect_source(None).unwrap_err();
    assert!(matches!(nil, display::ConnectSourceError::InvalidConnection(_)));
    // A consumer of alarms is also one of ticks, but not vice versa.
    let ticks = cockpit.display.get_consumer("update").unwrap();
    let alarms = cockpit.display.get_consumer("warning").unwrap();
    cockpit.rate.subscribe("pulse", alarms.as_ref()).unwrap();
    let error = cockpit.rate.subscribe("late", ticks.as_ref()).unwrap_err();
    assert!(matches!(error, events::SubscribeError::InvalidConnection(_)));
    let nil = cockpit.rate.subscribe_pulse(None).unwrap_err().to_string();
    assert!(nil.contains("BAD_PARAM"), "{nil}");
}

#[test]
fn a_second_connection_of_a_simplex_port() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let object = location(&cockpit);
    cockpit.display.connect("source", Some(&object)).unwrap();
    let error = cockpit.display.connect("source", Some(&object)).unwrap_err();
    assert!(matches!(error, receptacles::ConnectError::AlreadyConnected(_)));
    let typed = object.unchecked_narrow();
    let error = cockpit.display.connect_source(Some(&typed)).unwrap_err();
    assert!(matches!(error, display::ConnectSourceError::AlreadyConnected(_)));
    let update = cockpit.display.get_consumer_update().unwrap();
    cockpit.gps.connect_ready(update.as_ref()).unwrap();
    let error = cockpit.gps.connect_ready(update.as_ref()).unwrap_err();
    assert!(matches!(error, gps::ConnectReadyError::AlreadyConnected(_)));
}

#[test]
fn nothing_to_disconnect() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let error = cockpit.display.disconnect("source", &ValueLink::null()).unwrap_err();
    assert!(matches!(error, receptacles::DisconnectError::NoConnection(_)));
    assert!(cockpit.display.disconnect_source().is_err());
    assert!(cockpit.gps.disconnect_ready().is_err());
    assert!(matches!(
        cockpit.gps.disconnect_consumer("ready").unwrap_err(),
        events::DisconnectConsumerError::NoConnection(_)
    ));
    let error = cockpit.display.disconnect("others", &ValueLink::null()).unwrap_err();
    assert!(matches!(error, receptacles::DisconnectError::CookieRequired(_)));
}

#[test]
fn cookies_of_others() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let object = location(&cockpit);
    let good = cockpit.display.connect("others", Some(&object)).unwrap();
    let mut guessed = good.get().unwrap().cookie_value.to_vec();
    guessed[15] ^= 1;
    let forged = [Vec::new(), vec![0; 16], vec![0; 1 << 16], guessed];
    for cookie_value in forged {
        let forged = Value::new(Cookie { cookie_value }).into();
        let error = cockpit.display.disconnect("others", &forged).unwrap_err();
        assert!(matches!(error, receptacles::DisconnectError::InvalidConnection(_)));
        assert!(cockpit.display.disconnect_others(&forged).is_err());
        assert!(cockpit.rate.unsubscribe_pulse(&forged).is_err());
    }
    // A subscription of another port.
    assert!(cockpit.rate.unsubscribe("pulse", &good).is_err());
    cockpit.display.disconnect("others", &good).unwrap();
    let twice = cockpit.display.disconnect("others", &good).unwrap_err();
    assert!(matches!(twice, receptacles::DisconnectError::InvalidConnection(_)));
}

#[test]
fn a_receptacle_that_nothing_is_connected_to_says_so() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    cockpit.display.configuration_complete().unwrap();
    let update = cockpit.display.get_consumer("update").unwrap().unwrap();
    let tick = Value::new(Tick { count: 1 });
    let error = update.push_event(&tick.into()).unwrap_err();
    let event_consumer_base::PushEventError::System(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.kind, SystemExceptionKind::BadInvOrder);
    assert_eq!(error.minor, oxorb::minor::bad_inv_order::RECEPTACLE_EMPTY);
}
