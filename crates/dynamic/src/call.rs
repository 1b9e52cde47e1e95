//! Encoding and decoding of arguments and results, on both sides of a call.

use std::cell::RefCell;

use oxorb_cdr::{
    Decoder, Dynamic, DynamicError, DynamicErrorKind, Encode as _, Encoder, ErrorKind, Octets,
    Result as CdrResult, Shape, TcKind, TypeCode,
};
use oxorb_core::{Context, InFlight, Operation, RawReply, Ref};
use oxorb_giop::Response;

use crate::{Exception, Parameter, Signature, UserException};

/// Results of an operation: the values that the server returns to the client.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Results {
    /// Return value; [`Dynamic::Null`] if there is none.
    pub returns: Dynamic,
    /// Values of the inout and out parameters, in order.
    pub out: Vec<Dynamic>,
}

impl Results {
    /// Creates results that consist of a return value.
    pub fn returning(value: impl Into<Dynamic>) -> Self {
        Results { returns: value.into(), out: Vec::new() }
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
/// `args` are the values of the in and inout parameters, in order. In addition to the call itself,
/// this allocates the results.
pub fn invoke(
    target: &Ref,
    signature: &Signature,
    args: &[Dynamic],
    context: &Context,
) -> Result<Results, Exception> {
    invoke_with(target, signature, args, context)
}

/// Calls an operation as [`invoke`] does, with arguments of any kind.
pub(crate) fn invoke_with<A: Argument>(
    target: &Ref,
    signature: &Signature,
    args: &[A],
    context: &Context,
) -> Result<Results, Exception> {
    if signature.oneway {
        send_with(target, signature, args, context)?;
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

/// Sends a request without expecting a reply, whether the operation is oneway or not.
pub fn send(
    target: &Ref,
    signature: &Signature,
    args: &[Dynamic],
    context: &Context,
) -> Result<(), Exception> {
    send_with(target, signature, args, context)
}

/// Sends a request as [`send`] does, with arguments of any kind.
pub(crate) fn send_with<A: Argument>(
    target: &Ref,
    signature: &Signature,
    args: &[A],
    context: &Context,
) -> Result<(), Exception> {
    let arguments = Arguments::new(signature, args, context);
    let operation = Operation { response: Response::None, ..signature.request() };
    let sent = target.send_dynamic(operation, |e| arguments.write(e));
    sent.map_err(|system| arguments.failure(system.into()))
}

/// Sends a request without waiting for the reply.
pub(crate) fn begin<A: Argument>(
    target: &Ref,
    signature: &Signature,
    args: &[A],
    context: &Context,
) -> Result<InFlight, Exception> {
    let arguments = Arguments::new(signature, args, context);
    let sent = target.begin_dynamic(signature.request(), |e| arguments.write(e));
    match arguments.failed.take() {
        Some(failed) => Err(failed),
        None => Ok(sent),
    }
}

/// Value sent for a parameter.
pub(crate) trait Argument {
    /// Writes the value as one of a type. If it does not match the type, the error names the part
    /// that does not.
    fn write<'e>(&'e self, ty: &TypeCode, e: &mut Encoder<'e>) -> Result<(), DynamicError>;
}

impl Argument for Dynamic {
    fn write<'e>(&'e self, ty: &TypeCode, e: &mut Encoder<'e>) -> Result<(), DynamicError> {
        self.encode(ty, e)
    }
}

/// Argument of a [`Request`](crate::Request).
#[derive(Debug)]
pub(crate) enum Given {
    Value(Dynamic),
    /// Octets of a sequence, in any memory.
    Octets(Octets<'static>),
}

impl Argument for Given {
    fn write<'e>(&'e self, ty: &TypeCode, e: &mut Encoder<'e>) -> Result<(), DynamicError> {
        let octets = match self {
            Given::Value(value) => return value.encode(ty, e),
            Given::Octets(octets) => octets,
        };
        match ty.as_ref().resolved().shape() {
            Shape::Sequence { element, bound } if element.resolved().kind() == TcKind::Octet => {
                let length = octets.len();
                if let Some(bound) = bound.filter(|bound| length > *bound as usize) {
                    let bound = bound as usize;
                    return Err(e.error(ErrorKind::BoundExceeded { length, bound }).into());
                }
                Ok(octets.encode(e)?)
            }
            _ => Err(DynamicErrorKind::Expected {
                expected: ty.to_string(),
                found: "a sequence of octets",
            }
            .into()),
        }
    }
}

/// Arguments of one request, which may have to be written more than once.
struct Arguments<'r, A> {
    signature: &'r Signature,
    args: &'r [A],
    context: &'r Context,
    /// Error in an argument, stored here because the codec reports only that there was one.
    failed: RefCell<Option<Exception>>,
}

impl<'r, A: Argument> Arguments<'r, A> {
    fn new(signature: &'r Signature, args: &'r [A], context: &'r Context) -> Self {
        Arguments { signature, args, context, failed: RefCell::new(None) }
    }

    fn write(&self, e: &mut Encoder<'r>) -> CdrResult<()> {
        let at = e.position();
        let written = write_values(self.signature.inputs(), self.args, e, A::write);
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

    /// Returns the reason why the call failed: the error in an argument, if there was one.
    fn failure(&self, otherwise: Exception) -> Exception {
        self.failed.take().unwrap_or(otherwise)
    }
}

/// Writes a value for each parameter; the error names the parameter.
fn write_values<'p, 'v, 'e, A>(
    params: impl Iterator<Item = &'p Parameter>,
    values: &'v [A],
    e: &mut Encoder<'e>,
    write: impl Fn(&'v A, &TypeCode, &mut Encoder<'e>) -> Result<(), DynamicError>,
) -> Result<(), (String, DynamicError)> {
    let mut left = values.iter();
    for param in params {
        let value = left.next().ok_or_else(|| missing(&param.name))?;
        let written = write(value, &param.ty, e);
        written.map_err(|error| (param.name.clone(), error))?;
    }
    match left.len() {
        0 => Ok(()),
        surplus => {
            let wrong = DynamicErrorKind::WrongLength {
                length: values.len(),
                expected: values.len() - surplus,
            };
            Err(("arguments".to_owned(), wrong.into()))
        }
    }
}

fn missing(name: &str) -> (String, DynamicError) {
    let missing = DynamicErrorKind::MissingMember(name.to_owned());
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

/// Reads the results or the exception of a reply.
pub(crate) fn read_answer(
    signature: &Signature,
    answered: RawReply<'_>,
) -> Result<Results, Exception> {
    match answered {
        RawReply::Results(mut d) => {
            let returns = Dynamic::decode(&signature.returns, &mut d)
                .map_err(|error| Exception::result("return value", error))?;
            let out = read_values(signature.outputs(), &mut d)
                .map_err(|(of, error)| Exception::result(&of, error))?;
            Ok(Results { returns, out })
        }
        RawReply::Exception(d) => Err(read_exception(signature, d)),
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
            Ok(members) => Exception::User(UserException { ty: ty.clone(), members }),
            Err(error) => Exception::result(&id, error),
        },
    }
}

/// Reads the arguments on the server side, and the context if the operation has one.
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

/// Writes the results on the server side.
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
    let written = write_values(signature.outputs(), &results.out, e, Dynamic::encode);
    written.map_err(|(_, error)| error.to_cdr(at))
}
