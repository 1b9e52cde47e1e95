//! Dispatch of a client's message, up to its answer.

use std::hint::cold_path;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_cdr::{Dialect, Encode as _};
use oxorb_giop::{
    Frame, Inbox, LocateStatus, Message, MessageType, Misbehaviour, Request, Response, Violation,
};
use oxorb_object::SystemException;

use super::Sink;
use super::client::Client;
use super::session::{Caller, SessionStep, refuse};
use crate::conn::{CollocatedReply, Offer};
use crate::error::raise;
use crate::interceptor::ServerFlow;
use crate::probe::{self, Stage};
use crate::scheduler::budget::BudgetedRequest;
use crate::servant::{Arrived, Times, terms};
use crate::shared::Shared;
use crate::{Incident, Located, Orb, Outcome, Upcall};

/// Serves the message `frame`, which `inbox` announces; a fault of the peer costs at most the
/// peer's own connection.
pub(crate) fn dispatch(
    orb: &Orb,
    inbox: &Inbox,
    frame: &Frame<'_>,
    mut caller: Caller<'_>,
    sink: &mut Sink,
) -> SessionStep {
    let served = match frame.header.kind {
        MessageType::REQUEST => match Request::parse(frame) {
            Ok(ref request) => serve(orb, frame, request, inbox, &mut caller, sink),
            Err(violation) => Err(violation),
        },
        _ => match dispatch_other(orb, frame, &caller, sink) {
            Ok(SessionStep::Message) => Ok(()),
            Ok(end) => return end,
            Err(violation) => Err(violation),
        },
    };
    match served {
        Ok(()) if sink.broken() => SessionStep::Close,
        Ok(()) => SessionStep::Message,
        Err(violation) => {
            let peer = || caller.link.peer();
            orb.note(Incident::of(&violation), peer, || violation.to_string());
            refuse(&violation, frame.wire(), sink);
            SessionStep::Close
        }
    }
}

/// Serves a message that is not a request.
#[cold]
fn dispatch_other(
    orb: &Orb,
    frame: &Frame<'_>,
    caller: &Caller<'_>,
    sink: &mut Sink,
) -> Result<SessionStep, Violation> {
    match frame.message()? {
        Message::LocateRequest(request) => {
            let key = request.target.object_key()?;
            locate(orb, frame, request.id, key, sink);
            Ok(SessionStep::Message)
        }
        // The inbox has dropped the partial messages of a cancelled request. A servant that already runs may check for
        // cancellation. Otherwise the request is answered nevertheless, as CORBA allows.
        Message::CancelRequest(cancel) => {
            if let Some(turn) = caller.common.status.turn() {
                turn.cancel(cancel.id);
            }
            Ok(SessionStep::Message)
        }
        Message::CloseConnection | Message::MessageError => {
            Ok(SessionStep::Over(frame.header.kind))
        }
        Message::Reply(_) if caller.common.status.calls().is_some() => Ok(SessionStep::Reply),
        Message::Request(_) | Message::Reply(_) | Message::LocateReply(_) => {
            Err(Violation::Peer(Misbehaviour::Kind {
                expected: MessageType::REQUEST,
                found: frame.header.kind,
            }))
        }
    }
}

/// Serves a collocated request; the reply is written to `room`.
pub(crate) fn serve_local(
    orb: &Orb,
    message: &[u8],
    dialect: Dialect,
    room: Vec<u8>,
) -> CollocatedReply {
    let mut sink = Sink::to_memory(room);
    let frame = Frame::parse(message).expect("a message that was just written");
    let request = Request::parse(&frame).expect("a message that was just written");
    let key = request.target.object_key().expect("a message that was just written");
    let times = Times::of(&frame, &request).expect("contexts that were just written");
    let arrived = Arrived {
        orb,
        frame: &frame,
        request: &request,
        key,
        dialect,
        times: &times,
        payloads: None,
    };
    let flow = ServerFlow::of(orb.interceptors());
    upcall(&arrived, &mut sink, flow.as_ref(), |upcall| adapt(orb, upcall));
    ServerFlow::end_of_request(flow);
    sink.into_memory()
}

