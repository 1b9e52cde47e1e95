//! Clients and servers behind a router that translates addresses: published addresses and ports, ports of lanes, and
//! callbacks. In network namespaces of the test, with nftables.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::{CompletionStatus, Interface as _, ObjectRef, Orb, SystemException};
use oxorb_testkit::peers::missing;
use oxorb_testkit::process::{Process, test_name};
use oxorb_testkit::watchdog;

use crate::common::worker::Leaf;
use crate::common::world::{self, World};
use crate::common::*;
use crate::networks::published;
use crate::steering::{Worker, priority, whereabouts};

/// Variable set in the process of a server with lanes.
const SERVING: &str = "OXORB_FAULTS_NAT";

/// Address of the test.
const CLIENT: &str = "10.77.1.2";

/// Address of the router in the network of the test.
const ROUTER: &str = "10.77.1.1";

/// Only address of the server.
const SERVER: &str = "10.77.2.2";

const LEAST: i16 = 100;
const URGENT: i16 = 20_000;

/// Time-out of a call that cannot succeed.
const SHORT: Duration = Duration::from_millis(500);

/// Enters a world with a client, a router and a server. No host has a route to the network on the other side of the
/// router.
fn enter(test: &str) -> Option<World> {
    // Checked outside of the world, where the report is visible.
    if let Err(error) = Command::new("nft").arg("--version").output() {
        missing("address translation (nft, as root)", &error.to_string());
        return None;
    }
    let world = World::enter(test)?;
    world.host("router");
    world.host("server");
    world.cable([("", CLIENT), ("router", ROUTER)]);
    world.cable([("router", "10.77.2.1"), ("server", SERVER)]);
    world.forward("router");
    Some(world)
}

/// Returns the result of a call by which the server calls an object of `orb`.
fn called_back(orb: &Orb, worker: &ObjectRef) -> Result<i64, SystemException> {
    let back = orb.root_poa().activate_servant(Arc::new(Leaf(100))).expect("an object");
    call_back(&within(worker, LONG / 4), &ObjectRef::from_ref(back), 1)
}

/// The router hides the addresses of its clients. A server cannot connect to such a client, but calls it back over the
/// client's own connection.
#[test]
#[ignore = "as root, with nftables: .ci/full faults"]
fn a_client_behind_a_router() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = enter(test_name(a_client_behind_a_router)) else {
        return;
    };
    world.route("", "10.77.2.0/24", ROUTER);
    if !world.translate("router", &[], &["ip saddr 10.77.1.0/24 masquerade"]) {
        return;
    }
    for both_ways in ["1", "0"] {
        let settings = [("AcceptBiDirectionalGIOP", both_ways), ("ConnectTimeout", "1000")];
        let server = Server::on("server", &settings);
        let orb = Orb::builder().setting("OfferBiDirectionalGIOP", both_ways).build();
        let orb = orb.expect("a client");
        let object = server.object(&orb);
        let answer = called_back(&orb, &object);
        match both_ways {
            "1" => assert_eq!(answer, Ok(101)),
            _ => assert!(answer.is_err(), "{answer:?}"),
        }
        assert_eq!(run_once(&object, 1), Ok(2), "calls need no route back");
        assert_eq!(server.journal(), [1]);
    }
}

/// Clients reach the server only at a port that the router forwards, so the reference must contain that address.
#[test]
#[ignore = "as root, with nftables: .ci/full faults"]
fn a_server_behind_a_router() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = enter(test_name(a_server_behind_a_router)) else {
        return;
    };
    let inwards = format!("ip daddr {ROUTER} tcp dport 14000 dnat to {SERVER}:4000");
    let outwards = format!("ip daddr {SERVER} masquerade");
    if !world.translate("router", &[&inwards], &[&outwards]) {
        return;
    }
    {
        let hidden = Server::on("server", &[]);
        let object = within(&hidden.object(&client()), SHORT);
        let hosts = published(&object);
        assert!(hosts.iter().all(|(host, _)| host == SERVER), "{hosts:?}");
        let unreached = run_once(&object, 1).unwrap_err();
        assert_completed(unreached, CompletionStatus::No);
        assert!(hidden.journal().is_empty());
    }
    for publish in ["10.77.1.1:14000", "10.77.1.1:14000,addr"] {
        let settings = [
            ("ListenEndpoints", "iiop://:4000"),
            ("EndPointPublish", publish),
            ("AcceptBiDirectionalGIOP", "1"),
        ];
        let server = Server::on("server", &settings);
        let orb = Orb::builder().setting("OfferBiDirectionalGIOP", "1").build();
        let orb = orb.expect("a client");
        let object = server.object(&orb);
        let addresses = published(&object);
        assert_eq!(addresses[0], (ROUTER.to_owned(), 14_000));
        let is_inside = |(host, port): &(String, u16)| (host.as_str(), *port) == (SERVER, 4000);
        assert_eq!(addresses.iter().any(is_inside), publish.ends_with("addr"), "{addresses:?}");
        assert_eq!(called_back(&orb, &object), Ok(101), "over the connection of the client");
        assert_eq!(run_once(&object, 1), Ok(2));
        assert_eq!(server.journal(), [1]);
    }
}

