//! The front of a threadpool, where the kernel selects the lane of each connection, and packet options of lanes.

use std::num::NonZeroU64;
use std::process::Command;
use std::sync::{Arc, Mutex};

use oxorb::incident::Incident;
use oxorb::poa::RtPolicies;
use oxorb::policy::{
    ClientProtocol, CommunicationClass, Protocol, Qos, RequestQos, TcpProtocolProperties,
};
use oxorb::rt::{PriorityModel, Steering, Threadpool, ThreadpoolError, ThreadpoolLane};
use oxorb::{Interface, ObjectRef, Orb};
use oxorb_testkit::watchdog;
use oxorb_transport::tcp;

use crate::common::worker::*;
use crate::common::{self, LONG, elsewhere, object_key};

const LEAST: i16 = 100;
const URGENT: i16 = 20_000;

/// Returns an object of a POA on all lanes of a pool.
fn in_pool(server: &Orb, client: &Orb, pool: Threadpool) -> ObjectRef {
    let pool = server.create_threadpool(pool).unwrap();
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ClientPropagated, LEAST),
        ..RtPolicies::default()
    };
    let poa = poa(server, "all-lanes", realtime);
    activate(&poa, client, &Arc::new(Worker::default()))
}

/// Returns a reference to the same object that contains only the front.
fn at_front(client: &Orb, object: &ObjectRef) -> ObjectRef {
    let (host, port) = tcp::host_and_port(&common::address(object))
        .map(|(host, port)| (host.to_owned(), port))
        .unwrap();
    let key: String = object_key(object).iter().map(|octet| format!("%{octet:02x}")).collect();
    let url = format!("corbaloc:iiop:1.2@{host}:{port}/{key}");
    client.string_to_object(&url).unwrap()
}

fn marking(object: &ObjectRef) -> ObjectRef {
    let properties =
        TcpProtocolProperties { enable_network_priority: true, ..TcpProtocolProperties::default() };
    let tag = common::transport::protocol().profile().tag();
    object.with(ClientProtocol::new(&[Protocol::with(tag, properties)]).unwrap())
}

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

/// A connection goes to the lane whose DSCP its first packet carries, whatever the client.
#[test]
fn the_mark_of_a_client_leads_to_the_lane() {
    common::only_over!(IIOP, "a front speaks GIOP over TCP alone");
    let _guard = watchdog(LONG);
    let server = server();
    // The second lane has no DSCP of its own, and uses the one that its priority maps to.
    let lanes = [lane(LEAST, 1).dscp(10), lane(URGENT, 1), lane(500, 1).dscp(26)];
    let pool = Threadpool::with_lanes(lanes).front("iiop://127.0.0.1:0", Steering::Mark);
    let first = client();
    let object = in_pool(&server, &first, pool);
    let plain = at_front(&first, &object);
    assert_eq!(whereabouts(&plain).thread, "oxorb-1.0", "without a mark");

    end(&[&first]);

    // Send packets with a DSCP, and requests without a priority, as a client of any ORB may do.
    let client = client();
    let object = elsewhere(&client, object.reference());
    let (key, front) = (object_key(&object), common::address(&object));
    let (_, port) = tcp::host_and_port(&front).unwrap();
    for (mark, expected) in [
        (Some(10), "oxorb-1.0"),
        (Some(oxorb_rt::dscp(priority(URGENT))), "oxorb-1.1"),
        (Some(26), "oxorb-1.2"),
        (Some(8), "oxorb-1.0"),
        (None, "oxorb-1.0"),
    ] {
        let served = raw(port, mark, &key);
        assert_eq!(served, expected, "mark {mark:?}");
    }
    end(&[&client, &server]);
}

/// Sends a request over a connection whose packets carry a DSCP, and returns the thread that served it.
fn raw(port: u16, mark: Option<u8>, key: &[u8]) -> String {
    use oxorb_sys::socket::{Connecting, first_ready};
    use std::os::fd::AsFd as _;
    let at = format!("127.0.0.1:{port}").parse().unwrap();
    let connecting = Connecting::start_marked(at, mark).unwrap();
    first_ready([(connecting.as_fd(), false)], LONG).unwrap();
    let stream = std::net::TcpStream::from(connecting.finish().unwrap());
    let mut peer = common::peer::Peer::tcp(stream);
    let reply = exchange(&mut peer, key, &[]);
    let frame = common::peer::frame(&reply);
    let oxorb_giop::Message::Reply(reply) = frame.message().unwrap() else {
        panic!("{:?}", frame.header);
    };
    let dialect = common::transport::wire().dialect();
    let mut d = frame.decoder(dialect).at(reply.body);
    d.string().unwrap().into_owned()
}

