//! Concurrency architectures: serving threads, exhaustion of threads, thread filters, and reactors.

use std::collections::HashSet;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use oxorb::incident::Incident;
use oxorb::poa::{PoaError, Policy, RtPolicies, ThreadPolicy};
use oxorb::policy::{Qos, RequestQos};
use oxorb::rt::{
    ArrivingRequest, PoolThread, Priority, PriorityModel, QueueOrder, RateGroup, RequestBuffering,
    Serving, Threadpool, ThreadpoolError, ThreadpoolId,
};
use oxorb::settings::{ClientConnections, Concurrency, ReactorChoice};
use oxorb::transport::PeerId;
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_giop::{Message, MessageType, ReplyStatus};
use oxorb_object::minor::{transient::NO_THREAD, transient::REQUESTS_BUFFERED};
use oxorb_testkit::{at_once, until, watchdog};

use crate::common::peer::{self, Peer};
use crate::common::worker::*;
use crate::common::{self, LONG, alone, assert_raised, elsewhere};

fn server_of(concurrency: &str) -> Orb {
    let builder = common::transport::listening();
    builder.setting("Concurrency", concurrency).build().unwrap()
}

/// Returns an ORB whose threads multiplex their calls over one connection.
fn multiplexing() -> Orb {
    let builder = common::transport::builder().client_connections(ClientConnections::Multiplexed);
    builder.build().unwrap()
}

/// Returns an ORB whose callers take turns at reading their shared connection.
fn sharing() -> Orb {
    let builder =
        common::transport::builder().client_connections(ClientConnections::LeaderFollowers);
    builder.build().unwrap()
}

fn worker_at(server: &Orb, client: &Orb) -> (Arc<Worker>, ObjectRef) {
    let worker = Arc::new(Worker::default());
    let object = activate(server.root_poa(), client, &worker);
    (worker, object)
}

/// Returns an object of a POA on a threadpool, and its servant.
fn pooled(server: &Orb, client: &Orb, pool: ThreadpoolId) -> (Arc<Worker>, ObjectRef) {
    let realtime = RtPolicies { threadpool: Some(pool), ..RtPolicies::default() };
    let worker = Arc::new(Worker::default());
    let poa = poa(server, &format!("pool-{}", pool.0), realtime);
    let object = activate(&poa, client, &worker);
    (worker, object)
}

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

