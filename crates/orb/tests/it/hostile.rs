//! A server with peers that violate the protocol: it answers each as GIOP requires, bounds its
//! memory, and serves well-behaved clients meanwhile.

use std::io::{self, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use oxorb::ior::Version;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{MessageType, ReplyStatus};
use oxorb_testkit::hostile::{Attack, Attacker, Form, Reaction};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::child::Child;
use crate::common::peer::{Peer, form, frame, kind};
use crate::common::transport::{self, anywhere};
use crate::common::*;

/// Time after which an incomplete message counts as stalled: long enough for a test to act before,
/// and short enough to wait for.
const STALL: Duration = Duration::from_millis(400);

fn guarded_server(concurrency: Concurrency) -> Orb {
    common::transport::listening()
        .concurrency(concurrency)
        .configure(|options| options.stall_timeout = STALL)
        .build()
        .unwrap()
}

/// Reports whether the octets are a MessageError message.
fn is_message_error(octets: &[u8]) -> bool {
    !octets.is_empty() && kind(octets) == MessageType::MESSAGE_ERROR
}

fn is_close_connection(octets: &[u8]) -> bool {
    !octets.is_empty() && kind(octets) == MessageType::CLOSE_CONNECTION
}

fn raw(object: &ObjectRef) -> Peer {
    Peer::connect(&address(object))
}

fn attack_on(object: &ObjectRef, attack: Attack) -> Attacker {
    Attacker::over(Box::new(raw(object)), attack, form())
}

/// Reports whether the server has closed the connection, or announced that it will. Waits for at most the read timeout.
fn is_closing(peer: &mut Peer) -> bool {
    match peer.read_exact(&mut [0]) {
        Ok(()) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}

/// Returns the octets that the server sends until it closes the connection.
fn until_closed(peer: &mut Peer) -> Vec<u8> {
    peer.rest()
}

#[test]
fn each_attack_gets_its_answer_and_the_good_are_served() {
    let _guard = watchdog(2 * LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        let server = guarded_server(concurrency);
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        for attack in Attack::ALL {
            assert_eq!(ping(&object, 1), Ok(2), "before {attack:?}");
            let mut attacker = attack_on(&object, attack);
            assert_eq!(ping(&object, 1), Ok(2), "during {attack:?}");
            if attack == Attack::Silence {
                let open = attacker.reaction(2 * STALL);
                assert_eq!(open, Reaction::Open(Vec::new()), "silence is no fault");
                continue;
            }
            let Reaction::Closed(octets) = attacker.reaction(LONG) else {
                panic!("{attack:?} is let be, {concurrency:?}");
            };
            match attack {
                // An incomplete message, or one that is not of the protocol, gets no answer.
                Attack::HalfHeader | Attack::HalfMessage | Attack::Drip => {
                    assert_eq!(octets, [0u8; 0], "{attack:?}, {concurrency:?}");
                }
                Attack::Garbage if form() != Form::Lite => {
                    assert_eq!(octets, [0u8; 0], "{attack:?}, {concurrency:?}");
                }
                // GIOPlite does not declare its byte order, so that an absurd size suggests a peer
                // with the other one, which could not read an answer.
                Attack::HugeLength if form() == Form::Lite => {
                    assert_eq!(octets, [0u8; 0], "{attack:?}, {concurrency:?}");
                }
                // Each version of GIOPlite/RT is a protocol of its own, so a message of another
                // version gets no answer.
                Attack::UnknownVersion if form() == Form::LiteRt => {
                    assert_eq!(octets, [0u8; 0], "{attack:?}, {concurrency:?}");
                }
                _ => assert!(is_message_error(&octets), "{attack:?}, {concurrency:?}: {octets:?}"),
            }
            assert_eq!(ping(&object, 1), Ok(2), "after {attack:?}");
        }
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
}

#[test]
fn all_attacks_at_once_leave_the_good_alone() {
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = guarded_server(concurrency);
        let client = client(ClientConnections::Private);
        let object = pinger(&server, &client);
        let attackers: Vec<_> =
            (0..4).flat_map(|_| Attack::ALL).map(|attack| attack_on(&object, attack)).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..100 {
                        assert_eq!(ping(&object, n), Ok(n + 1));
                    }
                });
            }
        });
        drop(attackers);
        assert_eq!(ping(&object, 1), Ok(2));
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Octets after the arguments are common: other ORBs send and accept them.
#[test]
fn octets_behind_the_arguments_are_let_pass_unless_the_orb_is_strict() {
    let _guard = watchdog(LONG);
    for (strict, expected) in
        [("0", ReplyStatus::NO_EXCEPTION), ("1", ReplyStatus::SYSTEM_EXCEPTION)]
    {
        let server =
            common::transport::listening().setting("StrictEncoding", strict).build().unwrap();
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        let mut peer = raw(&object);
        for (id, octets) in [(2, 0), (4, 1), (6, 4), (8, 8)] {
            let request = request(&object, &PING, id, |e| {
                e.longlong(7);
                e.copy_octets(&[0; 8][..octets]);
            });
            peer.write_all(&request).unwrap();
            let answer = peer.message();
            let status = oxorb_giop::Reply::parse(&frame(&answer)).unwrap().status;
            let expected = if octets == 0 { ReplyStatus::NO_EXCEPTION } else { expected };
            assert_eq!(status, expected, "{octets} octets, strict {strict}");
        }
        server.shutdown(true).unwrap();
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_message_that_comes_octet_by_octet_stalls_too() {
    let _guard = watchdog(2 * LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        let server = guarded_server(concurrency);
        let client = client(ClientConnections::Private);
        let object = pinger(&server, &client);
        let mut drip = raw(&object);
        drip.write_all(&form().message(0, 4096, &[])).unwrap();
        // No pause is as long as STALL, but less than a kibibyte arrives in that time, so the
        // message counts as stalled.
        let mut octets = 0;
        while drip.write_all(&[0]).is_ok() {
            octets += 1;
            assert!(octets < 4096, "all of it was taken, {concurrency:?}");
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(ping(&object, 1), Ok(2));
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
}

#[test]
fn http_is_closed_without_a_word() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = guarded_server(concurrency);
        let object = pinger(&server, &client(ClientConnections::Cached));
        let mut stream = raw(&object);
        stream.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        let said = until_closed(&mut stream);
        // A GIOPlite header has no magic number, so the server takes HTTP for a message with an
        // error, and answers it.
        match form() {
            Form::Lite => assert!(is_message_error(&said), "{said:?}"),
            _ => assert_eq!(said, [0u8; 0]),
        }
        server.shutdown(true).unwrap();
    }
}

#[test]
fn nesting_has_an_end_and_the_connection_lives_on() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = server(concurrency);
        let client = client(ClientConnections::Private);
        let object = pinger(&server, &client);
        let deep = |levels: u32| -> Result<(), SystemException> {
            object.reference().invoke(
                &DEEP,
                |e| {
                    (0..levels).for_each(|_| e.ulong(1));
                    e.ulong(0);
                    Ok(())
                },
                |_| Ok(()),
            )
        };
        assert_eq!(deep(10), Ok(()));
        let refused = deep(100_000).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Marshal);
        assert_eq!(refused.completed, CompletionStatus::No);
        assert_eq!(ping(&object, 1), Ok(2));
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// A fragment of a GIOP 1.2 request, the first or a later one, with more to come.
fn fragment(first: bool, id: u32, octets: &[u8]) -> Vec<u8> {
    let mut message = b"GIOP\x01\x02".to_vec();
    let little = ByteOrder::NATIVE == ByteOrder::Little;
    message.push(2 | u8::from(little));
    message.push(if first { 0 } else { 7 });
    message.extend((octets.len() as u32 + 4).to_ne_bytes());
    message.extend(id.to_ne_bytes());
    message.extend(octets);
    message
}

#[test]
fn fragments_without_end_have_one() {
    only_over!(GIOP, "other messages have no fragments");
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = common::transport::listening()
            .concurrency(concurrency)
            .setting("MaxMessage", "100000")
            .build()
            .unwrap();
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);

        let mut long = raw(&object);
        long.write_all(&fragment(true, 1, &[0; 1000])).unwrap();
        for _ in 0..120 {
            // The write fails when the server has closed the connection.
            if long.write_all(&fragment(false, 1, &[0; 1000])).is_err() {
                break;
            }
        }
        assert!(is_message_error(&until_closed(&mut long)));

        let mut many = raw(&object);
        for id in 0..17 {
            let _ = many.write_all(&fragment(true, id, &[0; 32]));
        }
        assert!(is_message_error(&until_closed(&mut many)));

        assert_eq!(ping(&object, 1), Ok(2));
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn one_connection_too_many_is_told_so_and_the_place_is_free_again() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = common::transport::listening()
            .concurrency(concurrency)
            .setting("MaxConnections", "2")
            .build()
            .unwrap();
        let client = client(ClientConnections::Private);
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(&client, &local);
        // A connection makes no room for a new one while its request runs.
        let closed = servant.gate.lock().unwrap();
        let mut served = [(); 2].map(|()| raw(&object));
        for peer in &mut served {
            peer.write_all(&request(&object, &WAIT, 0, |_| {})).unwrap();
        }
        servant.until_at_gate(2);
        assert!(is_close_connection(&until_closed(&mut raw(&object))));
        let refused = ping(&object, 1).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Transient);
        assert_eq!(refused.completed, CompletionStatus::No);
        drop(closed);
        for peer in &mut served {
            assert_eq!(kind(&peer.message()), MessageType::REPLY);
        }
        let [mut first, second] = served;
        first.write_all(&request(&object, &PING, 1, |e| e.longlong(1))).unwrap();
        assert_eq!(kind(&first.message()), MessageType::REPLY, "who has a place keeps it");
        drop(second);
        // Repeat the call, because the server detects the close asynchronously.
        thread::scope(|scope| {
            scope.spawn(|| {
                while ping(&object, 1) != Ok(2) {
                    thread::sleep(Duration::from_millis(5));
                }
            });
        });
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn a_client_that_never_takes_its_answer_loses_its_connection() {
    let _guard = watchdog(LONG);
    let architectures = [
        Concurrency::ThreadPerConnection,
        Concurrency::LeaderFollowers { threads: 1 },
        Concurrency::ThreadPerRequest { threads: 4 },
        Concurrency::WorkerPool { threads: 1, queue: 4 },
    ];
    at_once(architectures, |concurrency| {
        let server = guarded_server(concurrency);
        let client = client(ClientConnections::Cached);
        let object = pinger(&server, &client);
        let mut rude = raw(&object);
        rude.write_all(&request(&object, &BIG, 0, |_| {})).unwrap();
        // With a single worker, this call is served only after the server has given up the first
        // client.
        assert_eq!(ping(&object, 1), Ok(2));
        // Write until the server has closed the connection, after which a write fails.
        while rude.write_all(&[0]).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
}

#[test]
fn a_flood_over_one_connection_does_not_keep_the_only_worker() {
    let _guard = watchdog(LONG);
    let server = guarded_server(Concurrency::LeaderFollowers { threads: 1 });
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut flood = raw(&object);
        let stop = &stop;
        // The requests take longer to serve than to send, so that there is always more to read.
        let naps: Vec<u8> = (0..1000).flat_map(|_| request(&object, &NAP, 0, |_| {})).collect();
        flood.set_write_timeout(Some(LONG)).unwrap();
        flood.write_all(&naps).unwrap();
        flood.set_write_timeout(Some(STALL)).unwrap();
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // The write may block until the server reads more.
                let _ = flood.write(&naps);
            }
        });
        for n in 0..5 {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
        stop.store(true, Ordering::Relaxed);
    });
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn while_all_workers_are_busy_callers_wait_no_longer_than_they_want() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::LeaderFollowers { threads: 2 });
    let client = client(ClientConnections::Private);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    thread::scope(|scope| {
        let closed = servant.gate.lock().unwrap();
        let running: Vec<_> = (0..2).map(|_| scope.spawn(|| call(&object, &WAIT))).collect();
        while servant.at_gate.load(Ordering::SeqCst) < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let hurried = object.with_timeout(STALL);
        let late = timed_out(|| ping(&hurried, 1));
        assert_eq!(late.completed, CompletionStatus::Maybe);
        drop(closed);
        for call in running {
            assert_eq!(call.join().unwrap(), Ok(()));
        }
    });
    assert_eq!(ping(&object, 1), Ok(2));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Returns the resident memory of process `id`, in octets.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

