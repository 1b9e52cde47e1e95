//! Requests that are answered after their upcall (asynchronous method handling, AMH: TAO's extension of CORBA).

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use oxorb_cdr::{Dialect, Encoder, Result as CdrResult};
use oxorb_giop::{Frame, FrameContext, Header, Request, Response};
use oxorb_object::SystemException;

use super::terms::Times;
use super::upcall::{Arrived, Outcome, Upcall};
use crate::error::{ServantError, raise};
use crate::interceptor::ServerFlow;
use crate::orb::Unanswered;
use crate::server::{self, DeferredReply, Sink, Values};
use crate::{Orb, Ref};

/// Request whose answer comes later, from any thread; made by [`Upcall::later`].
///
/// Each of the methods that answer consumes it, so a request is answered once. Dropping it unanswered still answers the
/// request, so that no client hangs: a oneway ends as with [`done`](Self::done), any other request raises NO_RESPONSE
/// (minor `UNANSWERED`), COMPLETED_MAYBE. If a panic drops it, the request raises UNKNOWN. Interceptors and metrics see
/// that also for a oneway, although its client does not.
///
/// The answer may be sent before the upcall has returned. Until then the client's connection stays open, and an ORB
/// that ends waits for the answer (at most as long as for other requests, 30 s). Interceptors see the end of the
/// request in the thread that answers. Deactivation of the object and destruction of its POA do not wait for the
/// answer.
///
/// ```
/// use std::sync::mpsc::Sender;
///
/// use oxorb_core::{Outcome, ResponseHandler, Servant, Upcall};
///
/// /// `interface Oven { long long bake(in long long minutes); };`, where other threads do the baking.
/// struct Oven(Sender<(i64, ResponseHandler)>);
///
/// impl Servant for Oven {
///     fn repository_id(&self) -> &str {
///         "IDL:demo/Oven:1.0"
///     }
///
///     fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
///         match upcall.args(|d| d.longlong()) {
///             // If nobody bakes any more, the request is dropped with the error.
///             Ok(minutes) => upcall.later(|later| drop(self.0.send((minutes, later)))),
///             Err(rejected) => upcall.reject(rejected),
///         }
///     }
/// }
///
/// fn done(later: ResponseHandler, loaves: i64) {
///     later.reply(|e| {
///         e.longlong(loaves);
///         Ok(())
///     });
/// }
/// ```
#[must_use = "the client waits for the answer"]
pub struct ResponseHandler {
    orb: Orb,
    header: Header,
    context: Option<Arc<FrameContext>>,
    /// Octets of the request without its arguments.
    head: Vec<u8>,
    /// Memory of the client's share that the arguments and `head` take.
    _values: Option<Values>,
    dialect: Dialect,
    times: Times,
    flow: Option<Arc<ServerFlow>>,
    response: Response,
    /// Whether the client, which waits only until the servant is reached, has got its reply.
    acknowledged: bool,
    /// Path to the client; `None` if the client expects no answer.
    deferred: Option<DeferredReply>,
    /// Count of the request as unanswered; `None` once it is answered.
    unanswered: Option<Unanswered>,
}

impl Upcall<'_> {
    /// Ends the upcall without an answer: `keep` receives the request, to be answered at any later time, and the thread
    /// continues with the next request. Arguments have to be [read](Upcall::args) before.
    ///
    /// If as many requests wait for an answer as `max_unanswered` allows, `keep` is not called and the request raises
    /// TRANSIENT (minor `TOO_MANY_UNANSWERED`), COMPLETED_NO.
    ///
    /// Copies the header of the request: allocates, and takes the locks of the ORB's list of connections and of this
    /// connection. After the first such request, all replies over the connection take its lock.
    pub fn later(self, keep: impl FnOnce(ResponseHandler)) -> Outcome {
        let Arrived { orb, frame, request, dialect, times, .. } = *self.arrived;
        let Some(unanswered) = orb.keep_unanswered() else {
            return self.fail(raise::TOO_MANY_UNANSWERED);
        };
        let head = match frame.in_pieces() {
            false => &frame.bytes[..request.body.min(frame.bytes.len())],
            true => frame.bytes,
        };
        let Ok(values) = server::values_of_request(orb.shared(), head.len()) else {
            return self.fail(raise::VALUES_NOT_AFFORDED);
        };
        let acknowledged = self.sink.answered();
        let waits = match request.response {
            Response::WithTarget => true,
            Response::WithServer => !acknowledged,
            Response::None => false,
        };
        let deferred = match waits {
            false => None,
            true => match self.sink.defer(orb.server(), request.id, frame.wire()) {
                None => return self.fail(raise::NO_WAY_BACK),
                deferred => deferred,
            },
        };
        self.sink.set_ends_later();
        keep(ResponseHandler {
            orb: orb.clone(),
            header: frame.header,
            context: frame.context.cloned(),
            head: head.to_vec(),
            _values: values,
            dialect,
            times: *times,
            flow: self.flow.cloned(),
            response: request.response,
            acknowledged,
            deferred,
            unanswered: Some(unanswered),
        });
        Outcome::new()
    }
}