/// An ORB that sets the DSCP of the packets of its calls sets that of a connection's first packet, too.
#[test]
fn calls_with_network_priority_come_to_their_lane() {
    common::only_over!(IIOP, "a front speaks GIOP over TCP alone");
    let _guard = watchdog(LONG);
    let server = server();
    let lanes = [lane(LEAST, 1).dscp(10), lane(URGENT, 1).dscp(46)];
    let pool = Threadpool::with_lanes(lanes).front("iiop://127.0.0.1:0", Steering::Mark);
    let client = client();
    let object = in_pool(&server, &client, pool);
    // Isochronous calls are marked with 46, bursts with 10.
    for (class, expected) in
        [(CommunicationClass::Isochronous, "oxorb-1.1"), (CommunicationClass::Burst, "oxorb-1.0")]
    {
        let qos = Qos { class, ..Qos::default() };
        let told = marking(&at_front(&client, &object)).with(RequestQos(qos));
        assert_eq!(whereabouts(&told).thread, expected);
    }
    // A client that finds the lanes in the reference connects to the port of its lane.
    client.set_thread_priority(priority(URGENT)).unwrap();
    assert_eq!(whereabouts(&object).thread, "oxorb-1.1");
    end(&[&client, &server]);
}

/// Loopback packets are processed by the processor that sends them.
#[test]
fn the_processor_of_a_clients_packets_leads_to_the_lane() {
    common::only_over!(IIOP, "a front speaks GIOP over TCP alone");
    let _guard = watchdog(LONG);
    let cpus = oxorb_sys::thread::allowed_cpus().unwrap();
    if cpus.len() < 2 {
        return oxorb_testkit::peers::missing("two processors", "this process may use one");
    }
    let server = server();
    let lanes = [lane(LEAST, 1).cpu(cpus[1]), lane(URGENT, 1).cpu(cpus[0])];
    let pool = Threadpool::with_lanes(lanes).front("iiop://127.0.0.1:0", Steering::Processor);
    let client = client();
    let object = in_pool(&server, &client, pool);
    let (key, front) = (object_key(&object), common::address(&object));
    let (_, port) = tcp::host_and_port(&front).unwrap();
    std::thread::spawn(move || {
        for (cpu, expected) in [(cpus[0], "oxorb-1.1"), (cpus[1], "oxorb-1.0")] {
            oxorb_sys::thread::pin_current_thread(cpu).unwrap();
            for _ in 0..4 {
                assert_eq!(raw(port, None, &key), expected, "processor {cpu}");
            }
        }
    })
    .join()
    .unwrap();
    end(&[&client, &server]);
}

/// Collocated calls do not depend on the kernel's selection.
#[test]
fn calls_within_the_process_pass_the_front_by() {
    common::only_over!(IIOP, "a front speaks GIOP over TCP alone");
    let _guard = watchdog(LONG);
    let server = server();
    let lanes = [lane(LEAST, 1).dscp(10), lane(URGENT, 1).dscp(46)];
    let pool = Threadpool::with_lanes(lanes).front("iiop://127.0.0.1:0", Steering::Mark);
    let client = client();
    let object = in_pool(&server, &client, pool);
    let own = elsewhere(&server, object.reference());
    assert_eq!(whereabouts(&own).thread, "oxorb-1.0");
    server.set_thread_priority(priority(URGENT)).unwrap();
    assert_eq!(whereabouts(&own).thread, "oxorb-1.1");
    end(&[&client, &server]);
}

