//! Neither offering nor delivering events allocates in steady state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxorb_delivery::*;
use oxorb_testkit::alloc::process_allocations;
use oxorb_testkit::process::alone;

use crate::common::PLAIN;

/// Maximum number of rounds until the first one that allocates nothing.
const ROUNDS: u64 = 20;

/// Number of further rounds, none of which may allocate.
const MORE: u64 = 5;

/// Counts deliveries.
struct Counter(Arc<AtomicU64>);

impl Sink<Arc<[u8]>> for Counter {
    fn deliver(&self, events: &[Arc<[u8]>]) -> Outcome {
        self.0.fetch_add(events.len() as u64, Ordering::Relaxed);
        Outcome::Delivered
    }
}

fn about(number: u64) -> Attributes {
    Attributes {
        priority: (number * 31 % 17) as i16,
        deadline: Some(u64::MAX / 2 - number * 7 % 11),
        // The expiry is far in the future, so that the heap of expiry times is used but no event expires.
        expiry: Some(u64::MAX - number),
        source: number % 5,
        octets: 8,
        ..PLAIN
    }
}

fn plans() -> [Plan; 4] {
    let by_laxity = LanePlan { dispatching: Dispatching::Laxity, ..LanePlan::new("laxity") };
    let plans = [
        Plan::reactive(),
        Plan::pool(2),
        Plan::lanes([LanePlan::new("low"), LanePlan::new("high")]),
        Plan::lanes([by_laxity]),
    ];
    plans.map(without_spares)
}

/// Returns the plan without spare threads: a busy machine may stop a thread for so long that its lane starts a spare
/// thread, which allocates.
fn without_spares(mut plan: Plan) -> Plan {
    plan.lanes.iter_mut().for_each(|lane| lane.spares = 0);
    plan
}

#[test]
fn nothing_is_allocated_once_warm() {
    // Run in a separate process, because the allocations of all threads are counted.
    if !alone(nothing_is_allocated_once_warm) {
        return;
    }
    let event: Arc<[u8]> = Arc::from(*b"8 octets");
    for (plan, order) in
        plans().into_iter().zip([Order::Fifo, Order::Priority, Order::Deadline, Order::Deadline])
    {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let done = Arc::new(AtomicU64::new(0));
        let outlets: Vec<_> =
            [WhenFull::DropOldest, WhenFull::DropLeastUrgent, WhenFull::DropEarliestDeadline]
                .into_iter()
                .enumerate()
                .map(|(number, when_full)| {
                    let qos = Qos {
                        order,
                        when_full,
                        batch: 1 + number,
                        lane: number % dispatcher.plan().lanes.len().max(1),
                        ..Qos::default()
                    };
                    let sink = Arc::new(Counter(Arc::clone(&done)));
                    dispatcher.connect(sink, qos).unwrap()
                })
                .collect();
        let mut offered = 0;
        let mut run = |events: u64| {
            for number in 0..events {
                dispatcher.offer_all(&outlets, &event, &about(number));
                offered += 3;
                if number % 50 == 49 {
                    while done.load(Ordering::Relaxed) < offered {
                        std::thread::yield_now();
                    }
                }
            }
        };
        // Make more events wait than in any later round, so that all buffers reach their final size.
        outlets.iter().for_each(Outlet::suspend);
        for number in 0..200 {
            dispatcher.offer_all(&outlets, &event, &about(number));
        }
        outlets.iter().for_each(Outlet::resume);
        while done.load(Ordering::Relaxed) < 600 {
            std::thread::yield_now();
        }
        done.store(0, Ordering::Relaxed);
        run(200);
        // The allocations of all threads are counted, including threads that are still starting. Once a round has
        // allocated nothing, no later round may allocate.
        let mut rounds = 0;
        let mut made = || {
            rounds += 1;
            process_allocations(|| run(2_000)).1.count
        };
        assert!((0..ROUNDS).any(|_| made() == 0), "{order:?}");
        for _ in 0..MORE {
            assert_eq!(made(), 0, "{order:?}");
        }
        let counts = dispatcher.counts();
        let offered = 3 * (400 + 2_000 * rounds);
        assert_eq!((counts.offered, counts.dropped_in_all()), (offered, 0));
    }
    pulling_and_dropping_allocate_nothing(&event);
}

fn pulling_and_dropping_allocate_nothing(event: &Arc<[u8]>) {
    let dispatcher = Dispatcher::start(Plan::reactive()).unwrap();
    for when_full in [
        WhenFull::DropNewest,
        WhenFull::DropOldest,
        WhenFull::DropLeastUrgent,
        WhenFull::DropEarliestDeadline,
        WhenFull::KeepLatest,
    ] {
        let qos = Qos { events: 16, order: Order::Priority, when_full, ..Qos::default() };
        let outlet = dispatcher.connect_pull(qos).unwrap();
        let run = |events: u64| {
            for number in 0..events {
                outlet.offer(event, &about(number));
                if number % 3 == 0 {
                    let _ = outlet.try_pull();
                }
            }
        };
        run(100);
        let ((), made) = process_allocations(|| run(1_000));
        assert_eq!(made.count, 0, "{when_full:?}");
        let counts = outlet.counts();
        assert!(counts.is_balanced() && counts.dropped_in_all() > 500);
    }
    let timers = Timers::manual(Arc::new(ManualClock::default()), 8);
    let timer = timers.add(|_| ()).unwrap();
    timer.after(Duration::from_millis(1));
    let ((), made) = process_allocations(|| {
        for _ in 0..100 {
            timer.after(Duration::from_millis(1));
            timer.stop();
        }
    });
    assert_eq!(made.count, 0);
}
