//! Bit bounds, positions, values, bitmasks and bitsets.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum BitProblem {
    /// `@bit_bound` of an enum or bitmask.
    Bound {
        found: String,
        most: i128,
    },
    /// `@position` of a flag.
    Position {
        found: String,
        bound: i128,
    },
    PositionTwice {
        position: i128,
        at: Span,
    },
    /// `@value` of an enumerator.
    Value {
        found: String,
        most: i128,
    },
    ValueTwice {
        value: i128,
        at: Span,
    },
    /// Size of a bitfield.
    Width {
        found: String,
    },
    Total {
        bits: u32,
    },
    FieldType {
        found: String,
    },
    TooWideForType {
        bits: i128,
        ty: &'static str,
    },
    SecondBase,
    TwoDefaults {
        at: Span,
    },
}

impl Problem for BitProblem {
    fn code(&self) -> Code {
        Code(match self {
            BitProblem::Bound { .. } => "E0670",
            BitProblem::Position { .. } => "E0671",
            BitProblem::PositionTwice { .. } => "E0672",
            BitProblem::Value { .. } => "E0673",
            BitProblem::ValueTwice { .. } => "E0674",
            BitProblem::Width { .. } => "E0675",
            BitProblem::Total { .. } => "E0676",
            BitProblem::FieldType { .. } => "E0677",
            BitProblem::TooWideForType { .. } => "E0678",
            BitProblem::SecondBase => "E0679",
            BitProblem::TwoDefaults { .. } => "E0669",
        })
    }

    fn message(&self) -> String {
        match self {
            BitProblem::Bound { found, .. } => format!("a bit bound cannot be {found}"),
            BitProblem::Position { found, .. } => format!("a flag cannot be at bit {found}"),
            BitProblem::PositionTwice { position, .. } => {
                format!("two flags are at bit {position}")
            }
            BitProblem::Value { found, .. } => {
                format!("an enumerator cannot have the value {found}")
            }
            BitProblem::ValueTwice { value, .. } => {
                format!("two enumerators have the value {value}")
            }
            BitProblem::Width { found } => format!("a bitfield cannot have {found} bits"),
            BitProblem::Total { bits } => format!("a bitset cannot have {bits} bits"),
            BitProblem::FieldType { found } => format!("{found} cannot be the type of a bitfield"),
            BitProblem::TooWideForType { bits, ty } => {
                format!("{bits} bits do not fit into `{ty}`")
            }
            BitProblem::SecondBase => "a bitset can have at most one base".into(),
            BitProblem::TwoDefaults { .. } => {
                "an enum can have at most one `@default_literal`".into()
            }
        }
    }

    fn label(&self) -> String {
        match self {
            BitProblem::Bound { most, .. } => format!("must be from 1 to {most}"),
            BitProblem::Position { bound, .. } => format!("must be from 0 to {}", bound - 1),
            BitProblem::Value { most, .. } => format!("must be from 0 to {most}"),
            BitProblem::Width { .. } => "must be from 1 to 64".into(),
            BitProblem::Total { .. } => "at most 64, including those of bases".into(),
            BitProblem::FieldType { .. } => "must be an integer type, `octet` or `boolean`".into(),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            BitProblem::PositionTwice { at, .. }
            | BitProblem::ValueTwice { at, .. }
            | BitProblem::TwoDefaults { at } => vec![(*at, "the first one".into())],
            _ => Vec::new(),
        }
    }
}
