//! Lanes that share the ports of the ORB (`-ORBLanesOnOnePort`): the first message of a connection selects its lane,
//! and requests for objects of other lanes are passed to these.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::poa::{IdAssignment, Lifespan, ObjectId, Policies, RtPolicies};
use oxorb::rt::{PriorityModel, Serving, Steering, Threadpool, ThreadpoolError, ThreadpoolId};
use oxorb::settings::Concurrency;
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemExceptionKind};
use oxorb_giop::{Message, MessageType};
use oxorb_object::components::tag;
use oxorb_object::{Qos, ServiceContext, context_id};
use oxorb_testkit::watchdog;

use crate::common::openmetrics::Page;
use crate::common::peer::{self, Peer};
use crate::common::transport::{protocol, url};
use crate::common::worker::*;
use crate::common::{self, ARCHITECTURES, LONG, assert_raised, elsewhere, until};

mod peers;

static TELL: Op = Op::oneway("where");

/// Pause before a call that was refused is repeated.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns a server whose lanes share its port.
fn server() -> Orb {
    common::transport::listening().lanes_on_one_port(true).build().unwrap()
}

/// Creates a threadpool with lanes of the priorities 10, 20 and 30.
fn three_lanes(server: &Orb) -> ThreadpoolId {
    let lanes = [lane(10, 1), lane(20, 1), lane(30, 1)];
    server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap()
}

/// Returns an object that the lane of the caller's priority serves.
fn propagated(server: &Orb, client: &Orb, pool: ThreadpoolId) -> ObjectRef {
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ClientPropagated, 10),
        ..RtPolicies::default()
    };
    activate(&poa(server, "propagated", realtime), client, &Arc::new(Worker::default()))
}

/// Returns an object that the lane of this priority serves.
fn declared(server: &Orb, client: &Orb, pool: ThreadpoolId, value: i16) -> ObjectRef {
    activate(&lane_poa(server, pool, value), client, &Arc::new(Worker::default()))
}

/// Returns the name of a lane's threads.
fn thread_of(pool: ThreadpoolId, lane: usize) -> String {
    format!("oxorb-{}.{lane}", pool.0)
}

/// Returns the number of connections of a lane of the first threadpool that no thread serves.
fn parked(server: &Orb, lane: usize) -> f64 {
    let lane = lane.to_string();
    let labels = [("threadpool", "1"), ("lane", lane.as_str())];
    Page::parse(&server.metrics()).value("oxorb_lane_connections_waiting", &labels)
}

/// Waits until the connection is closed, and checks that the server has said so.
#[track_caller]
fn assert_closed_in_order(stream: &mut Peer) {
    assert_eq!(peer::kind(&stream.rest()), MessageType::CLOSE_CONNECTION);
}

/// Returns the name and priority of the thread that has sent this reply to `where`.
fn served_by(reply: &[u8]) -> (String, i16) {
    let frame = peer::frame(reply);
    let Message::Reply(reply) = frame.message().unwrap() else {
        panic!("{:?}", frame.header);
    };
    let mut d = frame.decoder(common::transport::wire().dialect()).at(reply.body);
    (d.string().unwrap().into_owned(), d.short().unwrap())
}

fn end(client: &Orb, server: &Orb) {
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn callers_of_each_priority_are_served_by_their_lane_at_one_port() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let object = propagated(&server, &client, pool);
    let plain = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
    assert_eq!(common::address(&object), common::address(&plain), "there is one address");
    let profile = object.reference().ior().iiop_profiles().next().unwrap();
    assert!(profile.component(tag::TAO_ENDPOINTS).is_none(), "addresses have no priorities");
    for _ in 0..2 {
        for (value, lane) in [(10, 0), (20, 1), (30, 2), (25, 1), (3, 0), (32_767, 2)] {
            client.set_thread_priority(priority(value)).unwrap();
            let served = whereabouts(&object);
            let expected = (thread_of(pool, lane), [10, 20, 30][lane]);
            assert_eq!((served.thread, served.priority), expected, "priority {value}");
        }
    }
    // The ORB's own threads serve other objects.
    assert_eq!(whereabouts(&plain).thread, "oxorb-conn");
    end(&client, &server);
}

