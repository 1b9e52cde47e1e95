//! Cost of a request in the steady state: no allocation, no lock, and one write and one read on
//! each side.
//!
//! The servant reads the counters of its own thread. Between two readings lies one complete cycle of the server: reply,
//! write, read, dispatch.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the tests run over all protocols.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::poa::{IdAssignment, Lifespan, Policies, RtPolicies};
use oxorb::policy::{RelativeRequestTimeout, RelativeRoundtripTimeout, SyncScope};
use oxorb::rt::{
    MessageBuffers, Priority, PriorityModel, PriorityModelPolicy, RateGroup, RequestBuffering,
    Threadpool, ThreadpoolLane,
};
use oxorb::sched::level::{Criticality, Importance};
use oxorb::sched::table::{DispatchTable, Queue, Row};
use oxorb::sched::{DispatchModel, Dispatching, RunTimeScheduler};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Builder, Interface, ObjectRef, Orb, Outcome, Servant, Upcall};
use oxorb_core::lock;
use oxorb_testkit::alloc::{self, allocations};
use oxorb_testkit::process::test_name;
use oxorb_testkit::{syscalls, watchdog};

use crate::common::*;

static BEGIN: Op = Op::twoway("begin");
static END: Op = Op::twoway("end");
static NEST: Op = Op::twoway("nest");

const WARM_UP: i64 = 200;
const PINGS: usize = 200;

/// Pairs of strategies for which the guarantees hold.
const COMBINATIONS: [(Concurrency, ClientConnections); 5] = [
    (Concurrency::ThreadPerConnection, ClientConnections::Private),
    (Concurrency::ThreadPerConnection, ClientConnections::Cached),
    (Concurrency::LeaderFollowers { threads: 3 }, ClientConnections::Private),
    (Concurrency::LeaderFollowers { threads: 3 }, ClientConnections::Cached),
    (Concurrency::Reactive, ClientConnections::Private),
];

/// Counters of the serving thread when a request ran.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Used {
    allocations: u64,
    locks: u64,
}

/// A [`Pinger`] that records allocations and locks of its thread.
struct Probe {
    inner: Pinger,
    seen: Mutex<Vec<Used>>,
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
                assert!(seen.len() < seen.capacity(), "looking must not allocate");
                seen.push(Used {
                    allocations: alloc::local().count,
                    locks: lock::taken().expect("tests are debug builds"),
                });
                drop(seen);
                self.inner.dispatch(upcall)
            }
        }
    }
}

/// A server, a client and an object, warmed up.
struct Bench {
    server: Orb,
    client: Orb,
    probe: Arc<Probe>,
    object: ObjectRef,
}

impl Bench {
    fn warm(combination: (Concurrency, ClientConnections)) -> Bench {
        Bench::warm_at(combination, |server, client, probe| {
            elsewhere(client, &server.root_poa().activate_servant(probe).unwrap())
        })
    }

    /// Warms up a bench with the object that `activate` returns for the probe.
    fn warm_at(
        combination: (Concurrency, ClientConnections),
        activate: impl FnOnce(&Orb, &Orb, Arc<Probe>) -> ObjectRef,
    ) -> Bench {
        Bench::warm_under(combination, None, activate)
    }

    /// Warms up a bench with this schedule on both sides.
    fn warm_under(
        combination: (Concurrency, ClientConnections),
        scheduler: Option<Arc<RunTimeScheduler>>,
        activate: impl FnOnce(&Orb, &Orb, Arc<Probe>) -> ObjectRef,
    ) -> Bench {
        // Use a long time, so that the connection counts as busy even on a loaded machine.
        Bench::warm_for(Duration::from_secs(20), combination, scheduler, activate)
    }

    /// Warms up a bench whose connections count as busy for this time.
    fn warm_for(
        patient: Duration,
        combination: (Concurrency, ClientConnections),
        scheduler: Option<Arc<RunTimeScheduler>>,
        activate: impl FnOnce(&Orb, &Orb, Arc<Probe>) -> ObjectRef,
    ) -> Bench {
        let endpoint = "iiop://127.0.0.1:0";
        Bench::warm_over(endpoint, patient, combination, scheduler, activate)
    }

