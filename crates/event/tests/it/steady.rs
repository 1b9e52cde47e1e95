//! Queued events cost no allocation anywhere in the process, once every part is warm.
//!
//! Runs in a separate process: allocations of all threads count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use oxorb_event::delivery::{Dispatching, LanePlan, Plan, Qos};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, ConsumerDispatch, EventChannel, Filter, asks_for, publishes};
use oxorb_testkit::alloc::process_allocations;
use oxorb_testkit::process::alone;

/// Maximum number of rounds until one allocates nothing.
const ROUNDS: u64 = 20;

/// Further rounds, none of which may allocate.
const MORE: u64 = 5;

const EVENTS: u64 = 1_000;

const CONSUMERS: u64 = 10;

/// Number of events that wait at first, more than ever will again.
const DEEP: u64 = 32;

/// Whether consumers block their lanes.
static HELD: AtomicBool = AtomicBool::new(true);

struct Counter(Arc<AtomicU64>);

impl PushConsumer for Counter {
    fn push(&self, events: &[Event]) {
        while HELD.load(Relaxed) {
            thread::yield_now();
        }
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn a_queued_event_costs_no_allocation_once_warm() {
    if !alone(a_queued_event_costs_no_allocation_once_warm) {
        return;
    }
    // Without spare threads: a busy machine may stop a thread for so long that its lane starts another one, which
    // allocates.
    let lane = |name: &str, dispatching| LanePlan { spares: 0, dispatching, ..LanePlan::new(name) };
    let lanes = |dispatching| Plan::lanes([lane("low", dispatching), lane("high", dispatching)]);
    let pool = Plan::lanes([LanePlan { threads: 2, ..lane("pool", Dispatching::Static) }]);
    steady("a pool", pool);
    steady("lanes by priority", lanes(Dispatching::Static));
    steady("lanes by deadline", lanes(Dispatching::Deadline));
    steady("lanes by laxity", lanes(Dispatching::Laxity));
}

/// Pushes through a channel with this plan, until a round allocates nothing, and then some more.
fn steady(form: &str, plan: Plan) {
    HELD.store(true, Relaxed);
    let lanes = plan.lanes.len();
    let options = ChannelOptions { latency: true, ..ChannelOptions::default() };
    let channel = EventChannel::queued(options, plan, Qos::default()).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let wanted = asks_for(&Filter::event(17, 1));
    let consumers = (0..CONSUMERS).map(|number| {
        let in_lane = ConsumerDispatch {
            queue: Qos { lane: number as usize % lanes, ..Qos::default() },
            deadline: Some(Duration::from_millis(number)),
            ..ConsumerDispatch::default()
        };
        let counter = Arc::new(Counter(Arc::clone(&count)));
        channel.connect_consumer_with(counter, &wanted, in_lane)
    });
    let _consumers: Vec<_> = consumers.collect::<Result<_, _>>().unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (17, 1);
    event.data.payload = vec![7; 1_000];
    let events = [event];
    // The number of sets and slots in queues depends on the most events that ever waited.
    let mut pushed = DEEP;
    for _ in 0..pushed {
        supplier.push(&events).unwrap();
    }
    HELD.store(false, Relaxed);
    while count.load(Relaxed) < pushed * CONSUMERS {
        thread::yield_now();
    }
    let mut run = || {
        for number in 0..EVENTS {
            supplier.push(&events).unwrap();
            pushed += 1;
            // A few events wait at a time.
            while number % 16 == 15 && count.load(Relaxed) < pushed * CONSUMERS {
                thread::yield_now();
            }
        }
        while count.load(Relaxed) < pushed * CONSUMERS {
            thread::yield_now();
        }
    };
    let mut made = || process_allocations(&mut run).1.count;
    assert!((0..ROUNDS).any(|_| made() == 0), "{form}: each round allocates");
    for _ in 0..MORE {
        assert_eq!(made(), 0, "{form}");
    }
    for one in channel.statistics().consumers {
        let latency = one.latency.expect("it is measured");
        assert_eq!(latency.count, one.delivered);
        assert!(latency.quantile(0.5) <= latency.quantile(0.99));
    }
}