#[test]
fn objects_are_served_by_the_lane_of_their_priority_with_every_concurrency() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    for concurrency in ARCHITECTURES {
        let server = common::transport::listening().lanes_on_one_port(true);
        let server = server.concurrency(concurrency).build().unwrap();
        let client = client();
        let pool = three_lanes(&server);
        let objects = [10, 20, 30].map(|value| declared(&server, &client, pool, value));
        for _ in 0..3 {
            for (lane, object) in objects.iter().enumerate() {
                assert_eq!(whereabouts(object).thread, thread_of(pool, lane), "{concurrency:?}");
            }
        }
        // Requests over a connection of the ORB's own threads are served by the right lane, too.
        let plain = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
        let mut stream = Peer::connect(&common::address(&plain));
        let own = served_by(&exchange(&mut stream, &common::object_key(&plain), &[])).0;
        assert!(!own.starts_with(&format!("oxorb-{}.", pool.0)), "{concurrency:?}: {own}");
        for (lane, object) in objects.iter().enumerate() {
            let reply = exchange(&mut stream, &common::object_key(object), &[]);
            assert_eq!(served_by(&reply).0, thread_of(pool, lane), "{concurrency:?}");
        }
        end(&client, &server);
    }
}

#[test]
fn lanes_whose_readers_pass_requests_to_other_threads_share_the_port() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    for serving in [Serving::Queue, Serving::ThreadPerRequest] {
        let (server, client) = (server(), client());
        let plan = Threadpool::with_lanes([lane(10, 2), lane(20, 2)]).serving(serving);
        let pool = server.create_threadpool(plan).unwrap();
        let objects = [10, 20].map(|value| declared(&server, &client, pool, value));
        let mut stream = Peer::connect(&common::address(&objects[1]));
        for lane in [1, 0, 1, 0] {
            let reply = exchange(&mut stream, &common::object_key(&objects[lane]), &[]);
            assert_eq!(served_by(&reply).0, thread_of(pool, lane), "{serving:?}");
            assert_eq!(whereabouts(&objects[lane]).thread, thread_of(pool, lane), "{serving:?}");
        }
        end(&client, &server);
    }
}

/// A client without RT-CORBA uses one connection for all objects of an address.
#[test]
fn requests_over_a_connection_of_another_lane_are_served_by_the_right_one() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let other_pool = server.create_threadpool(Threadpool::new(2)).unwrap();
    let keys = [10, 20, 30].map(|value| {
        let object = declared(&server, &client, pool, value);
        (common::address(&object), common::object_key(&object))
    });
    let realtime = RtPolicies { threadpool: Some(other_pool), ..RtPolicies::default() };
    let unlaned =
        activate(&poa(&server, "unlaned", realtime), &client, &Arc::new(Worker::default()));
    let unlaned = common::object_key(&unlaned);
    for first in 0..keys.len() {
        let mut stream = Peer::connect(&keys[first].0);
        for lane in [first, 2, 0, 1, 0, 2] {
            let reply = exchange(&mut stream, &keys[lane].1, &[]);
            let expected = (thread_of(pool, lane), [10, 20, 30][lane]);
            assert_eq!(served_by(&reply), expected, "after {first}");
        }
        let reply = exchange(&mut stream, &unlaned, &[]);
        assert_eq!(served_by(&reply).0, thread_of(other_pool, 0));
    }
    // The priority of the caller counts for each request, and the first message may be a LocateRequest.
    let object = propagated(&server, &client, pool);
    let key = common::object_key(&object);
    let mut stream = Peer::connect(&common::address(&object));
    stream.write_all(&locate_request(3, &key)).unwrap();
    assert_eq!(peer::frame(&stream.message()).header.kind, MessageType::LOCATE_REPLY);
    for (value, lane) in [(30, 2), (10, 0), (29, 1), (0, 0), (20, 1)] {
        let data = [0, 0, 0, value];
        let context = ServiceContext { id: context_id::RT_CORBA_PRIORITY, data: &data };
        let reply = exchange(&mut stream, &key, &[context]);
        assert_eq!(served_by(&reply).0, thread_of(pool, lane), "priority {value}");
    }
    end(&client, &server);
}

