//! Real-time upcalls: periodic work of servants.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::sched::repository::Repository;
use oxorb::sched::service::Service;
use oxorb::sched::{DispatchModel, Strategy};
use oxorb::{Interface as _, ObjectRef, Orb, SystemException};
use oxorb_rtscheduling::upcalls::{Overrun, Periodic, RealTimeUpcalls, UpcallError};
use oxorb_scheduler::{Remote, Scheduling};
use oxorb_testkit::watchdog;

use crate::common::*;

const PERIOD: Duration = Duration::from_millis(5);

fn local() -> Orb {
    Orb::builder().build().unwrap()
}

fn every(name: &str, overrun: Overrun) -> Periodic {
    Periodic { overrun, ..Periodic::new(name, PERIOD) }
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG);
        thread::sleep(Duration::from_millis(1));
    }
}

fn priority(number: i16) -> Priority {
    Priority::new(number).unwrap()
}

#[test]
fn an_upcall_runs_in_its_thread_at_its_priority_until_it_is_dropped() {
    let _watch = watchdog(LONG);
    let orb = local();
    let (seen, see) = mpsc::channel();
    let here = orb.clone();
    let object = serve(&orb, move |operation| {
        let _ = seen.send((operation.to_owned(), here.thread_priority()));
        Ok(())
    });
    let upcalls = RealTimeUpcalls::new(&orb);
    let named = every("run", Overrun::Skip);
    let registration = upcalls.register(&object, named, priority(100), run).unwrap();
    for _ in 0..3 {
        assert_eq!(see.recv().unwrap(), ("run".into(), Some(priority(100))));
    }
    wait_until(|| registration.counts().runs >= 3);
    assert!(registration.start_latency().count >= 3);
    assert!(registration.response().max_ns >= registration.start_latency().quantile(0.0));
    assert_eq!(registration.counts().failures, 0);
    assert!(registration.end(LONG));
    while see.try_recv().is_ok() {}
    thread::sleep(4 * PERIOD);
    assert!(see.try_recv().is_err(), "it has ended");
    assert!(upcalls.repository().unwrap().infos().is_empty());
    orb.shutdown(true).unwrap();
}

#[test]
fn upcalls_beyond_the_limit_are_refused() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::with_limit(&orb, 1);
    let add = |name| upcalls.register(&object, every(name, Overrun::Skip), priority(1), run);
    let first = add("first").unwrap();
    assert!(matches!(add("second"), Err(UpcallError::TooMany(1))));
    assert!(first.end(LONG));
    assert!(add("second").unwrap().end(LONG), "the place of the first one is free");
    orb.shutdown(true).unwrap();
}

#[test]
fn an_object_in_a_lane_is_served_by_the_lane() {
    let _watch = watchdog(LONG);
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let lane = ThreadpoolLane::new(priority(300), 2);
    let pool = orb.create_threadpool(Threadpool::with_lanes(vec![lane])).unwrap();
    let policies = Policies {
        realtime: RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: 300,
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("lane", policies).unwrap();
    let (seen, see) = mpsc::channel();
    let here = orb.clone();
    let look = move |_: &str| {
        let _ = seen.send((here.current_lane().is_some(), here.thread_priority()));
        Ok(())
    };
    let servant = Arc::new(Closure(Box::new(look)));
    let object = ObjectRef::from_ref(poa.activate_servant(servant).unwrap());
    let upcalls = RealTimeUpcalls::new(&orb);
    let named = every("run", Overrun::Skip);
    let registration = upcalls.register(&object, named, priority(300), run).unwrap();
    assert_eq!(see.recv().unwrap(), (true, Some(priority(300))));
    drop(registration);
    orb.shutdown(true).unwrap();
}

#[test]
fn an_object_that_is_gone_ends_its_upcall() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let named = every("run", Overrun::Skip);
    let registration = upcalls.register(&object, named, priority(1), run).unwrap();
    wait_until(|| registration.counts().runs > 0);
    orb.root_poa().deactivate(&object).unwrap();
    wait_until(|| registration.counts().failures >= 1);
    thread::sleep(4 * PERIOD);
    assert_eq!(registration.counts().failures, 1, "no other call was tried");
    drop(registration);
    orb.shutdown(true).unwrap();
}