fn serve(
    orb: &Orb,
    frame: &Frame<'_>,
    request: &Request<'_>,
    inbox: &Inbox,
    caller: &mut Caller<'_>,
    sink: &mut Sink,
) -> Result<(), Violation> {
    probe::stamp(Stage::RequestParsed);
    sink.begin();
    let id = request.id;
    if inbox.is_cancelled(id) || caller.has_cancelled(id) {
        // The request was cancelled while it waited for other requests, so it is not run.
        let peer = || caller.link.peer();
        let what = || format!("request {id}, operation {}", request.operation);
        orb.note(Incident::Cancelled, peer, what);
        return Ok(());
    }
    let key = request.target.object_key()?;
    let fail =
        |sink: &mut Sink, exception| refuse_request(orb.shared(), frame, request, exception, sink);
    let dialect = match caller.dialect(request, frame.header.version.minor) {
        Ok(dialect) => dialect,
        Err(exception) => return fail(sink, exception),
    };
    if !request.contexts.is_empty() {
        if Offer::is_in(&request.contexts) {
            orb.consider_offer(caller, key, &request.contexts);
        }
        caller.keep_order(&request.contexts);
    }
    if caller.session.opened_here && !orb.takes_both_ways(key) {
        return fail(sink, raise::NOT_BIDIRECTIONAL);
    }
    if caller.context.limited.get() {
        // The compiler places this code apart from the path of an ORB without limits, although it is inlined.
        cold_path();
        let is_counted = caller.context.counted.get();
        let desk = &caller.context.desk;
        if is_counted
            || !desk.is_plain()
            || !begin_within_budgets(orb.shared(), caller, key, request.operation)
        {
            let served = ServedRequest { orb, frame, request, key, dialect };
            return match !is_counted && desk.is_watched() {
                true => run_charged(&served, caller, sink),
                false => run_limited(&served, caller, sink),
            };
        }
    }
    run(ServedRequest { orb, frame, request, key, dialect }, caller, sink)
}

/// Request that is passed on to its servant.
#[derive(Clone, Copy)]
struct ServedRequest<'r> {
    orb: &'r Orb,
    frame: &'r Frame<'r>,
    request: &'r Request<'r>,
    key: &'r [u8],
    dialect: Dialect,
}

/// Begins a request that is within its budgets, if these limit only rates of requests and that takes few instructions.
/// Returns false, and takes nothing, otherwise.
// If this were inlined, most values of `serve` would be moved to memory and back.
#[cold]
#[inline(never)]
fn begin_within_budgets(shared: &Shared, caller: &Caller<'_>, key: &[u8], operation: &str) -> bool {
    let Caller { common, context, .. } = caller;
    match (&shared.budgets, common.status.known_account()) {
        (Some(ledger), Some(client)) => context.desk.begin_within(ledger, client, key, operation),
        _ => false,
    }
}

/// Runs a request in a thread that charges processor time. The request was not begun before, and the client's running
/// requests are not counted.
#[cold]
#[inline(never)]
fn run_charged(
    served: &ServedRequest<'_>,
    caller: &Caller<'_>,
    sink: &mut Sink,
) -> Result<(), Violation> {
    let ServedRequest { orb, request, key, .. } = *served;
    let Caller { common, context, .. } = caller;
    let begun = match (&orb.shared().budgets, common.status.known_account()) {
        (Some(ledger), Some(client)) => {
            context.desk.begin_charged(ledger, client, key, request.operation)
        }
        _ => None,
    };
    let Some(mut charged) = begun else {
        return run_limited(served, caller, sink);
    };
    let ran = run(*served, caller, sink);
    // Dropping would end the request, too, but in code that is not inlined, after a move.
    charged.finish();
    mem::forget(charged);
    ran
}