#[test]
fn slow_silent_and_hostile_clients_delay_no_other_client() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let object = declared(&server, &client, pool, 30);
    let (address, key) = (common::address(&object), common::object_key(&object));
    let mut silent = Peer::connect(&address);
    let mut other_protocol = Peer::connect(&address);
    other_protocol.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // A request that announces many octets, of which more arrive than are examined, and no end of its key.
    let mut endless = Peer::connect(&address);
    let mut start = b"GIOP\x01\x02\x00\x00\x00\x10\x00\x00\0\0\0\x07\x03\0\0\0\0\0\0\0".to_vec();
    start.extend_from_slice(&0x000f_0000_u32.to_be_bytes());
    start.resize(20_000, b'k');
    endless.write_all(&start).unwrap();
    let mut cut_off = Peer::connect(&address);
    cut_off.write_all(&request(1, &WHERE, &key, &[])[..30]).unwrap();
    drop(cut_off);
    assert_eq!(whereabouts(&object).thread, thread_of(pool, 2));
    // A request that arrives octet by octet is served by its lane, too.
    let mut slow = Peer::connect(&address);
    for octet in request(9, &WHERE, &key, &[]) {
        slow.write_all(&[octet]).unwrap();
    }
    assert_eq!(served_by(&slow.message()).0, thread_of(pool, 2));
    assert_eq!(served_by(&exchange(&mut silent, &key, &[])).0, thread_of(pool, 2));
    let answer = other_protocol.rest();
    assert!(answer.is_empty() || answer.starts_with(b"GIOP"), "{answer:?}");
    assert_eq!(whereabouts(&object).thread, thread_of(pool, 2));
    drop(endless);
    end(&client, &server);
}

#[test]
fn a_connection_whose_first_message_is_slow_is_served_by_the_least_urgent_lane() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let object = declared(&server, &client, pool, 30);
    let message = request(5, &WHERE, &common::object_key(&object), &[]);
    let mut slow = Peer::connect(&common::address(&object));
    slow.write_all(&message[..20]).unwrap();
    until("the connection is passed to the lane", || parked(&server, 0) == 1.0);
    slow.write_all(&message[20..]).unwrap();
    assert_eq!(served_by(&slow.message()).0, thread_of(pool, 2));
    end(&client, &server);
}

#[test]
fn a_silent_connection_makes_room_for_another_one() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().lanes_on_one_port(true);
    let server = server.setting("MaxConnections", "1").build().unwrap();
    let client = client();
    let pool = three_lanes(&server);
    let object = declared(&server, &client, pool, 20);
    let mut silent = Peer::connect(&common::address(&object));
    until("the connection is accepted", || server.connection_statistics().open == 1);
    // Calls are refused until the silent connection has been idle for long enough.
    let served = loop {
        match ask_whereabouts(&object) {
            Ok(served) => break served,
            Err(refused) => {
                assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
                thread::sleep(PAUSE);
            }
        }
    };
    assert_eq!(served.thread, thread_of(pool, 1));
    assert_closed_in_order(&mut silent);
    assert_eq!(server.connection_statistics().count(Incident::Purged), 1);
    end(&client, &server);
}

