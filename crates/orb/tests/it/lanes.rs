//! Threadpools and lanes: serving threads and their priorities, exhaustion of threads, and the end of lanes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use oxorb::incident::Incident;
use oxorb::poa::{IdAssignment, Policies, RtPolicies};
use oxorb::policy::{Qos, RequestQos};
use oxorb::rt::{
    PriorityBand, PriorityBands, PriorityModel, QueueOrder, RequestBuffering, SchedulingClass,
    Threadpool, ThreadpoolError, ThreadpoolId,
};
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_giop::{Message, ReplyStatus};
use oxorb_object::components::{DecodedComponent, tag};
use oxorb_object::{RtPolicyValue, minor};
use oxorb_testkit::{require_realtime, watchdog};

use crate::common::peer::{self, Peer};
use crate::common::transport::{anywhere, protocol, url};
use crate::common::worker::*;
use crate::common::{self, LONG, alone, assert_raised, elsewhere};

#[test]
fn each_lane_serves_its_objects_with_its_own_threads_at_its_priority() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool =
        server.create_threadpool(Threadpool::with_lanes([lane(10, 1), lane(20, 2)])).unwrap();
    let mut addresses = HashSet::new();
    for (at, value) in [10, 20].into_iter().enumerate() {
        let object =
            activate(&lane_poa(&server, pool, value), &client, &Arc::new(Worker::default()));
        let expected =
            Where { thread: format!("oxorb-{}.{at}", pool.0), priority: value, native: 0 };
        assert_eq!(whereabouts(&object), expected);
        addresses.insert(common::address(&object));
    }
    assert_eq!(addresses.len(), 2, "each lane has an address of its own");
    // The ORB's own threads belong to no pool.
    let plain = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
    let plain = whereabouts(&plain);
    assert_eq!((plain.thread.as_str(), plain.priority), ("oxorb-conn", -1));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// TCP has a port for each lane; other transports derive a lane's address from the server's.
#[test]
fn a_callers_priority_leads_to_the_place_of_its_lane() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    let place = common::transport::free_place();
    let server = common::transport::builder().listen(&place.endpoint);
    let server = server.build().unwrap();
    let pool =
        server.create_threadpool(Threadpool::with_lanes([lane(10, 1), lane(20, 1)])).unwrap();
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ClientPropagated, 10),
        ..RtPolicies::default()
    };
    let client = client();
    let worker = Arc::new(Worker::default());
    let object = activate(&poa(&server, "placed", realtime), &client, &worker);
    let lanes = common::transport::profile_of(object.reference()).lanes;
    let (places, priorities): (Vec<_>, Vec<_>) = lanes.into_iter().unzip();
    assert_eq!(priorities, [10, 20]);
    let own = place.address.place();
    let names = [1, 2].map(|number| format!("{own}.{number}"));
    match common::transport::has_ports() {
        true => assert_ne!(places[0], places[1]),
        false => assert!(places.iter().map(|place| place.place()).eq(&names), "{places:?}"),
    }
    for (at, value) in [10, 20].into_iter().enumerate() {
        client.set_thread_priority(priority(value)).unwrap();
        let served = whereabouts(&object);
        assert_eq!(served.thread, format!("oxorb-{}.{at}", pool.0));
        assert_eq!(served.priority, value);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn lane_priorities_reach_the_scheduler() {
    let _guard = watchdog(LONG);
    if !require_realtime() {
        return;
    }
    let server = common::transport::listening()
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .setting("PriorityMapping", "continuous")
        .build()
        .unwrap();
    let client = client();
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(4, 1)])).unwrap();
    let worker = Arc::new(Worker::default());
    let served = whereabouts(&activate(&lane_poa(&server, pool, 4), &client, &worker));
    assert_eq!((served.priority, served.native), (4, 5));
    let beyond = server.create_threadpool(Threadpool::with_lanes([lane(99, 1)]));
    assert!(matches!(beyond, Err(ThreadpoolError::Priority(p)) if p.get() == 99));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_lane_that_is_stuck_or_panics_leaves_the_others_unharmed() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool =
        server.create_threadpool(Threadpool::with_lanes([lane(10, 2), lane(20, 2)])).unwrap();
    let (low, high) = (Arc::new(Worker::default()), Arc::new(Worker::default()));
    let low_object = activate(&lane_poa(&server, pool, 10), &client, &low);
    let high_object = activate(&lane_poa(&server, pool, 20), &client, &high);
    for _ in 0..5 {
        let panicked = call(&low_object, &PANIC).unwrap_err();
        assert_raised(panicked, SystemExceptionKind::Unknown, CompletionStatus::Maybe);
        assert_eq!(whereabouts(&high_object).priority, 20);
    }
    let stuck: Vec<_> = (0..2).map(|_| in_the_background(&low_object, &WAIT)).collect();
    low.until_waiting(2);
    let late = in_the_background(&low_object, &WHERE);
    for _ in 0..50 {
        assert_eq!(whereabouts(&high_object).priority, 20);
    }
    assert!(!late.is_finished(), "no thread of the lane was free");
    low.open();
    for call in stuck {
        assert_eq!(call.join().unwrap(), Ok(()));
    }
    assert_eq!(late.join().unwrap(), Ok(()));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// The only thread of a lane leaves a silent connection for one with requests.
