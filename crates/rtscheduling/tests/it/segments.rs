//! Segments and calls of distributable threads, over sockets and within an ORB.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb::incident::Incident;
use oxorb::interceptor::{
    ClientInterceptor, ClientRequest, Interrupt, ServerInterceptor, ServerReply,
};
use oxorb::rt::Priority;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall, minor,
};
use oxorb_rtscheduling::{
    DtState, Enforcement, Exclusive, Fp, FpParameter, Id, Kokyu, Muf, MufParameter, RtScheduling,
    SegmentError, SpawnOptions,
};
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use oxorb_testkit::{require_realtime, watchdog};
use proptest::prelude::*;

use crate::common::*;

#[test]
fn segments_nest_update_and_end_in_order() {
    let scheduling = RtScheduling::new(Notes::default());
    let orb = client(&scheduling);
    let current = scheduling.current(&orb);
    assert_eq!(current.id(), None);
    let outer = current.begin_scheduling_segment("outer", 1, Some(9)).unwrap();
    let id = current.id().unwrap();
    let inner = current.begin_scheduling_segment("inner", 2, None).unwrap();
    assert_eq!(current.id(), Some(id));
    assert_eq!(current.scheduling_parameter(), Some(2));
    assert_eq!(current.implicit_scheduling_parameter(), None);
    assert_eq!(current.current_scheduling_segment_names(), ["inner", "outer"]);
    current.update_scheduling_segment("renamed", 3, Some(4)).unwrap();
    assert_eq!(current.implicit_scheduling_parameter(), Some(4));
    assert_eq!(
        current.update_scheduling_segment("never", -1, None),
        Err(SegmentError::UnsupportedSchedulingDiscipline)
    );
    assert_eq!(current.scheduling_parameter(), Some(3));
    inner.end().unwrap();
    assert_eq!(current.current_scheduling_segment_names(), ["outer"]);
    let thread = outer.thread().unwrap();
    assert_eq!((thread.id(), thread.state()), (id, DtState::Active));
    outer.end().unwrap();
    assert_eq!((current.id(), thread.state()), (None, DtState::Ended));
    assert_eq!(
        scheduling.scheduler().take(),
        [
            "begin \"outer\" 1",
            "begin nested \"inner\" 2",
            "update \"inner\" 3",
            "update \"renamed\" -1",
            "end nested \"renamed\" 3",
            "back in \"outer\" 1",
            "end \"outer\" 1",
        ]
    );
    let refused = current.begin_scheduling_segment("refused", -1, None);
    assert_eq!(refused.unwrap_err(), SegmentError::UnsupportedSchedulingDiscipline);
    assert_eq!(current.id(), None);
    let too_late = current.update_scheduling_segment("none", 1, None);
    let none =
        SystemException::bad_inv_order(minor::bad_inv_order::NO_SEGMENT, CompletionStatus::No);
    assert_eq!(too_late, Err(SegmentError::System(none)));
    orb.shutdown(true).unwrap();
}

#[test]
fn an_outer_segment_takes_those_within_it_along() {
    let scheduling = RtScheduling::new(Notes::default());
    let orb = client(&scheduling);
    let current = scheduling.current(&orb);
    let outer = current.begin_scheduling_segment("outer", 1, None).unwrap();
    let inner = current.begin_scheduling_segment("inner", 2, None).unwrap();
    outer.end().unwrap();
    assert_eq!(current.id(), None);
    inner.end().unwrap();
    let mut segments = Vec::new();
    let refused = loop {
        match current.begin_scheduling_segment("deeper", 1, None) {
            Ok(segment) => segments.push(segment),
            Err(error) => break error,
        }
        assert!(segments.len() <= 64);
    };
    let most = SystemException::no_resources(minor::no_resources::SEGMENTS, CompletionStatus::No);
    assert_eq!(refused, SegmentError::System(most));
    while let Some(segment) = segments.pop() {
        segment.end().unwrap();
    }
    orb.shutdown(true).unwrap();
}

