//! Metrics: what an ORB counts, as OpenMetrics text over HTTP.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::policy::{RelativeRoundtripTimeout, Retry, SyncScope};
use oxorb::rt::{SchedulingClass, Threadpool};
use oxorb::sched::level::{Criticality, Importance};
use oxorb::sched::table::{DispatchTable, Queue, Row};
use oxorb::sched::{DispatchModel, Dispatching, ModuleSettings, RunTimeScheduler};
use oxorb::servant::ServantError;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    Builder, CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall,
};
use oxorb_cdr::{Encoder, Result as CdrResult};
use oxorb_object::minor;
use oxorb_testkit::watchdog;

use crate::common::openmetrics::Page;
use crate::common::worker::{lane, lane_poa};
use crate::common::*;

static FAIL: Op = Op::twoway("fail");
static REFUSE: Op = Op::twoway("refuse");
static UNKNOWN: Op = Op::twoway("unknown");

/// Labels of all threads outside threadpools.
const OUTSIDE: [(&str, &str); 2] = [("threadpool", "0"), ("lane", "0")];

/// Returns labels with an outcome.
fn ended<'l>(lane: [(&'l str, &'l str); 2], outcome: &'l str) -> [(&'l str, &'l str); 3] {
    [lane[0], lane[1], ("outcome", outcome)]
}

fn with_metrics(builder: Builder) -> Orb {
    builder.setting("Metrics", "0").build().unwrap()
}

/// User exception without members.
struct Refused;

impl ServantError for Refused {
    fn system(&self) -> Option<SystemException> {
        None
    }

    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        e.string("IDL:test/Refused:1.0")
    }
}

/// A [`Pinger`] that raises a user exception for `refuse`.
#[derive(Default)]
struct Raiser(Pinger);

impl Servant for Raiser {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "refuse" => upcall.raise(&Refused),
            _ => self.0.dispatch(upcall),
        }
    }
}

