//! Portable interceptors: points that run, their order, and their effects (CORBA 3.4, 16).

use std::sync::{Arc, Mutex};

use oxorb::interceptor::{
    ClientInterceptor, ClientReply, ClientRequest, Interrupt, Received, Sending, ServerInterceptor,
    ServerReply, ServerRequest, Slot,
};
use oxorb::poa::AdapterObserver;
use oxorb::policy::SyncScope;
use oxorb::{
    Any, CompletionStatus, Interface, ObjectRef, Orb, Ref, Servant, SystemException,
    SystemExceptionKind,
};
use oxorb_object::TaggedComponent;

use crate::common;
use crate::common::*;

/// Log of the points that ran, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Service context of the test, in both directions.
const CONTEXT: u32 = 0x4F58_7E57;

/// Point and outcome of an interceptor, in addition to its log entry.
type Act = Option<(&'static str, Interrupt)>;

struct Watcher {
    name: &'static str,
    log: Log,
    act: Mutex<Act>,
    slot: Option<Slot>,
}

impl Watcher {
    fn new(name: &'static str, log: &Log) -> Watcher {
        Watcher { name, log: log.clone(), act: Mutex::new(None), slot: None }
    }

    fn acting(name: &'static str, log: &Log, point: &'static str, act: Interrupt) -> Watcher {
        Watcher { act: Mutex::new(Some((point, act))), ..Watcher::new(name, log) }
    }

    fn at(&self, point: &str, what: &str) -> Result<(), Interrupt> {
        self.log.add(format!("{} {point} {what}", self.name));
        let mut act = self.act.lock().unwrap();
        match act.take() {
            Some((wanted, interrupt)) if wanted == point => Err(interrupt),
            other => {
                *act = other;
                Ok(())
            }
        }
    }
}

/// Converts an outcome at a point that can only raise.
fn only_raise(outcome: Result<(), Interrupt>) -> Result<(), SystemException> {
    match outcome {
        Ok(()) => Ok(()),
        Err(Interrupt::Raise(exception)) => Err(exception),
        Err(Interrupt::Forward(_)) => panic!("this point cannot forward"),
    }
}

impl ClientInterceptor for Watcher {
    fn name(&self) -> &str {
        self.name
    }

    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        let slot = self.slot.and_then(|slot| request.slot(slot)?.get::<String>().ok()?);
        if let Some(text) = slot {
            let data = [&[1], text.as_bytes()].concat();
            request.add_request_service_context(CONTEXT, data, false)?;
        }
        self.at("send_request", request.operation())
    }

    fn receive_reply(&self, reply: &mut ClientReply<'_>) -> Result<(), SystemException> {
        let echoed = reply.reply_service_context(CONTEXT).map(<[u8]>::len);
        let what = match echoed {
            Some(octets) => format!("with {octets}"),
            None => "plain".to_owned(),
        };
        only_raise(self.at("receive_reply", &what))
    }

    fn receive_exception(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        let what = match reply.received() {
            Received::UserException { id } => (*id).to_owned(),
            Received::SystemException(exception) => format!("{:?}", exception.kind),
            other => panic!("no exception: {other:?}"),
        };
        self.at("receive_exception", &what)
    }

    fn receive_other(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        let what = match reply.received() {
            Received::Sent => "sent",
            Received::Forward(_) => "forward",
            other => panic!("something else: {other:?}"),
        };
        self.at("receive_other", what)
    }

    fn destroy(&self) {
        self.log.add(format!("{} destroy", self.name));
    }
}

impl ServerInterceptor for Watcher {
    fn name(&self) -> &str {
        self.name
    }