    /// Warms up a bench over another protocol.
    fn warm_over(
        endpoint: &str,
        patient: Duration,
        combination: (Concurrency, ClientConnections),
        scheduler: Option<Arc<RunTimeScheduler>>,
        activate: impl FnOnce(&Orb, &Orb, Arc<Probe>) -> ObjectRef,
    ) -> Bench {
        let server = transport::builder().listen(endpoint);
        Bench::warm_server(server, patient, combination, scheduler, activate)
    }

    /// Warms up a bench with a server of this builder.
    fn warm_server(
        server: Builder,
        patient: Duration,
        (concurrency, connections): (Concurrency, ClientConnections),
        scheduler: Option<Arc<RunTimeScheduler>>,
        activate: impl FnOnce(&Orb, &Orb, Arc<Probe>) -> ObjectRef,
    ) -> Bench {
        let server = server
            .concurrency(concurrency)
            .configure(|options| {
                options.worker_stay = patient;
                options.realtime.scheduler = scheduler.clone();
            })
            .build()
            .unwrap();
        let client = transport::builder()
            .client_connections(connections)
            .configure(|options| {
                options.trust_idle = patient;
                options.realtime.scheduler = scheduler;
            })
            .build()
            .unwrap();
        let probe = Arc::new(Probe {
            inner: Pinger::default(),
            seen: Mutex::new(Vec::with_capacity(WARM_UP as usize + 10 * PINGS)),
        });
        let object = activate(&server, &client, probe.clone());
        for n in 0..WARM_UP {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
        probe.seen.lock().unwrap().clear();
        Bench { server, client, probe, object }
    }

    fn pings(&self) {
        for n in 0..PINGS as i64 {
            assert_eq!(ping(&self.object, n), Ok(n + 1));
        }
    }

    /// Returns the allocations and locks of the serving thread from the first recorded ping to the
    /// last.
    fn server_used(&self) -> Used {
        let seen = self.probe.seen.lock().unwrap();
        let (first, last) = (seen[0], seen[seen.len() - 1]);
        assert_eq!(seen.len(), PINGS);
        Used { allocations: last.allocations - first.allocations, locks: last.locks - first.locks }
    }

    fn end(self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

#[test]
fn a_ping_allocates_nothing_on_either_side() {
    let _guard = watchdog(LONG);
    for combination in COMBINATIONS {
        let bench = Bench::warm(combination);
        let ((), client) = allocations(|| bench.pings());
        assert_eq!(client.count, 0, "client, {combination:?}");
        assert_eq!(bench.server_used().allocations, 0, "server, {combination:?}");
        bench.end();
    }
}

/// Requests carry the time limits, which the client writes and the server reads.
#[test]
fn a_ping_under_policies_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    let mut bench = Bench::warm(COMBINATIONS[0]);
    let patient = Duration::from_secs(3600);
    bench.object = bench
        .object
        .with(RelativeRoundtripTimeout(patient))
        .with(RelativeRequestTimeout(patient))
        .with(SyncScope::WithServer);
    bench.pings();
    bench.probe.seen.lock().unwrap().clear();
    let before = lock::taken().expect("tests are debug builds");
    let ((), client) = allocations(|| bench.pings());
    assert_eq!(client.count, 0, "client");
    assert_eq!(lock::taken().unwrap() - before, 0, "client");
    let server = bench.server_used();
    assert_eq!((server.allocations, server.locks), (0, 0), "server");
    bench.end();
}

fn named(server: &Orb, client: &Orb, probe: Arc<Probe>) -> ObjectRef {
    let local = ObjectRef::from_ref(server.root_poa().activate_servant(probe).unwrap());
    server.bind("probe", &local);
    let url = transport::url(&[&address(&local)], "probe");
    client.string_to_object(&url).unwrap()
}

fn persistent(server: &Orb, client: &Orb, probe: Arc<Probe>) -> ObjectRef {
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("steady", policies).unwrap();
    let local = poa.activate_servant_with_id(&"probe".into(), probe).unwrap();
    elsewhere(client, &local)
}

#[test]
fn objects_found_by_name_or_id_allocate_nothing_either() {
    let _guard = watchdog(LONG);
    for activate in [named, persistent] {
        let bench = Bench::warm_at(COMBINATIONS[0], activate);
        let ((), client) = allocations(|| bench.pings());
        assert_eq!(client.count, 0, "client");
        assert_eq!(bench.server_used().allocations, 0, "server");
        bench.end();
    }
}

#[test]
fn an_object_found_by_name_or_id_takes_no_lock() {
    let _guard = watchdog(LONG);
    for activate in [named as fn(&Orb, &Orb, Arc<Probe>) -> ObjectRef, persistent] {
        let bench = Bench::warm_at(COMBINATIONS[0], activate);
        bench.pings();
        assert_eq!(bench.server_used().locks, 0);
        bench.end();
    }
}

/// Every lock of core and POA is counted per thread (`oxorb_core::lock`); the crates below take
/// none on this path.
#[test]
fn a_scheduled_ping_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    let row = Row {
        name: "test::Pinger::ping".into(),
        os_priority: 40,
        queue: 0,
        subpriority: 0,
        // Longer than any request here takes on a busy machine: an overrun would be logged.
        worst_case: 4_000_000_000,
        period: 5_000_000_000,
        deadline: 5_000_000_000,
        criticality: Criticality::High,
        importance: Importance::Low,
        critical: true,
    };
    let queue = Queue { os_priority: 40, dispatching: Dispatching::Static };
    let table = DispatchTable::new(DispatchModel::Band, vec![row], vec![queue]).unwrap();
    let combination = (Concurrency::ThreadPerConnection, ClientConnections::Private);
    for measure in [false, true] {
        let mut scheduler = RunTimeScheduler::new(table.clone());
        scheduler.measure = measure;
        let scheduler = Some(Arc::new(scheduler));
        let bench = Bench::warm_under(combination, scheduler, |server, client, probe| {
            elsewhere(client, &server.root_poa().activate_servant(probe).unwrap())
        });
        let before = lock::taken().expect("tests are debug builds");
        let ((), client) = allocations(|| bench.pings());
        assert_eq!(client.count, 0, "client, measured: {measure}");
        assert_eq!(lock::taken().unwrap() - before, 0, "client, measured: {measure}");
        let server = bench.server_used();
        assert_eq!((server.allocations, server.locks), (0, 0), "server, measured: {measure}");
        bench.end();
    }
}

/// Endpoints of protocols other than IIOP.
const OTHERS: [&str; 9] = [
    "giop-lite-rt+tcp://127.0.0.1:0",
    "giop-lite-rt+unix://",
    "giop-lite-rt+mem://",
    "giop-lite+tcp://127.0.0.1:0",
    "giop-lite+unix://",
    "giop-lite+mem://",
    "uiop://",
    "mem://",
    "diop://127.0.0.1:0",
];

/// Returns a warm bench over another protocol.
fn warm_other(endpoint: &str, combination: (Concurrency, ClientConnections)) -> Bench {
    let patient = Duration::from_secs(20);
    Bench::warm_over(endpoint, patient, combination, None, |server, client, probe| {
        elsewhere(client, &server.root_poa().activate_servant(probe).unwrap())
    })
}

#[test]
fn a_ping_over_other_protocols_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    for endpoint in OTHERS {
        for combination in COMBINATIONS {
            let bench = warm_other(endpoint, combination);
            let before = lock::taken().expect("tests are debug builds");
            let ((), client) = allocations(|| bench.pings());
            let taken = (lock::taken().unwrap() - before) as usize;
            let allowed = match combination.1 {
                ClientConnections::Private => 0,
                // A call takes the lock once to take an idle connection, and once to put it back.
                _ => 2 * PINGS,
            };
            assert_eq!((client.count, taken), (0, allowed), "client, {endpoint}, {combination:?}");
            let server = bench.server_used();
            assert_eq!(
                (server.allocations, server.locks),
                (0, 0),
                "server, {endpoint}, {combination:?}"
            );
            bench.end();
        }
    }
}

