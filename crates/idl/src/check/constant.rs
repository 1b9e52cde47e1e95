//! Constant expressions and their types.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum Constant {
    OutOfRange {
        value: String,
        ty: String,
        range: Option<(i128, i128)>,
    },
    /// Value of the wrong kind.
    Mismatch {
        found: String,
        wanted: String,
        help: Option<String>,
    },
    DivisionByZero,
    /// Integers and floating-point numbers in one expression.
    Mixed {
        integer: Span,
    },
    /// Operand that the operator does not accept.
    Operand {
        operator: &'static str,
        found: String,
    },
    Shift {
        count: i128,
    },
    /// Type that constants cannot have.
    Type {
        found: String,
    },
    TooLong {
        length: usize,
        bound: u32,
    },
    /// Name of something without a value where a value is needed.
    NoValue {
        name: String,
        found: &'static str,
        at: Span,
    },
}

impl Problem for Constant {
    fn code(&self) -> Code {
        Code(match self {
            Constant::OutOfRange { .. } => "E0501",
            Constant::Mismatch { .. } => "E0502",
            Constant::DivisionByZero => "E0503",
            Constant::Mixed { .. } => "E0504",
            Constant::Operand { .. } => "E0505",
            Constant::Shift { .. } => "E0506",
            Constant::Type { .. } => "E0507",
            Constant::TooLong { .. } => "E0508",
            Constant::NoValue { .. } => "E0509",
        })
    }

    fn message(&self) -> String {
        match self {
            Constant::OutOfRange { value, ty, .. } => {
                format!("{value} does not fit into {ty}")
            }
            Constant::Mismatch { found, wanted, .. } => {
                format!("expected {wanted}, found {found}")
            }
            Constant::DivisionByZero => "this divides by zero".into(),
            Constant::Mixed { .. } => {
                "integers and floating-point numbers cannot be mixed in one expression".into()
            }
            Constant::Operand { operator, found } => {
                format!("`{operator}` cannot be applied to {found}")
            }
            Constant::Shift { count } => {
                format!("cannot shift by {count}: the count must be from 0 to 63")
            }
            Constant::Type { found } => format!("a constant cannot be {found}"),
            Constant::TooLong { length, bound } => {
                format!("this string has {length} characters, but its type allows {bound}")
            }
            Constant::NoValue { name, found, .. } => {
                format!("`{name}` is {found} and has no constant value")
            }
        }
    }

    fn label(&self) -> String {
        match self {
            Constant::OutOfRange { range: Some((low, high)), .. } => {
                format!("must be from {low} to {high}")
            }
            Constant::Mixed { .. } => "floating-point".into(),
            Constant::NoValue { .. } => "expected a constant".into(),
            Constant::Type { .. } => {
                "must be a number, a character, a string, `boolean` or an enum".into()
            }
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            Constant::Mixed { integer } => vec![(*integer, "integer".into())],
            Constant::NoValue { at, .. } => vec![(*at, "declared here".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Constant::Mismatch { help, .. } => help.clone(),
            Constant::Mixed { .. } => {
                Some("write integers with a point here: `2.0` instead of `2`".into())
            }
            _ => None,
        }
    }
}