#[test]
fn a_page_counts_requests_calls_and_exceptions_by_their_outcome() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = with_metrics(transport::listening());
        let client = with_metrics(transport::builder().client_connections(sharing));
        let servant = Arc::new(Raiser::default());
        let local = server.root_poa().activate_servant(servant.clone()).unwrap();
        let object = elsewhere(&client, &local);
        for n in 0..5 {
            assert_eq!(ping(&object, n), Ok(n + 1));
        }
        for _ in 0..2 {
            call(&object, &FAIL).unwrap_err();
        }
        call(&object, &UNKNOWN).unwrap_err();
        call(&object, &REFUSE).unwrap_err();
        object.reference().send(&NOTE, |_| Ok(())).unwrap();
        let results = ended(OUTSIDE, "results");
        // The note is counted after the servant has returned.
        until("the note is counted", || {
            Page::of(&server).value("oxorb_requests_total", &results) == 6.0
        });
        assert_eq!(servant.0.notes.load(Ordering::SeqCst), 1);
        let page = Page::of(&server);
        for (outcome, count) in
            [("user_exception", 1.0), ("system_exception", 3.0), ("forward", 0.0), ("refused", 0.0)]
        {
            let labels = ended(OUTSIDE, outcome);
            assert_eq!(page.value("oxorb_requests_total", &labels), count, "{outcome}");
        }
        let denied = [("exception", "NO_PERMISSION"), ("minor", "0x00000007")];
        assert_eq!(page.value("oxorb_request_exceptions_total", &denied), 2.0);
        assert_eq!(page.sum("oxorb_request_exceptions_total", &[]), 3.0);
        assert_eq!(page.value("oxorb_request_duration_seconds_count", &OUTSIDE), 10.0);
        assert!(page.value("oxorb_request_duration_seconds_sum", &OUTSIDE) > 0.0);
        assert!(page.value("oxorb_connections_accepted_total", &[]) >= 1.0);

        let page = Page::of(&client);
        for (outcome, count) in [
            ("results", 5.0),
            ("user_exception", 1.0),
            ("system_exception", 3.0),
            ("sent", 1.0),
            ("abandoned", 0.0),
        ] {
            let labels = ended(OUTSIDE, outcome);
            assert_eq!(page.value("oxorb_calls_total", &labels), count, "{outcome}, {sharing:?}");
        }
        assert_eq!(page.value("oxorb_call_exceptions_total", &denied), 2.0);
        assert_eq!(page.value("oxorb_call_duration_seconds_count", &OUTSIDE), 9.0);
        assert_eq!(page.find("oxorb_requests_total", &results), Some(0.0));
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn asynchronous_calls_are_counted_when_their_callers_see_the_answer() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = with_metrics(transport::builder());
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    let mut first = ping_async(&object, 1);
    until("the answer comes", || first.is_ready());
    assert_eq!(first.wait(), Ok(2));
    let failed =
        object.reference().invoke_async::<(), SystemException>(&FAIL, |_| Ok(()), |_| Ok(()));
    failed.wait().unwrap_err();
    // Nobody looks at the exception of this call, whose arguments cannot be encoded.
    drop(object.reference().invoke_async::<(), SystemException>(
        &FAIL,
        |e| e.length(2, Some(1)),
        |_| Ok(()),
    ));
    let gate = servant.gate.lock().unwrap();
    let waits =
        object.reference().invoke_async::<(), SystemException>(&WAIT, |_| Ok(()), |_| Ok(()));
    servant.until_at_gate(1);
    drop(waits);
    drop(gate);
    let page = Page::of(&client);
    for (outcome, count) in [("results", 1.0), ("system_exception", 2.0), ("abandoned", 1.0)] {
        assert_eq!(page.value("oxorb_calls_total", &ended(OUTSIDE, outcome)), count, "{outcome}");
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_oneway_that_panics_after_its_acknowledgement_is_counted() {
    static PANIC: Op = Op::oneway("panic");
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening());
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    object.reference().with(SyncScope::WithServer).send(&PANIC, |_| Ok(())).unwrap();
    let raised = ended(OUTSIDE, "system_exception");
    until("the request is counted", || {
        Page::of(&server).find("oxorb_requests_total", &raised) == Some(1.0)
    });
    assert_eq!(Page::of(&server).sum("oxorb_request_exceptions_total", &[]), 1.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn each_lane_has_counts_of_its_own() {
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening());
    let client = transport::builder().build().unwrap();
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(4, 1), lane(9, 1)])).unwrap();
    let local = lane_poa(&server, pool, 9).activate_servant(Arc::new(Pinger::default())).unwrap();
    let object = elsewhere(&client, &local);
    for n in 0..3 {
        assert_eq!(ping(&object, n), Ok(n + 1));
    }
    let page = Page::of(&server);
    let number = pool.0.to_string();
    let lane = |lane| [("threadpool", number.as_str()), ("lane", lane)];
    assert_eq!(page.value("oxorb_requests_total", &ended(lane("1"), "results")), 3.0);
    assert_eq!(page.find("oxorb_requests_total", &ended(lane("0"), "results")), None);
    for (index, priority) in [("0", 4.0), ("1", 9.0)] {
        assert_eq!(page.value("oxorb_lane_priority", &lane(index)), priority);
        assert!(page.find("oxorb_lane_threads_waiting", &lane(index)).is_some());
        assert_eq!(page.value("oxorb_lane_threads_dynamic", &lane(index)), 0.0);
    }
    assert!(page.value("oxorb_threads", &[("purpose", "Lane")]) >= 2.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn queues_show_how_many_requests_wait() {
    let _guard = watchdog(LONG);
    let workers = Concurrency::WorkerPool { threads: 1, queue: 8 };
    let server = with_metrics(transport::listening().concurrency(workers));
    let client = client(ClientConnections::Cached);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    let gate = servant.gate.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| call(&object, &WAIT).unwrap());
        servant.until_at_gate(1);
        scope.spawn(|| call(&object, &WAIT).unwrap());
        until("a request waits in the queue", || {
            Page::of(&server).value("oxorb_lane_queue_requests", &OUTSIDE) == 1.0
        });
        drop(gate);
    });
    let page = Page::of(&server);
    assert_eq!(page.value("oxorb_lane_queue_requests", &OUTSIDE), 0.0);
    assert_eq!(page.value("oxorb_lane_queue_limit_requests", &OUTSIDE), 8.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn requests_refused_before_their_dispatch_are_counted() {
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening().setting("MaxRequestsPerClient", "1"));
    let client = client(ClientConnections::Cached);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    let gate = servant.gate.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| call(&object, &WAIT).unwrap());
        servant.until_at_gate(1);
        let exception = ping(&object, 1).unwrap_err();
        assert_eq!(exception.minor, minor::transient::TOO_MANY_REQUESTS);
        drop(gate);
    });
    let page = Page::of(&server);
    assert_eq!(page.value("oxorb_requests_total", &ended(OUTSIDE, "refused")), 1.0);
    let code = format!("0x{:08x}", minor::transient::TOO_MANY_REQUESTS);
    let labels = [("exception", "TRANSIENT"), ("minor", code.as_str())];
    assert_eq!(page.value("oxorb_request_exceptions_total", &labels), 1.0);
    let incident = [("incident", "TooManyRequests"), ("level", "warn")];
    assert_eq!(page.value("oxorb_incidents_total", &incident), 1.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn requests_that_end_after_their_deadline_are_counted() {
    only_over!(CONTEXTS, "the deadline travels in a service context");
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening());
    let client = with_metrics(transport::builder());
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2));
    let missed = || Page::of(&server).value("oxorb_request_deadlines_missed_total", &OUTSIDE);
    assert_eq!(missed(), 0.0);
    let hasty = object.with(RelativeRoundtripTimeout(SHORT / 5));
    // On a loaded machine the time may be over before a request is sent, or before it is served.
    until("a late request ends", || {
        call(&hasty, &SLEEP).unwrap_err();
        missed() >= 1.0
    });
    assert!(
        Page::of(&client).sum("oxorb_call_exceptions_total", &[("exception", "TIMEOUT")]) >= 1.0
    );
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Servant that forwards all requests to another object.
struct Forwarder(ObjectRef);

