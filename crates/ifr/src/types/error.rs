use std::fmt;

/// Reason why a definition of an IDL file has no type code or signature.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Name that is not declared.
    #[error("there is no {0} in the IDL")]
    Unknown(String),
    /// Name that does not stand for a type.
    #[error("{0} is not a type")]
    NotAType(String),
    /// Name that does not stand for an interface.
    #[error("{0} is not an interface")]
    NotAnInterface(String),
    /// Definition that is declared but not defined in the files given.
    #[error("{0} is declared but not defined in the given IDL")]
    Undefined(String),
    /// Definition for which CORBA has no type code, because its octets depend on more than its type: name and kind.
    #[error("{0}: {1} cannot be sent without stubs")]
    NoTypeCode(String, &'static str),
}

impl fmt::Debug for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
