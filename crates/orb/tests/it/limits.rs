//! Limits of one client's use of a server, and the consequences of exceeding them.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::client::Failure;
use oxorb::incident::Incident;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_cdr::ByteOrder;
use oxorb_giop::{MessageType, Reply};
use oxorb_testkit::hostile::Attack;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::peer::{self, Peer, form, from_another_address, kind};
use crate::common::transport::{anywhere_with, is_tcp, wire};
use crate::common::*;

fn server_with(concurrency: Concurrency, settings: &[(&str, &str)]) -> Orb {
    let mut builder = common::transport::listening().concurrency(concurrency);
    for (name, value) in settings {
        builder = builder.setting(name, value);
    }
    builder.build().unwrap()
}

fn count(server: &Orb, incident: Incident) -> u64 {
    server.connection_statistics().count(incident)
}

#[track_caller]
fn assert_closed_in_order(peer: &mut Peer) {
    let octets = peer.rest();
    assert!(!octets.is_empty(), "it says so");
    assert_eq!(kind(&octets), MessageType::CLOSE_CONNECTION, "{octets:?}");
}

/// Waits until one of the connections has input, and returns what arrives there until it is closed.
fn until_one_is_closed(peers: &mut [Peer]) -> Vec<u8> {
    let mut octets = Vec::new();
    for peer in peers.iter() {
        peer.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    until("one connection is closed", || {
        peers.iter_mut().any(|peer| {
            let mut first = [0];
            let begun = peer.read(&mut first).is_ok_and(|count| count > 0);
            if begun {
                peer.set_read_timeout(Some(LONG)).unwrap();
                octets = [&first[..], &peer.rest()[..]].concat();
            }
            begun
        })
    });
    octets
}

/// Longer than a connection must idle before it may be closed for a new one.
const IDLE: Duration = Duration::from_millis(1300);

#[test]
fn an_idle_connection_makes_room_for_a_new_one() {
    let _guard = watchdog(2 * LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        let server = server_with(concurrency, &[("MaxConnections", "3"), ("StallTimeout", "500")]);
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        assert_eq!(ping(&object, 1), Ok(2));
        let mut silent: Vec<_> = (0..2).map(|_| Peer::connect(&address(&object))).collect();
        // Wait until all three connections have been idle for long enough to be closed.
        until("all are served", || server.connection_statistics().open == 3);
        thread::sleep(IDLE);
        let others = [(); 3].map(|()| common::client(ClientConnections::Cached));
        for other in &others {
            let object = elsewhere(other, object.reference());
            // A call is refused if the server has not yet let go of a connection.
            until("a connection makes room", || match ping(&object, 3) {
                Err(refused) if refused.kind == SystemExceptionKind::Transient => false,
                answer => {
                    assert_eq!(answer, Ok(4));
                    true
                }
            });
        }
        for stream in &mut silent {
            assert_closed_in_order(stream);
        }
        assert_eq!(count(&server, Incident::Purged), 3);
        for other in others {
            other.shutdown(true).unwrap();
        }
        until("the others are gone", || server.connection_statistics().open == 0);
        assert_eq!(ping(&object, 5), Ok(6), "connects again without an error");
    });
}

