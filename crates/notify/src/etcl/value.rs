//! Simple values.

use std::borrow::Cow;

/// Operand of an operator.
#[derive(Clone, Debug)]
pub(crate) enum Value<'e> {
    Boolean(bool),
    /// Integer of any size and sign: all integers of IDL, and octets.
    Integer(i128),
    /// Floating point number, including `float`, `long double` and `fixed`, rounded to a double.
    Double(f64),
    Text(Cow<'e, str>),
    Char(char),
    /// An enumerator, by its number and its name.
    Enumerator(u32, &'e str),
}

/// Kind of a value that is known when a constraint is parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Type that only the event determines.
    Unknown,
    Boolean,
    Number,
    Text,
}

impl Kind {
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Unknown => "a value of an event",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "a string",
        }
    }
}

impl Value<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Boolean(_) => Kind::Boolean,
            Self::Integer(_) | Self::Double(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
            Self::Char(_) | Self::Enumerator(..) => Kind::Unknown,
        }
    }

    /// Returns the label of a union's discriminant: a boolean as 0 or 1, a character's code point, an
    /// enumerator's number.
    pub(crate) fn label(&self) -> Option<i128> {
        match *self {
            Self::Boolean(value) => Some(value.into()),
            Self::Integer(value) => Some(value),
            Self::Char(value) => Some(u32::from(value).into()),
            Self::Enumerator(ordinal, _) => Some(ordinal.into()),
            Self::Double(_) | Self::Text(_) => None,
        }
    }

    /// Calls `use_text` with the value as a string, if it can be one.
    pub(crate) fn with_text<R>(&self, use_text: impl FnOnce(&str) -> R) -> Option<R> {
        match self {
            Self::Text(text) => Some(use_text(text)),
            Self::Char(char) => Some(use_text(char.encode_utf8(&mut [0; 4]))),
            Self::Enumerator(_, name) => Some(use_text(name)),
            _ => None,
        }
    }
}
