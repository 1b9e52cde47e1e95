//! Sessions alone, and over a simulated network under all conditions.

use std::collections::{BTreeMap, HashMap};

use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_giop::Wire;
use oxorb_object::{CompletionStatus, SystemException, Version};
use oxorb_testkit::rounds;

use super::*;
use crate::datagram::place::USUAL_MOST;
use crate::datagram::window::WINDOW;

const NONCE: u64 = 0x0123_4567_89ab_cdef;

fn server() -> Session {
    Session::new(Role::Server, USUAL_MOST, NONCE)
}

fn client() -> Session {
    Session::new(Role::Client, USUAL_MOST, 0)
}

/// Returns a message of `octets` octets with a request id.
fn message(kind: u8, id: u32, octets: usize) -> Vec<u8> {
    let mut message = vec![b'G', b'I', b'O', b'P', 1, 2, 0, kind];
    message.extend((octets as u32 - 12).to_be_bytes());
    message.extend(id.to_be_bytes());
    message.resize(octets, 0);
    message
}

fn request(id: u32, octets: usize) -> Vec<u8> {
    message(0, id, octets)
}

fn reply(id: u32, octets: usize) -> Vec<u8> {
    message(1, id, octets)
}

fn departs(session: &Session, message: &[u8]) -> Departure {
    let header = Header::read(message).unwrap();
    session.departs(header, &[IoSlice::new(message)])
}

#[test]
fn a_datagram_is_one_whole_message_of_the_other_role() {
    let whole = request(1, 60);
    for (datagram, reason) in [
        (vec![], Reason::Malformed),
        (whole[..59].to_vec(), Reason::Malformed),
        ([&whole[..], &[0]].concat(), Reason::Malformed),
        (reply(1, 60), Reason::Unexpected),
        (message(5, 0, 16), Reason::Unexpected),
        (message(6, 0, 16), Reason::Unexpected),
        (message(7, 1, 60), Reason::Unexpected),
        (request(2, USUAL_MOST + 1), Reason::TooLong),
        (message(0, 0, 12), Reason::Malformed),
        (b"OXDG\x01\0\0\0\x01\x23\x45\x67\x89\xab\xcd\xef".to_vec(), Reason::Unexpected),
        (b"OXDG\x02\0\0\0\x01\x23\x45\x67\x89\xab\xcd\xee".to_vec(), Reason::Unasked),
        (b"OXDG\x02\0\0\x01\x01\x23\x45\x67\x89\xab\xcd\xef".to_vec(), Reason::Malformed),
    ] {
        let server = server();
        assert_eq!(server.arrived(&datagram), Arrival::Dropped(reason), "{datagram:?}");
        assert_eq!(server.dropped(), 1);
    }
    let server = server();
    assert_eq!(server.arrived(&whole), Arrival::Message);
    assert_eq!(server.arrived(&whole), Arrival::Dropped(Reason::Duplicate));
    assert_eq!(server.arrived(&request(1 + 2 * WINDOW, 60)), Arrival::Message);
    assert_eq!(server.arrived(&request(2, 60)), Arrival::Dropped(Reason::TooOld));
    let cancel = message(2, 1, 16);
    assert_eq!(server.arrived(&cancel), Arrival::Message);
    assert_eq!(server.arrived(&cancel), Arrival::Message);

    let client = client();
    assert_eq!(client.arrived(&whole), Arrival::Dropped(Reason::Unexpected));
    assert_eq!(client.arrived(&reply(1, 60)), Arrival::Message);
    assert_eq!(client.arrived(&reply(1, 60)), Arrival::Dropped(Reason::Duplicate));
}

#[test]
fn the_messages_that_core_writes_are_understood() {
    let server = server();
    for (id, version) in [(3, Version::V1_0), (4, Version::V1_1), (5, Version::V1_2)] {
        let wire = Wire::Giop(version);
        server.arrived(&request(id, 200));
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::GIOP_1_2);
        let exception = SystemException::transient(0, CompletionStatus::No);
        wire.system_exception_reply(&mut e, id, exception, &[]).unwrap();
        let reply = e.finish().to_vec();
        assert_eq!(departs(&server, &reply), Departure::Send);
        let client = client();
        assert_eq!(client.arrived(&reply), Arrival::Message);
        assert_eq!(client.arrived(&reply), Arrival::Dropped(Reason::Duplicate));
        let close = wire.close(ByteOrder::NATIVE).unwrap();
        assert_eq!(departs(&server, &close), Departure::Skip);
    }
}

