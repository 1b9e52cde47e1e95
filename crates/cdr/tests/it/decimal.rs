//! Decimal numbers: as text, in arithmetic, and as octets.

use oxorb_cdr::{
    ByteOrder, Decimal, DecimalError, Decode, Decoder, Dialect, Encode, Encoder, ErrorKind,
    FixedPoint, TypeCode, Typed,
};
use proptest::prelude::*;

use crate::types::{reader, written};

fn decimal() -> impl Strategy<Value = Decimal> {
    const BELOW: i128 = 10i128.pow(31);
    let magnitude = (0u32..=31, 1 - BELOW..BELOW).prop_map(|(digits, n)| n % 10i128.pow(digits));
    (magnitude, 0u8..=31).prop_map(|(n, scale)| Decimal::new(n, scale).expect("31 digits"))
}

fn number(text: &str) -> Decimal {
    text.parse().expect("a number")
}

proptest! {
    #[test]
    fn text_is_read_back(n in decimal()) {
        let read: Decimal = n.to_string().parse().expect("just written");
        prop_assert_eq!((read.unscaled(), read.scale()), (n.unscaled(), n.scale()));
        prop_assert_eq!(format!("{n:?}").parse(), Ok(n));
        prop_assert_eq!(n.normalized(), n);
    }

    #[test]
    fn order_is_that_of_numbers(a in decimal(), b in decimal()) {
        // Compares the digits as text of equal width, which needs no arithmetic and so no rounding.
        let key = |n: Decimal| {
            let text = n.to_string();
            let magnitude = text.trim_start_matches('-');
            let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
            (format!("{whole:0>40}{fraction:0<40}"), n.unscaled() < 0)
        };
        let ((x, minus_x), (y, minus_y)) = (key(a), key(b));
        let expected = match (minus_x, minus_y) {
            (false, false) => x.cmp(&y),
            (true, true) => y.cmp(&x),
            (minus, _) => if minus { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater },
        };
        prop_assert_eq!(a.cmp(&b), expected);
    }

    #[test]
    fn small_sums_and_products_are_exact(a in -10i128.pow(14)..10i128.pow(14), b in -10i128.pow(14)..10i128.pow(14), s in 0u8..9, t in 0u8..9) {
        let (x, y) = (Decimal::new(a, s).unwrap(), Decimal::new(b, t).unwrap());
        let common = s.max(t);
        let up = |n: i128, scale: u8| n * 10i128.pow((common - scale).into());
        prop_assert_eq!(x + y, Decimal::new(up(a, s) + up(b, t), common).unwrap());
        prop_assert_eq!(x - y, Decimal::new(up(a, s) - up(b, t), common).unwrap());
        prop_assert_eq!(x * y, Decimal::new(a * b, s + t).unwrap());
        prop_assert_eq!((x + y) - y, x);
    }

    #[test]
    fn a_quotient_is_the_largest_that_is_not_too_large(a in 0i128..10i128.pow(12), b in 1i128..10i128.pow(6), s in 0u8..6) {
        let (x, y) = (Decimal::new(a, s).unwrap(), Decimal::new(b, 0).unwrap());
        let quotient = x.checked_div(y).expect("fits").truncated(9.max(s)).expect("fits");
        let last = Decimal::new(1, quotient.scale()).unwrap();
        prop_assert!(quotient * y <= x);
        prop_assert!((quotient + last) * y > x);
        prop_assert_eq!((-x).checked_div(y), x.checked_div(-y));
    }

    #[test]
    fn arithmetic_ends_with_a_number_or_an_error(a in decimal(), b in decimal()) {
        for result in [a.checked_add(b), a.checked_sub(b), a.checked_mul(b), a.checked_div(b)] {
            match result {
                Ok(n) => prop_assert!(Decimal::new(n.unscaled(), n.scale()).is_some()),
                Err(error) => prop_assert!(error == DecimalError::Overflow || b == Decimal::ZERO),
            }
        }
        prop_assert_eq!(a.checked_add(b), b.checked_add(a));
        prop_assert_eq!(a.checked_mul(b), b.checked_mul(a));
        // If digits were dropped, the result differs from the exact one by less than one unit of its last digit.
        if let Ok(product) = a.checked_mul(b) {
            let approximate = a.to_f64() * b.to_f64();
            let tolerance = approximate.abs() * 1e-12 + 2.0 * 10f64.powi(-i32::from(product.scale()));
            prop_assert!((product.to_f64() - approximate).abs() <= tolerance);
        }
        if let Ok(sum) = a.checked_add(b) {
            let approximate = a.to_f64() + b.to_f64();
            let tolerance = (a.to_f64().abs() + b.to_f64().abs()) * 1e-12 + 2.0 * 10f64.powi(-i32::from(sum.scale()));
            prop_assert!((sum.to_f64() - approximate).abs() <= tolerance);
        }
    }

    #[test]
    fn octets_are_read_back(n in decimal(), extra in 0u16..5) {
        let scale = n.scale();
        let digits = (u16::from(n.digits()) + extra).min(31);
        let message = written(ByteOrder::Big, 1, |e| e.decimal(n, digits, scale).expect("fits"));
        prop_assert_eq!(message.len(), 1 + usize::from(digits) / 2 + 1);
        let mut decoder = reader(&message, ByteOrder::Big, 1);
        let read = decoder.decimal(digits, scale).expect("just written");
        prop_assert_eq!((read.unscaled(), read.scale()), (n.unscaled(), scale));
        prop_assert_eq!(decoder.remaining(), 0);

        // JacORB omits leading zeros, so the number must be readable without them.
        let zeros = message[1..message.len() - 1].iter().take_while(|&&octet| octet == 0).count();
        let mut decoder = reader(&message, ByteOrder::Big, 1 + zeros);
        prop_assert_eq!(decoder.decimal(digits, scale), Ok(n));
    }

    #[test]
    fn any_octets_are_a_number_or_an_error(octets in any::<[u8; 16]>(), digits in 0u16..40, scale in 0u8..40) {
        if let Ok(n) = reader(&octets, ByteOrder::Big, 0).decimal(digits, scale) {
            prop_assert!(n.fit(digits, scale).is_ok());
        }
    }
}

