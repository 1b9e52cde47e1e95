//! Events that a channel delivers, in its threads and by its queues.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb::components::{EventConsumerBase, EventLanes, Pushed, event_consumer_base};
use oxorb::values::{Value, ValueLink};
use oxorb_component_tests::avionics::{self, Alarm, Tick, TickConsumerRef};
use oxorb_event::delivery::{LanePlan, Plan, Qos, WhenFull};
use oxorb_event::{ChannelOptions, ComponentEvents, ConsumerDispatch, EventChannel};

use crate::cockpit::scene::{Cockpit, Scene};

const PATIENCE: Duration = Duration::from_secs(30);

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Creates a scene whose container delivers its events by a channel with two threads.
fn carried(queue: Qos) -> Scene {
    let channel = EventChannel::queued(ChannelOptions::default(), Plan::pool(2), queue).unwrap();
    let events = ComponentEvents::new(&channel, 1);
    Scene::with(|container| {
        container.events_by(Arc::new(events)).push_timeout(PATIENCE).push_failures(1)
    })
}

fn activate(scene: &Scene) {
    for component in scene.container.components() {
        component.configuration_complete().unwrap();
        component.activate().unwrap();
    }
}

fn tick(count: u32) -> Value<Tick> {
    Value::new(Tick { count })
}

fn pushed(delivered: usize) -> Pushed {
    Pushed { delivered, failed: 0 }
}

fn subscribers(cockpit: &Cockpit) -> usize {
    let pulse = &cockpit.rate.get_all_publishers().unwrap()[0];
    pulse.get().unwrap().consumer.len()
}

/// Consumer that reports each event and its thread, and waits before it returns.
struct Held {
    told: Mutex<Sender<(u32, String)>>,
    go_on: Mutex<Receiver<()>>,
}

impl avionics::TickConsumer for Held {
    fn push_tick(&self, tick: &ValueLink<Tick>) -> oxorb::Result<()> {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let told = (tick.get().unwrap().count, thread);
        self.told.lock().unwrap().send(told).unwrap();
        // The end of the test releases the consumer at the latest.
        let _ = self.go_on.lock().unwrap().recv_timeout(PATIENCE);
        Ok(())
    }
}

impl EventConsumerBase for Held {
    fn push_event(
        &self,
        _: &ValueLink<oxorb::components::EventBase>,
    ) -> Result<(), event_consumer_base::PushEventError> {
        Ok(())
    }
}

/// Subscribes a consumer in the server's own process; returns its reports, and a sender that releases it.
fn held(scene: &Scene, cockpit: &Cockpit) -> (Receiver<(u32, String)>, Sender<()>) {
    let ((told, tells), (go, go_on)) = (channel(), channel());
    let (told, go_on) = (Mutex::new(told), Mutex::new(go_on));
    let consumer: TickConsumerRef = scene.server.root_poa().activate(Held { told, go_on }).unwrap();
    let _ = cockpit.rate.subscribe_pulse(Some(&consumer)).unwrap();
    (tells, go)
}

#[test]
fn a_consumer_that_hangs_holds_up_neither_the_publisher_nor_others() {
    not_held_up(&carried(Qos::default()));
}

#[test]
fn a_consumer_that_hangs_holds_up_no_other_lane() {
    not_held_up(&Scene::with(|container| container.events_in_lanes().push_timeout(PATIENCE)));
}

fn not_held_up(scene: &Scene) {
    let cockpit = scene.cockpit();
    let (tells, go) = held(scene, &cockpit);
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    cockpit.rate.subscribe("pulse", refresh.map(Into::into).as_ref()).unwrap();
    activate(scene);
    let pulse = cockpit.pulse.get().unwrap();
    for count in 1..=3 {
        assert_eq!(pulse.push_pulse(tick(count)), pushed(2));
    }
    // The other consumer gets all events, in order, while the first one has not returned from its first event.
    let refreshed = || {
        let lines = cockpit.gps_log.lines().into_iter();
        let lines = lines.filter(|line| line.starts_with("refresh"));
        lines.collect::<Vec<_>>()
    };
    until("three events for gps", || refreshed().len() == 3);
    assert_eq!(refreshed(), ["refresh 1", "refresh 2", "refresh 3"]);
    assert_eq!(tells.recv_timeout(PATIENCE).unwrap().0, 1);
    assert!(tells.try_recv().is_err());
    drop(go);
    for count in 2..=3 {
        assert_eq!(tells.recv_timeout(PATIENCE).unwrap().0, count);
    }
}

#[test]
fn a_full_queue_drops_the_oldest_events() {
    let queue = Qos { events: 2, when_full: WhenFull::DropOldest, ..Qos::default() };
    let scene = carried(queue);
    let cockpit = scene.cockpit();
    let (tells, go) = held(&scene, &cockpit);
    activate(&scene);
    let pulse = cockpit.pulse.get().unwrap();
    assert_eq!(pulse.push_pulse(tick(1)), pushed(1));
    assert_eq!(tells.recv_timeout(PATIENCE).unwrap().0, 1);
    // The consumer holds the first event. The queue has space for two of the next four.
    for count in 2..=5 {
        assert_eq!(pulse.push_pulse(tick(count)), pushed(1));
    }
    drop(go);
    for count in 4..=5 {
        assert_eq!(tells.recv_timeout(PATIENCE).unwrap().0, count);
    }
}

