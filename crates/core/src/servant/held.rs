//! Requests whose answer is not sent at once, or not by this thread.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_cdr::{Dialect, Gap};
use oxorb_giop::{Frame, FrameContext, Header, Request, Violation, Wire};
use oxorb_object::{CompletionStatus, SystemException};

use super::terms::Times;
use super::upcall::{Arrived, Outcome, Upcall};
use crate::Orb;
use crate::conn::CollocatedReply;
use crate::error::raise;
use crate::interceptor::{self, ServerFlow};
use crate::policy::LargePayloads;
use crate::server::{self, CameOver, Sink};

/// Answer that is held back, as returned by [`Upcall::hold`].
#[must_use = "the client waits for the answer"]
pub struct HeldReply<'r> {
    pub(crate) orb: &'r Orb,
    pub(crate) sink: &'r mut Sink,
    pub(crate) id: u32,
    pub(crate) wire: Wire,
    pub(crate) dialect: Dialect,
    pub(crate) expects_reply: bool,
    /// Answer message, if any, or the panic of the servant.
    pub(crate) answer: Result<CollocatedReply, Box<dyn Any + Send>>,
}

impl HeldReply<'_> {
    /// Sends the answer; one that comes [later](Upcall::later) is sent when it arrives. Resumes the panic of a servant
    /// that panicked, which the client sees as UNKNOWN.
    pub fn send(self) -> Outcome {
        match self.answer {
            Ok(CollocatedReply::Nothing(_)) => {}
            Ok(CollocatedReply::Reply(message)) => self.sink.send_whole(message),
            Ok(CollocatedReply::Later(ref mailbox)) => {
                match self.sink.defer(self.orb.server(), self.id, self.wire) {
                    Some(deferred) => mailbox.send_on(Box::new(deferred)),
                    None => return self.fail(raise::NO_WAY_BACK),
                }
            }
            Err(panic) => panic::resume_unwind(panic),
        }
        Outcome::new()
    }

    /// Sends an exception instead of the answer. The operation may have run, so COMPLETED_NO becomes COMPLETED_MAYBE;
    /// otherwise the client could repeat the request. An answer that comes later is discarded.
    pub fn fail(self, exception: SystemException) -> Outcome {
        let exception = interceptor::replacing(CompletionStatus::Maybe, exception);
        if self.expects_reply {
            self.sink.send_exception(
                self.orb.options(),
                self.wire,
                self.id,
                self.dialect,
                exception,
            );
        }
        Outcome::new()
    }
}

/// Copy of a request that another thread may serve, as returned by [`Upcall::detach`].
pub struct DetachedRequest {
    pub(crate) header: Header,
    pub(crate) context: Option<Arc<FrameContext>>,
    pub(crate) message: Vec<u8>,
    pub(crate) dialect: Dialect,
    pub(crate) times: Times,
    pub(crate) flow: Option<Arc<ServerFlow>>,
    /// Whether the copy lacks octets of the arguments, which were taken before the request was copied.
    pub(crate) lacks: bool,
    /// Large-payload policy of the connection that the request came over, if any.
    pub(crate) payloads: Option<LargePayloads>,
    /// Connection that the request came over.
    pub(crate) came_over: CameOver,
}

/// Answer to a [`DetachedRequest`], or the mailbox through which the answer will come.
pub struct DetachedReply(CollocatedReply);

impl DetachedReply {
    /// Returns the reply message; `None` if the client expects none, or the answer comes [later](Upcall::later).
    pub fn message(&self) -> Option<&[u8]> {
        match &self.0 {
            CollocatedReply::Reply(message) => Some(message),
            CollocatedReply::Nothing(_) | CollocatedReply::Later(_) => None,
        }
    }
}

impl DetachedRequest {
    /// Reads the octets of a complete request, for example a recorded one.
    ///
    /// # Errors
    /// The octets are not a request with an object key.
    pub fn parse(message: Vec<u8>, dialect: Dialect) -> Result<DetachedRequest, Violation> {
        let frame = Frame::parse(&message)?;
        Request::parse(&frame)?.target.object_key()?;
        Ok(DetachedRequest {
            header: frame.header,
            context: None,
            message,
            dialect,
            times: Times::default(),
            flow: None,
            lacks: false,
            payloads: None,
            came_over: CameOver::default(),
        })
    }

