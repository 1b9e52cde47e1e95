use core::fmt;

/// IDL `long double`: the 128 bits of IEEE 754 binary128, for which Rust has no type.
///
/// OxORB carries all 128 bits unchanged; calculate with [`f64`], by [`From`] (exact) and
/// [`to_f64`](Self::to_f64) (rounded). Peers written in C++ on x86 (TAO, omniORB) send the raw
/// memory of an x87 `long double` instead of the standard format: [`from_x87`](Self::from_x87) and
/// [`to_x87`](Self::to_x87) convert values of such peers.
///
/// ```
/// use oxorb_cdr::LongDouble;
///
/// let third = LongDouble::from(1.0 / 3.0);
/// assert_eq!(third.to_f64(), 1.0 / 3.0);
/// assert_eq!(LongDouble::from(1.0).to_bits() >> 112, 0x3FFF);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LongDouble(u128);

/// Number of fraction bits of binary128.
const FRACTION: u32 = 112;
/// Exponent bias of binary128 and of x87.
const BIAS: i32 = 16383;
const SIGN: u128 = 1 << 127;
const FRACTION_MASK: u128 = (1 << FRACTION) - 1;
const MAX_EXPONENT: u32 = 0x7FFF;

impl LongDouble {
    /// Creates a number from its IEEE 754 binary128 bits.
    #[inline]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns the IEEE 754 binary128 bits.
    #[inline]
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Returns the nearest `f64`, ties to even: infinite if too large, with up to 60 fraction bits
    /// lost.
    pub fn to_f64(self) -> f64 {
        let negative = self.0 & SIGN != 0;
        let magnitude = match (self.exponent(), self.0 & FRACTION_MASK) {
            (MAX_EXPONENT, 0) => f64::INFINITY.to_bits(),
            // The quiet bit keeps a NaN a NaN: without it, one whose payload is only in the dropped bits would become
            // an infinity.
            (MAX_EXPONENT, fraction) => f64::NAN.to_bits() | (fraction >> 60) as u64,
            (0, _) => 0, // zero, and subnormals, which are far below the smallest f64
            (exponent, fraction) => round_to_f64(exponent as i32 - BIAS, fraction | 1 << FRACTION),
        };
        f64::from_bits(u64::from(negative) << 63 | magnitude)
    }

    /// Converts the 16 octets sent by a C++ peer on x86, read as one number: a sign, 15 bits of
    /// exponent and 64 bits of mantissa in the low ten octets; the other six are ignored. Exact.
    ///
    /// ```
    /// use oxorb_cdr::LongDouble;
    ///
    /// // 1.0L, as TAO and omniORB put it on the wire
    /// let sent = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xFF, 0x3F, 0, 0, 0, 0, 0, 0];
    /// assert_eq!(LongDouble::from_x87(u128::from_le_bytes(sent)).to_f64(), 1.0);
    /// ```
    pub fn from_x87(raw: u128) -> Self {
        let mantissa = raw as u64;
        let sign = (raw >> 79 & 1) << 127;
        let exponent = (raw >> 64) as u32 & MAX_EXPONENT;
        if mantissa == 0 && exponent != MAX_EXPONENT {
            return Self(sign);
        }
        // x87 stores the leading one of the mantissa, and binary128 implies it. In a subnormal, the exponent field is 0
        // but means 1.
        let (exponent, mantissa) = match exponent {
            MAX_EXPONENT => {
                return Self(
                    sign | (MAX_EXPONENT as u128) << FRACTION | ((mantissa << 1) as u128) << 48,
                );
            }
            exponent => {
                let shift = mantissa.leading_zeros();
                (exponent.max(1) as i32 - shift as i32, mantissa << shift)
            }
        };
        let fraction = ((mantissa << 1) as u128) << 48;
        if exponent > 0 {
            Self(sign | (exponent as u128) << FRACTION | fraction)
        } else {
            // The number is subnormal in binary128, too, because both formats have the same exponent range. The longer
            // fraction holds all bits after the shift.
            Self(sign | (1 << FRACTION | fraction) >> (1 - exponent))
        }
    }

