//! Calls through references.

use oxorb_cdr::{Decoder, Encoder, OctetSeq, Octets, Result as CdrResult};
use oxorb_object::SystemException;

use super::asynchronous::Reading;
use super::fast_call::{invoke, invoke_dynamic, send, send_dynamic};
use super::{AsyncReply, BufferedOneways, InFlight, PreparedRequest, PreparedSlots, RawReply};
use super::{asynchronous, buffered, explicit};
use crate::policy::LargePayloads;
use crate::reference::{Op, Operation, OperationError};
use crate::{Failure, ObjectRef, Ref};

impl Ref {
    /// Calls a two-way operation and decodes its result.
    ///
    /// In steady state a call allocates nothing itself, and makes one write and one read. `args` runs again if the
    /// request has to be written again, because it was forwarded or because the connection was closed while it was
    /// idle.
    pub fn invoke<'a, R, E: OperationError>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
        result: impl FnOnce(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Result<R, E> {
        invoke(self, op, &args)?.results(result)
    }

    /// Invokes an operation whose only result is a `sequence<octet>`, as [`invoke`](Self::invoke)
    /// does: the receive buffer is handed over without a copy.
    pub fn invoke_octets<'a, E: OperationError>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Result<OctetSeq, E> {
        invoke(self, op, &args)?.into_octets()
    }

    /// Calls as [`invoke`](Self::invoke) does, and leaves [`Octets`] among the results where the server wrote them, if
    /// the transport lends them and [`LargePayloads`] is not `Copied`. Until the octets are dropped, the server cannot
    /// use that memory for other replies.
    ///
    /// If the transport lent octets that `result` does not take in place, `result` is called a second time, and the
    /// result of the first call is dropped.
    pub fn invoke_in_place<'a, R, E: OperationError>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
        result: impl Fn(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Result<R, E> {
        let reply = invoke(self, op, &args)?;
        match reply.is_lent() && self.copies_payloads() {
            true => reply.results(result),
            false => reply.results_in_place(result),
        }
    }

    /// Calls as [`invoke_octets`](Self::invoke_octets) does, and leaves the result where the server wrote it, if the
    /// transport lends it and [`LargePayloads`] is not `Copied`.
    pub fn invoke_octets_in_place<'a, E: OperationError>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Result<Octets<'static>, E> {
        let reply = invoke(self, op, &args)?;
        match reply.is_lent() && self.copies_payloads() {
            true => reply.into_octets().map(|it| Octets::Owned(it.into_vec())),
            false => reply.into_octets_in_place(),
        }
    }

    /// Reports whether lent octets are to be copied. This may require merging the policies, so it is called only for
    /// replies with lent octets.
    #[inline(never)]
    fn copies_payloads(&self) -> bool {
        self.policies().payloads == LargePayloads::Copied
    }

    /// Sends a oneway request; returns when the transport has accepted it (SYNC_WITH_TRANSPORT).
    pub fn send<'a>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Result<(), SystemException> {
        send(self, op, &args)
    }

    /// Calls a two-way operation without waiting: the request is sent before this returns, and the future completes
    /// when the answer arrives.
    ///
    /// Needs no executor; a thread of the ORB reads the connection and wakes
    /// the task. Allocates.
    pub fn invoke_async<'a, R, E: OperationError>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
        result: fn(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> AsyncReply<R, E> {
        asynchronous::invoke_async(self, op.into(), &args, Reading::Copied(result))
    }

    /// Calls as [`invoke_async`](Self::invoke_async) does, and treats results as
    /// [`invoke_in_place`](Self::invoke_in_place) does.
    pub fn invoke_async_in_place<'a, R, E: OperationError>(
        &self,
        op: &'static Op,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
        result: fn(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> AsyncReply<R, E> {
        let reading = match self.policies().payloads {
            LargePayloads::Copied => Reading::Copied(result),
            _ => Reading::InPlace(result),
        };
        asynchronous::invoke_async(self, op.into(), &args, reading)
    }

    /// Marshals the arguments of an operation, to send them many times.
    ///
    /// Values that will change are written with [`PreparedSlots::put`], all others as for [`invoke`](Self::invoke).
    /// Sends nothing yet. Fails if an argument cannot be marshalled.
    pub fn prepare<'a, F>(
        &self,
        op: &'static Op,
        args: F,
    ) -> Result<PreparedRequest<'a, F>, SystemException>
    where
        F: Fn(&mut Encoder<'a>, &mut PreparedSlots<'_>) -> CdrResult<()>,
    {
        PreparedRequest::new(self, op, args)
    }

    /// Calls a two-way operation, as [`invoke`](Self::invoke) does, for callers that read the answer themselves, such
    /// as calls without stubs and gateways.
    pub fn invoke_dynamic<'a, T>(
        &self,
        operation: Operation<'_>,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
        read: impl FnOnce(RawReply<'_>) -> T,
    ) -> Result<T, SystemException> {
        invoke_dynamic(self, operation, &args, read)
    }

    /// Sends an operation that is known only at run time, as [`send`](Self::send) does.
    pub fn send_dynamic<'a>(
        &self,
        operation: Operation<'_>,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> Result<(), SystemException> {
        send_dynamic(self, operation, &args)
    }

