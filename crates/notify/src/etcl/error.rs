//! Errors of parsing, and reasons why an event does not match.

use std::fmt;

/// Syntax error of a constraint, with position and reason.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Position of the error, in octets.
    pub at: usize,
    /// Text at this position, shortened; empty at the end of the constraint.
    pub near: String,
    /// Reason for the error.
    pub reason: Reason,
}

/// Syntax error of a constraint, or operand that can never be accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// An element of the grammar is missing.
    Expected {
        /// Missing element.
        wanted: &'static str,
        /// Hint for the author of the constraint; may be empty.
        hint: &'static str,
    },
    /// A character that cannot begin a token.
    UnknownCharacter(char),
    /// A string has no closing quote.
    OpenString,
    /// A number that exceeds 64 bits, or the range of a position.
    NumberTooLarge,
    /// A preference of the Trading Service (`min`, `max`, `with`, `first`, `random`).
    Preference,
    /// A component (`$`), which the language of the Trading Service does not have.
    ComponentInTcl,
    /// An operand of a kind that the operator never accepts.
    Operand {
        /// Operator.
        operator: &'static str,
        /// Kind of operand that the operator accepts.
        wanted: &'static str,
        /// Kind of the operand.
        found: &'static str,
    },
    /// A division by the literal zero.
    DivisionByZero,
    /// A constraint whose result is not a boolean.
    NotBoolean(&'static str),
    /// The constraint is longer than [`ConstraintLimits::length`](crate::etcl::ConstraintLimits::length).
    TooLong {
        /// The limit, in octets.
        limit: usize,
    },
    /// The constraint is nested more deeply than [`ConstraintLimits::depth`](crate::etcl::ConstraintLimits::depth).
    TooDeep {
        /// The limit, in levels.
        limit: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected { wanted, .. } => write!(f, "expected {wanted}"),
            Self::UnknownCharacter(found) => write!(f, "{found:?} is not a part of the language"),
            Self::OpenString => f.write_str("the string has no closing quote: write \\' for a quote within it"),
            Self::NumberTooLarge => f.write_str("the number is too large: numbers have 64 bits, positions 32"),
            Self::Preference => f.write_str(
                "min, max, with, first and random order a trader's offers and are not constraints: remove the word, or \
                 write \\ before it if it is a name",
            ),
            Self::ComponentInTcl => f.write_str(
                "the trader constraint language has no components: use the grammar EXTENDED_TCL, or name a property",
            ),
            Self::Operand { operator, wanted, found } => {
                write!(f, "{operator} needs {wanted}, not {found}")
            }
            Self::DivisionByZero => f.write_str("a division by zero is never matched"),
            Self::NotBoolean(found) => {
                write!(f, "the result is {found}, not a boolean: compare it with a value")
            }
            Self::TooLong { limit } => {
                write!(f, "the constraint is too long: the limit `length` is {limit} octets")
            }
            Self::TooDeep { limit } => {
                write!(f, "the constraint is nested too deeply: the limit `depth` is {limit} levels")
            }
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, near, reason } = self;
        match near.is_empty() {
            true => write!(f, "constraint, at octet {at} (the end): {reason}")?,
            false => write!(f, "constraint, at octet {at} ({near:?}): {reason}")?,
        }
        let Reason::Expected { hint, .. } = reason else {
            return Ok(());
        };
        match near.is_empty() {
            true => f.write_str(", found the end")?,
            false => write!(f, ", found {near:?}")?,
        }
        match hint.is_empty() {
            true => Ok(()),
            false => write!(f, ": {hint}"),
        }
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ParseError {}

/// Reason why a constraint cannot be evaluated for an event, which therefore does not match.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The event has no such member, property, element or variable.
    #[error("the event has no such member, property, element or variable")]
    Missing,
    /// A simple value (number, string or boolean) is needed, but the part is a struct, union or sequence.
    #[error("a struct, union or sequence is used where a simple value is needed")]
    NotSimple,
    /// A sequence or array is needed, but the part is of another kind.
    #[error("a value that is not a sequence or array is used where one is needed")]
    NoSequence,
    /// A union is needed, but the part is of another kind.
    #[error("a value that is not a union is used where one is needed")]
    NoUnion,
    /// The operands cannot be compared or combined with each other.
    #[error("operands of these kinds cannot be compared or computed with each other")]
    Kinds,
    /// The divisor is zero.
    #[error("a division by zero")]
    DivisionByZero,
    /// The result exceeds the range of numbers.
    #[error("a number beyond the range of numbers")]
    Overflow,
    /// The result of the constraint is not a boolean.
    #[error("the result is not a boolean")]
    NotBoolean,
    /// The event has two properties with the same name. TAO refuses such events.
    #[error("two properties of the event have the same name")]
    Duplicate,
    /// The evaluation needs more steps than [`ConstraintLimits::work`](crate::etcl::ConstraintLimits::work).
    #[error(
        "the event is too large for the constraint: raise the limit `work`, or shorten the constraint"
    )]
    TooMuchWork,
    /// The octets of the event do not match its type.
    #[error("the event's octets do not match its type: {0}")]
    Malformed(oxorb_cdr::Error),
}

impl fmt::Debug for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<oxorb_cdr::Error> for Mismatch {
    fn from(error: oxorb_cdr::Error) -> Self {
        Self::Malformed(error)
    }
}
