//! DIOP, GIOP over UDP: used by applications, and with peers that lose, repeat, flood and forge datagrams.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests datagrams.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::client::Failure;
use oxorb::policy::{RelativeRoundtripTimeout, SyncScope};
use oxorb::protocol::{ProfileKind as _, Protocols};
use oxorb::settings::ClientConnections;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_object::{Ior, profile_tag};
use oxorb_protocols::datagram::{Diop, USUAL_MOST};
use oxorb_testkit::peers::missing;
use oxorb_testkit::watchdog;

use crate::common::*;

static FILL: Op = Op::twoway("fill");
static TAKE: Op = Op::twoway("take");
static COUNT: Op = Op::oneway("count");

/// Largest reply of a servant, in octets.
const MOST: usize = 200_000;

/// Servant that answers `fill` with a given number of octets, and counts how often each number was requested.
#[derive(Default)]
struct Filler {
    runs: Mutex<HashMap<u32, u32>>,
}

impl Filler {
    fn ran(&self, number: u32) {
        *self.runs.lock().unwrap().entry(number).or_default() += 1;
    }

    fn runs(&self) -> HashMap<u32, u32> {
        self.runs.lock().unwrap().clone()
    }
}

impl Servant for Filler {
    fn repository_id(&self) -> &str {
        "IDL:test/Filler:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "fill" => match upcall.args(|d| Ok((d.ulong()?, d.ulong()? as usize))) {
                Ok((number, octets)) => {
                    self.ran(number);
                    // Limit the number, which may have any value if it was damaged in transit.
                    let octets = octets.min(MOST);
                    upcall.reply(|e| {
                        e.length(octets, None)?;
                        e.copy_octets(&vec![7; octets]);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "take" => match upcall.args(|d| {
                let length = d.length(None, 1)?;
                d.octets(length).map(drop)
            }) {
                Ok(()) => upcall.done(),
                Err(rejected) => upcall.reject(rejected),
            },
            "count" => match upcall.args(|d| d.ulong()) {
                Ok(number) => {
                    self.ran(number);
                    upcall.done()
                }
                Err(rejected) => upcall.reject(rejected),
            },
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn fill(object: &ObjectRef, number: u32, octets: usize) -> Result<usize, SystemException> {
    object.reference().invoke(
        &FILL,
        |e| {
            e.ulong(number);
            e.ulong(octets as u32);
            Ok(())
        },
        |d| {
            let length = d.length(None, 1)?;
            d.octets(length).map(<[u8]>::len)
        },
    )
}

fn take(object: &ObjectRef, octets: usize) -> Result<(), SystemException> {
    let write = |e: &mut oxorb_cdr::Encoder<'_>| {
        e.length(octets, None)?;
        e.copy_octets(&vec![7; octets]);
        Ok(())
    };
    object.reference().invoke(&TAKE, write, |_| Ok(()))
}

fn count(object: &ObjectRef, number: u32) -> Result<(), SystemException> {
    object.reference().send(&COUNT, |e| {
        e.ulong(number);
        Ok(())
    })
}

fn listening(endpoints: &str) -> Orb {
    Orb::builder().listen(endpoints).build().unwrap_or_else(|error| panic!("{error}"))
}

fn filler(server: &Orb, client: &Orb) -> (Arc<Filler>, ObjectRef) {
    let servant = Arc::new(Filler::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    (servant, elsewhere(client, &local))
}

/// Returns the object's UDP address.
fn udp(object: &ObjectRef) -> SocketAddr {
    let profiles = &object.reference().ior().profiles;
    let mut diop = profiles.iter().filter(|it| it.tag == profile_tag::TAO_DIOP);
    let profile = Diop.read(diop.next().expect("a profile")).unwrap();
    let (at, _) =
        profile.addresses[0].name().split_once('/').unwrap_or((profile.addresses[0].name(), ""));
    at.parse().unwrap()
}

fn end(orbs: [&Orb; 2]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

/// Returns a reference to the object at another address.
fn moved(object: &ObjectRef, client: &Orb, to: SocketAddr) -> ObjectRef {
    let mut ior = object.reference().ior().clone();
    for tagged in &mut ior.profiles {
        let mut profile = Diop.read(tagged).unwrap();
        profile.addresses = vec![format!("udp:{to}").parse().unwrap()];
        *tagged = Diop.write(&profile);
    }
    client.string_to_object(&ior.to_string()).unwrap()
}

#[test]
fn every_architecture_answers() {
    let _guard = watchdog(LONG);
    for concurrency in ARCHITECTURES {
        for sharing in EVERY_SHARING {
            let server = Orb::builder().listen("diop://127.0.0.1:0").concurrency(concurrency);
            let (server, client) = (server.build().unwrap(), client(sharing));
            let servant = Arc::new(Pinger::default());
            let local = server.root_poa().activate_servant(servant.clone()).unwrap();
            let object = elsewhere(&client, &local);
            for n in 0..20 {
                assert_eq!(ping(&object, n), Ok(n + 1), "{concurrency:?}, {sharing:?}");
                object.reference().send(&NOTE, |_| Ok(())).unwrap();
            }
            let synced = object.with(SyncScope::WithServer);
            synced.reference().send(&NOTE, |_| Ok(())).unwrap();
            assert_eq!(ping_async(&object, 7).wait(), Ok(8));
            while servant.notes.load(Ordering::SeqCst) < 21 {
                thread::yield_now();
            }
            end([&client, &server]);
        }
    }
}

#[test]
fn both_families_and_names_are_heard() {
    let _guard = watchdog(LONG);
    for endpoint in ["diop://:0", "diop://[::1]:0", "diop://localhost:0", "diop://0.0.0.0:0"] {
        let builder = Orb::builder().listen(endpoint);
        // Only the endpoint of IPv6 may fail, because a host may lack IPv6.
        let Ok(server) = builder.build() else {
            assert_eq!(endpoint, "diop://[::1]:0");
            continue;
        };
        let client = client(ClientConnections::Cached);
        let (servant, object) = filler(&server, &client);
        assert_eq!(fill(&object, 1, 10), Ok(10), "{endpoint}");
        assert_eq!(servant.runs().len(), 1);
        end([&client, &server]);
    }
}

#[test]
fn urls_lead_there() {
    let _guard = watchdog(LONG);
    let server = listening("diop://127.0.0.1:0");
    let client = client(ClientConnections::Cached);
    let (_, object) = filler(&server, &client);
    let url = Protocols::url_of(&client.options().protocols, object.reference().ior()).unwrap();
    assert!(url.starts_with(&format!("corbaloc:diop:1.2@{}/", udp(&object))), "{url}");
    let again = client.string_to_object(&url).unwrap();
    assert_eq!(fill(&again, 1, 10), Ok(10));
    end([&client, &server]);
}

#[test]
fn tcp_goes_before_datagrams_and_carries_what_is_too_large_for_them() {
    let _guard = watchdog(LONG);
    for endpoints in
        ["diop://127.0.0.1:0;iiop://127.0.0.1:0", "iiop://127.0.0.1:0;diop://127.0.0.1:0"]
    {
        let server = listening(endpoints);
        let client = client(ClientConnections::Cached);
        let (_, object) = filler(&server, &client);
        assert_eq!(take(&object, 100_000), Ok(()), "{endpoints}");
        assert_eq!(fill(&object, 1, 100_000), Ok(100_000), "{endpoints}");
        end([&client, &server]);
    }
}

#[test]
fn messages_larger_than_a_datagram_are_refused_by_number() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = listening("diop://127.0.0.1:0");
        let client = client(sharing);
        let (servant, object) = filler(&server, &client);
        for _ in 0..3 {
            assert_eq!(take(&object, USUAL_MOST - 200), Ok(()));
            let refused = take(&object, USUAL_MOST).unwrap_err();
            assert_raised(refused, SystemExceptionKind::ImpLimit, CompletionStatus::No);
            let why = Failure::of(&refused).expect("a reason").to_string();
            assert!(why.contains("at most 8192") && why.contains("max="), "{why}");

            assert_eq!(fill(&object, 1, USUAL_MOST - 200), Ok(USUAL_MOST - 200));
            let refused = fill(&object, 2, USUAL_MOST).unwrap_err();
            assert_raised(refused, SystemExceptionKind::ImpLimit, CompletionStatus::Yes);
        }
        assert_eq!(servant.runs(), HashMap::from([(1, 3), (2, 3)]), "each was run");
        end([&client, &server]);
    }
}

#[test]
fn a_server_may_take_larger_and_smaller_datagrams() {
    let _guard = watchdog(LONG);
    for most in [1400, 65_507] {
        let server = listening(&format!("diop://127.0.0.1:0/max={most}"));
        let client = client(ClientConnections::Cached);
        let (_, object) = filler(&server, &client);
        assert_eq!(take(&object, most - 200), Ok(()));
        assert_eq!(fill(&object, 1, most - 200), Ok(most - 200));
        for refused in [take(&object, most), fill(&object, 1, most).map(drop)] {
            assert_eq!(refused.unwrap_err().kind, SystemExceptionKind::ImpLimit);
        }
        end([&client, &server]);
    }
}

#[test]
fn fragments_are_never_sent() {
    let _guard = watchdog(LONG);
    let server = Orb::builder().listen("diop://127.0.0.1:0").setting("FragmentSize", "1024");
    let client = Orb::builder().setting("FragmentSize", "1024");
    let (server, client) = (server.build().unwrap(), client.build().unwrap());
    let (_, object) = filler(&server, &client);
    assert_eq!(take(&object, 5000), Ok(()));
    assert_eq!(fill(&object, 1, 5000), Ok(5000));
    end([&client, &server]);
}

#[test]
fn a_server_that_says_nothing_costs_the_time_of_the_call_and_one_that_is_gone_no_time() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = listening("diop://127.0.0.1:0");
        let client = client(sharing);
        let (_, object) = filler(&server, &client);
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = moved(&object, &client, silent.local_addr().unwrap());
        let hurried = there.with(RelativeRoundtripTimeout(Duration::from_millis(100)));
        let late = fill(&hurried, 1, 10).unwrap_err();
        assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        assert_eq!(count(&there, 1), Ok(()), "a oneway is sent, whoever takes it");
        drop(silent);
        let begun = Instant::now();
        let gone = fill(&there, 1, 10).unwrap_err();
        assert_ne!(gone.kind, SystemExceptionKind::Timeout, "{gone}");
        assert!(begun.elapsed() < LONG / 4);
        assert_eq!(fill(&object, 1, 10), Ok(10));
        end([&client, &server]);
    }
}

/// Each new socket of a client may get the port of an earlier one, at which late replies arrive.
#[test]
fn ids_of_requests_increase_from_socket_to_socket() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = listening("diop://127.0.0.1:0");
        let (_, object) = filler(&server, &server);
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        silent.set_read_timeout(Some(LONG)).unwrap();
        let mut last = None;
        for _ in 0..3 {
            let client = client(sharing);
            let there = moved(&object, &client, silent.local_addr().unwrap());
            for number in 0..3 {
                count(&there, number).unwrap();
                let mut datagram = [0; 1000];
                let octets = silent.recv(&mut datagram).unwrap();
                assert!(octets > 16 && datagram.starts_with(b"GIOP\x01\x02"));
                // The id of a GIOP 1.2 request follows the header, whose seventh octet holds the byte order.
                let id: [u8; 4] = datagram[12..16].try_into().unwrap();
                let little = datagram[6] & 1 == 1;
                let id = if little { u32::from_le_bytes(id) } else { u32::from_be_bytes(id) };
                if let Some(last) = last.replace(id) {
                    let ahead = id.wrapping_sub(last);
                    assert!(ahead > 0 && ahead < 1 << 31, "{id} after {last} over {sharing:?}");
                }
            }
            client.shutdown(true).unwrap();
        }
        server.shutdown(true).unwrap();
    }
}