    fn receive_request_service_contexts(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<(), Interrupt> {
        if let Some(data) = request.request_service_context(CONTEXT).map(<[u8]>::to_vec) {
            if let Some(slot) = self.slot {
                let text = String::from_utf8(data[1..].to_vec()).unwrap();
                request.set_slot(slot, Some(Any::new(text)));
            }
            request.add_reply_service_context(CONTEXT, data, true)?;
        }
        assert!(request.target().is_none() && request.target_is_a(PINGER).is_none());
        self.at("contexts", request.operation())
    }

    fn receive_request(&self, request: &mut ServerRequest<'_>) -> Result<(), Interrupt> {
        assert_eq!(request.target_is_a(PINGER), Some(true));
        let target = request.target().expect("the servant is known").clone();
        assert_eq!(target.interface, PINGER);
        assert_eq!(target.adapter_name, ["RootPOA"]);
        assert!(!target.object_id.is_empty());
        self.at("receive_request", request.operation())
    }

    fn send_reply(&self, reply: &mut ServerReply<'_>) -> Result<(), SystemException> {
        only_raise(self.at("send_reply", reply.operation()))
    }

    fn send_exception(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        let what = match reply.sending() {
            Sending::UserException { id, .. } => (*id).to_owned(),
            Sending::SystemException(exception) => format!("{:?}", exception.kind),
            other => panic!("no exception: {other:?}"),
        };
        self.at("send_exception", &what)
    }

    fn send_other(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        assert!(matches!(reply.sending(), Sending::Forward(_)));
        self.at("send_other", reply.operation())
    }

    fn destroy(&self) {
        self.log.add(format!("{} destroy", self.name));
    }
}

fn watched_client(watchers: impl IntoIterator<Item = Watcher>) -> Orb {
    watchers
        .into_iter()
        .fold(common::transport::builder(), |builder, watcher| builder.client_interceptor(watcher))
        .build()
        .unwrap()
}

fn watched_server(watchers: impl IntoIterator<Item = Watcher>) -> (Orb, Ref) {
    let server = watchers
        .into_iter()
        .fold(common::transport::listening(), |builder, watcher| {
            builder.server_interceptor(watcher)
        })
        .build()
        .unwrap();
    let object = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    (server, object)
}

const REFUSED: SystemException = SystemException::no_permission(99, CompletionStatus::No);

/// [`REFUSED`], raised after the operation has run.
const RAN: SystemException = SystemException::no_permission(99, CompletionStatus::Yes);

#[test]
fn client_points_run_in_order_and_back() {
    let log = Log::default();
    let (server, object) = watched_server([]);
    let client = watched_client([Watcher::new("a", &log), Watcher::new("b", &log)]);
    let object = elsewhere(&client, &object);
    assert_eq!(ping(&object, 1), Ok(2));
    assert_eq!(
        log.take(),
        [
            "a send_request ping",
            "b send_request ping",
            "b receive_reply plain",
            "a receive_reply plain"
        ]
    );
    assert!(ping_fails(&object));
    assert_eq!(
        log.take()[2..],
        ["b receive_exception NoPermission", "a receive_exception NoPermission"]
    );
    object.reference().send(&NOTE, |_| Ok(())).unwrap();
    assert_eq!(log.take()[2..], ["b receive_other sent", "a receive_other sent"]);
    client.shutdown(true).unwrap();
    assert_eq!(log.take(), ["a destroy", "b destroy"]);
    client.shutdown(true).unwrap();
    assert!(log.take().is_empty(), "destroyed once");
    server.shutdown(true).unwrap();
}

#[test]
fn asynchronous_calls_pass_the_same_points() {
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let client = watched_client([Watcher::new("a", &log)]);
    let object = elsewhere(&client, &object);
    let reply = object.reference().invoke_async::<i64, SystemException>(
        &PING,
        |e| {
            e.longlong(1);
            Ok(())
        },
        |d| d.longlong(),
    );
    assert_eq!(log.take(), ["a send_request ping"]);
    assert_eq!(reply.wait(), Ok(2));
    assert_eq!(log.take(), ["a receive_reply plain"]);
}

#[test]
fn a_dropped_asynchronous_call_passes_one_ending_point() {
    let log = Log::default();
    let server = common::transport::listening().build().unwrap();
    let pinger = Arc::new(Pinger::default());
    let object = server.root_poa().activate_servant(pinger.clone()).unwrap();
    let client = watched_client([Watcher::new("a", &log), Watcher::new("b", &log)]);
    let object = elsewhere(&client, &object);
    let mut answered = ping_async(&object, 1);
    common::until("the answer arrives", || answered.is_ready());
    log.take();
    drop(answered);
    assert!(log.take().is_empty(), "the points have run when the answer was found");
    let closed = pinger.gate.lock().unwrap();
    let waiting =
        || object.reference().invoke_async::<(), SystemException>(&WAIT, |_| Ok(()), |_| Ok(()));
    drop(waiting());
    let expected = [
        "a send_request wait",
        "b send_request wait",
        "b receive_other sent",
        "a receive_other sent",
    ];
    assert_eq!(log.take(), expected);
    // A future that was polled, and one whose caller panics.
    let mut polled = waiting();
    assert!(!polled.is_ready());
    drop(polled);
    assert_eq!(log.take(), expected);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _pending = waiting();
        panic!("as the test wants it");
    }));
    assert!(panicked.is_err());
    assert_eq!(log.take(), expected);
    drop(closed);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn an_answer_that_its_caller_has_not_looked_at_is_seen_when_the_call_is_dropped() {
    let log = Log::default();
    let (server, object) = watched_server([]);
    let client = watched_client([Watcher::new("a", &log)]);
    let far = elsewhere(&client, &object);
    let unseen = ping_async(&far, 1);
    // A later call over the same connection is answered after the first one.
    assert_eq!(ping_later(&far), Ok(2));
    log.take();
    drop(unseen);
    assert_eq!(log.take(), ["a receive_reply plain"]);
    // Within the process, the answer is there when the call returns.
    let watched = Watcher::new("l", &log);
    let local = common::transport::listening().client_interceptor(watched).build().unwrap();
    let near = local.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    drop(ping_async(&ObjectRef::from_ref(near), 1));
    assert_eq!(log.take(), ["l send_request ping", "l receive_reply plain"]);
    server.shutdown(true).unwrap();
    local.shutdown(true).unwrap();
}