#[test]
fn octets_written_by_hand() {
    let octets = |text: &str, digits, scale| {
        written(ByteOrder::Big, 0, |e| {
            e.decimal(number(text), digits, scale).expect("fits");
        })
    };
    assert_eq!(octets("0", 1, 0), [0x0C]);
    assert_eq!(octets("-7", 1, 0), [0x7D]);
    assert_eq!(octets("12", 2, 0), [0x01, 0x2C]);
    assert_eq!(octets("-12.5", 5, 2), [0x01, 0x25, 0x0D]);
    assert_eq!(octets("0.01", 4, 2), [0x00, 0x00, 0x1C]);
    assert_eq!(octets("-0", 3, 1), [0x00, 0x0C]);
    let most = "9".repeat(31);
    assert_eq!(octets(&most, 31, 0)[..], [&[0x99; 15][..], &[0x9C]].concat());
}

#[test]
fn wrong_octets_are_refused() {
    let read = |octets: &[u8], digits, scale| {
        reader(octets, ByteOrder::Big, 0).decimal(digits, scale).map_err(|error| error.kind)
    };
    assert_eq!(read(&[0x1A], 1, 0), Err(ErrorKind::BadFixed));
    assert_eq!(read(&[0xA1, 0x1C], 3, 0), Err(ErrorKind::BadFixed));
    assert_eq!(read(&[0x11, 0x11, 0x1C], 3, 0), Err(ErrorKind::BadFixed));
    // The octets of `fixed<2, 0>` have space for three digits, of which the first must be zero.
    assert_eq!(read(&[0x12, 0x3C], 2, 0), Err(ErrorKind::BadFixed));
    assert!(matches!(read(&[0x11], 3, 0), Err(ErrorKind::Truncated { .. })));
    assert_eq!(read(&[0x1C], 32, 0), Err(ErrorKind::BadTypeCode));
    assert_eq!(read(&[0x1C], 0, 0), Err(ErrorKind::BadTypeCode));
    assert_eq!(read(&[0x1C], 1, 2), Err(ErrorKind::BadTypeCode));
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let write = |text: &str, digits, scale| {
        let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        let written = encoder.decimal(number(text), digits, scale);
        written.map_err(|error| error.kind)
    };
    assert_eq!(write("1.25", 3, 1), Err(ErrorKind::BadValue));
    assert_eq!(write("1.20", 2, 1), Ok(()));
    assert!(matches!(write("123", 2, 0), Err(ErrorKind::BoundExceeded { bound: 2, .. })));
    assert_eq!(write("1", 32, 0), Err(ErrorKind::BadTypeCode));
}

