//! Servants of interfaces known only at run time (DSI).

use std::cell::Cell;
use std::sync::Arc;

use oxorb_cdr::{Dynamic, Encoder, Result as CdrResult};
use oxorb_core::{Context, ObjectRef, Orb, Outcome, RawReply, Servant, ServantError, Upcall};
use oxorb_object::SystemException;

use crate::call::{read_answer, read_arguments, write_results};
use crate::exception::UNLISTED;
use crate::{Exception, Results, Signature};

/// Servant whose interface is determined at run time (CORBA 3.4, 8.5).
///
/// ```
/// use oxorb_dynamic::{Dynamic, DynamicServant, Exception, Invocation, Results, Signature, TypeCode};
///
/// struct Clock(Signature);
///
/// impl DynamicServant for Clock {
///     fn repository_id(&self) -> &str {
///         "IDL:Clock:1.0"
///     }
///     fn signature(&self, operation: &str) -> Option<&Signature> {
///         (operation == self.0.operation).then_some(&self.0)
///     }
///     fn invoke(&self, _: Invocation<'_>) -> Result<Results, Exception> {
///         Ok(Results::returning(1_000_000i64))
///     }
/// }
///
/// let orb = oxorb::Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let now = Signature::new("now").returning(TypeCode::LONGLONG);
/// let clock = orb.root_poa().activate_servant(oxorb_dynamic::servant(Clock(now.clone())))?;
/// let told = oxorb_dynamic::invoke(&clock, &now, &[], &oxorb::servant::Context::new())?;
/// assert_eq!(told.returns, Dynamic::Longlong(1_000_000));
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait DynamicServant: Send + Sync + 'static {
    /// Returns the repository id of the most derived interface, as `IDL:bank/Account:1.0`.
    fn repository_id(&self) -> &str;

    /// Reports whether the object supports the interface `id`.
    fn is_a(&self, id: &str) -> bool {
        id == self.repository_id()
    }

    /// Returns the signature of an operation by its wire name; `None` is answered with
    /// `BAD_OPERATION`.
    fn signature(&self, operation: &str) -> Option<&Signature>;

    /// Serves one request of an operation for which [`signature`](Self::signature) returned a
    /// signature. Results of wrong types, and undeclared exceptions, are answered as by a generated
    /// skeleton.
    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception>;
}

/// Request to a [`DynamicServant`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Invocation<'r> {
    /// Signature of the operation, as [`DynamicServant::signature`] returned it.
    pub signature: &'r Signature,
    /// Values of the in and inout parameters, in order.
    pub args: Vec<Dynamic>,
    /// Context sent with the request, if the operation has a `context` clause.
    pub context: Context,
    /// Whether the caller expects a reply.
    pub expects_reply: bool,
    /// ORB that serves the request, for references among the arguments.
    pub orb: &'r Orb,
}

impl Invocation<'_> {
    /// Returns the wire name of the operation.
    pub fn operation(&self) -> &str {
        &self.signature.operation
    }
}

/// Wraps a servant for `Poa::activate_servant`.
pub fn servant(servant: impl DynamicServant) -> Arc<dyn Servant> {
    Arc::new(Adapter(servant))
}

struct Adapter<S>(S);

impl<S: DynamicServant> Servant for Adapter<S> {
    fn repository_id(&self) -> &str {
        self.0.repository_id()
    }

    fn is_a(&self, id: &str) -> bool {
        self.0.is_a(id) || id == <ObjectRef as oxorb_core::Interface>::REPOSITORY_ID
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match self.0.signature(upcall.operation()) {
            Some(signature) => serve(upcall, signature, |it| self.0.invoke(it), |_| ()),
            None => upcall.unknown_operation(),
        }
    }
}

