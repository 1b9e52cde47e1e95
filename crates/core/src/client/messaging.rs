//! Delivery of answers to a reply handler (AMI, callback model; CORBA 3.3 part 1, 17.8 and 17.9).

use std::sync::Arc;

use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encode as _, Encoder};
use oxorb_object::{CompletionStatus, SystemException};

use crate::error::{ServantError, raise};
use crate::reference::OperationError;

/// Destination of the answer to a `sendc_` call.
#[derive(Debug)]
pub enum ReplyTo<R, T: ?Sized> {
    /// The nil handler: the answer is dropped, and so is any exception.
    Nobody,
    /// An object, local or remote, called by a delivery thread ([`deliver`](crate::deliver)): a slow or unreachable
    /// handler does not delay the handlers of other servers.
    Object(R),
    /// A handler that is not a CORBA object, called by the ORB's callback thread as with
    /// [`AsyncReply::then`](crate::AsyncReply::then): a handler that blocks delays the others.
    Local(Arc<T>),
}

impl<R: Clone, T: ?Sized> Clone for ReplyTo<R, T> {
    fn clone(&self) -> Self {
        match self {
            ReplyTo::Nobody => ReplyTo::Nobody,
            ReplyTo::Object(object) => ReplyTo::Object(object.clone()),
            ReplyTo::Local(handler) => ReplyTo::Local(Arc::clone(handler)),
        }
    }
}

/// Returns the state of a `Messaging::ExceptionHolder`: whether it is a system exception, whether it is in
/// little-endian order, and the octets (repository id and members, as in a reply). Allocates. For generated code.
pub fn hold_exception<X: ServantError>(exception: &X) -> (bool, bool, Vec<u8>) {
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::GIOP_1_2);
    let system = exception.system();
    let written = match &system {
        Some(system) => system.encode(&mut e),
        None => exception.raise(&mut e),
    };
    let little = ByteOrder::NATIVE == ByteOrder::Little;
    match written {
        Ok(()) => (system.is_some(), little, e.finish().to_vec()),
        // A received exception can always be encoded, but one that a local servant raises may exceed a bound.
        Err(error) => hold_exception(&SystemException::from_cdr(error, CompletionStatus::Yes)),
    }
}

/// Returns the exception in a `Messaging::ExceptionHolder` (its `raise_exception`). For generated code.
pub fn held_exception<E: OperationError>(system: bool, little: bool, octets: &[u8]) -> E {
    let order = match little {
        true => ByteOrder::Little,
        false => ByteOrder::Big,
    };
    let mut d = Decoder::new(octets, order, Dialect::GIOP_1_2);
    let undecodable = |error| SystemException::from_cdr(error, CompletionStatus::Yes);
    if system {
        let read = <SystemException as oxorb_cdr::Decode>::decode(&mut d);
        return read.unwrap_or_else(undecodable).into();
    }
    let read = match d.string() {
        Ok(id) => E::read(&id, &mut d),
        Err(error) => Some(Err(error)),
    };
    match read {
        Some(Ok(exception)) => exception,
        Some(Err(error)) => undecodable(error).into(),
        None => raise::UNLISTED_USER_EXCEPTION.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_exception_comes_out_as_it_went_in() {
        let exception = SystemException::no_permission(7, CompletionStatus::Yes);
        let (system, little, octets) = hold_exception(&exception);
        assert!(system);
        let held: SystemException = held_exception(system, little, &octets);
        assert_eq!(held, exception);
    }

    /// Compares with octets that TAO and JacORB write, in both byte orders.
    #[test]
    fn octets_are_those_of_a_reply_body() {
        let mut octets = b"\0\0\0\x24IDL:omg.org/CORBA/NO_PERMISSION:1.0\0".to_vec();
        octets.extend([0, 0, 0, 7, 0, 0, 0, 0]);
        let held: SystemException = held_exception(true, false, &octets);
        assert_eq!(held, SystemException::no_permission(7, CompletionStatus::Yes));
        octets.truncate(20);
        let broken: SystemException = held_exception(true, false, &octets);
        assert_eq!(broken.completed, CompletionStatus::Yes);
    }
}