#[test]
fn a_thread_stays_with_a_silent_connection_for_a_limited_time() {
    let _guard = watchdog(LONG);
    let server = common::transport::listening().setting("WorkerStay", "20").build().unwrap();
    let clients = [client(), client()];
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(10, 1)])).unwrap();
    let poa = lane_poa(&server, pool, 10);
    let objects = clients.each_ref().map(|client| activate(&poa, client, &Arc::default()));
    for _ in 0..3 {
        for object in &objects {
            assert_eq!(whereabouts(object).priority, 10);
        }
    }
    for orb in clients.iter().chain([&server]) {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn dynamic_threads_come_up_to_the_limit_and_go_when_idle() {
    // Run in a process of its own, because threads of other tests have the same names.
    if !alone(dynamic_threads_come_up_to_the_limit_and_go_when_idle) {
        return;
    }
    let _guard = watchdog(LONG);
    let server = common::transport::listening()
        .setting("DynamicThreadIdleTimeout", "20000")
        .build()
        .unwrap();
    let client = client();
    let plan = Threadpool::with_lanes([lane(10, 1).dynamic_threads(2)]);
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    for _ in 0..2 {
        worker.close();
        let calls: Vec<_> = (0..4).map(|_| in_the_background(&object, &WAIT)).collect();
        // One static thread and two dynamic ones serve three calls; the fourth call waits.
        worker.until_waiting(3);
        thread::sleep(Duration::from_millis(50));
        assert_eq!(worker.at_gate.load(Ordering::SeqCst), 3);
        worker.open();
        for call in calls {
            assert_eq!(call.join().unwrap(), Ok(()));
        }
        // The dynamic threads end when they are idle, and are started again in the next round.
        while threads_named(&format!("oxorb-{}.0", pool.0)) > 1 {
            thread::sleep(Duration::from_millis(5));
        }
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// If the thread ended, no thread would be left for the next request, although the lane may have another one.
#[test]
fn an_idle_dynamic_thread_stays_while_no_other_waits() {
    let _guard = watchdog(LONG);
    let server =
        common::transport::listening().setting("DynamicThreadIdleTimeout", "1000").build().unwrap();
    let client = client();
    let plan = Threadpool::with_lanes([lane(10, 1).dynamic_threads(2)]);
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    for _ in 0..10 {
        worker.close();
        let mut calls: Vec<_> = (0..2).map(|_| in_the_background(&object, &WAIT)).collect();
        worker.until_waiting(2);
        // The third thread has time to end.
        thread::sleep(Duration::from_millis(20));
        calls.push(in_the_background(&object, &WAIT));
        worker.until_waiting(3);
        worker.open();
        for call in calls {
            assert_eq!(call.join().unwrap(), Ok(()));
        }
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Returns the number of threads of this process with this name.
fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| {
        let path = task.ok()?.path().join("comm");
        std::fs::read_to_string(path).ok()
    });
    names.filter(|comm| comm.trim() == name).count()
}

#[test]
fn a_lane_without_free_threads_borrows_from_the_next_lower_ones() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let lanes = [lane(10, 1), lane(20, 1), lane(30, 1)];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes).allow_borrowing()).unwrap();
    let workers: Vec<_> = (0..3).map(|_| Arc::new(Worker::default())).collect();
    let objects: Vec<_> = [10, 20, 30]
        .into_iter()
        .zip(&workers)
        .map(|(value, worker)| activate(&lane_poa(&server, pool, value), &client, worker))
        .collect();
    for round in 0..3 {
        workers[2].close();
        workers[1].close();
        // Block one of the three threads, most often that of the highest lane. The next request is served by the lane's
        // own thread or by a borrowed one, whose priority is raised for the request.
        let first = in_the_background(&objects[2], &WAIT);
        workers[2].until_waiting(1);
        assert_eq!(whereabouts(&objects[2]).priority, 30, "round {round}");
        // After the request, the thread has its own priority again.
        assert_eq!(whereabouts(&objects[1]).priority, 20);
        // While two of the three threads are blocked, the third serves all lanes, each at its priority.
        let second = in_the_background(&objects[1], &WAIT);
        workers[1].until_waiting(1);
        assert_eq!(whereabouts(&objects[2]).priority, 30, "round {round}");
        workers[2].open();
        workers[1].open();
        assert_eq!(first.join().unwrap(), Ok(()));
        assert_eq!(second.join().unwrap(), Ok(()));
    }
    workers[0].close();
    let stuck = in_the_background(&objects[0], &WAIT);
    workers[0].until_waiting(1);
    let late = in_the_background(&objects[0], &WHERE);
    thread::sleep(Duration::from_millis(100));
    assert!(!late.is_finished(), "nobody lends upwards");
    workers[0].open();
    assert_eq!(stuck.join().unwrap(), Ok(()));
    assert_eq!(late.join().unwrap(), Ok(()));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn requests_beyond_the_buffer_are_transient_and_those_in_it_are_served() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let limits = RequestBuffering { max_requests: 3, ..RequestBuffering::default() };
    let plan = Threadpool::with_lanes([lane(10, 1)]).buffering(limits);
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    let full = |server: &Orb| server.connection_statistics().count(Incident::BufferFull);
    for round in 1..=3 {
        worker.close();
        let stuck = in_the_background(&object, &WAIT);
        worker.until_waiting(1);
        let calls: Vec<_> = (0..5).map(|_| in_the_background(&object, &WHERE)).collect();
        // Of the five requests, three are buffered and two are refused at once.
        while full(&server) < 2 * round {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(20));
        worker.open();
        let results: Vec<_> = calls.into_iter().map(|call| call.join().unwrap()).collect();
        assert_eq!(stuck.join().unwrap(), Ok(()));
        let refused: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.len(), 2);
        for refused in refused {
            assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
            assert_eq!(refused.minor, minor::transient::REQUESTS_BUFFERED);
        }
        assert_eq!(full(&server), 2 * round);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn the_octets_of_the_buffer_are_limited_too() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let limits = RequestBuffering { max_octets: 1000, ..RequestBuffering::default() };
    let plan = Threadpool::with_lanes([lane(10, 1)]).buffering(limits);
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    let stuck = in_the_background(&object, &WAIT);
    worker.until_waiting(1);
    let large = |octets: usize| {
        let object = object.clone();
        thread::spawn(move || {
            object.reference().invoke::<(), SystemException>(
                &WHERE,
                |e| {
                    e.copy_octets(&vec![0; octets]);
                    Ok(())
                },
                |_| Ok(()),
            )
        })
    };
    let refused = large(2000).join().unwrap().unwrap_err();
    assert_eq!(refused.minor, minor::transient::REQUESTS_BUFFERED);
    let fits = large(400);
    thread::sleep(Duration::from_millis(50));
    assert!(!fits.is_finished());
    worker.open();
    assert_eq!(fits.join().unwrap(), Ok(()));
    assert_eq!(stuck.join().unwrap(), Ok(()));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn buffered_requests_are_served_by_borrowed_threads() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let plan = Threadpool::with_lanes([lane(10, 1), lane(20, 1)])
        .allow_borrowing()
        .buffering(RequestBuffering::default());
    let pool = server.create_threadpool(plan).unwrap();
    let (low, high) = (Arc::new(Worker::default()), Arc::new(Worker::default()));
    let low_object = activate(&lane_poa(&server, pool, 10), &client, &low);
    let high_object = activate(&lane_poa(&server, pool, 20), &client, &high);
    let stuck = in_the_background(&high_object, &WAIT);
    high.until_waiting(1);
    for _ in 0..20 {
        let lent = whereabouts(&high_object);
        assert_eq!(
            (lent.thread.as_str(), lent.priority),
            (format!("oxorb-{}.0", pool.0).as_str(), 20)
        );
        assert_eq!(whereabouts(&low_object).priority, 10);
    }
    high.open();
    assert_eq!(stuck.join().unwrap(), Ok(()));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn destroying_a_pool_lets_requests_finish_and_is_final() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(10, 2)])).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    let running = in_the_background(&object, &WAIT);
    worker.until_waiting(1);
    let destroying = {
        let server = server.clone();
        thread::spawn(move || server.destroy_threadpool(pool).map_err(|error| error.to_string()))
    };
    while server.threadpool(pool).is_some() {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(!destroying.is_finished(), "a request runs");
    worker.open();
    assert_eq!(running.join().unwrap(), Ok(()));
    assert_eq!(destroying.join().unwrap(), Ok(()));
    let gone = call(&object, &WHERE).unwrap_err();
    assert_raised(gone, SystemExceptionKind::Transient, CompletionStatus::No);
    assert!(matches!(
        server.destroy_threadpool(pool),
        Err(ThreadpoolError::Unknown(id)) if id == pool
    ));
    // The ORB continues to serve.
    let plain = activate(server.root_poa(), &client, &worker);
    assert_eq!(whereabouts(&plain).thread, "oxorb-conn");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn shutdown_is_bounded_with_requests_in_all_lanes_and_buffers() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let plan = Threadpool::with_lanes([lane(10, 1), lane(20, 1)])
        .allow_borrowing()
        .buffering(RequestBuffering::default());
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let low = lane_poa(&server, pool, 10);
    let high = lane_poa(&server, pool, 20);
    let objects =
        [activate(&low, &client, &worker), activate(&high, &client, &Arc::clone(&worker))];
    let calls: Vec<_> = (0..8).map(|at| in_the_background(&objects[at % 2], &WAIT)).collect();
    worker.until_waiting(2);
    server.shutdown(false).unwrap();
    worker.open();
    let start = Instant::now();
    server.run();
    assert!(start.elapsed() < LONG / 2, "not for want of a limit");
    for call in calls {
        // Each call is either served before the shutdown or refused.
        if let Err(refused) = call.join().unwrap() {
            assert_eq!(refused.completed, CompletionStatus::No, "{refused}");
        }
    }
    client.shutdown(true).unwrap();
}