/// Location of the object of a nested call.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Elsewhere,
    Here,
}

#[test]
fn a_thread_goes_through_nested_calls_and_comes_back() {
    for place in [Place::Elsewhere, Place::Here] {
        let _watch = watchdog(LONG);
        let notes = RtScheduling::new(Notes::default());
        let there = RtScheduling::new(Notes::default());
        let (far, near) = (server(&there), server(&notes));
        let (seen, see) = mpsc::channel();
        let current = there.current(&far);
        let inner = {
            let seen = seen.clone();
            serve(&far, move |_| {
                seen.send((current.id(), current.scheduling_parameter())).unwrap();
                current.update_scheduling_segment("", 8, None).unwrap();
                Ok(())
            })
        };
        let (orb, current) = (near.clone(), notes.current(&near));
        let inner = seen_by(&near, &inner);
        let outer = serve(&near, move |_| {
            seen.send((current.id(), current.scheduling_parameter())).unwrap();
            let segment = current.begin_scheduling_segment("in servant", 6, None).unwrap();
            run(&inner)?;
            assert_eq!(current.scheduling_parameter(), Some(6));
            segment.end()?;
            Ok(())
        });
        let home = match place {
            Place::Here => orb,
            Place::Elsewhere => client(&notes),
        };
        let outer = seen_by(&home, &outer);
        let current = notes.current(&home);
        let segment = current.begin_scheduling_segment("head", 5, None).unwrap();
        let id = current.id();
        run(&outer).unwrap();
        assert_eq!(current.id(), id);
        segment.end().unwrap();
        assert_eq!(see.recv().unwrap(), (id, Some(5)));
        assert_eq!(see.recv().unwrap(), (id, Some(6)));
        // The server leaves a request while its reply is being sent, so the notes on leaving come
        // in no fixed order.
        let before_leaving = |notes: &Notes| {
            let mut all = notes.take();
            all.retain(|note| !note.starts_with("leave_request"));
            all
        };
        assert_eq!(
            before_leaving(notes.scheduler()),
            [
                "begin \"head\" 5",
                "send_request run \"head\" 5",
                "receive_request run \"\" 5",
                "begin nested \"in servant\" 6",
                "send_request run \"in servant\" 6",
                "receive_reply Some(8) \"in servant\" 6",
                "end nested \"in servant\" 6",
                "back in \"\" 5",
                "send_reply \"\" 5",
                "receive_reply Some(5) \"head\" 5",
                "end \"head\" 5",
            ]
        );
        assert_eq!(
            before_leaving(there.scheduler()),
            ["receive_request run \"\" 6", "update \"\" 8", "send_reply \"\" 8",]
        );
        home.shutdown(true).unwrap();
        near.shutdown(true).unwrap();
        far.shutdown(true).unwrap();
    }
}

#[test]
fn a_oneway_begins_a_new_thread_with_the_implicit_parameter() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Notes::default());
    let near = server(&scheduling);
    let home = client(&scheduling);
    let (seen, see) = mpsc::channel();
    let current = scheduling.current(&near);
    let object = serve(&near, move |operation| {
        let what = (operation.to_owned(), current.id(), current.scheduling_parameter());
        seen.send(what).unwrap();
        Ok(())
    });
    for orb in [&home, &near] {
        let object = seen_by(orb, &object);
        let current = scheduling.current(orb);
        let segment = current.begin_scheduling_segment("head", 5, Some(2)).unwrap();
        let id = current.id();
        tell(&object).unwrap();
        let (_, other, parameter) = see.recv().unwrap();
        assert!(other.is_some() && other != id);
        assert_eq!(parameter, Some(2));
        // An asynchronous call begins a thread of its own, with an id that nobody declared.
        let asynchronous =
            object.reference().invoke_async::<(), SystemException>(&RUN, |_| Ok(()), |_| Ok(()));
        let (_, another, parameter) = see.recv().unwrap();
        assert!(another.is_some() && another != id && another != other);
        assert_eq!(parameter, Some(2));
        asynchronous.wait().unwrap();
        current.update_scheduling_segment("head", 5, None).unwrap();
        tell(&object).unwrap();
        assert_eq!(see.recv().unwrap(), ("tell".into(), None, None));
        assert_eq!(current.id(), id);
        segment.end().unwrap();
        tell(&object).unwrap();
        assert_eq!(see.recv().unwrap(), ("tell".into(), None, None));
    }
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
}

