//! Equality of values.

use oxorb_cdr::{Dynamic, Field, ValueKey};

/// Reports whether two values of equivalent types are equal. Names are ignored, as compact types
/// have none; NaNs are equal.
pub(super) fn same(left: &Dynamic, right: &Dynamic) -> bool {
    Same::default().values(left, right)
}

/// Pairs of corresponding valuetypes found so far.
#[derive(Default)]
struct Same(Vec<(ValueKey, ValueKey)>);

impl Same {
    fn values(&mut self, left: &Dynamic, right: &Dynamic) -> bool {
        match (left, right) {
            (Dynamic::Struct(left), Dynamic::Struct(right)) => self.fields(left, right),
            (Dynamic::Value(left), Dynamic::Value(right)) => {
                self.0.push((left.key.clone(), right.key.clone()));
                left.ty.equivalent(&right.ty) && self.fields(&left.fields, &right.fields)
            }
            (Dynamic::Indirection(left), Dynamic::Indirection(right)) => {
                let mut known = self.0.iter();
                known.any(|(one, other)| one == left && other == right)
            }
            (Dynamic::Union(left), Dynamic::Union(right)) => {
                self.values(&left.discriminator, &right.discriminator)
                    && match (&left.member, &right.member) {
                        (Some(left), Some(right)) => self.values(&left.value, &right.value),
                        (left, right) => left.is_none() && right.is_none(),
                    }
            }
            (Dynamic::Enum { ordinal: left, .. }, Dynamic::Enum { ordinal: right, .. }) => {
                left == right
            }
            (Dynamic::Sequence(left), Dynamic::Sequence(right))
            | (Dynamic::Array(left), Dynamic::Array(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.values(left, right))
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

    fn fields(&mut self, left: &[Field], right: &[Field]) -> bool {
        left.len() == right.len()
            && left.iter().zip(right).all(|(left, right)| self.values(&left.value, &right.value))
    }
}
