//! Events of remote suppliers reach remote consumers unchanged, whatever their size and byte order.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::values::ByteOrder;
use oxorb::{Any, Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{ChannelOptions, EventChannel, Filter, in_order};

use crate::channel::{asks, publishes};

struct Forwards(Mutex<Sender<Event>>);

impl PushConsumer for Forwards {
    fn push(&self, events: &[Event]) {
        let came = self.0.lock().unwrap();
        events.iter().for_each(|one| drop(came.send(one.clone())));
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn orb(order: ByteOrder) -> Orb {
    let builder = in_order(Orb::builder()).configure(|options| options.byte_order = order);
    builder.listen("iiop://127.0.0.1:0").build().unwrap()
}

fn sent(octets: usize) -> Event {
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (17, 1);
    event.header.ttl = 7;
    event.header.creation_time = 0x0102_0304_0506_0708;
    event.data.pad1 = -2;
    event.data.payload = (0..octets).map(|at| at as u8).collect();
    event
}

/// Sends events through a channel, with a supplier's and a consumer's ORB of these byte orders.
fn pass(channel: &EventChannel, supplier: ByteOrder, consumer: ByteOrder) {
    let server = orb(ByteOrder::NATIVE);
    let served = channel.serve(&server, "EventService").unwrap();
    let ior = served.reference().to_ior();
    let (to, came) = channel_of_events();
    let taking = orb(consumer);
    let far: EventChannelRef = taking.resolve(&ior).unwrap();
    let consumers = far.for_consumers().unwrap().unwrap();
    let object: PushConsumerRef = taking.root_poa().activate(Arc::new(to)).unwrap();
    let proxy = consumers.obtain_push_supplier().unwrap().unwrap();
    let wanted = asks(&Filter::event_type(17));
    proxy.connect_push_consumer(Some(&object), &wanted).unwrap();
    let giving = orb(supplier);
    let far: EventChannelRef = giving.resolve(&ior).unwrap();
    let suppliers = far.for_suppliers().unwrap().unwrap();
    let proxy = suppliers.obtain_push_consumer().unwrap().unwrap();
    let published = publishes([(17, 1)]);
    proxy.connect_push_supplier(None, &published).unwrap();
    let mut all: Vec<Event> = [0, 1, 7, 8, 1_000, 70_000].map(sent).into();
    let mut valued = sent(3);
    valued.data.any_value = Any::new("Grüße".to_owned());
    all.push(valued);
    for event in &all {
        proxy.push(std::slice::from_ref(event)).unwrap();
    }
    proxy.push(&all).unwrap();
    for wanted in all.iter().chain(&all) {
        let event = came.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(event == *wanted, "{:?}, {:?}", event.header, wanted.header);
    }
    for orb in [giving, taking, server] {
        orb.shutdown(true).unwrap();
    }
}

fn channel_of_events() -> (Forwards, std::sync::mpsc::Receiver<Event>) {
    let (to, came) = channel();
    (Forwards(Mutex::new(to)), came)
}

#[test]
fn events_from_elsewhere_reach_elsewhere_unchanged() {
    for supplier in [ByteOrder::Big, ByteOrder::Little] {
        for consumer in [ByteOrder::Big, ByteOrder::Little] {
            pass(&EventChannel::new(ChannelOptions::default()), supplier, consumer);
            let plan = Plan::pool(1);
            let queued = EventChannel::queued(ChannelOptions::default(), plan, Qos::default());
            pass(&queued.unwrap(), supplier, consumer);
        }
    }
}