#[track_caller]
fn assert_transient(result: Result<(), SystemException>, minor: u32) {
    let exception = result.unwrap_err();
    assert_raised(exception, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(exception.minor, minor);
}

/// Starts `count` calls of `wait` in threads, and waits until all are at the gate.
fn stuck(object: &ObjectRef, worker: &Worker, count: usize) -> Vec<Call> {
    let calls = (0..count).map(|_| in_the_background(object, &WAIT)).collect();
    worker.until_waiting(count);
    calls
}

type Call = thread::JoinHandle<Result<(), SystemException>>;

fn all_end(calls: Vec<Call>) {
    for call in calls {
        assert_eq!(call.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_reactive_server_serves_one_request_at_a_time() {
    let _guard = watchdog(LONG);
    for (client, concurrency) in
        [(client(), "reactive"), (multiplexing(), "reactive"), (client(), "leader-followers:1")]
    {
        let server = server_of(concurrency);
        let (worker, object) = worker_at(&server, &client);
        let first = stuck(&object, &worker, 1);
        let others: Vec<_> = (0..3).map(|_| in_the_background(&object, &WAIT)).collect();
        thread::sleep(Duration::from_millis(50));
        assert_eq!(worker.at_gate.load(Ordering::SeqCst), 1, "{concurrency}");
        worker.open();
        all_end(first);
        all_end(others);
        assert_eq!(whereabouts(&object).thread, "oxorb-worker");
        end(&[&client, &server]);
    }
}

/// Repeats a call until a thread is free for it. A thread ends only after it has sent the reply of its request, so that
/// none may be free at first.
fn patiently(object: &ObjectRef, op: &'static oxorb::__gen::Op) -> Result<(), SystemException> {
    loop {
        match call(object, op) {
            Err(refused) if refused.minor == NO_THREAD => thread::sleep(Duration::from_millis(1)),
            ended => return ended,
        }
    }
}

/// Returns the result of [`whereabouts`] once a thread is free for the request.
fn whereabouts_patiently(object: &ObjectRef) -> Where {
    loop {
        match ask_whereabouts(object) {
            Err(refused) if refused.minor == NO_THREAD => thread::sleep(Duration::from_millis(1)),
            told => return told.unwrap(),
        }
    }
}

/// Starts `count` calls, each of which is repeated until a thread is free for it, and waits until all are at the gate.
fn stuck_patiently(object: &ObjectRef, worker: &Worker, count: usize) -> Vec<Call> {
    let start = |_| {
        let object = object.clone();
        thread::spawn(move || patiently(&object, &WAIT))
    };
    let running = (0..count).map(start).collect();
    worker.until_waiting(count);
    running
}

#[test]
fn with_a_thread_for_each_request_those_of_one_connection_run_side_by_side_up_to_the_limit() {
    let _guard = watchdog(LONG);
    for client in [client(), multiplexing()] {
        let server = server_of("thread-per-request:3");
        let (worker, object) = worker_at(&server, &client);
        for _ in 0..2 {
            worker.close();
            let running = stuck_patiently(&object, &worker, 3);
            let refused = || server.connection_statistics().count(Incident::BufferFull);
            let before = refused();
            assert_transient(call(&object, &WHERE), NO_THREAD);
            assert_eq!(refused(), before + 1);
            worker.open();
            all_end(running);
            // The threads of the ended requests are available to new ones.
            patiently(&object, &WHERE).unwrap();
        }
        end(&[&client, &server]);
    }
}

#[test]
fn a_worker_pool_runs_so_many_queues_so_many_and_refuses_the_rest() {
    let _guard = watchdog(LONG);
    for client in [client(), multiplexing()] {
        let server = server_of("worker-pool:2:3");
        let (worker, object) = worker_at(&server, &client);
        let full = || server.connection_statistics().count(Incident::BufferFull);
        for round in 1..=3 {
            worker.close();
            let running = stuck(&object, &worker, 2);
            let more: Vec<_> = (0..5).map(|_| in_the_background(&object, &WHERE)).collect();
            while full() < 2 * round {
                thread::sleep(Duration::from_millis(1));
            }
            worker.open();
            all_end(running);
            let (served, refused): (Vec<_>, Vec<_>) =
                more.into_iter().map(|call| call.join().unwrap()).partition(Result::is_ok);
            assert_eq!((served.len(), refused.len()), (3, 2));
            for refused in refused {
                assert_transient(refused, REQUESTS_BUFFERED);
            }
            assert_eq!(full(), 2 * round);
        }
        end(&[&client, &server]);
    }
}

/// The requests wait without end unless all of them are in the servant at the same time. The first arrives alone, the
/// others while it runs.
#[test]
fn requests_of_one_connection_run_side_by_side_in_every_architecture_of_several_threads() {
    let _guard = watchdog(LONG);
    for concurrency in
        ["thread-per-connection", "leader-followers:4", "thread-per-request:8", "worker-pool:4:8"]
    {
        for client in [multiplexing(), sharing()] {
            let server = server_of(concurrency);
            let (worker, object) = worker_at(&server, &client);
            // Repeat, so that requests arrive alone, concurrently, and over a connection that has already carried
            // concurrent requests.
            for _ in 0..3 {
                worker.close();
                let _ = whereabouts(&object);
                all_inside(&object, &worker);
            }
            end(&[&client, &server]);
        }
    }
}

#[test]
fn requests_of_one_connection_run_side_by_side_in_every_threadpool() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), multiplexing());
    for plan in [
        Threadpool::new(4),
        Threadpool::new(1).dynamic_threads(3),
        Threadpool::new(4).buffering(RequestBuffering::default()),
        Threadpool::new(4).serving(Serving::Queue),
        Threadpool::new(8).serving(Serving::ThreadPerRequest),
        Threadpool::new(1).serving(Serving::ThreadPerConnection),
        Threadpool::with_lanes([lane(10, 4), lane(20, 4)]),
    ] {
        let lanes = plan.lanes().len() > 1;
        let pool = server.create_threadpool(plan).unwrap();
        let (worker, object) = match lanes {
            false => pooled(&server, &client, pool),
            true => {
                let worker = Arc::new(Worker::default());
                let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
                (worker, object)
            }
        };
        for _ in 0..2 {
            worker.close();
            all_inside(&object, &worker);
        }
        server.destroy_threadpool(pool).unwrap();
    }
    end(&[&client, &server]);
}

fn all_inside(object: &ObjectRef, worker: &Worker) {
    let first = stuck(object, worker, 1);
    let others: Vec<_> = (0..3).map(|_| in_the_background(object, &WAIT)).collect();
    worker.until_waiting(4);
    worker.open();
    all_end(first);
    all_end(others);
}

/// A single request runs, the lane buffers as many as its limit allows, and the others are refused, all over one
/// connection.
#[test]
fn a_lane_buffers_several_requests_of_one_connection() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), multiplexing());
    let plan = Threadpool::new(1)
        .buffering(RequestBuffering { max_requests: 3, ..RequestBuffering::default() });
    let pool = server.create_threadpool(plan).unwrap();
    let (worker, object) = pooled(&server, &client, pool);
    let full = || server.connection_statistics().count(Incident::BufferFull);
    for round in 1..=2 {
        worker.close();
        let running = stuck(&object, &worker, 1);
        let more: Vec<_> = (0..5).map(|_| in_the_background(&object, &WHERE)).collect();
        while full() < 2 * round {
            thread::sleep(Duration::from_millis(1));
        }
        worker.open();
        all_end(running);
        let (served, refused): (Vec<_>, Vec<_>) =
            more.into_iter().map(|call| call.join().unwrap()).partition(Result::is_ok);
        assert_eq!((served.len(), refused.len()), (3, 2));
        for refused in refused {
            assert_transient(refused, REQUESTS_BUFFERED);
        }
    }
    end(&[&client, &server]);
}

