//! Memory that one client can cost a server with the defaults: at most 512 MiB (docs/limits.md).

mod common;

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;

use common::*;
use oxorb::{CompletionStatus, SystemExceptionKind};
use oxorb_testkit::watchdog;

#[test]
fn serve() {
    common::serve();
}

/// In KiB.
const MOST: u64 = 512 << 10;

/// S5: 60 MB of null anys took 1.3 GB.
#[test]
fn values_and_messages_of_one_client() {
    let _guard = watchdog(4 * LONG);
    let server = Server::start(&[]);
    let quiet = client();
    let worker = server.object(&quiet);
    assert_eq!(ping(&worker, 1), Ok(2));

    // Messages that stop in the middle, each as long as may be.
    let mut started = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address()).expect("it listens");
        let limit = Some(std::time::Duration::from_millis(300));
        stream.set_write_timeout(limit).expect("a socket");
        let mut header = b"GIOP\x01\x02\x01\x00".to_vec();
        header.extend((60u32 << 20).to_le_bytes());
        stream.write_all(&header).expect("it reads");
        // It may stop reading at any time.
        let piece = vec![0; 1 << 20];
        for _ in 0..30 {
            if stream.write_all(&piece).is_err() {
                break;
            }
        }
        started.push(stream);
    }
    // Values that take many times their octets, from many threads at a time.
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
        let refused = attackers
            .into_iter()
            .map(|one| one.join().expect("no panic"));
        refused.sum::<u32>()
    });
    let peak = server.status("VmHWM");
    println!("{refused} refused, {} MiB at most", peak >> 10);
    assert!(
        refused >= 8,
        "half of them are too large by themselves: {refused}"
    );
    assert!(peak < MOST, "{peak} KiB");
    assert_eq!(ping(&worker, 3), Ok(4), "nobody else suffers");
    drop(started);
    assert_eq!(
        collect(&worker, 600_000),
        Ok(600_000),
        "what was taken was given back"
    );
}
