//! Recipients, order and threads of deliveries, and consumers that do not accept events.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use oxorb_delivery::*;

use crate::common::{LONG, PLAIN, Recorder, receive};

fn plans() -> [Plan; 4] {
    let by_deadline = LanePlan { dispatching: Dispatching::Deadline, ..LanePlan::new("deadline") };
    [
        Plan::reactive(),
        Plan::pool(3),
        Plan::lanes([LanePlan::new("low"), LanePlan::new("high")]),
        Plan::lanes([by_deadline]),
    ]
}

/// Every dispatch mode keeps the order of each supplier and loses no event.
#[test]
fn each_suppliers_order_is_kept_and_every_event_is_accounted_for() {
    const EACH: u64 = 500;
    for plan in plans() {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let consumers: Vec<_> = (0..5)
            .map(|number| {
                let (sink, told) = Recorder::new();
                let qos = Qos { events: 4096, batch: 1 + number, ..Qos::default() };
                (dispatcher.connect(sink, qos).unwrap(), told)
            })
            .collect();
        let outlets: Vec<_> = consumers.iter().map(|(outlet, _)| outlet).collect();
        thread::scope(|scope| {
            for supplier in 0..3 {
                let (dispatcher, outlets) = (&dispatcher, &outlets);
                scope.spawn(move || {
                    for number in 0..EACH {
                        let event = supplier << 32 | number;
                        let taken = dispatcher.offer_all(outlets.iter().copied(), &event, &PLAIN);
                        assert_eq!(taken, outlets.len());
                        assert!(outlets[0].counts().is_balanced());
                    }
                });
            }
        });
        for (outlet, told) in &consumers {
            let all = receive(told, 3 * EACH as usize);
            for supplier in 0..3 {
                let of_supplier = all.iter().filter(|&event| event >> 32 == supplier);
                let numbers: Vec<u64> = of_supplier.map(|event| event & 0xffff_ffff).collect();
                assert_eq!(numbers, (0..EACH).collect::<Vec<_>>());
            }
            assert!(outlet.quiesce(LONG));
            let counts = outlet.counts();
            assert_eq!((counts.offered, counts.delivered), (3 * EACH, 3 * EACH));
        }
        assert!(dispatcher.shut_down(LONG));
        let sum = dispatcher.counts();
        assert_eq!((sum.delivered, sum.waiting), (15 * EACH, 0));
    }
}

/// A stuck consumer occupies only its own queue and one thread, which a spare thread of the pool replaces.
#[test]
fn a_stuck_consumer_delays_no_other_and_costs_no_more_than_its_queue() {
    let mut plan = Plan::pool(1);
    plan.stuck_after = Duration::from_millis(5);
    let dispatcher = Dispatcher::start(plan).unwrap();
    let (stuck, held, release) = Recorder::blocking();
    let qos = Qos { events: 10, ..Qos::default() };
    let stuck = dispatcher.connect(stuck, qos).unwrap();
    let (lively, told) = Recorder::new();
    let lively = dispatcher.connect(lively, Qos::default()).unwrap();
    stuck.offer(&0, &PLAIN);
    assert_eq!(receive(&held, 1), [0]);
    for event in 1..101 {
        dispatcher.offer_all([&stuck, &lively], &event, &PLAIN);
    }
    assert_eq!(receive(&told, 100), (1..101).collect::<Vec<_>>());
    let counts = stuck.counts();
    assert_eq!((counts.waiting, counts.dropped(Cause::Oldest)), (11, 90));
    assert!(counts.is_balanced());
    drop(release);
    assert_eq!(receive(&held, 10), (91..101).collect::<Vec<_>>());
    assert!(dispatcher.shut_down(LONG));
}