/// Tests that each side makes one write and one read per ping, over sockets and with every message format. GIOP over
/// TCP is counted for each combination below.
macro_rules! two_system_calls {
    ($($test:ident: $endpoint:literal, $combination:expr;)+) => {$(
        #[test]
        fn $test() {
            two_calls(test_name($test), $endpoint, || warm_other($endpoint, $combination));
        }
    )+};
}

two_system_calls! {
    two_system_calls_a_ping_over_uiop: "uiop://", COMBINATIONS[0];
    two_system_calls_a_ping_over_uiop_of_a_lane: "uiop://", COMBINATIONS[3];
    two_system_calls_a_ping_over_datagrams: "diop://127.0.0.1:0", COMBINATIONS[0];
    two_system_calls_a_ping_over_datagrams_of_a_lane: "diop://127.0.0.1:0", COMBINATIONS[3];
    two_system_calls_a_ping_over_giop_lite_tcp: "giop-lite+tcp://127.0.0.1:0", COMBINATIONS[0];
    two_system_calls_a_ping_over_giop_lite_tcp_of_a_lane: "giop-lite+tcp://127.0.0.1:0", COMBINATIONS[3];
    two_system_calls_a_ping_over_giop_lite_unix: "giop-lite+unix://", COMBINATIONS[0];
    two_system_calls_a_ping_over_giop_lite_unix_of_a_lane: "giop-lite+unix://", COMBINATIONS[3];
    two_system_calls_a_ping_over_giop_lite_rt_tcp: "giop-lite-rt+tcp://127.0.0.1:0", COMBINATIONS[0];
    two_system_calls_a_ping_over_giop_lite_rt_tcp_of_a_lane: "giop-lite-rt+tcp://127.0.0.1:0", COMBINATIONS[3];
    two_system_calls_a_ping_over_giop_lite_rt_unix: "giop-lite-rt+unix://", COMBINATIONS[0];
    two_system_calls_a_ping_over_giop_lite_rt_unix_of_a_lane: "giop-lite-rt+unix://", COMBINATIONS[3];
}