#[test]
fn fronts_that_tell_lanes_not_apart_are_refused() {
    common::only_over!(IIOP, "a front speaks GIOP over TCP alone");
    let _guard = watchdog(LONG);
    let server = server();
    let refused = |pool: Threadpool| match server.create_threadpool(pool) {
        Err(refused @ (ThreadpoolError::BadParameter(_) | ThreadpoolError::Setup(_))) => {
            refused.to_string()
        }
        other => panic!("{other:?}"),
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("iiop://{}", taken.local_addr().unwrap());
    let lanes = || [lane(1, 1).dscp(10), lane(2, 1).dscp(46)];
    let at = "iiop://127.0.0.1:0";
    let cases = [
        (Threadpool::new(1).front(at, Steering::Mark), "pool with lanes"),
        (
            Threadpool::with_lanes([lane(1, 1).dscp(10), lane(2, 1).dscp(10)])
                .front(at, Steering::Mark),
            "a different DSCP",
        ),
        (
            Threadpool::with_lanes([lane(1, 1).cpu(0), lane(2, 1)]).front(at, Steering::Processor),
            "a different processor for each lane",
        ),
        (
            Threadpool::with_lanes(lanes()).front("iiop://a,b", Steering::Mark),
            "2 endpoints are specified",
        ),
        (Threadpool::with_lanes(lanes()).front("nothing", Steering::Mark), "nothing"),
        (
            Threadpool::with_lanes(lanes()).front("uiop:///tmp/oxorb-front", Steering::Mark),
            "only endpoints of TCP",
        ),
        (
            Threadpool::with_lanes(lanes()).front(taken, Steering::Mark),
            "another process listens there",
        ),
    ];
    for (pool, why) in cases {
        let said = refused(pool);
        assert!(said.contains(why), "{why} in {said}");
    }
    // The threadpools that could not be created leave nothing behind that would prevent this one.
    let pool = Threadpool::with_lanes(lanes()).front(at, Steering::Mark);
    server.create_threadpool(pool).unwrap();
    end(&[&server]);
}

/// Returns the kernel's data about connections with this local port.
fn kernel(port: u16) -> String {
    let told = Command::new("ss")
        .args(["-tniHO", "sport", "=", &format!(":{port}")])
        .output()
        .expect("ss (iproute2) is installed");
    String::from_utf8(told.stdout).unwrap()
}

/// Replies of a lane are paced; a lower rate of the POA's policy has precedence.
#[test]
fn a_lane_paces_its_connections() {
    common::only_over!(TCP, "the kernel paces connections of TCP");
    if !oxorb_testkit::peers::is_there("ss") {
        return;
    }
    let _guard = watchdog(LONG);
    let server = server();
    let octets = |n| NonZeroU64::new(n).unwrap();
    let lanes =
        [lane(10, 1).pacing(octets(2_000_000)), lane(20, 1).pacing(octets(5_000_000)), lane(30, 1)];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let client = client();
    for (value, paced) in [(10, Some("/16000000bps")), (20, Some("/40000000bps")), (30, None)] {
        let poa = lane_poa(&server, pool, value);
        let object = activate(&poa, &client, &Arc::new(Worker::default()));
        let _ = whereabouts(&object);
        let told = kernel(common::port(&common::address(&object)));
        let has = |rate: &str| told.contains(rate);
        match paced {
            Some(rate) => assert!(has(rate), "{told}"),
            None => assert!(!has("/16000000bps") && !has("/40000000bps"), "{told}"),
        }
    }
    end(&[&client, &server]);
}

/// An option that the device refuses is logged once, with the reason, and the lane serves without
/// it.
#[test]
fn a_device_without_threads_is_named_once_and_the_lane_serves() {
    let _guard = watchdog(LONG);
    let server = server();
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    server.observe_connections(move |event| {
        if event.incident == Incident::LaneNotSteered {
            seen.lock().unwrap().push(event.to_string());
        }
    });
    let lanes: [ThreadpoolLane; 2] = [lane(10, 1).napi("no-such-device"), lane(20, 1).napi("lo")];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let client = client();
    for value in [10, 20] {
        let poa = lane_poa(&server, pool, value);
        let object = activate(&poa, &client, &Arc::new(Worker::default()));
        for _ in 0..2 {
            let _ = whereabouts(&object);
        }
    }
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("oxorb-1.0: "), "{told:?}");
    assert!(told[0].contains("napi no-such-device: there is no such network device"), "{told:?}");
    assert!(told[1].starts_with("oxorb-1.1: ") && told[1].contains("napi lo: "));
    end(&[&client, &server]);
}