impl ResponseHandler {
    /// Returns the ORB that serves the request.
    pub fn orb(&self) -> &Orb {
        &self.orb
    }

    /// Returns the time until which the caller waits, as [`Upcall::deadline`] does. A later answer is still sent.
    pub fn deadline(&self) -> Option<Instant> {
        self.times.deadline()
    }

    /// Reports whether the caller waits for the result (for a `oneway` it does not).
    pub fn expects_reply(&self) -> bool {
        self.response == Response::WithTarget
    }

    /// Reports whether the client has cancelled the request or closed the connection, so that no answer is needed.
    /// False while the ORB shuts down and waits for the answer. Takes a lock that replies over the same connection
    /// take, too.
    pub fn is_cancelled(&self) -> bool {
        self.deferred.as_ref().is_some_and(DeferredReply::is_cancelled)
    }

    /// Answers with the results, as [`Upcall::reply`] does. Writes in the calling thread, for at most the ORB's
    /// `stall_timeout`; does not report that the client is gone.
    pub fn reply<'a>(mut self, results: impl FnOnce(&mut Encoder<'a>) -> CdrResult<()>) {
        self.answer(|upcall| upcall.reply(results));
    }

    /// Answers with an exception of the servant.
    pub fn raise<X: ServantError>(mut self, exception: &X) {
        self.answer(|upcall| upcall.raise(exception));
    }

    /// Answers with a system exception.
    pub fn fail(mut self, exception: SystemException) {
        self.answer(|upcall| upcall.fail(exception));
    }

    /// Ends a `oneway` operation, as dropping does.
    pub fn done(mut self) {
        self.answer(|upcall| upcall.done());
    }

    /// Sends the caller to another object, for this and later requests (LOCATION_FORWARD).
    pub fn forward(mut self, target: &Ref) {
        self.answer(|upcall| upcall.forward(target));
    }

    /// Answers as within the upcall.
    fn answer(&mut self, act: impl FnOnce(Upcall<'_>) -> Outcome) {
        let Some(_until_answered) = self.unanswered.take() else {
            return;
        };
        let deferred = self.deferred.take();
        let mut sink = match &deferred {
            Some(deferred) => deferred.sink(),
            None => Sink::to_memory(Vec::new()),
        };
        if self.acknowledged {
            sink.set_answered();
        }
        let frame = Frame {
            header: self.header,
            bytes: &self.head,
            context: self.context.as_ref(),
            gap: None,
        };
        let request = Request::parse(&frame).expect("parsed before it was copied");
        let key = request.target.object_key().expect("looked at before it was copied");
        let arrived = Arrived {
            orb: &self.orb,
            frame: &frame,
            request: &request,
            key,
            dialect: self.dialect,
            times: &self.times,
            payloads: None,
        };
        server::upcall(&arrived, &mut sink, self.flow.as_ref(), act);
        if let Some(deferred) = deferred {
            deferred.end(sink);
        }
    }
}

impl Drop for ResponseHandler {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.answer(|upcall| upcall.fail(raise::SERVANT_PANICKED));
        } else if !self.expects_reply() {
            self.answer(|upcall| upcall.done());
        } else {
            self.answer(|upcall| upcall.fail(raise::UNANSWERED));
        }
    }
}

/// Wrapper that activates a servant which answers later. `T` implements the trait that the IDL compiler generates for
/// AMH (`bank::AmhAccount`, CORBA's `AMH_Account`).
#[derive(Debug, Clone, Copy)]
pub struct Amh<T>(pub T);

impl fmt::Debug for ResponseHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseHandler")
            .field("expects_reply", &self.expects_reply())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}
