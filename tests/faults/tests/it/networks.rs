//! Networks that lose everything, hosts with several addresses, a client that cannot be connected to: in namespaces of
//! the test.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemExceptionKind};
use oxorb_testkit::process::{Process, test_name};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::world::{self, World};
use crate::common::*;

/// Server's only address, behind a router.
const SERVER: &str = "10.77.2.2";

/// Address of the test.
const CLIENT: &str = "10.77.1.2";

/// Time-out of a call that cannot succeed.
const SHORT: Duration = Duration::from_millis(500);

/// Connects the test, a router and a server.
fn routed(world: &World) {
    world.host("router");
    world.host("server");
    world.cable([("", CLIENT), ("router", "10.77.1.1")]);
    world.cable([("router", "10.77.2.1"), ("server", SERVER)]);
    world.forward("router");
    world.route("", "10.77.2.0/24", "10.77.1.1");
    world.route("server", "10.77.1.0/24", "10.77.2.1");
}

#[test]
fn a_network_that_swallows_requests() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(a_network_that_swallows_requests)) else {
        return;
    };
    routed(&world);
    let server = Server::on("server", &[]);
    let orb = client();
    let object = server.object(&orb);
    assert_eq!(run_once(&object, 1), Ok(2));
    world.swallow("router", SERVER);
    // The request was passed to the system. Whether it ran is unknown.
    let hurried = within(&object, SHORT);
    let lost = timed_out(|| run_once(&hurried, 2));
    assert_completed(lost, CompletionStatus::Maybe);
    // There is no connection, and none can be opened, so the request certainly did not run.
    let unsent = run_once(&hurried, 3).unwrap_err();
    assert_completed(unsent, CompletionStatus::No);
    assert_eq!(server.journal(), [1]);
    world.release("router", SERVER);
    assert_eq!(run_once(&object, 4), Ok(5), "without a restart");
    let journal = server.journal();
    assert!(journal == [1, 4] || journal == [1, 2, 4], "{journal:?}");
}

#[test]
fn a_network_that_swallows_answers() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(a_network_that_swallows_answers)) else {
        return;
    };
    routed(&world);
    let server = Server::on("server", &[]);
    let orb = client();
    let object = server.object(&orb);
    assert_eq!(run_once(&object, 1), Ok(2));
    world.swallow("router", CLIENT);
    let hurried = within(&object, SHORT);
    let lost = timed_out(|| run_once(&hurried, 2));
    assert_completed(lost, CompletionStatus::Maybe);
    // The request ran, which the client cannot know.
    server.await_note(2);
    assert_eq!(server.journal(), [1, 2]);
    world.release("router", CLIENT);
    assert_eq!(run_once(&object, 3), Ok(4));
    assert_eq!(server.journal(), [1, 2, 3]);
}

/// Simulates a power loss of the server's host: not even the end of the process is signalled.
#[test]
fn a_server_that_is_gone_without_a_word() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(a_server_that_is_gone_without_a_word)) else {
        return;
    };
    routed(&world);
    let mut server = Server::on("server", &[]);
    let orb = client();
    let object = server.object(&orb);
    assert_eq!(run_once(&object, 1), Ok(2));
    world.swallow("router", CLIENT);
    world.swallow("router", SERVER);
    server.kill();
    let hurried = within(&object, SHORT);
    let lost = timed_out(|| run_once(&hurried, 2));
    assert_completed(lost, CompletionStatus::Maybe);
    world.release("router", CLIENT);
    world.release("router", SERVER);
    // The host is up again, and the server is not.
    let refused = run_once(&hurried, 3).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::Transient);
    assert_completed(refused, CompletionStatus::No);
    server.restart_killed();
    assert_eq!(run_once(&object, 4), Ok(5), "the same reference");
    assert_eq!(server.journal(), [1, 4]);
}

/// The reverse: the server probes a silent client, and drops the connection if it is gone.
#[test]
fn a_client_that_is_gone_without_a_word() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(a_client_that_is_gone_without_a_word)) else {
        return;
    };
    routed(&world);
    // Simultaneous: the system waits at least a second for each probe.
    let servers = ["thread-per-connection", "leader-followers:4"].map(|concurrency| {
        let settings = [("Concurrency", concurrency), ("KeepAlive", "1000")];
        let server = Server::on("server", &settings);
        let orb = client();
        let object = server.object(&orb);
        let (threads, descriptors) = (server.status("Threads"), server.descriptors());
        assert_eq!(ping(&object, 1), Ok(2));
        // The connection, and the permanent descriptor of the thread that checks for long requests.
        let open = server.descriptors();
        assert!(open > descriptors, "{open} of {descriptors}");
        (server, orb, object, threads, open)
    });
    world.swallow("router", CLIENT);
    world.swallow("router", SERVER);
    for (server, _, _, threads, open) in &servers {
        server.await_descriptors(open - 1);
        // The thread that checks for long requests started with the first connection, and is permanent.
        server.await_threads(threads + 1);
    }
    world.release("router", CLIENT);
    world.release("router", SERVER);
    for (server, _, object, ..) in &servers {
        // The client missed it, and its next request reports that the connection is gone.
        let lost = run_once(object, 1).unwrap_err();
        assert_eq!(lost.kind, SystemExceptionKind::CommFailure);
        assert_completed(lost, CompletionStatus::Maybe);
        assert_eq!(run_once(object, 2), Ok(3), "whoever comes back is served");
        assert_eq!(server.journal(), [2]);
    }
}

