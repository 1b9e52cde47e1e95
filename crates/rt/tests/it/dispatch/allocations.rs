//! A module allocates nothing in steady state, on either side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxorb_rt::dispatch::{DispatchingModule, ModulePlan, QueueStorage};
use oxorb_sched::Dispatching;
use oxorb_sched::queue::{Taken, Timing};
use oxorb_testkit::alloc::fewest_allocations;
use oxorb_testkit::process::alone;

#[test]
fn nothing_is_allocated_from_dispatch_to_run() {
    // The counter includes the allocations of all threads, so other tests must not run meanwhile.
    if !alone(nothing_is_allocated_from_dispatch_to_run) {
        return;
    }
    for storage in [QueueStorage::List, QueueStorage::Heap] {
        let done = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&done);
        let mut plan = ModulePlan::new("steady", Dispatching::Laxity);
        plan.storage = storage;
        let module = DispatchingModule::start(plan, move |_: Taken<u64>| {
            seen.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        let run = |from: u64, to: u64| {
            for number in from..to {
                let timing =
                    Timing { deadline: u64::MAX / 2 - number * 31 % 17, ..Timing::default() };
                module.dispatch(number, timing).unwrap();
                if number % 100 == 99 {
                    while done.load(Ordering::Relaxed) <= number {
                        std::thread::yield_now();
                    }
                }
            }
        };
        run(0, 200);
        let mut from = 200;
        let made = fewest_allocations(|| {
            run(from, from + 800);
            from += 800;
        });
        assert_eq!(made.count, 0, "{storage:?}");
    }
}
