use core::fmt;

use super::{Decimal, DecimalError};
use crate::{Decode, Decoder, Encode, Encoder, Result, TypeCode, Typed};

/// Value of IDL `fixed<D, S>`: a [`Decimal`] that is known to fit.
///
/// ```
/// use oxorb_cdr::{Decimal, DecimalError, FixedPoint};
///
/// type Price = FixedPoint<6, 2>;
///
/// let price = Price::new("19.9".parse()?)?;
/// assert_eq!(price.to_string(), "19.90");
/// assert_eq!(Price::new("19.999".parse()?), Err(DecimalError::Inexact));
/// assert_eq!(Price::new("10000".parse()?), Err(DecimalError::Overflow));
/// # Ok::<(), DecimalError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixedPoint<const D: u16, const S: u8>(Decimal);

impl<const D: u16, const S: u8> FixedPoint<D, S> {
    const VALID: () = assert!(D >= 1 && D <= 31 && S as u16 <= D, "a fixed has 1 to 31 digits");

    /// Creates the value, if the number fits without losing digits; otherwise
    /// [round](Decimal::rounded) the number first.
    pub fn new(number: Decimal) -> Result<Self, DecimalError> {
        const { Self::VALID };
        number.fit(D, S).map(Self)
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> Decimal {
        self.0
    }
}

impl<const D: u16, const S: u8> Default for FixedPoint<D, S> {
    fn default() -> Self {
        const { Self::VALID };
        Self(Decimal { unscaled: 0, scale: S })
    }
}

impl<const D: u16, const S: u8> TryFrom<Decimal> for FixedPoint<D, S> {
    type Error = DecimalError;

    fn try_from(number: Decimal) -> Result<Self, DecimalError> {
        Self::new(number)
    }
}

impl<const D: u16, const S: u8> From<FixedPoint<D, S>> for Decimal {
    fn from(number: FixedPoint<D, S>) -> Self {
        number.0
    }
}

impl<const D: u16, const S: u8> fmt::Display for FixedPoint<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const D: u16, const S: u8> fmt::Debug for FixedPoint<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const D: u16, const S: u8> Typed for FixedPoint<D, S> {
    fn type_code() -> TypeCode {
        TypeCode::fixed(D, S.into())
    }
}

impl<const D: u16, const S: u8> Encode for FixedPoint<D, S> {
    const MAX_SIZE: Option<usize> = Some(D as usize / 2 + 1);

    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        e.decimal(self.0, D, S)
    }
}

impl<'de, const D: u16, const S: u8> Decode<'de> for FixedPoint<D, S> {
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        d.decimal(D, S).map(Self)
    }
}