#[test]
fn an_overrun_is_counted_told_and_the_grid_is_kept() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&told);
    let tell = Overrun::Callback(Arc::new(move |missed| {
        notes.lock().unwrap().push((missed.name.to_owned(), missed.releases));
    }));
    let mut first = true;
    let slow = move |_: &ObjectRef| {
        if std::mem::take(&mut first) {
            thread::sleep(4 * PERIOD);
        }
        Ok(())
    };
    let registration = upcalls.register(&object, every("slow", tell), priority(1), slow).unwrap();
    wait_until(|| registration.counts().runs >= 3);
    let counts = registration.counts();
    assert!(counts.overruns >= 1 && counts.misses >= 1 && counts.skipped >= 4, "{counts:?}");
    let told = told.lock().unwrap();
    let (name, releases) = &told[0];
    assert!(name == "slow" && *releases >= 4, "{told:?}");
    drop(registration);
    orb.shutdown(true).unwrap();
}

#[test]
fn an_upcall_that_overruns_is_demoted_until_it_is_in_time() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (notes, here) = (Arc::clone(&seen), orb.clone());
    let slow = move |_: &ObjectRef| {
        let mut notes = notes.lock().unwrap();
        notes.push(here.thread_priority());
        if notes.len() == 1 {
            thread::sleep(2 * PERIOD);
        }
        Ok(())
    };
    // Some call ends before the next release even on a busy machine, and the next one then runs at
    // the upcall's own priority.
    let named = Periodic {
        period: Duration::from_millis(5),
        ..every("slow", Overrun::Demote(priority(3)))
    };
    let registration = upcalls.register(&object, named, priority(200), slow).unwrap();
    wait_until(|| {
        let seen = seen.lock().unwrap();
        seen.iter().skip(2).any(|one| *one == Some(priority(200)))
    });
    drop(registration);
    orb.shutdown(true).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[..2], [Some(priority(200)), Some(priority(3))]);
}

#[test]
fn calls_that_are_behind_catch_up_as_far_as_they_may() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let mut first = true;
    let slow = move |_: &ObjectRef| {
        if std::mem::take(&mut first) {
            thread::sleep(10 * PERIOD);
        }
        Ok(())
    };
    let named = every("slow", Overrun::CatchUp(3));
    let registration = upcalls.register(&object, named, priority(1), slow).unwrap();
    wait_until(|| registration.counts().runs >= 5);
    let counts = registration.counts();
    assert!(counts.skipped >= 7, "{counts:?}");
    // The calls that caught up missed their deadlines as well.
    assert!(counts.misses >= 3, "{counts:?}");
    drop(registration);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_panic_or_an_exception_ends_one_call_alone() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let mut calls = 0;
    let fails = move |_: &ObjectRef| {
        calls += 1;
        match calls {
            1 => panic!("as the test wants it"),
            2 => Err(SystemException::no_permission(1, oxorb::CompletionStatus::Yes)),
            _ => Ok(()),
        }
    };
    let named = every("fails", Overrun::Skip);
    let registration = upcalls.register(&object, named, priority(1), fails).unwrap();
    wait_until(|| registration.counts().runs >= 4);
    assert_eq!(registration.counts().failures, 2);
    drop(registration);
    orb.shutdown(true).unwrap();
}

