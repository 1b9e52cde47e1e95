//! `long double` in the standard format, as `f64`, and in the format of C++ on x86.

use oxorb_cdr::LongDouble;
use proptest::prelude::*;

proptest! {
    #[test]
    fn an_f64_survives(bits: u64) {
        let number = f64::from_bits(bits);
        let back = LongDouble::from(number).to_f64();
        prop_assert!(back.to_bits() == bits || number.is_nan() && back.is_nan());
    }

    #[test]
    fn an_f64_survives_x87(bits: u64) {
        let number = f64::from_bits(bits);
        let back = LongDouble::from_x87(LongDouble::from(number).to_x87()).to_f64();
        prop_assert!(back.to_bits() == bits || number.is_nan() && back.is_nan());
    }

    #[test]
    fn every_x87_number_survives(mantissa: u64, exponent in prop_oneof![Just(0u128), Just(1), 0u128..0x7FFF], negative: bool) {
        // The leading bit of the mantissa is one in a normal x87 number, and zero in a subnormal
        // one.
        let mantissa = if exponent == 0 { mantissa >> 1 } else { mantissa | 1 << 63 };
        let raw = u128::from(negative) << 79 | exponent << 64 | u128::from(mantissa);
        prop_assert_eq!(LongDouble::from_x87(raw).to_x87(), raw);
    }

    /// Rounding between two adjacent `f64` yields the nearer one.
    #[test]
    fn rounding_goes_to_the_nearest(bits in 0u64..0x7FE0_0000_0000_0000, part in 1u128..(1 << 60)) {
        let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + 1));
        prop_assume!(bits >> 52 > 0); // where the step between neighbours is one unit of bit 60
        let between = LongDouble::from_bits(LongDouble::from(low).to_bits() + part);
        let half = 1 << 59;
        let expected = match part.cmp(&half) {
            std::cmp::Ordering::Less => low,
            std::cmp::Ordering::Greater => high,
            std::cmp::Ordering::Equal => if bits & 1 == 0 { low } else { high },
        };
        prop_assert_eq!(between.to_f64(), expected);
    }
}

#[test]
fn special_values() {
    assert_eq!(LongDouble::from(0.0).to_bits(), 0);
    assert_eq!(LongDouble::from(-0.0).to_bits(), 1 << 127);
    assert_eq!(LongDouble::from(1.0).to_bits(), 0x3FFF << 112);
    assert_eq!(LongDouble::from(-2.5).to_bits(), 0xC0004 << 108);
    assert_eq!(LongDouble::from(f64::INFINITY).to_bits(), 0x7FFF << 112);
    assert_eq!(LongDouble::from(f64::from_bits(1)).to_bits(), (16383 - 1074) << 112, "2^-1074");
    assert!(LongDouble::from(f64::NAN).to_f64().is_nan());
    // A NaN stays a NaN even if its payload is only in bits that the narrower format lacks.
    assert!(LongDouble::from_bits(0x7FFF << 112 | 1).to_f64().is_nan());
    assert!(
        LongDouble::from_x87(LongDouble::from_bits(0x7FFF << 112 | 1).to_x87()).to_f64().is_nan()
    );
}

#[test]
fn what_does_not_fit_becomes_infinite_or_zero() {
    let huge = LongDouble::from_bits((16383 + 1024) << 112);
    assert_eq!(huge.to_f64(), f64::INFINITY);
    let nearly = LongDouble::from_bits((16383 + 1023) << 112 | ((1 << 112) - 1));
    assert_eq!(nearly.to_f64(), f64::INFINITY, "rounded up beyond the largest f64");
    let tiny = LongDouble::from_bits((16383 - 1076) << 112);
    assert_eq!(tiny.to_f64(), 0.0);
    let half_of_the_smallest = LongDouble::from_bits((16383 - 1075) << 112);
    assert_eq!(half_of_the_smallest.to_f64(), 0.0, "a tie goes to even");
    let more_than_half = LongDouble::from_bits((16383 - 1075) << 112 | 1);
    assert_eq!(more_than_half.to_f64(), f64::from_bits(1));
    assert_eq!(LongDouble::from_bits(1).to_f64(), 0.0);
    let largest = LongDouble::from_bits((0x7FFF << 112) - 1);
    assert_eq!(
        LongDouble::from_x87(largest.to_x87()).to_f64(),
        f64::INFINITY,
        "rounded up beyond the largest x87"
    );
}

#[test]
fn x87_examples() {
    // Taken from the memory of `long double` variables of a C++ program on x86-64.
    for (raw, number) in [
        (0x3FFF_8000000000000000, 1.0),
        (0xC000_A000000000000000, -2.5),
        (0x3FFD_AAAAAAAAAAAAA800, 1.0 / 3.0),
        (0x7FFF_8000000000000000, f64::INFINITY),
        (0x8000_0000000000000000, -0.0),
    ] {
        assert_eq!(LongDouble::from_x87(raw), LongDouble::from(number));
        assert_eq!(LongDouble::from(number).to_x87(), raw);
        assert_eq!(
            LongDouble::from_x87(raw | 0xFFFF << 112),
            LongDouble::from(number),
            "six octets mean nothing"
        );
    }
}
