//! Servants of interfaces known only at run time (DSI).

use std::sync::Arc;

use oxorb_cdr::Dynamic;
use oxorb_core::{Answered, Context, ObjectRef, Orb, Outcome, Servant, Upcall};

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

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let Some(signature) = self.0.signature(upcall.operation()) else {
            return upcall.unknown_operation();
        };
        let (args, context) = match upcall.args(|d| read_arguments(signature, d)) {
            Ok(read) => read,
            Err(rejected) => return upcall.reject(rejected),
        };
        let invocation = Invocation {
            signature,
            args,
            context,
            expects_reply: upcall.expects_reply(),
            orb: upcall.orb(),
        };
        match self.0.invoke(invocation) {
            Ok(_) if signature.oneway => upcall.done(),
            done => write_answer(upcall, signature, done),
        }
    }
}

/// Answers a request with the reply of another server, decoded and re-encoded: for bridges between protocols in which
/// the same octets have different meanings. Results that do not match the signature raise MARSHAL; undeclared
/// exceptions become UNKNOWN.
pub fn answer(upcall: Upcall<'_>, signature: &Signature, answered: Answered<'_>) -> Outcome {
    write_answer(upcall, signature, read_answer(signature, answered))
}

fn write_answer(
    upcall: Upcall<'_>,
    signature: &Signature,
    done: Result<Results, Exception>,
) -> Outcome {
    match done {
        Ok(results) => upcall.reply(|e| write_results(signature, &results, e)),
        Err(Exception::User(user)) if signature.exception(user.id()).is_none() => {
            upcall.fail(UNLISTED)
        }
        Err(exception) => upcall.raise(&exception),
    }
}