/// Runs a request that counts against its client's limit, or to which budgets may apply, and that was not begun before.
#[cold]
#[inline(never)]
fn run_limited(
    served: &ServedRequest<'_>,
    caller: &Caller<'_>,
    sink: &mut Sink,
) -> Result<(), Violation> {
    let ServedRequest { orb, frame, request, key, .. } = *served;
    let fail =
        |sink: &mut Sink, exception| refuse_request(orb.shared(), frame, request, exception, sink);
    let mut counted = RequestCount(None);
    if caller.context.counted.get() {
        match RequestCount::begin(orb.shared(), caller) {
            Some(begun) => counted = begun,
            None => return fail(sink, raise::TOO_MANY_REQUESTS),
        }
    }
    let mut charged = None;
    if let Some(ledger) = &orb.shared().budgets {
        let asked = BudgetedRequest {
            key,
            operation: request.operation,
            describe: &|key, look| orb.describe(key, look),
            lowest: caller.context.lowest.get(),
            own: caller.context.own.get(),
            threads: caller.context.threads.get(),
        };
        let client = caller.common.status.account(ledger, caller.link);
        let begun = caller.context.desk.begin(ledger, client, &asked);
        pause(caller);
        match begun {
            Ok(begun) => charged = Some(begun),
            Err(exception) => return fail(sink, exception),
        }
    }
    let ran = run(*served, caller, sink);
    if counted.0.is_some() && sink.is_deferred() {
        counted.moved();
    }
    // The request is charged, which may exhaust a budget.
    drop(charged);
    pause(caller);
    ran
}

/// Pauses the connection if its last request has exhausted a budget whose connections are then not read, or was refused
/// because of such a budget. Links that may lose messages are not paused: they have no flow control, so the system
/// would drop what arrives, and a group of several senders is one of them.
fn pause(caller: &Caller<'_>) {
    match caller.context.desk.take_pause() {
        0 => {}
        until if caller.link.facts().reliable => caller.common.status.pause_until(until),
        _ => {}
    }
}

#[inline(always)]
fn run(served: ServedRequest<'_>, caller: &Caller<'_>, sink: &mut Sink) -> Result<(), Violation> {
    let ServedRequest { orb, frame, request, key, dialect } = served;
    let read;
    let mut times = Times::NONE;
    if !request.contexts.is_empty() || request.has_terms {
        read = Times::of(frame, request)?;
        times = &read;
        if let Err(exception) = times.admit(orb.options().hold_time) {
            return refuse_request(orb.shared(), frame, request, exception, sink);
        }
    }
    let arrived = Arrived {
        orb,
        frame,
        request,
        key,
        dialect,
        times,
        payloads: Some(caller.common.payloads),
    };
    probe::stamp(Stage::RequestAdmitted);
    let flow = ServerFlow::of(orb.interceptors());
    upcall(&arrived, sink, flow.as_ref(), |upcall| adapt(orb, upcall));
    ServerFlow::end_of_request(flow);
    Ok(())
}

/// Answers a request that is not served with an exception, if the client expects an answer.
#[cold]
fn refuse_request(
    shared: &Shared,
    frame: &Frame<'_>,
    request: &Request<'_>,
    exception: SystemException,
    sink: &mut Sink,
) -> Result<(), Violation> {
    shared.count_refused(super::serving_lane(shared.scheduling.number()), exception);
    if request.response != Response::None {
        let (wire, options) = (frame.wire(), &shared.options);
        sink.send_exception(options, wire, request.id, wire.dialect(), exception);
    }
    Ok(())
}

/// Shows the request to interceptors, and lets the object adapter find the servant.
#[inline]
fn adapt(orb: &Orb, upcall: Upcall<'_>) -> Outcome {
    match upcall.flow {
        None => find_servant(orb, upcall),
        Some(_) => adapt_intercepted(orb, upcall),
    }
}