#[test]
fn a_pool_that_cannot_be_is_refused_with_the_reason() {
    let _guard = watchdog(LONG);
    let server = server();
    for (plan, why) in [
        (Threadpool::with_lanes([]), "at least one"),
        (Threadpool::new(0), "static thread"),
        (Threadpool::with_lanes([lane(5, 1), lane(5, 1)]), "different priorities"),
        (
            Threadpool::with_lanes((0..6).map(|value| lane(value, 1))).allow_borrowing(),
            "five lanes",
        ),
    ] {
        let refused = server.create_threadpool(plan).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(SystemException::from(refused).kind, SystemExceptionKind::BadParam);
    }
    assert_eq!(server.threadpool(ThreadpoolId(1)), None);
    server.shutdown(true).unwrap();
}

#[test]
fn six_lanes_that_buffer_may_borrow_and_five_without() {
    let _guard = watchdog(LONG);
    let server = server();
    let lanes = |count| Threadpool::with_lanes((0..count).map(|value| lane(value, 1)));
    let buffered = lanes(6).allow_borrowing().buffering(RequestBuffering::default());
    for plan in [buffered, lanes(5).allow_borrowing()] {
        let pool = server.create_threadpool(plan).unwrap();
        server.destroy_threadpool(pool).unwrap();
    }
    server.shutdown(true).unwrap();
}