/// A consumer with a full queue gets no more deliveries than any other consumer of its lane.
#[test]
fn a_full_queue_takes_no_more_than_its_share_of_a_lane() {
    const FULL: usize = 1_000;
    const FEW: usize = 20;
    const CONSUMERS: usize = 4;
    let lane = LanePlan { spares: 0, ..LanePlan::new("one") };
    let dispatcher = Dispatcher::start(Plan::lanes([lane])).unwrap();
    // Block the only thread of the lane until all events are queued.
    let (gate, held, open) = Recorder::blocking();
    let gate = dispatcher.connect(gate, Qos::default()).unwrap();
    gate.offer(&0, &PLAIN);
    receive(&held, 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let connect = |consumer: usize| {
        let order = order.clone();
        let (sink, _) = Recorder::answering(move |events| {
            let mut order = order.lock().unwrap();
            order.extend(events.iter().map(|_| consumer));
            Outcome::Delivered
        });
        let qos = Qos { events: FULL, ..Qos::default() };
        dispatcher.connect(sink, qos).unwrap()
    };
    let consumers: Vec<_> = (0..CONSUMERS).map(connect).collect();
    for event in 0..FULL as u64 {
        consumers[0].offer(&event, &PLAIN);
    }
    for event in 0..FEW as u64 {
        dispatcher.offer_all(&consumers[1..], &event, &PLAIN);
    }
    drop(open);
    assert!(dispatcher.shut_down(LONG));
    let order = order.lock().unwrap();
    assert_eq!(order.len(), FULL + (CONSUMERS - 1) * FEW);
    // As long as another consumer has a waiting event, consumer 0 is never two deliveries ahead of it.
    for other in 1..CONSUMERS {
        let last = order.iter().rposition(|&one| one == other).unwrap();
        let (mut full, mut its) = (0, 0);
        for (at, &one) in order[..last].iter().enumerate() {
            full += usize::from(one == 0);
            its += usize::from(one == other);
            assert!(full <= its + 1, "turn {at}: {full} to {its}: {order:?}");
        }
    }
}

/// A lane of one priority is independent of the lanes of other priorities.
#[test]
fn a_lane_whose_threads_are_stuck_delays_no_other_lane() {
    let low = LanePlan { spares: 0, ..LanePlan::new("low") };
    let dispatcher = Dispatcher::start(Plan::lanes([low, LanePlan::new("high")])).unwrap();
    let (stuck, held, _release) = Recorder::blocking();
    let stuck = dispatcher.connect(stuck, Qos::default()).unwrap();
    let (high, told) = Recorder::new();
    let qos = Qos { lane: 1, ..Qos::default() };
    let high = dispatcher.connect(high, qos).unwrap();
    stuck.offer(&0, &PLAIN);
    receive(&held, 1);
    for event in 0..100 {
        dispatcher.offer_all([&stuck, &high], &event, &PLAIN);
    }
    assert_eq!(receive(&told, 100).len(), 100);
    assert_eq!(stuck.counts().waiting, 101);
}

/// A supplier always waits for a consumer that makes progress, but only once for a consumer that does not.
#[test]
fn a_supplier_waits_for_room_and_for_a_dead_consumer_once() {
    let dispatcher = Dispatcher::start(Plan::pool(1)).unwrap();
    let (slow, held, release) = Recorder::blocking();
    let qos = Qos { events: 1, wait: LONG, when_full: WhenFull::DropNewest, ..Qos::default() };
    let slow = dispatcher.connect(slow, qos.clone()).unwrap();
    slow.offer(&0, &PLAIN);
    receive(&held, 1);
    slow.offer(&1, &PLAIN);
    thread::scope(|scope| {
        let offered = scope.spawn(|| slow.offer(&2, &PLAIN));
        release.send(()).unwrap();
        assert_eq!(offered.join().unwrap(), Offered::Taken);
    });
    release.send(()).unwrap();
    assert_eq!(receive(&held, 2), [1, 2]);
    // The consumer is blocked in the delivery of event 2, and event 3 will fill its queue.
    let short = Qos { wait: Duration::from_millis(20), ..qos };
    slow.set_qos(short);
    slow.offer(&3, &PLAIN);
    let before = slow.counts().waits;
    for event in 4..1_000 {
        let offered = slow.offer(&event, &PLAIN);
        assert_eq!(offered, Offered::Dropped(Cause::Newest));
    }
    let counts = slow.counts();
    assert_eq!((counts.waits - before, counts.dropped(Cause::Newest)), (1, 996));
    assert!(counts.is_balanced());
    drop(release);
}

/// A consumer that moves to another lane gets its waiting events there, in order, although the only thread of its old
/// lane is blocked.
#[test]
fn a_consumer_moves_to_another_lane_with_its_queue() {
    let lane = |name: &str| LanePlan { spares: 0, ..LanePlan::new(name) };
    let plan = Plan::lanes([lane("low"), lane("high")]);
    let dispatcher = Dispatcher::start(plan).unwrap();
    let (holder, held, release) = Recorder::blocking();
    let holder = dispatcher.connect(holder, Qos::default()).unwrap();
    let threads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&threads);
    let (moved, told) = Recorder::answering(move |_| {
        let name = thread::current().name().unwrap_or_default().to_owned();
        noted.lock().unwrap().push(name);
        Outcome::Delivered
    });
    let moved = dispatcher.connect(moved, Qos::default()).unwrap();
    // Occupy the only thread of the low lane.
    holder.offer(&99, &PLAIN);
    receive(&held, 1);
    (0..10).for_each(|event| assert_eq!(moved.offer(&event, &PLAIN), Offered::Taken));
    assert_eq!(moved.counts().waiting, 10);
    let to = |lane| Qos { lane, ..moved.qos() };
    moved.set_qos(to(1));
    assert_eq!(receive(&told, 10), (0..10).collect::<Vec<_>>());
    assert!(threads.lock().unwrap().iter().all(|name| name.contains("high")));
    // If the requested lane does not exist, the outlet stays in its present lane.
    moved.set_qos(to(7));
    assert_eq!(moved.qos().lane, 1);
    // The sink reports an event before the delivery ends, so wait for the end of the last delivery.
    assert!(moved.quiesce(LONG));
    // In the low lane the outlet is still queued from before. It must not be dispatched twice.
    moved.set_qos(to(0));
    (10..20).for_each(|event| assert_eq!(moved.offer(&event, &PLAIN), Offered::Taken));
    assert_eq!(moved.counts().waiting, 10);
    drop(release);
    assert_eq!(receive(&told, 10), (10..20).collect::<Vec<_>>());
    assert!(dispatcher.shut_down(LONG));
    assert!(dispatcher.counts().is_balanced());
}

