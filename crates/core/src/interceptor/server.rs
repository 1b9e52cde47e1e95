//! Server interceptors.

use std::ops::Deref;

use oxorb_cdr::Any;
use oxorb_giop::{Request, Response};
use oxorb_object::SystemException;
use oxorb_transport::PeerId;

use super::contexts::Contexts;
use super::current::SlotValues;
use super::notes::Notes;
use super::origin::RequestOrigin;
use super::{Interrupt, Slot};
use crate::{Orb, Ref, Servant};

/// Interceptor of every request that this ORB serves, including collocated calls
/// (`ServerRequestInterceptor`).
///
/// All points run in the thread that serves the request, so a slow interceptor delays every request. A panic in an
/// interceptor fails the request with UNKNOWN.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use oxorb_core::interceptor::{Interrupt, ServerInterceptor, ServerReply, ServerRequest};
/// use oxorb_object::SystemException;
///
/// /// Counts what this server answers.
/// #[derive(Default)]
/// struct Counter {
///     replies: AtomicU64,
///     exceptions: AtomicU64,
/// }
///
/// impl ServerInterceptor for Counter {
///     fn name(&self) -> &str {
///         "counter"
///     }
///
///     fn send_reply(&self, _: &mut ServerReply<'_>) -> Result<(), SystemException> {
///         self.replies.fetch_add(1, Ordering::Relaxed);
///         Ok(())
///     }
///
///     fn send_exception(&self, _: &mut ServerReply<'_>) -> Result<(), Interrupt> {
///         self.exceptions.fetch_add(1, Ordering::Relaxed);
///         Ok(())
///     }
/// }
/// ```
pub trait ServerInterceptor: Send + Sync + 'static {
    /// Returns the interceptor's name, unique among the server interceptors of the ORB unless it is
    /// empty.
    fn name(&self) -> &str {
        ""
    }

    /// Called when a request has arrived and its servant is not known yet: the point to read service contexts and to
    /// set slots.
    ///
    /// # Errors
    /// An error ends the request: later interceptors and the servant do not see it.
    fn receive_request_service_contexts(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<(), Interrupt> {
        let _ = request;
        Ok(())
    }

    /// Called when the servant is known and is about to be called.
    ///
    /// # Errors
    /// An error ends the request: the servant does not see it.
    fn receive_request(&self, request: &mut ServerRequest<'_>) -> Result<(), Interrupt> {
        let _ = request;
        Ok(())
    }

    /// Called when the operation has ended without exception.
    ///
    /// # Errors
    /// The request raises this exception at the client; the results are dropped. COMPLETED_NO becomes COMPLETED_YES,
    /// because the operation has run.
    fn send_reply(&self, reply: &mut ServerReply<'_>) -> Result<(), SystemException> {
        let _ = reply;
        Ok(())
    }

    /// Called when the operation, or an interceptor, has raised an exception.
    ///
    /// # Errors
    /// The request raises this exception at the client in place of the earlier one, or the client is forwarded. If the
    /// exception has COMPLETED_NO, it gets the status of the earlier one; COMPLETED_YES after a user exception.
    fn send_exception(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// Called when the client is forwarded.
    ///
    /// # Errors
    /// The request raises this exception at the client, or the client is forwarded to the given object.
    fn send_other(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// Called when the ORB has ended.
    fn destroy(&self) {}
}

/// A request at the points of a server interceptor (`ServerRequestInfo`).
#[derive(Debug)]
pub struct ServerRequest<'r> {
    pub(super) orb: &'r Orb,
    pub(super) request: &'r Request<'r>,
    pub(super) key: &'r [u8],
    pub(super) origin: RequestOrigin<'r>,
    pub(super) target: Option<&'r Target>,
    pub(super) servant: Option<AnyServant<'r>>,
    pub(super) slots: &'r mut SlotValues,
    pub(super) contexts: &'r mut Contexts,
    pub(super) notes: &'r mut Notes,
}

/// Target object of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Repository id of the servant's most derived interface, such as `IDL:bank/Account:1.0`.
    pub interface: String,
    /// Object id in its POA.
    pub object_id: Vec<u8>,
    /// Names of the POA and its parents, the root's first.
    pub adapter_name: Vec<String>,
}

/// Servant with a `Debug` form.
#[derive(Clone, Copy)]
pub(super) struct AnyServant<'r>(pub(super) &'r dyn Servant);