/// Serves until killed, in the process of a server with lanes.
#[test]
fn serve_lanes_behind_a_router() {
    if std::env::var_os(SERVING).is_none() {
        return;
    }
    let orb = Orb::builder().build().expect("the server starts");
    let lanes = [LEAST, URGENT].map(|value| ThreadpoolLane::new(priority(value), 1));
    let pool = orb.create_threadpool(Threadpool::with_lanes(lanes)).expect("a threadpool");
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ClientPropagated,
            server_priority: LEAST,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("lanes", policies);
    let object = poa.expect("a POA").activate_servant(Arc::new(Worker)).expect("an object");
    println!("{object}");
    orb.run();
}

/// The ports of lanes follow the listening port on the server, and the published port on the router.
#[test]
#[ignore = "as root, with nftables: .ci/full faults"]
fn lanes_behind_a_router() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = enter(test_name(lanes_behind_a_router)) else {
        return;
    };
    let forward = |lane: u16| {
        let (shown, listening) = (14_000 + lane, 4000 + lane);
        format!("ip daddr {ROUTER} tcp dport {shown} dnat to {SERVER}:{listening}")
    };
    let inwards = [0, 1, 2].map(forward);
    let inwards = inwards.each_ref().map(String::as_str);
    let outwards = format!("ip daddr {SERVER} masquerade");
    if !world.translate("router", &inwards, &[&outwards]) {
        return;
    }
    let (_server, ior) = lanes_at_4000(false);
    let orb = client();
    let object = orb.string_to_object(&ior).expect("a reference");
    assert_eq!(published(&object)[0], (ROUTER.to_owned(), 14_001), "of the first lane");
    assert_lanes_serve(&orb, &object);
}

/// One port of the router is enough if lanes share the port of the server.
#[test]
#[ignore = "as root, with nftables: .ci/full faults"]
fn lanes_at_one_port_behind_a_router() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = enter(test_name(lanes_at_one_port_behind_a_router)) else {
        return;
    };
    let inwards = format!("ip daddr {ROUTER} tcp dport 14000 dnat to {SERVER}:4000");
    let outwards = format!("ip daddr {SERVER} masquerade");
    if !world.translate("router", &[&inwards], &[&outwards]) {
        return;
    }
    let (_server, ior) = lanes_at_4000(true);
    let orb = client();
    let object = orb.string_to_object(&ior).expect("a reference");
    assert_eq!(published(&object), [(ROUTER.to_owned(), 14_000)]);
    assert_lanes_serve(&orb, &object);
}

/// Starts the server with lanes, which the router publishes at port 14000, and returns the reference to its object.
fn lanes_at_4000(on_one_port: bool) -> (Process, String) {
    let mut command = world::role("server", test_name(serve_lanes_behind_a_router));
    command.env(SERVING, "yes");
    command.env("OXORB_LISTENENDPOINTS", "iiop://:4000");
    command.env("OXORB_ENDPOINTPUBLISH", format!("{ROUTER}:14000"));
    command.env("OXORB_LANESONONEPORT", if on_one_port { "1" } else { "0" });
    let mut server = Process::spawn(command);
    let line = server.wait_for_line("IOR:", LONG);
    let ior = &line[line.find("IOR:").expect("waited for")..];
    (server, ior.trim().to_owned())
}

/// Checks that the lane of the caller's priority serves each call.
fn assert_lanes_serve(orb: &Orb, object: &ObjectRef) {
    for (value, lane) in [(URGENT, "oxorb-1.1"), (LEAST, "oxorb-1.0")] {
        orb.set_thread_priority(priority(value)).expect("a priority");
        assert_eq!(whereabouts(object), lane);
    }
}