/// Clients with incomplete messages do not keep others from connecting.
#[test]
fn a_connection_that_stalls_in_mid_message_makes_room_for_a_new_one() {
    let _guard = watchdog(2 * LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        at_once(["MaxConnections", "MaxConnectionsPerClient"], |most| {
            let server = server_with(concurrency, &[(most, "3")]);
            let client = client(ClientConnections::Cached);
            let object = pinger(&server, &client);
            // Send a complete request before the incomplete one: its reply shows that the server has read both.
            let mut octets = request(&object, &PING, 0, |e| e.longlong(1));
            octets.extend(Attack::HalfHeader.octets_in(form()));
            let mut stuck: Vec<_> = (0..3)
                .map(|_| {
                    let mut stream = Peer::connect(&address(&object));
                    stream.write_all(&octets).unwrap();
                    stream.message();
                    stream
                })
                .collect();
            // The call is refused until one of the connections has stalled for long enough.
            let answer = loop {
                match ping(&object, 1) {
                    Err(away) if away.kind == SystemExceptionKind::Transient => {
                        assert_eq!(count(&server, Incident::Purged), 0);
                        thread::sleep(Duration::from_millis(50));
                    }
                    answer => break answer,
                }
            };
            assert_eq!(answer, Ok(2));
            assert_eq!(count(&server, Incident::Purged), 1);
            // Any of them may be the one that has stalled for longest.
            let closed = until_one_is_closed(&mut stuck);
            assert_eq!(kind(&closed), MessageType::CLOSE_CONNECTION, "{closed:?}");
        });
    });
}

/// A connection with a slowly arriving message, or with a running request, is not closed for a new
/// one.
#[test]
fn a_connection_that_gets_on_makes_no_room() {
    let _guard = watchdog(2 * LONG);
    let server = server_with(Concurrency::ThreadPerConnection, &[("MaxConnections", "2")]);
    let client = client(ClientConnections::Cached);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    let mut slow = Peer::connect(&address(&object));
    slow.write_all(&form().message(0, 1 << 20, &[])).unwrap();
    let gate = servant.gate.lock().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&object, &WAIT));
        // Send for longer than a message may stall.
        for _ in 0..13 {
            slow.write_all(&[0; 2048]).unwrap();
            thread::sleep(Duration::from_millis(100));
        }
        assert_closed_in_order(&mut Peer::connect(&address(&object)));
        drop(gate);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(count(&server, Incident::Purged), 0);
}

#[test]
fn while_none_idles_the_new_one_is_turned_away_in_order() {
    let _guard = watchdog(2 * LONG);
    let server = server_with(Concurrency::ThreadPerConnection, &[("MaxConnections", "1")]);
    let client = client(ClientConnections::Cached);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    thread::scope(|scope| {
        let closed = servant.gate.lock().unwrap();
        let waiting = scope.spawn(|| call(&object, &WAIT));
        servant.until_at_gate(1);
        assert_closed_in_order(&mut Peer::connect(&address(&object)));
        drop(closed);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(count(&server, Incident::TooManyConnections), 1);
}

/// The exception is TRANSIENT at whichever moment the server closes the connection.
#[test]
fn whoever_is_turned_away_may_try_again() {
    const TURNED_AWAY: usize = 100;
    let _guard = watchdog(2 * LONG);
    for sharing in EVERY_SHARING {
        let server = server_with(Concurrency::ThreadPerConnection, &[("MaxConnections", "1")]);
        let first = client(ClientConnections::Cached);
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(&first, &local);
        assert_eq!(ping(&object, 1), Ok(2));
        thread::scope(|scope| {
            let closed = servant.gate.lock().unwrap();
            let busy = scope.spawn(|| call(&object, &WAIT));
            servant.until_at_gate(1);
            let newcomer = client(sharing);
            let there = elsewhere(&newcomer, object.reference());
            // The only permitted connection is busy, so the server closes each further one.
            let mut refused = 0;
            while refused < TURNED_AWAY {
                for answer in [ping(&there, 1), ping_async(&there, 1).wait()] {
                    let Err(raised) = answer else { continue };
                    assert_raised(raised, SystemExceptionKind::Transient, CompletionStatus::No);
                    refused += 1;
                }
            }
            drop(closed);
            busy.join().unwrap().unwrap();
            newcomer.shutdown(true).unwrap();
        });
    }
}

#[test]
fn one_address_has_so_many_connections_and_others_their_own() {
    only_over!(TCP, "a second client is one at another address of a host");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server_with(concurrency, &[("MaxConnectionsPerClient", "2")]);
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        let here = address(&object);
        let greedy = || from_another_address(&here);
        let _two = [greedy(), greedy()];
        assert_closed_in_order(&mut greedy());
        assert_eq!(ping(&object, 1), Ok(2), "another address");
        assert_eq!(count(&server, Incident::TooManyFromClient), 1);
        drop(_two);
        // Another connection is accepted once the server has detected the close.
        while server.connection_statistics().open > 1 {
            thread::sleep(Duration::from_millis(1));
        }
        let _again = greedy();
        assert_eq!(ping(&object, 1), Ok(2));
        assert_eq!(count(&server, Incident::TooManyFromClient), 1);
    }
}

#[test]
fn one_address_has_so_many_requests_running() {
    let _guard = watchdog(2 * LONG);
    let server = server_with(Concurrency::ThreadPerConnection, &[("MaxRequestsPerClient", "1")]);
    let client = client(ClientConnections::Cached);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    let gate = servant.gate.lock().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&object, &WAIT));
        while servant.at_gate.load(std::sync::atomic::Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let exception = ping(&object, 1).unwrap_err();
        assert_raised(exception, SystemExceptionKind::Transient, CompletionStatus::No);
        assert_eq!(exception.minor, minor::transient::TOO_MANY_REQUESTS);
        drop(gate);
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(ping(&object, 1), Ok(2), "its turn");
    assert_eq!(count(&server, Incident::TooManyRequests), 1);
}

