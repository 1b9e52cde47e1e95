//! As much of the naming service's protocol as `corbaname:` needs.

use oxorb_cdr::{Decoder, Result as CdrResult};
use oxorb_giop::SystemException;

use crate::op::{Op, UserException};
use crate::{Interface, ObjectRef, decode_ref};

/// `NamingContextExt::resolve_str`.
pub(crate) fn resolve_str(context: &ObjectRef, name: &str) -> Result<ObjectRef, String> {
    static OP: Op = Op::twoway("resolve_str");
    let found = Interface::as_ref(context).invoke(&OP, |e| e.string(name), decode_ref::<ObjectRef>);
    match found {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err("the name is bound to a nil reference".to_owned()),
        Err(NamingError::NotFound) => Err("there is no such name (NotFound)".to_owned()),
        Err(NamingError::CannotProceed) => {
            Err("the service cannot follow the name (CannotProceed)".to_owned())
        }
        Err(NamingError::InvalidName) => Err("the name is malformed (InvalidName)".to_owned()),
        Err(NamingError::System(exception)) => {
            match crate::last_failure().filter(|failure| failure.exception == exception) {
                Some(failure) => Err(failure.to_string()),
                None => Err(exception.to_string()),
            }
        }
    }
}

enum NamingError {
    NotFound,
    CannotProceed,
    InvalidName,
    System(SystemException),
}

impl From<SystemException> for NamingError {
    fn from(exception: SystemException) -> Self {
        NamingError::System(exception)
    }
}

impl UserException for NamingError {
    fn read(id: &str, _: &mut Decoder<'_>) -> Option<CdrResult<Self>> {
        match id {
            "IDL:omg.org/CosNaming/NamingContext/NotFound:1.0" => Some(Ok(NamingError::NotFound)),
            "IDL:omg.org/CosNaming/NamingContext/CannotProceed:1.0" => {
                Some(Ok(NamingError::CannotProceed))
            }
            "IDL:omg.org/CosNaming/NamingContext/InvalidName:1.0" => {
                Some(Ok(NamingError::InvalidName))
            }
            _ => None,
        }
    }
}