#[test]
fn exceptions_and_panics_of_servants_leave_nothing_behind() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Notes::default());
    let near = server(&scheduling);
    let home = client(&scheduling);
    let current = scheduling.current(&near);
    let object = serve(&near, move |_| {
        let open = current.begin_scheduling_segment("open", 7, None).unwrap();
        std::mem::forget(open);
        match current.current_scheduling_segment_names().len() {
            1 => panic!("as the test wants it"),
            _ => unreachable!("an earlier request has left a segment"),
        }
    });
    let object = seen_by(&home, &object);
    let current = scheduling.current(&home);
    let segment = current.begin_scheduling_segment("head", 5, None).unwrap();
    for _ in 0..3 {
        let failed = run(&object).unwrap_err();
        assert_eq!(failed.minor, minor::unknown::SERVANT_PANICKED);
    }
    segment.end().unwrap();
    near.shutdown(true).unwrap();
    let notes = scheduling.scheduler().take();
    let ends = |point: &str| notes.iter().filter(|note| note.starts_with(point)).count();
    assert_eq!((ends("receive_request"), ends("leave_request")), (3, 3));
    assert_eq!((ends("begin nested"), ends("end nested")), (3, 3));
    assert_eq!(ends("receive_exception"), 3);
    home.shutdown(true).unwrap();
}

#[test]
fn a_thread_arrives_however_requests_are_carried_and_served() {
    let _watch = watchdog(LONG);
    let connections =
        [ClientConnections::Private, ClientConnections::Cached, ClientConnections::Multiplexed];
    let architectures = [
        Concurrency::ThreadPerConnection,
        Concurrency::WorkerPool { threads: 2, queue: 8 },
        Concurrency::LeaderFollowers { threads: 2 },
        Concurrency::ThreadPerRequest { threads: 4 },
    ];
    for concurrency in architectures {
        let scheduling = RtScheduling::new(Notes::default());
        let near = Orb::builder()
            .listen("iiop://127.0.0.1:0")
            .concurrency(concurrency)
            .scheduling_interceptor(scheduling.interceptor())
            .build()
            .unwrap();
        let (seen, see) = mpsc::channel();
        let current = scheduling.current(&near);
        let object = serve(&near, move |_| {
            seen.send(current.id()).unwrap();
            Ok(())
        });
        for connections in connections {
            let home = Orb::builder()
                .client_connections(connections)
                .scheduling_interceptor(scheduling.interceptor())
                .build()
                .unwrap();
            let object = seen_by(&home, &object);
            let current = scheduling.current(&home);
            for _ in 0..3 {
                let segment = current.begin_scheduling_segment("head", 1, None).unwrap();
                run(&object).unwrap();
                assert_eq!(see.recv().unwrap(), current.id());
                segment.end().unwrap();
                run(&object).unwrap();
                assert_eq!(see.recv().unwrap(), None);
            }
            home.shutdown(true).unwrap();
        }
        near.shutdown(true).unwrap();
        let notes = scheduling.scheduler().take();
        let count = |point: &str| notes.iter().filter(|it| it.starts_with(point)).count();
        assert_eq!((count("receive_request"), count("leave_request")), (9, 9));
    }
}

/// Servant that answers from another thread.
struct AnswersLater;

impl Servant for AnswersLater {
    fn repository_id(&self) -> &str {
        "IDL:test/AnswersLater:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.later(|later| drop(std::thread::spawn(move || later.done())))
    }
}

