//! Evaluation of constant expressions, independent of scopes and models: the caller resolves names.
//!
//! Integers are computed in 128 bits and checked against their type at the end, so an intermediate result may leave the
//! range of the type.

mod decimal;
mod fit;
mod quadruple;
mod real;

pub(crate) use decimal::Decimal;
pub(crate) use fit::{fit, integer_range};
pub use quadruple::Quadruple;
pub use real::Real;

use crate::ast::{Binary, Expr, ExprKind, ScopedName, Unary};
use crate::check::constant::Constant;
use crate::model::{Basic, DefId};
use crate::source::Span;
use std::sync::Arc;

/// Value before it is checked against a type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Raw {
    Integer(i128),
    Float(Real),
    Boolean(bool),
    Char(char),
    WChar(char),
    Str(Arc<str>),
    WStr(Arc<str>),
    Enumerator(DefId, u32),
    Fixed(Decimal),
}

impl Raw {
    /// Describes the value: "an integer", "a string" ...
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Raw::Integer(_) => "an integer",
            Raw::Float(_) => "a floating-point number",
            Raw::Boolean(_) => "a boolean",
            Raw::Char(_) => "a character",
            Raw::WChar(_) => "a wide character",
            Raw::Str(_) => "a string",
            Raw::WStr(_) => "a wide string",
            Raw::Enumerator(..) => "an enumerator",
            Raw::Fixed(_) => "a fixed-point number",
        }
    }
}

/// Name resolution for the evaluator.
pub(crate) trait World {
    /// Returns the value of a name; `None` if an error was reported.
    fn value_of(&mut self, name: &ScopedName) -> Option<Raw>;
    fn wrong(&mut self, span: Span, problem: Constant);
}

/// Returns the value of an expression; `None` if an error was reported. `target` is the integer type of the result,
/// which decides the value of `~`.
pub(crate) fn evaluate(expr: &Expr, target: Option<Basic>, world: &mut dyn World) -> Option<Raw> {
    match &expr.kind {
        ExprKind::Integer(value) => Some(Raw::Integer(*value)),
        ExprKind::Float(value) => Some(Raw::Float(*value)),
        ExprKind::Boolean(value) => Some(Raw::Boolean(*value)),
        ExprKind::Char(value) => Some(Raw::Char(*value)),
        ExprKind::WChar(value) => Some(Raw::WChar(*value)),
        ExprKind::Str(value) => Some(Raw::Str(Arc::clone(value))),
        ExprKind::WStr(value) => Some(Raw::WStr(Arc::clone(value))),
        ExprKind::Fixed(digits) => Some(Raw::Fixed(Decimal::literal(digits))),
        ExprKind::Name(name) => world.value_of(name),
        ExprKind::Unary(operator, operand) => {
            let value = evaluate(operand, target, world)?;
            match unary(*operator, &value, target) {
                Ok(value) => Some(value),
                Err(problem) => {
                    world.wrong(operand.span, problem);
                    None
                }
            }
        }
        ExprKind::Chain(first, rest) => {
            // Evaluates every operand, even if an earlier one is wrong, so that all errors are reported.
            let mut left = evaluate(first, target, world);
            let mut left_span = first.span;
            for (operator, right) in rest {
                let value = evaluate(right, target, world);
                left = match (left, value) {
                    (Some(a), Some(b)) => match binary(*operator, &a, left_span, &b, right.span) {
                        Ok(value) => Some(value),
                        Err((span, problem)) => {
                            world.wrong(span, problem);
                            None
                        }
                    },
                    _ => None,
                };
                left_span = left_span.to(right.span);
            }
            left
        }
    }
}

fn unary(operator: Unary, value: &Raw, target: Option<Basic>) -> Result<Raw, Constant> {
    let text = match operator {
        Unary::Minus => "-",
        Unary::Plus => "+",
        Unary::Not => "~",
    };
    match (operator, value) {
        (Unary::Plus, Raw::Integer(_) | Raw::Float(_) | Raw::Fixed(_)) => Ok(value.clone()),
        (Unary::Minus, Raw::Integer(value)) => {
            value.checked_neg().map(Raw::Integer).ok_or_else(too_large)
        }
        (Unary::Minus, Raw::Float(value)) => Ok(Raw::Float(value.negated())),
        (Unary::Minus, Raw::Fixed(value)) => Ok(Raw::Fixed(value.clone().negated())),
        (Unary::Not, Raw::Integer(value)) => Ok(Raw::Integer(complement(*value, target))),
        _ => Err(Constant::Operand { operator: text, found: value.what().into() }),
    }
}

