//! Numbers of type `long double`, and their arithmetic.
//!
//! Results are exact before they are rounded once, as IEEE 754 requires.

use std::cmp::Ordering;
use std::fmt;

/// Value of type `long double`: the bits of IEEE 754 binary128.
///
/// Displays the shortest literal of IDL for the value that has at most 36 digits. Such a literal always denotes exactly
/// this value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quadruple(u128);

/// Number of fraction bits.
const FRACTION: i32 = 112;
/// Exponent bias, which is also the largest exponent.
const BIAS: i32 = 16383;
/// Exponent of the last fraction bit of the smallest numbers.
const LEAST: i32 = 1 - BIAS - FRACTION;
const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0x7fff << FRACTION;

/// Maximum number of digits of a literal that can change the rounded value: all further ones only decide whether the
/// number is halfway between two values.
const DIGITS: usize = 11_600;

/// Largest power of ten below which digits are significant, and smallest one above which they are.
const POWERS: (i64, i64) = (-5_000, 4_933);

impl Quadruple {
    /// Zero.
    pub const ZERO: Quadruple = Quadruple(0);

    /// Returns the number with these bits.
    pub const fn from_bits(bits: u128) -> Quadruple {
        Quadruple(bits)
    }

    /// Returns the bits of IEEE 754 binary128.
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Returns the nearest `f64`; infinite if the number is too large.
    pub fn to_f64(self) -> f64 {
        const DROPPED: i32 = 49;
        let Some((negative, mantissa, exponent)) = self.parts() else {
            return f64::INFINITY;
        };
        // The last of the 64 bits that are kept stands for all bits behind it, which only decide about halves.
        let rest = mantissa & ((1 << DROPPED) - 1) != 0;
        let kept = (mantissa >> DROPPED) as u64 | u64::from(rest);
        let mut value = kept as f64;
        let mut exponent = exponent + DROPPED;
        // Each factor is a normal number.
        while exponent != 0 {
            let step = exponent.clamp(-1000, 1000);
            value *= 2.0_f64.powi(step);
            exponent -= step;
            if value == 0.0 || value.is_infinite() {
                break;
            }
        }
        if negative { -value } else { value }
    }

