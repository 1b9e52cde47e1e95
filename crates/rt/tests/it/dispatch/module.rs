//! Modules keep the order of their strategy, their bounds, and their policy for late requests.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use oxorb_rt::dispatch::{
    DispatchingModule, ModulePlan, ModuleStartError, ModuleThreads, QueueStorage,
};
use oxorb_sched::Dispatching;
use oxorb_sched::queue::{Full, Missed, Taken, Timing};
use oxorb_sys::clock::monotonic_nanoseconds;
use oxorb_sys::schedule::{self, Reservation, SchedulingClass, ThreadPriority, ThreadScheduling};
use oxorb_sys::thread::ThreadRegistry;
use oxorb_testkit::patience::is_over;
use oxorb_testkit::{require_realtime, require_reservations};

const SECOND: u64 = 1_000_000_000;
const SOON: Duration = Duration::from_secs(20);

/// Module whose thread waits at a gate with its first request, so that the others queue up.
struct Held {
    module: DispatchingModule<u32>,
    open: Sender<()>,
    order: Receiver<Taken<u32>>,
}

fn held(plan: ModulePlan) -> Held {
    let (open, gate) = mpsc::channel::<()>();
    let (tell, order) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    let gate = std::sync::Mutex::new(gate);
    let module = DispatchingModule::start(plan, move |taken| {
        if taken == Taken::Due(0) {
            let _ = begun.send(());
            let _ = gate.lock().unwrap().recv();
        }
        let _ = tell.send(taken);
    })
    .unwrap();
    module.dispatch(0, at(3600 * SECOND, 0, 0)).unwrap();
    has_begun.recv_timeout(SOON).unwrap();
    Held { module, open, order }
}

fn at(from_now: u64, execution: u64, order: u32) -> Timing {
    Timing { deadline: monotonic_nanoseconds() + from_now, execution, order }
}

impl Held {
    fn release(&self, many: usize) -> Vec<Taken<u32>> {
        self.open.send(()).unwrap();
        let next = |_| self.order.recv_timeout(SOON).unwrap();
        assert_eq!(next(0), Taken::Due(0));
        (0..many).map(next).collect()
    }
}

fn plan(dispatching: Dispatching, storage: QueueStorage) -> ModulePlan {
    let mut plan = ModulePlan::new("test", dispatching);
    plan.storage = storage;
    plan
}

#[test]
fn requests_leave_in_the_order_of_the_strategy() {
    // Each request has a deadline, an execution time and an order. The expected sequences number
    // the requests from 1.
    let requests = [
        (900 * SECOND, 100 * SECOND, 1),
        (700 * SECOND, 10 * SECOND, 3),
        (800 * SECOND, 200 * SECOND, 0),
        (950 * SECOND, 400 * SECOND, 2),
    ];
    for (dispatching, expected) in [
        (Dispatching::Static, [3, 1, 4, 2]),
        (Dispatching::Deadline, [2, 3, 1, 4]),
        (Dispatching::Laxity, [4, 3, 2, 1]),
    ] {
        for storage in [QueueStorage::List, QueueStorage::Heap] {
            let held = held(plan(dispatching, storage));
            for (number, (deadline, execution, order)) in requests.into_iter().enumerate() {
                let timing = at(deadline, execution, order);
                held.module.dispatch(number as u32 + 1, timing).unwrap();
            }
            let order = held.release(4);
            assert_eq!(order, expected.map(Taken::Due), "{dispatching} in {storage:?}");
        }
    }
}

#[test]
fn a_full_queue_gives_the_request_back() {
    for storage in [QueueStorage::List, QueueStorage::Heap] {
        let mut small = plan(Dispatching::Deadline, storage);
        small.capacity = 2;
        let held = held(small);
        held.module.dispatch(1, at(SECOND * 60, 0, 0)).unwrap();
        held.module.dispatch(2, at(SECOND * 60, 0, 0)).unwrap();
        assert_eq!(held.module.dispatch(3, at(1, 0, 0)), Err(Full(3)));
        let counts = held.module.counts();
        assert_eq!((counts.refused, counts.waiting), (1, 2));
        assert_eq!(held.release(2), [Taken::Due(1), Taken::Due(2)]);
    }
}

#[test]
fn late_requests_run_wait_or_are_dropped() {
    for (missed, expected) in [
        (Missed::Run, [Taken::Late(1), Taken::Due(2)]),
        (Missed::Demote, [Taken::Due(2), Taken::Late(1)]),
        (Missed::Drop, [Taken::Dropped(1), Taken::Due(2)]),
    ] {
        let mut plan = plan(Dispatching::Laxity, QueueStorage::Heap);
        plan.missed = missed;
        let held = held(plan);
        held.module.dispatch(1, at(SECOND, SECOND, 0)).unwrap();
        held.module.dispatch(2, at(SECOND * 60, 1, 0)).unwrap();
        assert_eq!(held.release(2), expected, "{missed:?}");
        assert_eq!(held.module.counts().missed, 1);
    }
}