#[test]
fn an_unverified_source_gets_no_more_than_it_sent() {
    let server = server();
    server.arrived(&request(1, 100));
    assert_eq!(departs(&server, &reply(1, 60)), Departure::Send);
    // The credit of the source is 40 octets, which is too little for this reply and enough for a challenge.
    let Departure::Hold(Some(challenge)) = departs(&server, &reply(1, 41)) else {
        panic!("kept");
    };
    assert_eq!(departs(&server, &reply(1, 25)), Departure::Hold(Some(challenge)), "24 are left");
    assert_eq!(departs(&server, &reply(1, 24)), Departure::Hold(None), "8 are left");

    let client = client();
    let Arrival::Respond(word) = client.arrived(&challenge) else {
        panic!("answered");
    };
    let Arrival::Release(held) = server.arrived(&word) else {
        panic!("verified");
    };
    assert_eq!(held, [reply(1, 41), reply(1, 25), reply(1, 24)].concat());
    assert_eq!(departs(&server, &reply(2, 8000)), Departure::Send, "from now on");
    assert_eq!(server.arrived(&word), Arrival::Release(Vec::new()), "and once more");
}

#[test]
fn what_is_kept_is_one_datagram_at_most_and_credit_ends() {
    let server = server();
    for id in 0..1000 {
        server.arrived(&request(id, 8000));
    }
    let mut sent = 0;
    loop {
        match departs(&server, &reply(1, 8000)) {
            Departure::Send => sent += 8000,
            Departure::Hold(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(sent <= MOST_CREDIT as usize, "{sent}");
    for id in 0..10 {
        assert!(matches!(departs(&server, &reply(id, 3000)), Departure::Hold(_)));
    }
    assert_eq!(server.held.lock().len(), 8000, "the others are dropped");
}

#[test]
fn larger_messages_and_parts_are_refused() {
    for (session, message) in [
        (client(), request(1, USUAL_MOST + 1)),
        (server(), reply(1, USUAL_MOST + 1)),
        (client(), message(7, 1, 60)),
        (server(), request(1, 60)),
    ] {
        assert_eq!(departs(&session, &message), Departure::Refuse);
    }
    assert_eq!(departs(&client(), &request(1, USUAL_MOST)), Departure::Send);
}

/// Pseudo-random numbers, reproducible from their seed.
struct Random(u64);

impl Random {
    fn next(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }

    fn one_in(&mut self, many: u64) -> bool {
        many != 0 && self.next(many) == 0
    }
}

/// Faults of the network. The value of each is the average number of datagrams per fault; 0 means
/// never.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lost: u64,
    doubled: u64,
    cut: u64,
    damaged: u64,
    /// Longest time in transit; other datagrams overtake it.
    late: u64,
}

const FAIR: Weather = Weather { lost: 0, doubled: 0, cut: 0, damaged: 0, late: 1 };

/// Datagrams in transit, by arrival time. The flag is `true` for datagrams to the server.
struct Network {
    random: Random,
    weather: Weather,
    now: u64,
    under_way: BTreeMap<(u64, u64), (bool, Vec<u8>)>,
    sent: u64,
    /// Octets that the server has sent, and that it has received.
    octets: [u64; 2],
}

impl Network {
    fn send(&mut self, to_server: bool, datagram: &[u8]) {
        self.octets[usize::from(to_server)] += datagram.len() as u64;
        let (random, weather) = (&mut self.random, self.weather);
        if random.one_in(weather.lost) {
            return;
        }
        let copies = if random.one_in(weather.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let mut datagram = datagram.to_vec();
            if random.one_in(weather.cut) {
                datagram.truncate(random.next(datagram.len() as u64) as usize);
            }
            if !datagram.is_empty() && random.one_in(weather.damaged) {
                // UDP's checksums detect most damage. Damage that they do not detect must do no harm.
                datagram[random.next(12) as usize % 12] ^= 1 << random.next(8);
            }
            self.sent += 1;
            let at = self.now + 1 + random.next(weather.late);
            self.under_way.insert((at, self.sent), (to_server, datagram));
        }
    }

    fn take(&mut self) -> Option<(bool, Vec<u8>)> {
        let ((at, _), taken) = self.under_way.pop_first()?;
        self.now = at;
        Some(taken)
    }
}

/// Runs calls of a client to a server; returns how often each was run and answered.
fn calls(
    seed: u64,
    weather: Weather,
    reply_octets: usize,
) -> (HashMap<u32, u32>, HashMap<u32, u32>) {
    const CALLS: u32 = 500;
    let (client, server) = (client(), server());
    let mut network = Network {
        random: Random(seed),
        weather,
        now: 0,
        under_way: BTreeMap::new(),
        sent: 0,
        octets: [0; 2],
    };
    let (mut run, mut answered) = (HashMap::new(), HashMap::new());
    let mut verified = false;
    let mut id = 0;
    loop {
        // Up to three requests are sent before the next datagram arrives.
        for _ in 0..network.random.next(4) {
            if id < CALLS {
                let request = request(id, 80);
                assert_eq!(departs(&client, &request), Departure::Send);
                network.send(true, &request);
                id += 1;
            }
        }
        let Some((to_server, datagram)) = network.take() else {
            if id == CALLS {
                return (run, answered);
            }
            continue;
        };
        let to = if to_server { &server } else { &client };
        match to.arrived(&datagram) {
            Arrival::Message if to_server => {
                let header = Header::read(&datagram).unwrap();
                let id = header.request_id(&datagram).unwrap();
                *run.entry(id).or_default() += 1;
                let reply = reply(id, reply_octets);
                match departs(&server, &reply) {
                    Departure::Send => network.send(false, &reply),
                    Departure::Hold(Some(challenge)) => network.send(false, &challenge),
                    Departure::Hold(None) => {}
                    other => panic!("{other:?}"),
                }
            }
            Arrival::Message => {
                let header = Header::read(&datagram).unwrap();
                *answered.entry(header.request_id(&datagram).unwrap()).or_default() += 1;
            }
            Arrival::Respond(word) => network.send(true, &word),
            Arrival::Release(held) => {
                verified = true;
                let mut rest = &held[..];
                while let Some(header) = Header::read(rest) {
                    network.send(false, &rest[..header.octets]);
                    rest = &rest[header.octets..];
                }
            }
            Arrival::Dropped(_) => {}
        }
        let [back, there] = network.octets;
        assert!(verified || back <= there, "{back} octets for {there}");
    }
}

#[test]
fn a_new_client_at_the_address_of_an_earlier_one_is_heard_after_a_time() {
    let server = server();
    let soon = Instant::now();
    let later = soon + OLD_IDS;
    assert_eq!(server.arrived(&request(5000, 60)), Arrival::Message);
    assert!(!server.is_of_new_client(0, soon), "this may be a duplicate");
    assert!(!server.is_of_new_client(2, soon), "the time has not passed");
    assert!(!server.is_of_new_client(0, later), "this is a duplicate of the first");
    assert_eq!(server.arrived(&request(5002, 60)), Arrival::Message);
    assert!(!server.is_of_new_client(4, later), "the earlier client has sent meanwhile");
    assert!(server.is_of_new_client(6, later + OLD_IDS));
    server.window.begin_again(6);
    assert_eq!(server.arrived(&request(6, 60)), Arrival::Dropped(Reason::Duplicate));
    assert_eq!(server.arrived(&request(8, 60)), Arrival::Message);

    let client = client();
    assert_eq!(client.arrived(&reply(5000, 60)), Arrival::Message);
    assert!(!client.is_of_new_client(0, soon));
    assert!(!client.is_of_new_client(2, later), "a server never begins again");
}

#[test]
fn in_fair_weather_each_call_is_run_and_answered_once() {
    for octets in [24, 80] {
        let (run, answered) = calls(1, FAIR, octets);
        assert_eq!((run.len(), answered.len()), (500, 500));
        assert!(run.values().chain(answered.values()).all(|times| *times == 1));
    }
}

#[test]
fn large_replies_come_once_the_source_is_verified() {
    let (run, answered) = calls(2, FAIR, 800);
    assert_eq!(run.len(), 500);
    assert!(answered.len() > 480, "{}", answered.len());
}

#[test]
fn in_any_weather_no_call_is_run_or_answered_twice() {
    let weathers = [
        Weather { lost: 10, ..FAIR },
        Weather { doubled: 2, ..FAIR },
        Weather { late: 60, ..FAIR },
        Weather { cut: 5, ..FAIR },
        Weather { lost: 5, doubled: 3, cut: 20, late: 400, damaged: 0 },
    ];
    for weather in weathers {
        for seed in 1..=rounds(8, 40) {
            for octets in [24, 80, 2000] {
                let (run, answered) = calls(seed, weather, octets);
                let once = run.values().chain(answered.values()).all(|times| *times == 1);
                assert!(once, "{weather:?}, seed {seed}");
                assert!(answered.keys().all(|id| run.contains_key(id)));
                assert!(run.len() > 250, "{} in {weather:?}", run.len());
                if weather.lost == 0 && weather.cut == 0 {
                    assert_eq!(run.len(), 500, "{weather:?}, seed {seed}");
                }
            }
        }
    }
}

/// Only headers are damaged, because damage of a request id would make a different request.
#[test]
fn damage_is_no_way_to_get_more_octets_than_were_sent() {
    let weather = Weather { damaged: 3, doubled: 3, late: 50, ..FAIR };
    for seed in 1..=rounds(8, 40) {
        let (run, _) = calls(seed, weather, 500);
        assert!(run.len() > 300, "{} run, seed {seed}", run.len());
    }
}