#[test]
fn a_servant_that_answers_later_lets_its_thread_go() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Notes::default());
    let near = server(&scheduling);
    let home = client(&scheduling);
    let object = near.root_poa().activate_servant(Arc::new(AnswersLater)).unwrap();
    let object = seen_by(&home, &ObjectRef::from_ref(object));
    let current = scheduling.current(&home);
    let segment = current.begin_scheduling_segment("head", 5, None).unwrap();
    for _ in 0..3 {
        run(&object).unwrap();
    }
    segment.end().unwrap();
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
    let notes = scheduling.scheduler().take();
    let count = |point: &str| notes.iter().filter(|it| it.starts_with(point)).count();
    assert_eq!((count("receive_request"), count("leave_request")), (3, 3));
    assert_eq!((count("send_reply"), count("receive_reply None")), (0, 3));
}

/// Interceptor that adds an invalid context 30.
struct Bad(Mutex<Vec<u8>>);

impl ClientInterceptor for Bad {
    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        request.add_request_service_context(30, self.0.lock().unwrap().clone(), true)?;
        Ok(())
    }
}

#[test]
fn a_bad_context_is_refused_and_the_connection_goes_on() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Notes::default());
    let near = server(&scheduling);
    let object = serve(&near, |_| Ok(()));
    let bad = Orb::builder().client_interceptor(Bad(Mutex::new(vec![1, 2, 3]))).build().unwrap();
    let object_of_bad = seen_by(&bad, &object);
    for _ in 0..3 {
        let refused =
            SystemException::marshal(minor::marshal::SCHEDULING_CONTEXT, CompletionStatus::No);
        assert_eq!(run(&object_of_bad), Err(refused));
    }
    let told = near.connection_statistics();
    assert_eq!(told.count(Incident::BadSchedulingContext), 1);
    assert_eq!(told.accepted, 1, "all over one connection");
    assert!(scheduling.scheduler().take().is_empty());
    let home = client(&scheduling);
    run(&seen_by(&home, &object)).unwrap();
    for orb in [bad, home, near] {
        orb.shutdown(true).unwrap();
    }
}

impl ServerInterceptor for Bad {
    fn send_reply(&self, reply: &mut ServerReply<'_>) -> Result<(), SystemException> {
        reply.add_reply_service_context(30, self.0.lock().unwrap().clone(), true)
    }
}

#[test]
fn a_bad_context_in_a_reply_costs_no_results() {
    let _watch = watchdog(LONG);
    let near = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .server_interceptor(Bad(Mutex::new(vec![0; 40])))
        .build()
        .unwrap();
    let scheduling = RtScheduling::new(Notes::default());
    let home = client(&scheduling);
    let object = seen_by(&home, &serve(&near, |_| Ok(())));
    let current = scheduling.current(&home);
    let segment = current.begin_scheduling_segment("head", 5, None).unwrap();
    run(&object).unwrap();
    run(&object).unwrap();
    segment.end().unwrap();
    let told = home.connection_statistics().count(Incident::BadSchedulingContext);
    assert_eq!(told, 1);
    let notes = scheduling.scheduler().take();
    assert!(notes.contains(&"receive_reply None \"head\" 5".to_owned()), "{notes:?}");
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
}

#[test]
fn a_scheduler_without_a_place_refuses_a_request_and_the_thread_lives_on() {
    let _watch = watchdog(LONG);
    let busy = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::Exclusive(Exclusive {
        waiting: 0,
        ..Exclusive::default()
    })));
    let near = server(&busy);
    let (come, came) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let gate = Mutex::new(gone);
    let object = serve(&near, move |_| {
        come.send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
        Ok(())
    });
    let scheduling = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::default()));
    let home = client(&scheduling);
    let object = seen_by(&home, &object);
    let parameter = MufParameter::within(1, Duration::from_secs(1), Duration::ZERO);
    let current = scheduling.current(&home);
    let options = SpawnOptions::default();
    let first = object.clone();
    let ran = move |_: &_| run(&first).unwrap();
    let thread = current.spawn("first", parameter, None, options, ran).unwrap();
    came.recv().unwrap();
    let segment = current.begin_scheduling_segment("second", parameter, None).unwrap();
    let full = SystemException::transient(minor::transient::RUN_QUEUE, CompletionStatus::No);
    assert_eq!(run(&object), Err(full));
    go.send(()).unwrap();
    assert!(thread.wait_ended(LONG));
    go.send(()).unwrap();
    // The first request releases its processor while its reply is being sent, so repeat the call
    // until it is admitted.
    wait_until(|| run(&object) == Ok(()));
    segment.end().unwrap();
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
}

