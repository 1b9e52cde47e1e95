//! Comparison and arithmetic of the constraint language.
//!
//! Numbers are integers or doubles. If one operand is a double, the other one is converted to a double. A boolean that
//! is combined with a number counts as 0 or 1. A character or an enumerator counts as a number if it is combined with a
//! number, and as a string if it is combined with a string.

use std::cmp::Ordering;

use crate::etcl::value::Value;
use crate::etcl::{Dialect, Mismatch};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
        }
    }
}

impl Comparison {
    fn holds(self, ordering: Option<Ordering>) -> bool {
        // NaN is not equal to any value, including itself.
        match self {
            Self::Equal => ordering == Some(Ordering::Equal),
            Self::NotEqual => ordering != Some(Ordering::Equal),
            Self::Less => ordering == Some(Ordering::Less),
            Self::LessOrEqual => ordering.is_some_and(Ordering::is_le),
            Self::Greater => ordering == Some(Ordering::Greater),
            Self::GreaterOrEqual => ordering.is_some_and(Ordering::is_ge),
        }
    }
}

#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Double(f64),
}

fn number(value: &Value<'_>) -> Option<Number> {
    match value {
        Value::Double(value) => Some(Number::Double(*value)),
        other => other.label().map(Number::Integer),
    }
}

fn double(number: Number) -> f64 {
    match number {
        Number::Integer(value) => value as f64,
        Number::Double(value) => value,
    }
}

/// A pair of numbers, promoted to the same type.
enum Pair {
    Integers(i128, i128),
    Doubles(f64, f64),
}

fn pair(left: Number, right: Number, dialect: Dialect) -> Pair {
    match (left, right, dialect) {
        (Number::Integer(left), Number::Integer(right), _) => Pair::Integers(left, right),
        // In TAO, integers take precedence over doubles, which lose their fraction.
        (Number::Integer(left), Number::Double(right), Dialect::Tao) => {
            Pair::Integers(left, right as i128)
        }
        (Number::Double(left), Number::Integer(right), Dialect::Tao) => {
            Pair::Integers(left as i128, right)
        }
        _ => Pair::Doubles(double(left), double(right)),
    }
}

pub(crate) fn compare(
    left: &Value<'_>,
    comparison: Comparison,
    right: &Value<'_>,
    dialect: Dialect,
) -> Result<bool, Mismatch> {
    let has_text = matches!(left, Value::Text(_)) || matches!(right, Value::Text(_));
    let both_chars = matches!((left, right), (Value::Char(_), Value::Char(_)));
    let ordering = if has_text || both_chars {
        left.with_text(|left| right.with_text(|right| left.cmp(right))).flatten().map(Some)
    } else {
        number(left).zip(number(right)).map(|(left, right)| order(left, right, dialect))
    };
    match ordering {
        Some(ordering) => Ok(comparison.holds(ordering)),
        None if dialect == Dialect::Tao => Ok(comparison == Comparison::NotEqual),
        None => Err(Mismatch::Kinds),
    }
}

fn order(left: Number, right: Number, dialect: Dialect) -> Option<Ordering> {
    match pair(left, right, dialect) {
        Pair::Integers(left, right) => Some(left.cmp(&right)),
        Pair::Doubles(left, right) => {
            match dialect == Dialect::Tao && (left - right).abs() < f64::EPSILON {
                true => Some(Ordering::Equal),
                false => left.partial_cmp(&right),
            }
        }
    }
}

pub(crate) fn compute(
    left: &Value<'_>,
    operator: Operator,
    right: &Value<'_>,
    dialect: Dialect,
) -> Result<Value<'static>, Mismatch> {
    let (left, right) = number(left).zip(number(right)).ok_or(Mismatch::Kinds)?;
    match pair(left, right, dialect) {
        Pair::Integers(left, right) => integers(left, operator, right, dialect).map(Value::Integer),
        Pair::Doubles(left, right) => doubles(left, operator, right, dialect).map(Value::Double),
    }
}

/// Computes with integers. Quotients are rounded towards zero.
fn integers(
    left: i128,
    operator: Operator,
    right: i128,
    dialect: Dialect,
) -> Result<i128, Mismatch> {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide if right == 0 => return division_by_zero(dialect).map(|()| 0),
        Operator::Divide => left.checked_div(right),
    };
    result.ok_or(Mismatch::Overflow)
}

fn doubles(left: f64, operator: Operator, right: f64, dialect: Dialect) -> Result<f64, Mismatch> {
    Ok(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide if right == 0.0 => return division_by_zero(dialect).map(|()| 0.0),
        Operator::Divide => left / right,
    })
}

/// Returns an error in the standard dialect. In TAO's dialect the result of a division by zero is 0.
fn division_by_zero(dialect: Dialect) -> Result<(), Mismatch> {
    match dialect {
        Dialect::Standard => Err(Mismatch::DivisionByZero),
        Dialect::Tao => Ok(()),
    }
}
