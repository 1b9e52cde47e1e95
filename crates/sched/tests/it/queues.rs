//! Queues allocate nothing in steady state.

use oxorb_sched::Dispatching;
use oxorb_sched::queue::{DispatchQueue, Heap, List, Missed, Store, Taken, Timing};
use oxorb_testkit::alloc::allocations;

/// Fills and empties a queue repeatedly; the clock advances so that some requests are late.
fn churn<S: Store<Item = u64>>(missed: Missed) -> u64 {
    const CAPACITY: usize = 1_000;
    let mut taken = 0;
    for dispatching in [Dispatching::Static, Dispatching::Deadline, Dispatching::Laxity] {
        let mut queue: DispatchQueue<S> =
            DispatchQueue::with_capacity(dispatching, missed, CAPACITY);
        let (_, made) = allocations(|| {
            for round in 0..3u64 {
                for at in 0..CAPACITY as u64 {
                    let timing = Timing {
                        deadline: at * 7_919 % 1_009 + round,
                        execution: at % 13,
                        order: (at % 5) as u32,
                    };
                    queue.enqueue(at, timing).unwrap();
                }
                assert!(queue.enqueue(0, Timing::default()).is_err());
                while let Some(Taken::Due(_) | Taken::Late(_) | Taken::Dropped(_)) =
                    queue.dequeue(500)
                {
                    taken += 1;
                }
            }
        });
        assert_eq!(made.count, 0, "{dispatching}");
    }
    taken
}

#[test]
fn nothing_is_allocated_on_the_way_in_or_out() {
    for missed in [Missed::Run, Missed::Demote, Missed::Drop] {
        assert_eq!(churn::<Heap<u64>>(missed), 9_000);
        assert_eq!(churn::<List<u64>>(missed), 9_000);
    }
}