/// Consumers constantly change lanes while events are offered. No event is lost, duplicated or reordered.
#[test]
fn moves_between_lanes_keep_every_suppliers_order() {
    const EACH: u64 = 2_000;
    let by_deadline = LanePlan { dispatching: Dispatching::Deadline, ..LanePlan::new("deadline") };
    let plan = Plan::lanes([LanePlan::new("low"), LanePlan::new("high"), by_deadline]);
    let dispatcher = Dispatcher::start(plan).unwrap();
    let (sink, told) = Recorder::new();
    let qos = Qos { events: 8_192, ..Qos::default() };
    let outlet = dispatcher.connect(sink, qos.clone()).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let suppliers: Vec<_> = (0..2)
            .map(|supplier| {
                let outlet = &outlet;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let about = Attributes { deadline: Some(u64::MAX / 4 - number), ..PLAIN };
                        outlet.offer(&(supplier << 32 | number), &about);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for lane in (0..3).cycle() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let qos = Qos { lane, ..qos.clone() };
                outlet.set_qos(qos);
                thread::yield_now();
            }
        });
        suppliers.into_iter().for_each(|one| one.join().unwrap());
        over.store(true, Ordering::SeqCst);
    });
    let all = receive(&told, 2 * EACH as usize);
    for supplier in 0..2 {
        let of_supplier = all.iter().filter(|&event| event >> 32 == supplier);
        let numbers: Vec<u64> = of_supplier.map(|event| event & 0xffff_ffff).collect();
        assert_eq!(numbers, (0..EACH).collect::<Vec<_>>());
    }
    assert!(outlet.quiesce(LONG));
    assert_eq!(outlet.counts().delivered, 2 * EACH);
}