#[test]
fn what_cannot_be_registered_is_named() {
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::with_limit(&orb, 2);
    let register = |periodic| upcalls.register(&object, periodic, priority(1), run);
    let one = register(every("one", Overrun::Skip)).unwrap();
    let twice = register(every("one", Overrun::Skip)).unwrap_err();
    assert_eq!(twice.to_string(), "the upcall \"one\" already exists");
    let never = register(Periodic::new("never", Duration::ZERO)).unwrap_err();
    assert_eq!(
        never.to_string(),
        "the period of upcall \"never\" is 0ns, but must be from 1µs to 86400s"
    );
    let late = Periodic { deadline: Some(Duration::MAX), ..every("late", Overrun::Skip) };
    assert!(matches!(register(late), Err(UpcallError::Time { what: "deadline", .. })));
    let postponed = Periodic { offset: Duration::MAX, ..every("postponed", Overrun::Skip) };
    assert!(matches!(register(postponed), Err(UpcallError::Time { what: "offset", .. })));
    let two = register(every("two", Overrun::Skip)).unwrap();
    let three = register(every("three", Overrun::Skip)).unwrap_err();
    assert_eq!(three.to_string(), "the ORB has the maximum of 2 upcalls");
    drop((one, two));
    orb.shutdown(true).unwrap();
    let ended = upcalls.register(&object, every("ended", Overrun::Skip), priority(1), run);
    assert!(matches!(ended, Err(UpcallError::Ended)));
}

#[test]
fn the_end_of_an_orb_waits_for_a_call_and_lets_no_other_begin() {
    let _watch = watchdog(LONG);
    let orb = local();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let (begun, done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, end) = (Arc::clone(&begun), Arc::clone(&done));
    let call = move |_: &ObjectRef| {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(20 * PERIOD);
        end.store(true, Ordering::SeqCst);
        Ok(())
    };
    let named = every("slow", Overrun::CatchUp(100));
    let registration = upcalls.register(&object, named, priority(1), call).unwrap();
    wait_until(|| begun.load(Ordering::SeqCst) >= 1);
    orb.shutdown(true).unwrap();
    assert!(done.load(Ordering::SeqCst));
    let all = begun.load(Ordering::SeqCst);
    thread::sleep(4 * PERIOD);
    assert_eq!(begun.load(Ordering::SeqCst), all);
    drop(registration);
}

#[test]
fn upcalls_are_operations_of_the_scheduling_service() {
    let _watch = watchdog(LONG);
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let object = serve(&orb, |_| Ok(()));
    let upcalls = RealTimeUpcalls::new(&orb);
    let declare = |name, period, worst_case| Periodic { worst_case, ..Periodic::new(name, period) };
    let fast = declare("fast", Duration::from_millis(10), Duration::from_millis(1));
    let slow = declare("slow", Duration::from_millis(50), Duration::from_millis(5));
    let registered =
        [&fast, &slow].map(|it| upcalls.register(&object, it.clone(), priority(1), run).unwrap());
    let operations = upcalls.repository().unwrap();
    drop(registered);

    // Load the operations into a remote service, where `oxorb sched` and TAO's clients see them.
    let new = || Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band));
    let served = oxorb_scheduler::serve(&orb, &Scheduling::new(new())).unwrap();
    let remote = Remote::new(served.scheduler().clone());
    assert_eq!(remote.load(&operations).unwrap().created, 2);
    assert!(remote.compute(1, 99).unwrap().is_empty());
    let assigned = |name| remote.priority(name).unwrap().unwrap().os_priority;
    assert!(assigned("fast") > assigned("slow"));

    // Merge the operations into a service of this process, together with other operations.
    let mut service = new();
    let mut others = Repository::new();
    let other = others.create("other").unwrap();
    let said = operations.infos()[1].characteristics;
    others.set(other, said).unwrap();
    service.merge(&others).unwrap();
    service.merge(&operations).unwrap();
    assert!(service.compute(1, 99).unwrap().is_empty());
    let (seen, see) = mpsc::channel();
    let here = orb.clone();
    let look = move |_: &ObjectRef| {
        let _ = seen.send(here.thread_priority());
        Ok(())
    };
    let registration = upcalls.register_scheduled(&object, fast, &service, look).unwrap();
    assert!(see.recv().unwrap().is_some());
    let unknown = upcalls.register_scheduled(
        &object,
        Periodic::new("unknown", PERIOD),
        &service,
        |_: &ObjectRef| Ok(()),
    );
    assert!(matches!(unknown, Err(UpcallError::Schedule(_))));
    drop(registration);
    orb.shutdown(true).unwrap();
}