#[test]
fn text_of_every_form() {
    for (text, shown) in [
        ("1", "1"),
        ("+1", "1"),
        ("-0.50", "-0.50"),
        (".5", "0.5"),
        ("5.", "5"),
        ("0003.14d", "3.14"),
        ("-0", "0"),
    ] {
        assert_eq!(number(text).to_string(), shown);
    }
    for text in ["", ".", "-", "d", "1e5", "1.2.3", "--1", "1 ", "٣"] {
        assert_eq!(text.parse::<Decimal>(), Err(DecimalError::NotANumber), "{text}");
    }
    for text in [&"1".repeat(32), &format!("0.{}", "0".repeat(32))] {
        assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Overflow), "{text}");
    }
    assert_eq!(format!("{:>6}|{:+}", number("1.5"), number("1.5")), "   1.5|+1.5");
}

#[test]
fn digits_as_idl_counts_them() {
    let digits = |text: &str| (number(text).digits(), number(text).scale());
    assert_eq!(digits("0"), (1, 0));
    assert_eq!(digits("0.01"), (2, 2));
    assert_eq!(digits("12.50"), (4, 2));
    assert_eq!(number("12.50").normalized().digits(), 3);
}

#[test]
fn rounding_and_truncation() {
    let rounded = |text: &str, scale| number(text).rounded(scale).map(|n| n.to_string());
    assert_eq!(rounded("1.25", 1), Ok("1.3".into()));
    assert_eq!(rounded("-1.25", 1), Ok("-1.3".into()));
    assert_eq!(rounded("1.24", 1), Ok("1.2".into()));
    assert_eq!(rounded("9.99", 1), Ok("10.0".into()));
    assert_eq!(rounded("1.5", 3), Ok("1.500".into()));
    assert_eq!(rounded("0.5", 0), Ok("1".into()));
    let all = format!("0.{}", "9".repeat(31));
    assert_eq!(rounded(&all, 0), Ok("1".into()));
    assert_eq!(rounded("1", 31), Err(DecimalError::Overflow));
    assert_eq!(number("-1.29").truncated(1), Ok(number("-1.2")));
    assert_eq!(number("1.29").rescaled(1), Err(DecimalError::Inexact));
}

#[test]
fn more_than_31_digits_are_dropped() {
    let nines = Decimal::MAX;
    assert_eq!(nines.checked_add(Decimal::from(1)), Err(DecimalError::Overflow));
    assert_eq!(nines.checked_mul(nines), Err(DecimalError::Overflow));
    let fraction = number(&format!("0.{}", "9".repeat(31)));
    assert_eq!((fraction * fraction).to_string(), format!("0.{}8", "9".repeat(30)));
    // With 31 digits before the decimal point, no digit after it can be stored.
    assert_eq!(nines - number("0.9"), number(&format!("{}8", "9".repeat(30))));
    let third = Decimal::from(1) / Decimal::from(3);
    assert_eq!(third.to_string(), format!("0.{}", "3".repeat(31)));
    assert_eq!((Decimal::from(100) / Decimal::from(3)).digits(), 31);
    assert_eq!(Decimal::from(1).checked_div(Decimal::ZERO), Err(DecimalError::DivisionByZero));
    assert_eq!(Decimal::from(6) / number("0.03"), Decimal::from(200));
}

#[test]
fn a_fixed_point_is_a_type() {
    type Price = FixedPoint<7, 2>;
    assert_eq!(Price::type_code(), TypeCode::fixed(7, 2));
    let prices = [number("1.5"), number("-99999.99")].map(|n| Price::new(n).expect("fits"));
    let message = written(ByteOrder::Little, 0, |e| {
        e.copy_octets(&[]);
        prices[0].get();
        prices.iter().for_each(|price| e.decimal(price.get(), 7, 2).expect("fits"));
    });
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::GIOP_1_2);
    prices.encode(&mut encoder).expect("fits");
    assert_eq!(encoder.finish().to_vec(), message);
    let mut decoder = Decoder::new(&message, ByteOrder::Little, Dialect::GIOP_1_2);
    assert_eq!(Decode::decode(&mut decoder), Ok(prices));
    assert_eq!(Price::default().to_string(), "0.00");
    assert_eq!(Price::try_from(number("100000")), Err(DecimalError::Overflow));
}
