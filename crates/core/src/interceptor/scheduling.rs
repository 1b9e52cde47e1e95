//! Interceptor for a scheduler of distributable threads.

use oxorb_giop::{Request, Response};
use oxorb_object::{ServiceContexts, SystemException};

use crate::reference::Operation;
use crate::{Orb, Ref};

/// Interceptor of an ORB's requests for the scheduler of distributable threads (RT-CORBA 2.0,
/// `RTScheduling::Scheduler`).
///
/// An ORB has at most one. Unlike application interceptors it costs no allocation and no lock: it receives no copies of
/// names and contexts, and writes its service context into a buffer that the thread keeps.
///
/// ```text
/// client   send_request ................................................ receive_answer
/// server       receive_contexts, [servant found] receive_request ... send_answer, leave
/// ```
///
/// Client points run in the calling thread, once for each call, regardless of its forwards and retries. For a call
/// without a waiting caller (a oneway, an asynchronous call) only `send_request` runs. Server points run in the thread
/// that serves the request; `receive_request` runs after the object adapter has set the thread's priority for the
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
    /// Called before the request of a call is written. Returns the id of a service context if the interceptor appended
    /// the context's data, an encapsulation, to `context`, which is empty before.
    ///
    /// # Errors
    /// An error ends the call: nothing is sent.
    fn send_request(
        &self,
        request: &OutgoingRequest<'_>,
        context: &mut Vec<u8>,
    ) -> Result<Option<u32>, SystemException> {
        let _ = (request, context);
        Ok(None)
    }

    /// Called at the end of a call whose caller has waited.
    ///
    /// # Errors
    /// This exception is raised to the caller instead of the results or the exception of the call.
    fn receive_answer(
        &self,
        request: &OutgoingRequest<'_>,
        answer: &IncomingAnswer<'_>,
    ) -> Result<(), SystemException> {
        let _ = (request, answer);
        Ok(())
    }

    /// Called when a request has arrived, before its object is looked up.
    ///
    /// # Errors
    /// An error ends the request: the servant does not see it.
    fn receive_contexts(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
        let _ = request;
        Ok(())
    }

    /// Called when the servant of a request is about to be called.
    ///
    /// # Errors
    /// An error ends the request: the servant does not see it, and neither `send_answer` nor `leave` is called.
    fn receive_request(&self, request: &IncomingRequest<'_>) -> Result<(), SystemException> {
        let _ = request;
        Ok(())
    }

    /// Called before the answer of a request that [`receive_request`](Self::receive_request) admitted, unless another
    /// thread answers or the servant has panicked. Returns the id of a service context of the reply if the interceptor
    /// appended the context's data to `context`, which is empty before.
    ///
    /// # Errors
    /// This exception is raised to the client instead of the results or the exception of the servant.
    fn send_answer(
        &self,
        request: &IncomingRequest<'_>,
        ended: Ended,
        context: &mut Vec<u8>,
    ) -> Result<Option<u32>, SystemException> {
        let _ = (request, ended, context);
        Ok(None)
    }

    /// Called when the thread leaves a request that `receive_request` admitted, answered or not. Must not panic.
    fn leave(&self) {}

    /// Called when the ORB has ended.
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
    /// Forward to another object, or a request without a result.
    Other,
}

/// A call at the points of a [`SchedulingInterceptor`].
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

    /// Returns the reference that the caller used.
    pub fn target(&self) -> &'r Ref {
        self.target
    }

    /// Returns the name of the operation, as in IDL. The operations of attribute `x` are `_get_x` and `_set_x`.
    pub fn operation(&self) -> &'r str {
        self.operation
    }

    /// Returns the kind of answer that the server sends.
    pub fn response(&self) -> Response {
        self.response
    }

    /// Reports whether the calling thread waits for the end of the operation. Otherwise caller and servant run
    /// concurrently from this point on.
    pub fn caller_waits(&self) -> bool {
        self.waits
    }
}

/// End of a call at the points of a [`SchedulingInterceptor`].
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

    /// Returns the data of a service context of the reply, an encapsulation. Contexts of a reply with a system
    /// exception or a forward are not kept.
    pub fn service_context(&self, id: u32) -> Option<&'r [u8]> {
        Some(self.contexts?.find(id)?.data)
    }
}

/// A served request at the points of a [`SchedulingInterceptor`].
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

    /// Returns the name of the operation, as in IDL. The operations of attribute `x` are `_get_x` and `_set_x`.
    pub fn operation(&self) -> &'r str {
        self.request.operation
    }

    /// Returns the kind of answer that the client waits for.
    pub fn response(&self) -> Response {
        self.request.response
    }

    /// Returns the object key, as the object adapter created it.
    pub fn object_key(&self) -> &'r [u8] {
        self.key
    }

    /// Returns the data of a service context of the request, an encapsulation.
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