/// Requests up to the limit run; the others stay in the socket until one of these ends.
#[test]
fn a_connection_has_so_many_requests_under_way_as_it_may() {
    let _guard = watchdog(LONG);
    at_once([("3", 3), ("1", 1)], |(limit, inside)| {
        at_once(["thread-per-connection", "leader-followers:6"], |concurrency| {
            let server = common::transport::listening()
                .setting("Concurrency", concurrency)
                .setting("MaxRequestsPerConnection", limit)
                .build()
                .unwrap();
            let client = multiplexing();
            let (worker, object) = worker_at(&server, &client);
            let calls: Vec<_> = (0..6).map(|_| in_the_background(&object, &WAIT)).collect();
            worker.until_waiting(inside);
            thread::sleep(Duration::from_millis(300));
            assert_eq!(worker.at_gate.load(Ordering::SeqCst), inside);
            worker.open();
            all_end(calls);
            end(&[&client, &server]);
        });
    });
}

/// Requests that one thread reads and another serves keep the state of their connection: code sets, cancellations,
/// close.
#[test]
fn requests_of_other_threads_are_answered_before_their_connection_ends() {
    let _guard = watchdog(LONG);
    for concurrency in ["thread-per-request:8", "worker-pool:2:8"] {
        let (server, client) = (server_of(concurrency), client());
        let (worker, object) = worker_at(&server, &client);
        let key = common::object_key(&object);
        let mut stream = Peer::connect(&common::address(&object));
        for id in 1..=6 {
            stream.write_all(&request(id, &WAIT, &key, &[])).unwrap();
        }
        // The reader answers LocateRequests itself, so the reply shows that it has read the six requests before.
        stream.write_all(&locate_request(7, &key)).unwrap();
        assert_eq!(kind_of(&stream.message()), MessageType::LOCATE_REPLY);
        let ending = {
            let server = server.clone();
            thread::spawn(move || server.shutdown(true))
        };
        thread::sleep(Duration::from_millis(50));
        assert!(!ending.is_finished(), "requests are still running");
        worker.open();
        let answered: HashSet<u32> = (0..6).map(|_| answered(&stream.message())).collect();
        assert_eq!(answered, (1..=6).collect());
        assert_eq!(kind_of(&stream.message()), MessageType::CLOSE_CONNECTION);
        ending.join().unwrap().unwrap();
        end(&[&client]);
    }
}

