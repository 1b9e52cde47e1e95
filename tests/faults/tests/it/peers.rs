//! Peers that stall, vanish, or only receive: other clients of the server are served, and nothing grows.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::incident::Incident;
use oxorb::{CompletionStatus, Orb, SystemExceptionKind};
use oxorb_testkit::hostile::{Attack, Attacker};
use oxorb_testkit::net::reset;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::*;

/// Concurrency models of the server.
const CONCURRENCIES: [&str; 2] = ["thread-per-connection", "leader-followers:4"];

/// Permitted growth of memory in KiB: more than the noise of an allocator, less than a leak or a trusted size.
const GROWTH: u64 = 48 << 10;

/// Attacks a server from many connections; other clients are served meanwhile, and afterwards the server has as many
/// threads as before and hardly more memory.
fn others_are_served(settings: &[(&str, &str)], peers: usize, attack: Attack) {
    for concurrency in CONCURRENCIES {
        let mut settings = settings.to_vec();
        settings.push(("Concurrency", concurrency));
        let server = Server::start(&settings);
        let client = client();
        let object = server.object(&client);
        let address = server.address();
        assert_eq!(ping(&object, 1), Ok(2));
        let (threads, memory) = (server.status("Threads"), server.status("VmRSS"));
        let attackers: Vec<_> = (0..peers).map(|_| Attacker::start(address, attack)).collect();
        for n in 0..50 {
            assert_eq!(ping(&object, n), Ok(n + 1), "{attack:?} at {concurrency}");
        }
        let grown = server.status("VmRSS").saturating_sub(memory);
        assert!(grown < GROWTH, "{attack:?} took {grown} KiB");
        drop(attackers);
        server.await_threads(threads + 1);
        assert_eq!(ping(&object, 1), Ok(2));
    }
}

#[test]
fn peers_that_send_one_octet_a_second() {
    let _guard = watchdog(2 * LONG);
    others_are_served(&[("StallTimeout", "1000")], 20, Attack::Drip);
}

#[test]
fn peers_that_send_half_a_header() {
    let _guard = watchdog(2 * LONG);
    others_are_served(&[("StallTimeout", "500")], 100, Attack::HalfHeader);
}

#[test]
fn peers_that_announce_what_they_never_send() {
    let _guard = watchdog(2 * LONG);
    others_are_served(&[], 100, Attack::HugeLength);
    others_are_served(&[("StallTimeout", "500")], 100, Attack::HalfMessage);
    others_are_served(&[], 100, Attack::HugeFields);
}

