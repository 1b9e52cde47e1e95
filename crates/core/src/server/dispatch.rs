//! One whole message of a client, answered.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_cdr::{Dialect, Encode as _};
use oxorb_giop::{
    Answer, Frame, Inbox, Incoming, LocateStatus, Message, MessageType, Misbehaviour, Request,
    Response, Violation, Wire,
};
use oxorb_object::{
    CodeSetContext, CommunicationClass, CompletionStatus, Qos, ServiceContexts, SystemException,
};

use super::registry::Client;
use super::stand_in::Desk;
use super::{Sink, both_ways};
use crate::Options;
use crate::conn::Kept;
use crate::deadline::{self, Times};
use crate::interceptor::ServerFlow;
use crate::probe::{self, Stage};
use crate::shared::Shared;
use crate::upcall::Arrived;
use crate::{Incident, Located, Orb, Outcome, Upcall, qos, raise};

/// What a connection knows about its client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Session {
    text: Incoming,
    /// This side opened the connection and offered it for requests.
    pub(super) opened_here: bool,
    /// An offer of the client to take requests was refused, and that was told.
    pub(super) refused: bool,
    /// Its requests are a message stream: run one after another, in the order in which they came.
    pub(super) in_order: bool,
}

/// Whether the connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Message,
    Close,
    /// A reply to a call that went the other way.
    Reply,
    /// The peer ends the connection by a message of this kind.
    Over(MessageType),
}

/// Serves the message that `inbox` announces, which is `frame`; a fault of the peer costs it at
/// most its own connection.
pub(super) fn dispatch(
    orb: &Orb,
    inbox: &Inbox,
    frame: &Frame<'_>,
    desk: &Desk,
    sink: &mut Sink,
) -> Next {
    let served = match frame.header.kind {
        MessageType::REQUEST => match Request::parse(frame) {
            Ok(ref request) => serve(orb, frame, request, inbox, desk, sink),
            Err(violation) => Err(violation),
        },
        _ => match dispatch_other(orb, frame, desk, sink) {
            Ok(Next::Message) => Ok(()),
            Ok(end) => return end,
            Err(violation) => Err(violation),
        },
    };
    match served {
        Ok(()) if sink.broken() => Next::Close,
        Ok(()) => Next::Message,
        Err(violation) => {
            let peer = || desk.link().map_or_else(String::new, |link| link.peer());
            orb.note(Incident::of(&violation), peer, || violation.to_string());
            refuse(&violation, frame.wire(), sink);
            Next::Close
        }
    }
}

/// Serves a message that is no request.
#[cold]
fn dispatch_other(
    orb: &Orb,
    frame: &Frame<'_>,
    desk: &Desk,
    sink: &mut Sink,
) -> Result<Next, Violation> {
    match frame.message()? {
        Message::LocateRequest(request) => {
            let key = request.target.object_key()?;
            locate(orb, frame, request.id, key, sink);
            Ok(Next::Message)
        }
        // Partial messages of a cancelled request were dropped by the inbox. A
        // servant that runs may ask; one that does not is answered all the
        // same, as CORBA allows.
        Message::CancelRequest(cancel) => {
            if let Some(turn) = desk.lines(|lines| lines.status.turn().cloned()) {
                turn.cancel(cancel.id);
            }
            Ok(Next::Message)
        }
        Message::CloseConnection | Message::MessageError => Ok(Next::Over(frame.header.kind)),
        Message::Reply(_) if desk.lines(|lines| lines.status.calls().cloned()).is_some() => {
            Ok(Next::Reply)
        }
        Message::Request(_) | Message::Reply(_) | Message::LocateReply(_) => {
            Err(Violation::Peer(Misbehaviour::Kind {
                expected: MessageType::REQUEST,
                found: frame.header.kind,
            }))
        }
    }
}

/// Answers octets that are no message of the protocol, where it has a word for that.
pub(crate) fn refuse(violation: &Violation, wire: Wire, sink: &mut Sink) {
    if violation.answer() == Answer::MessageError
        && let Some(error) = wire.error()
    {
        sink.send_octets(&error);
    }
}