#[test]
fn priorities_follow_a_thread_and_are_undone() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Kokyu::<Fp>::new(Enforcement::default()));
    let near = server(&scheduling);
    let home = client(&scheduling);
    let (seen, see) = mpsc::channel();
    let orb = near.clone();
    let object = serve(&near, move |_| {
        seen.send(orb.thread_priority()).unwrap();
        Ok(())
    });
    let object = seen_by(&home, &object);
    let current = scheduling.current(&home);
    let at = |priority: i16| FpParameter { priority: Priority::new(priority).unwrap() };
    let before = home.thread_priority();
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), None);
    let segment = current.begin_scheduling_segment("head", at(100), None).unwrap();
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), Some(at(100).priority));
    let inner = current.begin_scheduling_segment("inner", at(200), None).unwrap();
    assert_eq!(home.thread_priority(), Some(at(200).priority));
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), Some(at(200).priority));
    current.update_scheduling_segment("inner", at(50), None).unwrap();
    assert_eq!(home.thread_priority(), Some(at(50).priority));
    inner.end().unwrap();
    assert_eq!(home.thread_priority(), Some(at(100).priority));
    segment.end().unwrap();
    assert_eq!(home.thread_priority(), before);
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), None, "the serving thread has its priority again");
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
}

#[test]
fn the_kernel_schedules_a_thread_by_its_segment() {
    if !require_realtime() {
        return;
    }
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Kokyu::<Fp>::new(Enforcement::default()));
    let real_time = |builder: oxorb::Builder| {
        builder
            .setting("SchedPolicy", "SCHED_FIFO")
            .setting("PriorityMapping", "direct")
            .scheduling_interceptor(scheduling.interceptor())
            .build()
            .unwrap()
    };
    let near = real_time(Orb::builder().listen("iiop://127.0.0.1:0"));
    let home = real_time(Orb::builder());
    let (seen, see) = mpsc::channel();
    let object = serve(&near, move |_| {
        seen.send(schedule::current().unwrap()).unwrap();
        Ok(())
    });
    let object = seen_by(&home, &object);
    let at = |priority: i16| FpParameter { priority: Priority::new(priority).unwrap() };
    let fifo = |priority| ThreadPriority { class: SchedulingClass::Fifo, priority };
    let before = schedule::current().unwrap();
    run(&object).unwrap();
    let unscheduled = see.recv().unwrap();
    let current = scheduling.current(&home);
    let segment = current.begin_scheduling_segment("head", at(20), None).unwrap();
    assert_eq!(schedule::current().unwrap(), fifo(20));
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), fifo(20));
    let inner = current.begin_scheduling_segment("inner", at(30), None).unwrap();
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), fifo(30));
    inner.end().unwrap();
    assert_eq!(schedule::current().unwrap(), fifo(20));
    segment.end().unwrap();
    assert_eq!(schedule::current().unwrap(), before);
    run(&object).unwrap();
    assert_eq!(see.recv().unwrap(), unscheduled, "the server's thread has its own again");
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
}

