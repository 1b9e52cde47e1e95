//! Behaviour that depends on time, with a clock that only the test advances.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use oxorb_delivery::*;

use crate::common::{LONG, PLAIN, Recorder};

const MS: u64 = 1_000_000;

struct World {
    clock: Arc<ManualClock>,
    timers: Timers,
    dispatcher: Dispatcher<u64>,
}

impl World {
    fn new() -> World {
        let clock = Arc::new(ManualClock::default());
        let timers = Timers::manual(clock.clone(), 8);
        let mut plan = Plan::reactive();
        plan.clock = clock.clone();
        plan.timers = Some(timers.clone());
        World { clock, timers, dispatcher: Dispatcher::start(plan).unwrap() }
    }

    fn pass(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
        self.timers.run_due();
    }
}

/// Tests `MaximumBatchSize` and `PacingInterval` of CosNotification.
#[test]
fn a_batch_is_delivered_when_it_is_full_or_its_time_is_over() {
    let world = World::new();
    let (sink, told) = Recorder::new();
    let qos = Qos { batch: 3, pacing: Duration::from_millis(10), ..Qos::default() };
    let outlet = world.dispatcher.connect(sink, qos).unwrap();
    let offer = |events: std::ops::Range<u64>| {
        events.for_each(|event| {
            outlet.offer(&event, &PLAIN);
        });
    };
    offer(0..2);
    world.pass(9);
    assert!(told.try_recv().is_err());
    world.pass(1);
    assert_eq!(told.try_recv(), Ok(vec![0, 1]));
    offer(2..6);
    assert_eq!(told.try_recv(), Ok(vec![2, 3, 4]));
    assert!(told.try_recv().is_err());
    world.pass(10);
    assert_eq!(told.try_recv(), Ok(vec![5]));
    // `drain` does not wait for the end of the pacing interval.
    offer(6..7);
    assert!(outlet.drain(Duration::ZERO));
    assert_eq!(told.try_recv(), Ok(vec![6]));
}

/// Tests `StartTime` and `StopTime` of CosNotification.
#[test]
fn an_event_is_delivered_from_its_start_to_its_expiry_and_no_longer() {
    let world = World::new();
    let (sink, told) = Recorder::new();
    let outlet = world.dispatcher.connect(sink.clone(), Qos::default()).unwrap();
    let about = |start: u64, expiry: u64| Attributes {
        start: Some(start * MS),
        expiry: Some(expiry * MS),
        ..PLAIN
    };
    outlet.offer(&1, &about(20, 100));
    outlet.offer(&2, &about(10, 100));
    assert!(told.try_recv().is_err());
    assert_eq!(outlet.counts().waiting, 2);
    world.pass(10);
    assert_eq!(told.try_recv(), Ok(vec![2]));
    world.pass(10);
    assert_eq!(told.try_recv(), Ok(vec![1]));
    outlet.suspend();
    outlet.offer(&3, &about(0, 30));
    outlet.offer(&4, &about(0, 31));
    world.pass(10);
    outlet.resume();
    assert_eq!(told.try_recv(), Ok(vec![4]));
    assert_eq!(sink.dropped(), [(Cause::Expired, 3)]);
    assert!(outlet.counts().is_balanced());

    let pulled = world.dispatcher.connect_pull(Qos::default()).unwrap();
    pulled.offer(&5, &about(0, 40));
    pulled.offer(&6, &about(50, 60));
    pulled.offer(&7, &about(50, 80));
    world.pass(10);
    assert_eq!(pulled.try_pull(), Err(PullError::Empty));
    world.pass(20);
    assert_eq!(pulled.try_pull(), Ok(7));
    assert_eq!(pulled.counts().dropped(Cause::Expired), 2);
}

#[test]
fn a_failed_delivery_is_retried_when_its_pause_is_over() {
    let world = World::new();
    let refused = AtomicU32::new(0);
    let (sink, told) =
        Recorder::answering(move |_| match refused.fetch_add(1, Ordering::Relaxed) {
            0 => Outcome::Retry(Duration::from_millis(10)),
            _ => Outcome::Delivered,
        });
    let outlet = world.dispatcher.connect(sink, Qos::default()).unwrap();
    outlet.offer(&0, &PLAIN);
    outlet.offer(&1, &PLAIN);
    world.pass(9);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [[0]]);
    world.pass(1);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [[0], [1]]);
    assert_eq!(outlet.counts().delivered, 2);
}

#[test]
fn timers_fire_in_order_until_they_are_stopped_and_no_more_than_there_may_be() {
    let clock = Arc::new(ManualClock::default());
    let timers = Timers::manual(clock.clone(), 3);
    let fired = Arc::new(Mutex::new(Vec::new()));
    let timer = |name: char| {
        let fired = Arc::clone(&fired);
        timers
            .add(move |Fired { due, missed }| fired.lock().unwrap().push((name, due / MS, missed)))
    };
    let pass = |ms| {
        clock.advance(Duration::from_millis(ms));
        let next = timers.run_due();
        (fired.lock().unwrap().drain(..).collect::<Vec<_>>(), next)
    };
    let (a, b, c) = (timer('a').unwrap(), timer('b').unwrap(), timer('c').unwrap());
    assert!(timer('d').unwrap_err().to_string().starts_with("all 3 timers"));
    a.at(20 * MS);
    b.after(Duration::from_millis(10));
    c.every(Duration::from_millis(15));
    assert_eq!(pass(9), (vec![], Some(10 * MS)));
    assert_eq!(pass(11), (vec![('b', 10, 0), ('c', 15, 0), ('a', 20, 0)], Some(30 * MS)));
    // Arming a timer that is armed replaces the earlier time.
    b.at(25 * MS);
    b.at(90 * MS);
    assert_eq!(pass(45), (vec![('c', 30, 2)], Some(75 * MS)));
    c.stop();
    assert_eq!(pass(15), (vec![], Some(90 * MS)));
    drop(b);
    assert_eq!(pass(15), (vec![], None));
    timer('d').unwrap();
}