impl Servant for Forwarder {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.forward(self.0.reference())
    }
}

#[test]
fn a_call_that_is_forwarded_is_one_call_and_two_requests() {
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening());
    let client = with_metrics(transport::builder());
    let poa = server.root_poa();
    let there = poa.activate_servant(Arc::new(Pinger::default())).unwrap();
    let here = poa.activate_servant(Arc::new(Forwarder(ObjectRef::from_ref(there)))).unwrap();
    let object = elsewhere(&client, &here);
    assert_eq!(ping(&object, 1), Ok(2));
    let page = Page::of(&server);
    for (outcome, count) in [("forward", 1.0), ("results", 1.0), ("system_exception", 0.0)] {
        let labels = ended(OUTSIDE, outcome);
        assert_eq!(page.value("oxorb_requests_total", &labels), count, "{outcome}");
    }
    assert_eq!(page.value("oxorb_request_duration_seconds_count", &OUTSIDE), 2.0);
    let page = Page::of(&client);
    assert_eq!(page.value("oxorb_calls_total", &ended(OUTSIDE, "results")), 1.0);
    assert_eq!(page.sum("oxorb_calls_total", &[]), 1.0);
    assert_eq!(page.value("oxorb_call_duration_seconds_count", &OUTSIDE), 1.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// A [`Pinger`] that refuses its first two requests before they run.
#[derive(Default)]
struct Refuser(Pinger, AtomicU32);

impl Servant for Refuser {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match self.1.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => upcall.fail(SystemException::transient(1, CompletionStatus::No)),
            _ => self.0.dispatch(upcall),
        }
    }
}

#[test]
fn a_call_that_is_repeated_is_one_call_and_a_request_for_each_attempt() {
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening());
    let client = with_metrics(transport::builder());
    let local = server.root_poa().activate_servant(Arc::new(Refuser::default())).unwrap();
    let (delay, max_delay) = (Duration::from_millis(1), Duration::from_millis(4));
    let object = elsewhere(&client, &local).with(Retry { times: 2, delay, max_delay });
    assert_eq!(ping(&object, 1), Ok(2));
    let page = Page::of(&server);
    for (outcome, count) in [("system_exception", 2.0), ("results", 1.0)] {
        let labels = ended(OUTSIDE, outcome);
        assert_eq!(page.value("oxorb_requests_total", &labels), count, "{outcome}");
    }
    let refusal = [("exception", "TRANSIENT"), ("minor", "0x00000001")];
    assert_eq!(page.value("oxorb_request_exceptions_total", &refusal), 2.0);
    let page = Page::of(&client);
    assert_eq!(page.value("oxorb_calls_total", &ended(OUTSIDE, "results")), 1.0);
    assert_eq!(page.sum("oxorb_calls_total", &[]), 1.0);
    // The exceptions of attempts do not end the call.
    assert_eq!(page.sum("oxorb_call_exceptions_total", &[]), 0.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_collocated_call_with_a_message_is_a_call_and_a_request() {
    let _guard = watchdog(LONG);
    let server = with_metrics(transport::listening());
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = ObjectRef::from_ref(local);
    assert_eq!(ping(&object, 1), Ok(2));
    call(&object, &FAIL).unwrap_err();
    let gate = servant.gate.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| call(&object, &WAIT).unwrap());
        servant.until_at_gate(1);
        assert_eq!(Page::of(&server).value("oxorb_collocated_calls", &[]), 1.0);
        drop(gate);
    });
    let page = Page::of(&server);
    for family in ["oxorb_requests_total", "oxorb_calls_total"] {
        for (outcome, count) in [("results", 2.0), ("system_exception", 1.0)] {
            assert_eq!(page.value(family, &ended(OUTSIDE, outcome)), count, "{family} {outcome}");
        }
    }
    for family in ["oxorb_request_exceptions_total", "oxorb_call_exceptions_total"] {
        assert_eq!(page.sum(family, &[("exception", "NO_PERMISSION")]), 1.0, "{family}");
    }
    assert_eq!(page.value("oxorb_collocated_calls", &[]), 0.0);
    assert_eq!(page.value("oxorb_connections_accepted_total", &[]), 0.0);
    server.shutdown(true).unwrap();
}

