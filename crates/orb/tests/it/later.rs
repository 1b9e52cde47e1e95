//! Servants that answer later (AMH): from other threads, in other orders, too late, or not at all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::client::AsyncReply;
use oxorb::interceptor::{Interrupt, Sending, ServerInterceptor, ServerReply, ServerRequest, Slot};
use oxorb::poa::{
    Cookie, IdAssignment, ObjectId, Poa, Policies, Refused, RequestProcessing, ServantLocator,
    ServantRetention, ThreadPolicy,
};
use oxorb::policy::SyncScope;
use oxorb::servant::ResponseHandler;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Ref, Servant, SystemException,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::*;

static TELL: Op = Op::oneway("note");

/// Servant that keeps requests of `ping` and `note`. `sleep` is answered within its upcall, and `stop` panics while it
/// holds the request.
#[derive(Default)]
struct Keeper {
    kept: Mutex<Vec<(i64, ResponseHandler)>>,
}

impl Keeper {
    /// Waits for `wanted` requests, and returns all that are kept.
    fn take(&self, wanted: usize) -> Vec<(i64, ResponseHandler)> {
        loop {
            let mut kept = self.kept.lock().unwrap();
            if kept.len() >= wanted {
                return std::mem::take(&mut kept);
            }
            drop(kept);
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn take_one(&self) -> ResponseHandler {
        self.take(1).pop().unwrap().1
    }
}

struct Kept(Arc<Keeper>);

impl Servant for Kept {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "ping" => match upcall.args(|d| d.longlong()) {
                Ok(n) => upcall.later(|later| self.0.kept.lock().unwrap().push((n, later))),
                Err(rejected) => upcall.reject(rejected),
            },
            "note" => upcall.later(|later| self.0.kept.lock().unwrap().push((0, later))),
            "sleep" => upcall.later(ResponseHandler::done),
            "stop" => upcall.later(|_later| panic!("as the test wants it")),
            "hanging" => upcall.reply(|e| {
                e.ulong(0);
                Ok(())
            }),
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

fn answer(later: ResponseHandler, n: i64) {
    later.reply(|e| {
        e.longlong(n + 1);
        Ok(())
    });
}

/// Returns a keeper at `server`, and a reference to it as `client` sees it.
fn keeper(server: &Orb, client: &Orb) -> (Arc<Keeper>, ObjectRef) {
    let keeper = Arc::new(Keeper::default());
    let servant = Arc::new(Kept(Arc::clone(&keeper)));
    let local = server.root_poa().activate_servant(servant).unwrap();
    (keeper, elsewhere(client, &local))
}

fn a_client() -> Orb {
    client(oxorb::settings::ClientConnections::Private)
}

/// Starts a call that is answered within its upcall, over the connection of asynchronous calls.
fn hanging_async(object: &ObjectRef) -> AsyncReply<u32, SystemException> {
    object.reference().invoke_async(&HANGING, |_| Ok(()), |d| d.ulong())
}

fn until(what: impl Fn() -> bool) {
    while !what() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn answers_come_in_any_order_over_one_connection() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let (server, client) = (server(concurrency), a_client());
        let (keeper, object) = keeper(&server, &client);
        let calls: Vec<_> = (0..5).map(|n| ping_async(&object, n)).collect();
        let mut kept = keeper.take(5);
        // The thread that serves the connection is free while the requests are unanswered.
        assert_eq!(hanging_async(&object).wait(), Ok(0));
        kept.reverse();
        for (n, later) in kept {
            assert!(later.expects_reply() && !later.is_cancelled());
            answer(later, n);
        }
        for (n, call) in calls.into_iter().enumerate() {
            assert_eq!(call.wait(), Ok(n as i64 + 1));
        }
        assert_eq!(server.connection_statistics().open, 1);
        assert_eq!(call(&object, &SLEEP), Ok(()), "answered within the upcall");
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn a_thousand_are_outstanding_and_one_more_is_refused() {
    const MANY: usize = 1000;
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let server = common::transport::listening()
            .concurrency(concurrency)
            .setting("MaxUnanswered", &MANY.to_string())
            .build()
            .unwrap();
        let client = a_client();
        let (keeper, object) = keeper(&server, &client);
        let calls: Vec<_> = (0..MANY as i64).map(|n| ping_async(&object, n)).collect();
        let kept = Mutex::new(keeper.take(MANY));
        let refused = ping(&object, 0).unwrap_err();
        assert_eq!(
            refused,
            SystemException::transient(minor::transient::TOO_MANY_UNANSWERED, CompletionStatus::No)
        );
        // Let eight threads answer, while the connection's own thread also answers.
        let others = thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        let next = kept.lock().unwrap().pop();
                        let Some((n, later)) = next else { break };
                        answer(later, n);
                    }
                });
            }
            let others: Vec<_> = (0..20).map(|_| hanging_async(&object).wait()).collect();
            others
        });
        assert_eq!(others, [Ok(0); 20]);
        for (n, call) in calls.into_iter().enumerate() {
            assert_eq!(call.wait(), Ok(n as i64 + 1));
        }
        let again = ping_async(&object, 7);
        answer(keeper.take_one(), 7);
        assert_eq!(again.wait(), Ok(8));
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn an_answer_may_be_larger_than_all_buffers() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let (keeper, object) = keeper(&server, &client);
    let octets = vec![7u8; BIG_ANSWER];
    let big: AsyncReply<Vec<u8>, SystemException> = object.reference().invoke_async(
        &PING,
        |e| {
            e.longlong(1);
            Ok(())
        },
        |d| {
            let length = d.length(None, 1)?;
            Ok(d.octets(length)?.to_vec())
        },
    );
    let later = keeper.take_one();
    let small: Vec<_> = (0..10).map(|_| hanging_async(&object)).collect();
    thread::scope(|scope| {
        // Send a large reply, which is written without a copy.
        scope.spawn(|| {
            later.reply(|e| {
                e.length(octets.len(), None)?;
                e.octets(&octets);
                Ok(())
            })
        });
        for call in small {
            assert_eq!(call.wait(), Ok(0));
        }
    });
    assert_eq!(big.wait().unwrap().len(), BIG_ANSWER);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn exceptions_have_the_status_they_were_given() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let (keeper, object) = keeper(&server, &client);
    for status in [CompletionStatus::Yes, CompletionStatus::No, CompletionStatus::Maybe] {
        let exception = SystemException::no_permission(3, status);
        let call = ping_async(&object, 1);
        keeper.take_one().fail(exception);
        assert_eq!(call.wait(), Err(exception));
        let call = ping_async(&object, 1);
        keeper.take_one().raise(&exception);
        assert_eq!(call.wait(), Err(exception));
    }
    // The result cannot be marshalled. The request has run, so the status is COMPLETED_YES.
    let call = ping_async(&object, 1);
    keeper.take_one().reply(|e| e.string("NUL \0 in a string"));
    let raised = call.wait().unwrap_err();
    assert_raised(raised, SystemExceptionKind::Marshal, CompletionStatus::Yes);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn who_is_dropped_unanswered_is_told_so() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let (keeper, object) = keeper(&server, &client);
    let call_away = ping_async(&object, 1);
    drop(keeper.take_one());
    assert_eq!(
        call_away.wait(),
        Err(SystemException::no_response(minor::no_response::UNANSWERED, CompletionStatus::Maybe))
    );
    let panicked = call(&object, &STOP).unwrap_err();
    assert_raised(panicked, SystemExceptionKind::Unknown, CompletionStatus::Maybe);
    let in_another_thread = ping_async(&object, 1);
    let later = keeper.take_one();
    let ended = thread::spawn(move || {
        let _later = later;
        panic!("as the test wants it");
    });
    assert!(ended.join().is_err());
    assert_raised(
        in_another_thread.wait().unwrap_err(),
        SystemExceptionKind::Unknown,
        CompletionStatus::Maybe,
    );
    // Both connections still work, so that no further one is opened.
    assert_eq!(hanging_async(&object).wait(), Ok(0));
    assert_eq!(server.connection_statistics().accepted, 2);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_request_may_be_forwarded_later() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let (keeper, object) = keeper(&server, &client);
    let other = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| keeper.take_one().forward(&other));
        assert_eq!(ping(&object, 41), Ok(42));
    });
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn oneways_are_answered_by_dropping() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let (keeper, object) = keeper(&server, &client);
    let object = object.reference();
    object.send(&TELL, |_| Ok(())).unwrap();
    let later = keeper.take_one();
    assert!(!later.expects_reply());
    drop(later);
    // With this scope, `send` returns before the servant has ended.
    let reached = object.with(SyncScope::WithServer);
    reached.send(&TELL, |_| Ok(())).unwrap();
    keeper.take_one().done();
    // With this scope, `send` returns after the servant has ended.
    let served = object.with(SyncScope::WithTarget);
    thread::scope(|scope| {
        scope.spawn(|| keeper.take_one().done());
        served.send(&TELL, |_| Ok(())).unwrap();
    });
    assert_eq!(object.non_existent(), Ok(false));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn an_object_may_be_gone_before_its_answer() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let poa = server.root_poa().create_poa("passing", Policies::default()).unwrap();
    poa.manager().activate().unwrap();
    let keeper = Arc::new(Keeper::default());
    let servant = Arc::new(Kept(Arc::clone(&keeper)));
    let local: Ref = poa.activate_servant(servant).unwrap();
    let object = elsewhere(&client, &local);
    let calls: Vec<_> = (0..2).map(|n| ping_async(&object, n)).collect();
    let mut kept = keeper.take(2);
    poa.deactivate(&ObjectRef::from_ref(local)).unwrap();
    let gone = ping(&object, 0).unwrap_err();
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let (n, later) = kept.pop().unwrap();
    answer(later, n);
    // `destroy` does not wait for the unanswered request, because its upcall has ended.
    poa.destroy(true, true).unwrap();
    let (n, later) = kept.pop().unwrap();
    answer(later, n);
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.wait(), Ok(n as i64 + 1));
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_client_that_left_leaves_nothing_behind() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let (server, client) = (server(concurrency), a_client());
        let (keeper, object) = keeper(&server, &client);
        let calls: Vec<_> = (0..3).map(|n| ping_async(&object, n)).collect();
        let mut kept = keeper.take(3);
        drop(calls);
        // Dropping the calls has cancelled each kept request.
        until(|| kept.iter().all(|(_, later)| later.is_cancelled()));
        let (n, later) = kept.pop().unwrap();
        answer(later, n);
        client.shutdown(true).unwrap();
        // An unanswered request keeps the connection open, although the client no longer reads it.
        let (n, later) = kept.pop().unwrap();
        answer(later, n);
        drop(kept);
        until(|| server.connection_statistics().open == 0);
        assert_eq!(Arc::strong_count(&keeper), 2);
        server.shutdown(true).unwrap();
    }
}

