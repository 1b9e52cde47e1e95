//! Number of system calls for an event in each dispatch mode, after warm-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{LanePlan, Plan, Qos};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{
    ChannelOptions, Control, EventChannel, Filter, SupplierConnection, asks_for, publishes,
};
use oxorb_testkit::process::test_name;
use oxorb_testkit::{syscalls, watchdog};

const CONSUMERS: u64 = 10;
const EVENTS: u64 = 50;
const LIMIT: Duration = Duration::from_secs(120);

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

/// Pushes events, each when all consumers have received the previous one. `pushed` is the number of events that were
/// pushed before.
fn push_all(supplier: &SupplierConnection, counters: &[Arc<Counter>], pushed: u64, name: &str) {
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (17, 1);
    event.data.payload = vec![7; 1_000];
    for number in 1..=EVENTS {
        syscalls::section(name, || {
            supplier.push(std::slice::from_ref(&event)).unwrap();
        });
        while counters.iter().any(|one| one.0.load(Relaxed) < pushed + number) {
            thread::yield_now();
        }
    }
}

fn supplier(channel: &EventChannel) -> SupplierConnection {
    let connected = channel.connect_supplier(None, &publishes([(17, 1)]));
    connected.unwrap()
}

/// Pushes events from a local supplier to local consumers.
fn within(channel: &EventChannel, name: &str) {
    let counters: Vec<_> = (0..CONSUMERS).map(|_| Arc::<Counter>::default()).collect();
    let wanted = asks_for(&Filter::event_type(17));
    let connect = |counter: &Arc<Counter>| channel.connect_consumer(counter.clone(), &wanted);
    let connected: Result<Vec<_>, _> = counters.iter().map(connect).collect();
    let _connected = connected.unwrap();
    let supplier = supplier(channel);
    push_all(&supplier, &counters, 0, "warming up");
    push_all(&supplier, &counters, EVENTS, name);
}

#[test]
fn an_event_in_the_suppliers_thread_costs_no_system_call() {
    let _guard = watchdog(LIMIT);
    let name = test_name(an_event_in_the_suppliers_thread_costs_no_system_call);
    let trace = syscalls::traced(name, || {
        within(&EventChannel::new(ChannelOptions::default()), "events");
    });
    if let Some(trace) = trace {
        assert_eq!(trace.section("events").own, []);
    }
}

/// The supplier makes a system call only to wake a sleeping thread of a lane, or to take a lock that such a thread
/// holds.
#[test]
fn a_queued_event_costs_its_supplier_wake_ups_alone() {
    let _guard = watchdog(LIMIT);
    let name = test_name(a_queued_event_costs_its_supplier_wake_ups_alone);
    let trace = syscalls::traced(name, || {
        let plan = Plan::lanes(["low", "high"].map(LanePlan::new));
        let channel =
            EventChannel::queued(ChannelOptions::default(), plan, Qos::default()).unwrap();
        within(&channel, "events");
    });
    if let Some(trace) = trace {
        let own = &trace.section("events").own;
        assert_eq!(own.total(), own.of("futex"), "{own:?}");
    }
}

#[test]
fn an_event_for_consumers_of_one_process_elsewhere_costs_one_write() {
    let _guard = watchdog(LIMIT);
    let name = test_name(an_event_for_consumers_of_one_process_elsewhere_costs_one_write);
    let trace = syscalls::traced(name, || {
        // Do not ping: while a ping uses a consumer's connection, a push opens another connection, which makes further
        // system calls.
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
        let supplier = supplier(&channel);
        push_all(&supplier, &counters, 0, "warming up");
        push_all(&supplier, &counters, EVENTS, "events");
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
    if let Some(trace) = trace {
        let own = &trace.section("events").own;
        // On a stalled machine a connection may be considered idle, so it is peeked at before it is used. The octets
        // that were collected up to then are written before this peek. If the peek is for the last consumer, nothing is
        // left to write at the end.
        let (looks, writes) = (own.of(syscalls::PEEK), own.of("sendto"));
        let events = EVENTS as usize;
        assert!((events.max(looks)..=events + looks).contains(&writes), "{own:?}");
        assert_eq!(own.total(), writes + looks, "{own:?}");
    }
}