fn kind_of(message: &[u8]) -> MessageType {
    peer::frame(message).header.kind
}

/// Returns the id of the request that a reply without exception answers.
fn answered(message: &[u8]) -> u32 {
    let frame = peer::frame(message);
    let Ok(Message::Reply(reply)) = frame.message() else { panic!("{:?}", frame.header) };
    assert_eq!(reply.status, ReplyStatus::NO_EXCEPTION);
    reply.id
}

#[test]
fn a_servant_that_panics_costs_no_thread_of_any_architecture() {
    let _guard = watchdog(LONG);
    for concurrency in common::ARCHITECTURES {
        let (server, client) = (common::server(concurrency), multiplexing());
        let (_, object) = worker_at(&server, &client);
        for _ in 0..5 {
            let panicked = call(&object, &PANIC).unwrap_err();
            assert_raised(panicked, SystemExceptionKind::Unknown, CompletionStatus::Maybe);
        }
        let calls: Vec<_> = (0..4).map(|_| in_the_background(&object, &WHERE)).collect();
        all_end(calls);
        end(&[&client, &server]);
    }
}

#[test]
fn each_threadpool_has_an_architecture_of_its_own() {
    let _guard = watchdog(LONG);
    let (server, client) = (server_of("thread-per-connection"), multiplexing());
    let of = |serving, threads| {
        let plan = Threadpool::new(threads).serving(serving);
        let pool = server.create_threadpool(plan).unwrap();
        assert_eq!(server.threadpool(pool).unwrap().serving, serving);
        (pool, pooled(&server, &client, pool))
    };
    // For each threadpool, how many of four requests over one connection run concurrently.
    let cases = [
        (of(Serving::Reader, 2), 2),
        (of(Serving::Queue, 3), 3),
        (of(Serving::ThreadPerRequest, 4), 4),
        (of(Serving::ThreadPerConnection, 1), 4),
    ];
    for ((pool, (worker, object)), at_a_time) in &cases {
        let calls: Vec<_> = (0..4).map(|_| in_the_background(object, &WAIT)).collect();
        worker.until_waiting(*at_a_time);
        thread::sleep(Duration::from_millis(30));
        assert_eq!(worker.at_gate.load(Ordering::SeqCst), *at_a_time, "{pool:?}");
        worker.open();
        all_end(calls);
        assert_eq!(whereabouts_patiently(object).thread, format!("oxorb-{}.0", pool.0));
    }
    for ((pool, _), _) in cases {
        server.destroy_threadpool(pool).unwrap();
    }
    end(&[&client, &server]);
}

#[test]
fn whoever_serves_for_a_lane_has_its_priority_and_leaves_other_lanes_alone() {
    let _guard = watchdog(LONG);
    for serving in [Serving::Queue, Serving::ThreadPerRequest, Serving::ThreadPerConnection] {
        let (server, client) = (server(), client());
        let lanes = Threadpool::with_lanes([lane(10, 2), lane(20, 2)]).serving(serving);
        let pool = server.create_threadpool(lanes).unwrap();
        let (low, high) = (Arc::new(Worker::default()), Arc::new(Worker::default()));
        let low_object = activate(&lane_poa(&server, pool, 10), &client, &low);
        let high_object = activate(&lane_poa(&server, pool, 20), &client, &high);
        let running = stuck(&low_object, &low, 2);
        for _ in 0..20 {
            let high = whereabouts_patiently(&high_object);
            assert_eq!(high.priority, 20, "{serving:?}");
        }
        low.open();
        all_end(running);
        let low = whereabouts_patiently(&low_object);
        assert_eq!(low.priority, 10, "{serving:?}");
        end(&[&client, &server]);
    }
}

