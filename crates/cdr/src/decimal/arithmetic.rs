//! Sums, differences, products and quotients, calculated with twice the digits.

use core::ops::{Add, Div, Mul, Neg, Sub};

use super::{Decimal, DecimalError, MAX_DIGITS};

impl Decimal {
    /// Returns the sum; digits after the 31st are dropped. Fails when the integer part has more
    /// than 31 digits.
    pub fn checked_add(self, other: Self) -> Result<Self, DecimalError> {
        let scale = self.scale.max(other.scale);
        let left = Wide::new(self, scale);
        let right = Wide::new(other, scale);
        let negative = (self.unscaled < 0, other.unscaled < 0);
        let (sum, negative) = if negative.0 == negative.1 {
            (left.plus(&right), negative.0)
        } else if left >= right {
            (left.minus(&right), negative.0)
        } else {
            (right.minus(&left), negative.1)
        };
        sum.into_decimal(negative, scale.into())
    }

    /// Returns the difference, as [`checked_add`](Self::checked_add).
    pub fn checked_sub(self, other: Self) -> Result<Self, DecimalError> {
        self.checked_add(-other)
    }

    /// Returns the product; digits after the 31st are dropped. Fails when the integer part has more
    /// than 31 digits.
    pub fn checked_mul(self, other: Self) -> Result<Self, DecimalError> {
        let product = Wide::product(self.unscaled.unsigned_abs(), other.unscaled.unsigned_abs());
        let negative = (self.unscaled < 0) != (other.unscaled < 0);
        product.into_decimal(negative, u32::from(self.scale) + u32::from(other.scale))
    }

    /// Returns the quotient, exact or with as many digits as fit; never rounded.
    pub fn checked_div(self, other: Self) -> Result<Self, DecimalError> {
        let divisor = other.unscaled.unsigned_abs();
        if divisor == 0 {
            return Err(DecimalError::DivisionByZero);
        }
        let dividend = self.unscaled.unsigned_abs();
        let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
        let mut scale = i32::from(self.scale) - i32::from(other.scale);
        // A negative scale stands for trailing zeros, which must be stored as digits, so continue
        // until the scale is zero even if the remainder is zero.
        while scale < 0 || rest != 0 && scale < MAX_DIGITS as i32 {
            let next = quotient * 10 + rest * 10 / divisor;
            if next > Self::MAX.unscaled as u128 {
                if scale < 0 {
                    return Err(DecimalError::Overflow);
                }
                break;
            }
            quotient = next;
            rest = rest * 10 % divisor;
            scale += 1;
        }
        let negative = (self.unscaled < 0) != (other.unscaled < 0);
        // This drops no further digits, because the quotient has at most 31 digits and a scale of
        // at most 31.
        Wide::from(quotient).into_decimal(negative, scale as u32)
    }
}

const LIMBS: usize = 4;
const BASE: u64 = 10u64.pow(16);

/// Up to 64 decimal digits, 16 in each limb, the highest limb first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide([u64; LIMBS]);

impl From<u128> for Wide {
    /// Converts a number less than 10^32.
    fn from(number: u128) -> Self {
        let base = u128::from(BASE);
        Self([0, 0, (number / base) as u64, (number % base) as u64])
    }
}

impl Wide {
    /// Returns the magnitude of a number, with `scale` digits after the decimal point, at least as
    /// many as it has.
    fn new(number: Decimal, scale: u8) -> Self {
        let magnitude = number.unscaled.unsigned_abs();
        let factor = 10u128.pow(u32::from(scale - number.scale));
        Self::product(magnitude, factor)
    }

    /// Multiplies two numbers less than 10^32.
    fn product(left: u128, right: u128) -> Self {
        let (left, right) = (Self::from(left).0, Self::from(right).0);
        let (low, high) = (LIMBS - 1, LIMBS - 2);
        let times = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let mut limbs = [0; LIMBS];
        let mut carry = 0u128;
        for (limb, sum) in limbs.iter_mut().rev().zip([
            times(left[low], right[low]),
            times(left[low], right[high]) + times(left[high], right[low]),
            times(left[high], right[high]),
            0,
        ]) {
            carry += sum;
            *limb = (carry % u128::from(BASE)) as u64;
            carry /= u128::from(BASE);
        }
        Self(limbs)
    }

    fn plus(mut self, other: &Self) -> Self {
        let mut carry = 0;
        for (limb, other) in self.0.iter_mut().zip(other.0).rev() {
            let sum = *limb + other + carry;
            (*limb, carry) = (sum % BASE, sum / BASE);
        }
        self
    }

    /// Subtracts a number that is not greater than this one.
    fn minus(mut self, other: &Self) -> Self {
        let mut borrow = 0;
        for (limb, other) in self.0.iter_mut().zip(other.0).rev() {
            let difference = *limb + BASE - other - borrow;
            (*limb, borrow) = (difference % BASE, u64::from(difference < BASE));
        }
        self
    }

    fn is_small(&self) -> bool {
        let [highest, high, middle, _] = self.0;
        // A number of 31 digits fills the lowest limb, and uses 15 of the 16 digits of the next
        // one.
        highest == 0 && high == 0 && middle < BASE / 10
    }

    fn without_last_digit(mut self) -> Self {
        let mut rest = 0;
        for limb in &mut self.0 {
            let number = *limb + rest * BASE;
            (*limb, rest) = (number / 10, number % 10);
        }
        self
    }

    /// Drops digits until 31 are left, none of them after the 31st decimal place.
    fn into_decimal(mut self, negative: bool, mut scale: u32) -> Result<Decimal, DecimalError> {
        while scale > MAX_DIGITS || !self.is_small() {
            scale = scale.checked_sub(1).ok_or(DecimalError::Overflow)?;
            self = self.without_last_digit();
        }
        let [_, _, high, low] = self.0;
        let magnitude = (u128::from(high) * u128::from(BASE) + u128::from(low)) as i128;
        Ok(Decimal { unscaled: if negative { -magnitude } else { magnitude }, scale: scale as u8 })
    }
}

impl Neg for Decimal {
    type Output = Self;

    fn neg(self) -> Self {
        Self { unscaled: -self.unscaled, ..self }
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $checked:ident)*) => {$(
        impl $operator for Decimal {
            type Output = Self;

            /// # Panics
            #[doc = concat!("When [`", stringify!($checked), "`](Decimal::", stringify!($checked), ") fails.")]
            fn $method(self, other: Self) -> Self {
                match self.$checked(other) {
                    Ok(result) => result,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    )*};
}

operators! {
    Add add checked_add
    Sub sub checked_sub
    Mul mul checked_mul
    Div div checked_div
}
