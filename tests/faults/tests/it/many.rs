//! Many objects and many POAs: their memory is released, and all of them are served.

use oxorb::{CompletionStatus, SystemExceptionKind};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Memory that an allocator may retain after earlier use, in KiB.
const GROWTH: u64 = 8 << 10;

#[test]
fn thousands_of_objects() {
    come_and_go(1, 5_000, 50 << 10);
}

#[test]
fn a_thousand_poas() {
    come_and_go(1_000, 10, 100 << 10);
}

#[test]
#[ignore = "takes its time: .ci/full faults"]
fn a_hundred_thousand_objects() {
    come_and_go(1, 100_000, 200 << 10);
}

/// Three times, makes objects, calls some of them, and removes all. The whole server takes at most `most` KiB.
fn come_and_go(adapters: i64, objects: i64, most: u64) {
    let _guard = watchdog(3 * LONG);
    let server = Server::start(&[]);
    let client = client();
    let worker = server.object(&client);
    assert_eq!(ping(&worker, 1), Ok(2));
    let threads = server.status("Threads");
    let mut after_first = 0;
    for round in 0..3 {
        populate(&worker, adapters, objects);
        let memory = server.status("VmRSS");
        println!("{adapters} times {objects} objects: {memory} KiB");
        assert!(memory < most, "{memory} KiB for {adapters} times {objects} objects");
        let mut gone = Vec::new();
        for sample in 0..200 {
            let (adapter, object) = (sample * 7_919 % adapters, sample * 104_729 % objects);
            let found = object_of(&worker, adapter, object);
            assert_eq!(ping(&found, 1_000_000), Ok(1_000_000 + object));
            gone.push(found);
        }
        depopulate(&worker, adapters);
        for object in gone {
            let exception = ping(&object, 1).unwrap_err();
            assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
            assert_completed(exception, CompletionStatus::No);
        }
        assert_eq!(ping(&worker, 1), Ok(2));
        // A dedicated thread of the adapter releases destroyed objects.
        server.await_threads(threads + 1);
        match round {
            0 => after_first = memory,
            _ => assert!(
                memory < after_first + GROWTH,
                "{memory} KiB, and {after_first} KiB in the first round"
            ),
        }
    }
}
