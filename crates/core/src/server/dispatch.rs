//! One whole message of a client, answered.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use oxorb_cdr::{Dialect, Encode as _};
use oxorb_giop::{
    Answer, CodeSetContext, CompletionStatus, Frame, LocateStatus, Message, MessageType,
    Misbehaviour, Request, Response, SystemException, Version, Violation,
};

use super::Sink;
use crate::{Located, Orb, Outcome, Upcall, raise};

/// What a connection knows about its client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Session {
    /// What the client said about code sets, once.
    code_sets: Option<CodeSetContext>,
}

/// Whether the connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Message,
    Close,
}

/// Serves one message; a fault of the peer costs it at most its own connection.
pub(crate) fn dispatch(
    orb: &Orb,
    frame: Frame<'_>,
    session: &Cell<Session>,
    sink: &mut Sink,
) -> Next {
    let served = match frame.message() {
        Ok(Message::Request(request)) => serve(orb, frame, request, session, sink),
        Ok(Message::LocateRequest(request)) => match request.target.object_key() {
            Ok(key) => {
                locate(orb, &frame, request.id, key, sink);
                Ok(())
            }
            Err(violation) => Err(violation),
        },
        // Partial messages of a cancelled request are dropped by the inbox; a
        // request that arrived whole is answered all the same, as CORBA allows.
        Ok(Message::CancelRequest(_)) => Ok(()),
        Ok(Message::CloseConnection | Message::MessageError) => return Next::Close,
        Ok(Message::Reply(_) | Message::LocateReply(_)) => {
            Err(Violation::Peer(Misbehaviour::Kind {
                expected: MessageType::REQUEST,
                found: frame.header.kind,
            }))
        }
        Err(violation) => Err(violation),
    };
    match served {
        Ok(()) if sink.broken() => Next::Close,
        Ok(()) => Next::Message,
        Err(violation) => {
            refuse(&violation, frame.header.version, sink);
            Next::Close
        }
    }
}

/// Answers octets that are not GIOP as the specification wants it.
pub(crate) fn refuse(violation: &Violation, version: Version, sink: &mut Sink) {
    if violation.answer() == Answer::MessageError {
        sink.send_octets(&oxorb_giop::message_error(version));
    }
}

/// Serves a request of this very process; its reply stays in `sink`.
pub(crate) fn dispatch_local(orb: &Orb, message: &[u8], dialect: Dialect, sink: &mut Sink) {
    let frame = Frame::parse(message).expect("a message that was just written");
    let request = Request::parse(&frame).expect("a message that was just written");
    let key = request
        .target
        .object_key()
        .expect("a message that was just written");
    upcall(orb, frame, request, key, dialect, sink, |upcall| {
        adapt(orb, upcall)
    });
}

fn serve(
    orb: &Orb,
    frame: Frame<'_>,
    request: Request<'_>,
    session: &Cell<Session>,
    sink: &mut Sink,
) -> Result<(), Violation> {
    sink.begin();
    let version = frame.header.version;
    let id = request.id;
    let expects_reply = request.response != Response::None;
    let key = request.target.object_key()?;
    let dialect = match Session::dialect(session, &request, version.minor) {
        Ok(dialect) => dialect,
        Err(exception) => {
            if expects_reply {
                let plain = Dialect::new(version.minor);
                sink.send_exception(orb.options(), version, id, plain, exception);
            }
            return Ok(());
        }
    };
    if request.response == Response::WithServer {
        // SYNC_WITH_SERVER: answered before the servant runs, and not after.
        acknowledge(orb, &frame, id, dialect, sink);
    }
    upcall(orb, frame, request, key, dialect, sink, |upcall| {
        adapt(orb, upcall)
    });
    Ok(())
}

/// Lets the object adapter find the servant.
#[inline]
fn adapt(orb: &Orb, upcall: Upcall<'_>) -> Outcome {
    match orb.adapter() {
        Some(adapter) => adapter.dispatch(upcall),
        None => upcall.fail(raise::NO_ADAPTER),
    }
}

/// A servant that panics must not take the connection's thread with it.
#[inline]
pub(crate) fn upcall(
    orb: &Orb,
    frame: Frame<'_>,
    request: Request<'_>,
    key: &[u8],
    dialect: Dialect,
    sink: &mut Sink,
    serve: impl FnOnce(Upcall<'_>) -> Outcome,
) {
    let version = frame.header.version;
    let id = request.id;
    let expects_reply = request.response != Response::None;
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        let upcall = Upcall::new(orb, frame, request, key, dialect, sink);
        let Outcome { .. } = serve(upcall);
    }));
    if outcome.is_err() && expects_reply && !sink.answered() {
        sink.send_exception(orb.options(), version, id, dialect, raise::SERVANT_PANICKED);
    }
}

fn acknowledge(orb: &Orb, frame: &Frame<'_>, id: u32, dialect: Dialect, sink: &mut Sink) {
    let mut e = sink.encoder(orb.options(), dialect);
    let version = frame.header.version;
    let begun = oxorb_giop::begin_reply(
        &mut e,
        version,
        id,
        oxorb_giop::ReplyStatus::NO_EXCEPTION,
        &[],
    );
    oxorb_giop::finish(&mut e, begun).expect("an empty reply is no longer than any limit");
    sink.send(orb.options(), version, e.finish());
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
    let version = frame.header.version;
    let mut e = sink.encoder(orb.options(), Dialect::new(version.minor));
    let begun = oxorb_giop::begin_locate_reply(&mut e, version, id, status);
    if let Some(ior) = forward {
        // An IOR of our own making has no text that could not be written.
        let _ = ior.encode(&mut e);
    }
    let _ = oxorb_giop::finish(&mut e, begun);
    sink.send(orb.options(), version, e.finish());
}

impl Session {
    /// How text in this request is encoded: as the client said in this or an
    /// earlier request of the connection.
    fn dialect(
        session: &Cell<Session>,
        request: &Request<'_>,
        giop_minor: u8,
    ) -> Result<Dialect, SystemException> {
        if let Some(context) = request.contexts.find(oxorb_giop::context_id::CODE_SETS) {
            let said = CodeSetContext::parse(context.data)
                .map_err(|violation| violation.to_exception(CompletionStatus::No))?;
            match session.get().code_sets {
                Some(before) if before != said => return Err(raise::CODE_SETS_CHANGED),
                _ => session.set(Session {
                    code_sets: Some(said),
                }),
            }
        }
        match session.get().code_sets {
            Some(context) => context.dialect(giop_minor),
            None => Ok(Dialect::new(giop_minor)),
        }
    }
}