/// Returns a server with metrics whose dispatching module serves one operation.
fn with_a_module(operation: &str, modules: ModuleSettings) -> Orb {
    const MINUTE: u64 = 60_000_000_000;
    let row = Row {
        name: operation.into(),
        os_priority: 40,
        queue: 0,
        subpriority: 0,
        worst_case: 1_000_000,
        period: MINUTE,
        deadline: MINUTE,
        criticality: Criticality::High,
        importance: Importance::Low,
        critical: true,
    };
    let queue = Queue { os_priority: 40, dispatching: Dispatching::Static };
    let table = DispatchTable::new(DispatchModel::Band, vec![row], vec![queue]).unwrap();
    let mut scheduler = RunTimeScheduler::new(table);
    scheduler.measure = true;
    scheduler.modules = Some(modules);
    let builder = transport::listening().scheduler(scheduler);
    with_metrics(builder.configure(|options| options.realtime.class = SchedulingClass::Fifo))
}

#[test]
fn requests_that_a_full_module_refuses_are_counted() {
    let _guard = watchdog(LONG);
    let mut modules = ModuleSettings::default();
    modules.capacity = 1;
    let server = with_a_module("test::Pinger::wait", modules);
    let client = client(ClientConnections::Cached);
    let servant = Arc::new(Pinger::default());
    let local = server.root_poa().activate_servant(servant.clone()).unwrap();
    let object = elsewhere(&client, &local);
    let gate = servant.gate.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| call(&object, &WAIT).unwrap());
        servant.until_at_gate(1);
        scope.spawn(|| call(&object, &WAIT).unwrap());
        until("a request waits in the module", || {
            Page::of(&server).value("oxorb_module_queue_requests", &[("module", "0")]) == 1.0
        });
        let exception = call(&object, &WAIT).unwrap_err();
        assert_eq!(exception.minor, minor::transient::REQUESTS_BUFFERED);
        drop(gate);
    });
    // The thread that queued a request may count it after the request was answered.
    let dispatched = [("module", "0"), ("outcome", "dispatched")];
    until("the queued requests are counted", || {
        Page::of(&server).value("oxorb_module_requests_total", &dispatched) == 2.0
    });
    let page = Page::of(&server);
    for (outcome, count) in [("refused", 1.0), ("late", 0.0)] {
        let labels = [("module", "0"), ("outcome", outcome)];
        assert_eq!(page.value("oxorb_module_requests_total", &labels), count, "{outcome}");
    }
    assert_eq!(page.value("oxorb_module_queue_requests", &[("module", "0")]), 0.0);
    let operation = [("operation", "test::Pinger::wait")];
    assert_eq!(page.value("oxorb_operation_refused_total", &operation), 1.0);
    for (outcome, count) in [("results", 2.0), ("refused", 1.0)] {
        let labels = ended(OUTSIDE, outcome);
        assert_eq!(page.value("oxorb_requests_total", &labels), count, "{outcome}");
    }
    let code = format!("0x{:08x}", minor::transient::REQUESTS_BUFFERED);
    let labels = [("exception", "TRANSIENT"), ("minor", code.as_str())];
    assert_eq!(page.value("oxorb_request_exceptions_total", &labels), 1.0);
    assert!(page.sum("oxorb_incidents_total", &[("incident", "BufferFull")]) >= 1.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn operations_and_modules_of_a_schedule_are_shown() {
    let _guard = watchdog(LONG);
    let server = with_a_module("test::Pinger::ping", ModuleSettings::default());
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2));
    let operation = [("operation", "test::Pinger::ping")];
    // The request is measured after its reply was sent.
    until("the request is measured", || {
        Page::of(&server).value("oxorb_operation_response_seconds_count", &operation) == 1.0
    });
    let page = Page::of(&server);
    assert_eq!(page.value("oxorb_operation_cpu_seconds_count", &operation), 1.0);
    assert_eq!(page.value("oxorb_operation_deadlines_missed_total", &operation), 0.0);
    let dispatched = [("module", "0"), ("outcome", "dispatched")];
    assert_eq!(page.value("oxorb_module_requests_total", &dispatched), 1.0);
    assert_eq!(page.value("oxorb_module_queue_requests", &[("module", "0")]), 0.0);
    assert_eq!(page.value("oxorb_requests_total", &ended(OUTSIDE, "results")), 1.0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn without_the_setting_calls_are_not_counted_and_no_port_is_open() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Cached);
    assert_eq!(ping(&pinger(&server, &client), 1), Ok(2));
    assert_eq!(server.metrics_address(), None);
    let page = Page::parse(&server.metrics());
    assert_eq!(page.find("oxorb_requests_total", &ended(OUTSIDE, "results")), None);
    assert!(page.value("oxorb_connections_accepted_total", &[]) >= 1.0);
    let purposes =
        server.threads().iter().map(|one| format!("{:?}", one.purpose)).collect::<Vec<_>>();
    assert!(!purposes.contains(&"Metrics".to_owned()), "{purposes:?}");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Reports whether calls are served, and whether a page can be had.