#[test]
fn a_queue_gives_the_most_urgent_first_where_that_is_wanted() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), multiplexing());
    let limits = RequestBuffering {
        order: QueueOrder::Urgency,
        max_requests: 3,
        ..RequestBuffering::default()
    };
    let plan = Threadpool::new(1).serving(Serving::Queue).buffering(limits);
    let pool = server.create_threadpool(plan).unwrap();
    let (worker, object) = pooled(&server, &client, pool);
    let running = stuck(&object, &worker, 1);
    let importances = [1, 3, 2];
    let calls: Vec<_> = importances
        .into_iter()
        .map(|importance| {
            let qos = Qos { importance, ..Qos::default() };
            let object = object.with(RequestQos(qos));
            let reference = object.reference();
            reference.invoke_async::<(), SystemException>(&WHERE, |_| Ok(()), |_| Ok(()))
        })
        .collect();
    // The refusal of a further request of the same connection shows that all three are in the queue.
    assert_transient(call(&object, &WHERE), REQUESTS_BUFFERED);
    worker.open();
    all_end(running);
    for call in calls {
        assert_eq!(call.wait(), Ok(()));
    }
    assert_eq!(*worker.served.lock().unwrap(), [3, 2, 1].map(Some));
    end(&[&client, &server]);
}

#[test]
fn architectures_that_contradict_themselves_are_refused_with_the_reason() {
    let server = server();
    let lanes = || Threadpool::with_lanes([lane(10, 1), lane(20, 1)]);
    let limits = RequestBuffering::default;
    let cases = [
        (lanes().serving(Serving::Queue).allow_borrowing(), "borrow"),
        (Threadpool::new(1).dynamic_threads(1).serving(Serving::Queue), "dynamic"),
        (Threadpool::new(1).buffering(limits()).serving(Serving::ThreadPerRequest), "buffering"),
        (Threadpool::new(1).serving(Serving::ThreadPerConnection).reactor(busy(10)), "busy-poll"),
        (Threadpool::rate_groups([RateGroup::hz(0, 1)]), "rate"),
        (Threadpool::rate_groups([RateGroup::hz(5, 1), RateGroup::hz(5, 1)]), "different periods"),
        (Threadpool::with_lanes([lane(1, 1).dscp(64)]), "DSCP"),
    ];
    for (plan, reason) in cases {
        let refused = server.create_threadpool(plan).unwrap_err();
        assert!(matches!(refused, ThreadpoolError::BadParameter(_)));
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    end(&[&server]);
}

#[test]
fn a_poa_refuses_an_architecture_that_its_threads_contradict() {
    let server = server();
    let lanes = server.create_threadpool(Threadpool::with_lanes([lane(10, 1)]));
    let each = Threadpool::new(9).serving(Serving::ThreadPerRequest);
    let each = server.create_threadpool(each).unwrap();
    let declared = model(PriorityModel::ServerDeclared, 10).unwrap();
    let cases: [(&[Policy], u16, &str); 2] = [
        (
            &[
                Policy::PriorityModel(declared),
                Policy::Thread(ThreadPolicy::MainThread),
                Policy::Threadpool(lanes.unwrap()),
            ],
            1,
            "the main thread",
        ),
        (
            &[Policy::Threadpool(each), Policy::Thread(ThreadPolicy::SingleThread)],
            0,
            "one at a time",
        ),
    ];
    for (list, at, reason) in cases {
        let builder = server.root_poa().new_poa("refused").policy_list(list);
        let Err(PoaError::InvalidPolicy(refused)) = builder.create() else {
            panic!("{reason}");
        };
        assert_eq!(refused.index, at, "{refused}");
        assert!(refused.rule.contains(reason), "{refused}");
    }
    end(&[&server]);
}

#[test]
fn rate_groups_are_lanes_by_rate_with_ports_of_their_own() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let rates = [20, 10, 5, 1];
    let plan = Threadpool::rate_groups(rates.map(|rate| RateGroup::hz(rate, 1)));
    let pool = server.create_threadpool(plan).unwrap();
    let lanes = server.threadpool(pool).unwrap();
    let mut addresses = HashSet::new();
    let mut before = Priority::MAX;
    for (at, rate) in rates.into_iter().enumerate() {
        let period = Duration::from_secs(1) / rate;
        let priority = lanes.priority_of(period).unwrap();
        assert!(priority < before, "the slower the less urgent");
        before = priority;
        let poa = lane_poa(&server, pool, priority.get());
        let object = activate(&poa, &client, &Arc::new(Worker::default()));
        let served = whereabouts(&object);
        assert_eq!(served.thread, format!("oxorb-{}.{at}", pool.0));
        assert_eq!(served.priority, priority.get());
        addresses.insert(common::address(&object));
    }
    assert_eq!(addresses.len(), rates.len());
    end(&[&client, &server]);
}

