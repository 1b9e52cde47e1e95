//! An event passes through a local channel without an allocation, after warm-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{ChannelOptions, Control, EventChannel, Filter, asks_for, publishes};
use oxorb_testkit::alloc::allocations;

#[derive(Default)]
struct Counter(AtomicU64);

impl PushConsumer for Counter {
    fn push(&self, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn an_event_costs_no_allocation_in_the_channel() {
    let channel = EventChannel::new(ChannelOptions::default());
    let counter = Arc::new(Counter::default());
    let filters = [
        Filter::event_type(17),
        Filter::any_of([Filter::event(17, 1), Filter::source(1)]),
        Filter::all_of([Filter::event_type(17), Filter::not(Filter::source(2))]),
        Filter::event_type(18),
    ];
    let connect = |filter| channel.connect_consumer(counter.clone(), &asks_for(filter)).unwrap();
    let _consumers: Vec<_> = filters.iter().map(connect).collect();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let mut event = Event::default();
    event.header.r#type = 17;
    event.header.source = 1;
    event.data.payload = vec![7; 1_000];
    let events = [event];
    supplier.push(&events).unwrap();
    // Delivery takes place in the supplier's thread, so it suffices to count the allocations of this thread.
    let (_, made) = allocations(|| {
        for _ in 0..1_000 {
            supplier.push(&events).unwrap();
        }
    });
    assert_eq!(counter.0.load(Relaxed), 3 * 1_001);
    assert_eq!(made.count, 0, "{} octets", made.octets);
}

/// The supplier's thread marshals an event once and writes it to each consumer. It reuses the buffers for this.
#[test]
fn an_event_for_consumers_elsewhere_costs_its_supplier_no_allocation() {
    const CONSUMERS: u64 = 10;
    const EVENTS: u64 = 200;
    // Do not ping: while a ping uses a consumer's connection, a push opens another connection, which allocates memory.
    let options = ChannelOptions {
        control: Control { period: None, ..Control::default() },
        ..ChannelOptions::default()
    };
    let channel = EventChannel::new(options);
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let served = channel.serve(&server, "EventService").unwrap();
    let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let far: EventChannelRef = client.resolve(&served.reference().to_ior()).unwrap();
    let admin = far.for_consumers().unwrap().unwrap();
    let counters: Vec<_> = (0..CONSUMERS).map(|_| Arc::<Counter>::default()).collect();
    for counter in &counters {
        let object: PushConsumerRef = client.root_poa().activate(counter.clone()).unwrap();
        let proxy = admin.obtain_push_supplier().unwrap().unwrap();
        let wanted = asks_for(&Filter::event_type(17));
        proxy.connect_push_consumer(Some(&object), &wanted).unwrap();
    }
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (17, 1);
    event.data.payload = vec![7; 1_000];
    let events = [event];
    let mut pushed = 0;
    let mut run = || {
        let mut made = 0;
        for _ in 0..EVENTS {
            made += allocations(|| supplier.push(&events).unwrap()).1.count;
            pushed += 1;
            let until = Instant::now() + Duration::from_secs(60);
            let has_all = |one: &Arc<Counter>| one.0.load(Relaxed) == pushed;
            while !counters.iter().all(has_all) {
                assert!(Instant::now() < until, "events are lost");
                std::thread::yield_now();
            }
        }
        made
    };
    run();
    assert_eq!(run(), 0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