/// Relay between clients and a server that treats datagrams as networks do.
struct Relay {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Relay {
    /// Starts a relay: of each 16 datagrams in either direction, one is lost, two are duplicated, two are delayed
    /// behind the next, and one is truncated.
    fn to(server: SocketAddr, seed: u64) -> Relay {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        front.set_nonblocking(true).unwrap();
        let at = front.local_addr().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state >> 33
            };
            let mut backs: HashMap<SocketAddr, UdpSocket> = HashMap::new();
            let mut buffer = vec![0; 70_000];
            let mut late: Option<(SocketAddr, bool, Vec<u8>)> = None;
            while !stopped.load(Ordering::SeqCst) {
                let mut came = Vec::new();
                if let Ok((octets, client)) = front.recv_from(&mut buffer) {
                    came.push((client, true, buffer[..octets].to_vec()));
                }
                for (client, back) in &backs {
                    if let Ok(octets) = back.recv(&mut buffer) {
                        came.push((*client, false, buffer[..octets].to_vec()));
                    }
                }
                if came.is_empty() {
                    thread::sleep(Duration::from_micros(200));
                }
                for (client, to_server, mut datagram) in came {
                    let fate = next() % 16;
                    let mut leaving = late.take().into_iter().collect::<Vec<_>>();
                    match fate {
                        0 => {}
                        1 | 2 => {
                            leaving.push((client, to_server, datagram.clone()));
                            leaving.push((client, to_server, datagram));
                        }
                        3 | 4 => late = Some((client, to_server, datagram)),
                        5 => {
                            datagram.truncate(next() as usize % datagram.len().max(1));
                            leaving.insert(0, (client, to_server, datagram));
                        }
                        _ => leaving.insert(0, (client, to_server, datagram)),
                    }
                    for (client, to_server, datagram) in leaving {
                        let back = backs.entry(client).or_insert_with(|| {
                            let back = UdpSocket::bind("127.0.0.1:0").unwrap();
                            back.set_nonblocking(true).unwrap();
                            back.connect(server).unwrap();
                            back
                        });
                        let _ = match to_server {
                            true => back.send(&datagram),
                            false => front.send_to(&datagram, client),
                        };
                    }
                }
            }
        });
        Relay { at, stop, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

#[test]
fn in_bad_weather_each_request_is_run_once_at_most_and_each_answer_is_its_own() {
    let _guard = watchdog(2 * LONG);
    let weathers = [ClientConnections::Cached, ClientConnections::Multiplexed]
        .map(|sharing| [7, 8].map(|seed| (sharing, seed)));
    at_once(weathers.concat(), |(sharing, seed)| {
        let server = listening("diop://127.0.0.1:0");
        let client = client(sharing);
        let (servant, object) = filler(&server, &client);
        let relay = Relay::to(udp(&object), seed);
        let there = moved(&object, &client, relay.at);
        let (mut answered, mut unsent, mut number) = (Vec::new(), Vec::new(), 0);
        // On a machine that stalls, few calls are answered within 60 ms, so make more calls with longer limits there.
        while number < 75 || answered.len() <= 20 {
            let limit = Duration::from_millis(60) * (number / 75 + 1);
            let hurried = there.with(RelativeRoundtripTimeout(limit));
            // Replies have different sizes, so that a reply to another call would be noticed. Some are so large that
            // the server first verifies the client's address.
            let octets = 10 + 40 * (number as usize % 20);
            match fill(&hurried, number, octets) {
                Ok(came) => {
                    assert_eq!(came, octets, "call {number}");
                    answered.push(number);
                }
                Err(late) => {
                    assert_eq!(late.kind, SystemExceptionKind::Timeout, "{late}");
                    assert_ne!(late.completed, CompletionStatus::Yes, "{late}");
                    // The limit may expire before the request is sent, if the machine stalls.
                    if late.completed == CompletionStatus::No {
                        unsent.push(number);
                    }
                }
            }
            count(&there, 100_000 + number).unwrap();
            number += 1;
        }
        thread::sleep(Duration::from_millis(100));
        let runs = servant.runs();
        let twice: Vec<_> = runs.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{twice:?} over {sharing:?}");
        assert!(answered.iter().all(|number| runs.contains_key(number)), "{answered:?} answered");
        assert!(runs.keys().any(|number| *number >= 100_000), "no oneway came");
        assert!(unsent.iter().all(|number| !runs.contains_key(number)), "{unsent:?} not sent");
        drop(relay);
        end([&client, &server]);
    });
}

/// Returns a socket for raw requests without verification of the source, as TAO's clients send
/// them.
fn raw(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    socket
}

fn raw_request(object: &ObjectRef, op: &Op, id: u32, octets: u32) -> Vec<u8> {
    let key = Diop.read(&object.reference().ior().profiles[0]).unwrap().key;
    let mut e = oxorb_cdr::Encoder::new(
        Vec::new(),
        oxorb_cdr::ByteOrder::Big,
        oxorb_cdr::Dialect::GIOP_1_2,
    );
    let header = oxorb_giop::RequestHeader {
        id,
        response: op.response,
        key: oxorb_giop::TargetAddress::Key(&key),
        operation: op.name,
        contexts: &[],
        terms: None,
        alias: None,
    };
    let wire = oxorb_giop::Wire::Giop(oxorb_object::Version::V1_2);
    let begun = wire.begin_request(&mut e, &header);
    e.ulong(id);
    if octets > 0 {
        e.ulong(octets);
    }
    wire.finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

#[test]
fn whoever_does_not_show_its_address_gets_no_more_than_it_sent() {
    let _guard = watchdog(LONG);
    let server = listening("diop://127.0.0.1:0");
    let (servant, object) = filler(&server, &server);
    let socket = raw(udp(&object));
    let (mut sent, mut came) = (0, 0);
    let mut buffer = [0; 70_000];
    for id in 0..20 {
        let request = raw_request(&object, &FILL, id, 4000);
        sent += socket.send(&request).unwrap();
        until("it runs", || servant.runs().len() > id as usize);
        // After the last request, wait for further datagrams; after the others, read only those that have arrived.
        socket.set_nonblocking(id < 19).unwrap();
        while let Ok(octets) = socket.recv(&mut buffer) {
            came += octets;
            assert!(octets <= request.len(), "{octets} octets for {}", request.len());
        }
        assert!(came <= sent, "{came} octets for {sent}");
    }
    assert_eq!(servant.runs().len(), 20);
    assert_ne!(came, 0, "something is answered");
    server.shutdown(true).unwrap();
}

#[test]
fn a_oneway_of_tao_is_run_once_and_answered_by_nothing() {
    let _guard = watchdog(LONG);
    let server = listening("diop://127.0.0.1:0");
    let (servant, object) = filler(&server, &server);
    let socket = raw(udp(&object));
    let request = raw_request(&object, &COUNT, 5, 0);
    for _ in 0..5 {
        socket.send(&request).unwrap();
    }
    socket.send(&raw_request(&object, &COUNT, 6, 0)).unwrap();
    while servant.runs().len() < 2 {
        thread::yield_now();
    }
    assert!(socket.recv(&mut [0; 100]).is_err(), "nothing comes back");
    assert_eq!(servant.runs(), HashMap::from([(5, 1), (6, 1)]));
    server.shutdown(true).unwrap();
    assert!(socket.recv(&mut [0; 100]).is_err(), "no CloseConnection either");
}

#[test]
fn sources_are_bounded_and_a_silent_one_gives_its_place() {
    let _guard = watchdog(LONG);
    let server = listening("diop://127.0.0.1:0/sources=4");
    let (servant, object) = filler(&server, &server);
    let sockets: Vec<_> = (0..4).map(|_| raw(udp(&object))).collect();
    let sends = |number: u32, socket: &UdpSocket| {
        socket.send(&raw_request(&object, &COUNT, number, 0)).unwrap();
    };
    let has = |number: u32| servant.runs().contains_key(&number);
    for (number, socket) in (0..).zip(&sockets) {
        sends(number, socket);
    }
    while servant.runs().len() < 4 {
        thread::yield_now();
    }
    let fifth = raw(udp(&object));
    sends(100, &fifth);
    thread::sleep(Duration::from_millis(300));
    assert!(!has(100), "all places were taken a moment ago");
    for number in 101_u32.. {
        sends(number, &fifth);
        thread::sleep(Duration::from_millis(50));
        if has(number) {
            break;
        }
    }
    server.shutdown(true).unwrap();
}

#[test]
fn a_flood_of_nonsense_and_of_sources_leaves_the_others_alone() {
    let _guard = watchdog(LONG);
    let server = listening("diop://127.0.0.1:0/sources=32");
    let client = client(ClientConnections::Cached);
    let (_, object) = filler(&server, &client);
    let at = udp(&object);
    assert_eq!(fill(&object, 1, 3000), Ok(3000));
    let (stop, sources) = (AtomicBool::new(false), AtomicU32::new(0));
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            let request = raw_request(&object, &FILL, 1, 4000);
            let mut state = 1_u64;
            while !stop.load(Ordering::SeqCst) {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                for _ in 0..10 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let mut datagram = request.clone();
                    let place = (state >> 40) as usize % datagram.len();
                    datagram[place] ^= (state >> 33) as u8;
                    datagram.truncate(place + (state >> 50) as usize % 200);
                    let _ = socket.send_to(&datagram, at);
                    let _ = socket.send_to(&[], at);
                }
                let _ = socket.send_to(&request, at);
                sources.fetch_add(1, Ordering::Relaxed);
            }
        });
        let patient = object.with(RelativeRoundtripTimeout(LONG / 2));
        let mut number = 2;
        let mut failed = None;
        while failed.is_none() && (number < 50 || sources.load(Ordering::Relaxed) < 3000) {
            let answer = fill(&patient, number, 3000);
            failed = (answer != Ok(3000)).then_some((number, answer));
            number += 1;
        }
        stop.store(true, Ordering::SeqCst);
        failed
    });
    assert_eq!(failed, None);
    end([&client, &server]);
}