#[test]
fn a_silent_connection_is_closed_after_the_idle_time() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let server = common::transport::listening().lanes_on_one_port(true);
    let server = server.setting("IdleTimeout", "100").build().unwrap();
    let client = client();
    let pool = three_lanes(&server);
    let object = declared(&server, &client, pool, 20);
    assert_closed_in_order(&mut Peer::connect(&common::address(&object)));
    assert_eq!(server.connection_statistics().count(Incident::IdleClosed), 1);
    // A connection may be closed again before a busy machine has sent the request over it.
    until("a call is served", || {
        ask_whereabouts(&object).is_ok_and(|served| served.thread == thread_of(pool, 1))
    });
    end(&client, &server);
}

#[test]
fn shutdown_ends_connections_whose_first_message_has_not_arrived() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let server = server();
    let client = client();
    let pool = three_lanes(&server);
    let object = declared(&server, &client, pool, 20);
    let address = common::address(&object);
    let mut silent = Peer::connect(&address);
    let mut begun = Peer::connect(&address);
    begun.write_all(b"GIOP\x01\x02").unwrap();
    let both = || server.connection_statistics().accepted >= 2;
    common::until("both connections are accepted", both);
    end(&client, &server);
    assert_closed_in_order(&mut silent);
    // The system resets a connection whose octets were not read, and its client may then read nothing.
    let last = begun.rest();
    assert!(last.is_empty() || peer::kind(&last) == MessageType::CLOSE_CONNECTION, "{last:?}");
}

#[test]
fn calls_within_the_process_are_served_by_the_lane_of_the_object() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let server = server();
    let pool = three_lanes(&server);
    for (lane, value) in [10, 20, 30].into_iter().enumerate() {
        let worker = Arc::new(Worker::default());
        let local = lane_poa(&server, pool, value).activate_servant(worker).unwrap();
        let local = ObjectRef::from_ref(local);
        assert_eq!(whereabouts(&local).thread, thread_of(pool, lane));
    }
    server.shutdown(true).unwrap();
}

#[test]
fn a_busy_lane_leaves_the_others_unharmed() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let low = Arc::new(Worker::default());
    let low_object = activate(&lane_poa(&server, pool, 10), &client, &low);
    let high_object = declared(&server, &client, pool, 30);
    let stuck = in_the_background(&low_object, &WAIT);
    low.until_waiting(1);
    // The first message selects the urgent lane, and the second one waits in the queue of the busy lane.
    let mut stream = Peer::connect(&common::address(&high_object));
    let (low_key, high_key) = (common::object_key(&low_object), common::object_key(&high_object));
    stream.write_all(&request(1, &WHERE, &high_key, &[])).unwrap();
    assert_eq!(served_by(&stream.message()).0, thread_of(pool, 2));
    stream.write_all(&request(3, &WHERE, &low_key, &[])).unwrap();
    for id in [5, 7, 9] {
        stream.write_all(&request(id, &WHERE, &high_key, &[])).unwrap();
        assert_eq!(served_by(&stream.message()).0, thread_of(pool, 2));
    }
    assert_eq!(whereabouts(&high_object).thread, thread_of(pool, 2));
    assert_eq!(low.at_gate.load(Ordering::SeqCst), 1);
    low.open();
    assert_eq!(served_by(&stream.message()).0, thread_of(pool, 0));
    assert_eq!(stuck.join().unwrap(), Ok(()));
    end(&client, &server);
}

