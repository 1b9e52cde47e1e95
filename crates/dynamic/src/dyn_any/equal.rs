//! When two values are the same.

use oxorb_cdr::Dynamic;

/// Whether two values of equivalent types are the same. Names do not count, as compact types have none; numbers that
/// are none (NaN) are the same.
pub(super) fn same(left: &Dynamic, right: &Dynamic) -> bool {
    match (left, right) {
        (Dynamic::Struct(left), Dynamic::Struct(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(&left.value, &right.value))
        }
        (Dynamic::Union(left), Dynamic::Union(right)) => {
            same(&left.discriminator, &right.discriminator)
                && match (&left.member, &right.member) {
                    (Some(left), Some(right)) => same(&left.value, &right.value),
                    (left, right) => left.is_none() && right.is_none(),
                }
        }
        (Dynamic::Enum { ordinal: left, .. }, Dynamic::Enum { ordinal: right, .. }) => {
            left == right
        }
        (Dynamic::Sequence(left), Dynamic::Sequence(right))
        | (Dynamic::Array(left), Dynamic::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Dynamic::Float(left), Dynamic::Float(right)) => {
            left == right || left.is_nan() && right.is_nan()
        }
        (Dynamic::Double(left), Dynamic::Double(right)) => {
            left == right || left.is_nan() && right.is_nan()
        }
        (Dynamic::Any(left), Dynamic::Any(right)) => {
            left.type_code().equivalent(right.type_code())
                && match (left.dynamic(), right.dynamic()) {
                    (Ok(left), Ok(right)) => same(&left, &right),
                    _ => false,
                }
        }
        (left, right) => left == right,
    }
}