/// Serves a request of this very process; its reply is written to `room`.
pub(crate) fn serve_local(orb: &Orb, message: &[u8], dialect: Dialect, room: Vec<u8>) -> Kept {
    let mut sink = Sink::to_memory(room);
    let frame = Frame::parse(message).expect("a message that was just written");
    let request = Request::parse(&frame).expect("a message that was just written");
    let key = request
        .target
        .object_key()
        .expect("a message that was just written");
    let times = Times::of(&frame, &request).expect("contexts that were just written");
    let arrived = Arrived {
        orb,
        frame: &frame,
        request: &request,
        key,
        dialect,
        times: &times,
    };
    upcall(
        &arrived,
        &mut sink,
        ServerFlow::of(orb.shared()),
        |upcall| adapt(orb, upcall),
    );
    sink.into_memory()
}

fn serve(
    orb: &Orb,
    frame: &Frame<'_>,
    request: &Request<'_>,
    inbox: &Inbox,
    desk: &Desk,
    sink: &mut Sink,
) -> Result<(), Violation> {
    probe::stamp(Stage::RequestParsed);
    sink.begin();
    let id = request.id;
    if inbox.is_cancelled(id) || desk.was_cancelled(id) {
        // It waited here while others were served, and nobody waits for it.
        let peer = || desk.link().map_or_else(String::new, |link| link.peer());
        let what = || format!("request {id}, operation {}", request.operation);
        orb.note(Incident::Cancelled, peer, what);
        return Ok(());
    }
    let key = request.target.object_key()?;
    let fail =
        |sink: &mut Sink, exception| refuse_request(orb.options(), frame, request, exception, sink);
    let dialect = match Session::dialect(desk, request, frame.header.version.minor) {
        Ok(dialect) => dialect,
        Err(exception) => return fail(sink, exception),
    };
    if !request.contexts.is_empty() {
        if let Some(offer) = request.contexts.find(oxorb_object::context_id::BI_DIR_IIOP) {
            both_ways::consider(orb, desk, key, offer.data);
        }
        Session::keep_order(desk, &request.contexts);
    }
    if desk.session().opened_here && !both_ways::is_open(orb, key) {
        return fail(sink, raise::NOT_BIDIRECTIONAL);
    }
    let mut counted = Counted(None);
    if desk.counted.get() {
        match Counted::begin(orb.shared(), desk) {
            Some(begun) => counted = begun,
            None => return fail(sink, raise::TOO_MANY_REQUESTS),
        }
    }
    let read;
    let mut times = Times::NONE;
    if !request.contexts.is_empty() || request.has_terms {
        read = Times::of(frame, request)?;
        times = &read;
        if let Err(exception) = times.admit(orb.options().hold_time) {
            return fail(sink, exception);
        }
    }
    let arrived = Arrived {
        orb,
        frame,
        request,
        key,
        dialect,
        times,
    };
    probe::stamp(Stage::RequestAdmitted);
    upcall(&arrived, sink, ServerFlow::of(orb.shared()), |upcall| {
        adapt(orb, upcall)
    });
    if counted.0.is_some() && sink.is_deferred() {
        counted.moved();
    }
    Ok(())
}

/// Answers a request that is not served with an exception, if somebody waits for an answer.
#[cold]
fn refuse_request(
    options: &Options,
    frame: &Frame<'_>,
    request: &Request<'_>,
    exception: SystemException,
    sink: &mut Sink,
) -> Result<(), Violation> {
    if request.response != Response::None {
        let wire = frame.wire();
        sink.send_exception(options, wire, request.id, wire.dialect(), exception);
    }
    Ok(())
}

/// Lets interceptors see the request and the object adapter find the servant.
#[inline]
fn adapt(orb: &Orb, upcall: Upcall<'_>) -> Outcome {
    match &upcall.flow {
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

/// A servant that panics must not take the connection's thread with it.
#[inline]
pub(crate) fn upcall(
    arrived: &Arrived<'_>,
    sink: &mut Sink,
    flow: Option<Arc<ServerFlow>>,
    serve: impl FnOnce(Upcall<'_>) -> Outcome,
) {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        let upcall = Upcall::new(arrived, sink, flow.clone());
        let contexts = &arrived.request.contexts;
        let Outcome { .. } = qos::within(contexts, || {
            deadline::within(arrived.times, || serve(upcall))
        });
    }));
    if outcome.is_ok() {
        return;
    }
    if !sink.answered() {
        // Interceptors that have seen the request see how it ended, but for one of them that panics now.
        let upcall = Upcall::new(arrived, sink, flow);
        let _ = panic::catch_unwind(AssertUnwindSafe(|| upcall.fail(raise::SERVANT_PANICKED)));
    }
    let Arrived {
        orb,
        frame,
        request,
        dialect,
        ..
    } = *arrived;
    if request.response != Response::None && !sink.answered() {
        let (wire, id) = (frame.wire(), request.id);
        sink.send_exception(orb.options(), wire, id, dialect, raise::SERVANT_PANICKED);
    }
}