    /// Serves the copy with the adapter of an ORB, as the request itself would be. Returns `None` if the ORB has no
    /// adapter.
    pub fn dispatch(&self, orb: &Orb) -> Option<DetachedReply> {
        let adapter = orb.adapter()?;
        Some(self.serve(orb, |upcall| adapter.dispatch(upcall)))
    }

    /// Serves the copy. The answer is for [`Upcall::relay`], in the thread that has the request itself. A panic in
    /// `serve` becomes UNKNOWN.
    pub fn serve(&self, orb: &Orb, serve: impl FnOnce(Upcall<'_>) -> Outcome) -> DetachedReply {
        let frame = Frame {
            header: self.header,
            bytes: &self.message,
            context: self.context.as_ref(),
            gap: None,
        };
        let request = Request::parse(&frame).expect("parsed before it was copied");
        let key = request.target.object_key().expect("looked at before it was copied");
        let mut sink = Sink::kept_back(self.came_over.clone());
        let arrived = Arrived {
            orb,
            frame: &frame,
            request: &request,
            key,
            dialect: self.dialect,
            times: &self.times,
            payloads: self.payloads,
        };
        server::upcall(&arrived, &mut sink, self.flow.as_ref(), |upcall| {
            if self.lacks {
                return upcall.fail(raise::ARGUMENTS_TAKEN);
            }
            let _slots = upcall.enter_slots();
            serve(upcall)
        });
        DetachedReply(sink.into_memory())
    }
}

impl<'r> Upcall<'r> {
    /// Serves the request and holds the answer back, so that the caller can act before it is sent. Copies the answer. A
    /// panic of the servant is resumed by [`HeldReply::send`].
    pub fn hold(self, serve: impl FnOnce(Upcall<'_>) -> Outcome) -> HeldReply<'r> {
        let mut memory = Sink::kept_back(self.sink.came_over());
        let expects_reply = self.expects_reply();
        let Upcall { arrived, sink, flow, slot } = self;
        let mut inner = Upcall::new(arrived, &mut memory, flow);
        inner.set_slot(slot);
        let served = panic::catch_unwind(AssertUnwindSafe(|| {
            let _ = serve(inner);
        }));
        HeldReply {
            orb: arrived.orb,
            sink,
            id: arrived.request.id,
            wire: arrived.frame.wire(),
            dialect: arrived.dialect,
            expects_reply,
            answer: served.map(|()| memory.into_memory()),
        }
    }

    /// Returns a copy of the request for another thread; allocates. The request itself still has to be answered:
    /// [`relay`](Self::relay) does so with the answer to the copy.
    ///
    /// If arguments were [left where they lie](Self::args_in_place) and taken from there, the copy lacks them, and
    /// serving it raises BAD_INV_ORDER, minor `ARGUMENTS_TAKEN`.
    pub fn detach(&self) -> DetachedRequest {
        let frame = self.arrived.frame;
        let lacks = frame.gap.is_some_and(Gap::was_taken);
        DetachedRequest {
            header: frame.header,
            context: frame.context.cloned(),
            message: frame.to_whole(),
            lacks,
            payloads: self.arrived.payloads,
            dialect: self.arrived.dialect,
            times: *self.arrived.times,
            flow: self.flow.cloned(),
            came_over: self.sink.came_over(),
        }
    }

    /// Answers with the answer to a [detached](Self::detach) copy.
    pub fn relay(self, reply: DetachedReply) -> Outcome {
        match reply.0 {
            CollocatedReply::Reply(message) if self.arrived.request.response.expected() => {
                self.sink.send_whole(message)
            }
            CollocatedReply::Later(mailbox) if self.arrived.request.response.expected() => {
                let (side, id) = (self.arrived.orb.server(), self.arrived.request.id);
                match self.sink.defer(side, id, self.arrived.frame.wire()) {
                    Some(deferred) => mailbox.send_on(Box::new(deferred)),
                    None => return self.fail(raise::NO_WAY_BACK),
                }
            }
            CollocatedReply::Nothing(_) if self.expects_reply() => {
                // The client expects a reply, but the copy was not answered. This is reported as a panic of the
                // servant.
                return self.fail(SystemException {
                    completed: CompletionStatus::Maybe,
                    ..raise::SERVANT_PANICKED
                });
            }
            _ => {}
        }
        Outcome::new()
    }
}
