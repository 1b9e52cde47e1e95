//! MIOP: oneways to groups over multicast, on the loopback interface.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests groups.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::policy::SyncScope;
use oxorb::protocol::Protocols;
use oxorb::{
    Builder, CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_testkit::{until, watchdog};

use crate::common::*;

static TELL: Op = Op::oneway("tell");

/// Servant that keeps the requests received.
#[derive(Default)]
struct Member {
    told: Mutex<Vec<(u32, Vec<u8>)>>,
}

impl Servant for Member {
    fn repository_id(&self) -> &str {
        "IDL:test/Member:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let args = upcall.args(|d| {
            let number = d.ulong()?;
            let length = d.length(None, 1)?;
            Ok((number, d.octets(length)?.to_vec()))
        });
        match args {
            Ok(told) => {
                self.told.lock().unwrap().push(told);
                upcall.done()
            }
            Err(rejected) => upcall.reject(rejected),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

impl Member {
    fn numbers(&self) -> Vec<u32> {
        self.told.lock().unwrap().iter().map(|(number, _)| *number).collect()
    }

    /// Waits until `count` requests were received, and returns them.
    fn wait_for(&self, count: usize) -> Vec<(u32, Vec<u8>)> {
        let end = Instant::now() + LONG;
        while self.told.lock().unwrap().len() < count {
            assert!(Instant::now() < end, "{:?}", self.numbers());
            thread::sleep(Duration::from_millis(1));
        }
        self.told.lock().unwrap().clone()
    }
}

/// Returns a group address used by this test alone.
fn place() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let pid = std::process::id();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let port = oxorb_testkit::net::free_port();
    format!("239.{}.{}.{}:{port}", 192 + (pid >> 8) % 32, pid % 256, number + 1)
}

fn client(settings: &str) -> Orb {
    let builder = Orb::builder().setting("Multicast", &format!("interface=lo,{settings}"));
    builder.build().unwrap()
}

/// Starts a server with a member of a group.
fn member(place: &str, url: &str) -> (Orb, Arc<Member>) {
    member_of(Orb::builder(), place, url)
}

/// Starts the server of this builder with a member of a group.
fn member_of(builder: Builder, place: &str, url: &str) -> (Orb, Arc<Member>) {
    let listen = format!("iiop://127.0.0.1:0;miop://{place}/interface=lo");
    let orb = builder.listen(&listen).build().unwrap();
    let poa = orb.root_poa();
    let servant = Arc::new(Member::default());
    let own = poa.activate_servant(servant.clone()).unwrap();
    let id = poa.reference_to_id(&ObjectRef::from_ref(own)).unwrap();
    let group = orb.string_to_object(url).unwrap();
    poa.associate_reference_with_id(&group, id).unwrap();
    (orb, servant)
}

fn tell(group: &ObjectRef, number: u32, octets: usize) -> Result<(), SystemException> {
    group.reference().send(&TELL, |e| {
        e.ulong(number);
        e.length(octets, None)?;
        e.copy_octets(&vec![number as u8; octets]);
        Ok(())
    })
}

#[test]
fn every_member_of_the_group_runs_each_oneway_once_whatever_its_size() {
    let _guard = watchdog(LONG);
    let place = place();
    let url = format!("corbaloc:miop:1.0@1.0-plant-7/{place}");
    let other = format!("corbaloc:miop:1.0@1.0-plant-8/{place}");
    let servers: Vec<_> = [&url, &url, &other].map(|url| member(&place, url)).into();
    for settings in ["", "packet=272", "packet=65507"] {
        let client = client(settings);
        let group = client.string_to_object(&url).unwrap();
        let before = servers[0].1.numbers().len();
        for (number, octets) in [0, 10, 1400, 1500, 20_000].into_iter().enumerate() {
            tell(&group, number as u32, octets).unwrap();
        }
        for (_, servant) in &servers[..2] {
            let told = servant.wait_for(before + 5);
            let octets: Vec<_> = told[before..].iter().map(|(_, it)| it.len()).collect();
            assert_eq!(octets, [0, 10, 1400, 1500, 20_000], "{settings}");
            let whole = |(number, octets): &(u32, Vec<u8>)| {
                octets.iter().all(|octet| u32::from(*octet) == *number)
            };
            assert!(told.iter().all(whole));
        }
        client.shutdown(true).unwrap();
    }
    assert!(servers[2].1.numbers().is_empty(), "it is in another group at the same address");
    for (server, _) in &servers {
        server.shutdown(true).unwrap();
    }
}

/// Requests of all senders arrive over the group's only link. If it was not read for a time, the system would drop
/// those of senders that are within their budgets.
#[test]
fn a_group_is_never_paused_but_requests_beyond_a_budget_are_refused() {
    let _guard = watchdog(LONG);
    let place = place();
    let url = format!("corbaloc:miop:1.0@1.0-plant-7/{place}");
    let builder = Orb::builder().setting("Budget", "clients requests=1 burst=1 beyond=pause");
    let (server, servant) = member_of(builder, &place, &url);
    let client = client("");
    let group = client.string_to_object(&url).unwrap();
    tell(&group, 0, 0).unwrap();
    servant.wait_for(1);
    // A paused link is read when the budget has refilled, so no request over it would be refused.
    until("a request is refused", || {
        tell(&group, 1, 0).unwrap();
        server.connection_statistics().count(Incident::BeyondBudget) > 0
    });
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn calls_that_want_an_answer_are_refused_and_say_why() {
    let _guard = watchdog(LONG);
    let place = place();
    for sharing in EVERY_SHARING {
        let client = Orb::builder()
            .setting("Multicast", "interface=lo")
            .client_connections(sharing)
            .build()
            .unwrap();
        let url = format!("corbaloc:miop:1.0@1.0-plant-1/{place}");
        let group = client.string_to_object(&url).unwrap();
        let synced = group.with(SyncScope::WithServer);
        for refused in
            [ping(&group, 1).map(drop), group.non_existent().map(drop), tell(&synced, 1, 1)]
        {
            let exception = refused.unwrap_err();
            assert_raised(exception, SystemExceptionKind::BadOperation, CompletionStatus::No);
            assert!(exception.to_string().contains("oneway"), "{exception}");
        }
        assert_eq!(tell(&group, 1, 1), Ok(()), "nobody has to hear it");
        client.shutdown(true).unwrap();
    }
}

#[test]
fn calls_that_want_an_answer_go_by_another_profile_if_there_is_one() {
    let _guard = watchdog(LONG);
    let place = place();
    let url = format!("corbaloc:miop:1.0@1.0-plant-7/{place}");
    let (server, servant) = member(&place, &url);
    let plain = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let pinger = Arc::new(Pinger::default());
    let alone = plain.root_poa().activate_servant(pinger).unwrap();
    let client = Orb::builder()
        .setting("Multicast", "interface=lo")
        .setting("Protocols", "miop,iiop")
        .build()
        .unwrap();
    let group = client.string_to_object(&url).unwrap();
    let mut both = group.reference().ior().clone();
    both.profiles.extend(alone.ior().profiles.clone());
    let both = client.string_to_object(&both.to_string()).unwrap();
    for number in 0..3 {
        assert_eq!(tell(&both, number, 5), Ok(()));
        servant.wait_for(number as usize + 1);
    }
    assert_eq!(ping(&both, 1), Ok(2));
    for orb in [&client, &server, &plain] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn a_member_needs_no_other_endpoint() {
    let _guard = watchdog(LONG);
    let place = place();
    let listen = format!("miop://{place}/interface=lo");
    let server = Orb::builder().listen(&listen).build().unwrap();
    let poa = server.root_poa();
    let servant = Arc::new(Member::default());
    poa.activate_servant(servant.clone()).unwrap();
    let id = poa.servant_to_id(servant.clone()).unwrap();
    let url = format!("corbaloc:miop:1.0@1.0-plant-7/{place}");
    let group = server.string_to_object(&url).unwrap();
    poa.associate_reference_with_id(&group, id).unwrap();
    let client = client("");
    let group = client.string_to_object(&url).unwrap();
    tell(&group, 1, 5).unwrap();
    servant.wait_for(1);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn urls_and_references_name_the_same_group() {
    let _guard = watchdog(LONG);
    let client = client("");
    for url in [
        "corbaloc:miop:1.0@1.0-plant-7/239.255.0.7:5000",
        "corbaloc:miop:1.0@1.0-plant-7-3/[ff05::7]:5000",
    ] {
        let group = client.string_to_object(url).unwrap();
        let protocols = &client.options().protocols;
        let written = Protocols::url_of(protocols, group.reference().ior());
        assert_eq!(written.as_deref(), Some(url));
        let again = client.string_to_object(&group.reference().ior().to_string()).unwrap();
        assert_eq!(again.reference().ior(), group.reference().ior());
    }
    client.shutdown(true).unwrap();
}

#[test]
fn damaged_packets_harm_nobody_and_an_association_ends() {
    let _guard = watchdog(LONG);
    let place = place();
    let url = format!("corbaloc:miop:1.0@1.0-plant-7/{place}");
    let (server, servant) = member(&place, &url);
    let client = client("");
    let group = client.string_to_object(&url).unwrap();
    // Send a message of another type, a truncated message and noise to the group's own socket, over the loopback
    // interface.
    let noise = client_socket(&place);
    let mut number = 0_u32;
    for body in
        [&b"GIOP\x01\x02\x00\x00\0\0\0\x04\0\0\0\x01"[..], b"GIOP\x01\x02\x01\x05\0\0\0\0", b"x"]
    {
        for cut in 0..=body.len() {
            number += 1;
            let mut packet = b"MIOP\x10\x02".to_vec();
            packet.extend((cut as u16).to_be_bytes());
            packet.extend([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0]);
            packet.extend(number.to_be_bytes());
            packet.extend(&body[..cut]);
            noise(&packet);
            noise(&packet[..packet.len() / 2]);
        }
    }
    let end = Instant::now() + LONG;
    static TRIES: AtomicU32 = AtomicU32::new(0);
    while servant.numbers().is_empty() {
        assert!(Instant::now() < end);
        tell(&group, 100 + TRIES.fetch_add(1, Ordering::Relaxed), 9).unwrap();
        thread::sleep(Duration::from_millis(20));
    }

    let poa = server.root_poa();
    let group_there = server.string_to_object(&url).unwrap();
    let another = poa.activate_servant(Arc::new(Member::default())).unwrap();
    let another = poa.reference_to_id(&ObjectRef::from_ref(another)).unwrap();
    let taken = poa.associate_reference_with_id(&group_there, another.clone());
    assert!(taken.unwrap_err().to_string().contains("disassociate"));
    assert!(poa.disassociate_reference_with_id(&group_there, another).is_err());
    let plain = server.string_to_object("corbaloc::h:1/k").unwrap();
    let refused = poa.associate_reference_with_id(&plain, "x");
    assert!(refused.unwrap_err().to_string().contains("does not name a group"));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Returns a function that sends datagrams to a group over the loopback interface.
fn client_socket(place: &str) -> impl Fn(&[u8]) {
    let group = place.parse().unwrap();
    let lo = oxorb_sys::multicast::interface("lo").unwrap();
    let socket = oxorb_sys::multicast::sender(group, Some(lo), 0, true, None).unwrap();
    move |octets| {
        oxorb_sys::socket::send(&socket, &[std::io::IoSlice::new(octets)]).unwrap();
    }
}