#[test]
fn a_call_whose_arguments_panic_passes_an_ending_point() {
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let client = watched_client([Watcher::new("a", &log)]);
    let object = elsewhere(&client, &object);
    let quietly = |call: &dyn Fn()| {
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        assert!(panicked.is_err());
        log.take()
    };
    let reference = object.reference();
    let args = |_: &mut oxorb_cdr::Encoder<'_>| -> oxorb_cdr::Result<()> {
        panic!("as the test wants it")
    };
    let expected = ["a send_request ping", "a receive_exception Unknown"];
    let synchronous = || {
        let _ = reference.invoke::<i64, SystemException>(&PING, args, |d| d.longlong());
    };
    assert_eq!(quietly(&synchronous), expected);
    let asynchronous =
        || drop(reference.invoke_async::<i64, SystemException>(&PING, args, |d| d.longlong()));
    assert_eq!(quietly(&asynchronous), expected);
    assert_eq!(ping(&object, 1), Ok(2));
}

fn ping_later(object: &ObjectRef) -> Result<i64, SystemException> {
    ping_async(object, 1).wait()
}

#[test]
fn asynchronous_calls_that_cannot_be_sent_pass_the_ending_points() {
    only_over!(GIOP, "connecting over datagrams succeeds without a server");
    let log = Log::default();
    let client = watched_client([Watcher::new("a", &log)]);
    let nobody = client.string_to_object(&nowhere("Nothing")).unwrap();
    let failed = ping_later(&nobody).unwrap_err();
    assert_raised(failed, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(log.take(), ["a send_request ping", "a receive_exception Transient"]);
}

#[test]
fn a_starting_point_that_raises_ends_an_asynchronous_call() {
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let client = watched_client([
        Watcher::new("a", &log),
        Watcher::acting("b", &log, "send_request", REFUSED.into()),
    ]);
    let object = elsewhere(&client, &object);
    assert_eq!(ping_later(&object), Err(REFUSED));
    assert_eq!(
        log.take(),
        ["a send_request ping", "b send_request ping", "a receive_exception NoPermission"]
    );
    assert_eq!(ping_later(&object), Ok(2), "only once");
}

#[test]
fn an_ending_point_may_send_an_asynchronous_call_elsewhere() {
    only_over!(GIOP, "connecting over datagrams succeeds without a server");
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let setup = common::transport::builder().build().unwrap();
    let right = Interrupt::Forward(elsewhere(&setup, &object).reference().clone());
    let client = watched_client([
        Watcher::new("a", &log),
        Watcher::acting("b", &log, "receive_exception", right),
    ]);
    let nobody = client.string_to_object(&nowhere("Nothing")).unwrap();
    assert_eq!(ping_later(&nobody), Ok(2));
    assert_eq!(
        log.take()[2..],
        [
            "b receive_exception Transient",
            "a receive_other forward",
            "a send_request ping",
            "b send_request ping",
            "b receive_reply plain",
            "a receive_reply plain",
        ]
    );
}

#[test]
fn a_starting_point_that_raises_ends_the_call() {
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let client = watched_client([
        Watcher::new("a", &log),
        Watcher::acting("b", &log, "send_request", REFUSED.into()),
        Watcher::new("c", &log),
    ]);
    let object = elsewhere(&client, &object);
    assert_eq!(ping(&object, 1), Err(REFUSED));
    assert_eq!(
        log.take(),
        ["a send_request ping", "b send_request ping", "a receive_exception NoPermission"]
    );
    assert_eq!(ping(&object, 1), Ok(2), "only once");
}

#[test]
fn an_ending_point_may_change_how_a_call_ends() {
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let client = watched_client([
        Watcher::new("a", &log),
        Watcher::acting("b", &log, "receive_reply", REFUSED.into()),
    ]);
    let object = elsewhere(&client, &object);
    assert_eq!(ping(&object, 1), Err(RAN));
    assert_eq!(log.take()[2..], ["b receive_reply plain", "a receive_exception NoPermission"]);
}

#[test]
fn a_client_interceptor_may_send_the_request_elsewhere() {
    let log = Log::default();
    let (_server, object) = watched_server([]);
    let setup = common::transport::builder().build().unwrap();
    let right = elsewhere(&setup, &object);
    let client = watched_client([
        Watcher::new("a", &log),
        Watcher::acting("b", &log, "send_request", Interrupt::Forward(right.reference().clone())),
    ]);
    let nowhere = client.string_to_object(&nowhere("Nothing")).unwrap();
    assert_eq!(ping(&nowhere, 1), Ok(2));
    assert_eq!(
        log.take(),
        [
            "a send_request ping",
            "b send_request ping",
            "a receive_other forward",
            "a send_request ping",
            "b send_request ping",
            "b receive_reply plain",
            "a receive_reply plain",
        ]
    );
}

#[test]
fn server_points_run_in_order_and_back() {
    let log = Log::default();
    let (server, object) = watched_server([Watcher::new("a", &log), Watcher::new("b", &log)]);
    let client = common::transport::builder().build().unwrap();
    let object = elsewhere(&client, &object);
    assert_eq!(ping(&object, 1), Ok(2));
    assert_eq!(
        log.take(),
        [
            "a contexts ping",
            "b contexts ping",
            "a receive_request ping",
            "b receive_request ping",
            "b send_reply ping",
            "a send_reply ping",
        ]
    );
    assert!(ping_fails(&object));
    assert_eq!(log.take()[4..], ["b send_exception NoPermission", "a send_exception NoPermission"]);
    server.shutdown(true).unwrap();
    assert_eq!(log.take(), ["a destroy", "b destroy"]);
}

#[test]
fn a_servant_that_panics_is_seen_as_an_exception() {
    static PANIC: oxorb::__gen::Op = oxorb::__gen::Op::twoway("panic");
    let log = Log::default();
    let (_server, object) = watched_server([Watcher::new("a", &log)]);
    let client = common::transport::builder().build().unwrap();
    let object = elsewhere(&client, &object);
    let failed = object.reference().invoke::<(), SystemException>(&PANIC, |_| Ok(()), |_| Ok(()));
    assert_eq!(failed.unwrap_err().kind, SystemExceptionKind::Unknown);
    assert_eq!(log.take()[2..], ["a send_exception Unknown"]);
}

#[test]
fn a_oneway_that_panics_after_its_acknowledgement_passes_the_ending_points_once() {
    static PANIC: oxorb::__gen::Op = oxorb::__gen::Op::oneway("panic");
    let _guard = oxorb_testkit::watchdog(LONG);
    let log = Log::default();
    let (server, object) = watched_server([Watcher::new("a", &log)]);
    let client = common::transport::builder().build().unwrap();
    let object = elsewhere(&client, &object);
    object.reference().with(SyncScope::WithServer).send(&PANIC, |_| Ok(())).unwrap();
    let mut lines = Vec::new();
    until("the request ends", || {
        lines.extend(log.take());
        lines.len() >= 3
    });
    // The shutdown waits for the thread that serves the request.
    server.shutdown(true).unwrap();
    lines.extend(log.take());
    let ends = ["a contexts panic", "a receive_request panic", "a send_exception Unknown"];
    assert_eq!(lines, [&ends[..], &["a destroy"][..]].concat());
    client.shutdown(true).unwrap();
}

#[test]
fn server_points_that_raise_end_the_request() {
    for (point, seen) in [
        ("contexts", vec!["a contexts ping", "b contexts ping", "a send_exception NoPermission"]),
        (
            "receive_request",
            vec![
                "a contexts ping",
                "b contexts ping",
                "c contexts ping",
                "a receive_request ping",
                "b receive_request ping",
                "c send_exception NoPermission",
                "b send_exception NoPermission",
                "a send_exception NoPermission",
            ],
        ),
        (
            "send_reply",
            vec![
                "a contexts ping",
                "b contexts ping",
                "c contexts ping",
                "a receive_request ping",
                "b receive_request ping",
                "c receive_request ping",
                "c send_reply ping",
                "b send_reply ping",
                "a send_exception NoPermission",
            ],
        ),
    ] {
        let log = Log::default();
        let (_server, object) = watched_server([
            Watcher::new("a", &log),
            Watcher::acting("b", &log, point, REFUSED.into()),
            Watcher::new("c", &log),
        ]);
        let client = common::transport::builder().build().unwrap();
        let object = elsewhere(&client, &object);
        let seen_by_client = if point == "send_reply" { RAN } else { REFUSED };
        assert_eq!(ping(&object, 1), Err(seen_by_client), "{point}");
        assert_eq!(log.take(), seen, "{point}");
        assert_eq!(ping(&object, 1), Ok(2), "only once");
    }
}

#[test]
fn a_server_interceptor_may_forward() {
    let log = Log::default();
    let (_right, right) = watched_server([]);
    let setup = common::transport::builder().build().unwrap();
    let right = elsewhere(&setup, &right);
    let forward = Interrupt::Forward(right.reference().clone());
    let (_server, object) =
        watched_server([Watcher::new("a", &log), Watcher::acting("b", &log, "contexts", forward)]);
    let client = common::transport::builder().build().unwrap();
    let object = elsewhere(&client, &object);
    assert_eq!(ping(&object, 1), Ok(2));
    assert_eq!(log.take(), ["a contexts ping", "b contexts ping", "a send_other ping"]);
}

/// Servant that answers with the value of a slot.
struct Reader(Slot);

static READ: oxorb::__gen::Op = oxorb::__gen::Op::twoway("read");

impl Servant for Reader {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        let text = self.0.get().and_then(|any| any.get::<String>().ok()?);
        upcall.reply(|e| e.string(text.as_deref().unwrap_or("nothing")))
    }
}