#[test]
fn a_timer_that_panics_or_arms_itself_again_harms_no_other() {
    let (tell, told) = mpsc::channel();
    let timers = Timers::start("timers", Arc::new(Monotonic), 8, None).unwrap();
    let bad = timers.add(|_| panic!("a test of panics")).unwrap();
    bad.every(Duration::from_millis(1));
    let own: Arc<Mutex<Option<Timer>>> = Arc::default();
    let (again, count) = (Arc::clone(&own), AtomicU64::new(0));
    let timer = timers.add(move |_| {
        tell.send(count.fetch_add(1, Ordering::Relaxed)).unwrap();
        if let Some(timer) = &*again.lock().unwrap() {
            timer.after(Duration::from_millis(1));
        }
    });
    let mut slot = own.lock().unwrap();
    slot.insert(timer.unwrap()).after(Duration::from_millis(1));
    drop(slot);
    for number in 0..5 {
        assert_eq!(told.recv_timeout(LONG), Ok(number));
    }
    drop(own.lock().unwrap().take());
}

/// Consumer control with TAO's ping period and time-out. A peer is lost exactly when its retries are used up.
#[test]
fn a_peer_is_lost_when_it_does_not_answer_as_often_as_it_may() {
    struct Silent(Vec<Ping>, AtomicU32, mpsc::Sender<u32>);
    impl Peer for Silent {
        fn ping(&self, limit: Duration) -> Ping {
            assert_eq!(limit, Control::TIMEOUT);
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            self.0.get(number as usize).copied().unwrap_or(Ping::NoAnswer)
        }
        fn lost(&self) {
            self.2.send(self.1.load(Ordering::Relaxed)).unwrap();
        }
    }
    let control = Control::start(Duration::from_millis(1), Control::TIMEOUT, 1).unwrap();
    for (answers, pings) in [
        (vec![], 2),
        (vec![Ping::NoAnswer, Ping::Alive, Ping::NoAnswer, Ping::Alive], 6),
        (vec![Ping::Alive, Ping::Gone], 2),
    ] {
        let (tell, told) = mpsc::channel();
        let peer: Arc<dyn Peer> = Arc::new(Silent(answers, AtomicU32::new(0), tell));
        let _watch = control.watch(&peer);
        assert_eq!(told.recv_timeout(LONG), Ok(pings));
    }
    assert_eq!(control.lost(), 3);
}

/// The system rejects a sleep of this length. The thread must not ping without a pause because of that.
#[test]
fn the_longest_period_lets_no_ping_come() {
    struct Pinged(AtomicU32);
    impl Peer for Pinged {
        fn ping(&self, _: Duration) -> Ping {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ping::Alive
        }
        fn lost(&self) {}
    }
    let control = Control::start(Duration::MAX, Control::TIMEOUT, 0).unwrap();
    let pinged = Arc::new(Pinged(AtomicU32::new(0)));
    let peer: Arc<dyn Peer> = pinged.clone();
    let watch = control.watch(&peer);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(pinged.0.load(Ordering::Relaxed), 0);
    drop(watch);
}

#[test]
fn a_supplier_beyond_its_rate_is_counted_refused_or_delayed() {
    let rate = |beyond| Rate { period: Duration::from_millis(10), burst: 3, beyond };
    // Offers events at 100 times the declared rate for one second.
    let judge = |meter: &Meter| {
        let mut passed = 0;
        for number in 0..10_000 {
            passed += u32::from(meter.admit(number * MS / 10) == Verdict::Pass);
        }
        passed
    };
    let counted = Meter::new(rate(Beyond::Count));
    assert_eq!((judge(&counted), counted.refused()), (10_000, 0));
    let refused = Meter::new(rate(Beyond::Refuse));
    assert_eq!(judge(&refused), 102);
    assert_eq!((refused.beyond(), refused.refused()), (9_898, 9_898));
    assert_eq!(counted.beyond(), refused.beyond());
    let delayed = Meter::new(rate(Beyond::Delay(Duration::from_millis(15))));
    let first: Vec<_> = (0..6).map(|_| delayed.admit(0)).collect();
    let wait = |ms| Verdict::Wait(Duration::from_millis(ms));
    let pass = Verdict::Pass;
    assert_eq!(first, [pass, pass, pass, wait(10), Verdict::Refuse, Verdict::Refuse]);
    let none = Meter::new(Rate { period: Duration::ZERO, ..rate(Beyond::Refuse) });
    assert_eq!(judge(&none), 10_000);
}
