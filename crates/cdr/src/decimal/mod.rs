//! IDL `fixed`: decimal numbers of up to 31 digits.

use crate::prelude::*;
mod arithmetic;
mod bcd;
mod fixed_point;

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

pub use fixed_point::FixedPoint;

/// Maximum number of digits of an IDL `fixed`.
pub(crate) const MAX_DIGITS: u32 = 31;

/// Decimal number of an IDL `fixed`: up to 31 digits, of which `scale` are after the decimal point.
///
/// Arithmetic follows the rules of IDL constants (IDL 4.2, 7.4.1.4.3): sums and products are exact
/// if they fit into 31 significant digits, else further digits are dropped without rounding;
/// quotients have as many digits as fit. Nothing allocates.
///
/// Equal numbers are equal regardless of their scale: 1.5 is 1.50.
///
/// ```
/// use oxorb_cdr::Decimal;
///
/// let price: Decimal = "19.99".parse()?;
/// let three = Decimal::from(3);
/// assert_eq!((price * three).to_string(), "59.97");
/// assert_eq!((price / three).rounded(2)?.to_string(), "6.66");
/// assert_eq!((price / three).truncated(1)?.to_string(), "6.6");
/// assert!(price > three);
/// # Ok::<(), oxorb_cdr::DecimalError>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Decimal {
    /// Number without its decimal point; less than 10^31 in magnitude.
    unscaled: i128,
    /// Number of digits after the decimal point, at most 31.
    scale: u8,
}

/// Reason why a [`Decimal`] cannot be created.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DecimalError {
    /// The number has more digits than its type, or than any `fixed`.
    Overflow,
    /// Digits would be lost: the number has more decimal places than the type.
    Inexact,
    /// Division by zero.
    DivisionByZero,
    /// The text is not a decimal number.
    NotANumber,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { unscaled: 0, scale: 0 };

    /// Largest number, of 31 digits.
    pub const MAX: Self = Self { unscaled: 10i128.pow(MAX_DIGITS) - 1, scale: 0 };

    /// Creates the number `unscaled` divided by ten to the power of `scale`.
    ///
    /// ```
    /// use oxorb_cdr::Decimal;
    ///
    /// assert_eq!(Decimal::new(-1250, 2).unwrap().to_string(), "-12.50");
    /// assert_eq!(Decimal::new(1, 32), None);
    /// ```
    pub const fn new(unscaled: i128, scale: u8) -> Option<Self> {
        if unscaled.unsigned_abs() <= Self::MAX.unscaled as u128 && scale as u32 <= MAX_DIGITS {
            Some(Self { unscaled, scale })
        } else {
            None
        }
    }

    /// Returns the number without its decimal point.
    #[inline]
    pub const fn unscaled(self) -> i128 {
        self.unscaled
    }

    /// Returns the number of digits after the decimal point: `fixed_scale`.
    #[inline]
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// Returns the total number of digits: `fixed_digits`. Leading zeros count only after the
    /// decimal point; zero itself has one digit.
    pub const fn digits(self) -> u8 {
        let significant = match self.unscaled.unsigned_abs().checked_ilog10() {
            Some(digits) => digits as u8 + 1,
            None => 1,
        };
        if significant > self.scale { significant } else { self.scale }
    }

    /// Rounds the number to `scale` digits after the decimal point, halves away from zero, as in
    /// IDL.
    pub fn rounded(self, scale: u8) -> Result<Self, DecimalError> {
        match self.scale.checked_sub(scale) {
            None | Some(0) => self.rescaled(scale),
            Some(dropped) => {
                let (quotient, rest) = self.split(dropped);
                let half = 5 * 10i128.pow(u32::from(dropped) - 1);
                let up = if rest.abs() >= half { rest.signum() } else { 0 };
                Self::new(quotient + up, scale).ok_or(DecimalError::Overflow)
            }
        }
    }

    /// Truncates the number to `scale` digits after the decimal point.
    pub fn truncated(self, scale: u8) -> Result<Self, DecimalError> {
        match self.scale.checked_sub(scale) {
            None | Some(0) => self.rescaled(scale),
            Some(dropped) => Ok(Self { unscaled: self.split(dropped).0, scale }),
        }
    }

    /// Returns the number with `scale` digits after the decimal point, if no digit is lost.
    pub fn rescaled(self, scale: u8) -> Result<Self, DecimalError> {
        let unscaled = match scale.checked_sub(self.scale) {
            Some(added) => {
                let factor = power_of_ten(added).ok_or(DecimalError::Overflow)?;
                let unscaled = self.unscaled.checked_mul(factor);
                unscaled.ok_or(DecimalError::Overflow)?
            }
            None => match self.split(self.scale - scale) {
                (quotient, 0) => quotient,
                _ => return Err(DecimalError::Inexact),
            },
        };
        Self::new(unscaled, scale).ok_or(DecimalError::Overflow)
    }

    /// Returns the number as a value of `fixed<digits, scale>`, if it fits.
    pub fn fit(self, digits: u16, scale: u8) -> Result<Self, DecimalError> {
        let fitted = self.rescaled(scale)?;
        let room = power_of_ten(digits.min(MAX_DIGITS as u16) as u8);
        if room.is_some_and(|room| fitted.unscaled.abs() < room) {
            Ok(fitted)
        } else {
            Err(DecimalError::Overflow)
        }
    }

    /// Returns the number without trailing zeros in its fraction.
    #[must_use]
    pub fn normalized(self) -> Self {
        let Self { mut unscaled, mut scale } = self;
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        Self { unscaled, scale }
    }

    /// Returns the nearest `f64`.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().expect("a decimal number is also a float")
    }

    /// Returns quotient and remainder of a division that cuts off `digits` digits.
    fn split(self, digits: u8) -> (i128, i128) {
        match power_of_ten(digits) {
            Some(divisor) => (self.unscaled / divisor, self.unscaled % divisor),
            None => (0, self.unscaled),
        }
    }
}