    /// Reads a literal without sign and suffix: `digits [. digits] [e [sign] digits]`. Infinite if it is too large.
    pub(crate) fn literal(text: &str) -> Quadruple {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit);
        let zeros = digits().take_while(|digit| *digit == b'0').count();
        let count = (whole.len() + fraction.len()).saturating_sub(zeros);
        if count == 0 {
            return Quadruple::ZERO;
        }
        let limit = i64::from(i32::MAX);
        let exponent = match (exponent.parse::<i64>(), exponent.starts_with('-')) {
            (Ok(exponent), _) => exponent.clamp(-limit, limit),
            (Err(_), true) => -limit,
            (Err(_), false) => limit,
        };
        // Power of ten of the last digit.
        let mut power = exponent - fraction.len() as i64;
        match power + count as i64 {
            first if first < POWERS.0 => return Quadruple::ZERO,
            first if first > POWERS.1 => return Quadruple(INFINITY),
            _ => {}
        }
        let mut number = Big::from(0);
        for digit in digits().skip(zeros).take(DIGITS) {
            number.multiply_and_add(10, u64::from(digit - b'0'));
        }
        if count > DIGITS {
            power += (count - DIGITS) as i64;
            if digits().skip(zeros + DIGITS).any(|digit| digit != b'0') {
                number.multiply_and_add(10, 1);
                power -= 1;
            }
        }
        let ten = Big::power_of_ten(power.unsigned_abs() as u32);
        match power < 0 {
            true => round(false, &number, &ten, 0),
            false => round(false, &number.times(&ten), &Big::from(1), 0),
        }
    }

    pub(crate) fn is_finite(self) -> bool {
        self.0 & INFINITY != INFINITY
    }

    pub(crate) fn is_zero(self) -> bool {
        self.0 & !SIGN == 0
    }

    pub(crate) fn negated(self) -> Quadruple {
        Quadruple(self.0 ^ SIGN)
    }

    /// Returns the sum. Like all results of arithmetic, it is infinite if it is too large or an operand is infinite.
    pub(crate) fn plus(self, other: Quadruple) -> Quadruple {
        let (Some(one), Some(two)) = (self.parts(), other.parts()) else {
            return Quadruple(INFINITY);
        };
        let ((negative, a, exponent), (other_negative, b, least)) = match one.2 >= two.2 {
            true => (one, two),
            false => (two, one),
        };
        let a = Big::from(a).shifted((exponent - least) as usize);
        let b = Big::from(b);
        let (negative, sum) = match (negative == other_negative, a.compare(&b)) {
            (true, _) => (negative, a.plus(&b)),
            (false, Ordering::Less) => (other_negative, b.minus(&a)),
            (false, Ordering::Greater) => (negative, a.minus(&b)),
            (false, Ordering::Equal) => return Quadruple::ZERO,
        };
        round(negative, &sum, &Big::from(1), least)
    }

    pub(crate) fn times(self, other: Quadruple) -> Quadruple {
        let (Some(one), Some(two)) = (self.parts(), other.parts()) else {
            return Quadruple(INFINITY);
        };
        let product = Big::from(one.1).times(&Big::from(two.1));
        round(one.0 != two.0, &product, &Big::from(1), one.2 + two.2)
    }

    /// Returns the quotient, which is infinite if `other` is zero.
    pub(crate) fn over(self, other: Quadruple) -> Quadruple {
        let (Some(one), Some(two)) = (self.parts(), other.parts()) else {
            return Quadruple(INFINITY);
        };
        match two.1 {
            0 => Quadruple(INFINITY),
            divisor => round(one.0 != two.0, &Big::from(one.1), &Big::from(divisor), one.2 - two.2),
        }
    }

    /// Returns the sign, the mantissa, and the exponent of its last bit; `None` if the number is infinite.
    fn parts(self) -> Option<(bool, u128, i32)> {
        let fraction = self.0 & ((1 << FRACTION) - 1);
        let (mantissa, exponent) = match (self.0 >> FRACTION & 0x7fff) as i32 {
            0 => (fraction, LEAST),
            exponent => (fraction | 1 << FRACTION, exponent - 1 + LEAST),
        };
        self.is_finite().then_some((self.0 & SIGN != 0, mantissa, exponent))
    }

    /// Returns the magnitude in decimal with this number of significant digits, as digits and the power of ten of the
    /// last one. Not for zero.
    fn decimal(self, count: u32) -> Option<(u128, i32)> {
        let (_, mantissa, exponent) = self.parts()?;
        let binary = Big::from(mantissa);
        // An estimate of the position of the first digit, which may be one too small.
        let first =
            (f64::from(binary.bits() as i32 - 1 + exponent) * std::f64::consts::LOG10_2).floor();
        let mut power = first as i32 - count as i32 + 1;
        loop {
            let ten = Big::power_of_ten(power.unsigned_abs());
            let two = exponent.unsigned_abs() as usize;
            let (mut over, mut under) = (binary.clone(), Big::from(1));
            match exponent < 0 {
                true => under = under.shifted(two),
                false => over = over.shifted(two),
            }
            match power < 0 {
                true => over = over.times(&ten),
                false => under = under.times(&ten),
            }
            // Twice the quotient, so that the last bit is the first bit behind the point.
            let (doubled, is_exact) = divide(&over.shifted(1), &under);
            let half_up = doubled & 1 == 1 && (!is_exact || doubled >> 1 & 1 == 1);
            let digits = (doubled >> 1) + u128::from(half_up);
            if digits < 10_u128.pow(count) {
                return Some((digits, power));
            }
            power += 1;
        }
    }
}