#[test]
fn the_end_of_the_orb_waits_for_answers() {
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let (server, client) = (server(concurrency), a_client());
        let (keeper, object) = keeper(&server, &client);
        let calls: Vec<_> = (0..3).map(|n| ping_async(&object, n)).collect();
        let kept = keeper.take(3);
        thread::scope(|scope| {
            let ending = scope.spawn(|| server.shutdown(true));
            until(|| server.is_closing());
            // The shutdown waits for the unanswered requests.
            thread::sleep(Duration::from_millis(20));
            assert!(!ending.is_finished());
            for (n, later) in kept {
                answer(later, n);
            }
            assert_eq!(ending.join().unwrap(), Ok(()));
        });
        for (n, call) in calls.into_iter().enumerate() {
            assert_eq!(call.wait(), Ok(n as i64 + 1));
        }
        assert_eq!(server.connection_statistics().open, 0);
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_connection_with_something_unanswered_is_not_idle() {
    let _guard = watchdog(LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        let server = common::transport::listening()
            .concurrency(concurrency)
            .configure(|options| options.idle_timeout = Some(Duration::from_millis(50)))
            .build()
            .unwrap();
        let client = a_client();
        let (keeper, object) = keeper(&server, &client);
        let call = ping_async(&object, 1);
        let later = keeper.take_one();
        // Wait for several checks of idle connections, whichever kind of thread makes them.
        thread::sleep(Duration::from_millis(1200));
        assert_eq!(server.connection_statistics().open, 1);
        answer(later, 1);
        assert_eq!(call.wait(), Ok(2));
        // The connection is closed after the answer.
        until(|| server.connection_statistics().open == 0);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
}

#[test]
fn what_is_unanswered_counts_among_the_requests_of_its_client() {
    let _guard = watchdog(LONG);
    let server =
        common::transport::listening().setting("MaxRequestsPerClient", "2").build().unwrap();
    let client = a_client();
    let (keeper, object) = keeper(&server, &client);
    let calls: Vec<_> = (0..2).map(|n| ping_async(&object, n)).collect();
    let kept = keeper.take(2);
    let refused = ping(&object, 0).unwrap_err();
    assert_eq!(refused.minor, minor::transient::TOO_MANY_REQUESTS);
    for (n, later) in kept {
        answer(later, n);
    }
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.wait(), Ok(n as i64 + 1));
    }
    for n in 0..5 {
        let call = ping_async(&object, n);
        answer(keeper.take_one(), n);
        assert_eq!(call.wait(), Ok(n + 1));
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_caller_in_the_same_process_waits_too() {
    let _guard = watchdog(LONG);
    let server = server(EVERY_CONCURRENCY[0]);
    let (keeper, object) = keeper(&server, &server);
    thread::scope(|scope| {
        scope.spawn(|| answer(keeper.take_one(), 1));
        assert_eq!(ping(&object, 1), Ok(2));
    });
    // An asynchronous call returns at once, so that the caller itself may answer it.
    let mut call = ping_async(&object, 2);
    assert!(!call.is_ready());
    answer(keeper.take_one(), 2);
    assert!(call.is_ready());
    assert_eq!(call.wait(), Ok(3));
    let call = ping_async(&object, 2);
    drop(keeper.take_one());
    assert_eq!(call.wait().unwrap_err().kind, SystemExceptionKind::NoResponse);
    // A call that times out cancels its request, whether the call is synchronous or asynchronous.
    let hasty = object.with_timeout(Duration::from_millis(50));
    let late = timed_out(|| ping(&hasty, 1));
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    let late = timed_out(|| ping_async(&hasty, 1).wait());
    assert_raised(late, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    for (n, later) in keeper.take(2) {
        assert!(later.is_cancelled());
        assert!(later.deadline().is_some());
        answer(later, n);
    }
    // The shutdown waits for requests that are not yet answered.
    let call = ping_async(&object, 4);
    let later = keeper.take_one();
    thread::scope(|scope| {
        let ending = scope.spawn(|| server.shutdown(true));
        until(|| server.is_closing());
        thread::sleep(Duration::from_millis(20));
        assert!(!ending.is_finished());
        answer(later, 4);
        assert_eq!(ending.join().unwrap(), Ok(()));
    });
    assert_eq!(call.wait(), Ok(5));
}

/// Interceptor that records its points and their threads.
#[derive(Clone, Default)]
struct Points(Arc<Mutex<Vec<String>>>);

const CONTEXT: u32 = 0x4F58_414D;

impl Points {
    fn note(&self, point: &str) {
        self.0.lock().unwrap().push(point.to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

struct Watcher(Points, Slot);

impl ServerInterceptor for Watcher {
    fn receive_request_service_contexts(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<(), Interrupt> {
        self.0.note("contexts");
        request.set_slot(self.1, Some(oxorb::Any::new(5i32)));
        Ok(())
    }

    fn receive_request(&self, _: &mut ServerRequest<'_>) -> Result<(), Interrupt> {
        self.0.note("request");
        Ok(())
    }

    fn send_reply(&self, reply: &mut ServerReply<'_>) -> Result<(), SystemException> {
        // The slot has the value that the servant's thread left in it, not that of the answering thread.
        let slot = reply.slot(self.1).and_then(|any| any.get::<i32>().ok().flatten());
        self.0.note(&format!("reply {} {slot:?}", reply.operation()));
        reply.add_reply_service_context(CONTEXT, vec![0], false)
    }

    fn send_exception(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        if let Sending::SystemException(exception) = reply.sending() {
            self.0.note(&format!("exception {:?}", exception.kind));
        }
        Ok(())
    }

    fn send_other(&self, _: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        self.0.note("other");
        Ok(())
    }
}

#[test]
fn interceptors_see_each_point_once() {
    let _guard = watchdog(LONG);
    let points = Points::default();
    let slot = Slot::allocate().unwrap();
    let server = common::transport::listening()
        .server_interceptor(Watcher(points.clone(), slot))
        .build()
        .unwrap();
    let client = a_client();
    for caller in [&client, &server] {
        let (keeper, object) = keeper(&server, caller);
        let call = ping_async(&object, 1);
        let later = keeper.take_one();
        until(|| points.0.lock().unwrap().len() == 2);
        assert_eq!(points.take(), ["contexts", "request"]);
        answer(later, 1);
        assert_eq!(call.wait(), Ok(2));
        assert_eq!(points.take(), ["reply ping Some(5)"]);
        let call = ping_async(&object, 1);
        drop(keeper.take_one());
        call.wait().unwrap_err();
        assert_eq!(points.take(), ["contexts", "request", "exception NoResponse"]);
        object.reference().send(&TELL, |_| Ok(())).unwrap();
        drop(keeper.take_one());
        assert_eq!(points.take(), ["contexts", "request", "reply note Some(5)"]);
        object.reference().send(&TELL, |_| Ok(())).unwrap();
        let later = keeper.take_one();
        // A panic that drops the request is seen as an exception, although nothing is sent.
        let ended = thread::spawn(move || {
            let _later = later;
            panic!("as the test wants it");
        });
        assert!(ended.join().is_err());
        assert_eq!(points.take(), ["contexts", "request", "exception Unknown"]);
        let call = ping_async(&object, 1);
        keeper.take_one().forward(Interface::reference(&elsewhere(
            caller,
            &server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap(),
        )));
        let outcome = call.wait();
        let seen = points.take();
        assert_eq!(seen[..3], ["contexts", "request", "other"]);
        match outcome {
            Ok(answer) => {
                assert_eq!(answer, 2);
                assert_eq!(seen[3..], ["contexts", "request", "reply ping Some(5)"]);
            }
            // A collocated request is not kept, so it cannot be sent to the target of the forward.
            Err(raised) => assert_eq!(raised.minor, minor::transient::FORWARDED),
        }
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Locator that returns the same servant for each request, and counts the calls of `postinvoke`.
struct Locator(Arc<Keeper>, Arc<AtomicUsize>);

impl ServantLocator for Locator {
    fn preinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused> {
        Ok((Arc::new(Kept(Arc::clone(&self.0))), None))
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
        _: Cookie,
        _: Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn servants_of_a_locator_answer_later_too() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let policies = Policies {
        servant_retention: ServantRetention::NonRetain,
        request_processing: RequestProcessing::ServantManager,
        id_assignment: IdAssignment::User,
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("located", policies).unwrap();
    poa.manager().activate().unwrap();
    let (keeper, ended) = (Arc::new(Keeper::default()), Arc::default());
    poa.set_servant_locator(Locator(Arc::clone(&keeper), Arc::clone(&ended))).unwrap();
    let local: ObjectRef = poa.create_reference_with_id("any").unwrap();
    for object in [elsewhere(&client, local.reference()), local] {
        let call = ping_async(&object, 1);
        let later = keeper.take_one();
        until(|| ended.swap(0, Ordering::SeqCst) == 1);
        answer(later, 1);
        assert_eq!(call.wait(), Ok(2));
        // `sleep` is answered within its upcall. `postinvoke` has run when the call returns.
        assert_eq!(
            object.reference().invoke(&SLEEP, |_| Ok(()), |_| Ok(())),
            Ok::<_, SystemException>(())
        );
        assert_eq!(ended.swap(0, Ordering::SeqCst), 1);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn the_main_thread_is_free_while_its_request_is_unanswered() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(EVERY_CONCURRENCY[0]), a_client());
    let policies = Policies { thread: ThreadPolicy::MainThread, ..Policies::default() };
    let poa = server.root_poa().create_poa("main", policies).unwrap();
    poa.manager().activate().unwrap();
    let keeper = Arc::new(Keeper::default());
    let local: Ref = poa.activate_servant(Arc::new(Kept(Arc::clone(&keeper)))).unwrap();
    let object = elsewhere(&client, &local);
    thread::scope(|scope| {
        let main = scope.spawn(|| server.run());
        let first = ping_async(&object, 1);
        let second = ping_async(&object, 2);
        for (n, later) in keeper.take(2).into_iter().rev() {
            answer(later, n);
        }
        assert_eq!((first.wait(), second.wait()), (Ok(2), Ok(3)));
        server.shutdown(false).unwrap();
        main.join().unwrap();
    });
    client.shutdown(true).unwrap();
}

/// An answer may precede the end of the upcall.
#[test]
fn an_answer_may_come_before_the_upcall_has_ended() {
    struct Hasty;
    impl Servant for Hasty {
        fn repository_id(&self) -> &str {
            PINGER
        }
        fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
            let Ok(n) = upcall.args(|d| d.longlong()) else {
                return upcall.unknown_operation();
            };
            upcall.later(|later| {
                let both = Barrier::new(2);
                thread::scope(|scope| {
                    scope.spawn(|| {
                        answer(later, n);
                        both.wait();
                    });
                    both.wait();
                });
            })
        }
    }
    let _guard = watchdog(LONG);
    for concurrency in EVERY_CONCURRENCY {
        let (server, client) = (server(concurrency), a_client());
        let local: Ref = server.root_poa().activate_servant(Arc::new(Hasty)).unwrap();
        for object in [elsewhere(&client, &local), ObjectRef::from_ref(local)] {
            for n in 0..100 {
                assert_eq!(ping(&object, n), Ok(n + 1));
            }
        }
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}