/// Tests that threads make no system calls over memory except to wait for and wake each other.
macro_rules! only_waits {
    ($($test:ident: $endpoint:literal;)+) => {$(
        #[test]
        fn $test() {
            let trace = syscalls::traced(test_name($test), || {
                let _guard = watchdog(LONG);
                let bench = warm_other($endpoint, COMBINATIONS[0]);
                call(&bench.object, &BEGIN).unwrap();
                syscalls::section("client", || bench.pings());
                call(&bench.object, &END).unwrap();
                bench.end();
            });
            let Some(trace) = trace else { return };
            for side in ["client", "server"] {
                let own = &trace.section(side).own;
                assert_eq!(own.of("futex"), own.total(), "{side}: {own:?}");
                // A ping makes one call to wake the peer, one to wait for it, and at most two for the lock that the
                // peer holds while it wakes this thread.
                assert!(own.total() <= 4 * (PINGS + 1), "{side}: {own:?}");
            }
        }
    )+};
}

only_waits! {
    a_ping_over_memory_only_waits: "mem://";
    a_ping_over_giop_lite_mem_only_waits: "giop-lite+mem://";
    a_ping_over_giop_lite_rt_mem_only_waits: "giop-lite-rt+mem://";
}

#[test]
fn a_ping_takes_no_lock_but_the_one_of_cached_connections() {
    let _guard = watchdog(LONG);
    for combination in COMBINATIONS {
        let bench = Bench::warm(combination);
        let before = lock::taken().expect("tests are debug builds");
        bench.pings();
        let client = (lock::taken().unwrap() - before) as usize;
        let allowed = match combination.1 {
            ClientConnections::Private => 0,
            // A call takes the lock once to take an idle connection, and once to put it back.
            ClientConnections::Cached => 2 * PINGS,
            shared => unreachable!("{shared:?} promises nothing of the kind"),
        };
        assert_eq!(client, allowed, "client, {combination:?}");
        assert_eq!(bench.server_used().locks, 0, "server, {combination:?}");
        bench.end();
    }
}

