//! Floating-point values whose type is not known yet.

use std::fmt;

use super::Quadruple;

/// Value as `double` and as `long double`, in both of which it is computed. The type of the constant decides which of
/// them counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Real {
    /// Value as `double`; infinite if it is too large.
    pub double: f64,
    /// Value as `long double`; infinite if it is too large.
    pub long: Quadruple,
}

impl Real {
    /// Reads a literal without sign and suffix.
    pub(crate) fn literal(text: &str) -> Real {
        // The grammar of Rust contains that of IDL.
        let double = text.parse().unwrap_or(f64::INFINITY);
        Real { double, long: Quadruple::literal(text) }
    }

    pub(crate) fn negated(self) -> Real {
        Real { double: -self.double, long: self.long.negated() }
    }

    pub(crate) fn plus(self, other: Real) -> Real {
        Real { double: self.double + other.double, long: self.long.plus(other.long) }
    }

    pub(crate) fn times(self, other: Real) -> Real {
        Real { double: self.double * other.double, long: self.long.times(other.long) }
    }

    pub(crate) fn over(self, other: Real) -> Real {
        Real { double: self.double / other.double, long: self.long.over(other.long) }
    }
}

impl From<f64> for Real {
    fn from(double: f64) -> Real {
        Real { double, long: Quadruple::from(double) }
    }
}

impl From<Quadruple> for Real {
    fn from(long: Quadruple) -> Real {
        Real { double: long.to_f64(), long }
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.double.is_finite() {
            true => write!(f, "{:?}", self.double),
            false => self.long.fmt(f),
        }
    }
}