/// Serves one request of the operation `signature` by `invoke`, as [`DynamicServant::invoke`] does. For servants that
/// count their requests: `ended` is called once, before the answer is sent, and receives `false` if the answer is a
/// system exception. This includes the exception that replaces results or a user exception that cannot be encoded.
///
/// Later changes of the answer are not reported: an interceptor may replace a user exception, and an answer that
/// exceeds the limit of outgoing messages is replaced with a system exception. If an interceptor replaces results, they
/// are not encoded, and `ended` receives `false` after the answer was sent.
pub fn serve(
    mut upcall: Upcall<'_>,
    signature: &Signature,
    invoke: impl FnOnce(Invocation<'_>) -> Result<Results, Exception>,
    ended: impl FnOnce(bool),
) -> Outcome {
    let (args, context) = match upcall.args(|d| read_arguments(signature, d)) {
        Ok(read) => read,
        Err(rejected) => {
            ended(false);
            return upcall.reject(rejected);
        }
    };
    let invocation = Invocation {
        signature,
        args,
        context,
        expects_reply: upcall.expects_reply(),
        orb: upcall.orb(),
    };
    match invoke(invocation) {
        Ok(_) if signature.oneway => {
            ended(true);
            upcall.done()
        }
        done => write_answer(upcall, signature, done, ended),
    }
}

/// Answers a request with the reply of another server, decoded and re-encoded: for bridges between protocols in which
/// the same octets have different meanings. Results that do not match the signature raise MARSHAL; undeclared
/// exceptions become UNKNOWN. `ended` is called as [`serve`] calls it.
pub fn answer(
    upcall: Upcall<'_>,
    signature: &Signature,
    answered: RawReply<'_>,
    ended: impl FnOnce(bool),
) -> Outcome {
    answer_changed(upcall, signature, answered, |done| done, ended)
}

/// Answers a request as [`answer`] does, with what `change` makes of the decoded results or exception: for gateways,
/// which replace the references in them.
pub fn answer_changed(
    upcall: Upcall<'_>,
    signature: &Signature,
    answered: RawReply<'_>,
    change: impl FnOnce(Result<Results, Exception>) -> Result<Results, Exception>,
    ended: impl FnOnce(bool),
) -> Outcome {
    write_answer(upcall, signature, change(read_answer(signature, answered)), ended)
}

fn write_answer(
    upcall: Upcall<'_>,
    signature: &Signature,
    done: Result<Results, Exception>,
    ended: impl FnOnce(bool),
) -> Outcome {
    match done {
        // Nobody waits for the results, so they are not encoded.
        Ok(_) if !upcall.expects_reply() => {
            ended(true);
            upcall.done()
        }
        Ok(results) => {
            let mut ended = Some(ended);
            let outcome = upcall.reply(|e| {
                let written = write_results(signature, &results, e);
                if let Some(ended) = ended.take() {
                    ended(written.is_ok());
                }
                written
            });
            // An interceptor has replaced the results.
            if let Some(ended) = ended {
                ended(false);
            }
            outcome
        }
        Err(Exception::User(user)) if signature.exception(user.id()).is_none() => {
            ended(false);
            upcall.fail(UNLISTED)
        }
        Err(exception @ Exception::User(_)) => {
            let reported =
                ReportedException { exception: &exception, ended: Cell::new(Some(ended)) };
            let outcome = upcall.raise(&reported);
            // Nobody waits for the exception, so it was not encoded.
            if let Some(ended) = reported.ended.take() {
                ended(true);
            }
            outcome
        }
        Err(exception) => {
            ended(false);
            upcall.raise(&exception)
        }
    }
}

/// User exception that calls `ended` when it is encoded for the first time. If there are interceptors, it is encoded
/// for them first, and again for the client.
struct ReportedException<'x, F> {
    exception: &'x Exception,
    ended: Cell<Option<F>>,
}

impl<F: FnOnce(bool)> ServantError for ReportedException<'_, F> {
    fn system(&self) -> Option<SystemException> {
        self.exception.system()
    }

    fn raise<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        let written = self.exception.raise(e);
        if let Some(ended) = self.ended.take() {
            ended(written.is_ok());
        }
        written
    }
}