/// Locks per call over a shared connection: for the right to write, to register the call, and to check for its answer;
/// with `LeaderFollowers`, one more to distribute the answers that the caller has read.
const SHARED: [(ClientConnections, usize); 2] =
    [(ClientConnections::Multiplexed, 3), (ClientConnections::LeaderFollowers, 4)];

#[test]
fn a_ping_over_a_shared_connection_allocates_nothing_and_takes_few_locks() {
    let _guard = watchdog(LONG);
    for (connections, locks) in SHARED {
        let bench = Bench::warm((Concurrency::ThreadPerConnection, connections));
        let rounds = [(); 5].map(|()| {
            bench.probe.seen.lock().unwrap().clear();
            let before = lock::taken().expect("tests are debug builds");
            let ((), client) = allocations(|| bench.pings());
            let taken = (lock::taken().unwrap() - before) as usize;
            assert_eq!(client.count, 0, "{connections:?}");
            let server = bench.server_used();
            assert_eq!((server.allocations, server.locks), (0, 0), "server");
            taken
        });
        // If a reply arrives before the thread sleeps, a wake token remains, with which the next wait returns at once
        // and takes the lock in vain. On a loaded machine this may happen often, but not in all rounds.
        let fewest = rounds.into_iter().min().expect("several rounds");
        let most = PINGS * locks + PINGS / 10;
        assert!(
            (PINGS * locks..=most).contains(&fewest),
            "{connections:?}: {rounds:?} locks in {PINGS} pings"
        );
        bench.end();
    }
}

#[test]
fn the_lock_count_sees_a_lock() {
    let before = lock::taken().unwrap();
    drop(lock::Mutex::new(7).lock());
    assert_eq!(lock::taken().unwrap(), before + 1);
}

/// Configuration of a threadpool, with the priority model of its POA.
#[derive(Clone, Copy, Debug)]
enum Pool {
    /// A server-declared priority, on one lane.
    Declared,
    /// Two lanes, chosen by the client's priority.
    Propagated,
    /// Dynamic threads.
    Dynamic,
    /// Borrowing of threads from lower lanes.
    Borrowing,
    /// Request buffering.
    Buffering,
    /// All features together, none of them in use.
    Everything,
    /// Preallocated message buffers.
    Buffers,
    /// Rate groups.
    Rates,
    /// Threads without lanes, which take the priority of each request.
    Plain,
}

const POOLS: [Pool; 9] = [
    Pool::Declared,
    Pool::Propagated,
    Pool::Dynamic,
    Pool::Borrowing,
    Pool::Buffering,
    Pool::Everything,
    Pool::Buffers,
    Pool::Rates,
    Pool::Plain,
];

/// Returns a warm bench with private connections and a threadpool.
fn warm_pool(pool: Pool) -> Bench {
    warm_pool_of(transport::builder(), pool)
}

/// Returns a warm bench as [`warm_pool`] does, whose lanes share the port of the server.
fn warm_pool_at_one_port(pool: Pool) -> Bench {
    warm_pool_of(transport::builder().lanes_on_one_port(true), pool)
}

