//! Number of allocations for a structured event from a warm channel to remote consumers, in all threads of the process.
//!
//! Runs in a separate process, because the allocations of all threads are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use oxorb::{Any, Interface as _, Orb, Outcome, Servant, Upcall};
use oxorb_notify::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelRef, StructuredProxyPushConsumerRef, StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_comm::StructuredPushConsumerRef;
use oxorb_notify::cos_notify_filter::ConstraintExp;
use oxorb_notify::{NotifyService, Settings};
use oxorb_testkit::alloc::process_allocations;
use oxorb_testkit::process::alone;
use oxorb_testkit::watchdog;

/// Number of events in one round.
const EVENTS: u64 = 100;

/// Maximum number of rounds until one has the minimum cost.
const ROUNDS: u64 = 20;

/// Number of allocations for an event that do not depend on the number of its consumers: its strings, lists and values,
/// decoded from the supplier's request, and the block that the queues share.
const EACH: u64 = 29;

/// A consumer that counts events without decoding them.
struct Counter(Arc<AtomicU64>);

impl Servant for Counter {
    fn repository_id(&self) -> &str {
        "IDL:omg.org/CosNotifyComm/StructuredPushConsumer:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        if upcall.operation() == "push_structured_event" {
            self.0.fetch_add(1, Relaxed);
        }
        upcall.done()
    }
}

fn event() -> StructuredEvent {
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader {
                event_type: EventType {
                    domain_name: "plant".to_owned(),
                    type_name: "level".to_owned(),
                },
                event_name: "tank".to_owned(),
            },
            variable_header: vec![Property { name: "Priority".to_owned(), value: Any::new(3_i16) }],
        },
        filterable_data: vec![Property { name: "number".to_owned(), value: Any::new(7_i32) }],
        remainder_of_body: Any::new(vec![7_u8; 500]),
    }
}

fn consume(orb: &Orb, channel: &EventChannelRef, count: &Arc<AtomicU64>) {
    let servant = Arc::new(Counter(Arc::clone(count)));
    let consumer = orb.root_poa().activate_servant(servant).unwrap();
    let consumer = StructuredPushConsumerRef::from_ref(consumer);
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: StructuredProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let filters = channel.default_filter_factory().unwrap().unwrap();
    let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let constraint = ConstraintExp {
        event_types: Vec::new(),
        constraint_expr: "$number == 7 and $Priority < 5".to_owned(),
    };
    filter.add_constraints(&[constraint]).unwrap();
    proxy.add_filter(Some(&filter)).unwrap();
    proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
}

/// Returns the number of allocations for one event with this number of consumers, after warm-up.
fn cost(consumers: u64) -> u64 {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    // Permit no spare threads: on a busy machine a thread may be stopped for so long that a spare thread starts, which
    // allocates memory.
    let settings =
        Settings { spare_threads: 0, call_timeout: Duration::from_secs(60), ..Settings::default() };
    let service = NotifyService::start_with(&server, settings).unwrap();
    let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel = service.event_channel().unwrap().to_ior();
    let channel: EventChannelRef = client.resolve(&channel).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    for _ in 0..consumers {
        consume(&client, &channel, &count);
    }
    let admin = channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let supplier: StructuredProxyPushConsumerRef = proxy.unwrap().unchecked_narrow();
    supplier.connect_structured_push_supplier(None).unwrap();
    let (event, mut pushed) = (event(), 0);
    let mut round = || {
        for _ in 0..EVENTS {
            supplier.push_structured_event(&event).unwrap();
            pushed += consumers;
            while count.load(Relaxed) < pushed {
                thread::yield_now();
            }
        }
    };
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(process_allocations(&mut round).1.count);
        if least <= EACH * EVENTS {
            break;
        }
    }
    let counts = service.counts();
    assert!(counts.is_balanced() && counts.dropped_in_all() == 0, "{counts:?}");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    assert_eq!(least % EVENTS, 0, "{least}: each event costs the same");
    least / EVENTS
}

#[test]
fn an_event_costs_the_allocations_of_its_reading_and_a_consumer_none() {
    if !alone(an_event_costs_the_allocations_of_its_reading_and_a_consumer_none) {
        return;
    }
    let _guard = watchdog(Duration::from_secs(300));
    let (one, ten) = (cost(1), cost(10));
    println!("{one} allocations with one consumer, {ten} with ten");
    assert_eq!(one, ten, "no consumer costs an allocation");
    assert_eq!(one, EACH);
}