#[test]
fn one_thread_runs_at_a_time_the_most_urgent_first() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::Exclusive(Exclusive {
        longest: LONG,
        ..Exclusive::default()
    })));
    let orb = client(&scheduling);
    let order = Arc::new(Mutex::new(Vec::new()));
    let second = Duration::from_secs(1);
    let parameter = |criticality, limit| MufParameter::within(criticality, limit, Duration::ZERO);
    let current = scheduling.current(&orb);
    let first = current.begin_scheduling_segment("first", parameter(0, second), None).unwrap();
    let spawned: Vec<_> = [(1, 50, "later"), (3, 90, "critical"), (1, 10, "sooner")]
        .into_iter()
        .enumerate()
        .map(|(at, (criticality, limit, name))| {
            let order = Arc::clone(&order);
            let parameter = parameter(criticality, second * limit);
            let act = move |_: &_| order.lock().unwrap().push(name);
            let options = SpawnOptions::default();
            let thread = current.spawn(name, parameter, None, options, act).unwrap();
            wait_until(|| scheduling.scheduler().waiting() == at + 1);
            thread
        })
        .collect();
    assert!(order.lock().unwrap().is_empty());
    first.end().unwrap();
    for thread in &spawned {
        assert!(thread.wait_ended(LONG));
    }
    assert_eq!(*order.lock().unwrap(), ["critical", "sooner", "later"]);
    orb.shutdown(true).unwrap();
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_thread_that_waits_for_its_turn_can_be_cancelled() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::Exclusive(Exclusive {
        longest: LONG,
        waiting: 1,
        ..Exclusive::default()
    })));
    let orb = client(&scheduling);
    let current = scheduling.current(&orb);
    let parameter = MufParameter::within(0, Duration::from_secs(1), Duration::ZERO);
    let first = current.begin_scheduling_segment("first", parameter, None).unwrap();
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let act = move |_: &_| *count.lock().unwrap() += 1;
    let options = SpawnOptions::default();
    let waits = current.spawn("waits", parameter, None, options, act.clone()).unwrap();
    wait_until(|| scheduling.scheduler().waiting() == 1);
    // The queue is full, so a further thread does not run.
    let refused = current.spawn("refused", parameter, None, options, act).unwrap();
    assert!(refused.wait_ended(LONG));
    waits.cancel().unwrap();
    assert!(waits.wait_ended(LONG));
    first.end().unwrap();
    assert_eq!(*ran.lock().unwrap(), 0);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_thread_waits_for_its_turn_for_a_limited_time() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::Exclusive(Exclusive {
        longest: Duration::from_millis(20),
        ..Exclusive::default()
    })));
    let orb = client(&scheduling);
    let current = scheduling.current(&orb);
    let parameter = MufParameter::within(0, Duration::from_secs(1), Duration::ZERO);
    let first = current.begin_scheduling_segment("first", parameter, None).unwrap();
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let act = move |_: &_| *count.lock().unwrap() += 1;
    let late = current.spawn("late", parameter, None, SpawnOptions::default(), act).unwrap();
    assert!(late.wait_ended(LONG), "though the first thread runs on");
    assert_eq!(scheduling.scheduler().waiting(), 0);
    first.end().unwrap();
    assert_eq!(*ran.lock().unwrap(), 0);
    orb.shutdown(true).unwrap();
}

#[test]
fn spawned_threads_are_counted_and_end_with_the_orb() {
    let _watch = watchdog(LONG);
    let limits = oxorb_rtscheduling::Limits { spawned: 2, ..Default::default() };
    let scheduling = RtScheduling::with_limits(Notes::default(), limits);
    let orb = client(&scheduling);
    let current = scheduling.current(&orb);
    let sleeps = |current: &oxorb_rtscheduling::Current<Notes>| {
        assert_eq!(current.sleep(2 * LONG), Err(cancelled(CompletionStatus::No)));
    };
    let options = SpawnOptions { stack_size: 256 * 1024, base_priority: Some(Priority::MIN) };
    let one = current.spawn("one", 1, None, options, sleeps).unwrap();
    let other = current.spawn("other", 2, None, options, sleeps).unwrap();
    let most = minor::no_resources::DISTRIBUTABLE_THREADS;
    assert_eq!(
        current.spawn("too many", 3, None, options, sleeps).unwrap_err(),
        SystemException::no_resources(most, CompletionStatus::No)
    );
    assert_eq!(scheduling.lookup(&one.id()).unwrap().state(), DtState::Active);
    assert!(scheduling.lookup(&Id::new()).is_none());
    orb.shutdown(true).unwrap();
    assert_eq!((one.state(), other.state()), (DtState::Ended, DtState::Ended));
}