/// Returns a power of ten; `None` if it does not fit an `i128`.
fn power_of_ten(exponent: u8) -> Option<i128> {
    10i128.checked_pow(exponent.into())
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        // Compares the integer parts first, because only the fractions can be scaled to 31 decimal
        // places without an overflow of `i128`.
        let (whole, fraction) = self.split(self.scale);
        let (other_whole, other_fraction) = other.split(other.scale);
        let full = |fraction: i128, scale: u8| {
            fraction * power_of_ten(MAX_DIGITS as u8 - scale).expect("at most 10^31")
        };
        whole
            .cmp(&other_whole)
            .then_with(|| full(fraction, self.scale).cmp(&full(other_fraction, other.scale)))
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { unscaled, scale } = self.normalized();
        (unscaled, scale).hash(state);
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self { unscaled: number.into(), scale: 0 }
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Parses a sign, digits, and a decimal point with digits on at least one side; a final `d` as
    /// in IDL may follow. Digits that do not fit are an error.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let text = text.strip_suffix(['d', 'D']).unwrap_or(text);
        let (negative, text) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
            return Err(DecimalError::NotANumber);
        }
        let mut unscaled = 0i128;
        for digit in digits() {
            unscaled = unscaled * 10 + i128::from(digit - b'0');
            if unscaled > Self::MAX.unscaled {
                return Err(DecimalError::Overflow);
            }
        }
        let scale = u8::try_from(fraction.len()).map_err(|_| DecimalError::Overflow)?;
        let unscaled = if negative { -unscaled } else { unscaled };
        Self::new(unscaled, scale).ok_or(DecimalError::Overflow)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = self.split(self.scale);
        let mut text = whole.unsigned_abs().to_string();
        if self.scale > 0 {
            let width = usize::from(self.scale);
            text += &format!(".{:0width$}", fraction.unsigned_abs());
        }
        f.pad_integral(self.unscaled >= 0, "", &text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}d")
    }
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "the number has more digits than there is room for",
            Self::Inexact => "the number has more digits after the decimal point than its type",
            Self::DivisionByZero => "a number was divided by zero",
            Self::NotANumber => "the text is not a decimal number",
        })
    }
}

impl fmt::Debug for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for DecimalError {}
