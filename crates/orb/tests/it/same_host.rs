//! Peers on one host: shared memory, then UNIX sockets, then TCP, by the references of servers that publish them.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests the choice among transports.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use oxorb::ior::Ior;
use oxorb::poa::RtPolicies;
use oxorb::policy::{ClientProtocol, Protocol};
use oxorb::rt::{OrbThread, PriorityModel, ThreadPurpose, Threadpool};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_object::components::DecodedComponent;
use oxorb_object::components::tag::{OMNIORB_UNIX, OXORB_SHM_SOCKET, OXORB_SOCKET};
use oxorb_object::{IiopProfile, SocketIdentity, TaggedComponent, profile_tag};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::child::Child;
use crate::common::worker::{Worker, lane, model, poa, priority, whereabouts};
use crate::common::*;

const SHM: u32 = profile_tag::OXORB_SHM;
const UIOP: u32 = profile_tag::TAO_UIOP;
const IIOP: u32 = profile_tag::INTERNET_IOP;

/// Components of the IIOP profile that publish other transports to clients on the same host.
const BESIDE: [u32; 3] = [OMNIORB_UNIX, OXORB_SOCKET, OXORB_SHM_SOCKET];

/// Returns a path that is not an ORB's temporary one, which another ORB would remove.
fn path(test: &str) -> PathBuf {
    let name = format!("test-oxorb-{test}-{}", std::process::id());
    oxorb_testkit::net::socket_folder().join(name)
}

fn server(endpoints: &str) -> Orb {
    let built = Orb::builder().listen(endpoints).build();
    built.unwrap_or_else(|error| panic!("{endpoints}: {error}"))
}

fn pinger(server: &Orb) -> Ior {
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant).unwrap();
    local.ior().clone()
}

fn bound(client: &Orb, ior: &Ior) -> ObjectRef {
    client.string_to_object(&ior.to_string()).unwrap()
}

/// Returns the reference with its IIOP profile alone, modified.
fn iiop_alone(ior: &Ior, change: impl FnOnce(&mut IiopProfile)) -> Ior {
    let tagged = ior.profiles.iter().find(|it| it.tag == IIOP).unwrap();
    let mut profile = IiopProfile::parse(tagged).unwrap();
    change(&mut profile);
    Ior { type_id: ior.type_id.clone(), profiles: vec![profile.to_profile()] }
}

/// Returns the transport of the server's only connection.
fn transport(server: &Orb) -> String {
    let threads = server.threads();
    let serving = threads.iter();
    let mut serving = serving.filter(|it| it.purpose == ThreadPurpose::Connection);
    let (thread, None) = (serving.next().unwrap(), serving.next()) else {
        panic!("{threads:?}");
    };
    let [(place, 1)] = &thread.waits_at[..] else {
        panic!("{thread}");
    };
    assert!(thread.to_string().ends_with(&format!(", at {place}")), "{thread}");
    place.split_once(':').unwrap().0.to_owned()
}

/// Calls with a new client, and returns the transport of its connection.
fn taken(server: &Orb, ior: &Ior, with: impl FnOnce(ObjectRef) -> ObjectRef) -> String {
    let client = client(ClientConnections::Cached);
    let object = with(bound(&client, ior));
    assert_eq!(ping(&object, 1), Ok(2));
    let over = transport(server);
    client.shutdown(true).unwrap();
    let serves = |it: &OrbThread| it.purpose == ThreadPurpose::Connection;
    while server.threads().iter().any(serves) {
        thread::yield_now();
    }
    over
}

#[test]
fn memory_comes_first_then_the_socket_then_tcp_whatever_the_order_of_endpoints() {
    let _guard = watchdog(LONG);
    for (endpoints, expected) in [
        ("iiop://127.0.0.1:0;uiop://;shm://", "shm"),
        ("shm://;iiop://127.0.0.1:0", "shm"),
        ("iiop://127.0.0.1:0;shm://@", "shm"),
        ("uiop://;iiop://127.0.0.1:0;shm://|ring=16K", "shm"),
        ("iiop://127.0.0.1:0;uiop://", "unix"),
        ("iiop://127.0.0.1:0", "tcp"),
    ] {
        let server = server(endpoints);
        let ior = pinger(&server);
        assert_eq!(taken(&server, &ior, |it| it), expected, "{endpoints}");
        let iiop = iiop_alone(&ior, |_| ());
        assert_eq!(taken(&server, &iiop, |it| it), expected, "{endpoints}, IIOP's profile");
        server.shutdown(true).unwrap();
    }
}