fn assert_goes_on(orb: &Orb, object: &ObjectRef) {
    assert_eq!(ping(object, 1), Ok(2));
    assert!(Page::of(orb).value("oxorb_connections", &[]) >= 1.0);
}

#[test]
fn clients_that_break_off_say_too_much_or_come_in_thousands_harm_nobody() {
    let _guard = watchdog(2 * LONG);
    let server = with_metrics(transport::listening());
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    let address = server.metrics_address().unwrap();
    assert_goes_on(&server, &object);
    // Half a request line: the client waits, goes away, or resets the connection.
    let mut waiting = TcpStream::connect(address).unwrap();
    waiting.write_all(b"GET /met").unwrap();
    let mut gone = TcpStream::connect(address).unwrap();
    gone.write_all(b"GET /met").unwrap();
    drop(gone);
    let mut broken = TcpStream::connect(address).unwrap();
    broken.write_all(b"GET /met").unwrap();
    oxorb_testkit::net::reset(broken).unwrap();
    assert_goes_on(&server, &object);
    // A head of 1 MiB. The answer may be lost, because the client still writes when the connection is closed.
    let mut long = TcpStream::connect(address).unwrap();
    let head = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(1 << 20));
    let _ = long.write_all(head.as_bytes());
    let mut answer = String::new();
    if long.read_to_string(&mut answer).is_ok() && !answer.is_empty() {
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    // A head that is too long by one octet, and is sent as a whole.
    let mut long = TcpStream::connect(address).unwrap();
    long.write_all(&head.as_bytes()[..(8 << 10) + 1]).unwrap();
    let mut answer = String::new();
    long.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_goes_on(&server, &object);
    // Octets that are no text, and a line without an end.
    for octets in [&[0xFF; 100][..], &b"\0\r\n\r\n"[..], &[b'\n'; 20_000][..]] {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(octets);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    // Connections without a request. The client keeps some of them open, as many as its descriptors allow.
    let mut idle = VecDeque::new();
    for number in 0..1000 {
        idle.push_back(TcpStream::connect(address).unwrap());
        if idle.len() > 200 {
            idle.pop_front();
        }
        // The queue of the socket has 128 places; a client that finds it full repeats its attempt after a second.
        if number % 100 == 0 {
            assert_goes_on(&server, &object);
        }
    }
    assert_goes_on(&server, &object);
    // A client that asks again and again, and never reads.
    let deaf: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            stream
        })
        .collect();
    assert_goes_on(&server, &object);
    drop((waiting, idle, deaf));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
