use std::fmt;

/// Why something in an IDL file has no type code or signature.
#[derive(Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// The name is not declared.
    Unknown(String),
    /// The name does not stand for a type.
    NotAType(String),
    /// The name does not stand for an interface.
    NotAnInterface(String),
    /// The definition is declared but not defined in the files given.
    Undefined(String),
    /// CORBA has no type code for it, because its octets depend on more than its type: the name, and what it is.
    NoTypeCode(String, &'static str),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "there is no {name} in the IDL"),
            Self::NotAType(name) => write!(f, "{name} is no type"),
            Self::NotAnInterface(name) => write!(f, "{name} is no interface"),
            Self::Undefined(name) => {
                write!(f, "{name} is declared but not defined in the IDL given")
            }
            Self::NoTypeCode(name, what) => {
                write!(f, "{name}: {what} cannot be sent without stubs")
            }
        }
    }
}

impl fmt::Debug for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Unsupported {}
