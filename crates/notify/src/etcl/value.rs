//! Simple values in constraints.

use std::borrow::Cow;

/// A simple value, which can be an operand.
#[derive(Clone, Debug)]
pub(crate) enum Value<'e> {
    Boolean(bool),
    /// An integer. Its range includes that of all integer types of IDL.
    Integer(i128),
    /// A floating-point number. `float`, `long double` and `fixed` are converted to a double.
    Double(f64),
    Text(Cow<'e, str>),
    Char(char),
    /// An enumerator, with its number and its name.
    Enumerator(u32, &'e str),
}

/// Kind of a value, as far as it is known when a constraint is parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The kind depends on the event.
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

    /// Returns the label of a union that the value denotes as a discriminant: 0 or 1 for a boolean, the code point for
    /// a character, and the number for an enumerator.
    pub(crate) fn label(&self) -> Option<i128> {
        match *self {
            Self::Boolean(value) => Some(value.into()),
            Self::Integer(value) => Some(value),
            Self::Char(value) => Some(u32::from(value).into()),
            Self::Enumerator(ordinal, _) => Some(ordinal.into()),
            Self::Double(_) | Self::Text(_) => None,
        }
    }

    /// Calls `use_text` with the value as a string; `None` if the value cannot be a string.
    pub(crate) fn with_text<R>(&self, use_text: impl FnOnce(&str) -> R) -> Option<R> {
        match self {
            Self::Text(text) => Some(use_text(text)),
            Self::Char(char) => Some(use_text(char.encode_utf8(&mut [0; 4]))),
            Self::Enumerator(_, name) => Some(use_text(name)),
            _ => None,
        }
    }
}