/// A client whose connection belongs to another lane can keep the queue of a lane filled.
#[test]
fn connections_of_a_lane_do_not_wait_until_its_queue_is_empty() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let worker = Arc::new(Worker::default());
    let object = activate(&lane_poa(&server, pool, 10), &client, &worker);
    let (address, key) = (common::address(&object), common::object_key(&object));
    let mut own = Peer::connect(&address);
    assert_eq!(served_by(&exchange(&mut own, &key, &[])).0, thread_of(pool, 0));
    let urgent_key = common::object_key(&declared(&server, &client, pool, 30));
    let mut other = Peer::connect(&address);
    assert_eq!(served_by(&exchange(&mut other, &urgent_key, &[])).0, thread_of(pool, 2));
    other.write_all(&request(1, &WAIT, &key, &[])).unwrap();
    worker.until_waiting(1);
    for id in [3, 5, 7] {
        other.write_all(&request(id, &WHERE, &key, &[])).unwrap();
    }
    let qos = Qos { importance: 1, ..Qos::default() }.encode();
    own.write_all(&request(11, &WHERE, &key, &[Qos::context(&qos)])).unwrap();
    // The answer to a later request shows that the three are in the queue.
    other.write_all(&request(9, &WHERE, &urgent_key, &[])).unwrap();
    assert_eq!(served_by(&other.message()).0, thread_of(pool, 2));
    worker.open();
    own.message();
    for _ in 0..4 {
        other.message();
    }
    let served = worker.served.lock().unwrap().clone();
    assert!(served.contains(&Some(1)), "{served:?}");
    assert_eq!((served.len(), served.last()), (5, Some(&None)), "{served:?}");
    end(&client, &server);
}

/// Returns a server whose connections may have one request in other lanes.
fn one_request_elsewhere() -> Orb {
    let server = common::transport::listening().lanes_on_one_port(true);
    server.setting("MaxRequestsPerConnection", "1").build().unwrap()
}

/// The client of a oneway would not notice a refusal.
#[test]
fn oneways_for_another_lane_wait_for_the_requests_of_their_connection() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (one_request_elsewhere(), client());
    let pool = three_lanes(&server);
    let low = Arc::new(Worker::default());
    let low_key = common::object_key(&activate(&lane_poa(&server, pool, 10), &client, &low));
    let urgent = declared(&server, &client, pool, 30);
    // The connection of a lane, and one of the ORB's own threads.
    let own = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
    for (first, served) in [(urgent, 3), (own, 6)] {
        low.close();
        let key = common::object_key(&first);
        let mut stream = Peer::connect(&common::address(&first));
        let before = served_by(&exchange(&mut stream, &key, &[]));
        stream.write_all(&request(1, &WAIT, &low_key, &[])).unwrap();
        low.until_waiting(1);
        for id in [3, 5, 7] {
            stream.write_all(&request(id, &TELL, &low_key, &[])).unwrap();
        }
        stream.write_all(&request(9, &WHERE, &key, &[])).unwrap();
        low.open();
        stream.message();
        assert_eq!(served_by(&stream.message()), before, "the request behind the oneways");
        until("the oneways are served", || low.served.lock().unwrap().len() == served);
    }
    let statistics = server.connection_statistics();
    assert_eq!(statistics.count(Incident::BufferFull), 0);
    assert_eq!(statistics.count(Incident::OnewayDropped), 0);
    end(&client, &server);
}

#[test]
fn requests_with_answers_beyond_the_limit_of_their_connection_are_refused() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (one_request_elsewhere(), client());
    let pool = three_lanes(&server);
    let low = Arc::new(Worker::default());
    let low_key = common::object_key(&activate(&lane_poa(&server, pool, 10), &client, &low));
    let urgent = declared(&server, &client, pool, 30);
    let mut stream = Peer::connect(&common::address(&urgent));
    exchange(&mut stream, &common::object_key(&urgent), &[]);
    stream.write_all(&request(1, &WAIT, &low_key, &[])).unwrap();
    low.until_waiting(1);
    stream.write_all(&request(3, &WHERE, &low_key, &[])).unwrap();
    let refused = peer::frame(&stream.message()).request_id();
    assert_eq!((refused, server.connection_statistics().count(Incident::BufferFull)), (3, 1));
    low.open();
    assert_eq!(peer::frame(&stream.message()).request_id(), 1);
    end(&client, &server);
}