#[test]
fn events_keep_their_type_and_their_order_through_two_components() {
    let scene = carried(Qos::default());
    let cockpit = scene.cockpit();
    // RateGen --pulse--> Gps --ready--> Display --source--> Gps.
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    let update = cockpit.display.get_consumer_update().unwrap();
    cockpit.gps.connect_ready(update.as_ref()).unwrap();
    let warning = cockpit.display.get_consumer_warning().unwrap();
    cockpit.rate.subscribe_late(warning.as_ref()).unwrap();
    let location = cockpit.gps.provide_location().unwrap();
    cockpit.display.connect_source(location.as_ref()).unwrap();
    activate(&scene);
    let pulse = cockpit.pulse.get().unwrap();
    for count in 1..=3 {
        assert_eq!(pulse.push_pulse(tick(count)), pushed(1));
    }
    let updated = || cockpit.display_log.lines().len();
    until("three updates", || updated() == 3);
    let alarm = Alarm { base: Tick { count: 9 }, text: "late".into() };
    assert_eq!(pulse.push_late(Value::new(alarm.clone())), pushed(1));
    until("a warning", || updated() == 4);
    // A derived event from a source of its base.
    assert_eq!(pulse.push_pulse(Value::new(alarm)), pushed(1));
    until("one more update", || updated() == 5);
    assert_eq!(
        cockpit.display_log.lines(),
        ["update 1 48.5", "update 2 48.5", "update 3 48.5", "late []", "update 9 48.5"]
    );
}

#[test]
fn consumers_leave_and_are_dropped() {
    leave(&carried(Qos::default()));
    // The lane of a consumer that no longer exists ends in its own thread.
    leave(&Scene::with(|container| container.events_in_lanes().push_failures(1)));
}

fn leave(scene: &Scene) {
    let cockpit = scene.cockpit();
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    let cookie = cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    activate(scene);
    let pulse = cockpit.pulse.get().unwrap();
    cockpit.rate.unsubscribe_pulse(&cookie).unwrap();
    assert_eq!(pulse.push_pulse(tick(1)), pushed(0));
    cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    cockpit.gps.remove().unwrap();
    // The channel's thread finds that the consumer no longer exists.
    assert_eq!(pulse.push_pulse(tick(2)), pushed(1));
    until("the consumer is dropped", || subscribers(&cockpit) == 0);
    let refreshed = cockpit.gps_log.lines();
    assert!(!refreshed.iter().any(|line| line.starts_with("refresh")));
}

#[test]
fn lanes_are_limited_and_end_with_their_consumers() {
    let most = EventLanes::MOST;
    let scene = Scene::with(|container| container.events_in_lanes().max_connections(most + 1));
    let cockpit = scene.cockpit();
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    let subscribe = || cockpit.rate.subscribe_pulse(refresh.as_ref());
    let cookies: Vec<_> = (0..most).map(|_| subscribe().unwrap()).collect();
    let full = subscribe().unwrap_err();
    assert!(full.to_string().contains("IMP_LIMIT"), "{full}");
    cockpit.rate.unsubscribe_pulse(&cookies[0]).unwrap();
    subscribe().unwrap();
}

#[test]
fn sources_have_lanes() {
    let plan = Plan::lanes([LanePlan::new("low"), LanePlan::new("high")]);
    let channel = EventChannel::queued(ChannelOptions::default(), plan, Qos::default()).unwrap();
    let events = ComponentEvents::new(&channel, 1).dispatch_by(|source| {
        let lane = usize::from(source == "rate.pulse");
        Some(ConsumerDispatch {
            queue: Qos { lane, ..Qos::default() },
            ..ConsumerDispatch::default()
        })
    });
    let scene = Scene::with(|container| container.events_by(Arc::new(events)));
    let cockpit = scene.cockpit();
    let (tells, _go) = held(&scene, &cockpit);
    activate(&scene);
    let pulse = cockpit.pulse.get().unwrap();
    assert_eq!(pulse.push_pulse(tick(1)), pushed(1));
    let (_, thread) = tells.recv_timeout(PATIENCE).unwrap();
    assert!(thread.contains("high"), "{thread}");
}

#[test]
fn a_channel_that_is_full_or_gone_says_so() {
    let mut options = ChannelOptions::default();
    options.limits.consumers = 1;
    let channel = EventChannel::queued(options, Plan::pool(1), Qos::default()).unwrap();
    let events = ComponentEvents::new(&channel, 1);
    let scene = Scene::with(|container| container.events_by(Arc::new(events)));
    let cockpit = scene.cockpit();
    let refresh = cockpit.gps.get_consumer_refresh().unwrap();
    cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap();
    let full = cockpit.rate.subscribe_pulse(refresh.as_ref()).unwrap_err();
    assert!(full.to_string().contains("IMP_LIMIT"), "{full}");
    assert_eq!(subscribers(&cockpit), 1);
    activate(&scene);
    channel.destroy();
    let pulse = cockpit.pulse.get().unwrap();
    let lost = Pushed { delivered: 0, failed: 1 };
    assert_eq!(pulse.push_pulse(tick(1)), lost);
}
