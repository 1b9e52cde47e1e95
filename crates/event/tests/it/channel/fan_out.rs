//! An event for many remote consumers is marshalled only once, in any dispatch mode.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::cdr::{Encode, Encoder, Result as CdrResult};
use oxorb::values::{TypeCode, Typed};
use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{ChannelOptions, EventChannel, Filter, Publisher, RemoteChannel, Subscriber};

use crate::channel::{asks, event, publishes};

const CONSUMERS: u64 = 100;
const EVENTS: u64 = 20;

/// A value that counts how often it is marshalled.
struct Counted(Arc<AtomicU64>);

impl Typed for Counted {
    fn type_code() -> TypeCode {
        TypeCode::ULONG
    }
}

impl Encode for Counted {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        self.0.fetch_add(1, Relaxed);
        e.ulong(7);
        Ok(())
    }
}

struct Counter(Arc<AtomicU64>);

impl PushConsumer for Counter {
    fn push(&self, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn an_event_is_marshalled_once_for_a_hundred_consumers_elsewhere() {
    let options = ChannelOptions::default;
    let queued = EventChannel::queued(options(), Plan::pool(2), Qos::default()).unwrap();
    for channel in [EventChannel::new(options()), queued] {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let served = channel.serve(&server, "EventService").unwrap();
        let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let far: EventChannelRef = client.resolve(&served.reference().to_ior()).unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let admin = far.for_consumers().unwrap().unwrap();
        for _ in 0..CONSUMERS {
            let counter = Counter(Arc::clone(&count));
            let object: PushConsumerRef = client.root_poa().activate(counter).unwrap();
            let proxy = admin.obtain_push_supplier().unwrap().unwrap();
            let connected = proxy.connect_push_consumer(Some(&object), &asks(&Filter::ALL));
            connected.unwrap();
        }
        let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
        let marshalled = Arc::new(AtomicU64::new(0));
        let mut with = event(17, 1, 1);
        with.data.any_value = oxorb::Any::new(Counted(Arc::clone(&marshalled)));
        for number in 1..=EVENTS {
            supplier.push(std::slice::from_ref(&with)).unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            while count.load(Relaxed) < number * CONSUMERS {
                assert!(Instant::now() < until, "{count:?} of {number} events");
                std::thread::yield_now();
            }
        }
        assert_eq!(marshalled.load(Relaxed), EVENTS);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Thread-local buffers must be dropped in a safe order. The end of such a thread once aborted the process.
#[test]
fn a_thread_that_pushed_to_consumers_elsewhere_ends_in_order() {
    let listening = || {
        let orb = Orb::builder().listen("iiop://127.0.0.1:0");
        orb.build().unwrap()
    };
    let (server, orb) = (listening(), listening());
    let plan = Plan::pool(1);
    let options = ChannelOptions::default();
    let channel = EventChannel::queued(options, plan, Qos::default()).unwrap();
    let served = channel.serve(&server, "EventService").unwrap();
    let reference = served.reference().to_ior();
    let remote = RemoteChannel::at(&orb, &reference).unwrap();
    let levels = Subscriber::<u32>::new(&remote, "level").unwrap();
    for _ in 0..3 {
        let channel = channel.clone();
        let pushing = thread::spawn(move || {
            let tank = Publisher::<u32>::new(&channel, "level", "tank").unwrap();
            for number in 0..200 {
                tank.publish(&number).unwrap();
            }
        });
        pushing.join().unwrap();
        // Compare only the number of events, because events between these two ORBs may overtake each other.
        assert_eq!(levels.iter().take(200).count(), 200);
    }
    drop(levels);
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