fn warm_pool_of(server: Builder, pool: Pool) -> Bench {
    let combination = (Concurrency::ThreadPerConnection, ClientConnections::Private);
    let server = server.listen("iiop://127.0.0.1:0");
    // Use a long time, so that the connection counts as busy even on a loaded machine.
    let patient = Duration::from_secs(20);
    Bench::warm_server(server, patient, combination, None, |server, client, probe| {
        let priority = |value| Priority::new(value).unwrap();
        let lanes = || [10, 20].map(|value| ThreadpoolLane::new(priority(value), 2));
        let with_lanes = || Threadpool::with_lanes(lanes());
        let dynamic = || lanes().map(|lane| lane.dynamic_threads(2));
        let buffers = MessageBuffers { connections: 2, octets: 4096 };
        let plan = match pool {
            Pool::Declared | Pool::Propagated => with_lanes(),
            Pool::Dynamic => Threadpool::with_lanes(dynamic()),
            Pool::Borrowing => with_lanes().allow_borrowing(),
            Pool::Buffering => with_lanes().buffering(RequestBuffering::default()),
            Pool::Everything => Threadpool::with_lanes(dynamic())
                .allow_borrowing()
                .buffering(RequestBuffering::default()),
            Pool::Buffers => with_lanes().message_buffers(buffers),
            Pool::Rates => Threadpool::rate_groups([RateGroup::hz(20, 2), RateGroup::hz(1, 2)]),
            Pool::Plain => Threadpool::new(2),
        };
        let model = match pool {
            Pool::Propagated | Pool::Plain => PriorityModel::ClientPropagated,
            _ => PriorityModel::ServerDeclared,
        };
        let pool = server.create_threadpool(plan).unwrap();
        let priorities = server.threadpool(pool).unwrap().priorities;
        let urgent = priorities.into_iter().max().unwrap().max(priority(20));
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy { model, server_priority: urgent.get() }),
            ..RtPolicies::default()
        };
        let policies = Policies { realtime, ..Policies::default() };
        let poa = server.root_poa().create_poa("lanes", policies).unwrap();
        client.set_thread_priority(urgent).unwrap();
        elsewhere(client, &poa.activate_servant(probe).unwrap())
    })
}

#[test]
fn a_ping_to_a_lane_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    for pool in POOLS {
        let bench = warm_pool(pool);
        let before = lock::taken().expect("tests are debug builds");
        let ((), client) = allocations(|| bench.pings());
        assert_eq!(client.count, 0, "client, {pool:?}");
        assert_eq!(lock::taken().unwrap() - before, 0, "client, {pool:?}");
        let server = bench.server_used();
        assert_eq!((server.allocations, server.locks), (0, 0), "server, {pool:?}");
        bench.end();
    }
}

#[test]
fn a_ping_to_a_lane_at_a_shared_port_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    for pool in POOLS {
        let bench = warm_pool_at_one_port(pool);
        bench.pings();
        let server = bench.server_used();
        assert_eq!((server.allocations, server.locks), (0, 0), "server, {pool:?}");
        bench.end();
    }
}

#[test]
fn two_system_calls_a_ping_lane_at_a_shared_port() {
    let test = test_name(two_system_calls_a_ping_lane_at_a_shared_port);
    two_calls(test, Pool::Propagated, || warm_pool_at_one_port(Pool::Propagated));
}

#[test]
fn two_system_calls_a_ping_lane() {
    two_calls(test_name(two_system_calls_a_ping_lane), Pool::Propagated, || {
        warm_pool(Pool::Propagated)
    });
}

#[test]
fn two_system_calls_a_ping_lane_with_everything() {
    two_calls(test_name(two_system_calls_a_ping_lane_with_everything), Pool::Everything, || {
        warm_pool(Pool::Everything)
    });
}

#[test]
fn two_system_calls_a_ping_lane_that_buffers() {
    two_calls(test_name(two_system_calls_a_ping_lane_that_buffers), Pool::Buffering, || {
        warm_pool(Pool::Buffering)
    });
}

#[test]
fn two_system_calls_a_ping_lane_that_borrows() {
    two_calls(test_name(two_system_calls_a_ping_lane_that_borrows), Pool::Borrowing, || {
        warm_pool(Pool::Borrowing)
    });
}

#[test]
fn two_system_calls_a_ping_lane_with_dynamic_threads() {
    two_calls(test_name(two_system_calls_a_ping_lane_with_dynamic_threads), Pool::Dynamic, || {
        warm_pool(Pool::Dynamic)
    });
}

#[test]
fn two_system_calls_a_ping_rate_group() {
    two_calls(test_name(two_system_calls_a_ping_rate_group), Pool::Rates, || {
        warm_pool(Pool::Rates)
    });
}

#[test]
fn two_system_calls_a_ping_pool_without_lanes() {
    two_calls(test_name(two_system_calls_a_ping_pool_without_lanes), Pool::Plain, || {
        warm_pool(Pool::Plain)
    });
}

