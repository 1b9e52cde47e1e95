//! An event of a remote supplier is passed to a consumer in the channel's process without an allocation.
//!
//! Runs in a separate process, because the allocations of all threads are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, asks_for, publishes};
use oxorb_testkit::alloc::fewest_allocations;
use oxorb_testkit::process::alone;

const EVENTS: u64 = 200;

#[derive(Default)]
struct Octets(AtomicU64);

impl PushConsumer for Octets {
    fn push(&self, events: &[Event]) {
        let octets = events.iter().map(|one| one.data.payload.len() as u64);
        self.0.fetch_add(octets.sum(), SeqCst);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn an_event_of_a_supplier_elsewhere_costs_no_allocation_once_warm() {
    if !alone(an_event_of_a_supplier_elsewhere_costs_no_allocation_once_warm) {
        return;
    }
    // A quarter of this time is the interval of the checks for unused proxies, so several checks occur in each round.
    let channel = EventChannel::new(ChannelOptions {
        keep_unused: Duration::from_millis(40),
        ..ChannelOptions::default()
    });
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let served = channel.serve(&server, "EventService").unwrap();
    let client = Orb::builder().build().unwrap();
    let far: EventChannelRef = client.resolve(&served.reference().to_ior()).unwrap();
    let proxy = far.for_suppliers().unwrap().unwrap();
    let proxy = proxy.obtain_push_consumer().unwrap().unwrap();
    proxy.connect_push_supplier(None, &publishes([(17, 1)])).unwrap();
    let came = Arc::new(Octets::default());
    let _consumer =
        channel.connect_consumer(came.clone(), &asks_for(&Filter::event_type(17))).unwrap();
    let event = |octets: usize| {
        let mut event = Event::default();
        (event.header.r#type, event.header.source) = (17, 1);
        event.data.payload = vec![7; octets];
        event
    };
    let set = [event(1_000), event(10), event(0)];
    let mut pushed = 0;
    let mut run = || {
        for _ in 0..EVENTS {
            proxy.push(&set).unwrap();
            pushed += 1_010;
            let end = Instant::now() + Duration::from_secs(60);
            while came.0.load(SeqCst) < pushed {
                assert!(Instant::now() < end, "events are lost");
                thread::yield_now();
            }
        }
    };
    run();
    assert_eq!(fewest_allocations(run).count, 0, "each round allocates");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
