//! Queued events cause no allocation in the process, after warm-up.
//!
//! Runs in a separate process, because the allocations of all threads are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use oxorb_event::delivery::{Dispatching, LanePlan, Plan, Qos};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, ConsumerDispatch, EventChannel, Filter, asks_for, publishes};
use oxorb_testkit::alloc::process_allocations;
use oxorb_testkit::process::alone;

/// Maximum number of rounds until the first one that allocates nothing.
const ROUNDS: u64 = 20;

/// Number of further rounds, none of which may allocate.
const MORE: u64 = 5;

const EVENTS: u64 = 1_000;

const CONSUMERS: u64 = 10;

/// Number of events that wait at the start. Later, fewer events wait at any time.
const DEEP: u64 = 32;

/// Whether consumers block the threads that deliver to them.
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
    // Permit no spare threads: on a busy machine a thread may be stopped for so long that its lane starts a spare
    // thread, which allocates memory.
    let lane = |name: &str, dispatching| LanePlan { spares: 0, dispatching, ..LanePlan::new(name) };
    let lanes = |dispatching| Plan::lanes([lane("low", dispatching), lane("high", dispatching)]);
    let pool = Plan::lanes([LanePlan { threads: 2, ..lane("pool", Dispatching::Static) }]);
    steady("a pool", pool);
    steady("lanes by priority", lanes(Dispatching::Static));
    steady("lanes by deadline", lanes(Dispatching::Deadline));
    steady("lanes by laxity", lanes(Dispatching::Laxity));
}

/// Pushes events through a channel with this plan until a round allocates nothing, and then makes further rounds.
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
    // First make more events wait than in any later round, because this number determines how many sets and slots are
    // allocated.
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
            // Wait after every 16 events, so that only a few events wait at a time.
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