/// A server whose filters record the operations for which they are called.
struct Filtered {
    server: Orb,
    asked: Arc<Mutex<Vec<String>>>,
    /// Threadpool for alarms.
    alarms: ThreadpoolId,
}

/// The first filter selects alarms, the second urgent and important requests; the others keep the usual thread.
fn filtered(concurrency: Concurrency) -> Filtered {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let pools = Arc::<OnceLock<[ThreadpoolId; 2]>>::default();
    let (log, known) = (Arc::clone(&asked), Arc::clone(&pools));
    let by_operation = move |request: &ArrivingRequest<'_>| {
        let seen = match request.peer() {
            PeerId::Ip(address) => address.is_loopback(),
            other => other != PeerId::Unknown,
        };
        assert!(seen && request.octets() > 12);
        log.lock().unwrap().push(request.operation().to_owned());
        let alarm = request.operation() == "wait";
        alarm.then(|| PoolThread::of(known.get().unwrap()[0]))
    };
    let known = Arc::clone(&pools);
    let by_caller = move |request: &ArrivingRequest<'_>| {
        let urgent = request.priority().is_some_and(|priority| priority.get() > 100);
        let important = request.qos().is_some_and(|qos| qos.importance > 5);
        let lane = usize::from(urgent);
        let pool = known.get().unwrap()[1];
        (urgent || important).then(|| PoolThread::of_lane(pool, lane))
    };
    let server = common::transport::listening()
        .concurrency(concurrency)
        .thread_filter(by_operation)
        .thread_filter(by_caller)
        .threadpool("alarms", Threadpool::new(1).serving(Serving::Queue))
        .threadpool(
            "urgent",
            Threadpool::with_lanes([lane(10, 1), lane(20, 1)]).serving(Serving::ThreadPerRequest),
        )
        .configure(|options| options.realtime.class = oxorb::rt::SchedulingClass::Fifo)
        .build()
        .unwrap();
    let named = |name| server.threadpool_named(name).unwrap();
    let alarms = named("alarms");
    pools.set([alarms, named("urgent")]).unwrap();
    Filtered { server, asked, alarms }
}

#[test]
fn filters_pick_the_thread_in_their_order_and_the_rest_is_served_as_usual() {
    common::only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    for concurrency in common::ARCHITECTURES {
        let Filtered { server, asked, alarms } = filtered(concurrency);
        let client = multiplexing();
        let (worker, object) = worker_at(&server, &client);
        let usual = whereabouts(&object).thread;
        let expected = match concurrency {
            Concurrency::ThreadPerConnection => "oxorb-conn",
            _ => "oxorb-worker",
        };
        assert_eq!(usual, expected);
        let important = Qos { importance: 6, ..Qos::default() };
        let object_of_weight = object.with(RequestQos(important));
        let picked = whereabouts(&object_of_weight);
        assert_eq!((picked.thread.as_str(), picked.priority), ("oxorb-2.0", 10));
        // One alarm runs and two wait; other requests of the same connection are served.
        let calls: Vec<_> = (0..3).map(|_| in_the_background(&object, &WAIT)).collect();
        worker.until_waiting(1);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(worker.at_gate.load(Ordering::SeqCst), 1);
        assert_eq!(whereabouts(&object).thread, usual);
        worker.open();
        all_end(calls);
        let alarms_seen = |names: &Vec<String>| names.iter().filter(|name| *name == "wait").count();
        assert_eq!(alarms_seen(&asked.lock().unwrap()), 3);
        // A request for a destroyed pool is refused at once.
        server.destroy_threadpool(alarms).unwrap();
        assert_transient(call(&object, &WAIT), NO_THREAD);
        end(&[&client, &server]);
    }
}

