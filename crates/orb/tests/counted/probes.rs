//! Timeprobes: every stage is recorded, in order, without allocation or lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxorb::__gen::Operations;
use oxorb::rt::probe::{self, ProbeSide, Stage, Trace};
use oxorb::settings::ClientConnections;
use oxorb::{Outcome, Servant, Upcall};
use oxorb_core::lock;
use oxorb_testkit::alloc::{self, allocations};
use oxorb_testkit::watchdog;

use crate::common::*;

static OPERATIONS: Operations = Operations::linear(&["ping"]);

/// Number of calls. All their stages fit into the ring buffer of a thread.
const PINGS: i64 = 100;

/// A [`Pinger`] that finds operations as a skeleton does, and records allocations and locks of its
/// thread.
#[derive(Default)]
struct Probe {
    inner: Pinger,
    allocations: AtomicU64,
    locks: AtomicU64,
}

impl Servant for Probe {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.allocations.store(alloc::local().count, Relaxed);
        self.locks.store(lock::taken().expect("tests are debug builds"), Relaxed);
        assert_eq!(upcall.find(&OPERATIONS), 0);
        self.inner.dispatch(upcall)
    }
}

#[test]
fn every_stage_is_stamped_without_allocation_or_lock() {
    only_over!(CLEAR, "rustls allocates for each record");
    // Run in a process of its own, because probes are switched on for the whole process.
    if !alone(every_stage_is_stamped_without_allocation_or_lock) {
        return;
    }
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), client(ClientConnections::Private));
    let probe = Arc::new(Probe::default());
    let object = elsewhere(&client, &server.root_poa().activate_servant(probe.clone()).unwrap());
    let pings = || (0..PINGS).for_each(|n| assert_eq!(ping(&object, n), Ok(n + 1)));
    pings();
    assert!(probe::take().is_empty(), "off until switched on");

    probe::on();
    pings(); // both threads make their rings
    probe::take();
    let server_before = (probe.allocations.load(Relaxed), probe.locks.load(Relaxed));
    let locks = lock::taken();
    let ((), used) = allocations(pings);
    assert_eq!((used.count, lock::taken()), (0, locks), "client");
    let server_after = (probe.allocations.load(Relaxed), probe.locks.load(Relaxed));
    assert_eq!(server_after, server_before, "server");
    probe::off();
    // With this call the server has ended the last one before.
    assert_eq!(ping(&object, 0), Ok(1));

    let traces = probe::take();
    for side in [ProbeSide::Client, ProbeSide::Server] {
        let expected: Vec<_> = Stage::ALL.iter().filter(|stage| stage.side() == side).collect();
        let trace = traces.iter().find(|trace| trace.records[0].stage.side() == side);
        let trace = trace.expect("a thread for each side");
        // The server's first or last call may be incomplete, because the server may still be ending
        // a call when records are taken or probes are switched off.
        assert!(whole_calls(trace, &expected) >= PINGS as usize - 1, "{trace:?}");
        assert!(trace.records.is_sorted_by_key(|record| record.at));
        assert_eq!(trace.lost, 0);
    }
    pings();
    assert!(probe::take().is_empty(), "off again");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Returns the number of complete calls: all expected stages in sequence.
fn whole_calls(trace: &Trace, expected: &[&Stage]) -> usize {
    let seen: Vec<_> = trace.records.iter().map(|record| &record.stage).collect();
    seen.windows(expected.len()).filter(|call| *call == expected).count()
}