#[test]
fn peers_that_say_nothing_make_room() {
    let _guard = watchdog(2 * LONG);
    let server = Server::start(&[("MaxConnections", "50"), ("StallTimeout", "500")]);
    let client = client();
    let object = server.object(&client);
    let address = server.address();
    assert_eq!(ping(&object, 1), Ok(2));
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(ping(&object, 1), Ok(2), "who was there stays");
    // After a second of silence, an admitted connection has to yield to a new one.
    let newcomer = common::client();
    let served = within(&server.object(&newcomer), LONG);
    let end = Instant::now() + LONG;
    while ping(&served, 1) != Ok(2) {
        assert!(Instant::now() < end, "nobody makes room");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(count(&object, Incident::Purged) > 0);
    drop(silent);
    server.await_threads(8);
}

#[test]
fn peers_that_reset_in_the_middle() {
    let _guard = watchdog(2 * LONG);
    for concurrency in CONCURRENCIES {
        let server = Server::start(&[("Concurrency", concurrency)]);
        let client = client();
        let object = server.object(&client);
        assert_eq!(ping(&object, 1), Ok(2));
        let threads = server.status("Threads");
        for octets in [0, 5, 12, 40] {
            for _ in 0..20 {
                let mut stream = TcpStream::connect(server.address()).unwrap();
                let mut message = b"GIOP\x01\x02\x01\x00\x00\x01\x00\x00".to_vec();
                message.resize(octets, 0);
                stream.write_all(&message).unwrap();
                reset(stream).unwrap();
            }
            assert_eq!(ping(&object, 1), Ok(2));
        }
        server.await_threads(threads + 1);
    }
}

#[test]
fn peers_that_never_read_their_answers() {
    others_are_served_meanwhile(|_stream, done| while_not(done, || {}));
}

/// Peers that read one octet a second. Each octet is progress, but does not extend the time limit.
#[test]
fn peers_that_read_one_octet_a_second() {
    others_are_served_meanwhile(|mut stream, done| {
        while_not(done, || drop(stream.read(&mut [0])));
    });
}

/// Acts every second until `done`.
fn while_not(done: &AtomicBool, mut act: impl FnMut()) {
    while !done.load(Ordering::Relaxed) {
        act();
        thread::sleep(Duration::from_secs(1));
    }
}

/// Some peers request a large answer and receive it as `read` does; their connections end nevertheless, and others are
/// served before and after.
fn others_are_served_meanwhile(read: fn(TcpStream, &AtomicBool)) {
    let _guard = watchdog(2 * LONG);
    for concurrency in CONCURRENCIES {
        let server = Server::start(&[("Concurrency", concurrency), ("StallTimeout", "500")]);
        let client = client();
        let object = server.object(&client);
        assert_eq!(ping(&object, 1), Ok(2));
        let (threads, memory) = (server.status("Threads"), server.status("VmRSS"));
        let descriptors = server.descriptors();
        let done = &AtomicBool::new(false);
        thread::scope(|scope| {
            // Three peers, so that one worker serves other clients.
            for n in 1..=3 {
                let mut stream = TcpStream::connect(server.address()).unwrap();
                stream.write_all(&request(&object, "big", n)).unwrap();
                scope.spawn(move || read(stream, done));
                server.await_note(n);
            }
            for n in 0..50 {
                assert_eq!(ping(&object, n), Ok(n + 1));
            }
            // The connections are closed, and their answers are dropped.
            server.await_descriptors(descriptors);
            server.await_threads(threads + 1);
            server.await_memory(memory + GROWTH);
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(ping(&object, 1), Ok(2));
    }
}

#[test]
fn a_server_that_is_stopped_is_a_time_out_and_comes_back() {
    let _guard = watchdog(2 * LONG);
    let server = Server::start(&[]);
    let client = client();
    let object = server.object(&client);
    assert_eq!(ping(&object, 1), Ok(2));
    server.stop();
    let hurried = within(&object, Duration::from_millis(100));
    let exception = timed_out(|| ping(&hurried, 1));
    assert_completed(exception, CompletionStatus::Maybe);
    let later = ping(&hurried, 1).unwrap_err();
    assert_eq!(later.kind, SystemExceptionKind::Timeout);
    server.signal("-CONT");
    assert_eq!(ping(&object, 1), Ok(2), "without a restart");
}

#[test]
fn a_black_hole_is_a_time_out_whatever_is_sent() {
    let _guard = watchdog(2 * LONG);
    // The system accepts connections of this listener, and nothing reads from them.
    let hole = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client();
    let url = format!("corbaloc:iiop:1.2@{}/nothing", hole.local_addr().unwrap());
    let object = within(&client.string_to_object(&url).unwrap(), Duration::from_millis(200));
    for _ in 0..3 {
        let exception = timed_out(|| ping(&object, 1));
        assert_completed(exception, CompletionStatus::Maybe);
    }
}

#[test]
fn a_half_open_connection_is_found_out() {
    let _guard = watchdog(2 * LONG);
    // This server answers once, and then only receives, like a host that lost power, until the system's time-out.
    let fake = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = fake.local_addr().unwrap();
    let half = thread::spawn(move || {
        let (mut stream, _) = fake.accept().unwrap();
        let mut header = [0; 12];
        stream.read_exact(&mut header).unwrap();
        let size = u32::from_le_bytes(*header.last_chunk().unwrap());
        let mut body = vec![0; size as usize];
        stream.read_exact(&mut body).unwrap();
        let mut reply = b"GIOP\x01\x02\x01\x01\x14\x00\x00\x00".to_vec();
        reply.extend(&body[..4]);
        reply.extend([0; 8]); // no exception, no contexts
        reply.extend(2i64.to_le_bytes());
        stream.write_all(&reply).unwrap();
        // The connection stays open, and nothing reads from it.
        (stream, fake)
    });
    let client = client();
    let url = format!("corbaloc:iiop:1.2@{address}/half");
    let object = client.string_to_object(&url).unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    let hurried = within(&object, Duration::from_millis(200));
    let exception = timed_out(|| ping(&hurried, 1));
    assert_completed(exception, CompletionStatus::Maybe);
    drop(half.join().unwrap());
}

#[test]
fn a_server_without_descriptors_pauses_and_recovers() {
    let _guard = watchdog(2 * LONG);
    for concurrency in CONCURRENCIES {
        let settings = [("Concurrency", concurrency), ("StallTimeout", "500")];
        let server = Server::with_descriptors(64, &settings);
        let client = client();
        let object = server.object(&client);
        assert_eq!(ping(&object, 1), Ok(2));
        let address = server.address();
        let many: Vec<_> = (0..150).map(|_| TcpStream::connect(address).unwrap()).collect();
        while count(&object, Incident::AcceptPaused) == 0 {
            thread::sleep(Duration::from_millis(5));
        }
        // Connected clients are served as before.
        for n in 0..50 {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
        drop(many);
        let newcomer = common::client();
        assert_eq!(ping(&server.object(&newcomer), 1), Ok(2));
    }
}

#[test]
#[ignore = "takes its time: .ci/full faults"]
fn five_thousand_connections() {
    let _guard = watchdog(2 * LONG);
    const MANY: usize = 5_000;
    let settings = [
        ("Concurrency", "leader-followers:4"),
        ("MaxConnections", "6000"),
        ("MaxConnectionsPerClient", "0"),
    ];
    let server = Server::start(&settings);
    let client = client();
    let object = server.object(&client);
    assert_eq!(ping(&object, 1), Ok(2));
    let threads = server.status("Threads");
    let mut after_first = 0;
    for round in 0..3 {
        let many: Vec<_> =
            (0..MANY).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        // The server serves each connection.
        let request = request(&object, "ping", 1);
        for mut stream in &many {
            stream.write_all(&request).unwrap();
        }
        for mut stream in &many {
            stream.set_read_timeout(Some(LONG)).unwrap();
            let mut reply = [0; 32];
            stream.read_exact(&mut reply).unwrap();
            assert_eq!((&reply[..4], reply[7]), (&b"GIOP"[..], 1));
        }
        assert_eq!(server.status("Threads"), threads, "four workers are enough");
        assert_eq!(ping(&object, 1), Ok(2));
        drop(many);
        let memory = server.status("VmRSS");
        if round == 0 {
            after_first = memory;
        }
        assert!(memory < after_first + GROWTH, "{memory} KiB after {after_first} KiB");
    }
}

#[test]
#[ignore = "takes its time: .ci/full faults"]
fn a_thousand_clients_come_and_go() {
    let _guard = watchdog(2 * LONG);
    let server = Server::start(&[]);
    let client = client();
    let object = server.object(&client);
    assert_eq!(ping(&object, 1), Ok(2));
    let threads = server.status("Threads");
    let mut memory = 0;
    for n in 0..1_000 {
        let one = Orb::builder().build().unwrap();
        assert_eq!(ping(&server.object(&one), n), Ok(n + 1));
        one.shutdown(true).unwrap();
        if n == 100 {
            memory = server.status("VmRSS");
        }
    }
    server.await_threads(threads + 1);
    assert!(server.status("VmRSS") < memory + GROWTH);
}