    /// Sends a request as [`invoke_async`](Self::invoke_async) does, for callers that read the answer themselves. A
    /// failure to send is returned as the answer.
    pub fn begin_dynamic<'a>(
        &self,
        operation: Operation<'_>,
        args: impl Fn(&mut Encoder<'a>) -> CdrResult<()>,
    ) -> InFlight {
        asynchronous::begin(self, operation, &args)
    }

    /// Returns the most derived interface of the object, as the object itself reports it (`_repository_id`). Not every
    /// ORB has that operation; OxORB and JacORB do.
    pub fn repository_id(&self) -> Result<String, SystemException> {
        static OP: Op = Op::twoway("_repository_id");
        self.invoke(&OP, |_| Ok(()), |d| Ok(d.string()?.into_owned()))
    }

    /// Reports whether the object supports an interface. Queries the object unless the type id in the reference already
    /// names the interface.
    pub fn is_a(&self, repository_id: &str) -> Result<bool, SystemException> {
        static OP: Op = Op::twoway("_is_a");
        if repository_id == ObjectRef::ID || self.ior().type_id == repository_id {
            return Ok(true);
        }
        self.invoke(&OP, |e| e.string(repository_id), |d| d.boolean())
    }

    /// Reports whether the object is known to no longer exist. A failure to reach its server is an exception, not an
    /// answer.
    pub fn non_existent(&self) -> Result<bool, SystemException> {
        static OP: Op = Op::twoway("_non_existent");
        let answer = self.invoke::<bool, SystemException>(&OP, |_| Ok(()), |d| d.boolean());
        match answer {
            Err(gone) if gone.kind == oxorb_object::SystemExceptionKind::ObjectNotExist => Ok(true),
            answer => answer,
        }
    }

    /// Returns the object's InterfaceDef, from the Interface Repository of its server (`_interface`).
    pub fn interface(&self) -> Result<Option<ObjectRef>, SystemException> {
        static OP: Op = Op::twoway("_interface");
        self.invoke(&OP, |_| Ok(()), crate::decode_ref)
    }

    /// Opens the connection now instead of at the first call, queries the server for the object (LocateRequest),
    /// follows forwards, and rebinds the reference if a [`RebindMode`](crate::policy::RebindMode) forbids that calls do
    /// so (`_validate_connection`).
    ///
    /// # Errors
    /// [`Failure`]: the failure of each endpoint that cannot be reached; with INV_POLICY the types of the policies that
    /// contradict the server's; OBJECT_NOT_EXIST if the server does not know the object.
    pub fn validate_connection(&self) -> Result<(), Failure> {
        explicit::validate(self)
    }

    /// Sends the oneways that calls with `SyncScope::None` left in the buffer of this object's server, and waits until
    /// the transport has accepted them, at most as long as a call may take. Does nothing if there are none.
    ///
    /// # Errors
    /// TIMEOUT; TRANSIENT if they could not be sent, and are lost.
    pub fn flush(&self) -> Result<(), SystemException> {
        buffered::flush(self)
    }

    /// Returns counts of the oneways that were buffered for this object's server.
    pub fn buffered(&self) -> BufferedOneways {
        buffered::look(self)
    }
}
