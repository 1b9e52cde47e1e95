//! Memory that one client can cost a server with the defaults: at most 512 MiB (docs/limits.md).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxorb::incident::Incident;
use oxorb::{CompletionStatus, SystemExceptionKind};
use oxorb_testkit::net::connect_from;
use oxorb_testkit::{until, watchdog};

use crate::common::*;

/// Limit in KiB.
const MOST: u64 = 512 << 10;

/// Values and messages of one client. Without the limits, 60 MB of null anys took 1.3 GB.
#[test]
fn values_and_messages_of_one_client() {
    let _guard = watchdog(4 * LONG);
    let server = Server::start(&[]);
    let quiet = client();
    let worker = server.object(&quiet);
    assert_eq!(ping(&worker, 1), Ok(2));

    // Truncated messages, each of the greatest length.
    let mut started = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address()).expect("it listens");
        let limit = Some(Duration::from_millis(300));
        stream.set_write_timeout(limit).expect("a socket");
        let mut header = b"GIOP\x01\x02\x01\x00".to_vec();
        header.extend((60u32 << 20).to_le_bytes());
        stream.write_all(&header).expect("it reads");
        // The server may stop reading at any time.
        let piece = vec![0; 1 << 20];
        for _ in 0..30 {
            if stream.write_all(&piece).is_err() {
                break;
            }
        }
        started.push(stream);
    }
    // Values that take many times their octets, from many threads simultaneously.
    let refused = thread::scope(|scope| {
        let attackers: Vec<_> = (0..8)
            .map(|at| {
                let attacked = server.ior();
                scope.spawn(move || {
                    let client = client();
                    let worker = client.string_to_object(attacked).expect("a reference");
                    let anys = if at % 2 == 0 { 600_000 } else { 6_000_000 };
                    let mut refused = 0;
                    for _ in 0..2 {
                        match collect(&worker, anys) {
                            Ok(collected) => assert_eq!(collected, i64::from(anys)),
                            Err(exception) => {
                                let limits =
                                    [SystemExceptionKind::NoMemory, SystemExceptionKind::ImpLimit];
                                assert!(limits.contains(&exception.kind), "{exception}");
                                assert_eq!(exception.completed, CompletionStatus::No);
                                refused += 1;
                            }
                        }
                    }
                    refused
                })
            })
            .collect();
        let refused = attackers.into_iter().map(|one| one.join().expect("no panic"));
        refused.sum::<u32>()
    });
    let peak = server.status("VmHWM");
    println!("{refused} refused, {} MiB at most", peak >> 10);
    assert!(refused >= 8, "half of them are too large by themselves: {refused}");
    assert!(peak < MOST, "{peak} KiB");
    assert_eq!(ping(&worker, 3), Ok(4), "nobody else suffers");
    drop(started);
    assert_eq!(collect(&worker, 600_000), Ok(600_000), "what was taken was given back");
}

/// Guard that sets a flag on drop.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Number of connections of the attacker: the greatest number for one address.
const CONNECTIONS: usize = 500;

/// Attacking threads.
const ATTACKERS: usize = 10;

/// Each of 500 connections simultaneously keeps a buffer of a large message, does not read a reply of 16 MiB, sends
/// values that take ten times their octets, and stops in the middle of the next large message.
#[test]
fn everything_that_one_client_can_do_at_once() {
    let _guard = watchdog(6 * LONG);
    let server = Server::start(&[]);
    let quiet = client();
    let worker = server.object(&quiet);
    assert_eq!(ping(&worker, 1), Ok(2));
    let empty = server.status("VmRSS");

    let swallowed = [&(2u32 << 20).to_le_bytes()[..], &vec![0; 2 << 20]].concat();
    let anys = 300_000u32;
    let nulls = [&anys.to_le_bytes()[..], &vec![0; 4 * anys as usize]].concat();
    let large = request_with(&worker, "swallow", &swallowed);
    let values = request_with(&worker, "collect", &nulls);
    let unread = request(&worker, "big", 1);
    let mut half = b"GIOP\x01\x02\x01\x00".to_vec();
    half.extend((4u32 << 20).to_le_bytes());
    half.resize(7 << 19, 0);

    let address = server.address();
    let all_keep = Barrier::new(ATTACKERS);
    let attack = || {
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS / ATTACKERS)
            .map(|_| {
                let from = "127.0.0.2".parse().expect("an address");
                connect_from(from, address).expect("it listens")
            })
            .collect();
        for stream in &mut streams {
            stream.set_read_timeout(Some(LONG)).expect("a socket");
            stream.write_all(&large).expect("it reads");
            stream.read_exact(&mut [0; 12 + 12 + 8]).expect("it answers");
        }
        all_keep.wait();
        for stream in &mut streams {
            stream.set_write_timeout(Some(Duration::from_millis(20))).expect("a socket");
            // The server may stop reading at any time.
            let _ = stream
                .write_all(&unread)
                .and_then(|()| stream.write_all(&values))
                .and_then(|()| stream.write_all(&half));
        }
        streams
    };
    let done = AtomicBool::new(false);
    let (streams, served) = thread::scope(|scope| {
        // The guard sets the flag, however the scope ends.
        let attacks = Done(&done);
        let healthy = scope.spawn(|| {
            let mut served = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(ping(&worker, served), Ok(served + 1));
                served += 1;
                // Leaves the processors to the attack.
                thread::sleep(Duration::from_millis(1));
            }
            served
        });
        let attackers: Vec<_> = (0..ATTACKERS).map(|_| scope.spawn(attack)).collect();
        let attackers = attackers.into_iter().map(|one| one.join().expect("no panic"));
        let streams: Vec<TcpStream> = attackers.flatten().collect();
        // Waits until the attack has had no further effect for a while.
        until("the attack reaches it", || server.status("VmHWM") - empty > MOST / 4);
        let mut last = 0;
        while last != server.status("VmHWM") {
            last = server.status("VmHWM");
            thread::sleep(Duration::from_secs(1));
        }
        drop(attacks);
        (streams, healthy.join().expect("everybody else is served"))
    });
    let peak = server.status("VmHWM");
    println!("{} MiB at most, {} MiB empty, {served} pings", peak >> 10, empty >> 10);
    assert!(peak - empty < MOST, "{peak} KiB, {empty} KiB empty");
    assert!(
        count(&worker, Incident::RepliesNotTaken) + count(&worker, Incident::TooManyOctets) > 0
    );
    assert_eq!(ping(&worker, served), Ok(served + 1));
    drop(streams);
    server.await_memory(empty + (128 << 10));
}
