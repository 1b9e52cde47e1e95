//! The interceptors of a server.

use std::ops::Deref;

use oxorb_cdr::Any;
use oxorb_giop::{Request, Response};
use oxorb_object::SystemException;
use oxorb_transport::PeerId;

use super::contexts::Contexts;
use super::current::Slots;
use super::notes::Notes;
use super::{Interrupt, Slot};
use crate::origin::Origin;
use crate::{Orb, Ref, Servant};

/// Sees every request that this ORB serves, local ones included (`ServerRequestInterceptor`).
///
/// All points run in the thread that serves the request; a slow interceptor slows every request. One that panics
/// fails the request with UNKNOWN.
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
    /// Returns the interceptor's name, which no other server interceptor of the ORB may have; may
    /// be empty.
    fn name(&self) -> &str {
        ""
    }

    /// A request arrived; its servant is not known yet. The place to take service contexts and to fill slots.
    ///
    /// # Errors
    /// Ends the request: later interceptors and the servant do not see it.
    fn receive_request_service_contexts(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<(), Interrupt> {
        let _ = request;
        Ok(())
    }

    /// The servant is known and is called next.
    ///
    /// # Errors
    /// Ends the request: the servant does not see it.
    fn receive_request(&self, request: &mut ServerRequest<'_>) -> Result<(), Interrupt> {
        let _ = request;
        Ok(())
    }

    /// The operation ended without exception.
    ///
    /// # Errors
    /// The client gets this exception instead of the results.
    fn send_reply(&self, reply: &mut ServerReply<'_>) -> Result<(), SystemException> {
        let _ = reply;
        Ok(())
    }

    /// The operation, or an interceptor, raised an exception.
    ///
    /// # Errors
    /// The client gets this exception, or is forwarded, instead.
    fn send_exception(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// The client is sent elsewhere.
    ///
    /// # Errors
    /// The client gets this exception, or is forwarded to another object, instead.
    fn send_other(&self, reply: &mut ServerReply<'_>) -> Result<(), Interrupt> {
        let _ = reply;
        Ok(())
    }

    /// The ORB has ended.
    fn destroy(&self) {}
}

/// A request as a server interceptor sees it (`ServerRequestInfo`).
#[derive(Debug)]
pub struct ServerRequest<'r> {
    pub(super) orb: &'r Orb,
    pub(super) request: &'r Request<'r>,
    pub(super) key: &'r [u8],
    pub(super) origin: Origin<'r>,
    pub(super) target: Option<&'r Target>,
    pub(super) servant: Option<AnyServant<'r>>,
    pub(super) slots: &'r mut Slots,
    pub(super) contexts: &'r mut Contexts,
    pub(super) notes: &'r mut Notes,
}

/// Object that a request reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The most derived interface of the servant, as `IDL:bank/Account:1.0`.
    pub interface: String,
    /// The object's id in its POA.
    pub object_id: Vec<u8>,
    /// The POA's name and those of its parents, the root's first.
    pub adapter_name: Vec<String>,
}

/// A servant that can be printed.
#[derive(Clone, Copy)]
pub(super) struct AnyServant<'r>(pub(super) &'r dyn Servant);

/// A reply as a server interceptor sees it (`ServerRequestInfo` at the ending points).
#[derive(Debug)]
pub struct ServerReply<'r> {
    pub(super) request: ServerRequest<'r>,
    pub(super) sending: Sending<'r>,
}

/// Answer that is about to be sent to the client.
#[derive(Debug, Clone)]
pub enum Sending<'r> {
    /// Results, or nothing at all to a client that waits for nothing.
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
    /// Object to which the client is to send its request.
    Forward(Ref),
}

impl ServerRequest<'_> {
    /// The client's number for the request; unique among those outstanding on its connection.
    pub fn request_id(&self) -> u32 {
        self.request.id
    }

    /// The operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub fn operation(&self) -> &str {
        self.request.operation
    }

    /// Whether the client waits for an answer of some kind.
    pub fn response_expected(&self) -> bool {
        self.request.response != Response::None
    }

    /// Returns what the client waits for.
    pub fn response(&self) -> Response {
        self.request.response
    }

    /// The ORB that serves the request.
    pub fn orb(&self) -> &Orb {
        self.orb
    }

    /// The object key, as the object adapter made it.
    pub fn object_key(&self) -> &[u8] {
        self.key
    }

    /// Returns who sent the request, as far as the transport knows: the subject of a certificate, for one;
    /// [`PeerId::Process`] for a call without a connection.
    pub fn peer(&self) -> PeerId {
        self.origin.link.map_or(PeerId::Process, |link| link.identity())
    }

    /// Reports whether nobody on the way could read or change the request: it came over TLS, or out of this process.
    pub fn is_protected(&self) -> bool {
        self.origin.link.is_none_or(|link| link.is_protected())
    }

    /// Returns the object and adapter that the request reached; from `receive_request` on.
    pub fn target(&self) -> Option<&Target> {
        self.target
    }

    /// Whether the servant supports an interface; `None` where the servant is not at hand: at
    /// `receive_request_service_contexts` and at the ending points.
    pub fn target_is_a(&self, repository_id: &str) -> Option<bool> {
        Some(self.servant?.0.is_a(repository_id))
    }

    /// The octets of a service context of the request: an encapsulation.
    pub fn request_service_context(&self, id: u32) -> Option<&[u8]> {
        Some(self.request.contexts.find(id)?.data)
    }

    /// Adds a service context to the reply; `data` should be an encapsulation.
    ///
    /// # Errors
    /// BAD_INV_ORDER if there is one with this id and `replace` is false.
    pub fn add_reply_service_context(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.contexts.add(id, data, replace)
    }

    /// The service context that was added to the reply so far.
    pub fn reply_service_context(&self, id: u32) -> Option<&[u8]> {
        self.contexts.find(id)
    }

    /// The request's value of a slot.
    pub fn slot(&self, slot: Slot) -> Option<&Any> {
        self.slots.get(slot)
    }

    /// Sets the request's value of a slot. What is set before the servant is called, the servant finds in its thread.
    pub fn set_slot(&mut self, slot: Slot, value: Option<Any>) {
        self.slots.set(slot, value);
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

impl ServerReply<'_> {
    /// Returns the answer that is about to be sent.
    pub fn sending(&self) -> &Sending<'_> {
        &self.sending
    }

    /// Adds a service context like [`ServerRequest::add_reply_service_context`].
    ///
    /// # Errors
    /// BAD_INV_ORDER if there is one with this id and `replace` is false.
    pub fn add_reply_service_context(
        &mut self,
        id: u32,
        data: Vec<u8>,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.request.add_reply_service_context(id, data, replace)
    }

    /// Takes what was [kept](ServerRequest::keep) at an earlier point.
    pub fn take<T: Send + 'static>(&mut self) -> Option<T> {
        self.request.take()
    }
}

impl<'r> Deref for ServerReply<'r> {
    type Target = ServerRequest<'r>;

    /// The request that is answered.
    fn deref(&self) -> &ServerRequest<'r> {
        &self.request
    }
}

impl std::fmt::Debug for AnyServant<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.repository_id())
    }
}
