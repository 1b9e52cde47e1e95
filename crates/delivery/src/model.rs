//! Outlets under shuttle's schedulers: queue, overflow policies, waits, retries and shutdown, in thread interleavings
//! that occur only once in a million events on a real machine.
//!
//! A lost wake-up is a deadlock, which shuttle reports; every model ends with balanced counters.

use std::sync::Arc;
use std::time::Duration;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::Mutex;
use shuttle::sync::mpsc::{Receiver, channel};
use shuttle::{Config, Runner as Shuttle, thread};

use crate::outlet::{Runner, Shared, State, Turns};
use crate::totals::Totals;
use crate::{
    Attributes, Cause, Counts, ManualClock, Offered, Order, Outcome, PullError, Qos, Release, Sink,
    Timers, WhenFull,
};

/// Number of executions of each model by each scheduler.
const EXECUTIONS: usize = 2_000;

/// Time limit that no model reaches.
const LONG: Duration = Duration::from_secs(600);

const PLAIN: Attributes =
    Attributes { priority: 0, deadline: None, start: None, expiry: None, source: 0, octets: 1 };

fn explore(model: fn()) {
    let config = || Config::new();
    Shuttle::new(RandomScheduler::new(EXECUTIONS), config()).run(model);
    Shuttle::new(PctScheduler::new(3, EXECUTIONS), config()).run(model);
}

/// A sink that records its events and answers as configured.
struct Notes {
    got: Mutex<Vec<u64>>,
    dropped: Mutex<Vec<(Cause, u64)>>,
    released: Mutex<u32>,
    inside: Mutex<u32>,
    /// Whether the sink answers the next delivery of event 1 with [`Outcome::Retry`].
    again: Mutex<bool>,
    answer: fn(u64) -> Outcome,
}

impl Notes {
    fn new(answer: fn(u64) -> Outcome) -> Arc<Notes> {
        Arc::new(Notes {
            got: Mutex::new(Vec::new()),
            dropped: Mutex::new(Vec::new()),
            released: Mutex::new(0),
            inside: Mutex::new(0),
            again: Mutex::new(false),
            answer,
        })
    }

    fn got(&self) -> Vec<u64> {
        self.got.lock().unwrap().clone()
    }
}

impl Sink<u64> for Notes {
    fn deliver(&self, events: &[u64]) -> Outcome {
        {
            let mut inside = self.inside.lock().unwrap();
            *inside += 1;
            assert_eq!(*inside, 1, "two threads deliver to one consumer");
        }
        thread::yield_now();
        let again = events[0] == 1 && std::mem::take(&mut *self.again.lock().unwrap());
        let answer = match again {
            true => Outcome::Retry(Duration::ZERO),
            false => (self.answer)(events[0]),
        };
        if answer == Outcome::Delivered {
            self.got.lock().unwrap().extend(events);
        }
        *self.inside.lock().unwrap() -= 1;
        answer
    }

    fn released(&self, _: Release) {
        *self.released.lock().unwrap() += 1;
    }

    fn dropped(&self, cause: Cause, event: &u64) {
        self.dropped.lock().unwrap().push((cause, *event));
    }
}

/// Turns (dispatches of an outlet) in the order in which threads execute them: index of the lane, and outlet.
type Taken = Arc<Mutex<Receiver<(usize, Arc<Shared<u64>>)>>>;

struct World {
    outlet: Arc<Shared<u64>>,
    turns: Taken,
    reactive: bool,
    over: Arc<Mutex<bool>>,
    sink: Option<Arc<Notes>>,
}

/// Returns a consumer that two threads serve. If `reactive` is set or `sink` is `None`, no thread serves it.
fn world(qos: Qos, sink: Option<Arc<Notes>>, reactive: bool) -> World {
    let totals = Totals::new(0);
    let clock = Arc::new(ManualClock::default());
    let timers = Timers::manual(clock.clone(), 4);
    let (queue, turns) = channel();
    let (runner, lanes) = match reactive {
        true => (Runner::Reactive, &[Turns::Reactive][..]),
        false => (Runner::Model(queue), &[Turns::Lane, Turns::ByDeadline][..]),
    };
    let state = State::new(qos, lanes, Arc::clone(&totals));
    let pushed = sink.clone().map(|sink| sink as Arc<dyn Sink<u64>>);
    World {
        outlet: Shared::new(state, pushed, runner, clock, timers, totals),
        turns: Arc::new(Mutex::new(turns)),
        reactive,
        over: Arc::new(Mutex::new(false)),
        sink,
    }
}

impl World {
    /// Starts two threads that execute turns until the model ends.
    fn serve(&mut self) -> Vec<thread::JoinHandle<()>> {
        let threads = if self.reactive { 0 } else { 2 };
        let serve = |_| {
            let (turns, over) = (Arc::clone(&self.turns), Arc::clone(&self.over));
            thread::spawn(move || {
                loop {
                    let (lane, outlet) = turns.lock().unwrap().recv().unwrap();
                    if *over.lock().unwrap() {
                        return;
                    }
                    outlet.turn_of_token(lane);
                }
            })
        };
        (0..threads).map(serve).collect()
    }