fn two_calls_each(test: &str, combination: (Concurrency, ClientConnections)) {
    two_calls(test, combination, || Bench::warm(combination));
}

/// Returns a bench and a second, idle connection. With two connections, no thread stays with one of them.
fn beside_another(combination: (Concurrency, ClientConnections)) -> (Bench, Orb) {
    let stay = Duration::from_millis(1);
    let bench = Bench::warm_for(stay, combination, None, |server, client, probe| {
        elsewhere(client, &server.root_poa().activate_servant(probe).unwrap())
    });
    let other = Orb::builder().build().unwrap();
    let same = elsewhere(&other, bench.object.reference());
    assert_eq!(ping(&same, 1), Ok(2));
    bench.pings();
    bench.probe.seen.lock().unwrap().clear();
    (bench, other)
}

/// A thread that waits alone need not rearm the connection it has served, nor read until nothing is left.
#[test]
fn three_system_calls_a_ping_reactive_beside_another_connection() {
    let test = test_name(three_system_calls_a_ping_reactive_beside_another_connection);
    let trace = syscalls::traced(test, || {
        let _guard = watchdog(LONG);
        let (bench, other) = beside_another(COMBINATIONS[4]);
        call(&bench.object, &BEGIN).unwrap();
        bench.pings();
        call(&bench.object, &END).unwrap();
        other.shutdown(true).unwrap();
        bench.end();
    });
    let Some(trace) = trace else { return };
    let own = &trace.section("server").own;
    // On a loaded machine the thread may wait in vain for a while before a request comes.
    let waits = own.of("epoll_pwait");
    assert!((PINGS + 1..=PINGS + WAITS_IN_VAIN).contains(&waits), "{own:?}");
    assert_eq!((own.of("recvfrom"), own.of("sendto")), (PINGS + 1, PINGS + 1), "{own:?}");
    assert_eq!(own.total(), waits + 2 * (PINGS + 1), "{own:?}");
}

/// A worker pool with one worker.
const POOL: Concurrency = Concurrency::WorkerPool { threads: 1, queue: 16 };

/// System calls of threads that wait for so long that they look whether they have to end, on a loaded machine.
const WAITS_IN_VAIN: usize = PINGS / 10;

/// Counts the system calls of a ping, client and server together, where one thread reads and others serve: one write on
/// each side, bounded numbers of the calls in `others`, and a bounded total.
fn bounded_calls(test: &str, concurrency: Concurrency, others: &[(&str, usize)], in_all: usize) {
    let trace = syscalls::traced(test, || {
        let _guard = watchdog(LONG);
        let bench = Bench::warm((concurrency, ClientConnections::Private));
        syscalls::section("pings", || bench.pings());
        bench.end();
    });
    let Some(trace) = trace else { return };
    let all = &trace.section("pings").all;
    // System calls that other threads make at the beginning or end of a section may or may not be counted.
    assert!(all.of("sendto").abs_diff(2 * PINGS) <= 2, "{all:?}");
    for (call, most) in others {
        assert!(all.of(call) <= most * PINGS + WAITS_IN_VAIN, "{call}: {all:?}");
    }
    assert!(all.total() <= in_all * PINGS + WAITS_IN_VAIN, "{all:?}");
}

/// The reader waits at the reactor and wakes the worker if it sleeps. (The third `recvfrom` finds nothing: the reader
/// had waited for the previous request and may wait no longer. The third `futex` occurs only when a thread finds the
/// queue locked.)
#[test]
fn a_worker_pool_takes_few_system_calls() {
    let others = [("epoll_pwait", 1), ("recvfrom", 3), ("futex", 3)];
    bounded_calls(test_name(a_worker_pool_takes_few_system_calls), POOL, &others, 8);
}

/// A thread costs some 18 system calls, which the C library and Rust make at its start and end.
#[test]
fn a_thread_for_each_request_takes_a_bounded_number_of_system_calls() {
    let test = test_name(a_thread_for_each_request_takes_a_bounded_number_of_system_calls);
    let concurrency = Concurrency::ThreadPerRequest { threads: 8 };
    bounded_calls(test, concurrency, &[("clone3", 1), ("futex", 6)], 32);
}

