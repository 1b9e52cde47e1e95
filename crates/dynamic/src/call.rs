//! Arguments and results on their way through the codec, on both sides.

use std::cell::RefCell;

use oxorb_cdr::{Decoder, Dynamic, DynamicError, Encoder, ErrorKind, Reason, Result as CdrResult};
use oxorb_core::{Answered, Context, InFlight, Operation, Ref};
use oxorb_giop::Response;

use crate::{Exception, Parameter, Signature, UserException};

/// What an operation ends with: a value for everything that travels from server to client.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Results {
    /// [`Dynamic::Null`] if there is none.
    pub returns: Dynamic,
    /// Of the inout and out parameters, in order.
    pub out: Vec<Dynamic>,
}

impl Results {
    /// Nothing but a return value.
    pub fn returning(value: impl Into<Dynamic>) -> Self {
        Results {
            returns: value.into(),
            out: Vec::new(),
        }
    }

    /// Adds the value of the next inout or out parameter.
    #[must_use]
    pub fn with_out(mut self, value: impl Into<Dynamic>) -> Self {
        self.out.push(value.into());
        self
    }
}

/// Calls an operation and waits for its results, unless it is oneway.
///
/// `args` are the values of the in and inout parameters, in order. Costs, beside the call itself, the values of the
/// results.
pub fn invoke(
    target: &Ref,
    signature: &Signature,
    args: &[Dynamic],
    context: &Context,
) -> Result<Results, Exception> {
    if signature.oneway {
        send(target, signature, args, context)?;
        return Ok(Results::default());
    }
    let arguments = Arguments::new(signature, args, context);
    let called = target.invoke_dynamic(
        signature.request(),
        |e| arguments.write(e),
        |answered| read_answer(signature, answered),
    );
    called.map_err(|system| arguments.failure(system.into()))?
}

/// Sends a request and wants no answer, whether the operation is oneway or not.
pub fn send(
    target: &Ref,
    signature: &Signature,
    args: &[Dynamic],
    context: &Context,
) -> Result<(), Exception> {
    let arguments = Arguments::new(signature, args, context);
    let operation = Operation {
        response: Response::None,
        ..signature.request()
    };
    let sent = target.send_dynamic(operation, |e| arguments.write(e));
    sent.map_err(|system| arguments.failure(system.into()))
}

/// Sends a request without waiting for the answer.
pub(crate) fn begin(
    target: &Ref,
    signature: &Signature,
    args: &[Dynamic],
    context: &Context,
) -> Result<InFlight, Exception> {
    let arguments = Arguments::new(signature, args, context);
    let sent = target.begin_dynamic(signature.request(), |e| arguments.write(e));
    match arguments.failed.take() {
        Some(failed) => Err(failed),
        None => Ok(sent),
    }
}

/// The arguments of one request, which may have to be written more than once.
struct Arguments<'r> {
    signature: &'r Signature,
    args: &'r [Dynamic],
    context: &'r Context,
    /// What was wrong with one of them: the codec only says that something was.
    failed: RefCell<Option<Exception>>,
}

impl<'r> Arguments<'r> {
    fn new(signature: &'r Signature, args: &'r [Dynamic], context: &'r Context) -> Self {
        Arguments {
            signature,
            args,
            context,
            failed: RefCell::new(None),
        }
    }

    fn write(&self, e: &mut Encoder<'_>) -> CdrResult<()> {
        let at = e.position();
        let written = write_values(self.signature.inputs(), self.args, e);
        written.map_err(|(of, error)| {
            let cdr = error.to_cdr(at);
            *self.failed.borrow_mut() = Some(Exception::argument(&of, error));
            cdr
        })?;
        if !self.signature.context.is_empty() {
            oxorb_core::encode_context(e, self.context, &self.signature.context)?;
        }
        Ok(())
    }

    /// Why the call failed: because of an argument if one of them was wrong.
    fn failure(&self, otherwise: Exception) -> Exception {
        self.failed.take().unwrap_or(otherwise)
    }
}

/// Writes a value for each parameter; on failure says which one it was.
fn write_values<'p>(
    params: impl Iterator<Item = &'p Parameter>,
    values: &[Dynamic],
    e: &mut Encoder<'_>,
) -> Result<(), (String, DynamicError)> {
    let mut left = values.iter();
    for param in params {
        let value = left.next().ok_or_else(|| missing(&param.name))?;
        let written = value.encode(&param.ty, e);
        written.map_err(|error| (param.name.clone(), error))?;
    }
    match left.len() {
        0 => Ok(()),
        surplus => {
            let wrong = Reason::WrongLength {
                length: values.len(),
                expected: values.len() - surplus,
            };
            Err(("arguments".to_owned(), wrong.into()))
        }
    }
}

fn missing(name: &str) -> (String, DynamicError) {
    let missing = Reason::MissingMember(name.to_owned());
    ("arguments".to_owned(), missing.into())
}

/// Reads a value for each parameter.
fn read_values<'p>(
    params: impl Iterator<Item = &'p Parameter>,
    d: &mut Decoder<'_>,
) -> Result<Vec<Dynamic>, (String, DynamicError)> {
    params
        .map(|param| Dynamic::decode(&param.ty, d).map_err(|error| (param.name.clone(), error)))
        .collect()
}

/// Reads what came back.
pub(crate) fn read_answer(
    signature: &Signature,
    answered: Answered<'_>,
) -> Result<Results, Exception> {
    match answered {
        Answered::Results(mut d) => {
            let returns = Dynamic::decode(&signature.returns, &mut d)
                .map_err(|error| Exception::result("return value", error))?;
            let out = read_values(signature.outputs(), &mut d)
                .map_err(|(of, error)| Exception::result(&of, error))?;
            Ok(Results { returns, out })
        }
        Answered::Exception(d) => Err(read_exception(signature, d)),
    }
}

fn read_exception(signature: &Signature, mut d: Decoder<'_>) -> Exception {
    let id = match d.clone().string() {
        Ok(id) => id,
        Err(error) => return Exception::result("exception", error.into()),
    };
    match signature.exception(&id) {
        None => Exception::Unlisted(id.into_owned()),
        Some(ty) => match Dynamic::decode(ty, &mut d) {
            Ok(members) => Exception::User(UserException {
                ty: ty.clone(),
                members,
            }),
            Err(error) => Exception::result(&id, error),
        },
    }
}

/// The server's half: reads the arguments, and the context if the operation has one.
pub(crate) fn read_arguments(
    signature: &Signature,
    d: &mut Decoder<'_>,
) -> CdrResult<(Vec<Dynamic>, Context)> {
    let at = d.position();
    let args = read_values(signature.inputs(), d).map_err(|(_, error)| error.to_cdr(at))?;
    let context = match signature.context.is_empty() {
        true => Context::new(),
        false => oxorb_core::decode_context(d)?,
    };
    Ok((args, context))
}

/// The server's half: writes the results.
pub(crate) fn write_results(
    signature: &Signature,
    results: &Results,
    e: &mut Encoder<'_>,
) -> CdrResult<()> {
    let at = e.position();
    let returned = results.returns.encode(&signature.returns, e);
    returned.map_err(|error| error.to_cdr(at))?;
    if results.out.len() != signature.outputs().count() {
        return Err(ErrorKind::BadValue.at(at));
    }
    let written = write_values(signature.outputs(), &results.out, e);
    written.map_err(|(_, error)| error.to_cdr(at))
}