/// Returns a packet capture file: raw IP (link type 101), from one port to another.
fn captured(datagrams: &[(u16, u16, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    for number in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, 101_u32] {
        file.extend(match number {
            // The version consists of two 16-bit numbers, the major one first.
            0x0002_0004 => [2, 0, 4, 0],
            number => number.to_le_bytes(),
        });
    }
    for (from, to, datagram) in datagrams {
        let udp = datagram.len() as u16 + 8;
        let ip = udp + 20;
        for number in [0, 0, u32::from(ip), u32::from(ip)] {
            file.extend(number.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend(ip.to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        for number in [*from, *to, udp, 0] {
            file.extend(number.to_be_bytes());
        }
        file.extend(*datagram);
    }
    file
}

#[test]
fn another_reader_of_giop_sees_requests_and_replies_in_the_datagrams() {
    let _guard = watchdog(LONG);
    let server = listening("diop://127.0.0.1:0");
    let (_, object) = filler(&server, &server);
    let socket = raw(udp(&object));
    let request = raw_request(&object, &FILL, 9, 4);
    socket.send(&request).unwrap();
    let mut buffer = [0; 200];
    let octets = socket.recv(&mut buffer).unwrap();
    let reply = &buffer[..octets];
    server.shutdown(true).unwrap();
    assert_eq!(&reply[..8], &[b'G', b'I', b'O', b'P', 1, 2, reply[6], 1]);
    assert_eq!(octets, 12 + 12 + 4 + 4, "a sequence of four octets, and no padding behind it");

    let file = std::env::temp_dir().join(format!("oxorb-datagrams-{}.pcap", std::process::id()));
    let capture = captured(&[(40_000, 1306, &request), (1306, 40_000, reply)]);
    std::fs::write(&file, capture).unwrap();
    let fields = ["giop.type", "giop.request_id", "giop.request_op", "giop.len"];
    let fields = fields.iter().flat_map(|field| ["-e", *field]);
    let read = Command::new("tshark").args(["-T", "fields", "-r"]).arg(&file).args(fields).output();
    let _ = std::fs::remove_file(&file);
    let read = match read {
        Ok(read) => String::from_utf8(read.stdout).unwrap(),
        Err(error) => return missing("tshark", &error.to_string()),
    };
    let lines: Vec<Vec<&str>> = read.lines().map(|line| line.split('\t').collect()).collect();
    let length = (request.len() - 12).to_string();
    assert_eq!(lines, [vec!["0", "9", "fill", &length], vec!["1", "9", "", "20"]], "{read}");
}

#[test]
fn references_say_what_datagrams_are() {
    let server = listening("diop://127.0.0.1:0/max=1400");
    let (_, object) = filler(&server, &server);
    let ior: Ior = object.reference().ior().clone();
    assert_eq!(ior.profiles.len(), 1);
    let told = format!("{:?}", oxorb::ior::describe::reference(&ior));
    assert!(told.contains("1400 octets"), "{told}");
    server.shutdown(true).unwrap();
}
