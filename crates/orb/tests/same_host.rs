//! Peers on one host: shared memory, then UNIX sockets, then TCP, by the references of servers that list them.
//!
//! Not by `OXORB_TEST_TRANSPORT`: it is about the choice among transports, and names them.

mod common;

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use common::*;
use oxorb::policy::{ClientProtocol, Protocol};
use oxorb::{ClientConnections, Ior, ObjectRef, Orb, SystemExceptionKind};
use oxorb_object::components::Component;
use oxorb_object::components::tag::{OMNIORB_UNIX, OXORB_SHM_SOCKET, OXORB_SOCKET};
use oxorb_object::{IiopProfile, SocketIdentity, TaggedComponent, profile_tag};
use oxorb_testkit::watchdog;

const SHM: u32 = profile_tag::OXORB_SHM;
const UIOP: u32 = profile_tag::TAO_UIOP;
const IIOP: u32 = profile_tag::INTERNET_IOP;

/// Components of the profile of IIOP that tell clients of the same host of something else.
const BESIDE: [u32; 3] = [OMNIORB_UNIX, OXORB_SOCKET, OXORB_SHM_SOCKET];

fn path(test: &str) -> PathBuf {
    let name = format!("oxorb-test-{test}-{}", std::process::id());
    std::env::temp_dir().join(name)
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

/// The reference with its profile of IIOP alone, changed.
fn iiop_alone(ior: &Ior, change: impl FnOnce(&mut IiopProfile)) -> Ior {
    let tagged = ior.profiles.iter().find(|it| it.tag == IIOP).unwrap();
    let mut profile = IiopProfile::parse(tagged).unwrap();
    change(&mut profile);
    Ior {
        type_id: ior.type_id.clone(),
        profiles: vec![profile.to_profile()],
    }
}

/// The scheme of the transport over which the server's only connection came.
fn scheme(server: &Orb) -> String {
    let connections = server.connections();
    assert_eq!(connections.len(), 1, "{connections:?}");
    let local = connections[0].local.to_string();
    match local.split_once(':') {
        Some((scheme @ ("shm" | "unix"), _)) => scheme.to_owned(),
        _ => "tcp".to_owned(),
    }
}

/// Calls with a new client, and returns over what.
fn taken(server: &Orb, ior: &Ior, with: impl FnOnce(ObjectRef) -> ObjectRef) -> String {
    let client = client(ClientConnections::Cached);
    let object = with(bound(&client, ior));
    assert_eq!(ping(&object, 1), Ok(2));
    let over = scheme(server);
    client.shutdown(true).unwrap();
    while !server.connections().is_empty() {
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
    assert_eq!(scheme(&server), "unix");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// What other ORBs read.
#[test]
fn a_profile_of_iiop_is_as_before_but_for_one_component() {
    let port = oxorb_testkit::net::free_port();
    let tcp = format!("iiop://127.0.0.1:{port}");
    let published = |endpoints: &str| {
        let server = server(endpoints);
        let poa = server.root_poa();
        let reference = poa.create_reference_with_id(b"bank", "IDL:Bank:1.0");
        let ior = reference.unwrap().ior().clone();
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

/// The identity in the component of a reference.
fn component(ior: &Ior) -> (String, u32, SocketIdentity) {
    let iiop = ior.profiles.iter().find(|it| it.tag == IIOP).unwrap();
    let profile = IiopProfile::parse(iiop).unwrap();
    let mut said = profile.components.iter().map(|it| it.decode().unwrap());
    let found = said.find_map(|component| match component {
        Component::OxorbShmSocket {
            name,
            ring,
            identity,
        } => Some((name, ring, identity)),
        _ => None,
    });
    found.unwrap()
}

/// The server of another host, container or user may have a socket of the same name.
#[test]
fn a_socket_that_is_not_the_servers_gets_no_octet_and_no_memory() {
    let _guard = watchdog(LONG);
    let path = path("impostor-shm");
    let server = server(&format!("iiop://127.0.0.1:0;shm://{}", path.display()));
    let ior = pinger(&server);
    std::fs::remove_file(&path).unwrap();
    let impostor = UnixListener::bind(&path).unwrap();
    impostor.set_nonblocking(true).unwrap();
    let (name, ring, identity) = component(&ior);
    assert_eq!(name, path.to_str().unwrap());
    let brought = |change: &dyn Fn(&mut SocketIdentity)| {
        let mut identity = identity;
        change(&mut identity);
        let component = TaggedComponent::oxorb_shm_socket(&name, ring, &identity);
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

/// The server ended, and came back with TCP alone, or with smaller rings.
#[test]
fn what_is_stale_leads_to_the_next_address() {
    let _guard = watchdog(LONG);
    let path = path("stale-shm");
    let port = oxorb_testkit::net::free_port();
    let tcp = format!("iiop://127.0.0.1:{port}");
    let at = |options: &str| format!("{tcp};shm://{}|ring={options}", path.display());
    let first = server(&at("1M"));
    first.register_initial_reference("Pinger", &bound(&first, &pinger(&first)));
    let published = pinger(&first);
    first.shutdown(true).unwrap();
    assert!(!path.exists());

    for (now, why) in [(tcp.clone(), "No such file"), (at("64K"), "rings of 1048576")] {
        let again = server(&now);
        let servant = Arc::new(Pinger::default());
        let _ = (&again, servant, why, &published);
        again.shutdown(true).unwrap();
    }
    let _ = SystemExceptionKind::Transient;
}