/// All other consumers have received the event before the supplier waits for a full one.
#[test]
fn others_have_the_event_before_one_is_waited_for() {
    let dispatcher = Dispatcher::start(Plan::pool(2)).unwrap();
    let (full, held, release) = Recorder::blocking();
    let waiting = Qos { events: 1, wait: LONG, ..Qos::default() };
    let full = dispatcher.connect(full, waiting).unwrap();
    let (other, told) = Recorder::new();
    let other = dispatcher.connect(other, Qos::default()).unwrap();
    full.offer(&0, &PLAIN);
    receive(&held, 1);
    full.offer(&1, &PLAIN);
    thread::scope(|scope| {
        let offer = scope.spawn(|| dispatcher.offer_all([&full, &other], &2, &PLAIN));
        assert_eq!(receive(&told, 1), [2]);
        // Unblock the consumer. The supplier may already be waiting, or not yet.
        drop(release);
        assert_eq!(offer.join().unwrap(), 2);
    });
    assert_eq!(receive(&held, 2), [1, 2]);
}

/// The end of such a wait cannot be represented as a time.
#[test]
fn waits_may_be_as_long_as_a_duration_can_be() {
    let plan = Plan { wait: Duration::MAX, ..Plan::pool(2) };
    let dispatcher = Dispatcher::start(plan).unwrap();
    let (sink, held, release) = Recorder::blocking();
    let waiting = Qos { events: 1, wait: Duration::MAX, ..Qos::default() };
    let outlet = dispatcher.connect(sink, waiting).unwrap();
    let (other, told) = Recorder::new();
    let other = dispatcher.connect(other, Qos::default()).unwrap();
    outlet.offer(&0, &PLAIN);
    receive(&held, 1);
    outlet.offer(&1, &PLAIN);
    thread::scope(|scope| {
        let offer = scope.spawn(|| dispatcher.offer_all([&outlet, &other], &2, &PLAIN));
        // The outlet was full when the event was offered to it.
        assert_eq!(receive(&told, 1), [2]);
        drop(release);
        assert_eq!(offer.join().unwrap(), 2);
    });
    assert_eq!(receive(&held, 2), [1, 2]);
    assert!(dispatcher.shut_down(Duration::MAX));
}

#[test]
fn a_consumer_that_fails_too_often_or_is_gone_is_released() {
    for plan in plans() {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let qos = Qos { failures: 3, ..Qos::default() };
        let (failing, told) = Recorder::answering(|events| match events {
            [1] => Outcome::Delivered,
            [2] => panic!("a test of panics"),
            _ => Outcome::Failed,
        });
        let outlet = dispatcher.connect(failing.clone(), qos.clone()).unwrap();
        for event in 0..4 {
            outlet.offer(&event, &PLAIN);
        }
        receive(&told, 4);
        assert!(outlet.quiesce(LONG) && outlet.is_attached());
        outlet.offer(&4, &PLAIN);
        receive(&told, 1);
        while outlet.is_attached() {
            thread::yield_now();
        }
        assert!(outlet.quiesce(LONG));
        assert_eq!(outlet.offer(&5, &PLAIN), Offered::Dropped(Cause::Gone));
        let counts = outlet.counts();
        assert_eq!((counts.delivered, counts.dropped(Cause::Failed)), (1, 4));
        assert!(counts.is_balanced() && counts.dropped(Cause::Gone) == 1);
        while failing.released.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert_eq!(*failing.released.lock().unwrap(), [Release::Failures(3)]);

        let (gone, _told) = Recorder::answering(|_| Outcome::Gone);
        let outlet = dispatcher.connect(gone.clone(), qos).unwrap();
        outlet.suspend();
        (0..3).for_each(|event| {
            outlet.offer(&event, &PLAIN);
        });
        outlet.resume();
        while gone.released.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert_eq!(*gone.released.lock().unwrap(), [Release::Gone]);
        assert_eq!(outlet.counts().dropped(Cause::Gone), 3);
        assert_eq!(gone.dropped(), [0, 1, 2].map(|event| (Cause::Gone, event)));
        assert_eq!(dispatcher.outlets(), 0);
    }
}

