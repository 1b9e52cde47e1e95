//! Cost of taking a request off a dispatching queue.

use std::hint::black_box;
use std::time::{Duration, Instant};

use oxorb_sched::Dispatching;
use oxorb_sched::queue::{DispatchQueue, Heap, Missed, Timing};
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use oxorb_sys::sync::Mutex;

use crate::doctor::hold::Ends;
use oxorb_terminal::statistics::{Latencies, Percentiles};

/// Number of requests waiting in the queue.
const WAITING: u32 = 64;

/// Priority of the thread: above ordinary threads.
const PRIORITY: i32 = 5;

/// Takes requests off a queue with others waiting, and puts them back.
pub(super) fn measure(time: Duration, ends: &Ends) -> Percentiles {
    let run = || {
        let _ = schedule::set_current(ThreadPriority {
            class: SchedulingClass::Fifo,
            priority: PRIORITY,
        });
        let queue = DispatchQueue::<Heap<u32>>::with_capacity(
            Dispatching::Static,
            Missed::Run,
            WAITING as usize,
        );
        let queue = Mutex::new(queue);
        let put = |request: u32| {
            let timing = Timing { order: request.wrapping_mul(2_654_435_761), ..Timing::default() };
            let mut queue = queue.lock();
            // Enqueuing cannot fail, because the queue has capacity for all `WAITING` requests.
            let _ = queue.enqueue(request, timing);
        };
        (0..WAITING).for_each(&put);
        let mut times = Latencies::new();
        let end = Instant::now() + time;
        let mut next = WAITING;
        loop {
            let before = Instant::now();
            if before >= end || ends.came() {
                return times.percentiles();
            }
            black_box(queue.lock().dequeue(0));
            times.record(before.elapsed());
            put(next);
            next = next.wrapping_add(1);
        }
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_default()
}
