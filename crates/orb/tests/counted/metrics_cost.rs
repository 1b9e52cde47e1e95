//! Metrics cost a request and a call no allocation, no lock and no system call.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the path counted is that of IIOP.

use std::sync::{Arc, Mutex};

use oxorb::__gen::Op;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, Upcall};
use oxorb_core::lock;
use oxorb_testkit::alloc::{self, allocations};
use oxorb_testkit::process::test_name;
use oxorb_testkit::{syscalls, watchdog};

use crate::common::openmetrics::Page;
use crate::common::*;

static BEGIN: Op = Op::twoway("begin");
static END: Op = Op::twoway("end");
static FAIL: Op = Op::twoway("fail");

const WARM_UP: usize = 200;
const CALLS: usize = 200;

/// A [`Pinger`] that records the allocations and locks of its thread.
#[derive(Default)]
struct Probe {
    inner: Pinger,
    seen: Mutex<Vec<(u64, u64)>>,
}

impl Servant for Probe {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "begin" => {
                syscalls::begin("server");
                upcall.done()
            }
            "end" => {
                syscalls::end("server");
                upcall.done()
            }
            _ => {
                let mut seen = self.seen.lock().unwrap();
                if seen.len() < seen.capacity() {
                    let locks = lock::taken().expect("tests are debug builds");
                    seen.push((alloc::local().count, locks));
                }
                drop(seen);
                self.inner.dispatch(upcall)
            }
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// A server and a client that count, and an object.
struct Bench {
    server: Orb,
    client: Orb,
    probe: Arc<Probe>,
    object: ObjectRef,
}

impl Bench {
    fn start(concurrency: Concurrency, connections: ClientConnections) -> Bench {
        // The connection counts as busy even on a loaded machine.
        let server = transport::builder()
            .listen("iiop://127.0.0.1:0")
            .setting("Metrics", "0")
            .setting("WorkerStay", "20000")
            .concurrency(concurrency)
            .build()
            .unwrap();
        let client = transport::builder()
            .setting("Metrics", "0")
            .setting("TrustIdle", "20000")
            .client_connections(connections)
            .build()
            .unwrap();
        let probe = Arc::new(Probe::default());
        let local = server.root_poa().activate_servant(probe.clone()).unwrap();
        let object = elsewhere(&client, &local);
        (0..WARM_UP).for_each(|_| assert_eq!(ping(&object, 1), Ok(2)));
        Bench { server, client, probe, object }
    }

    /// Makes the same call many times, and returns the allocations and locks of the serving thread from the first one
    /// to the last.
    fn used_by_server(&self, call: impl Fn()) -> (u64, u64) {
        (0..WARM_UP).for_each(|_| call());
        *self.probe.seen.lock().unwrap() = Vec::with_capacity(CALLS);
        (0..CALLS).for_each(|_| call());
        let seen = self.probe.seen.lock().unwrap();
        assert_eq!(seen.len(), CALLS);
        let (first, last) = (seen[0], seen[CALLS - 1]);
        (last.0 - first.0, last.1 - first.1)
    }

    fn end(self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

const COMBINATIONS: [(Concurrency, ClientConnections); 3] = [
    (Concurrency::ThreadPerConnection, ClientConnections::Private),
    (Concurrency::LeaderFollowers { threads: 3 }, ClientConnections::Private),
    (Concurrency::Reactive, ClientConnections::Private),
];

#[test]
fn a_counted_ping_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    for (concurrency, connections) in COMBINATIONS {
        let bench = Bench::start(concurrency, connections);
        let server = bench.used_by_server(|| assert_eq!(ping(&bench.object, 1), Ok(2)));
        assert_eq!(server, (0, 0), "server, {concurrency:?}");
        let before = lock::taken().expect("tests are debug builds");
        let ((), client) = allocations(|| {
            (0..CALLS).for_each(|_| assert_eq!(ping(&bench.object, 1), Ok(2)));
        });
        let locks = lock::taken().unwrap() - before;
        assert_eq!((client.count, locks), (0, 0), "client, {concurrency:?}");
        // All of them are counted.
        let labels = [("threadpool", "0"), ("lane", "0"), ("outcome", "results")];
        let least = (WARM_UP + 2 * CALLS) as f64;
        assert!(Page::of(&bench.server).value("oxorb_requests_total", &labels) >= least);
        assert!(Page::of(&bench.client).value("oxorb_calls_total", &labels) >= least);
        bench.end();
    }
}

#[test]
fn a_counted_exception_allocates_nothing_and_takes_no_lock_on_the_server() {
    let _guard = watchdog(LONG);
    let bench = Bench::start(Concurrency::ThreadPerConnection, ClientConnections::Private);
    let server = bench.used_by_server(|| {
        call(&bench.object, &FAIL).unwrap_err();
    });
    assert_eq!(server, (0, 0));
    bench.end();
}

#[test]
fn a_counted_oneway_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    let bench = Bench::start(Concurrency::ThreadPerConnection, ClientConnections::Private);
    let send = || bench.object.reference().send(&NOTE, |_| Ok(())).unwrap();
    (0..WARM_UP).for_each(|_| send());
    let before = lock::taken().expect("tests are debug builds");
    let ((), client) = allocations(|| (0..CALLS).for_each(|_| send()));
    assert_eq!((client.count, lock::taken().unwrap() - before), (0, 0));
    bench.end();
}

#[test]
fn a_page_takes_no_lock_of_the_connections() {
    let _guard = watchdog(LONG);
    let bench = Bench::start(Concurrency::ThreadPerConnection, ClientConnections::Private);
    let before = lock::taken().expect("tests are debug builds");
    let page = bench.server.metrics();
    assert_eq!(lock::taken().unwrap() - before, 0);
    assert!(Page::parse(&page).value("oxorb_connections", &[]) >= 1.0);
    bench.end();
}

/// Each side makes one write and one read for a counted ping.
#[test]
fn two_system_calls_a_counted_ping() {
    let trace = syscalls::traced(test_name(two_system_calls_a_counted_ping), || {
        let _guard = watchdog(LONG);
        let bench = Bench::start(Concurrency::ThreadPerConnection, ClientConnections::Private);
        call(&bench.object, &BEGIN).unwrap();
        syscalls::section("client", || {
            (0..CALLS).for_each(|_| assert_eq!(ping(&bench.object, 1), Ok(2)));
        });
        call(&bench.object, &END).unwrap();
        bench.end();
    });
    let Some(trace) = trace else { return };
    assert_eq!(trace.section("client").own, [("recvfrom", CALLS), ("sendto", CALLS)]);
    // The section of the server also contains the reply to `begin` and the request of `end`.
    let of_server = [("recvfrom", CALLS + 1), ("sendto", CALLS + 1)];
    assert_eq!(trace.section("server").own, of_server);
}
