//! Reason why an operation of a naming context failed.

use oxorb::{CompletionStatus, SystemException, minor};

use crate::cos_naming::NameComponent;
use crate::cos_naming::naming_context::{
    AlreadyBound, BindError, CannotProceed, DestroyError, InvalidName, NotEmpty, NotFound,
    NotFoundReason, RebindError,
};
use crate::cos_naming::naming_context_ext::{ResolveStrError, ToStringError, ToUrlError};
use crate::text;

/// Reason why an operation of a naming context failed: the exceptions of all `CosNaming` operations as one type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// A component is not bound, or is bound to an object where a context is required, or the other way round;
    /// `rest_of_name` begins with this component.
    NotFound(NotFound),
    /// The service cannot resolve the name beyond a context that it cannot reach; the caller may be able to reach that
    /// context.
    CannotProceed(CannotProceed),
    /// The name has no components, or its text is malformed.
    InvalidName,
    /// The name is already bound.
    AlreadyBound,
    /// The context has bindings.
    NotEmpty,
    /// System exception of the call.
    System(SystemException),
}

impl Problem {
    pub(crate) fn not_found(why: NotFoundReason, rest: &[NameComponent]) -> Problem {
        Problem::NotFound(NotFound { why, rest_of_name: rest.to_vec() })
    }
}

impl From<SystemException> for Problem {
    fn from(exception: SystemException) -> Self {
        Problem::System(exception)
    }
}

/// UNKNOWN exception that replaces a peer's user exception if the operation does not declare it.
const UNDECLARED: SystemException =
    SystemException::unknown(minor::unknown::UNLISTED_USER_EXCEPTION, CompletionStatus::Yes);

/// Conversions in both directions between [`Problem`] and the exceptions of an operation.
macro_rules! raises {
    ($($operation:ident: $($exception:ident)*;)*) => {$(
        impl From<Problem> for $operation {
            fn from(problem: Problem) -> Self {
                match problem {
                    Problem::System(exception) => $operation::System(exception),
                    $(raises!(@pattern $exception problem) => raises!(@raise $exception $operation problem),)*
                    #[allow(unreachable_patterns, reason = "some operations declare all")]
                    _ => $operation::System(UNDECLARED),
                }
            }
        }

        impl From<$operation> for Problem {
            fn from(error: $operation) -> Self {
                match error {
                    $operation::System(exception) => Problem::System(exception),
                    $($operation::$exception(_problem) => raises!(@problem $exception _problem),)*
                }
            }
        }
    )*};
    (@pattern NotFound $it:ident) => { Problem::NotFound($it) };
    (@pattern CannotProceed $it:ident) => { Problem::CannotProceed($it) };
    (@pattern InvalidName $it:ident) => { Problem::InvalidName };
    (@pattern AlreadyBound $it:ident) => { Problem::AlreadyBound };
    (@pattern NotEmpty $it:ident) => { Problem::NotEmpty };
    (@raise NotFound $operation:ident $it:ident) => {
        $operation::NotFound(NotFound { rest_of_name: text::outgoing($it.rest_of_name), ..$it })
    };
    (@raise CannotProceed $operation:ident $it:ident) => {
        $operation::CannotProceed(CannotProceed {
            rest_of_name: text::outgoing($it.rest_of_name),
            ..$it
        })
    };
    (@raise InvalidName $operation:ident $it:ident) => { $operation::InvalidName(InvalidName {}) };
    (@raise AlreadyBound $operation:ident $it:ident) => { $operation::AlreadyBound(AlreadyBound {}) };
    (@raise NotEmpty $operation:ident $it:ident) => { $operation::NotEmpty(NotEmpty {}) };
    (@problem NotFound $it:ident) => { Problem::NotFound($it) };
    (@problem CannotProceed $it:ident) => { Problem::CannotProceed($it) };
    (@problem InvalidName $it:ident) => { Problem::InvalidName };
    (@problem AlreadyBound $it:ident) => { Problem::AlreadyBound };
    (@problem NotEmpty $it:ident) => { Problem::NotEmpty };
}

// The IDL compiler gives operations of one interface that raise the same exceptions one error type, named after the
// first of these operations.
raises! {
    BindError: NotFound CannotProceed InvalidName AlreadyBound;
    RebindError: NotFound CannotProceed InvalidName;
    ResolveStrError: NotFound CannotProceed InvalidName;
    DestroyError: NotEmpty;
    ToStringError: InvalidName;
}

impl From<Problem> for ToUrlError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::InvalidName => ToUrlError::InvalidName(InvalidName {}),
            Problem::System(exception) => ToUrlError::System(exception),
            _ => ToUrlError::System(UNDECLARED),
        }
    }
}
