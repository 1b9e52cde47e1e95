//! Client interceptors.

use std::ops::Deref;

use oxorb_cdr::Any;
use oxorb_giop::Response;
use oxorb_object::{SystemException, TaggedProfile};

use super::contexts::Contexts;
use super::current::SlotValues;
use super::notes::Notes;
use super::{Interrupt, Slot};
use crate::Ref;

/// Interceptor of every request that this ORB sends, including collocated calls
/// (`ClientRequestInterceptor`).
///
/// All points run in the calling thread; those after the reply of an asynchronous call run in the thread that receives
/// the reply or drops the call. Each interceptor whose starting point has succeeded sees exactly one ending point, also
/// if the arguments or another interceptor panic: then an UNKNOWN exception. A request that is sent again to another target, such as after LOCATION_FORWARD, passes the interceptors
/// again.
///
/// ```
/// use oxorb_core::interceptor::{ClientInterceptor, ClientRequest, Interrupt};
///
/// /// Tells servers on whose behalf a call is made.
/// struct Tenant;
///
/// impl ClientInterceptor for Tenant {
///     fn name(&self) -> &str {
///         "tenant"
///     }
///
///     fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
///         request.add_request_service_context(0x4D59_0001, b"\x01blue".to_vec(), false)?;
///         Ok(())
///     }
/// }
/// ```
pub trait ClientInterceptor: Send + Sync + 'static {
    /// Returns the interceptor's name, unique among the client interceptors of the ORB unless it is
    /// empty.
    fn name(&self) -> &str {
        ""
    }

    /// Called before a request is marshalled and sent.
    ///
    /// # Errors
    /// An error ends the request: later interceptors and the server do not see it.
    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        let _ = request;
        Ok(())
    }

    /// Called when the operation has ended without exception.
    ///
    /// # Errors
    /// The call raises this exception; the results are dropped. COMPLETED_NO becomes COMPLETED_YES, because the
    /// operation has run.
    fn receive_reply(&self, reply: &mut ClientReply<'_>) -> Result<(), SystemException> {
        let _ = reply;
        Ok(())
    }

    /// Called when the operation has raised an exception, or could not be called.
    ///
    /// # Errors
    /// The call raises this exception in place of the operation's, or its request is forwarded. If the exception has
    /// COMPLETED_NO, it gets the status of the operation's; COMPLETED_YES after a user exception.
    fn receive_exception(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// Called when there is neither result nor exception: a oneway request was sent, the request is forwarded, or the
    /// caller has dropped an asynchronous call before its answer arrived.
    ///
    /// # Errors
    /// The call raises this exception, or its request is forwarded to the given object. Nothing follows if the call was
    /// dropped.
    fn receive_other(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// Called when the ORB has ended.
    fn destroy(&self) {}
}

/// A request at the points of a client interceptor (`ClientRequestInfo`).
#[derive(Debug)]
pub struct ClientRequest<'r> {
    pub(super) id: u32,
    pub(super) target: &'r Ref,
    pub(super) operation: &'r str,
    pub(super) response: Response,
    pub(super) slots: &'r SlotValues,
    pub(super) contexts: &'r mut Contexts,
    pub(super) notes: &'r mut Notes,
}

/// An answer at the ending points of a client interceptor (`ClientRequestInfo`).
#[derive(Debug)]
pub struct ClientReply<'r> {
    pub(super) request: ClientRequest<'r>,
    pub(super) received: Received<'r>,
    pub(super) reply_contexts: &'r Contexts,
}

/// Outcome of a request.
#[derive(Debug, Clone)]
pub enum Received<'r> {
    /// The request ended with results.
    Results,
    /// The request ended with a user exception.
    UserException {
        /// Repository id of the exception.
        id: &'r str,
    },
    /// The request ended with a system exception of the server, of this ORB or of an interceptor.
    SystemException(SystemException),
    /// The request is forwarded to another object.
    Forward(Ref),
    /// The request was sent, and no answer is expected: a oneway, or an asynchronous call that its caller has dropped.
    Sent,
}

impl ClientRequest<'_> {
    /// Returns a number unique among the outstanding requests of this ORB. It differs from the request id in the
    /// message, which is unique per connection.
    pub fn request_id(&self) -> u32 {
        self.id
    }

    /// Returns the name of the operation, as in IDL. The operations of attribute `x` are `_get_x` and `_set_x`.
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// Reports whether the caller waits for an answer of any kind.
    pub fn response_expected(&self) -> bool {
        self.response != Response::None
    }

    /// Returns the event that the caller waits for.
    pub fn response(&self) -> Response {
        self.response
    }

    /// Returns the reference that the caller used.
    pub fn target(&self) -> &Ref {
        self.target
    }

    /// Returns the reference that the request is sent to, which is another one after a forward.
    pub fn effective_target(&self) -> Ref {
        self.target.effective()
    }

    /// Returns the first profile of [`effective_target`](Self::effective_target) that this ORB can
    /// use.
    pub fn effective_profile(&self) -> Option<TaggedProfile> {
        let ior = self.target.effective();
        let protocols = &self.target.orb().options().protocols;
        let usable = |profile: &&TaggedProfile| protocols.tagged(profile.tag).is_some();
        ior.ior().profiles.iter().find(usable).cloned()
    }

    /// Returns the data of the first component with this tag in [`effective_profile`](Self::effective_profile).
    pub fn effective_component(&self, tag: u32) -> Option<Vec<u8>> {
        let profile = self.effective_profile()?;
        let protocols = &self.target.orb().options().protocols;
        let kind = protocols.tagged(profile.tag)?.profile();
        Some(kind.read(&profile).ok()?.component(tag)?.data.clone())
    }

    /// Adds a service context to the request; `data` should be an encapsulation.
    ///
    /// # Errors
    /// BAD_INV_ORDER if the request has a context with this id and `replace` is false.
    pub fn add_request_service_context(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.contexts.add(id, data, replace)
    }

    /// Returns the data of a service context that an interceptor added to the request.
    pub fn request_service_context(&self, id: u32) -> Option<&[u8]> {
        self.contexts.find(id)
    }

    /// Returns the value that the calling thread's slot had when the call was made.
    pub fn slot(&self, slot: Slot) -> Option<&Any> {
        self.slots.get(slot)
    }

    /// Stores a value for a later point of the same request, in place of an earlier value of this type. All
    /// interceptors share these values, so use a type of your own.
    pub fn keep<T: Send + 'static>(&mut self, value: T) {
        self.notes.put(value);
    }

    /// Removes and returns the value [stored](Self::keep) for this type.
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.notes.take()
    }
}

impl ClientReply<'_> {
    /// Returns the outcome of the request.
    pub fn received(&self) -> &Received<'_> {
        &self.received
    }

    /// Returns the data of a service context of the reply: an encapsulation.
    pub fn reply_service_context(&self, id: u32) -> Option<&[u8]> {
        self.reply_contexts.find(id)
    }

    /// Removes and returns the value [stored](ClientRequest::keep) for this type at an earlier
    /// point.
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.request.take()
    }
}

impl<'r> Deref for ClientReply<'r> {
    type Target = ClientRequest<'r>;

    /// Returns the request that was answered.
    fn deref(&self) -> &ClientRequest<'r> {
        &self.request
    }
}