/// Takes one lock each to write, to deregister the request, to leave the connection, and to take the next request; one
/// more after a sleep.
#[test]
fn a_worker_of_a_pool_allocates_nothing_and_takes_few_locks() {
    let _guard = watchdog(LONG);
    let bench = Bench::warm((POOL, ClientConnections::Private));
    bench.pings();
    let used = bench.server_used();
    assert_eq!(used.allocations, 0);
    assert!(used.locks <= 5 * PINGS as u64, "{used:?}");
    bench.end();
}

/// Counts the system calls of `combination` in a separate process, which runs only the named test.
fn two_calls(test: &str, combination: impl Debug, warm: impl FnOnce() -> Bench) {
    let trace = syscalls::traced(test, || {
        let _guard = watchdog(LONG);
        let bench = warm();
        call(&bench.object, &BEGIN).unwrap();
        syscalls::section("client", || bench.pings());
        call(&bench.object, &END).unwrap();
        bench.end();
    });
    let Some(trace) = trace else { return };
    assert_eq!(
        trace.section("client").own,
        [("recvfrom", PINGS), ("sendto", PINGS)],
        "client, {combination:?}"
    );
    // The section of the server also contains the reply to `begin` and the request of `end`.
    assert_eq!(
        trace.section("server").own,
        [("recvfrom", PINGS + 1), ("sendto", PINGS + 1)],
        "server, {combination:?}"
    );
}

/// Servant that pings another object.
struct Nesting(ObjectRef);

impl Nesting {
    fn pings(&self, count: i64) {
        for n in 0..count {
            assert_eq!(ping(&self.0, n), Ok(n + 1));
        }
    }
}

impl Servant for Nesting {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.pings(WARM_UP);
        syscalls::section("nested", || self.pings(PINGS as i64));
        upcall.done()
    }
}

/// A thread that serves a connection watches it while it waits for a reply.
#[test]
fn three_system_calls_a_ping_of_a_servant() {
    let trace = syscalls::traced(test_name(three_system_calls_a_ping_of_a_servant), || {
        let _guard = watchdog(LONG);
        let bench = Bench::warm(COMBINATIONS[0]);
        let middle = transport::builder()
            .listen("iiop://127.0.0.1:0")
            .concurrency(Concurrency::ThreadPerConnection)
            .client_connections(ClientConnections::Private)
            .configure(|options| options.trust_idle = Duration::from_secs(20))
            .build()
            .unwrap();
        let servant = Arc::new(Nesting(elsewhere(&middle, bench.object.reference())));
        let nesting = middle.root_poa().activate_servant(servant).unwrap();
        call(&elsewhere(&bench.client, &nesting), &NEST).unwrap();
        middle.shutdown(true).unwrap();
        bench.end();
    });
    let Some(trace) = trace else { return };
    let expected = [("ppoll", PINGS), ("recvfrom", PINGS), ("sendto", PINGS)];
    assert_eq!(trace.section("nested").own, expected);
}

#[test]
fn two_system_calls_a_ping_private_thread_per_connection() {
    two_calls_each(
        test_name(two_system_calls_a_ping_private_thread_per_connection),
        COMBINATIONS[0],
    );
}

#[test]
fn two_system_calls_a_ping_cached_thread_per_connection() {
    two_calls_each(
        test_name(two_system_calls_a_ping_cached_thread_per_connection),
        COMBINATIONS[1],
    );
}

#[test]
fn two_system_calls_a_ping_private_leader_followers() {
    two_calls_each(test_name(two_system_calls_a_ping_private_leader_followers), COMBINATIONS[2]);
}

#[test]
fn two_system_calls_a_ping_cached_leader_followers() {
    two_calls_each(test_name(two_system_calls_a_ping_cached_leader_followers), COMBINATIONS[3]);
}

#[test]
fn two_system_calls_a_ping_private_reactive() {
    two_calls_each(test_name(two_system_calls_a_ping_private_reactive), COMBINATIONS[4]);
}