#[test]
fn slots_and_contexts_carry_a_value_from_thread_to_servant() {
    only_over!(CONTEXTS, "the value travels in a service context");
    let (log, slot) = (Log::default(), Slot::allocate().unwrap());
    let with_slot = || Watcher { slot: Some(slot), ..Watcher::new("a", &log) };
    let (server, _) = watched_server([with_slot()]);
    let local = server.root_poa().activate_servant(Arc::new(Reader(slot))).unwrap();
    let client = watched_client([with_slot()]);
    let object = elsewhere(&client, &local);
    let read = || {
        object.reference().invoke::<_, SystemException>(
            &READ,
            |_| Ok(()),
            |d| Ok(d.string()?.into_owned()),
        )
    };
    assert_eq!(read().unwrap(), "nothing");
    slot.set(Some(Any::new("blue".to_owned())));
    assert_eq!(read().unwrap(), "blue");
    slot.set(None);
    assert_eq!(read().unwrap(), "nothing", "the server's threads keep nothing");
    let seen = log.take();
    assert_eq!(seen.iter().filter(|line| *line == "a receive_reply with 5").count(), 1);
}

/// Observer that adds a component to references.
struct Marker(Log);

const MARK: u32 = 0x4F58_0099;

impl AdapterObserver for Marker {
    fn establish(
        &self,
        adapter_name: &[String],
        _: &oxorb::poa::Policies,
        components: &mut Vec<TaggedComponent>,
    ) -> Result<(), SystemException> {
        self.0.add(adapter_name.join("/"));
        components.push(TaggedComponent { tag: MARK, data: vec![1, 2, 3] });
        Ok(())
    }
}