    /// Returns the octets that a C++ peer on x86 expects, as one number to be written in its
    /// (little-endian) order, with the fraction rounded to 63 bits, ties to even.
    pub fn to_x87(self) -> u128 {
        const DROPPED: u32 = FRACTION - 63;
        let sign = (self.0 >> 127) << 79;
        let exponent = self.exponent();
        let fraction = self.0 & FRACTION_MASK;
        if exponent == MAX_EXPONENT {
            // Infinity or NaN. The quiet bit keeps a NaN a NaN even if its payload is only in the dropped bits.
            let payload = (fraction >> DROPPED) as u64 | u64::from(fraction != 0) << 62;
            return sign | (MAX_EXPONENT as u128) << 64 | (1 << 63 | payload) as u128;
        }
        let implied = u128::from(exponent != 0) << FRACTION;
        let rounded = round(implied | fraction, DROPPED);
        // Rounding may carry into a 65th bit, or make the largest subnormal the smallest normal number.
        let (exponent, mantissa) = match (exponent, rounded >> 63) {
            (0, leading) => (leading as u32, rounded),
            (exponent, 1) => (exponent, rounded),
            (exponent, _) if exponent + 1 == MAX_EXPONENT => (MAX_EXPONENT, 1 << 63),
            (exponent, _) => (exponent + 1, rounded >> 1),
        };
        sign | (exponent as u128) << 64 | mantissa
    }

    #[inline]
    const fn exponent(self) -> u32 {
        (self.0 >> FRACTION) as u32 & MAX_EXPONENT
    }
}

impl From<f64> for LongDouble {
    /// Converts exactly.
    fn from(v: f64) -> Self {
        let bits = v.to_bits();
        let sign = u128::from(bits >> 63) << 127;
        let exponent = (bits >> 52) as u32 & 0x7FF;
        let fraction = bits & ((1 << 52) - 1);
        let (exponent, fraction) = match (exponent, fraction) {
            (0, 0) => (0, 0),
            (0, fraction) => {
                // A number that is subnormal as an `f64` is normal in binary128.
                let shift = fraction.leading_zeros() - 11;
                (BIAS - 1022 - shift as i32, fraction << shift & ((1 << 52) - 1))
            }
            (0x7FF, fraction) => (MAX_EXPONENT as i32, fraction),
            (exponent, fraction) => (exponent as i32 - 1023 + BIAS, fraction),
        };
        Self(sign | (exponent as u128) << FRACTION | u128::from(fraction) << 60)
    }
}

impl fmt::Debug for LongDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LongDouble({:?} ~ {:#034x})", self.to_f64(), self.0)
    }
}

impl fmt::Display for LongDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f64().fmt(f)
    }
}

/// Returns the bits, without sign, of the `f64` nearest to `mantissa * 2^(exponent - 112)`; bit 112
/// of the mantissa is set.
fn round_to_f64(exponent: i32, mantissa: u128) -> u64 {
    match exponent {
        1024.. => f64::INFINITY.to_bits(),
        // The exponent field starts one too low. Adding the mantissa, whose leading one is not masked, corrects this,
        // and a carry from rounding increments the field once more.
        -1022.. => (((exponent + 1022) as u64) << 52) + round(mantissa, 60) as u64,
        -1075.. => round(mantissa, (60 - 1022 - exponent) as u32) as u64,
        _ => 0,
    }
}

/// Drops low bits with rounding to nearest, ties to even.
fn round(v: u128, dropped: u32) -> u128 {
    let kept = v >> dropped;
    let rest = v & ((1 << dropped) - 1);
    let half = 1 << (dropped - 1);
    kept + u128::from(rest > half || rest == half && kept & 1 == 1)
}