/// The ORB's name for an object is resolved before the lane is selected.
#[test]
fn an_object_with_a_name_is_served_by_its_lane() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let local = lane_poa(&server, pool, 20).activate_servant(Arc::new(Worker::default()));
    let local = ObjectRef::from_ref(local.unwrap());
    server.bind("here", &local);
    let url = url(&[&common::address(&local)], "here");
    let object: ObjectRef = client.string_to_object(&url).unwrap();
    for _ in 0..2 {
        assert_eq!(whereabouts(&object).thread, thread_of(pool, 1));
    }
    end(&client, &server);
}

#[test]
fn objects_of_a_threadpool_that_was_destroyed_are_refused() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let object = declared(&server, &client, pool, 20);
    let plain = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
    let mut stream = Peer::connect(&common::address(&object));
    exchange(&mut stream, &common::object_key(&object), &[]);
    server.destroy_threadpool(pool).unwrap();
    assert_closed_in_order(&mut stream);
    for _ in 0..2 {
        let refused = ask_whereabouts(&object).unwrap_err();
        assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
        assert!(whereabouts(&plain).thread.starts_with("oxorb-"), "the port stays open");
    }
    end(&client, &server);
}

/// Starts a server that listens at `port`, with a persistent object on the second lane of its last threadpool.
fn persistent_server(port: u16, pools: u32) -> (Orb, ObjectRef, ThreadpoolId) {
    let server = common::transport::builder().lanes_on_one_port(true);
    let server = server.listen(&format!("{}://127.0.0.1:{port}", protocol().name()));
    let server = server.build().unwrap();
    let all: Vec<ThreadpoolId> = (0..pools).map(|_| three_lanes(&server)).collect();
    let pool = *all.last().unwrap();
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ServerDeclared, 20),
        ..RtPolicies::default()
    };
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        realtime,
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("kept", policies).unwrap();
    let id = ObjectId::from("one");
    let object = poa.activate_servant_with_id(&id, Arc::new(Worker::default())).unwrap();
    (server, ObjectRef::from_ref(object), pool)
}

/// At separate ports, the port of a lane depends on the threadpools that were created before.
#[test]
fn a_persistent_reference_survives_a_restart_with_other_threadpools() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let (port, client) = (oxorb_testkit::net::free_port(), client());
    let (server, object, pool) = persistent_server(port, 1);
    let kept = elsewhere(&client, object.reference());
    assert_eq!(common::port(&common::address(&kept)), port);
    assert_eq!(whereabouts(&kept).thread, thread_of(pool, 1));
    assert_eq!(server.connection_statistics().count(Incident::PersistentOnAnyPort), 0);
    server.shutdown(true).unwrap();
    let (server, _, pool) = persistent_server(port, 2);
    assert_eq!(whereabouts(&kept).thread, thread_of(pool, 1));
    end(&client, &server);
}

#[test]
fn contradicting_settings_are_refused() {
    common::only_over!(PORTS, "only ports of TCP and TLS are shared");
    let _guard = watchdog(LONG);
    let refused = |server: &Orb, plan: Threadpool| match server.create_threadpool(plan) {
        Err(ThreadpoolError::BadParameter(why)) => {
            assert!(why.contains("-ORBLanesOnOnePort"), "{why}");
        }
        other => panic!("{other:?}"),
    };
    let lanes = || Threadpool::with_lanes([lane(10, 1), lane(20, 1)]);
    let server = server();
    refused(&server, lanes().front("iiop://127.0.0.1:0", Steering::Mark));
    refused(&server, lanes().serving(Serving::ThreadPerConnection));
    server.shutdown(true).unwrap();
    let own = common::transport::listening().lanes_on_one_port(true);
    let own = own.setting("LaneListenEndpoints", "1:0=iiop://127.0.0.1:0").build().unwrap();
    refused(&own, lanes());
    own.shutdown(true).unwrap();
    let memory = common::transport::listening().lanes_on_one_port(true).listen("mem://");
    let memory = memory.concurrency(Concurrency::ThreadPerConnection).build().unwrap();
    refused(&memory, lanes());
    memory.shutdown(true).unwrap();
}
