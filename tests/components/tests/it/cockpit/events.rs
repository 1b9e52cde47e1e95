//! Events, from source to sink.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::components::{EventConsumerBase, EventConsumerBaseRef, Pushed, event_consumer_base};
use oxorb::values::{Value, ValueLink};
use oxorb::{Interface, SystemExceptionKind};
use oxorb_component_tests::avionics::{self, Alarm, Tick, TickConsumerRef};

use crate::cockpit::scene::Scene;

const ONE: Pushed = Pushed { delivered: 1, failed: 0 };

fn alarm(text: &str) -> Value<Alarm> {
    Value::new(Alarm { base: Tick { count: 9 }, text: text.into() })
}

#[test]
fn a_published_event_passes_through_two_components() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    // RateGen --pulse--> Gps --ready--> Display --source--> Gps.
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    let update = cockpit.display.get_consumer_update().unwrap();
    cockpit.gps.connect_ready(update.as_ref()).unwrap();
    let location = cockpit.gps.provide_location().unwrap();
    cockpit.display.connect_source(location.as_ref()).unwrap();
    for component in scene.container.components() {
        let client = scene.seen(component.object().unwrap());
        let client: oxorb::components::CcmObjectRef = client.narrow().unwrap().unwrap();
        client.configuration_complete().unwrap();
    }
    let pulse = cockpit.pulse.get().unwrap();
    for count in 1..=3 {
        assert_eq!(pulse.push_pulse(Value::new(Tick { count })), ONE);
    }
    assert_eq!(cockpit.display_log.lines(), ["update 1 48.5", "update 2 48.5", "update 3 48.5"]);
    // A derived event, through a source of its base.
    assert_eq!(pulse.push_pulse(alarm("late")), ONE);
    assert_eq!(cockpit.display_log.lines().last().unwrap(), "update 9 48.5");
    // The source has no consumers.
    assert_eq!(pulse.push_late(alarm("unheard")), Pushed::default());
}

#[test]
fn a_derived_event_reaches_its_sink_typed_and_untyped() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    cockpit.display.configuration_complete().unwrap();
    let location = cockpit.gps.provide_location().unwrap();
    cockpit.display.connect_others(location.as_ref()).unwrap();
    let consumer = cockpit.display.get_consumer_warning().unwrap().unwrap();
    consumer.push_alarm(&alarm("typed").into()).unwrap();
    let base: TickConsumerRef = consumer.clone().into();
    base.push_tick(&alarm("as a tick").into()).unwrap();
    let any: EventConsumerBaseRef = consumer.clone().into();
    any.push_event(&alarm("as any").into()).unwrap();
    assert_eq!(cockpit.display_log.lines(), ["typed [48.5]", "as a tick [48.5]", "as any [48.5]"]);
    // A plain tick is no alarm.
    let tick = Value::new(Tick { count: 1 });
    let wrong = any.push_event(&tick.clone().into()).unwrap_err();
    let event_consumer_base::PushEventError::BadEventType(wrong) = wrong else {
        panic!("{wrong}");
    };
    assert_eq!(wrong.expected_event_type, "IDL:Avionics/Alarm:1.0");
    let wrong = base.push_tick(&tick.into()).unwrap_err();
    assert_eq!(wrong.kind, SystemExceptionKind::BadParam);
    assert!(any.push_event(&ValueLink::null()).is_err());
    let null = consumer.push_alarm(&ValueLink::null()).unwrap_err();
    assert_eq!(null.kind, SystemExceptionKind::BadParam);
}

#[test]
fn sinks_take_events_while_the_component_is_active() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let gps = scene.container.component("gps").unwrap();
    let refresh = cockpit.gps.get_consumer_refresh().unwrap().unwrap();
    let push = || refresh.push_tick(&Value::new(Tick { count: 1 }).into());
    let refused = push().unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::BadInvOrder);
    gps.configuration_complete().unwrap();
    push().unwrap_err();
    gps.activate().unwrap();
    push().unwrap();
    gps.passivate().unwrap();
    push().unwrap_err();
    gps.activate().unwrap();
    push().unwrap();
    let taken = cockpit.gps_log.lines().into_iter();
    assert_eq!(taken.filter(|line| line.starts_with("refresh")).count(), 2);
}

/// Consumer that answers when the test ends.
struct Slow(Arc<Mutex<()>>);

impl avionics::TickConsumer for Slow {
    fn push_tick(&self, _: &ValueLink<Tick>) -> oxorb::Result<()> {
        let _free = self.0.lock();
        Ok(())
    }
}

impl EventConsumerBase for Slow {
    fn push_event(
        &self,
        _: &ValueLink<oxorb::components::EventBase>,
    ) -> Result<(), event_consumer_base::PushEventError> {
        Ok(())
    }
}

#[test]
fn a_slow_consumer_is_dropped_after_some_failures() {
    let limit = Duration::from_millis(50);
    let scene = Scene::with(|container| container.push_timeout(limit).push_failures(2));
    let cockpit = scene.cockpit();
    let busy = Arc::new(Mutex::new(()));
    let held = busy.lock().unwrap();
    let slow: TickConsumerRef = scene.client.root_poa().activate(Slow(busy.clone())).unwrap();
    cockpit.rate.subscribe_pulse(Some(&slow)).unwrap();
    let rate = scene.container.component("rate").unwrap();
    rate.configuration_complete().unwrap();
    rate.activate().unwrap();
    let pulse = cockpit.pulse.get().unwrap();
    let push = || pulse.push_pulse(Value::new(Tick { count: 1 }));
    let failed = Pushed { delivered: 0, failed: 1 };
    assert_eq!((push(), push()), (failed, failed));
    assert_eq!(push(), Pushed::default(), "nobody is left");
    drop(held);
}

#[test]
fn a_consumer_that_is_gone_is_dropped_at_once() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    let rate = scene.container.component("rate").unwrap();
    rate.configuration_complete().unwrap();
    rate.activate().unwrap();
    cockpit.gps.remove().unwrap();
    let pulse = cockpit.pulse.get().unwrap();
    let push = || pulse.push_pulse(Value::new(Tick { count: 1 }));
    assert_eq!(push().failed, 1);
    assert_eq!(push(), Pushed::default());
    assert_eq!(refresh.unwrap().non_existent(), Ok(true));
}

#[test]
fn a_consumer_that_is_not_active_stays_connected() {
    let scene = Scene::with(|container| container.push_failures(1));
    let cockpit = scene.cockpit();
    let update = cockpit.display.get_consumer_update().unwrap();
    cockpit.rate.subscribe_pulse(update.as_ref()).unwrap();
    let location = cockpit.gps.provide_location().unwrap();
    cockpit.display.connect_source(location.as_ref()).unwrap();
    cockpit.rate.configuration_complete().unwrap();
    let pulse = cockpit.pulse.get().unwrap();
    let refused = Pushed { delivered: 0, failed: 1 };
    for count in 1..=3 {
        assert_eq!(pulse.push_pulse(Value::new(Tick { count })), refused);
    }
    cockpit.display.configuration_complete().unwrap();
    assert_eq!(pulse.push_pulse(Value::new(Tick { count: 4 })), ONE);
    assert_eq!(cockpit.display_log.lines(), ["update 4 48.5"]);
}
