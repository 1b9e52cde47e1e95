//! Models of races between threads, under a scheduler that chooses the next thread (shuttle).
//!
//! `cargo test -p oxorb-rtscheduling --features model model::`. `OXORB_MODEL_SECONDS` sets the time
//! for each model under each of shuttle's schedulers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread;

use crate::kokyu::RunQueue;
use crate::slots::{Cancelled, Registry};
use crate::{Exclusive, Id, Urgency};

/// Runs a model repeatedly, each time in another order.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let seconds = std::env::var("OXORB_MODEL_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    let mut config = shuttle::Config::new();
    config.max_time = Some(Duration::from_secs(seconds.unwrap_or(2)));
    let model = Arc::new(model);
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let model = Arc::clone(&model);
        shuttle::Runner::new(scheduler, config.clone()).run(move || model())
    };
    let random = run(Box::new(RandomScheduler::new(usize::MAX)));
    let pct = run(Box::new(PctScheduler::new(3, usize::MAX)));
    println!("{random} executions at random, {pct} with few preemptions");
}

#[test]
fn a_cancel_is_seen_by_the_end_or_comes_too_late() {
    explore(|| {
        let registry = Arc::new(Registry::<u32>::default());
        let id = Id::new();
        let slot = registry.attach();
        slot.enter(id);
        let other = Arc::clone(&registry);
        let cancels = thread::spawn(move || other.cancel(&id).here);
        let ended = slot.leave();
        registry.detach(&slot);
        let found = cancels.join().unwrap();
        assert_eq!(found == 1, ended == Err(Cancelled));
        assert_eq!(registry.find(&id), None);
    });
}

#[test]
fn a_cancel_follows_a_call_or_the_call_is_not_made() {
    explore(|| {
        let registry = Arc::new(Registry::<u32>::default());
        let id = Id::new();
        let slot = registry.attach();
        slot.enter(id);
        let other = Arc::clone(&registry);
        let cancels = thread::spawn(move || other.cancel(&id));
        let gone = slot.go(7);
        let back = slot.come_back();
        let found = cancels.join().unwrap();
        assert_eq!(found.here, 1);
        // If the thread was not notified through its call, it notices the cancellation at its next
        // point at the latest.
        match (gone, back) {
            (Err(Cancelled), back) => {
                assert_eq!((back, found.away), (Err(Cancelled), vec![]));
            }
            (Ok(()), Err(Cancelled)) => assert_eq!(found.away, [7]),
            (Ok(()), Ok(())) => assert!(found.away.is_empty()),
        }
        assert_eq!(slot.leave(), Err(Cancelled));
    });
}

#[test]
fn of_two_cancels_one_follows() {
    explore(|| {
        let registry = Arc::new(Registry::<u32>::default());
        let id = Id::new();
        let slot = registry.attach();
        slot.enter(id);
        slot.go(7).unwrap();
        let other = Arc::clone(&registry);
        let cancels = thread::spawn(move || other.cancel(&id).away.len());
        let here = registry.cancel(&id).away.len();
        assert_eq!(here + cancels.join().unwrap(), 1);
    });
}

#[test]
fn a_cancel_that_meets_the_request_on_its_way_is_not_lost() {
    explore(|| {
        let registry = Arc::new(Registry::<u32>::default());
        let id = Id::new();
        let other = Arc::clone(&registry);
        let cancels = thread::spawn(move || other.cancel_even_early(&id).here);
        let slot = registry.attach();
        slot.enter(id);
        let early = registry.was_cancelled_early(&id);
        cancels.join().unwrap();
        assert!(early || slot.check() == Err(Cancelled));
    });
}

#[test]
fn no_more_threads_run_than_processors_and_all_run() {
    explore(|| {
        let queue = Arc::new(RunQueue::new(Exclusive { processors: 2, ..Exclusive::default() }));
        let running = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let (queue, running) = (Arc::clone(&queue), Arc::clone(&running));
                thread::spawn(move || {
                    let id = Id::new();
                    queue.acquire(&id, Urgency(n, 0)).unwrap();
                    for _ in 0..2 {
                        assert!(running.fetch_add(1, Ordering::SeqCst) < 2);
                        thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                        queue.change(&id, Urgency(-n, 0)).unwrap();
                    }
                    queue.release();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(queue.waiting(), 0);
    });
}

#[test]
fn a_cancel_ends_a_wait_and_no_processor_is_lost() {
    explore(|| {
        let queue = Arc::new(RunQueue::new(Exclusive::default()));
        let id = Id::new();
        queue.acquire(&Id::new(), Urgency(0, 0)).unwrap();
        let own = Arc::clone(&queue);
        let waits = thread::spawn(move || {
            let ran = own.acquire(&id, Urgency(1, 0)).is_ok();
            if ran {
                own.release();
            }
            ran
        });
        let other = Arc::clone(&queue);
        let cancels = thread::spawn(move || other.cancel(&id));
        queue.release();
        cancels.join().unwrap();
        let _ = waits.join().unwrap();
        assert_eq!(queue.waiting(), 0);
        // The processor is free again.
        queue.acquire(&Id::new(), Urgency(0, 0)).unwrap();
    });
}