#[test]
fn a_policy_says_otherwise() {
    let _guard = watchdog(LONG);
    let server = server("iiop://127.0.0.1:0;uiop://;shm://");
    let ior = iiop_alone(&pinger(&server), |_| ());
    for (order, expected) in [
        (&[UIOP, SHM, IIOP][..], "unix"),
        (&[IIOP, SHM], "tcp"),
        (&[SHM, UIOP, IIOP], "shm"),
        (&[IIOP], "tcp"),
    ] {
        let list: Vec<_> = order.iter().map(|tag| Protocol::new(*tag)).collect();
        let policy = ClientProtocol::new(&list).unwrap();
        assert_eq!(taken(&server, &ior, |it| it.with(policy)), expected);
    }
    let orb = Orb::builder().setting("Protocols", "uiop,iiop");
    let client = orb.build().unwrap();
    assert_eq!(ping(&bound(&client, &ior), 1), Ok(2));
    assert_eq!(transport(&server), "unix");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// A single thread of a lane waits for sockets and for shared memory in one loop, at the lane's priority; a call at
/// that priority selects the lane's shared memory.
#[test]
fn a_lane_serves_sockets_and_memory_with_one_thread_at_its_priority() {
    let _guard = watchdog(LONG);
    let server = server("iiop://127.0.0.1:0;uiop://;shm://");
    let lanes = [lane(10, 1), lane(20, 1)];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ClientPropagated, 10),
        ..RtPolicies::default()
    };
    let worker = Arc::new(Worker::default());
    let poa = poa(&server, "lanes", realtime);
    let object = poa.activate_servant(worker).unwrap();
    let client = client(ClientConnections::Cached);
    let object = elsewhere(&client, &object);
    let tcp = ClientProtocol::new(&[Protocol::new(IIOP)]).unwrap();
    let over_tcp = object.with(tcp);
    for (at, value) in [10, 20].into_iter().enumerate() {
        client.set_thread_priority(priority(value)).unwrap();
        let name = format!("oxorb-{}.{at}", pool.0);
        // Each call arrives just after the thread has served the other transport.
        for object in [&object, &over_tcp, &object, &over_tcp] {
            let served = whereabouts(object);
            assert_eq!((&served.thread, served.priority), (&name, value));
        }
        let threads = server.threads();
        let of_lane = threads.iter();
        let mut of_lane = of_lane.filter(|it| it.name == name && it.purpose == ThreadPurpose::Lane);
        let (thread, None) = (of_lane.next().unwrap(), of_lane.next()) else {
            panic!("{threads:?}");
        };
        let [(memory, 1), (socket, 1)] = &thread.waits_at[..] else {
            panic!("{thread}");
        };
        assert!(memory.starts_with("shm:/") && socket.starts_with("tcp:"), "{thread}");
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// The IIOP profile, as other ORBs read it, differs by a single component.
#[test]
fn a_profile_of_iiop_is_as_before_but_for_one_component() {
    let port = oxorb_testkit::net::free_port();
    let tcp = format!("iiop://127.0.0.1:{port}");
    let published = |endpoints: &str| {
        let server = server(endpoints);
        let ior = pinger(&server);
        server.shutdown(true).unwrap();
        iiop_alone(&ior, |profile| {
            profile.object_key.clear();
            let ours: Vec<_> = profile.components.iter().map(|it| it.tag).collect();
            let has = ours.contains(&OXORB_SHM_SOCKET);
            assert_eq!(has, endpoints.contains("shm"), "{ours:?}");
            profile.components.retain(|it| it.tag != OXORB_SHM_SOCKET);
        })
    };
    assert_eq!(published(&tcp), published(&format!("{tcp};shm://")));
}

/// Returns the name and identity in the component of a reference.
fn component(ior: &Ior) -> (String, SocketIdentity) {
    let iiop = ior.profiles.iter().find(|it| it.tag == IIOP).unwrap();
    let profile = IiopProfile::parse(iiop).unwrap();
    let mut said = profile.components.iter().map(|it| it.decode().unwrap());
    let found = said.find_map(|component| match component {
        DecodedComponent::OxorbShmSocket { place, identity } => Some((place, identity)),
        _ => None,
    });
    found.unwrap()
}

/// A server on another host, in another container or of another user may have a socket of the same
/// name.
#[test]
fn a_socket_that_is_not_the_servers_gets_no_octet_and_no_memory() {
    let _guard = watchdog(LONG);
    let path = path("impostor-shm");
    let server = server(&format!("iiop://127.0.0.1:0;shm://{}", path.display()));
    let ior = pinger(&server);
    std::fs::remove_file(&path).unwrap();
    let impostor = UnixListener::bind(&path).unwrap();
    impostor.set_nonblocking(true).unwrap();
    let (name, identity) = component(&ior);
    assert_eq!(name, path.to_str().unwrap());
    let brought = |change: &dyn Fn(&mut SocketIdentity)| {
        let mut identity = identity;
        change(&mut identity);
        let component = TaggedComponent::oxorb_shm_socket(&name, &identity);
        let changed = iiop_alone(&ior, |profile| {
            profile.components.retain(|it| !BESIDE.contains(&it.tag));
            profile.components.push(component);
        });
        assert_eq!(taken(&server, &changed, |it| it), "tcp");
        let mut brought = Vec::new();
        while let Ok((mut connection, _)) = impostor.accept() {
            let mut octets = Vec::new();
            connection.set_nonblocking(false).unwrap();
            connection.read_to_end(&mut octets).unwrap();
            brought.push(octets);
        }
        brought
    };
    let nobody: Vec<Vec<u8>> = Vec::new();
    assert_eq!(brought(&|it| it.host[0] ^= 1), nobody);
    assert_eq!(brought(&|it| it.users += 1), nobody);
    assert_eq!(brought(&|it| it.device += 1), nobody);
    assert_eq!(brought(&|it| it.inode += 1), nobody);
    assert_eq!(brought(&|it| it.uid += 1), nobody, "of another user");
    server.shutdown(true).unwrap();
    let _ = std::fs::remove_file(&path);
}

/// Calls the object whose reference is in the environment, and which also has a socket.
#[test]
fn call_with_small_files() {
    let Ok(ior) = std::env::var(REFERENCE) else {
        return;
    };
    let client = client(ClientConnections::Cached);
    assert_eq!(ping(&client.string_to_object(&ior).unwrap(), 1), Ok(2));
    client.shutdown(true).unwrap();
}

const REFERENCE: &str = "OXORB_TEST_REFERENCE";

/// Shared memory is a file to the system, which ends a process that exceeds its file size limit.
#[test]
fn a_client_that_can_make_no_memory_takes_the_socket() {
    let _guard = watchdog(LONG);
    let server = server("iiop://127.0.0.1:0;uiop://;shm://");
    let ior = pinger(&server);
    let mut command = std::process::Command::new("sh");
    let run = rerun(test_name(call_with_small_files));
    command.args(["-c", "ulimit -f 16 && exec \"$@\"", "sh"]);
    command.arg(run.get_program()).args(run.get_args());
    command.env(REFERENCE, ior.to_string());
    let accepted = server.connection_statistics().accepted;
    Process::spawn(command).wait_success(LONG);
    assert_eq!(server.connection_statistics().accepted, accepted + 1);
    server.shutdown(true).unwrap();
}

/// The server was killed, and restarted with TCP alone, or with smaller rings.
#[test]
fn what_is_stale_leads_to_the_next_address() {
    let _guard = watchdog(LONG);
    let path = path("stale-shm");
    let port = oxorb_testkit::net::free_port();
    let tcp = format!("iiop://127.0.0.1:{port}");
    let with_rings = |ring| format!("{tcp};shm://{}|ring={ring}", path.display());
    let start = |endpoints: &str| Child::start(endpoints, Concurrency::ThreadPerConnection);

    let mut first = start(&with_rings("1M"));
    let client = wary_client(ClientConnections::Cached);
    let object = first.object(&client);
    assert_eq!(ping(&object, 1), Ok(2));
    first.process.kill();
    assert!(path.exists(), "nobody was left to remove it");
    for now in [tcp.clone(), with_rings("64K")] {
        let mut again = start(&now);
        for n in 0..3 {
            assert_eq!(ping(&object, n), Ok(n + 1), "{now}");
        }
        for sharing in EVERY_SHARING {
            let fresh = common::client(sharing);
            let object = bound(&fresh, object.reference().ior());
            assert_eq!(ping(&object, 1), Ok(2), "{now}, {sharing:?}");
            assert_eq!(ping(&object, 2), Ok(3), "{now}, {sharing:?}");
            fresh.shutdown(true).unwrap();
            let fresh = common::client(sharing);
            let object = bound(&fresh, object.reference().ior());
            for n in 0..4 {
                assert_eq!(ping_async(&object, n).wait(), Ok(n + 1), "{now}, {sharing:?}");
            }
            fresh.shutdown(true).unwrap();
        }
        again.process.kill();
    }
    client.shutdown(true).unwrap();
    let _ = std::fs::remove_file(&path);
}