/// Inverts all bits of the target type.
fn complement(value: i128, target: Option<Basic>) -> i128 {
    match target.and_then(integer_range) {
        Some((0, max)) if (0..=max).contains(&value) => max - value,
        _ => !value,
    }
}

fn binary(
    operator: Binary,
    left: &Raw,
    left_span: Span,
    right: &Raw,
    right_span: Span,
) -> Result<Raw, (Span, Constant)> {
    match (left, right) {
        (Raw::Integer(a), Raw::Integer(b)) => {
            integer(operator, *a, *b).map(Raw::Integer).map_err(|problem| match problem {
                Constant::OutOfRange { .. } => (left_span.to(right_span), problem),
                _ => (right_span, problem),
            })
        }
        (Raw::Float(a), Raw::Float(b)) => {
            float(operator, *a, *b).map(Raw::Float).map_err(|problem| (right_span, problem))
        }
        (Raw::Fixed(a), Raw::Fixed(b)) => {
            fixed(operator, a, b).map(Raw::Fixed).map_err(|problem| (right_span, problem))
        }
        (Raw::Integer(_), Raw::Float(_)) => {
            Err((right_span, Constant::Mixed { integer: left_span }))
        }
        (Raw::Float(_), Raw::Integer(_)) => {
            Err((left_span, Constant::Mixed { integer: right_span }))
        }
        _ => {
            let (span, odd) = match left {
                Raw::Integer(_) | Raw::Float(_) | Raw::Fixed(_) => (right_span, right),
                _ => (left_span, left),
            };
            let problem =
                Constant::Operand { operator: operator.as_str(), found: odd.what().into() };
            Err((span, problem))
        }
    }
}

fn integer(operator: Binary, a: i128, b: i128) -> Result<i128, Constant> {
    let result = match operator {
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::And => Some(a & b),
        Binary::ShiftLeft => a.checked_mul(1i128 << shift(b)?),
        Binary::ShiftRight => Some(a >> shift(b)?),
        Binary::Add => a.checked_add(b),
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        Binary::Divide | Binary::Remainder if b == 0 => return Err(Constant::DivisionByZero),
        Binary::Divide => a.checked_div(b),
        Binary::Remainder => a.checked_rem(b),
    };
    result.ok_or_else(too_large)
}

/// Returns the error for a result of more than 128 bits.
fn too_large() -> Constant {
    Constant::OutOfRange { value: "the result".into(), ty: "any integer type".into(), range: None }
}

fn shift(count: i128) -> Result<u32, Constant> {
    match u32::try_from(count) {
        Ok(count @ 0..=63) => Ok(count),
        _ => Err(Constant::Shift { count }),
    }
}

fn float(operator: Binary, a: Real, b: Real) -> Result<Real, Constant> {
    match operator {
        Binary::Add => Ok(a.plus(b)),
        Binary::Subtract => Ok(a.plus(b.negated())),
        Binary::Multiply => Ok(a.times(b)),
        Binary::Divide if b.long.is_zero() => Err(Constant::DivisionByZero),
        Binary::Divide => Ok(a.over(b)),
        _ => Err(Constant::Operand {
            operator: operator.as_str(),
            found: "a floating-point number".into(),
        }),
    }
}

fn fixed(operator: Binary, a: &Decimal, b: &Decimal) -> Result<Decimal, Constant> {
    let result = match operator {
        Binary::Add => a.plus(b),
        Binary::Subtract => a.plus(&b.clone().negated()),
        Binary::Multiply => a.times(b),
        Binary::Divide => a.over(b).ok_or(Constant::DivisionByZero)?,
        _ => {
            return Err(Constant::Operand {
                operator: operator.as_str(),
                found: "a fixed-point number".into(),
            });
        }
    };
    match result.shape() {
        (..=31, _) => Ok(result),
        _ => Err(Constant::OutOfRange {
            value: "the result".into(),
            ty: "the 31 digits of `fixed`".into(),
            range: None,
        }),
    }
}
