//! Client part of the naming service's protocol, for `corbaname:`.

use oxorb_cdr::{Decode as _, Decoder, Encoder, Result as CdrResult};
use oxorb_object::SystemException;

use crate::reference::{Op, OperationError};
use crate::{Failure, Interface, ObjectRef, decode_ref};

/// Maximum number of contexts at which resolution is continued.
const MAX_CONTEXTS: u32 = 8;

/// Calls `NamingContextExt::resolve_str`. Continues at other servers itself where the service returns CannotProceed.
pub(crate) fn resolve_str(context: &ObjectRef, name: &str) -> Result<ObjectRef, String> {
    static OP: Op = Op::twoway("resolve_str");
    let mut found = context.reference().invoke(&OP, |e| e.string(name), decode_ref::<ObjectRef>);
    for _ in 0..MAX_CONTEXTS {
        match found {
            Err(NamingError::CannotProceed(Some(context), rest)) => {
                found = resolve(&context, &rest).map_err(|error| match error {
                    NamingError::System(exception) => NamingError::Stopped(context, exception),
                    error => error,
                });
            }
            found => return found.map_err(|error| error.why()).and_then(not_nil),
        }
    }
    Err("it leads from one context to another forever (CannotProceed)".to_owned())
}

fn not_nil(found: Option<ObjectRef>) -> Result<ObjectRef, String> {
    found.ok_or_else(|| "the name is bound to a nil reference".to_owned())
}

/// Calls `NamingContext::resolve`.
fn resolve(context: &ObjectRef, name: &[Component]) -> Result<Option<ObjectRef>, NamingError> {
    static OP: Op = Op::twoway("resolve");
    let write = |e: &mut Encoder<'_>| {
        e.length(name.len(), None)?;
        for component in name {
            e.string(&component.id)?;
            e.string(&component.kind)?;
        }
        Ok(())
    };
    context.reference().invoke(&OP, write, decode_ref::<ObjectRef>)
}

/// `NameComponent`.
struct Component {
    id: String,
    kind: String,
}

enum NamingError {
    /// Reason, and the part of the name that was not found.
    NotFound(u32, Vec<Component>),
    /// Context at which the caller may continue, and the rest of the name.
    CannotProceed(Option<ObjectRef>, Vec<Component>),
    /// Context at which this client failed to continue, and the exception.
    Stopped(ObjectRef, SystemException),
    InvalidName,
    System(SystemException),
}

impl NamingError {
    fn why(self) -> String {
        match self {
            NamingError::NotFound(why, rest) => {
                let first = rest.first().map_or_else(String::new, |component| {
                    match (component.id.as_str(), component.kind.as_str()) {
                        (id, "") => id.to_owned(),
                        (id, kind) => format!("{id}.{kind}"),
                    }
                });
                match why {
                    NOT_CONTEXT => format!("{first:?} is an object, not a context (NotFound)"),
                    NOT_OBJECT => format!("{first:?} is a context, not an object (NotFound)"),
                    _ => format!("there is no {first:?} (NotFound)"),
                }
            }
            NamingError::CannotProceed(..) => {
                "the service cannot follow the name (CannotProceed)".to_owned()
            }
            NamingError::Stopped(context, exception) => {
                let at = context.to_corbaloc();
                format!(
                    "the service cannot follow the name to the context at {} (CannotProceed), and neither can this \
                     client: {}",
                    at.as_deref().unwrap_or("an unknown address"),
                    failure(exception)
                )
            }
            NamingError::InvalidName => "the name is malformed (InvalidName)".to_owned(),
            NamingError::System(exception) => failure(exception),
        }
    }
}

/// Describes the failure, with each endpoint tried if no endpoint was reached.
fn failure(exception: SystemException) -> String {
    match Failure::of(&exception) {
        Some(failure) => failure.to_string(),
        None => exception.to_string(),
    }
}

/// Enumerators of `NotFoundReason`; the other one is `missing_node`.
const NOT_CONTEXT: u32 = 1;
const NOT_OBJECT: u32 = 2;

impl From<SystemException> for NamingError {
    fn from(exception: SystemException) -> Self {
        NamingError::System(exception)
    }
}

impl OperationError for NamingError {
    fn read(id: &str, d: &mut Decoder<'_>) -> Option<CdrResult<Self>> {
        match id {
            "IDL:omg.org/CosNaming/NamingContext/NotFound:1.0" => Some(not_found(d)),
            "IDL:omg.org/CosNaming/NamingContext/CannotProceed:1.0" => Some(cannot_proceed(d)),
            "IDL:omg.org/CosNaming/NamingContext/InvalidName:1.0" => {
                Some(Ok(NamingError::InvalidName))
            }
            _ => None,
        }
    }
}

fn not_found(d: &mut Decoder<'_>) -> CdrResult<NamingError> {
    Ok(NamingError::NotFound(d.ulong()?, name(d)?))
}

fn cannot_proceed(d: &mut Decoder<'_>) -> CdrResult<NamingError> {
    Ok(NamingError::CannotProceed(decode_ref(d)?, name(d)?))
}

fn name(d: &mut Decoder<'_>) -> CdrResult<Vec<Component>> {
    /// Two empty strings.
    const MIN_SIZE: usize = 10;
    let count = d.length(None, MIN_SIZE)?;
    let components =
        (0..count).map(|_| Ok(Component { id: String::decode(d)?, kind: String::decode(d)? }));
    components.collect()
}