#[test]
fn no_request_is_slept_through() {
    let mut several = plan(Dispatching::Static, QueueStorage::List);
    several.threads = 3;
    let (tell, told) = mpsc::channel();
    let module = Arc::new(
        DispatchingModule::start(several, move |taken| {
            let _ = tell.send(taken);
        })
        .unwrap(),
    );
    let start = Arc::new(Barrier::new(4));
    const EACH: u32 = 500;
    let senders: Vec<_> = (0..4)
        .map(|sender| {
            let (module, start) = (Arc::clone(&module), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                for number in 0..EACH {
                    let timing = Timing { order: number, ..Timing::default() };
                    while module.dispatch(sender * EACH + number, timing).is_err() {
                        std::thread::yield_now();
                    }
                    if number % 7 == 0 {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            })
        })
        .collect();
    let begun = Instant::now();
    let mut seen = vec![false; 4 * EACH as usize];
    for _ in 0..seen.len() {
        match told.recv_timeout(SOON).unwrap() {
            Taken::Due(number) => assert!(!std::mem::replace(&mut seen[number as usize], true)),
            other => panic!("{other:?}"),
        }
    }
    // Each lost wake-up would delay a request by half a second, until its thread rechecks the
    // queue.
    assert!(!is_over(begun, SOON));
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn a_panic_costs_one_request() {
    let (tell, told) = mpsc::channel();
    let module =
        DispatchingModule::start(plan(Dispatching::Static, QueueStorage::Heap), move |taken| {
            assert_ne!(taken, Taken::Due(1), "as a servant might");
            let _ = tell.send(taken);
        })
        .unwrap();
    for number in [1, 2] {
        module.dispatch(number, Timing::default()).unwrap();
    }
    assert_eq!(told.recv_timeout(SOON), Ok(Taken::Due(2)));
}

#[test]
fn threads_have_the_priority_of_their_module() {
    if !require_realtime() {
        return;
    }
    let wanted = ThreadPriority { class: SchedulingClass::Fifo, priority: 3 };
    let mut urgent = plan(Dispatching::Static, QueueStorage::Heap);
    urgent.scheduling = ModuleThreads::At(wanted);
    let (tell, told) = mpsc::channel();
    let module = DispatchingModule::start(urgent, move |_: Taken<()>| {
        let _ = tell.send(schedule::current().unwrap());
    })
    .unwrap();
    module.dispatch((), Timing::default()).unwrap();
    let now = told.recv_timeout(SOON).unwrap();
    assert_eq!((now, module.is_real_time()), (wanted, true));
}

#[test]
fn threads_have_the_time_that_their_module_reserves() {
    let Some(_account) = require_reservations() else {
        return;
    };
    let period = Duration::from_millis(100);
    let mut reserving = plan(Dispatching::Static, QueueStorage::Heap);
    reserving.scheduling = ModuleThreads::Reserved(Reservation {
        runtime: Duration::from_millis(2),
        deadline: period,
        period,
    });
    let (tell, told) = mpsc::channel();
    let registry = Arc::new(ThreadRegistry::default());
    reserving.listed = Some(Arc::clone(&registry));
    let ModuleThreads::Reserved(asked) = reserving.scheduling else {
        unreachable!("set above");
    };
    let module = DispatchingModule::start(reserving, move |_: Taken<()>| {
        let _ = tell.send(schedule::is_reserved());
    })
    .unwrap();
    module.dispatch((), Timing::default()).unwrap();
    assert_eq!(told.recv_timeout(SOON), Ok(true));
    let threads = registry.threads();
    assert_eq!(threads[0].actual.scheduling, ThreadScheduling::Reserved(asked));
    assert_eq!(threads[0].configured.scheduling, ThreadScheduling::Reserved(asked));
}

#[test]
fn a_plan_that_cannot_be_kept_is_refused() {
    let start = |plan| DispatchingModule::start(plan, |_: Taken<()>| {});
    let mut empty = plan(Dispatching::Static, QueueStorage::Heap);
    empty.capacity = 0;
    assert!(matches!(start(empty), Err(ModuleStartError::Nothing)));
    let mut greedy = plan(Dispatching::Static, QueueStorage::Heap);
    greedy.scheduling = ModuleThreads::Reserved(Reservation {
        runtime: Duration::from_millis(20),
        deadline: Duration::from_millis(10),
        period: Duration::from_millis(10),
    });
    let refused = start(greedy).unwrap_err();
    assert!(matches!(refused, ModuleStartError::Reservation(_)));
    assert!(refused.to_string().contains("20ms"), "{refused}");
}

#[test]
fn stopping_gives_back_what_waits_and_ends_the_threads() {
    let held = held(plan(Dispatching::Deadline, QueueStorage::List));
    for number in 1..=3 {
        held.module.dispatch(number, at(SECOND * 60 * u64::from(number), 0, 0)).unwrap();
    }
    assert_eq!(held.module.stop(), [1, 2, 3]);
    assert_eq!(held.module.dispatch(4, Timing::default()), Err(Full(4)));
    held.open.send(()).unwrap();
    assert!(held.module.wait_ended(Instant::now() + SOON));
}
