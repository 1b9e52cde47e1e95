//! `CORBA::Request`: one call, built and sent step by step.

use std::sync::Arc;
use std::task::{self, Poll};

use oxorb_cdr::{Dynamic, Octets, TypeCode};
use oxorb_core::{Context, InFlight, Ref};
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::call::{self, Given, begin, read_answer};
use crate::{Exception, NVList, NamedValue, Results, Signature};

/// Call of an operation known only at run time (CORBA 3.4, 8.3).
///
/// Arguments and types are added in the order of IDL, or given all at once with a [`Signature`]. A
/// request is sent once:
///
/// | method | continues with |
/// |---|---|
/// | [`invoke`](Self::invoke) | the results that it returns |
/// | [`send_oneway`](Self::send_oneway) | nothing |
/// | [`send_deferred`](Self::send_deferred) | [`poll_response`](Self::poll_response), [`get_response`](Self::get_response) |
///
/// Calls out of order fail with `BAD_INV_ORDER` and the minor codes of the standard.
///
/// ```no_run
/// # let orb = oxorb::Orb::builder().build()?;
/// use oxorb::Interface as _;
/// use oxorb_dynamic::{Request, TypeCode};
///
/// let account = orb.string_to_object("corbaloc::server.example:2809/Account")?;
/// let mut request = Request::new(account.reference(), "withdraw")?;
/// request.add_in("amount", TypeCode::ULONG, 10u32).set_return_type(TypeCode::LONGLONG);
/// let left = i64::try_from(&request.invoke()?.returns)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Request {
    target: Ref,
    signature: Arc<Signature>,
    args: Vec<Given>,
    context: Context,
    state: State,
}

#[derive(Debug)]
enum State {
    New,
    /// Sent by [`Request::invoke`] or [`Request::send_oneway`]; there is no reply to be taken.
    Synchronous,
    Deferred(Box<InFlight>),
    Taken,
}

/// Operations that every object implements implicitly, and for which references have methods.
const IMPLICIT: [&str; 6] =
    ["_component", "_interface", "_is_a", "_non_existent", "_not_existent", "_repository_id"];

impl Request {
    /// Creates a request without parameters and result (`_request`).
    ///
    /// Fails with `BAD_PARAM` 32 for the implicit operations of every object, such as `_is_a`, for which the reference
    /// has methods.
    pub fn new(target: &Ref, operation: &str) -> Result<Self, SystemException> {
        Self::with_signature(target, Arc::new(Signature::new(operation)), Vec::new())
    }

    /// Creates a request with all its types, and the values of the in and inout parameters in
    /// order.
    pub fn with_signature(
        target: &Ref,
        signature: impl Into<Arc<Signature>>,
        args: Vec<Dynamic>,
    ) -> Result<Self, SystemException> {
        let signature = signature.into();
        if IMPLICIT.contains(&signature.operation.as_str()) {
            return Err(IMPLICIT_OPERATION);
        }
        Ok(Request {
            target: target.clone(),
            signature,
            args: args.into_iter().map(Given::Value).collect(),
            context: Context::new(),
            state: State::New,
        })
    }

    /// Creates a request with the arguments of a list (`_create_request`).
    pub fn with_list(
        target: &Ref,
        operation: &str,
        arguments: NVList,
        returns: TypeCode,
    ) -> Result<Self, SystemException> {
        let mut request = Self::new(target, operation)?;
        request.set_return_type(returns);
        for argument in arguments {
            request.add(argument);
        }
        Ok(request)
    }

    /// Returns the target object.
    pub fn target(&self) -> &Ref {
        &self.target
    }

    /// Returns the signature of the operation, as far as it is known.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Adds an `in` parameter and its value.
    pub fn add_in(&mut self, name: &str, ty: TypeCode, value: impl Into<Dynamic>) -> &mut Self {
        self.change(|signature| signature.with_in(name, ty));
        self.args.push(Given::Value(value.into()));
        self
    }

