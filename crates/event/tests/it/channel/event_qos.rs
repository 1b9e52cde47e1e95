//! The quality of service of a supplier's request is passed to consumers, in any dispatch mode.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender, channel};
use std::time::Duration;

use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::{CommunicationClass, Qos as AnnouncedQos, RequestQos, SyncScope};
use oxorb::rt::{
    Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane, current_qos,
};
use oxorb::{Interface as _, Orb, SystemExceptionKind, minor};
use oxorb_event::delivery::{Order, Plan, Qos, WhenFull};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{ChannelOptions, ConsumerDispatch, EventChannel, Filter, in_order, lane_at};

use crate::channel::{asks, publishes};

/// Time limit for events that must happen. No machine takes this long, however loaded it is.
const LONG: Duration = Duration::from_secs(60);

/// Records each event with its quality of service. It blocks until the test permits deliveries.
struct Notes {
    to: Mutex<Sender<(u8, Option<AnnouncedQos>)>>,
    gate: Arc<Mutex<()>>,
}

impl PushConsumer for Notes {
    fn push(&self, events: &[Event]) {
        for event in events {
            let first = event.data.payload.first().copied().unwrap_or(0);
            let _ = self.to.lock().unwrap().send((first, current_qos()));
        }
        drop(self.gate.lock());
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn event(number: u8) -> Event {
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (17, 1);
    event.data.payload = vec![number];
    event
}

fn said(importance: i32, class: CommunicationClass) -> AnnouncedQos {
    AnnouncedQos { importance, class, deadline: Some(LONG), ..AnnouncedQos::default() }
}

fn orb() -> Orb {
    let builder = in_order(Orb::builder());
    builder.listen("iiop://127.0.0.1:0").build().unwrap()
}

/// Connects a remote consumer and a remote supplier to the channel.
fn elsewhere(
    channel_: &EventChannel,
    consumer: Notes,
) -> ([Orb; 3], oxorb_event::rtec_event_channel_admin::ProxyPushConsumerRef) {
    let (server, taking, giving) = (orb(), orb(), orb());
    let ior = channel_.serve(&server, "EventService").unwrap().reference().to_ior();
    let far: EventChannelRef = taking.resolve(&ior).unwrap();
    let consumers = far.for_consumers().unwrap().unwrap();
    let object: PushConsumerRef = taking.root_poa().activate(Arc::new(consumer)).unwrap();
    let proxy = consumers.obtain_push_supplier().unwrap().unwrap();
    let wanted = asks(&Filter::event_type(17));
    proxy.connect_push_consumer(Some(&object), &wanted).unwrap();
    let far: EventChannelRef = giving.resolve(&ior).unwrap();
    let suppliers = far.for_suppliers().unwrap().unwrap();
    let proxy = suppliers.obtain_push_consumer().unwrap().unwrap();
    proxy.connect_push_supplier(None, &publishes([(17, 1)])).unwrap();
    ([server, taking, giving], proxy)
}

#[test]
fn consumers_elsewhere_are_told_what_the_supplier_said() {
    let queued = EventChannel::queued(ChannelOptions::default(), Plan::pool(1), Qos::default());
    let reactive = EventChannel::new(ChannelOptions::default());
    for channel_ in [reactive, queued.unwrap()] {
        let (to, told) = channel();
        let notes = Notes { to: Mutex::new(to), gate: Arc::default() };
        let (orbs, proxy) = elsewhere(&channel_, notes);
        let saying = proxy.with(RequestQos(said(7, CommunicationClass::MessageStream)));
        saying.push(&[event(1)]).unwrap();
        let (_, announced) = told.recv_timeout(LONG).unwrap();
        let announced = announced.expect("it goes on through the channel");
        assert_eq!((announced.importance, announced.class), (7, CommunicationClass::MessageStream));
        let left = announced.deadline.unwrap();
        assert!(left < LONG, "what is left of the deadline: {left:?}");
        proxy.push(&[event(2)]).unwrap();
        assert_eq!(told.recv_timeout(LONG).unwrap(), (2, None), "nothing was said");
        for orb in orbs.iter().rev() {
            orb.shutdown(true).unwrap();
        }
    }
}

/// More important events are delivered first, and at equal importance samples precede bulk data. If the queue is full,
/// the event that would be delivered last is dropped.
#[test]
fn importance_and_class_order_the_queue_of_a_consumer_and_decide_what_it_drops() {
    let queue = Qos {
        events: 3,
        order: Order::Priority,
        when_full: WhenFull::DropLeastUrgent,
        ..Qos::default()
    };
    let channel_ = EventChannel::queued(ChannelOptions::default(), Plan::pool(1), queue).unwrap();
    let (to, told) = channel();
    let gate = Arc::<Mutex<()>>::default();
    let closed = gate.lock().unwrap();
    let notes = Notes { to: Mutex::new(to), gate: Arc::clone(&gate) };
    let server = orb();
    let wanted = asks(&Filter::event_type(17));
    let _consumer = channel_.connect_consumer(Arc::new(notes), &wanted).unwrap();
    let ior = channel_.serve(&server, "EventService").unwrap().reference().to_ior();
    let giving = orb();
    let far: EventChannelRef = giving.resolve(&ior).unwrap();
    let suppliers = far.for_suppliers().unwrap().unwrap();
    let proxy = suppliers.obtain_push_consumer().unwrap().unwrap();
    proxy.connect_push_supplier(None, &publishes([(17, 1)])).unwrap();
    let push = |number, importance, class| {
        // Use a separate connection for each class, so that a shared connection does not determine the order.
        let saying = proxy.with(RequestQos(said(importance, class))).with(SyncScope::WithTarget);
        saying.push(&[event(number)]).unwrap();
    };
    // This event occupies the delivering thread until the others are queued.
    push(0, 0, CommunicationClass::Message);
    assert_eq!(told.recv_timeout(LONG).unwrap().0, 0);
    for (number, importance, class) in [
        (1, 0, CommunicationClass::Burst),
        (2, 0, CommunicationClass::Isochronous),
        (3, 5, CommunicationClass::Burst),
        (4, 0, CommunicationClass::Message),
    ] {
        push(number, importance, class);
    }
    drop(closed);
    let came: Vec<u8> = (0..3).map(|_| told.recv_timeout(LONG).unwrap().0).collect();
    assert_eq!(came, [3, 2, 4], "and bulk data that is worth nothing was dropped");
    giving.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Records the CORBA priority of the requests with which events arrive.
struct Priorities {
    orb: Orb,
    to: Mutex<Sender<Option<Priority>>>,
}

impl PushConsumer for Priorities {
    fn push(&self, events: &[Event]) {
        for _ in events {
            self.to.lock().unwrap().send(self.orb.thread_priority()).unwrap();
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// The test needs no privilege for real-time scheduling, because the priority is propagated without it.
#[test]
fn an_event_carries_the_priority_of_its_lane_to_consumers_elsewhere() {
    let listening = || Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (server, client) = (listening(), listening());
    let levels = [100, 20_000].map(|level| Priority::new(level).unwrap());
    let lanes = levels.map(|level| lane_at(&server, format!("at-{}", level.get()), level).unwrap());
    let plan = Plan::lanes(lanes);
    let channel = EventChannel::queued(ChannelOptions::default(), plan, Qos::default()).unwrap();
    // The first consumer gets the lane with the lower priority, and the second one the lane with the higher priority.
    let lane = AtomicUsize::new(0);
    channel.dispatch_by(move |_, dispatch| {
        let lane = lane.fetch_add(1, Ordering::Relaxed);
        ConsumerDispatch { queue: Qos { lane, ..dispatch.queue }, ..dispatch }
    });
    let served = channel.clone().serve(&server, "EventService").unwrap();
    let far: EventChannelRef = client.resolve(&served.reference().to_ior()).unwrap();
    let admin = far.for_consumers().unwrap().unwrap();
    let propagated =
        PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 0 };
    let realtime = RtPolicies { priority_model: Some(propagated), ..RtPolicies::default() };
    let poa = client.root_poa();
    let poa = poa.create_poa("consumers", Policies { realtime, ..Policies::default() }).unwrap();
    let heard = levels.map(|_| {
        let (to, heard) = mpsc::channel();
        let consumer = Priorities { orb: client.clone(), to: Mutex::new(to) };
        let object: PushConsumerRef = poa.activate(consumer).unwrap();
        let proxy = admin.obtain_push_supplier().unwrap().unwrap();
        proxy.connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap();
        heard
    });
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    for _ in 0..3 {
        supplier.push(&[event(1)]).unwrap();
        for (heard, level) in heard.iter().zip(levels) {
            assert_eq!(heard.recv_timeout(LONG), Ok(Some(level)));
        }
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// The test needs no privilege for real-time scheduling, because priorities select lanes without it.
#[test]
fn a_lane_of_the_channel_serves_the_suppliers_of_its_priority() {
    let (server, client) = (orb(), Orb::builder().build().unwrap());
    let levels = [100, 20_000].map(|level| Priority::new(level).unwrap());
    let lanes = levels.map(|level| ThreadpoolLane::new(level, 2));
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let propagated =
        PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 100 };
    let proxies = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(propagated),
        ..RtPolicies::default()
    };
    // Without queues, the thread that serves a push delivers its events.
    let channel = EventChannel::new(ChannelOptions::default());
    let (to, heard) = mpsc::channel();
    let consumer = Arc::new(Priorities { orb: server.clone(), to: Mutex::new(to) });
    let _consumer = channel.connect_consumer(consumer, &asks(&Filter::ALL)).unwrap();
    let contradictory = RtPolicies { priority_model: None, ..proxies };
    assert!(channel.serve_with(&server, "EventService", contradictory).is_err());
    let served = channel.serve_with(&server, "EventService", proxies).unwrap();
    let far: EventChannelRef = client.resolve(&served.reference().to_ior()).unwrap();
    let admin = far.for_suppliers().unwrap().unwrap();
    for level in levels {
        client.set_thread_priority(level).unwrap();
        let proxy = admin.obtain_push_consumer().unwrap().unwrap();
        proxy.connect_push_supplier(None, &publishes([(17, 1)])).unwrap();
        for _ in 0..3 {
            proxy.push(&[event(1)]).unwrap();
            assert_eq!(heard.recv_timeout(LONG), Ok(Some(level)));
        }
        // No lane has this priority.
        client.set_thread_priority(Priority::new(500).unwrap()).unwrap();
        let refused = proxy.disconnect_push_consumer().unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::InvPolicy);
        assert_eq!(refused.minor, minor::inv_policy::NO_LANE);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