impl From<f64> for Quadruple {
    /// Exact.
    fn from(value: f64) -> Quadruple {
        let bits = value.to_bits();
        let sign = bits >> 63 == 1;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52 & 0x7ff) as i32 {
            0x7ff => return Quadruple(INFINITY),
            0 => (fraction, -1074),
            exponent => (fraction | 1 << 52, exponent - 1075),
        };
        round(sign, &Big::from(u128::from(mantissa)), &Big::from(1), exponent)
    }
}

impl fmt::Display for Quadruple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 & SIGN == 0 { "" } else { "-" };
        let magnitude = Quadruple(self.0 & !SIGN);
        let near = magnitude.to_f64();
        let text = format!("{near:?}");
        if Quadruple::from(near) == magnitude
            && (!near.is_finite() || Quadruple::literal(&text) == magnitude)
        {
            return write!(f, "{sign}{text}");
        }
        // Every literal of up to 33 digits is found again, and 36 digits denote every value exactly.
        for count in 33..=36 {
            let Some((mut digits, mut power)) = magnitude.decimal(count) else {
                return f.write_str("infinity");
            };
            while digits % 10 == 0 {
                digits /= 10;
                power += 1;
            }
            let text = digits.to_string();
            let (first, rest) = text.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let power = power + rest.len() as i32;
            let text = format!("{first}{point}{rest}e{power}");
            if count == 36 || Quadruple::literal(&text) == magnitude {
                return write!(f, "{sign}{text}");
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Quadruple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the value nearest to `over / under * 2^exponent`, ties to even; infinite if it is too large.
fn round(negative: bool, over: &Big, under: &Big, exponent: i32) -> Quadruple {
    let sign = if negative { SIGN } else { 0 };
    if over.bits() == 0 {
        return Quadruple(sign);
    }
    // The quotient gets 116 or 117 bits, of which at most 113 are kept.
    let shift = 116 + under.bits() as i32 - over.bits() as i32;
    let (quotient, is_exact) = match shift < 0 {
        true => divide(over, &under.clone().shifted(shift.unsigned_abs() as usize)),
        false => divide(&over.shifted(shift as usize), under),
    };
    let exponent = exponent - shift;
    let bits = 128 - quotient.leading_zeros() as i32;
    let dropped = (bits - FRACTION - 1).max(LEAST - exponent);
    if dropped > bits {
        return Quadruple(sign);
    }
    let kept = quotient >> dropped;
    let rest = quotient - (kept << dropped);
    let half = 1_u128 << (dropped - 1);
    let up = rest > half || rest == half && (!is_exact || kept & 1 == 1);
    let mantissa = kept + u128::from(up);
    // A mantissa that rounding made one bit longer is carried into the exponent, as is the leading bit.
    let place = exponent + dropped - LEAST;
    if place >= 0x7ffe {
        return Quadruple(sign | INFINITY);
    }
    Quadruple(sign | (((place as u128) << FRACTION) + mantissa))
}

/// Returns the integer quotient, which must be below 2^127, and whether there is no remainder.
fn divide(over: &Big, under: &Big) -> (u128, bool) {
    let places = (over.bits() + 1).saturating_sub(under.bits());
    let (mut rest, mut part) = (over.clone(), under.clone().shifted(places));
    let mut quotient = 0_u128;
    for _ in 0..=places {
        quotient <<= 1;
        if rest.compare(&part) != Ordering::Less {
            rest = rest.minus(&part);
            quotient |= 1;
        }
        part.halve();
    }
    (quotient, rest.bits() == 0)
}

/// Unsigned integer: its digits in base 2^64, least significant first, without leading zeros.
#[derive(Clone)]
struct Big(Vec<u64>);

impl From<u128> for Big {
    fn from(value: u128) -> Big {
        Big(vec![value as u64, (value >> 64) as u64]).tidy()
    }
}

impl Big {
    fn tidy(mut self) -> Big {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    /// Returns the number of bits without leading zeros.
    fn bits(&self) -> usize {
        let leading = self.0.last().map_or(0, |digit| digit.leading_zeros() as usize);
        64 * self.0.len() - leading
    }

    fn power_of_ten(exponent: u32) -> Big {
        // Factors of ten that fit into a digit.
        const STEP: u32 = 19;
        let mut power = Big::from(1);
        for _ in 0..exponent / STEP {
            power.multiply_and_add(10_u64.pow(STEP), 0);
        }
        power.multiply_and_add(10_u64.pow(exponent % STEP), 0);
        power
    }

    fn multiply_and_add(&mut self, factor: u64, summand: u64) {
        let mut carry = u128::from(summand);
        for digit in &mut self.0 {
            let product = u128::from(*digit) * u128::from(factor) + carry;
            *digit = product as u64;
            carry = product >> 64;
        }
        if carry != 0 {
            self.0.push(carry as u64);
        }
    }

    fn times(&self, other: &Big) -> Big {
        let mut product = vec![0_u64; self.0.len() + other.0.len() + 1];
        for (at, a) in self.0.iter().enumerate() {
            let mut carry = 0_u128;
            for (place, b) in product[at..].iter_mut().zip(other.0.iter().chain([&0])) {
                let sum = u128::from(*a) * u128::from(*b) + u128::from(*place) + carry;
                *place = sum as u64;
                carry = sum >> 64;
            }
        }
        Big(product).tidy()
    }

    fn shifted(&self, places: usize) -> Big {
        let mut shifted = vec![0_u64; places / 64];
        let within = places % 64;
        let mut carry = 0;
        for digit in &self.0 {
            shifted.push(digit << within | carry);
            carry = digit.checked_shr(64 - within as u32).unwrap_or(0);
        }
        shifted.push(carry);
        Big(shifted).tidy()
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for digit in self.0.iter_mut().rev() {
            let lost = *digit << 63;
            *digit = *digit >> 1 | carry;
            carry = lost;
        }
        if self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn compare(&self, other: &Big) -> Ordering {
        let lengths = self.0.len().cmp(&other.0.len());
        lengths.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn plus(&self, other: &Big) -> Big {
        let length = self.0.len().max(other.0.len()) + 1;
        let digit = |of: &Big, at: usize| u128::from(of.0.get(at).copied().unwrap_or(0));
        let mut carry = 0_u128;
        let sum = (0..length).map(|at| {
            let sum = digit(self, at) + digit(other, at) + carry;
            carry = sum >> 64;
            sum as u64
        });
        Big(sum.collect()).tidy()
    }

    /// Returns the difference from a number that is not larger.
    fn minus(&self, other: &Big) -> Big {
        let mut borrow = false;
        let difference = self.0.iter().enumerate().map(|(at, digit)| {
            let (difference, below) = digit.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (difference, borrowed) = difference.overflowing_sub(u64::from(borrow));
            borrow = below || borrowed;
            difference
        });
        Big(difference.collect()).tidy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> u128 {
        Quadruple::literal(text).to_bits()
    }

    #[test]
    fn literals_are_rounded_once() {
        assert_eq!(bits("0.0"), 0);
        assert_eq!(bits("1.0"), 0x3fff << 112);
        assert_eq!(bits("1.5"), 0x3fff << 112 | 1 << 111);
        assert_eq!(bits("0.1"), 0x3ffb_9999_9999_9999_9999_9999_9999_999a);
        let pi = "3.14159265358979323846264338327950288";
        assert_eq!(bits(pi), 0x4000_921f_b544_42d1_8469_898c_c517_01b8);
        // The largest value, and infinity.
        let largest = 0x7ffe_ffff_ffff_ffff_ffff_ffff_ffff_ffff;
        assert_eq!(bits("1.18973149535723176508575932662800702e4932"), largest);
        assert_eq!(bits("1.2e4932"), INFINITY);
        assert_eq!(bits("1e999999999999999999999"), INFINITY);
        // The smallest normal value, the smallest value, and zero.
        assert_eq!(bits("3.36210314311209350626267781732175260e-4932"), 1 << 112);
        assert_eq!(bits("6.5e-4966"), 1);
        assert_eq!(bits("3.2e-4966"), 0);
        assert_eq!(bits("1e-999999999999999999999"), 0);
        // A half is rounded to even, unless a digit far behind it decides.
        let half = "1.00000000000000000000000000000000009629649721936179265279889712924636592690508241076940976199693977832794\
                    189453125";
        assert_eq!(bits(half), 0x3fff << 112);
        assert_eq!(bits(&format!("{half}{}1", "0".repeat(20_000))), 0x3fff << 112 | 1);
        assert_eq!(bits(&format!("{}1.0", "0".repeat(20_000))), 0x3fff << 112);
    }

    #[test]
    fn doubles_are_exact_and_come_back() {
        for value in [0.0, -0.0, 1.0, -2.0, 1.5, 0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e-310]
        {
            let long = Quadruple::from(value);
            assert_eq!(long.to_f64().to_bits(), value.to_bits(), "{value:?}");
            let shown = long.to_string();
            let read = Quadruple::literal(shown.trim_start_matches('-'));
            assert_eq!(read.0, long.0 & !SIGN, "{shown}");
            // The literal `0.1` denotes a value of type `long double` that no `f64` has.
            let is_short = [0.0, 1.0, 2.0, 1.5].contains(&value.abs());
            assert_eq!(shown == format!("{value:?}"), is_short, "{shown}");
        }
        assert_eq!(Quadruple::from(-2.0).to_bits(), (1 << 127) | (0x4000 << 112));
        assert_eq!(Quadruple::from(5e-324).to_bits(), ((16383 - 1074) as u128) << 112);
        assert_eq!(Quadruple::literal("1e400").to_f64(), f64::INFINITY);
        assert_eq!(Quadruple::literal("1e-400").to_f64(), 0.0);
        assert_eq!(Quadruple::literal("0.1").to_f64(), 0.1);
    }

    #[test]
    fn values_are_shown_as_short_literals() {
        for text in ["1e4000", "-1e4000", "1.25e-4900", "6.5e-4966", "2.5e1000"] {
            let value = match text.strip_prefix('-') {
                Some(text) => Quadruple::literal(text).negated(),
                None => Quadruple::literal(text),
            };
            let shown = value.to_string();
            assert_eq!(
                Quadruple::literal(shown.trim_start_matches('-')).0,
                value.0 & !SIGN,
                "{shown}"
            );
            if text != "6.5e-4966" {
                assert_eq!(shown, text);
            }
        }
        let third = Quadruple::literal("1.0").over(Quadruple::literal("3.0"));
        assert_eq!(Quadruple::literal(&third.to_string()), third, "{third}");
    }

    #[test]
    fn arithmetic_is_exact_before_it_is_rounded() {
        let n = Quadruple::literal;
        assert_eq!(n("1.0").over(n("3.0")).to_bits(), 0x3ffd_5555_5555_5555_5555_5555_5555_5555);
        // The operands are rounded themselves, so that the product is the next value after 1.
        assert_eq!(n("1e4000").times(n("1e-4000")).to_bits(), 0x3fff << 112 | 1);
        assert_eq!(n("1e4000").times(n("0.5")), n("5e3999"));
        assert_eq!(n("1.5").plus(n("2.25")), n("3.75"));
        assert_eq!(n("1.5").plus(n("2.25").negated()), n("0.75").negated());
        assert_eq!(n("1.5").plus(n("1.5").negated()), Quadruple::ZERO);
        assert_eq!(n("1e4000").plus(n("1e-4000")), n("1e4000"));
        assert!(!n("1e4000").times(n("1e4000")).is_finite());
        assert!(!n("1.0").over(n("0.0")).is_finite());
        assert!(n("1e-4000").times(n("1e-4000")).is_zero());
    }
}