#[test]
fn references_carry_what_interceptors_add_and_clients_see_it() {
    struct Looker(Log);

    impl ClientInterceptor for Looker {
        fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
            let mark = request.effective_component(MARK);
            self.0.add(format!("{mark:?}"));
            Ok(())
        }
    }

    let log = Log::default();
    let server =
        common::transport::listening().adapter_observer(Marker(log.clone())).build().unwrap();
    let child = server.root_poa().create_poa("child", Default::default()).unwrap();
    assert_eq!(log.take(), ["RootPOA", "RootPOA/child"]);
    let client =
        common::transport::builder().client_interceptor(Looker(log.clone())).build().unwrap();
    for poa in [server.root_poa(), &child] {
        let local = poa.activate_servant(Arc::new(Pinger::default())).unwrap();
        poa.manager().activate().unwrap();
        assert_eq!(ping(&elsewhere(&client, &local), 1), Ok(2));
        assert_eq!(log.take(), ["Some([1, 2, 3])"]);
    }
}

#[test]
fn names_are_unique_among_interceptors_of_a_kind() {
    let log = Log::default();
    let twice = common::transport::builder()
        .client_interceptor(Watcher::new("a", &log))
        .server_interceptor(Watcher::new("a", &log))
        .client_interceptor(Watcher::new("a", &log))
        .build()
        .unwrap_err();
    assert!(twice.to_string().contains("named \"a\""), "{twice}");
}

#[test]
fn local_calls_pass_interceptors_of_both_sides() {
    let log = Log::default();
    let orb = common::transport::listening()
        .client_interceptor(Watcher::new("client", &log))
        .server_interceptor(Watcher::new("server", &log))
        .build()
        .unwrap();
    let object = orb.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    let object = ObjectRef::from_ref(object);
    assert_eq!(ping(&object, 1), Ok(2));
    assert_eq!(
        log.take(),
        [
            "client send_request ping",
            "server contexts ping",
            "server receive_request ping",
            "server send_reply ping",
            "client receive_reply plain",
        ]
    );
}

/// Calls a `ping` that the servant refuses.
fn ping_fails(object: &ObjectRef) -> bool {
    static FAIL: oxorb::__gen::Op = oxorb::__gen::Op::twoway("fail");
    let failed = object.reference().invoke::<(), SystemException>(&FAIL, |_| Ok(()), |_| Ok(()));
    failed == Err(SystemException::no_permission(7, CompletionStatus::Yes))
}
