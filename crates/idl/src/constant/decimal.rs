//! Fixed-point numbers and their arithmetic (CORBA 3.3 part 1, 7.11.1.4).
//!
//! Results are exact up to 31 significant digits; further digits are truncated, never rounded.

use std::cmp::Ordering;
use std::fmt;

/// Maximum number of digits of a `fixed`.
const MAX_DIGITS: usize = 31;

/// Sign, at least one digit, and the number of digits after the point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// Digits 0 to 9, most significant first; at least `scale` of them.
    digits: Vec<u8>,
    scale: usize,
}

impl Decimal {
    /// Reads the digits and the point of a literal.
    pub(crate) fn literal(text: &str) -> Decimal {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        Decimal {
            negative: false,
            digits: digits.map(|digit| digit - b'0').collect(),
            scale: fraction.len(),
        }
        .tidy()
    }

    /// Returns the digits and scale of the smallest `fixed<digits, scale>` for this value.
    pub(crate) fn shape(&self) -> (u16, i16) {
        (self.digits.len() as u16, self.scale as i16)
    }

    pub(crate) fn negated(mut self) -> Decimal {
        self.negative = !self.negative;
        self.tidy()
    }

    pub(crate) fn plus(&self, other: &Decimal) -> Decimal {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.scaled(scale), other.scaled(scale));
        let (negative, digits) = match (self.negative == other.negative, compare(&a, &b)) {
            (true, _) => (self.negative, add(&a, &b)),
            (false, Ordering::Less) => (other.negative, subtract(&b, &a)),
            (false, _) => (self.negative, subtract(&a, &b)),
        };
        Decimal { negative, digits, scale }.tidy()
    }

    pub(crate) fn times(&self, other: &Decimal) -> Decimal {
        let mut digits = vec![0u8];
        for digit in &other.digits {
            digits.push(0);
            for _ in 0..*digit {
                digits = add(&digits, &self.digits);
            }
        }
        Decimal {
            negative: self.negative != other.negative,
            digits,
            scale: self.scale + other.scale,
        }
        .tidy()
    }

    /// Returns the quotient; `None` if `other` is zero.
    pub(crate) fn over(&self, other: &Decimal) -> Option<Decimal> {
        if other.digits.iter().all(|digit| *digit == 0) {
            return None;
        }
        // Computes so many digits after the point that the first 31 digits of the quotient are exact.
        let more = 2 * MAX_DIGITS;
        let dividend = self.scaled(self.scale + more + other.scale);
        let mut digits = Vec::with_capacity(dividend.len());
        let mut rest: Vec<u8> = Vec::new();
        for digit in dividend {
            rest.push(digit);
            let mut times = 0;
            while compare(&rest, &other.digits) != Ordering::Less {
                rest = subtract(&rest, &other.digits);
                times += 1;
            }
            digits.push(times);
        }
        let mut quotient =
            Decimal { negative: self.negative != other.negative, digits, scale: self.scale + more }
                .tidy();
        // Removes the trailing zeros after the point that the division added.
        while quotient.scale > 0 && quotient.digits.last() == Some(&0) {
            quotient.digits.pop();
            quotient.scale -= 1;
        }
        Some(quotient.tidy())
    }

    /// Reports whether a `fixed<digits, scale>` can hold exactly this value.
    pub(crate) fn fits(&self, digits: u16, scale: u16) -> bool {
        let zeros = self.digits.iter().rev().take_while(|digit| **digit == 0);
        let places = self.scale - zeros.count().min(self.scale);
        let whole = self.digits.len() - self.scale;
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        let whole = whole.saturating_sub(leading);
        places <= usize::from(scale) && whole + usize::from(scale) <= usize::from(digits)
    }

    /// Returns the digits with `scale` places after the point, which must not be fewer than now.
    fn scaled(&self, scale: usize) -> Vec<u8> {
        let mut digits = self.digits.clone();
        digits.resize(digits.len() + scale - self.scale, 0);
        digits
    }

    /// Drops leading zeros, and places after the point beyond 31 digits. More than 31 digits are then an overflow.
    fn tidy(mut self) -> Decimal {
        let whole = self.digits.len().saturating_sub(self.scale);
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros.min(whole));
        while self.digits.len() > MAX_DIGITS && self.scale > 0 {
            self.digits.pop();
            self.scale -= 1;
        }
        if self.digits.is_empty() {
            self.digits.push(0);
        }
        if self.digits.iter().all(|digit| *digit == 0) {
            self.negative = false;
        }
        self
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let (whole, fraction) = text.split_at(text.len() - self.scale);
        let whole = if whole.is_empty() { "0" } else { whole };
        let sign = if self.negative { "-" } else { "" };
        match fraction {
            "" => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (significant(a), significant(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn significant(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    &digits[zeros..]
}

fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let length = a.len().max(b.len()) + 1;
    let mut sum = vec![0; length];
    let mut carry = 0;
    for at in 0..length {
        let digit = |of: &[u8]| of.len().checked_sub(at + 1).map_or(0, |at| of[at]);
        let total = digit(a) + digit(b) + carry;
        sum[length - 1 - at] = total % 10;
        carry = total / 10;
    }
    sum
}

/// Subtracts digits; `a` must not be less than `b`.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut difference = a.to_vec();
    let mut borrow = 0;
    for at in 0..a.len() {
        let subtrahend = b.len().checked_sub(at + 1).map_or(0, |at| b[at]) + borrow;
        let digit = &mut difference[a.len() - 1 - at];
        borrow = u8::from(*digit < subtrahend);
        *digit = *digit + 10 * borrow - subtrahend;
    }
    difference
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn of(text: &str) -> Decimal {
        match text.strip_prefix('-') {
            Some(text) => Decimal::literal(text).negated(),
            None => Decimal::literal(text),
        }
    }

    #[test]
    fn arithmetic_is_exact() {
        for (a, b, sum, product) in [
            ("1.5", "2.25", "3.75", "3.375"),
            ("99.9", "0.1", "100.0", "9.99"),
            ("-1.5", "2", "0.5", "-3.0"),
            ("1", "-1.000", "0.000", "-1.000"),
            ("0.05", "-0.3", "-0.25", "-0.015"),
            ("007.50", "0", "7.50", "0.00"),
        ] {
            assert_eq!(of(a).plus(&of(b)).to_string(), sum, "{a} + {b}");
            assert_eq!(of(b).plus(&of(a)).to_string(), sum, "{b} + {a}");
            assert_eq!(of(a).times(&of(b)).to_string(), product, "{a} * {b}");
        }
    }

    #[test]
    fn quotients_are_cut_off_after_31_digits() {
        let over = |a: &str, b: &str| of(a).over(&of(b)).map(|quotient| quotient.to_string());
        assert_eq!(over("1", "8"), Some("0.125".into()));
        assert_eq!(over("-7.5", "2.5"), Some("-3".into()));
        assert_eq!(over("2", "3").unwrap(), format!("0.{}", "6".repeat(31)));
        assert_eq!(over("200", "3").unwrap(), format!("66.{}", "6".repeat(29)));
        assert_eq!(over("1", "0.00"), None);
    }

    #[test]
    fn products_keep_31_digits() {
        let nines = of(&"9".repeat(31));
        let product = nines.times(&of("0.9999999999"));
        assert_eq!(product.to_string().len(), 31);
        assert_eq!(product.shape(), (31, 0));
    }

    #[test]
    fn values_fit_where_no_digit_is_lost() {
        assert!(of("123.45").fits(5, 2));
        assert!(of("123.4500").fits(5, 2));
        assert!(!of("123.456").fits(5, 2));
        assert!(!of("1234.5").fits(5, 2));
        assert!(of("0.01").fits(2, 2));
        assert!(of("0").fits(1, 1));
    }
}