    fn offer(&self, events: std::ops::Range<u64>) {
        for event in events {
            self.outlet.offer(&event, &PLAIN, None);
            assert!(self.counts().is_balanced());
        }
    }

    fn counts(&self) -> Counts {
        self.outlet.lock().counts()
    }
}

fn is_rising(numbers: &[u64]) -> bool {
    numbers.is_sorted_by(|a, b| a < b)
}

/// Two suppliers: the events of each are delivered in order and one at a time, by any of the threads.
fn suppliers_in_order(reactive: bool) {
    let sink = Notes::new(|_| Outcome::Delivered);
    let mut world = world(Qos::default(), Some(Arc::clone(&sink)), reactive);
    let threads = world.serve();
    let world = Arc::new(world);
    let other = Arc::clone(&world);
    let supplier = thread::spawn(move || other.offer(100..103));
    world.offer(0..3);
    supplier.join().unwrap();
    assert!(world.outlet.drain(Cause::Detached, LONG));
    let got = sink.got();
    let (first, second): (Vec<u64>, Vec<u64>) = got.iter().partition(|&&event| event < 100);
    assert!(is_rising(&first) && is_rising(&second), "{got:?}");
    assert_eq!((got.len(), world.counts().delivered), (6, 6));
    finish(&world, threads);
}

/// Ends the threads of a model. One of them may be waiting for a turn.
fn finish(world: &World, threads: Vec<thread::JoinHandle<()>>) {
    world.outlet.close(Cause::Detached);
    *world.over.lock().unwrap() = true;
    for _ in &threads {
        world.outlet.wake_model();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let counts = world.counts();
    assert!(counts.is_balanced() && counts.waiting == 0, "{counts:?}");
    if let Some(sink) = &world.sink {
        let reported = sink.dropped.lock().unwrap().len() as u64;
        assert_eq!(reported, counts.dropped_in_all());
    }
}

#[test]
fn every_supplier_is_delivered_in_order_by_a_pool() {
    explore(|| suppliers_in_order(false));
}

#[test]
fn every_supplier_is_delivered_in_order_by_suppliers_threads() {
    explore(|| suppliers_in_order(true));
}

/// Checks, for any overflow policy, that drops are reported and that the remaining events arrive in order.
fn full(when_full: WhenFull) {
    let sink = Notes::new(|_| Outcome::Delivered);
    let qos = Qos { events: 1, when_full, ..Qos::default() };
    let mut world = world(qos, Some(Arc::clone(&sink)), false);
    let threads = world.serve();
    world.offer(0..4);
    assert!(world.outlet.drain(Cause::Detached, LONG));
    let got = sink.got();
    assert!(is_rising(&got), "{got:?}");
    match when_full {
        // `DropNewest` keeps the first event, which finds an empty queue. The other policies keep the last event.
        WhenFull::DropNewest => assert_eq!(got[0], 0),
        _ => assert_eq!(got.last(), Some(&3)),
    }
    finish(&world, threads);
}

#[test]
fn a_full_queue_drops_the_newest_or_the_oldest() {
    explore(|| full(WhenFull::DropNewest));
    explore(|| full(WhenFull::DropOldest));
    explore(|| full(WhenFull::KeepLatest));
}

/// A change of the quality of service loses and reorders nothing, even during a delivery that is retried.
#[test]
fn a_new_quality_of_service_keeps_the_order() {
    explore(|| {
        let ordered = |events| Qos { events, order: Order::Priority, ..Qos::default() };
        let sink = Notes::new(|_| Outcome::Delivered);
        *sink.again.lock().unwrap() = true;
        let mut world = world(ordered(8), Some(Arc::clone(&sink)), false);
        let threads = world.serve();
        let outlet = Arc::clone(&world.outlet);
        let owner = thread::spawn(move || outlet.set_qos(ordered(4)));
        world.offer(0..4);
        owner.join().unwrap();
        assert!(world.outlet.drain(Cause::Detached, LONG));
        assert_eq!(sink.got(), [0, 1, 2, 3]);
        finish(&world, threads);
    });
}

/// All suppliers that wait for one slot are woken when a delivery frees it or the outlet is closed.
#[test]
fn suppliers_that_wait_are_woken_by_room() {
    explore(|| {
        let sink = Notes::new(|_| Outcome::Delivered);
        let qos = Qos { events: 1, wait: LONG, ..Qos::default() };
        let mut world = world(qos, Some(Arc::clone(&sink)), false);
        let threads = world.serve();
        let world = Arc::new(world);
        let other = Arc::clone(&world);
        let supplier = thread::spawn(move || other.offer(100..102));
        world.offer(0..2);
        supplier.join().unwrap();
        assert!(world.outlet.drain(Cause::Detached, LONG));
        assert_eq!((sink.got().len(), world.counts().dropped_in_all()), (4, 0));
        finish(&world, threads);
    });
}

#[test]
fn suppliers_that_wait_are_woken_by_the_end() {
    explore(|| {
        let qos = Qos { events: 1, wait: LONG, ..Qos::default() };
        let world = Arc::new(world(qos, None, true));
        let other = Arc::clone(&world);
        let supplier = thread::spawn(move || {
            let first = other.outlet.offer(&0, &PLAIN, None);
            let second = other.outlet.offer(&1, &PLAIN, None);
            let gone = Offered::Dropped(Cause::Detached);
            assert!(second == gone && (first == gone || first == Offered::Taken));
        });
        world.outlet.close(Cause::Detached);
        supplier.join().unwrap();
        finish(&world, Vec::new());
    });
}

/// New events and the closing of the outlet wake consumers that pull. Each event is pulled once.
#[test]
fn consumers_that_pull_are_woken_by_events_and_by_the_end() {
    explore(|| {
        let world = Arc::new(world(Qos::default(), None, true));
        let pullers: Vec<_> = (0..2)
            .map(|_| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    let mut got = Vec::new();
                    loop {
                        match world.outlet.pull(LONG) {
                            Ok(event) => got.push(event),
                            Err(PullError::Detached) => return got,
                            // Reached only if the model runs for longer than `LONG`.
                            Err(PullError::Empty) => {}
                        }
                    }
                })
            })
            .collect();
        world.offer(0..3);
        assert!(world.outlet.drain(Cause::Detached, LONG));
        world.outlet.close(Cause::Detached);
        let got = pullers.into_iter().map(|puller| puller.join().unwrap());
        let got: Vec<Vec<u64>> = got.collect();
        assert!(got.iter().all(|one| is_rising(one)), "{got:?}");
        let mut all = got.concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        finish(&world, Vec::new());
    });
}