    /// Adds an `in` parameter of type `sequence<octet>` with octets in any memory: those of a
    /// [room](oxorb_core::Ref::room) are sent in place, and long ones are not copied first. The
    /// request owns them until it is dropped.
    ///
    /// ```no_run
    /// # let orb = oxorb::Orb::builder().build()?;
    /// # let camera = orb.string_to_object("corbaloc:shm:/run/camera|Camera")?;
    /// use oxorb::Interface as _;
    /// use oxorb_dynamic::{Request, TypeCode};
    ///
    /// let mut room = camera.reference().room(1 << 20)?;
    /// room.fill(0x80);
    /// let mut request = Request::new(camera.reference(), "put")?;
    /// request.add_octets("image", TypeCode::sequence(TypeCode::OCTET), room);
    /// request.invoke()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_octets(
        &mut self,
        name: &str,
        ty: TypeCode,
        octets: impl Into<Octets<'static>>,
    ) -> &mut Self {
        self.change(|signature| signature.with_in(name, ty));
        self.args.push(Given::Octets(octets.into()));
        self
    }

    /// Adds an `inout` parameter and its value.
    pub fn add_inout(&mut self, name: &str, ty: TypeCode, value: impl Into<Dynamic>) -> &mut Self {
        self.change(|signature| signature.with_inout(name, ty));
        self.args.push(Given::Value(value.into()));
        self
    }

    /// Adds an `out` parameter.
    pub fn add_out(&mut self, name: &str, ty: TypeCode) -> &mut Self {
        self.change(|signature| signature.with_out(name, ty));
        self
    }

    /// Adds a parameter; the value of an `out` parameter is ignored.
    pub fn add(&mut self, argument: NamedValue) -> &mut Self {
        let NamedValue { name, direction, ty, value } = argument;
        self.change(|signature| signature.with(name, direction, ty));
        if direction.is_sent() {
            self.args.push(Given::Value(value));
        }
        self
    }

    /// Sets the type of the return value.
    pub fn set_return_type(&mut self, ty: TypeCode) -> &mut Self {
        self.change(|signature| signature.returning(ty));
        self
    }

    /// Adds an exception; exceptions not added are reported as [`Exception::Unlisted`].
    pub fn add_exception(&mut self, ty: TypeCode) -> &mut Self {
        self.change(|signature| signature.raising(ty));
        self
    }

    /// Sets the context clause of the operation, and the context itself.
    pub fn set_context(&mut self, clause: &[&str], context: Context) -> &mut Self {
        self.change(|signature| signature.with_context(clause.iter().copied()));
        self.context = context;
        self
    }

    /// Calls the operation and waits for its results.
    ///
    /// Fails with `BAD_INV_ORDER` 5 if the request was already invoked or sent.
    pub fn invoke(&mut self) -> Result<Results, Exception> {
        self.leave_new(INVOKED_TWICE)?;
        call::invoke_with(&self.target, &self.signature, &self.args, &self.context)
    }

    /// Sends the request without expecting a reply.
    ///
    /// Fails with `BAD_INV_ORDER` 10 if the request was already invoked or sent.
    pub fn send_oneway(&mut self) -> Result<(), Exception> {
        self.leave_new(ALREADY_SENT)?;
        call::send_with(&self.target, &self.signature, &self.args, &self.context)
    }

    /// Sends the request and returns; the reply is taken later.
    ///
    /// Failures other than an invalid argument are reported when the reply is taken. Fails with `BAD_INV_ORDER` 10 if
    /// the request was already invoked or sent.
    pub fn send_deferred(&mut self) -> Result<(), Exception> {
        self.leave_new(ALREADY_SENT)?;
        if self.signature.oneway {
            return call::send_with(&self.target, &self.signature, &self.args, &self.context);
        }
        let sent = begin(&self.target, &self.signature, &self.args, &self.context)?;
        self.state = State::Deferred(Box::new(sent));
        Ok(())
    }

    /// Reports whether the reply has arrived. Never waits.
    ///
    /// Fails with `BAD_INV_ORDER` 11 if the request was not sent yet, 12 if the reply was taken, and 13 if the request
    /// was not sent deferred.
    pub fn poll_response(&mut self) -> Result<bool, SystemException> {
        match &mut self.state {
            State::Deferred(sent) => Ok(sent.is_ready()),
            other => Err(other.no_answer()),
        }
    }

    /// Waits for the reply and takes it.
    ///
    /// Fails with `BAD_INV_ORDER` as [`poll_response`](Self::poll_response) does.
    pub fn get_response(&mut self) -> Result<Results, Exception> {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Deferred(sent) => {
                sent.wait(|answered| read_answer(&self.signature, answered))?
            }
            other => {
                self.state = other;
                Err(self.state.no_answer().into())
            }
        }
    }

    /// Polls for the reply, and wakes the task when it arrives; `None` if no reply is to be taken.
    pub(crate) fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Option<Poll<()>> {
        match &mut self.state {
            State::Deferred(sent) => Some(sent.poll_ready(context)),
            _ => None,
        }
    }

    fn leave_new(&mut self, otherwise: SystemException) -> Result<(), SystemException> {
        if !matches!(self.state, State::New) {
            return Err(otherwise);
        }
        self.state = State::Synchronous;
        Ok(())
    }

    fn change(&mut self, change: impl FnOnce(Signature) -> Signature) {
        let signature = Arc::make_mut(&mut self.signature);
        let before = std::mem::replace(signature, Signature::new(String::new()));
        *signature = change(before);
    }
}

impl State {
    fn no_answer(&self) -> SystemException {
        match self {
            State::New => NOT_SENT,
            State::Synchronous | State::Deferred(_) => SYNCHRONOUS,
            State::Taken => RESULT_TAKEN,
        }
    }
}

const fn out_of_order(minor: u32) -> SystemException {
    SystemException::bad_inv_order(minor, CompletionStatus::No)
}

const INVOKED_TWICE: SystemException = out_of_order(minor::bad_inv_order::REQUEST_INVOKED_TWICE);
const ALREADY_SENT: SystemException = out_of_order(minor::bad_inv_order::ALREADY_SENT);
pub(crate) const NOT_SENT: SystemException = out_of_order(minor::bad_inv_order::NOT_SENT);
const RESULT_TAKEN: SystemException = out_of_order(minor::bad_inv_order::RESULT_TAKEN);
const SYNCHRONOUS: SystemException = out_of_order(minor::bad_inv_order::SYNCHRONOUS);

const IMPLICIT_OPERATION: SystemException =
    SystemException::bad_param(minor::bad_param::IMPLICIT_OPERATION, CompletionStatus::No);
