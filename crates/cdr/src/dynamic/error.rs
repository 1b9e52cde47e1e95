use crate::prelude::*;
use core::fmt;

use crate::{Error, ErrorKind, Printable, TypeRef};

/// Reason why a value could not be read or written as a type, and the part of it that failed.
#[derive(Clone, PartialEq, Eq)]
pub struct DynamicError {
    /// Path to the part, as in `points[3].x`; empty for the whole value.
    pub path: String,
    /// Error in the part.
    pub reason: DynamicErrorKind,
}

/// Error in a part of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DynamicErrorKind {
    /// The part cannot be encoded, or octets cannot be decoded.
    Cdr(Error),
    /// The part does not have the declared type.
    Expected {
        /// Declared type, as in IDL.
        expected: String,
        /// Kind of value found.
        found: &'static str,
    },
    /// A struct lacks this member.
    MissingMember(String),
    /// A type has no member or enumerator of this name.
    UnknownMember(String),
    /// The length of an array differs from that of its type.
    WrongLength {
        /// Number of elements found.
        length: usize,
        /// Number of elements expected.
        expected: usize,
    },
    /// A union contains another member than its discriminant selects.
    WrongMember {
        /// Selected member, if there is one.
        expected: Option<String>,
        /// Actual member, if there is one.
        found: Option<String>,
    },
    /// An indirection has a key that no earlier value has.
    NoSuchValue,
    /// The value would become unreasonably large.
    TooLarge,
}

impl DynamicError {
    pub(crate) fn expected(expected: TypeRef<'_>, found: &'static str) -> Self {
        DynamicErrorKind::Expected { expected: expected.mention().to_string(), found }.into()
    }

    /// Prefixes the path with a member name.
    #[cold]
    pub(crate) fn in_member(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    /// Prefixes the path with an element index.
    #[cold]
    pub(crate) fn in_element(mut self, at: usize) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("[{at}]{dot}{}", self.path);
        self
    }

    /// Returns the corresponding codec error, which has no path.
    pub fn to_cdr(&self, at: usize) -> Error {
        match self.reason {
            DynamicErrorKind::Cdr(error) => error,
            _ => ErrorKind::BadValue.at(at),
        }
    }
}

impl From<DynamicErrorKind> for DynamicError {
    fn from(reason: DynamicErrorKind) -> Self {
        Self { path: String::new(), reason }
    }
}

impl From<Error> for DynamicError {
    #[cold]
    fn from(error: Error) -> Self {
        DynamicErrorKind::Cdr(error).into()
    }
}

impl fmt::Display for DynamicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", Printable(&self.path))?;
        }
        self.reason.fmt(f)
    }
}

impl fmt::Display for DynamicErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let member = |member: &Option<String>| match member {
            Some(name) => format!("member {}", Printable(name)),
            None => "no member".to_owned(),
        };
        match self {
            Self::Cdr(error) => error.fmt(f),
            Self::Expected { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::MissingMember(name) => write!(f, "member {} is missing", Printable(name)),
            Self::UnknownMember(name) => write!(f, "there is no {} in its type", Printable(name)),
            Self::WrongLength { length, expected } => {
                write!(f, "there are {length} elements, not {expected}")
            }
            Self::WrongMember { expected, found } => write!(
                f,
                "the discriminant selects {}, but there is {}",
                member(expected),
                member(found)
            ),
            Self::NoSuchValue => f.write_str("it refers to a value that does not precede it"),
            Self::TooLarge => f.write_str("the value would be too large"),
        }
    }
}

impl fmt::Debug for DynamicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for DynamicError {}