fn allocated(object: &ObjectRef) -> u64 {
    object
        .reference()
        .invoke::<u64, SystemException>(&ALLOCATED, |_| Ok(()), |d| d.ulonglong())
        .unwrap()
}

#[test]
fn what_is_only_announced_costs_no_memory() {
    only_over!(SOCKETS, "other processes do not reach memory");
    const PEERS: u64 = 64;
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = Child::start(&anywhere(), concurrency);
        let client = client(ClientConnections::Private);
        let object = server.object(&client);
        assert_eq!(ping(&object, 1), Ok(2));
        let (allocated_before, resident_before) =
            (allocated(&object), resident(server.process.id()));
        // Announce a message of 60 MiB, which is within the limit, and send 5,000 octets of it.
        let mut half = form().message(0, 60 << 20, &[]);
        half.resize(5000, 0);
        let peers: Vec<_> = (0..PEERS)
            .map(|_| {
                let mut stream = raw(&object);
                stream.write_all(&half).unwrap();
                stream
            })
            .collect();
        // Make calls, during which the server reads the incomplete messages that arrived before.
        for n in 0..200 {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
        let each = (allocated(&object) - allocated_before) / PEERS;
        assert!(each < 1_200_000, "{each} octets allocated for each peer");
        let each = resident(server.process.id()).saturating_sub(resident_before) / PEERS;
        assert!(each < 200_000, "{each} octets of memory for each peer");
        drop(peers);
    }
}

