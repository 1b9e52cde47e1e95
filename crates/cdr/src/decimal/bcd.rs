//! A `fixed` on the wire: a digit in each half octet, the sign in the last (CORBA 3.3 part 2, 9.3.2.8).

use super::{Decimal, DecimalError, MAX_DIGITS};
use crate::{Decoder, Encoder, ErrorKind, Result};

const PLUS: u8 = 0xC;
const MINUS: u8 = 0xD;

impl Encoder<'_> {
    /// Writes a `fixed<digits, scale>`. A number that does not fit the type is an error: round it
    /// first.
    pub fn decimal(&mut self, v: Decimal, digits: u16, scale: u8) -> Result<()> {
        if digits == 0 || u32::from(digits) > MAX_DIGITS || u16::from(scale) > digits {
            return Err(self.error(ErrorKind::BadTypeCode));
        }
        let fitted = v.fit(digits, scale).map_err(|error| {
            self.error(match error {
                DecimalError::Overflow => ErrorKind::BoundExceeded {
                    length: usize::from(v.digits()) - usize::from(v.scale()) + usize::from(scale),
                    bound: digits.into(),
                },
                _ => ErrorKind::BadValue,
            })
        })?;
        let mut rest = fitted.unscaled.unsigned_abs();
        let mut low = if fitted.unscaled < 0 { MINUS } else { PLUS };
        for octet in self.claim(digits as usize / 2 + 1).iter_mut().rev() {
            *octet = ((rest % 10) as u8) << 4 | low;
            rest /= 10;
            low = (rest % 10) as u8;
            rest /= 10;
        }
        Ok(())
    }
}

impl Decoder<'_> {
    /// Reads a `fixed<digits, scale>`. The sign marks the end, not the declared number of digits, because JacORB omits
    /// leading zeros.
    pub fn decimal(&mut self, digits: u16, scale: u8) -> Result<Decimal> {
        let at = self.position();
        if digits == 0 || u32::from(digits) > MAX_DIGITS || u16::from(scale) > digits {
            return Err(ErrorKind::BadTypeCode.at(at));
        }
        let bad = || ErrorKind::BadFixed.at(at);
        let mut unscaled = 0i128;
        for _ in 0..=digits / 2 {
            let octet = self.octet()?;
            let (high, low) = (octet >> 4, octet & 0xF);
            if high > 9 {
                return Err(bad());
            }
            unscaled = unscaled * 10 + i128::from(high);
            if low > 9 {
                let unscaled = match low {
                    PLUS => unscaled,
                    MINUS => -unscaled,
                    _ => return Err(bad()),
                };
                let read = Decimal::new(unscaled, scale).ok_or_else(bad)?;
                return read.fit(digits, scale).map_err(|_| bad());
            }
            unscaled = unscaled * 10 + i128::from(low);
        }
        Err(bad())
    }
}