/// A host with two addresses, one of which does not answer.
#[test]
fn one_of_two_addresses_leads_nowhere() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(one_of_two_addresses_leads_nowhere)) else {
        return;
    };
    let networks = ["10.77.1", "10.77.2"];
    world.host("server");
    for (network, router) in networks.into_iter().zip(["left", "right"]) {
        world.host(router);
        let (near, far) = (format!("{network}0"), format!("{network}1"));
        world.cable([("", &format!("{near}.2")), (router, &format!("{near}.1"))]);
        world.cable([(router, &format!("{far}.1")), ("server", &format!("{far}.2"))]);
        world.forward(router);
        world.route("", &format!("{far}.0/24"), &format!("{near}.1"));
        world.route("server", &format!("{near}.0/24"), &format!("{far}.1"));
    }
    let server = Server::on("server", &[]);
    let addresses = published(&server.object(&client()));
    let mut hosts: Vec<_> = addresses.iter().map(|(host, _)| host.as_str()).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["10.77.11.2", "10.77.21.2"], "both, and nothing else");
    for (network, router) in networks.into_iter().zip(["left", "right"]) {
        let address = format!("{network}1.2");
        world.swallow(router, &address);
        // An attempt at one address takes a minute to fail; the call must not wait for that.
        let orb = Orb::builder().setting("ConnectTimeout", "60000").build().expect("a client");
        let object = within(&server.object(&orb), LONG / 4);
        assert_eq!(run_once(&object, 1), Ok(2), "{address} is lost");
        assert_eq!(run_once(&object, 2), Ok(3), "and the other one is known by now");
        world.release(router, &address);
    }
    assert_eq!(server.journal(), [1, 2, 1, 2]);
}

/// A host with only a loopback network reports so in its references, rather than 0.0.0.0.
#[test]
fn nobody_publishes_what_nobody_can_connect_to() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(nobody_publishes_what_nobody_can_connect_to)) else {
        return;
    };
    world.host("lonely");
    let lonely = Server::on("lonely", &[]);
    let hosts = published(&lonely.object(&client()));
    assert!(!hosts.is_empty());
    for (host, _) in hosts {
        let address: IpAddr = host.parse().expect("an address");
        assert!(address.is_loopback() && !address.is_unspecified(), "{host}");
    }
}

/// Returns hosts and ports in the IIOP profiles of a reference.
pub(crate) fn published(object: &ObjectRef) -> Vec<(String, u16)> {
    let profiles = object.reference().ior().iiop_profiles();
    let endpoints = profiles.flat_map(|profile| profile.endpoints());
    endpoints.map(|point| (point.host, point.port)).collect()
}

/// Variable of the client behind the router: the server's reference through the router.
const BEHIND: &str = "OXORB_FAULTS_BEHIND";

/// Makes the server call back, in the client behind the router.
#[test]
fn be_called_back() {
    let Ok(server) = std::env::var(BEHIND) else {
        return;
    };
    let orb = Orb::builder().build().expect("a client");
    let back =
        orb.root_poa().activate_servant(Arc::new(common::worker::Leaf(100))).expect("an object");
    let back = ObjectRef::from_ref(back);
    let worker = orb.string_to_object(&server).expect("a reference");
    match call_back(&within(&worker, LONG / 4), &back, 1) {
        Ok(answer) => println!("called back: {answer}"),
        Err(exception) => println!("not called back: {exception}"),
    }
}

/// The test's own host is the router. It translates addresses like NAT, for connections from inside; the server cannot
/// connect to the client.
#[test]
fn callbacks_through_a_router_that_translates() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(callbacks_through_a_router_that_translates)) else {
        return;
    };
    world.host("client");
    world.host("server");
    world.cable([("client", CLIENT), ("", "10.77.1.1")]);
    world.cable([("", "10.77.2.1"), ("server", SERVER)]);
    // The client reaches the server through the router's address.
    let inside = TcpListener::bind((Ipv4Addr::new(10, 77, 1, 1), 0)).expect("a port");
    let shown = inside.local_addr().expect("an address").to_string();
    thread::spawn(move || translate(&inside));
    for (both_ways, told) in [("1", "called back: 101"), ("0", "not called back: ")] {
        let settings = [
            ("ListenEndpoints", "iiop://:4000"),
            ("EndPointPublish", shown.as_str()),
            ("AcceptBiDirectionalGIOP", both_ways),
            // Unreachable: fails at once or after this time.
            ("ConnectTimeout", "1000"),
        ];
        let server = Server::on("server", &settings);
        let mut command = world::role("client", test_name(be_called_back));
        command.env(BEHIND, server.ior()).env("OXORB_OFFERBIDIRECTIONALGIOP", both_ways);
        let mut behind = Process::spawn(command);
        behind.wait_for_line(told, LONG);
        behind.wait(LONG);
    }
}

/// Passes each connection on to the server, under this host's own address.
fn translate(inside: &TcpListener) {
    let pump = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    };
    for near in inside.incoming().map_while(Result::ok) {
        let Ok(far) = TcpStream::connect((SERVER, 4000)) else {
            continue;
        };
        let twice = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
        pump(twice(&near), twice(&far));
        pump(far, near);
    }
}
