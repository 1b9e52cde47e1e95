use std::fmt;

/// Reason for which a definition of an IDL file has no type code or signature.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The name is not declared.
    #[error("there is no {0} in the IDL")]
    Unknown(String),
    /// The name does not stand for a type.
    #[error("{0} is no type")]
    NotAType(String),
    /// The name does not stand for an interface.
    #[error("{0} is no interface")]
    NotAnInterface(String),
    /// The definition is declared but not defined in the files given.
    #[error("{0} is declared but not defined in the IDL given")]
    Undefined(String),
    /// CORBA has no type code for it, because its octets depend on more than its type: the name, and what it is.
    #[error("{0}: {1} cannot be sent without stubs")]
    NoTypeCode(String, &'static str),
}

impl fmt::Debug for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