#[test]
fn a_filter_knows_priority_object_and_principal() {
    common::only_over!(GIOP, "principals are those of GIOP 1.0");
    let _guard = watchdog(LONG);
    let seen = Arc::<Mutex<Vec<(Option<i16>, bool, Vec<u8>)>>>::default();
    let first = Arc::<OnceLock<ObjectRef>>::default();
    let (log, known) = (Arc::clone(&seen), Arc::clone(&first));
    let server = common::transport::listening()
        .thread_filter(move |request: &ArrivingRequest<'_>| {
            let priority = request.priority().map(Priority::get);
            let is_first = request.is_for(known.get().unwrap());
            let principal = request.principal().to_vec();
            log.lock().unwrap().push((priority, is_first, principal));
            None
        })
        .build()
        .unwrap();
    let client = client();
    let local = |worker| ObjectRef::from_ref(server.root_poa().activate_servant(worker).unwrap());
    let one = local(Arc::new(Worker::default()));
    let other = local(Arc::new(Worker::default()));
    first.set(one.clone()).unwrap();
    let _ = whereabouts(&elsewhere(&client, one.reference()));
    let _ = whereabouts(&elsewhere(&client, other.reference()));
    // Write a GIOP 1.0 request with a principal, which the client does not send.
    let mut octets = Vec::new();
    let key = common::object_key(&elsewhere(&client, other.reference()));
    octets.extend([0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 4, 0, 0, 0, 200]);
    octets.extend([0, 0, 0, 7, 1, 0, 0, 0]);
    let text = |octets: &mut Vec<u8>, text: &[u8]| {
        while !octets.len().is_multiple_of(4) {
            octets.push(0);
        }
        octets.extend((text.len() as u32).to_be_bytes());
        octets.extend(text);
    };
    text(&mut octets, &key);
    text(&mut octets, b"where\0");
    text(&mut octets, b"anna");
    let mut message = b"GIOP\x01\x00\x00\x00".to_vec();
    message.extend((octets.len() as u32).to_be_bytes());
    message.extend(octets);
    let address = common::address(&elsewhere(&client, other.reference()));
    let mut raw = Peer::connect(&address);
    std::io::Write::write_all(&mut raw, &message).unwrap();
    let mut answer = [0; 8];
    std::io::Read::read_exact(&mut raw, &mut answer).unwrap();
    let [magic @ .., _order, kind] = answer;
    assert_eq!((magic, kind), (*b"GIOP\x01\x00", 1), "a reply");
    assert_eq!(
        *seen.lock().unwrap(),
        [(None, true, vec![]), (None, false, vec![]), (Some(200), false, b"anna".to_vec())]
    );
    end(&[&client, &server]);
}

fn busy(millis: u64) -> ReactorChoice {
    ReactorChoice::BusyPoll { at_most: Duration::from_millis(millis) }
}

/// Returns the number of voluntary context switches of the calling thread, that is, of its sleeps.
fn slept() -> u32 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// Records in each request how often its thread has slept so far.
#[derive(Default)]
struct Sleeper(AtomicU32);