#[test]
fn a_cancelled_thread_gets_no_further_and_ends() {
    let _watch = watchdog(LONG);
    let scheduling = RtScheduling::new(Notes::default());
    let near = server(&scheduling);
    let home = client(&scheduling);
    let object = seen_by(&home, &serve(&near, |_| Ok(())));
    let current = scheduling.current(&home);
    let segment = current.begin_scheduling_segment("head", 5, Some(1)).unwrap();
    let thread = segment.thread().unwrap();
    assert_eq!(current.check(), Ok(()));
    assert_eq!(thread.cancel(), Ok(true));
    assert_eq!(thread.state(), DtState::Cancelled);
    let no = cancelled(CompletionStatus::No);
    assert_eq!(current.check(), Err(no));
    assert_eq!(run(&object), Err(no));
    assert_eq!(tell(&object), Err(no));
    assert_eq!(
        current.begin_scheduling_segment("inner", 1, None).unwrap_err(),
        SegmentError::System(no)
    );
    assert_eq!(current.update_scheduling_segment("head", 1, None), Err(SegmentError::System(no)));
    assert_eq!(segment.end(), Err(no));
    assert_eq!(thread.state(), DtState::Ended);
    let gone = minor::object_not_exist::NO_DISTRIBUTABLE_THREAD;
    assert_eq!(thread.cancel(), Err(SystemException::object_not_exist(gone, CompletionStatus::No)));
    run(&object).unwrap();
    home.shutdown(true).unwrap();
    near.shutdown(true).unwrap();
}

/// Actions of a thread on segments.
#[derive(Debug, Clone)]
enum Step {
    Begin(i32),
    Update(i32),
    /// Ends the segment with this many segments nested in it.
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..1000).prop_map(Step::Begin),
        (0..1000).prop_map(Step::Update),
        (0_usize..3).prop_map(Step::End),
    ]
}

proptest! {
    #[test]
    fn segments_are_a_stack(steps in prop::collection::vec(step(), 0..40)) {
        let scheduling = RtScheduling::new(Notes::default());
        let orb = client(&scheduling);
        let current = scheduling.current(&orb);
        let mut open: Vec<(_, i32)> = Vec::new();
        for step in steps {
            match step {
                Step::Begin(parameter) => {
                    let name = parameter.to_string();
                    let begun = current.begin_scheduling_segment(&name, parameter, None);
                    open.push((begun.unwrap(), parameter));
                }
                Step::Update(parameter) => {
                    let name = parameter.to_string();
                    let updated = current.update_scheduling_segment(&name, parameter, None);
                    prop_assert_eq!(updated.is_ok(), !open.is_empty());
                    if let Some((_, of_last)) = open.last_mut() {
                        *of_last = parameter;
                    }
                }
                Step::End(within) => {
                    if let Some(at) = open.len().checked_sub(within + 1) {
                        // Nested segments end with their outer segment, and their guards do nothing
                        // afterwards.
                        let (segment, _) = open.remove(at);
                        let inner = open.split_off(at);
                        segment.end().unwrap();
                        drop(inner);
                    }
                }
            }
            let names: Vec<String> = open.iter().rev().map(|(_, it)| it.to_string()).collect();
            prop_assert_eq!(current.current_scheduling_segment_names(), names);
            prop_assert_eq!(current.scheduling_parameter(), open.last().map(|(_, it)| *it));
            prop_assert_eq!(current.id().is_some(), !open.is_empty());
        }
        while let Some((segment, _)) = open.pop() {
            segment.end().unwrap();
        }
        let notes = scheduling.scheduler().take();
        let count = |point: &str| notes.iter().filter(|it| it.starts_with(point)).count();
        prop_assert_eq!(count("begin nested"), count("end nested"));
        prop_assert_eq!(count("begin \""), count("end \""));
        orb.shutdown(true).unwrap();
    }
}