/// A consumer is detached during a delivery that finds it gone, while a supplier offers more events.
#[test]
fn the_end_of_a_consumer_is_told_once_and_loses_no_count() {
    explore(|| {
        let sink = Notes::new(|event| match event {
            1 => Outcome::Gone,
            _ => Outcome::Delivered,
        });
        let mut world = world(Qos::default(), Some(Arc::clone(&sink)), false);
        let threads = world.serve();
        let world = Arc::new(world);
        let other = Arc::clone(&world);
        let supplier = thread::spawn(move || other.offer(0..3));
        let outlet = Arc::clone(&world.outlet);
        let detaching = thread::spawn(move || {
            outlet.close(Cause::Detached);
        });
        supplier.join().unwrap();
        detaching.join().unwrap();
        assert!(world.outlet.quiesce(LONG));
        finish(&world, threads);
        // The sink is notified only if the delivery released it before the outlet was detached.
        assert!(*sink.released.lock().unwrap() <= 1);
        assert!(sink.got().len() <= 1, "nothing comes after the end");
    });
}

/// Suspends and resumes the outlet while another thread offers events. Every event arrives.
#[test]
fn what_was_offered_while_suspended_arrives() {
    for reactive in [false, true] {
        let model = match reactive {
            true => || suspended(true),
            false => || suspended(false),
        };
        explore(model);
    }
}

fn suspended(reactive: bool) {
    let sink = Notes::new(|_| Outcome::Delivered);
    let mut world = world(Qos::default(), Some(Arc::clone(&sink)), reactive);
    let threads = world.serve();
    let world = Arc::new(world);
    let other = Arc::clone(&world);
    let supplier = thread::spawn(move || other.offer(0..3));
    world.outlet.lock().suspend(true);
    thread::yield_now();
    world.outlet.lock().suspend(false);
    world.outlet.look();
    supplier.join().unwrap();
    assert!(world.outlet.drain(Cause::Detached, LONG));
    assert_eq!(sink.got(), [0, 1, 2]);
    finish(&world, threads);
}

/// Moves a consumer between lanes during deliveries, and back to a lane in which it is still queued.
#[test]
fn a_move_to_another_lane_keeps_the_order_and_loses_nothing() {
    explore(|| {
        let sink = Notes::new(|_| Outcome::Delivered);
        let mut world = world(Qos::default(), Some(Arc::clone(&sink)), false);
        let threads = world.serve();
        let outlet = Arc::clone(&world.outlet);
        let owner = thread::spawn(move || {
            for lane in [1, 0, 1] {
                outlet.set_qos(Qos { lane, ..Qos::default() });
            }
        });
        world.offer(0..4);
        owner.join().unwrap();
        assert!(world.outlet.drain(Cause::Detached, LONG));
        assert_eq!(sink.got(), [0, 1, 2, 3]);
        finish(&world, threads);
    });
}
