//! Fixed-point types.

use crate::diagnostic::{Code, Problem};

#[derive(Debug)]
pub(crate) enum Fixed {
    Digits {
        value: i128,
    },
    Scale {
        value: i128,
        digits: i128,
    },
    /// `fixed` without digits and scale, which only constants may have.
    NoShape,
    /// `const fixed<5, 2>`.
    ShapeOfConstant,
}

impl Problem for Fixed {
    fn code(&self) -> Code {
        Code(match self {
            Fixed::Digits { .. } => "E0511",
            Fixed::Scale { .. } => "E0512",
            Fixed::NoShape => "E0513",
            Fixed::ShapeOfConstant => "E0514",
        })
    }

    fn message(&self) -> String {
        match self {
            Fixed::Digits { value } => format!("a fixed-point type cannot have {value} digits"),
            Fixed::Scale { value, digits } => {
                format!("{value} of {digits} digits cannot be after the point")
            }
            Fixed::NoShape => "this fixed-point type does not state its digits".into(),
            Fixed::ShapeOfConstant => "the digits of a constant follow from its value".into(),
        }
    }

    fn label(&self) -> String {
        match self {
            Fixed::Digits { .. } => "must be from 1 to 31".into(),
            Fixed::Scale { digits, .. } => format!("must be from 0 to {digits}"),
            Fixed::NoShape => "only constants can have the type `fixed` without digits".into(),
            Fixed::ShapeOfConstant => "must be `fixed` without digits".into(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Fixed::NoShape => Some("write `fixed<digits, digits after the point>`".into()),
            Fixed::ShapeOfConstant => {
                Some("write `const fixed`, or define a named type first".into())
            }
            _ => None,
        }
    }
}