#[test]
fn events_that_are_to_be_retried_come_again_in_order() {
    for plan in plans() {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let refusals = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&refusals);
        let (sink, told) =
            Recorder::answering(move |_| match count.fetch_add(1, Ordering::Relaxed) {
                0..3 => Outcome::Retry(Duration::from_millis(1)),
                _ => Outcome::Delivered,
            });
        let qos = Qos { batch: 2, ..Qos::default() };
        let outlet = dispatcher.connect(sink, qos).unwrap();
        outlet.suspend();
        (0..4).for_each(|event| {
            outlet.offer(&event, &PLAIN);
        });
        outlet.resume();
        let expected = [0, 1, 0, 1, 0, 1, 0, 1, 2, 3];
        assert_eq!(receive(&told, expected.len()), expected);
        assert!(outlet.quiesce(LONG));
        assert_eq!(outlet.counts().delivered, 4);
    }
}

/// However often a consumer postpones events, it is not released and finally accepts them all.
#[test]
fn a_consumer_that_takes_events_later_has_not_failed() {
    for plan in plans() {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let count = AtomicU32::new(0);
        let (sink, told) =
            Recorder::answering(move |_| match count.fetch_add(1, Ordering::Relaxed) {
                0..5 => Outcome::Later(Duration::from_millis(1)),
                _ => Outcome::Delivered,
            });
        let qos = Qos { failures: 2, ..Qos::default() };
        let outlet = dispatcher.connect(sink, qos).unwrap();
        (0..2).for_each(|event| {
            outlet.offer(&event, &PLAIN);
        });
        assert_eq!(receive(&told, 7), [0, 0, 0, 0, 0, 0, 1]);
        assert!(outlet.quiesce(LONG));
        assert_eq!(outlet.counts().delivered, 2);
        assert_eq!(dispatcher.outlets(), 1);
    }
}

#[test]
fn a_suspended_consumer_gets_later_what_its_queue_kept() {
    for plan in plans() {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let (sink, told) = Recorder::new();
        let qos = Qos {
            events: 3,
            order: Order::Priority,
            when_full: WhenFull::DropLeastUrgent,
            ..Qos::default()
        };
        let outlet = dispatcher.connect(sink.clone(), qos).unwrap();
        outlet.suspend();
        for (event, priority) in [5, -7, 9, 5, 1].into_iter().enumerate() {
            let about = Attributes { priority, ..PLAIN };
            outlet.offer(&(event as u64), &about);
        }
        assert!(outlet.is_suspended() && told.try_recv().is_err());
        outlet.resume();
        assert_eq!(receive(&told, 3), [2, 0, 3]);
        let least = [1, 4].map(|event| (Cause::LeastUrgent, event));
        assert_eq!(sink.dropped(), least);
    }
}

#[test]
fn a_drain_delivers_what_waits_and_takes_no_more() {
    for plan in plans() {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let (sink, told) = Recorder::new();
        let outlet = dispatcher.connect(sink, Qos::default()).unwrap();
        (0..100).for_each(|event| {
            outlet.offer(&event, &PLAIN);
        });
        assert!(outlet.drain(LONG));
        assert_eq!(outlet.offer(&100, &PLAIN), Offered::Dropped(Cause::Detached));
        assert_eq!(told.try_iter().flatten().count(), 100);
        // `drain` abandons an outlet that cannot be drained when its limit expires, and `shut_down` immediately.
        let [first, second] = [0, 1].map(|event| {
            let (sink, _told) = Recorder::new();
            let outlet = dispatcher.connect(sink.clone(), Qos::default()).unwrap();
            outlet.suspend();
            outlet.offer(&event, &PLAIN);
            (sink, outlet)
        });
        assert!(!first.1.drain(Duration::from_millis(5)));
        assert_eq!(first.0.dropped(), [(Cause::Detached, 0)]);
        assert!(!dispatcher.shut_down(LONG));
        assert_eq!(second.0.dropped(), [(Cause::Shutdown, 1)]);
        assert!(matches!(
            dispatcher.connect_pull(Qos::default()),
            Err(OutletConnectError::ShutDown)
        ));
        assert!(dispatcher.counts().is_balanced() && dispatcher.counts().offered == 103);
    }
}