/// A reply at the ending points of a server interceptor (`ServerRequestInfo`).
#[derive(Debug)]
pub struct ServerReply<'r> {
    pub(super) request: ServerRequest<'r>,
    pub(super) sending: Sending<'r>,
}

/// Answer that is about to be sent to the client.
#[derive(Debug, Clone)]
pub enum Sending<'r> {
    /// Results, or the end of a request whose client expects no answer.
    Results,
    /// A user exception.
    UserException {
        /// Repository id of the exception.
        id: &'r str,
        /// Id and members in CDR, in the ORB's byte order, aligned from the first octet.
        octets: &'r [u8],
    },
    /// A system exception.
    SystemException(SystemException),
    /// Object to which the client is forwarded.
    Forward(Ref),
}

impl ServerRequest<'_> {
    /// Returns the client's id of the request, unique among the outstanding requests of its
    /// connection.
    pub fn request_id(&self) -> u32 {
        self.request.id
    }

    /// Returns the name of the operation, as in IDL. The operations of attribute `x` are `_get_x` and `_set_x`.
    pub fn operation(&self) -> &str {
        self.request.operation
    }

    /// Reports whether the client waits for an answer of any kind.
    pub fn response_expected(&self) -> bool {
        self.request.response != Response::None
    }

    /// Returns the event that the client waits for.
    pub fn response(&self) -> Response {
        self.request.response
    }

    /// Returns the ORB that serves the request.
    pub fn orb(&self) -> &Orb {
        self.orb
    }

    /// Returns the object key, as the object adapter created it.
    pub fn object_key(&self) -> &[u8] {
        self.key
    }

    /// Returns the identity of the sender as far as the transport knows it, such as the subject of a certificate;
    /// [`PeerId::Process`] for a collocated call.
    pub fn peer(&self) -> PeerId {
        self.origin.link.map_or(PeerId::Process, |link| link.identity())
    }

    /// Reports whether the request was protected on its way: it came over TLS, or from this process.
    pub fn is_protected(&self) -> bool {
        self.origin.link.is_none_or(|link| link.is_protected())
    }

    /// Returns the target object and its adapter; available from `receive_request` on.
    pub fn target(&self) -> Option<&Target> {
        self.target
    }

    /// Reports whether the servant supports an interface; `None` where the servant is not
    /// available: at `receive_request_service_contexts` and at the ending points.
    pub fn target_is_a(&self, repository_id: &str) -> Option<bool> {
        Some(self.servant?.0.is_a(repository_id))
    }

    /// Returns the data of a service context of the request: an encapsulation.
    pub fn request_service_context(&self, id: u32) -> Option<&[u8]> {
        Some(self.request.contexts.find(id)?.data)
    }

    /// Adds a service context to the reply; `data` should be an encapsulation.
    ///
    /// # Errors
    /// BAD_INV_ORDER if the reply has a context with this id and `replace` is false.
    pub fn add_reply_service_context(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.contexts.add(id, data, replace)
    }

    /// Returns the data of a service context that was added to the reply.
    pub fn reply_service_context(&self, id: u32) -> Option<&[u8]> {
        self.contexts.find(id)
    }

    /// Returns the request's value of a slot.
    pub fn slot(&self, slot: Slot) -> Option<&Any> {
        self.slots.get(slot)
    }

    /// Sets the request's value of a slot. The servant reads values set before its call in its thread's slots.
    pub fn set_slot(&mut self, slot: Slot, value: Option<Any>) {
        self.slots.set(slot, value);
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

impl ServerReply<'_> {
    /// Returns the answer that is about to be sent.
    pub fn sending(&self) -> &Sending<'_> {
        &self.sending
    }

    /// Adds a service context to the reply, as [`ServerRequest::add_reply_service_context`] does.
    ///
    /// # Errors
    /// BAD_INV_ORDER if the reply has a context with this id and `replace` is false.
    pub fn add_reply_service_context(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.request.add_reply_service_context(id, data, replace)
    }

    /// Removes and returns the value [stored](ServerRequest::keep) for this type at an earlier
    /// point.
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.request.take()
    }
}

impl<'r> Deref for ServerReply<'r> {
    type Target = ServerRequest<'r>;

    /// Returns the request that is answered.
    fn deref(&self) -> &ServerRequest<'r> {
        &self.request
    }
}

impl std::fmt::Debug for AnyServant<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.repository_id())
    }
}
