//! The interceptors of a client.

use std::ops::Deref;

use oxorb_cdr::Any;
use oxorb_giop::Response;
use oxorb_object::{SystemException, TaggedProfile};

use super::contexts::Contexts;
use super::current::Slots;
use super::notes::Notes;
use super::{Interrupt, Slot};
use crate::Ref;

/// Sees every request that this ORB sends, to local objects as well (`ClientRequestInterceptor`).
///
/// All points run in the calling thread; those after the reply of an asynchronous call in the thread that takes the
/// reply. A request that is sent on to another place, after LOCATION_FORWARD say, passes the interceptors anew.
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
    /// Returns the interceptor's name, which no other client interceptor of the ORB may have; may
    /// be empty.
    fn name(&self) -> &str {
        ""
    }

    /// A request is about to be marshalled and sent.
    ///
    /// # Errors
    /// Ends the request: later interceptors and the server do not see it.
    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        let _ = request;
        Ok(())
    }

    /// The operation ended without exception.
    ///
    /// # Errors
    /// The caller gets this exception instead of the results.
    fn receive_reply(&self, reply: &mut ClientReply<'_>) -> Result<(), SystemException> {
        let _ = reply;
        Ok(())
    }

    /// The operation raised an exception, or could not be called.
    ///
    /// # Errors
    /// The caller gets this exception, or its request is forwarded, instead.
    fn receive_exception(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// Called where there is neither result nor exception: a oneway request was sent, or the
    /// request goes elsewhere.
    ///
    /// # Errors
    /// The caller gets this exception, or its request is forwarded to another object, instead.
    fn receive_other(&self, reply: &mut ClientReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// The ORB has ended.
    fn destroy(&self) {}
}

/// A request as a client interceptor sees it (`ClientRequestInfo`).
#[derive(Debug)]
pub struct ClientRequest<'r> {
    pub(super) id: u32,
    pub(super) target: &'r Ref,
    pub(super) operation: &'r str,
    pub(super) response: Response,
    pub(super) slots: &'r Slots,
    pub(super) contexts: &'r mut Contexts,
    pub(super) notes: &'r mut Notes,
}

/// An answer as a client interceptor sees it (`ClientRequestInfo` at the ending points).
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
    /// The request is to be sent to another object.
    Forward(Ref),
    /// The request was sent, and no answer is waited for.
    Sent,
}

impl ClientRequest<'_> {
    /// A number that no other request of this ORB has while this one is outstanding. Not the number in the message,
    /// which belongs to the connection.
    pub fn request_id(&self) -> u32 {
        self.id
    }

    /// The operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// Whether the caller waits for an answer of some kind.
    pub fn response_expected(&self) -> bool {
        self.response != Response::None
    }

    /// Returns what the caller waits for.
    pub fn response(&self) -> Response {
        self.response
    }

    /// The reference the caller used.
    pub fn target(&self) -> &Ref {
        self.target
    }

    /// The reference that the request goes to: another one after a forward.
    pub fn effective_target(&self) -> Ref {
        self.target.effective()
    }

    /// The first profile of [`effective_target`](Self::effective_target) that this ORB can use.
    pub fn effective_profile(&self) -> Option<TaggedProfile> {
        let ior = self.target.effective();
        let protocols = &self.target.orb().options().protocols;
        let usable = |profile: &&TaggedProfile| protocols.tagged(profile.tag).is_some();
        ior.ior().profiles.iter().find(usable).cloned()
    }

    /// The data of the first component with this tag in [`effective_profile`](Self::effective_profile).
    pub fn effective_component(&self, tag: u32) -> Option<Vec<u8>> {
        let profile = self.effective_profile()?;
        let protocols = &self.target.orb().options().protocols;
        let kind = protocols.tagged(profile.tag)?.profile();
        Some(kind.read(&profile).ok()?.component(tag)?.data.clone())
    }

    /// Adds a service context to the request; `data` should be an encapsulation.
    ///
    /// # Errors
    /// BAD_INV_ORDER if there is one with this id and `replace` is false.
    pub fn add_request_service_context(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.contexts.add(id, data, replace)
    }

    /// A service context that an interceptor added to the request.
    pub fn request_service_context(&self, id: u32) -> Option<&[u8]> {
        self.contexts.find(id)
    }

    /// The value that the calling thread had in a slot when it made the call.
    pub fn slot(&self, slot: Slot) -> Option<&Any> {
        self.slots.get(slot)
    }

    /// Remembers a value for a later point of the same request, instead of an earlier one of this type. Interceptors
    /// share them, so use a type of your own.
    pub fn keep<T: Send + 'static>(&mut self, value: T) {
        self.notes.put(value);
    }

    /// Takes what was [kept](Self::keep).
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.notes.take()
    }
}

impl ClientReply<'_> {
    /// Returns the outcome of the request.
    pub fn received(&self) -> &Received<'_> {
        &self.received
    }

    /// The octets of a service context of the reply: an encapsulation.
    pub fn reply_service_context(&self, id: u32) -> Option<&[u8]> {
        self.reply_contexts.find(id)
    }

    /// Takes what was [kept](ClientRequest::keep) at an earlier point.
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.request.take()
    }
}

impl<'r> Deref for ClientReply<'r> {
    type Target = ClientRequest<'r>;

    /// The request that was answered.
    fn deref(&self) -> &ClientRequest<'r> {
        &self.request
    }
}
