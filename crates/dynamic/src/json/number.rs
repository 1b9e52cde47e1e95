//! Numbers that JSON cannot represent.

use oxorb_cdr::LongDouble;

/// Largest integer that every JSON reader represents exactly: readers may store numbers as
/// `double`.
pub(super) const EXACT: u64 = (1 << 53) - 1;

/// Returns text that reads back as the same number: decimal if the number is exact as a `double`,
/// else in the hexadecimal notation of C.
pub(super) fn show_long_double(value: LongDouble) -> String {
    let near = value.to_f64();
    if near.is_nan() {
        return "NaN".to_owned();
    }
    if LongDouble::from(near) == value {
        return match near {
            f64::INFINITY => "Infinity".to_owned(),
            f64::NEG_INFINITY => "-Infinity".to_owned(),
            near => near.to_string(),
        };
    }
    let bits = value.to_bits();
    let sign = if bits >> 127 == 1 { "-" } else { "" };
    let exponent = (bits >> 112 & 0x7fff) as i32;
    let (leading, exponent) = match exponent {
        0 => (0, -16382),
        exponent => (1, exponent - 16383),
    };
    let fraction = format!("{:028x}", bits & ((1 << 112) - 1));
    let fraction = fraction.trim_end_matches('0');
    format!("{sign}0x{leading}.{fraction}p{exponent:+}")
}

/// Parses a hexadecimal number or an integer of up to 113 bits, exactly, or a decimal number, with the precision of a
/// `double`.
pub(super) fn read_long_double(text: &str) -> Option<LongDouble> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (1 << 127, magnitude),
        None => (0, text),
    };
    let Some(digits) = magnitude.strip_prefix("0x") else {
        let integer = magnitude.parse().ok().filter(|_| magnitude.starts_with(digit));
        return match integer.and_then(whole_long_double) {
            Some(bits) => Some(LongDouble::from_bits(sign | bits)),
            None => read_double(text).map(LongDouble::from),
        };
    };
    let (mantissa, exponent) = digits.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (leading, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if fraction.len() > 28 || !fraction.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let fraction = match fraction.len() {
        0 => 0,
        length => u128::from_str_radix(fraction, 16).ok()? << (4 * (28 - length)),
    };
    let biased = match leading {
        "1" if (-16382..=16383).contains(&exponent) => (exponent + 16383) as u128,
        "0" if exponent == -16382 => 0,
        _ => return None,
    };
    Some(LongDouble::from_bits(sign | biased << 112 | fraction))
}

fn digit(character: char) -> bool {
    character.is_ascii_digit()
}

/// Returns the bits of an integer; `None` if it has more than 113 bits.
fn whole_long_double(integer: u128) -> Option<u128> {
    let Some(leading) = integer.checked_ilog2() else {
        return Some(0);
    };
    let fraction = integer.checked_shl(112_u32.checked_sub(leading)?)? & ((1 << 112) - 1);
    Some(u128::from(16383 + leading) << 112 | fraction)
}

/// Parses a decimal number, or a name of a number that JSON cannot represent.
pub(super) fn read_double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        // Require a digit at the end: Rust also parses "inf" and "infinity" in any case, which the
        // mapping does not define.
        text if text.ends_with(|last: char| last.is_ascii_digit() || last == '.') => {
            text.parse().ok().filter(|value: &f64| value.is_finite())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_long_double_comes_back() {
        let exact = [0.0, -0.0, 1.5, -1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
        for number in exact {
            let value = LongDouble::from(number);
            assert_eq!(read_long_double(&show_long_double(value)), Some(value), "{number}");
        }
        let third = 0x3ffd_5555_5555_5555_5555_5555_5555_5555;
        let largest = 0xfffe_ffff_ffff_ffff_ffff_ffff_ffff_ffff;
        for (text, bits) in [
            ("0", 0),
            ("-0", 1 << 127),
            ("9007199254740993", 0x4034_0000_0000_0000_0800_0000_0000_0000),
            ("-3", 1 << 127 | 0x4000 << 112 | 1 << 111),
        ] {
            assert_eq!(read_long_double(text), Some(LongDouble::from_bits(bits)), "{text}");
        }
        let large = "1".repeat(40);
        assert_eq!(read_long_double(&large), Some(LongDouble::from(large.parse::<f64>().unwrap())));
        for bits in [third, largest, 1, 1 << 127 | 3 << 60] {
            let value = LongDouble::from_bits(bits);
            let text = show_long_double(value);
            assert_eq!(read_long_double(&text), Some(value), "{text}");
        }
        assert_eq!(
            show_long_double(LongDouble::from_bits(third)),
            "0x1.5555555555555555555555555555p-2"
        );
        assert_eq!(show_long_double(LongDouble::from(f64::NAN)), "NaN");
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", "x", "inf", "nan", "0x", "0x1p", "0x2.0p0", "0x1.p99999", "0x1.+1p0"] {
            assert_eq!(read_long_double(text), None, "{text}");
        }
    }
}