#[test]
fn lanes_listen_where_they_are_told() {
    common::only_over!(TCP, "ports that follow each other are TCP's");
    let _guard = watchdog(LONG);
    // The range of ports for lanes.
    let base = four_ports();
    let name = protocol().name();
    let args = [
        "-ORBListenEndpoints",
        &anywhere(),
        "-ORBLaneListenEndpoints",
        "*:*",
        &format!("{name}://127.0.0.1:{base}/portspan=4"),
    ];
    let server =
        common::transport::builder().args(args.into_iter().map(str::to_owned)).build().unwrap();
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(1, 1), lane(2, 1)])).unwrap();
    let client = client();
    for value in [1, 2] {
        let worker = Arc::new(Worker::default());
        let object = activate(&lane_poa(&server, pool, value), &client, &worker);
        let port = common::port(&common::address(&object));
        assert!((base..base + 4).contains(&port), "{port}");
        assert_eq!(whereabouts(&object).priority, value);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Returns a component of the object's only profile, raw and decoded.
fn component(object: &ObjectRef, wanted: u32) -> Option<(Vec<u8>, DecodedComponent)> {
    let profile = object.reference().ior().iiop_profiles().next()?;
    let component = profile.component(wanted)?.clone();
    let decoded = component.decode().unwrap();
    Some((component.data, decoded))
}

fn lanes_of(object: &ObjectRef) -> Vec<i16> {
    match component(object, tag::TAO_ENDPOINTS) {
        Some((_, DecodedComponent::TaoEndpoints(endpoints))) => {
            let own = common::port(&common::address(object));
            assert_eq!(endpoints[0].0.port, own, "the profile's own comes first");
            endpoints.iter().map(|(_, priority)| *priority).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn references_carry_policies_and_lanes_as_those_of_tao() {
    common::only_over!(IIOP, "TAO's references have IIOP's profiles");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let lanes = [lane(10, 1), lane(20, 1), lane(30, 1)];
    let pool = Some(server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap());
    let worker = || Arc::new(Worker::default());
    let propagated = RtPolicies {
        threadpool: pool,
        priority_model: model(PriorityModel::ClientPropagated, 0x0102),
        ..RtPolicies::default()
    };
    let object = activate(&poa(&server, "propagated", propagated), &client, &worker());
    assert_eq!(lanes_of(&object), [10, 20, 30]);
    let (octets, _) = component(&object, tag::POLICIES).unwrap();
    #[rustfmt::skip]
    let expected = [
        0, 0, 0, 0, 0, 0, 0, 1, // one policy
        0, 0, 0, 40, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
    ];
    assert_eq!(octets, expected);

    let bands = PriorityBands::new(&[
        PriorityBand { low: 0, high: 15 },
        PriorityBand { low: 25, high: 40 },
    ])
    .unwrap();
    let banded = RtPolicies { priority_bands: Some(bands), ..propagated };
    let object = activate(&poa(&server, "banded", banded), &client, &worker());
    assert_eq!(lanes_of(&object), [10, 30], "those inside the bands");
    let (_, DecodedComponent::Policies(values)) = component(&object, tag::POLICIES).unwrap() else {
        panic!("no policies");
    };
    let kinds: Vec<_> = values.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [45, 40], "the model last");

    let declared = RtPolicies {
        threadpool: pool,
        priority_model: model(PriorityModel::ServerDeclared, 20),
        ..RtPolicies::default()
    };
    let poa = poa(&server, "declared", declared);
    let object = activate(&poa, &client, &worker());
    assert_eq!(lanes_of(&object), [20]);
    // An object with a priority of its own is served by the lane of that priority, and its reference contains the
    // priority.
    let own = poa.activate_servant_with_priority(worker(), priority(30)).unwrap();
    let own = elsewhere(&client, &own);
    assert_eq!(lanes_of(&own), [30]);
    let (_, DecodedComponent::Policies(values)) = component(&own, tag::POLICIES).unwrap() else {
        panic!("no policies");
    };
    let published = RtPolicyValue::decode(values[0].0, &values[0].1).unwrap();
    assert_eq!(published, model(PriorityModel::ServerDeclared, 30).map(RtPolicyValue::Model));
    assert_eq!(whereabouts(&own).priority, 30);
    // References of a POA without real-time policies have no components of RT-CORBA.
    let plain = activate(server.root_poa(), &client, &worker());
    for tag in [tag::TAO_ENDPOINTS, tag::POLICIES] {
        assert_eq!(component(&plain, tag), None);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn without_lanes_a_thread_takes_the_priority_of_each_request() {
    common::only_over!(GIOP, "the service context RTCorbaPriority is written and read by hand");
    let _guard = watchdog(LONG);
    let server = server();
    let client = client();
    let plan = Threadpool::new(2).default_priority(priority(3));
    let pool = Some(server.create_threadpool(plan).unwrap());
    for (name, threadpool, default) in [("pool", pool, 3), ("own", None, -1)] {
        let realtime = RtPolicies {
            threadpool,
            priority_model: model(PriorityModel::ClientPropagated, 77),
            ..RtPolicies::default()
        };
        let object = activate(&poa(&server, name, realtime), &client, &Arc::new(Worker::default()));
        // Send the priority as a little-endian and as a big-endian client writes it. The reply returns the context
        // unchanged.
        for context in [[1, 0, 0x34, 0x12], [0, 0, 0x12, 0x34]] {
            let (served, back) = ask(&object, Some(&context));
            assert_eq!(served.priority, 0x1234, "{name}");
            assert_eq!(back.as_deref(), Some(&context[..]));
        }
        // Without the context, the priority in the POA's policy applies.
        let (served, back) = ask(&object, None);
        assert_eq!((served.priority, back), (77, None), "{name}");
        // A POA without a priority model does not change the thread's priority, even after requests
        // of other POAs.
        let plain = RtPolicies { threadpool, ..RtPolicies::default() };
        let plain = activate(
            &poa(&server, &format!("{name}-plain"), plain),
            &client,
            &Arc::new(Worker::default()),
        );
        for _ in 0..4 {
            assert_eq!(whereabouts(&plain).priority, default, "{name}");
        }
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn with_lanes_the_callers_priority_does_not_change_the_thread() {
    common::only_over!(GIOP, "the service context RTCorbaPriority is written and read by hand");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(10, 1)])).unwrap();
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ClientPropagated, 10),
        ..RtPolicies::default()
    };
    let object = activate(&poa(&server, "lanes", realtime), &client, &Arc::new(Worker::default()));
    let (served, back) = ask(&object, Some(&[0, 0, 0, 99]));
    assert_eq!((served.priority, back), (10, Some(vec![0, 0, 0, 99])));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn objects_have_priorities_of_their_own_under_the_server_declared_model() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let realtime = RtPolicies {
        priority_model: model(PriorityModel::ServerDeclared, 5),
        ..RtPolicies::default()
    };
    let policies = Policies { id_assignment: IdAssignment::User, realtime, ..Policies::default() };
    let user = server.root_poa().create_poa("user", policies).unwrap();
    let system = poa(&server, "system", realtime);
    let worker = || Arc::new(Worker::default());
    let of =
        |reference: ObjectRef| whereabouts(&elsewhere(&client, reference.reference())).priority;

    let own = system.activate_servant_with_priority(worker(), priority(50)).unwrap();
    assert_eq!(of(ObjectRef::from_ref(own)), 50);
    let default = system.activate_servant(worker()).unwrap();
    assert_eq!(of(ObjectRef::from_ref(default)), 5);
    // Create the reference before the servant is activated.
    let early: ObjectRef =
        user.create_reference_with_id_and_priority("early", priority(60)).unwrap();
    user.activate_servant_with_id(&"early".into(), worker()).unwrap();
    assert_eq!(of(early), 60);
    // Another priority for the same object is refused.
    let again = user.create_reference_with_id_and_priority::<ObjectRef>("early", priority(61));
    let refused = again.unwrap_err().system().unwrap();
    assert_eq!(refused.kind, SystemExceptionKind::BadParam);
    // After its deactivation, the object may have another priority.
    user.deactivate_id("early").unwrap();
    let again: ObjectRef =
        user.create_reference_with_id_and_priority("early", priority(61)).unwrap();
    user.activate_servant_with_id(&"early".into(), worker()).unwrap();
    assert_eq!(of(again), 61);
    // Objects may have priorities of their own only under the server-declared model.
    let wrong = server.root_poa().activate_servant_with_priority(worker(), priority(1));
    assert!(wrong.unwrap_err().to_string().contains("ServerDeclared"));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// The most urgent request is served first, as RIOP specifies; requests without urgency come last.
#[test]
fn buffered_requests_are_served_by_urgency_where_that_is_wanted() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let limits = RequestBuffering {
        max_requests: 6,
        order: QueueOrder::Urgency,
        ..RequestBuffering::default()
    };
    let plan = Threadpool::with_lanes([lane(10, 1)]).buffering(limits);
    let pool = server.create_threadpool(plan).unwrap();
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    let stuck = in_the_background(&object, &WAIT);
    worker.until_waiting(1);
    let call = |importance: Option<i32>| match importance {
        None => in_the_background(&object, &WHERE),
        Some(importance) => {
            let worth = RequestQos(Qos { importance, ..Qos::default() });
            in_the_background(&object.with(worth), &WHERE)
        }
    };
    let calls = [None, Some(1), Some(9), None, Some(5), Some(9), Some(7), Some(2)].map(call);
    // Wait until two of the eight calls are refused: the other six are then buffered.
    while server.connection_statistics().count(Incident::BufferFull) < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    worker.open();
    let answers = calls.map(|call| call.join().unwrap());
    assert_eq!(stuck.join().unwrap(), Ok(()));
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 6);
    let served = worker.served.lock().unwrap().clone();
    assert_eq!(served.len(), 6);
    assert!(served.is_sorted_by(|one, next| one >= next), "{served:?}");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// An object is served only by the threads of its pool: requests at another lane's port are forwarded.
#[test]
fn a_request_that_comes_to_other_threads_is_sent_to_those_of_its_object() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pools = [(), ()].map(|()| {
        let lanes = Threadpool::with_lanes([lane(10, 1), lane(20, 1)]);
        server.create_threadpool(lanes).unwrap()
    });
    let worker = Arc::new(Worker::default());
    let at = |pool: ThreadpoolId, name| {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: model(PriorityModel::ServerDeclared, 20),
            ..RtPolicies::default()
        };
        let poa = poa(&server, name, realtime);
        ObjectRef::from_ref(poa.activate_servant(worker.clone()).unwrap())
    };
    let (here, other) = (at(pools[0], "here"), at(pools[1], "other"));
    let plain = server.root_poa().activate_servant(worker.clone()).unwrap();
    let plain = ObjectRef::from_ref(plain);
    server.bind("here", &here);
    for port_of in [&plain, &other] {
        let url = url(&[&common::address(port_of)], "here");
        let object: ObjectRef = client.string_to_object(&url).unwrap();
        for _ in 0..2 {
            let served = whereabouts(&object);
            assert_eq!(served.thread, format!("oxorb-{}.1", pools[0].0));
            assert_eq!(served.priority, 20);
        }
    }
    // A client that does not follow forwards receives LOCATION_FORWARD.
    let mut stream = Peer::connect(&common::address(&other));
    let key = common::object_key(&elsewhere(&client, here.reference()));
    let reply = exchange(&mut stream, &key, &[]);
    let frame = peer::frame(&reply);
    let Message::Reply(reply) = frame.message().unwrap() else {
        panic!("no reply");
    };
    assert_eq!(reply.status, ReplyStatus::LOCATION_FORWARD);
    // A collocated call runs on the lane, too.
    assert_eq!(whereabouts(&here).thread, format!("oxorb-{}.1", pools[0].0));
    // After the pool is destroyed, no threads serve the object.
    server.destroy_threadpool(pools[0]).unwrap();
    let url = url(&[&common::address(&other)], "here");
    let object: ObjectRef = client.string_to_object(&url).unwrap();
    let refused = call(&object, &WHERE).unwrap_err();
    assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Starts a server that listens at `port`, with a pool of two lanes and a persistent object on the second.
fn persistent_server(port: u16) -> (Orb, ObjectRef) {
    let server = common::transport::builder()
        .listen(&format!("{}://127.0.0.1:{port}", protocol().name()))
        .build()
        .unwrap();
    let pool =
        server.create_threadpool(Threadpool::with_lanes([lane(10, 1), lane(20, 1)])).unwrap();
    let policies = Policies {
        lifespan: oxorb::poa::Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        realtime: RtPolicies {
            threadpool: Some(pool),
            priority_model: model(PriorityModel::ServerDeclared, 20),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("kept", policies).unwrap();
    let id = oxorb::poa::ObjectId::from("one");
    let object = poa.activate_servant_with_id(&id, Arc::new(Worker::default())).unwrap();
    (server, ObjectRef::from_ref(object))
}

/// Returns a free port that is followed by three free ports.
fn four_ports() -> u16 {
    loop {
        let first = oxorb_testkit::net::free_port();
        let taken = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_err();
        if first < 65_000 && !(first..first + 4).any(taken) {
            return first;
        }
    }
}

/// N1: the reference of the first run refers to the object of the second.
#[test]
fn a_persistent_reference_to_a_lane_survives_a_restart_at_a_fixed_port() {
    common::only_over!(TCP, "ports that follow each other are TCP's");
    let _guard = watchdog(LONG);
    let (port, client) = (four_ports(), client());
    let (server, object) = persistent_server(port);
    let kept = elsewhere(&client, object.reference());
    assert_eq!(common::port(&common::address(&kept)), port + 2, "of the second lane");
    assert_eq!(whereabouts(&kept).priority, 20);
    assert_eq!(server.connection_statistics().count(Incident::PersistentOnAnyPort), 0);
    server.shutdown(true).unwrap();
    let (server, _) = persistent_server(port);
    assert_eq!(whereabouts(&kept).priority, 20);
    server.shutdown(true).unwrap();
    client.shutdown(true).unwrap();
}

/// A router or a container runtime forwards a range of ports, so references contain the ports of that range.
#[test]
fn the_published_ports_of_lanes_follow_the_published_port_of_the_server() {
    common::only_over!(TCP, "ports that follow each other are TCP's");
    let _guard = watchdog(LONG);
    let port = four_ports();
    // The third lane has an endpoint of its own, which the published port does not describe.
    let third = format!("1:2={}://127.0.0.1:{}", protocol().name(), port + 3);
    let server = common::transport::builder()
        .listen(&format!("{}://127.0.0.1:{port}", protocol().name()))
        .setting("EndPointPublish", "127.0.0.9:14000")
        .setting("LaneListenEndpoints", &third)
        .build()
        .unwrap();
    let lanes = [lane(10, 1), lane(20, 1), lane(30, 1)];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let published = |object: ObjectRef| common::port(&common::address(&object));
    for (value, expected) in [(10, 14_001), (20, 14_002), (30, port + 3)] {
        let object = lane_poa(&server, pool, value).activate_servant(Arc::new(Worker::default()));
        assert_eq!(published(ObjectRef::from_ref(object.unwrap())), expected, "{value}");
    }
    let plain = server.root_poa().activate_servant(Arc::new(Worker::default()));
    assert_eq!(published(ObjectRef::from_ref(plain.unwrap())), 14_000);
    server.shutdown(true).unwrap();
}

/// Returns the port in references to the first lane of a server, which is published at port 14000 of a gateway.
fn published_lane_port(endpoint: &str) -> u16 {
    let server = common::transport::builder()
        .listen(endpoint)
        .setting("EndPointPublish", "127.0.0.9:14000")
        .build()
        .unwrap();
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(10, 1)])).unwrap();
    let object = lane_poa(&server, pool, 10).activate_servant(Arc::new(Worker::default()));
    let port = common::port(&common::address(&ObjectRef::from_ref(object.unwrap())));
    server.shutdown(true).unwrap();
    port
}