#[cold]
fn adapt_intercepted(orb: &Orb, upcall: Upcall<'_>) -> Outcome {
    let upcall = match upcall.admit() {
        Ok(upcall) => upcall,
        Err(ended) => return ended,
    };
    let _slots = upcall.enter_slots();
    find_servant(orb, upcall)
}

#[inline]
fn find_servant(orb: &Orb, upcall: Upcall<'_>) -> Outcome {
    match orb.adapter() {
        Some(adapter) => adapter.dispatch(upcall),
        None => upcall.fail(raise::NO_ADAPTER),
    }
}

/// Calls the servant; a panic must not end the connection's thread.
#[inline]
pub(crate) fn upcall(
    arrived: &Arrived<'_>,
    sink: &mut Sink,
    flow: Option<&Arc<ServerFlow>>,
    serve: impl FnOnce(Upcall<'_>) -> Outcome,
) {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        let upcall = Upcall::new(arrived, sink, flow);
        let contexts = &arrived.request.contexts;
        let Outcome { .. } = match terms::any_apply(contexts, arrived.times) {
            false => serve(upcall),
            true => terms::within(contexts, arrived.times, || serve(upcall)),
        };
    }));
    if outcome.is_ok() {
        return;
    }
    // A oneway may be acknowledged before its servant is called. Nothing is sent at its end then.
    let acknowledged = arrived.request.response == Response::WithServer && !sink.ends_later();
    if acknowledged || !sink.answered() {
        // Interceptors that have seen the request also see its end, unless one of them panics now.
        let upcall = Upcall::new(arrived, sink, flow);
        let _ = panic::catch_unwind(AssertUnwindSafe(|| upcall.fail(raise::SERVANT_PANICKED)));
    }
    let Arrived { orb, frame, request, dialect, .. } = *arrived;
    if request.response != Response::None && !sink.answered() {
        let (wire, id) = (frame.wire(), request.id);
        sink.send_exception(orb.options(), wire, id, dialect, raise::SERVANT_PANICKED);
    }
}

fn locate(orb: &Orb, frame: &Frame<'_>, id: u32, key: &[u8], sink: &mut Sink) {
    let located = panic::catch_unwind(AssertUnwindSafe(|| {
        orb.adapter().map_or(Located::Unknown, |adapter| adapter.locate(key))
    }))
    .unwrap_or(Located::Unknown);
    let (status, forward) = match &located {
        Located::Here => (LocateStatus::OBJECT_HERE, None),
        Located::Unknown => (LocateStatus::UNKNOWN_OBJECT, None),
        Located::Forward(reference) => (LocateStatus::OBJECT_FORWARD, Some(reference.ior())),
    };
    let wire = frame.wire();
    let options = orb.options();
    let mut e = sink.encoder(options.byte_order, options, wire.dialect());
    let begun = wire.begin_locate_reply(&mut e, id, status);
    if let Some(ior) = forward {
        // Encoding an IOR never fails, so the result is ignored.
        let _ = ior.encode(&mut e);
    }
    let _ = wire.finish(&mut e, begun);
    sink.send(orb.options(), wire, &mut e, None);
}

/// Count of a request among its client's running requests; `None` if it is not counted.
struct RequestCount(Option<Arc<Client>>);

impl RequestCount {
    #[cold]
    fn begin(shared: &Shared, caller: &Caller<'_>) -> Option<RequestCount> {
        let client = caller.common.status.client.clone()?;
        let limit = shared.options.max_requests_per_client.unwrap_or(usize::MAX);
        if client.begin(limit) {
            return Some(RequestCount(Some(client)));
        }
        let peer = || caller.link.peer();
        shared.note(Incident::TooManyRequests, peer, String::new);
        None
    }

    /// Leaves the request counted until other code answers it.
    fn moved(mut self) {
        self.0 = None;
    }
}

impl Drop for RequestCount {
    fn drop(&mut self) {
        if let Some(client) = &self.0 {
            client.end();
        }
    }
}