#[test]
fn large_messages_of_one_address_wait_for_each_other_and_no_other() {
    only_over!(TCP, "a second client is one at another address of a host");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let settings = [("MaxOctetsPerClient", "1000000"), ("StallTimeout", "2000")];
        let server = server_with(concurrency, &settings);
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        let here = address(&object);
        let greedy = || from_another_address(&here);
        // Announce 900,000 octets and send none. The announced octets count against the client's limit.
        let mut announced = greedy();
        announced.write_all(&form().message(0, 900_000, &[])).unwrap();
        while server.connection_statistics().octets_held == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        // The next connection of this client has to wait ...
        let mut next = greedy();
        next.set_write_timeout(Some(LONG)).unwrap();
        let message = request(&object, &PING, 0, |e| {
            e.longlong(1);
            e.copy_octets(&[0; 500_000]);
        });
        next.write_all(&message[..1000]).unwrap();
        while count(&server, Incident::TooManyOctets) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ping(&object, 1), Ok(2), "another address");
        // ... until the first connection is closed.
        drop(announced);
        next.write_all(&message[1000..]).unwrap();
        // The request is answered; the octets after its arguments are ignored.
        assert_eq!(kind(&next.message()), MessageType::REPLY);
        drop(next);
        while server.connection_statistics().octets_held != 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn an_idle_connection_is_closed_and_its_client_does_not_notice() {
    let _guard = watchdog(2 * LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        at_once(EVERY_SHARING, |sharing| {
            let server = server_with(concurrency, &[("IdleTimeout", "500")]);
            let client = client(sharing);
            let object = pinger(&server, &client);
            for round in 1..=3 {
                assert_eq!(ping(&object, 1), Ok(2));
                while count(&server, Incident::IdleClosed) < round {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            assert_eq!(ping_async(&object, 1).wait(), Ok(2));
        });
    });
}

#[test]
fn who_is_not_admitted_is_told_in_order_and_the_operator_why() {
    only_over!(TCP, "the rules are about addresses of hosts");
    let _guard = watchdog(2 * LONG);
    let rules = [("Access", "deny 127.0.0.2, allow 127.0.0.0/8")];
    let server = server_with(Concurrency::ThreadPerConnection, &rules);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    assert!(server.observe_connections(move |event| log.lock().unwrap().push(event.to_string())));
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    let mut stranger = from_another_address(&address(&object));
    let from = stranger.name();
    assert_closed_in_order(&mut stranger);
    assert_eq!(ping(&object, 1), Ok(2));
    assert_eq!(count(&server, Incident::AccessDenied), 1);
    let told = seen.lock().unwrap().concat();
    assert!(told.starts_with(&format!("{from}: the access rules do not admit")), "{told}");
}

#[test]
fn an_endpoint_has_rules_of_its_own() {
    only_over!(SOCKETS, "rules always admit the process itself");
    let _guard = watchdog(2 * LONG);
    let rule = match is_tcp() {
        true => "allow=10.0.0.0/8",
        false => "deny=all",
    };
    let server = common::transport::builder().listen(&anywhere_with(rule)).build().unwrap();
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    let exception = ping(&object, 1).unwrap_err();
    assert_raised(exception, SystemExceptionKind::Transient, CompletionStatus::No);
    assert!(count(&server, Incident::AccessDenied) >= 1);
}

#[test]
fn a_request_that_is_cancelled_while_it_waits_is_not_run() {
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server(concurrency);
        let client = client(ClientConnections::Cached);
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(&client, &local);
        let mut stream = Peer::connect(&address(&object));
        let ping = |id| request(&object, &PING, id, |e| e.longlong(i64::from(id)));
        let messages = [
            request(&object, &NOTE, 2, |_| {}),
            ping(4),
            request(&object, &NOTE, 6, |_| {}),
            wire().cancel(ByteOrder::NATIVE, 4).unwrap().to_vec(),
            wire().cancel(ByteOrder::NATIVE, 6).unwrap().to_vec(),
            ping(8),
        ];
        stream.write_all(&messages.concat()).unwrap();
        let message = stream.message();
        let reply = Reply::parse(&peer::frame(&message)).unwrap();
        assert_eq!(reply.id, 8, "the first that is answered");
        assert_eq!(servant.notes.load(std::sync::atomic::Ordering::SeqCst), 1);
        assert_eq!(count(&server, Incident::Cancelled), 2);
    }
}