/// The test makes both sides copy large messages into their own buffers, instead of sending them in
/// place, and keeps the connections open.
#[test]
fn a_large_message_does_not_cost_its_memory_for_ever() {
    // Number of connections whose replies together are within the limit of unread octets of one
    // client.
    const CONNECTIONS: usize = 3;
    const KEPT: &str = "2097152";
    let _guard = watchdog(3 * LONG);
    if !alone(a_large_message_does_not_cost_its_memory_for_ever) {
        return;
    }
    let octets = vec![7; BIG_ANSWER];
    for concurrency in EVERY_CONCURRENCY {
        // Set a limit below the default, with which three connections would keep about as many
        // octets as one message has.
        let server = transport::listening().concurrency(concurrency).setting("KeptCapacity", KEPT);
        let server = server.build().unwrap();
        let client = transport::builder().client_connections(ClientConnections::Private);
        let client = client.setting("KeptCapacity", KEPT).build().unwrap();
        let object = pinger(&server, &client);
        assert_eq!(ping(&object, 1), Ok(2));
        assert_eq!(ping_async(&object, 1).wait(), Ok(2));
        let before = resident(std::process::id());
        let send = |e: &mut Encoder<'_>| {
            e.copy_octets(&octets);
            Ok(())
        };
        let turn = Barrier::new(CONNECTIONS);
        thread::scope(|scope| {
            for _ in 0..CONNECTIONS {
                scope.spawn(|| {
                    let reference = object.reference();
                    let got: Result<usize, SystemException> =
                        reference.invoke(&BIG, send, |d| d.length(None, 1));
                    assert_eq!(got, Ok(BIG_ANSWER));
                    assert_eq!(ping(&object, 1), Ok(2));
                    // Measure while all connections are open and have carried the message.
                    turn.wait();
                    let grown = resident(std::process::id()).saturating_sub(before);
                    assert!(grown < BIG_ANSWER as u64, "{grown} octets are kept");
                    turn.wait();
                });
            }
        });
        let later: oxorb::client::AsyncReply<usize, SystemException> =
            object.reference().invoke_async(&BIG, send, |d| d.length(None, 1));
        assert_eq!(later.wait(), Ok(BIG_ANSWER));
        assert_eq!(ping_async(&object, 1).wait(), Ok(2));
        let grown = resident(std::process::id()).saturating_sub(before);
        assert!(grown < BIG_ANSWER as u64, "{grown} octets are kept");
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn without_descriptors_it_serves_those_it_has_and_recovers() {
    only_over!(SOCKETS, "other processes do not reach memory");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = Child::start_with_descriptors(40, &anywhere(), concurrency);
        let client = client(ClientConnections::Private);
        let object = server.object(&client);
        assert_eq!(ping(&object, 1), Ok(2));
        let mut crowd: Vec<_> = (0..60).map(|_| raw(&object)).collect();
        for peer in &crowd {
            peer.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        }
        // A server closes a connection once it has no descriptors left. Their number would not tell: a connection over
        // shared memory needs three until it is accepted, and fewer from then on.
        while !crowd.iter_mut().any(is_closing) {
            assert_eq!(ping(&object, 1), Ok(2));
        }
        for n in 0..100 {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
        drop(crowd);
        // A new client is accepted once the others have closed their connections.
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(ping(&object, 1), Ok(2)));
        });
    }
}

#[test]
fn a_message_error_speaks_the_version_of_the_peer_or_less() {
    only_over!(GIOP, "other messagings have one version");
    let _guard = watchdog(LONG);
    let server = guarded_server(Concurrency::ThreadPerConnection);
    let object = pinger(&server, &client(ClientConnections::Cached));
    let mut stream = raw(&object);
    stream.write_all(b"GIOP\x01\x00\x01\x09\x00\x00\x00\x00").unwrap();
    let answer = until_closed(&mut stream);
    assert!(is_message_error(&answer), "{answer:?}");
    assert_eq!((answer[4], answer[5]), (1, Version::V1_0.minor));
    server.shutdown(true).unwrap();
}
