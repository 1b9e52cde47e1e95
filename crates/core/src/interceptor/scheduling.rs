//! The interceptor of a scheduler whose threads go where requests go.

use oxorb_giop::{Request, Response};
use oxorb_object::{ServiceContexts, SystemException};

use crate::op::Operation;
use crate::{Orb, Ref};

/// Sees the requests of an ORB as the scheduler of distributable threads does (RT-CORBA 2.0, `RTScheduling::Scheduler`).
///
/// An ORB has at most one. Unlike the interceptors of applications it costs no allocation and no lock: it gets no copy of
/// names and contexts, and writes its service context into memory that the thread keeps.
///
/// ```text
/// client   send_request ................................................ receive_answer
/// server       receive_contexts, [servant found] receive_request ... send_answer, leave
/// ```
///
/// The points of a client run in the calling thread, once for each call, whatever forwards and retries it takes. Of a call
/// whose caller does not wait (a oneway, an asynchronous call) only `send_request` runs. The points of a server run in the
/// thread that serves the request, `receive_request` after the object adapter has given this thread the priority of the
/// object.
///
/// ```
/// use oxorb_core::interceptor::{IncomingRequest, OutgoingRequest, SchedulingInterceptor};
/// use oxorb_object::SystemException;
///
/// /// Tells servers the number of the calling thread's job.
/// struct Jobs;
///
/// impl SchedulingInterceptor for Jobs {
///     fn send_request(&self, _: &OutgoingRequest<'_>, context: &mut Vec<u8>) -> Result<Option<u32>, SystemException> {
///         context.extend_from_slice(&[0, 0, 0, 7]);
///         Ok(Some(0x4D59_0002))
///     }
///
///     fn receive_request(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
///         let _job = request.service_context(0x4D59_0002);
///         Ok(())
///     }
/// }
/// ```
pub trait SchedulingInterceptor: Send + Sync + 'static {
    /// Announces a call before its request is written. Returns the id of the service context whose octets, an
    /// encapsulation, were appended to `context`, which is empty before.
    ///
    /// # Errors
    /// Ends the call: nothing is sent.
    fn send_request(
        &self,
        request: &OutgoingRequest<'_>,
        context: &mut Vec<u8>,
    ) -> Result<Option<u32>, SystemException> {
        let _ = (request, context);
        Ok(None)
    }

    /// Announces the end of a call for which the caller has waited.
    ///
    /// # Errors
    /// Raised to the caller instead of the results, or of the exception that the call ended with.
    fn receive_answer(
        &self,
        request: &OutgoingRequest<'_>,
        answer: &IncomingAnswer<'_>,
    ) -> Result<(), SystemException> {
        let _ = (request, answer);
        Ok(())
    }

    /// Announces a request before its object is looked for.
    ///
    /// # Errors
    /// Ends the request: the servant does not see it.
    fn receive_contexts(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
        let _ = request;
        Ok(())
    }

    /// Announces a request whose servant is called next.
    ///
    /// # Errors
    /// Ends the request: the servant does not see it, and neither `send_answer` nor `leave` is called.
    fn receive_request(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
        let _ = request;
        Ok(())
    }

    /// Announces the answer of a request that [`receive_request`](Self::receive_request) has admitted, unless it comes from
    /// another thread or after the servant has panicked. Returns the id of the service context of the reply whose octets
    /// were appended to `context`, which is empty before.
    ///
    /// # Errors
    /// Raised to the client instead of the results, or of the exception of the servant.
    fn send_answer(
        &self,
        request: &IncomingRequest<'_>,
        ended: Ended,
        context: &mut Vec<u8>,
    ) -> Result<Option<u32>, SystemException> {
        let _ = (request, ended, context);
        Ok(None)
    }

    /// Reports that the thread leaves a request which `receive_request` has admitted, answered or not. Must not panic.
    fn leave(&self) {}

    /// Reports that the ORB has ended.
    fn destroy(&self) {}
}

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Results.
    Results,
    /// A user exception.
    UserException,
    /// A system exception.
    SystemException(SystemException),
    /// Neither: a forward to another object, or a request that is answered with nothing.
    Other,
}

/// A call as its [`SchedulingInterceptor`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingRequest<'r> {
    target: &'r Ref,
    operation: &'r str,
    response: Response,
    waits: bool,
}

impl<'r> OutgoingRequest<'r> {
    pub(crate) fn new(target: &'r Ref, op: Operation<'r>, waits: bool) -> Self {
        OutgoingRequest {
            target,
            operation: op.name,
            response: op.response,
            waits: waits && op.response == Response::WithTarget,
        }
    }

    /// Returns the ORB that makes the call.
    pub fn orb(&self) -> &'r Orb {
        self.target.orb()
    }

    /// Returns the reference the caller used.
    pub fn target(&self) -> &'r Ref {
        self.target
    }

    /// Returns the operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub fn operation(&self) -> &'r str {
        self.operation
    }

    /// Returns which answer the server gives.
    pub fn response(&self) -> Response {
        self.response
    }

    /// Reports whether the calling thread waits until the operation has ended. Otherwise caller and servant run beside each
    /// other from here on.
    pub fn caller_waits(&self) -> bool {
        self.waits
    }
}

/// The end of a call as its [`SchedulingInterceptor`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct IncomingAnswer<'r> {
    pub(crate) ended: Ended,
    pub(crate) contexts: Option<ServiceContexts<'r>>,
}

impl<'r> IncomingAnswer<'r> {
    /// Returns the outcome of the call.
    pub fn ended(&self) -> Ended {
        self.ended
    }

    /// Returns the octets of a service context of the reply, an encapsulation. Those of a reply that holds a system exception
    /// or a forward are not kept.
    pub fn service_context(&self, id: u32) -> Option<&'r [u8]> {
        Some(self.contexts?.find(id)?.data)
    }
}

/// A request that is served as the [`SchedulingInterceptor`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct IncomingRequest<'r> {
    pub(super) orb: &'r Orb,
    pub(super) request: &'r Request<'r>,
    pub(super) key: &'r [u8],
}

impl<'r> IncomingRequest<'r> {
    /// Returns the ORB that serves the request.
    pub fn orb(&self) -> &'r Orb {
        self.orb
    }

    /// Returns the operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub fn operation(&self) -> &'r str {
        self.request.operation
    }

    /// Returns which answer the client waits for.
    pub fn response(&self) -> Response {
        self.request.response
    }

    /// Returns the object key, as the object adapter made it.
    pub fn object_key(&self) -> &'r [u8] {
        self.key
    }

    /// Returns the octets of a service context of the request, an encapsulation.
    pub fn service_context(&self, id: u32) -> Option<&'r [u8]> {
        Some(self.request.contexts.find(id)?.data)
    }
}

impl From<Ended> for IncomingAnswer<'_> {
    /// Returns an answer without service contexts.
    fn from(ended: Ended) -> Self {
        IncomingAnswer { ended, contexts: None }
    }
}
