//! Consumers that have their own queue, lane and urgency.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Cause, LanePlan, Order, Plan, Qos, WhenFull, locks_taken};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{
    ChannelOptions, ConnectError, ConsumerDispatch, EventChannel, Filter, Publisher, RemoteChannel,
    Subscriber, SupplierConnection,
};

use crate::channel::{Record, asks, event, publishes};

/// Records its thread and the first octet of each event, and blocks until the test opens it.
#[derive(Default)]
struct Gate {
    came: Mutex<Vec<(String, u8)>>,
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait(&self, events: usize) -> Vec<(String, u8)> {
        let came = self.came.lock().unwrap();
        let came = self.changed.wait_while(came, |came| came.len() < events);
        came.unwrap().clone()
    }
}

impl PushConsumer for Gate {
    fn push(&self, events: &[Event]) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        let open = self.open.lock().unwrap();
        drop(self.changed.wait_while(open, |open| !*open).unwrap());
        let payload = events[0].data.payload[0];
        self.came.lock().unwrap().push((name, payload));
        self.changed.notify_all();
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn two_lanes() -> EventChannel {
    let plan = Plan::lanes([LanePlan::new("low"), LanePlan::new("high")]);
    EventChannel::queued(ChannelOptions::default(), plan, Qos::default()).unwrap()
}

fn in_lane(lane: usize) -> ConsumerDispatch {
    ConsumerDispatch { queue: Qos { lane, ..Qos::default() }, ..ConsumerDispatch::default() }
}

#[test]
fn each_consumer_is_dispatched_by_the_lane_it_asked_for() {
    let channel = two_lanes();
    let (low, high) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let all = asks(&Filter::ALL);
    let _low = channel.connect_consumer(low.clone(), &all).unwrap();
    let _high = channel.connect_consumer_with(high.clone(), &all, in_lane(1)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    high.open();
    supplier.push(&[event(17, 1, 7)]).unwrap();
    // This succeeds although the consumer in the other lane is blocked.
    let (thread, payload) = high.wait(1).remove(0);
    assert!(thread.contains("high") && payload == 7, "{thread}");
    low.open();
    assert!(low.wait(1)[0].0.contains("low"));
}

#[test]
fn events_are_ordered_and_dropped_by_the_priorities_of_the_consumer() {
    let channel = two_lanes();
    let gate = Arc::new(Gate::default());
    let urgent = ConsumerDispatch {
        queue: Qos {
            events: 3,
            order: Order::Priority,
            when_full: WhenFull::DropLeastUrgent,
            ..Qos::default()
        },
        priorities: vec![((18, 0), 9), ((0, 2), 5), ((0, 0), -1)],
        ..ConsumerDispatch::default()
    };
    let all = asks(&Filter::ALL);
    let _gate = channel.connect_consumer_with(gate.clone(), &all, urgent).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    let push = |event_type, source, payload| {
        let events = [event(event_type, source, payload)];
        supplier.push(&events).unwrap();
    };
    push(17, 1, 0);
    // When the queue is empty, the consumer has taken this event and is blocked in it.
    let queue = || channel.statistics().consumers[0].queue;
    while queue().octets > 0 {
        thread::yield_now();
    }
    push(17, 1, 1);
    push(17, 2, 2);
    push(18, 1, 3);
    push(18, 2, 4);
    gate.open();
    let order: Vec<u8> = gate.wait(4).iter().map(|came| came.1).collect();
    assert_eq!(order, [0, 3, 4, 2]);
    assert_eq!(queue().dropped(Cause::LeastUrgent), 1);
}

#[test]
fn the_owner_of_a_channel_chooses_for_consumers_elsewhere() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel = two_lanes();
    let chosen = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&chosen);
    channel.dispatch_by(move |wanted, dispatch| {
        seen.lock().unwrap().push(wanted.dependencies.last().unwrap().event.header.r#type);
        ConsumerDispatch { queue: Qos { lane: 1, ..dispatch.queue }, ..dispatch }
    });
    let served = channel.clone().serve(&server, "EventService").unwrap();
    let reference = served.reference().to_ior();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let remote = RemoteChannel::at(&orb, &reference).unwrap();
    let levels = Subscriber::<u32>::new(&remote, "level").unwrap();
    let tank = Publisher::<u32>::new(&channel, "level", "tank").unwrap();
    tank.publish(&7).unwrap();
    assert_eq!(levels.iter().next().unwrap().value, 7);
    assert_eq!(chosen.lock().unwrap().len(), 1);
    drop(levels);
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_queue_that_there_is_not_is_refused() {
    let all = asks(&Filter::ALL);
    let connect = |channel: &EventChannel, lane| {
        channel.connect_consumer_with(Record::new(), &all, in_lane(lane))
    };
    let queued = two_lanes();
    let refused = connect(&queued, 2).unwrap_err();
    assert!(matches!(refused, ConnectError::Queue(_)), "{refused}");
    let reactive = EventChannel::new(ChannelOptions::default());
    assert_eq!(connect(&reactive, 0).unwrap_err(), ConnectError::NoQueues);
}

/// Records which locks its lane took for each event.
#[derive(Default)]
struct Locks {
    taken: Mutex<Vec<usize>>,
    events: Mutex<u32>,
    changed: Condvar,
}

impl PushConsumer for Locks {
    fn push(&self, _: &[Event]) {
        let taken = locks_taken().expect("tests are debug builds");
        self.taken.lock().unwrap().extend(taken);
        *self.events.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "release builds count no locks")]
fn priorities_share_no_lock_for_an_event() {
    const EVENTS: u32 = 200;
    let channel = two_lanes();
    let (low, high) = (Arc::new(Locks::default()), Arc::new(Locks::default()));
    let run = |consumer: &Arc<Locks>, lane, event_type| {
        let wanted = asks(&Filter::event_type(event_type));
        let connected = channel.connect_consumer_with(consumer.clone(), &wanted, in_lane(lane));
        let supplier = channel.connect_supplier(None, &publishes([(event_type, 1)]));
        (connected.unwrap(), supplier.unwrap())
    };
    let push = |supplier: &SupplierConnection, consumer: &Locks, event_type| {
        // Discard the locks that connecting took.
        locks_taken();
        for number in 1..=EVENTS {
            supplier.push(&[event(event_type, 1, 7)]).unwrap();
            let events = consumer.events.lock().unwrap();
            let fewer = |events: &mut u32| *events < number;
            drop(consumer.changed.wait_while(events, fewer).unwrap());
        }
        let taken = locks_taken().expect("tests are debug builds");
        consumer.taken.lock().unwrap().extend(taken);
    };
    let (_low, low_supplier) = run(&low, 0, 17);
    let (_high, high_supplier) = run(&high, 1, 18);
    thread::scope(|scope| {
        scope.spawn(|| push(&low_supplier, &low, 17));
        scope.spawn(|| push(&high_supplier, &high, 18));
    });
    let locks = |of: &Locks| of.taken.lock().unwrap().iter().copied().collect::<BTreeSet<_>>();
    let (low, high) = (locks(&low), locks(&high));
    assert!(!low.is_empty() && !high.is_empty());
    assert!(low.is_disjoint(&high), "{low:x?} and {high:x?}");
}