impl oxorb::Servant for Sleeper {
    fn repository_id(&self) -> &str {
        "IDL:test/Sleeper:1.0"
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        self.0.store(slept(), Ordering::SeqCst);
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn a_thread_that_polls_busily_never_sleeps_between_requests_and_one_of_epoll_does() {
    let _guard = watchdog(LONG);
    for (reactor, sleeps) in [("busy-poll:60000000", false), ("epoll", true)] {
        let server = common::transport::listening()
            .setting("Concurrency", "reactive")
            .setting("Reactor", reactor)
            .build()
            .unwrap();
        let client = client();
        let sleeper = Arc::new(Sleeper::default());
        let local = server.root_poa().activate_servant(sleeper.clone()).unwrap();
        let object = elsewhere(&client, &local);
        let ask = || {
            thread::sleep(Duration::from_millis(3));
            call(&object, &WHERE).unwrap();
            sleeper.0.load(Ordering::SeqCst)
        };
        // Make a few calls first: until the connection is accepted, a serving thread may sleep because the acceptor
        // holds the lock of the table of connections.
        for _ in 0..5 {
            ask();
        }
        let slept = || {
            let before = ask();
            for _ in 0..19 {
                ask();
            }
            ask() != before
        };
        // Repeat the measurement: on a busy machine a polling thread may wait for another thread's lock, and a thread
        // in epoll may find its next request without sleeping.
        until(reactor, || slept() == sleeps);
        end(&[&client, &server]);
    }
}

/// A reactor that polls in vain sleeps after its time limit, and polls again after the next input.
#[test]
fn busy_polling_ends_after_its_time_and_pools_have_it_too() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    for plan in [
        Threadpool::new(2).reactor(busy(1)),
        Threadpool::new(2).reactor(busy(1)).serving(Serving::Queue),
        Threadpool::new(1).reactor(busy(1)).buffering(RequestBuffering::default()),
    ] {
        let pool = server.create_threadpool(plan).unwrap();
        let (worker, object) = pooled(&server, &client, pool);
        for pause in [0, 20, 0, 20] {
            thread::sleep(Duration::from_millis(pause));
            let _ = whereabouts(&object);
        }
        let running = stuck(&object, &worker, 1);
        let more: Vec<_> = (0..3).map(|_| in_the_background(&object, &WHERE)).collect();
        thread::sleep(Duration::from_millis(20));
        worker.open();
        all_end(running);
        all_end(more);
        server.destroy_threadpool(pool).unwrap();
    }
    end(&[&client, &server]);
}

#[test]
fn busy_polling_that_would_starve_a_processor_is_refused_with_the_reason() {
    let real_time = |setting: &str| {
        common::transport::listening()
            .setting("SchedPolicy", setting)
            .setting("LaneCPU", "9:0=0")
            .build()
            .unwrap()
    };
    let one = |cpu: Option<usize>, threads| {
        let mut one = lane(10, threads);
        one.cpu = cpu;
        Threadpool::with_lanes([one]).reactor(busy(1))
    };
    for class in ["SCHED_FIFO", "SCHED_RR"] {
        let server = real_time(class);
        for starving in [one(None, 1), one(Some(0), 2), one(Some(0), 1).serving(Serving::Queue)] {
            let refused = server.create_threadpool(starving).unwrap_err().to_string();
            assert!(refused.contains("its own processor"), "{refused}");
        }
        let processors = thread::available_parallelism().unwrap().get();
        let all = (0..processors).map(|cpu| lane(cpu as i16, 1).cpu(cpu));
        let refused =
            server.create_threadpool(Threadpool::with_lanes(all).reactor(busy(1))).unwrap_err();
        assert!(refused.to_string().contains("keep one free"), "{refused}");
        if processors > 1 {
            let pool = server.create_threadpool(one(Some(0), 1)).unwrap();
            let client = client();
            let object =
                activate(&lane_poa(&server, pool, 10), &client, &Arc::new(Worker::default()));
            assert_eq!(whereabouts(&object).priority, 10);
            end(&[&client]);
        }
        end(&[&server]);
    }
    let refused =
        common::transport::builder().setting("Reactor", "busy-poll:50").build().unwrap_err();
    assert!(refused.to_string().contains("thread-per-connection"), "{refused}");
}

#[test]
fn no_thread_of_an_architecture_outlives_its_orb() {
    if !alone(no_thread_of_an_architecture_outlives_its_orb) {
        return;
    }
    let _guard = watchdog(LONG);
    for concurrency in common::ARCHITECTURES {
        let (server, client) = (common::server(concurrency), client());
        let (_, object) = worker_at(&server, &client);
        let _ = whereabouts(&object);
        end(&[&client, &server]);
        let ours = |comm: &str| comm.trim().starts_with("oxorb-");
        let count = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let names = tasks
                .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|comm| ours(comm)).count()
        };
        while count() > 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