/// A sink in which each delivery waits for a signal.
struct Held {
    entered: mpsc::Sender<()>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl Sink<u64> for Held {
    fn deliver(&self, _: &[u64]) -> Outcome {
        let _ = self.entered.send(());
        let _ = self.go_on.lock().unwrap().recv_timeout(LONG);
        Outcome::Delivered
    }
}

#[test]
fn the_end_waits_for_a_consumer_no_longer_than_it_may() {
    // Skip the reactive plan, in which the supplier's thread would block in the sink.
    for plan in plans().into_iter().skip(1) {
        let dispatcher = Dispatcher::start(plan).unwrap();
        let ((entered, inside), (go_on, held)) = (mpsc::channel(), mpsc::channel());
        let sink = Arc::new(Held { entered, go_on: Mutex::new(held) });
        let outlet = dispatcher.connect(sink, Qos::default()).unwrap();
        (0..3).for_each(|event| {
            outlet.offer(&event, &PLAIN);
        });
        inside.recv_timeout(LONG).unwrap();
        assert!(!dispatcher.shut_down(Duration::from_millis(5)));
        drop(go_on);
        assert!(outlet.quiesce(LONG));
        assert!(dispatcher.counts().is_balanced());
    }
}

/// The lane serves the outlet whose next event has the earliest deadline, and treats late events by its policy.
#[test]
fn a_lane_by_deadline_takes_the_most_urgent_outlet_and_drops_late_events() {
    let lane = LanePlan {
        dispatching: Dispatching::Deadline,
        missed: Missed::Drop,
        spares: 0,
        ..LanePlan::new("deadline")
    };
    let clock = Arc::new(Monotonic);
    let dispatcher = Dispatcher::start(Plan::lanes([lane])).unwrap();
    let (gate, held, release) = Recorder::blocking();
    let gate = dispatcher.connect(gate, Qos::default()).unwrap();
    gate.offer(&0, &PLAIN);
    receive(&held, 1);
    let (order, told) = mpsc::channel();
    let now = clock.now();
    let second = 1_000_000_000;
    let mut outlets = Vec::new();
    let mut sinks = Vec::new();
    // The last outlet gets its more urgent event when it is already queued with the deadline of the first one.
    for (number, deadlines) in [vec![60], vec![30], vec![0], vec![90, 10]].into_iter().enumerate() {
        let tell = order.clone();
        let (sink, _) = Recorder::answering(move |events| {
            tell.send((number, events.to_vec())).unwrap();
            Outcome::Delivered
        });
        let qos = Qos { order: Order::Deadline, ..Qos::default() };
        let outlet = dispatcher.connect(sink.clone(), qos).unwrap();
        for seconds in deadlines {
            let about = Attributes { deadline: Some(now + seconds * second), ..PLAIN };
            outlet.offer(&seconds, &about);
        }
        outlets.push(outlet);
        sinks.push(sink);
    }
    drop(release);
    let got: Vec<_> = (0..4).map(|_| told.recv_timeout(LONG).unwrap()).collect();
    let expected = [(3, vec![10]), (1, vec![30]), (0, vec![60]), (3, vec![90])];
    assert_eq!(got, expected);
    assert_eq!(sinks[2].dropped(), [(Cause::Late, 0)]);
    assert!(outlets.iter().all(|outlet| outlet.counts().is_balanced()));
}

#[test]
fn a_consumer_pulls_what_waits_and_is_woken_for_what_comes() {
    let dispatcher = Dispatcher::start(Plan::reactive()).unwrap();
    let outlet = dispatcher.connect_pull(Qos::default()).unwrap();
    assert_eq!(outlet.try_pull(), Err(PullError::Empty));
    assert_eq!(outlet.pull(Duration::from_millis(1)), Err(PullError::Empty));
    thread::scope(|scope| {
        let pulled = scope.spawn(|| outlet.pull(LONG));
        outlet.offer(&7, &PLAIN);
        assert_eq!(pulled.join().unwrap(), Ok(7));
        let ended = scope.spawn(|| outlet.pull(LONG));
        outlet.detach();
        assert_eq!(ended.join().unwrap(), Err(PullError::Detached));
    });
    assert!(outlet.counts().is_balanced() && outlet.counts().delivered == 1);
}

/// CosNotification `MaxQueueLength`: a limit for all queues together.
#[test]
fn all_outlets_together_keep_no_more_than_the_plan_says() {
    let mut plan = Plan::reactive();
    plan.events = 5;
    let dispatcher = Dispatcher::start(plan).unwrap();
    let outlets = [(); 3].map(|()| dispatcher.connect_pull(Qos::default()).unwrap());
    for event in 0..2 {
        assert_eq!(
            dispatcher.offer_all(&outlets, &event, &PLAIN),
            outlets.len() - event as usize / 2
        );
    }
    assert!(dispatcher.is_full());
    let counts = outlets.each_ref().map(Outlet::counts);
    assert_eq!(counts.map(|counts| counts.waiting), [2, 2, 1]);
    // At the common limit, the policy of the third outlet drops an event of its own queue.
    assert_eq!(counts[2].dropped(Cause::Oldest), 1);
    assert_eq!(outlets[0].try_pull(), Ok(0));
    assert_eq!(outlets[2].offer(&2, &PLAIN), Offered::Taken);
    drop(outlets);
    assert!(!dispatcher.is_full() && dispatcher.counts().is_balanced());
}

#[test]
fn what_cannot_be_connected_is_refused_with_the_limit() {
    let mut plan = Plan::pool(1);
    plan.outlets = 1;
    let dispatcher: Dispatcher<u64> = Dispatcher::start(plan).unwrap();
    let refused = |qos: Qos| dispatcher.connect_pull(qos).unwrap_err().to_string();
    let zero = Qos { batch: 0, ..Qos::default() };
    assert_eq!(refused(zero.clone()), "Qos::batch is 0, but must be at least 1");
    let lane = Qos { lane: 7, ..Qos::default() };
    assert_eq!(refused(lane), "there is no lane 7: the dispatcher has 1 lanes, counted from 0");
    let outlet = dispatcher.connect_pull(Qos::default()).unwrap();
    assert!(refused(Qos::default()).starts_with("all 1 outlets"));
    outlet.set_qos(zero);
    assert_eq!(outlet.qos().batch, 1);
    outlet.detach();
    dispatcher.connect_pull(Qos::default()).unwrap();
}

/// Events that a consumer asks for again are delivered before those that arrived later, even after `set_qos`.
#[test]
fn a_new_quality_of_service_keeps_the_order_of_what_is_tried_again() {
    let dispatcher = Dispatcher::start(Plan::pool(1)).unwrap();
    let outlet: Arc<OnceLock<Outlet<u64>>> = Arc::default();
    let ordered = |events| Qos { events, order: Order::Priority, ..Qos::default() };
    let (of_sink, again) = (Arc::clone(&outlet), AtomicBool::new(true));
    let (sink, told) = Recorder::answering(move |events| {
        if events[0] == 5 && again.swap(false, Ordering::Relaxed) {
            of_sink.get().unwrap().set_qos(ordered(32));
            return Outcome::Retry(Duration::ZERO);
        }
        Outcome::Delivered
    });
    let connected = dispatcher.connect(sink, ordered(64)).unwrap();
    let outlet = outlet.get_or_init(|| connected);
    outlet.suspend();
    for event in 0..10 {
        outlet.offer(&event, &PLAIN);
    }
    outlet.resume();
    let order = receive(&told, 11);
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9]);
    assert_eq!(outlet.qos().events, 32);
}