static WORK: Op = Op::twoway("work");

/// Servant that works until the request is cancelled.
#[derive(Default)]
struct Worker(Mutex<Option<bool>>);

impl Servant for Worker {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        while !oxorb::servant::request_is_cancelled() {
            thread::sleep(Duration::from_millis(1));
        }
        *self.0.lock().unwrap() = Some(true);
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn a_servant_learns_that_nobody_waits_for_it() {
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        for hang_up in [false, true] {
            let server = server(concurrency);
            let client = client(ClientConnections::Cached);
            let worker = Arc::new(Worker::default());
            let local = server.root_poa().activate_servant(worker.clone()).unwrap();
            let object = elsewhere(&client, &local);
            if hang_up {
                let mut stream = Peer::connect(&address(&object));
                stream.write_all(&request(&object, &WORK, 2, |_| {})).unwrap();
            } else {
                let hurried = object.reference().with_timeout(Duration::from_millis(50));
                let hurried = ObjectRef::from_ref(hurried);
                let exception = timed_out(|| call(&hurried, &WORK));
                assert_eq!(exception.completed, CompletionStatus::Maybe);
            }
            while worker.0.lock().unwrap().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[test]
fn a_client_closes_what_it_does_not_use() {
    let _guard = watchdog(2 * LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = common::transport::builder().setting("ClientIdleTimeout", "40").build().unwrap();
    let object = pinger(&server, &client);
    for _ in 0..2 {
        assert_eq!(ping(&object, 1), Ok(2));
        while server.connection_statistics().open > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    assert_eq!(server.connection_statistics().accepted, 2);
}

#[test]
fn a_client_keeps_so_many_connections_over_all_servers() {
    let _guard = watchdog(2 * LONG);
    let servers: Vec<_> = (0..3).map(|_| server(Concurrency::ThreadPerConnection)).collect();
    let client = common::transport::builder().setting("MaxClientConnections", "2").build().unwrap();
    let objects: Vec<_> = servers.iter().map(|each| pinger(each, &client)).collect();
    let open = || servers.iter().map(|each| each.connection_statistics().open);
    for object in &objects {
        assert_eq!(ping(object, 1), Ok(2));
    }
    while !open().eq([0, 1, 1]) {
        thread::sleep(Duration::from_millis(1));
    }
    // The connection that was used last stays open, and the other one is closed.
    assert_eq!(ping(&objects[1], 1), Ok(2));
    assert_eq!(ping(&objects[0], 1), Ok(2));
    while !open().eq([1, 1, 0]) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Servant that decodes a sequence of anys and returns their number.
struct Collector;

static COLLECT: Op = Op::twoway("collect");

impl Servant for Collector {
    fn repository_id(&self) -> &str {
        "IDL:test/Collector:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.sequence::<oxorb::Any>(None)) {
            Ok(anys) => upcall.reply(|e| {
                e.ulong(anys.len() as u32);
                Ok(())
            }),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

/// Number of anys that need the memory of one any on a 64-bit machine.
const MEMORY: u32 = 8 / size_of::<usize>() as u32;

fn collect(object: &ObjectRef, anys: u32) -> Result<u32, oxorb::SystemException> {
    let nulls = |e: &mut oxorb_cdr::Encoder<'_>| {
        e.ulong(anys);
        (0..anys).for_each(|_| e.ulong(0));
        Ok(())
    };
    object.reference().invoke(&COLLECT, nulls, |d| d.ulong())
}

/// Without a limit, a message of 60 MB with null anys took 1.3 GB of memory.
#[test]
fn values_of_a_message_are_bounded_as_its_octets_are() {
    let _guard = watchdog(2 * LONG);
    let (fit, too_many, never) = (30_000 * MEMORY, 60_000 * MEMORY, 200_000 * MEMORY);
    for concurrency in EVERY_CONCURRENCY {
        let settings = [("MaxOctetsPerClient", "5000000"), ("MaxDecoded", "8000000")];
        let server = server_with(concurrency, &settings);
        let client = client(ClientConnections::Cached);
        let local = server.root_poa().activate_servant(Arc::new(Collector)).unwrap();
        let object = elsewhere(&client, &local);
        assert_eq!(collect(&object, 10), Ok(10));
        for round in 1..=3 {
            let refused = collect(&object, too_many).unwrap_err();
            assert_raised(refused, SystemExceptionKind::NoMemory, CompletionStatus::No);
            assert_eq!(refused.minor, minor::no_memory::CLIENT_SHARE);
            assert_eq!(count(&server, Incident::TooManyOctets), 2 * round - 1);

            let refused = collect(&object, never).unwrap_err();
            assert_raised(refused, SystemExceptionKind::ImpLimit, CompletionStatus::No);
            assert_eq!(refused.minor, minor::imp_limit::DECODED);

            // The connection stays open, and the memory of refused requests is released.
            assert_eq!(collect(&object, fit), Ok(fit));
            assert_eq!(
                collect(&object, too_many + 1).unwrap_err().minor,
                minor::no_memory::CLIENT_SHARE
            );
        }
    }
}

/// Each side names the limit, the size, the setting and its side (P3).
#[test]
fn a_message_above_a_limit_is_told_with_size_limit_and_setting_on_both_sides() {
    let _guard = watchdog(2 * LONG);
    for connections in [
        ClientConnections::Private,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ] {
        above_a_limit(connections);
    }
}

fn above_a_limit(connections: ClientConnections) {
    static ECHO: Op = Op::twoway("echo");
    let server = server_with(Concurrency::ThreadPerConnection, &[("MaxMessage", "100000")]);
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&lines);
    server.log_to(move |_, line| seen.lock().unwrap().push(line.to_owned()));
    let near = client(connections);
    let object = pinger(&server, &near);
    let sent = object.reference().invoke::<_, SystemException>(
        &ECHO,
        |e| {
            e.length(200_000, None)?;
            e.copy_octets(&[7; 200_000]);
            Ok(())
        },
        |_| Ok(()),
    );
    let refused = sent.unwrap_err();
    let told = refused.to_string();
    assert!(
        told.contains("limit of that server") && told.contains(address(&object).for_people()),
        "{told}"
    );
    assert_eq!(count(&server, Incident::TooLarge), 1);
    assert_eq!(count(&server, Incident::Violation), 0);
    let logged = lines.lock().unwrap().concat();
    let failure = Failure::of(&refused).unwrap().to_string();
    let of_server = ["limit of that server", "-ORBMaxMessage", "-ORBFragmentSize"];
    for (text, parts) in [
        (&logged, ["received", "limit on this side is 100000", "MaxMessage"]),
        (&failure, of_server),
    ] {
        for part in parts {
            assert!(text.contains(part) && text.contains(" 200"), "{part}: {text}");
        }
    }
    // The reply exceeds the client's limit.
    let server = server_with(Concurrency::ThreadPerConnection, &[]);
    let near = common::transport::builder()
        .client_connections(connections)
        .setting("MaxMessage", "100000")
        .build()
        .unwrap();
    let object = pinger(&server, &near);
    let exception = call(&object, &BIG).unwrap_err();
    assert_raised(exception, SystemExceptionKind::ImpLimit, CompletionStatus::Maybe);
    let failure = Failure::of(&exception).unwrap().to_string();
    let told = exception.to_string();
    assert!(told.contains("limit on this side is 100000"), "{told}");
    for part in ["335544", "received", "limit on this side is 100000", "MaxMessage"] {
        assert!(failure.contains(part), "{part}: {failure}");
    }
}

/// Returns the resident memory of this process, in octets.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Seven unread replies of 32 MiB: the limit bounds the number sent at once, and their memory is released.
#[test]
fn replies_that_a_client_does_not_take_are_bounded_and_their_memory_is_given_back() {
    if !alone(replies_that_a_client_does_not_take_are_bounded_and_their_memory_is_given_back) {
        return;
    }
    let _guard = watchdog(2 * LONG);
    const MIB: usize = 1 << 20;
    // Let the server give up no connection before the last request is answered, however long that takes.
    let settings = [("MaxReplyOctetsPerClient", "100000000"), ("StallTimeout", "600000")];
    let server = server_with(Concurrency::ThreadPerConnection, &settings);
    let near = client(ClientConnections::Private);
    let object = pinger(&server, &near);
    let before = resident();
    let mut greedy: Vec<_> = (0..7).map(|_| Peer::connect(&address(&object))).collect();
    for stream in &mut greedy {
        stream.write_all(&request(&object, &BIG, 0, |_| {})).unwrap();
    }
    let mut whole = 0;
    for stream in &mut greedy {
        let (header, _) = stream.header();
        whole += usize::from(header.size as usize > BIG_ANSWER);
    }
    // Each reply has 32 MiB and a header: two fit into 100 MB, and three do not.
    assert_eq!(whole, 2);
    assert!(resident() < before + 160 * MIB, "{} MiB", resident() / MIB);
    drop(greedy);
    while server.connection_statistics().open > 0 {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(resident() < before + 48 * MIB, "{} MiB", resident() / MIB);
    assert_eq!(ping(&object, 1), Ok(2));
}

/// A client with too many unread reply octets is refused before its requests run; others are served.
#[test]
fn a_client_that_does_not_take_its_replies_is_refused_and_no_other() {
    only_over!(TCP, "a second client is one at another address of a host");
    let _guard = watchdog(2 * LONG);
    let limit = BIG_ANSWER.to_string();
    let server =
        server_with(Concurrency::ThreadPerConnection, &[("MaxReplyOctetsPerClient", &limit)]);
    let near = client(ClientConnections::Private);
    let object = pinger(&server, &near);
    let mut greedy = from_another_address(&address(&object));
    greedy.write_all(&request(&object, &BIG, 0, |_| {})).unwrap();
    greedy.header();
    assert_eq!(ping(&object, 1), Ok(2), "another address");
    let mut second = from_another_address(&address(&object));
    second.write_all(&request(&object, &PING, 0, |e| e.longlong(1))).unwrap();
    while count(&server, Incident::RepliesNotTaken) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Servant that decodes a sequence of anys and keeps the request, to answer it later.
struct LaterCollector(Mutex<Vec<oxorb::servant::ResponseHandler>>);

impl Servant for LaterCollector {
    fn repository_id(&self) -> &str {
        "IDL:test/Collector:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.sequence::<oxorb::Any>(None)) {
            Ok(_) => upcall.later(|later| self.0.lock().unwrap().push(later)),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

/// Memory of a request that is answered later counts until the answer.
#[test]
fn values_of_requests_that_are_answered_later_count_until_then() {
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server_with(concurrency, &[("MaxOctetsPerClient", "5000000")]);
        let client = client(ClientConnections::Cached);
        let kept = Arc::new(LaterCollector(Mutex::default()));
        let local = server.root_poa().activate_servant(kept.clone()).unwrap();
        let object = elsewhere(&client, &local);
        for _ in 0..2 {
            thread::scope(|scope| {
                let first = scope.spawn(|| collect(&object, 30_000 * MEMORY));
                while kept.0.lock().unwrap().is_empty() {
                    thread::sleep(Duration::from_millis(1));
                }
                let refused = collect(&object, 30_000 * MEMORY).unwrap_err();
                assert_raised(refused, SystemExceptionKind::NoMemory, CompletionStatus::No);
                assert_eq!(refused.minor, minor::no_memory::CLIENT_SHARE);
                for later in kept.0.lock().unwrap().drain(..) {
                    later.reply(|e| {
                        e.ulong(7);
                        Ok(())
                    });
                }
                assert_eq!(first.join().unwrap(), Ok(7));
            });
        }
    }
}

/// Several large replies exceed the limit together: a client that reads them gets all of them.
#[test]
fn large_replies_that_are_known_wait_for_room_before_they_are_made() {
    let _guard = watchdog(2 * LONG);
    // Wait for so long that no client is refused even on a stalled machine.
    let settings = [("MaxReplyOctetsPerClient", "100000000"), ("ReplyWait", "600000")];
    let server = server_with(Concurrency::ThreadPerConnection, &settings);
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    let big = || {
        object.reference().invoke::<_, SystemException>(
            &BIG,
            |_| Ok(()),
            |d| {
                let octets = d.length(None, 1)?;
                d.octets(octets).map(<[u8]>::len)
            },
        )
    };
    assert_eq!(big(), Ok(BIG_ANSWER));
    thread::scope(|scope| {
        // The limit admits two replies at a time.
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(|| [big(), big()])).collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), [Ok(BIG_ANSWER); 2]);
        }
    });
    assert_eq!(ping(&object, 1), Ok(2));
}

/// A request waits for a limited time until its client reads earlier replies; then it is refused without being run.
#[test]
fn a_request_whose_reply_has_no_room_is_refused_before_it_runs() {
    only_over!(TCP, "a second client is one at another address of a host");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let settings = [("MaxReplyOctetsPerClient", "50000000"), ("ReplyWait", "10")];
        let server = server_with(concurrency, &settings);
        let near = client(ClientConnections::Private);
        let object = pinger(&server, &near);
        let connect = || from_another_address(&address(&object));
        let mut streams = [connect(), connect()];
        let big = request(&object, &BIG, 0, |_| {});
        streams[0].write_all(&big).unwrap();
        streams[0].header();
        // The first reply is not read, and the server knows that the next one is as large.
        streams[1].write_all(&big).unwrap();
        let reply = streams[1].message();
        let text = String::from_utf8_lossy(&reply).into_owned();
        assert!(text.contains("omg.org/CORBA/TRANSIENT"), "{text}");
        // Operations with short replies are served meanwhile.
        streams[1].write_all(&request(&object, &PING, 1, |e| e.longlong(1))).unwrap();
        assert_eq!(kind(&streams[1].message()), MessageType::REPLY);
        assert_eq!(ping(&object, 1), Ok(2), "another address");
    }
}
