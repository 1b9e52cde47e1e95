//! Cost of a distributable thread's call after warm-up: no allocation and no lock shared with
//! another thread.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::Orb;
use oxorb::rt::Priority;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb_core::lock;
use oxorb_rtscheduling::{
    Enforcement, Exclusive, Fp, FpParameter, Kokyu, Muf, MufParameter, RtScheduling, Scheduler,
};
use oxorb_testkit::alloc::{self, allocations};
use oxorb_testkit::watchdog;

use crate::common::*;

const WARM_UP: usize = 200;
const CALLS: usize = 200;

/// Counts of the serving thread at the last call: allocations, and locks of the ORB that it took.
type Used = (u64, u64);

fn used() -> Used {
    let locks = lock::taken().expect("tests are debug builds");
    (alloc::local().count, locks)
}

/// Makes calls in a segment; returns the counts of client and server for them.
fn calls<S: Scheduler>(scheduling: &RtScheduling<S>, parameter: S::Parameter) -> [Used; 2] {
    let busy = Duration::from_secs(20);
    let near = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .concurrency(Concurrency::ThreadPerConnection)
        .configure(|options| options.worker_stay = busy)
        .scheduling_interceptor(scheduling.interceptor())
        .build()
        .unwrap();
    let home = Orb::builder()
        .client_connections(ClientConnections::Private)
        .configure(|options| options.trust_idle = busy)
        .scheduling_interceptor(scheduling.interceptor())
        .build()
        .unwrap();
    let seen = Arc::new(Mutex::new(Vec::with_capacity(WARM_UP + 2 * CALLS)));
    let notes = Arc::clone(&seen);
    let current = scheduling.current(&near);
    let object = serve(&near, move |_| {
        assert!(current.id().is_some());
        notes.lock().unwrap().push(used());
        Ok(())
    });
    let object = seen_by(&home, &object);
    let current = scheduling.current(&home);
    let segment = current.begin_scheduling_segment("warm", parameter, None).unwrap();
    (0..WARM_UP).for_each(|_| run(&object).unwrap());
    seen.lock().unwrap().clear();
    let before = lock::taken().unwrap();
    let (_, allocated) = allocations(|| (0..CALLS).for_each(|_| run(&object).unwrap()));
    let client = (allocated.count, lock::taken().unwrap() - before);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let (first, last) = (seen[0], seen[CALLS - 1]);
    segment.end().unwrap();
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
    [client, (last.0 - first.0, last.1 - first.1)]
}

#[test]
fn a_warm_thread_allocates_nothing_and_takes_no_lock_of_the_orb() {
    let _watch = watchdog(LONG);
    let fp = RtScheduling::new(Kokyu::<Fp>::new(Enforcement::default()));
    let parameter = FpParameter { priority: Priority::new(100).unwrap() };
    assert_eq!(calls(&fp, parameter), [(0, 0); 2]);
    let parameter = MufParameter::within(3, Duration::from_secs(60), Duration::ZERO);
    let muf = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::default()));
    assert_eq!(calls(&muf, parameter), [(0, 0); 2]);
    let exclusive = Enforcement::Exclusive(Exclusive::default());
    let muf = RtScheduling::new(Kokyu::<Muf>::new(exclusive));
    assert_eq!(calls(&muf, parameter), [(0, 0); 2]);
}

#[test]
fn a_warm_call_within_the_process_allocates_nothing() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Kokyu::<Fp>::new(Enforcement::default()));
    let near = server(&scheduling);
    let object = serve(&near, |_| Ok(()));
    let current = scheduling.current(&near);
    let parameter = FpParameter { priority: Priority::new(100).unwrap() };
    let segment = current.begin_scheduling_segment("warm", parameter, None).unwrap();
    (0..WARM_UP).for_each(|_| run(&object).unwrap());
    let (_, allocated) = allocations(|| (0..CALLS).for_each(|_| run(&object).unwrap()));
    assert_eq!(allocated.count, 0);
    segment.end().unwrap();
    near.shutdown(true).unwrap();
}