/// A router that forwards 14000 to 14019 forwards each port to the one as far from the first, and lanes listen beyond
/// the span.
#[test]
fn the_published_port_of_a_lane_is_as_far_from_the_servers_as_the_port_it_listens_at() {
    common::only_over!(TCP, "ports that follow each other are TCP's");
    let _guard = watchdog(LONG);
    let (name, port) = (protocol().name(), four_ports());
    let published = published_lane_port(&format!("{name}://127.0.0.1:{port}/portspan=2"));
    assert_eq!(published, 14_002);
}

#[test]
fn a_lane_at_a_port_that_the_system_chooses_is_published_at_that_port() {
    common::only_over!(TCP, "ports are TCP's");
    let _guard = watchdog(LONG);
    let published = published_lane_port(&format!("{}://127.0.0.1:0", protocol().name()));
    assert_ne!(published, 14_001, "no port follows one that the system chooses");
}

#[test]
fn lanes_without_ports_need_no_published_port() {
    let _guard = watchdog(LONG);
    let server = common::transport::builder()
        .listen("mem://lanes-without-ports")
        .setting("EndPointPublish", "127.0.0.9:65535")
        .build()
        .unwrap();
    server.create_threadpool(Threadpool::with_lanes([lane(10, 1)])).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_lane_whose_port_is_taken_says_which_follows_what_and_what_to_do() {
    common::only_over!(TCP, "ports that follow each other are TCP's");
    let port = four_ports();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port + 2)).unwrap();
    let server = common::transport::builder()
        .listen(&format!("{}://127.0.0.1:{port}", protocol().name()))
        .build()
        .unwrap();
    let lanes = Threadpool::with_lanes([lane(10, 1), lane(20, 1)]);
    let refused = server.create_threadpool(lanes).unwrap_err().to_string();
    for part in [
        &format!("{}", port + 2),
        "lane 1 of threadpool 1",
        &format!("the port after {}://127.0.0.1:{port}", protocol().name()),
        "-ORBLaneListenEndpoints 1:1=iiop://:PORT",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    server.shutdown(true).unwrap();
}

#[test]
fn persistent_objects_at_ports_that_the_system_chooses_are_warned_of() {
    common::only_over!(TCP, "ports are TCP's");
    let (server, _) = persistent_server(0);
    let warned = server.connection_statistics().count(Incident::PersistentOnAnyPort);
    assert_eq!(warned, 1);
    server.shutdown(true).unwrap();
}