fn locate(orb: &Orb, frame: &Frame<'_>, id: u32, key: &[u8], sink: &mut Sink) {
    let located = panic::catch_unwind(AssertUnwindSafe(|| {
        orb.adapter()
            .map_or(Located::Unknown, |adapter| adapter.locate(key))
    }))
    .unwrap_or(Located::Unknown);
    let (status, forward) = match &located {
        Located::Here => (LocateStatus::OBJECT_HERE, None),
        Located::Unknown => (LocateStatus::UNKNOWN_OBJECT, None),
        Located::Forward(reference) => (LocateStatus::OBJECT_FORWARD, Some(reference.ior())),
    };
    let wire = frame.wire();
    let mut e = sink.encoder(orb.options(), wire.dialect());
    let begun = wire.begin_locate_reply(&mut e, id, status);
    if let Some(ior) = forward {
        // An IOR of our own making has no text that could not be written.
        let _ = ior.encode(&mut e);
    }
    let _ = wire.finish(&mut e, begun);
    sink.send(orb.options(), wire, e);
}

/// One of the requests that its client may have running; `None`: it counts nowhere.
struct Counted(Option<Arc<Client>>);

impl Counted {
    #[cold]
    fn begin(shared: &Shared, desk: &Desk) -> Option<Counted> {
        let client = desk.client()?;
        let limit = shared.options.max_requests_per_client.unwrap_or(usize::MAX);
        if client.begin(limit) {
            return Some(Counted(Some(client)));
        }
        let peer = || desk.link().map_or_else(String::new, |link| link.peer());
        shared.note(Incident::TooManyRequests, peer, String::new);
        None
    }

    /// It goes on counting until it is answered, which others see to.
    fn moved(mut self) {
        self.0 = None;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(client) = &self.0 {
            client.end();
        }
    }
}

/// Whether a request belongs to a message stream.
pub(super) fn is_stream(contexts: &ServiceContexts<'_>) -> bool {
    Qos::of(contexts).is_some_and(|qos| qos.class == CommunicationClass::MessageStream)
}

impl Session {
    /// Returns the session of a connection whose protocol has these rules for text until others are agreed on.
    #[cold]
    pub(super) fn speaking(dialect: Dialect) -> Session {
        Session {
            text: Incoming::of(dialect),
            ..Session::default()
        }
    }

    /// Of a connection that this side opened, and over which requests may come.
    pub(super) fn of_our_own() -> Session {
        Session {
            opened_here: true,
            ..Session::default()
        }
    }

    /// Has the requests of a message stream served in order, from the first one on.
    pub(super) fn keep_order(desk: &Desk, contexts: &ServiceContexts<'_>) {
        let session = desk.session();
        if !session.in_order && is_stream(contexts) {
            desk.set_session(Session {
                in_order: true,
                ..session
            });
        }
    }

    /// How text in this request is encoded: as the client said in this or an
    /// earlier request of the connection.
    // Two callers, of which one is for each request: there it belongs in place.
    #[inline(always)]
    pub(super) fn dialect(
        desk: &Desk,
        request: &Request<'_>,
        giop_minor: u8,
    ) -> Result<Dialect, SystemException> {
        if !request.contexts.is_empty()
            && let Some(context) = request.contexts.find(oxorb_object::context_id::CODE_SETS)
        {
            let said = CodeSetContext::parse(context.data)
                .map_err(|violation| violation.to_exception(CompletionStatus::No))?;
            let session = desk.session();
            let text = session.text.hear(said, giop_minor);
            let text = text.map_err(|_| raise::CODE_SETS_CHANGED)?;
            if text != session.text {
                desk.set_session(Session { text, ..session });
            }
        }
        desk.session().text.dialect(giop_minor)
    }
}
