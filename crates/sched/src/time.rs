//! Times in whole nanoseconds, their notation, and the frame of several periods.

use std::fmt;

/// Time in nanoseconds.
pub type Nanos = u64;

/// Longest time that may be declared: 2^60 ns, 36 years. Sums of two never overflow.
pub const LONGEST: Nanos = 1 << 60;

/// Number of nanoseconds in a microsecond.
pub const MICROSECOND: Nanos = 1_000;
/// Number of nanoseconds in a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// Number of nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;

/// Reason why a text is not a valid time.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Text that is not a number followed by a unit.
    #[error("{0:?} is not a time; write for example \"18 ms\" or \"2.5 us\"")]
    Syntax(String),
    /// Unit other than ns, us, ms, s and, for a period, Hz.
    #[error("{0:?} has no known unit: ns, us, ms, s (or Hz, for a period)")]
    Unit(String),
    /// Time finer than a nanosecond.
    #[error("{0:?} is finer than a nanosecond")]
    TooFine(String),
    /// Time longer than [`LONGEST`].
    #[error("{0:?} overflows: the maximum is 36 years")]
    TooLong(String),
}

impl fmt::Debug for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Parses a time such as `18 ms`, `2.5us`, `1 s` or `100 ns`.
///
/// # Errors
/// [`TimeError`].
///
/// ```
/// use oxorb_sched::time::{parse, parse_period};
///
/// assert_eq!(parse("18 ms"), Ok(18_000_000));
/// assert_eq!(parse("2.5us"), Ok(2_500));
/// assert_eq!(parse_period("20 Hz"), Ok(50_000_000));
/// assert!(parse("18").is_err());
/// ```
pub fn parse(text: &str) -> Result<Nanos, TimeError> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "ns" => 1,
        "us" | "µs" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        _ => return Err(TimeError::Unit(text.into())),
    };
    let (nanos, rest) = multiply(number, u128::from(scale))
        .ok_or_else(|| TimeError::Syntax(text.into()))?
        .ok_or_else(|| TimeError::TooLong(text.into()))?;
    if rest {
        return Err(TimeError::TooFine(text.into()));
    }
    match Nanos::try_from(nanos) {
        Ok(nanos) if nanos <= LONGEST => Ok(nanos),
        _ => Err(TimeError::TooLong(text.into())),
    }
}

/// Parses a period: a time, or a rate such as `20 Hz`. Rounds the period of a rate down to whole
/// nanoseconds, which is the safe side.
///
/// # Errors
/// [`TimeError`]; 0 Hz is [`TooLong`](TimeError::TooLong).
pub fn parse_period(text: &str) -> Result<Nanos, TimeError> {
    let (number, unit) = split(text)?;
    if unit != "Hz" {
        return parse(text);
    }
    let (microhertz, rest) = multiply(number, 1_000_000)
        .ok_or_else(|| TimeError::Syntax(text.into()))?
        .ok_or_else(|| TimeError::TooLong(text.into()))?;
    if rest {
        return Err(TimeError::TooFine(text.into()));
    }
    let period = (u128::from(SECOND) * 1_000_000).checked_div(microhertz);
    match period.map(Nanos::try_from) {
        Some(Ok(0)) => Err(TimeError::TooFine(text.into())),
        Some(Ok(period)) => Ok(period),
        _ => Err(TimeError::TooLong(text.into())),
    }
}

fn split(text: &str) -> Result<(&str, &str), TimeError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match (number, unit.trim()) {
        ("", _) => Err(TimeError::Syntax(text.into())),
        (_, "") => Err(TimeError::Unit(text.into())),
        found => Ok(found),
    }
}

/// Multiplies a decimal number by `scale` and reports whether the product has a fraction. Returns
/// `None` for a text that is not a number and `Some(None)` for an overflow.
fn multiply(number: &str, scale: u128) -> Option<Option<(u128, bool)>> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    // These limits keep the product below within 128 bits. No valid time exceeds them: `LONGEST`
    // has 19 digits.
    if whole.len() > 19 || fraction.len() > 15 {
        return Some(None);
    }
    let tens = 10u128.pow(fraction.len() as u32);
    let digits = whole.parse::<u128>().ok()? * tens + fraction.parse::<u128>().ok()?;
    let scaled = digits.checked_mul(scale);
    Some(scaled.map(|scaled| (scaled / tens, scaled % tens != 0)))
}

/// Time that is displayed with a unit, such as `18 ms` or `2.5 us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Show(pub Nanos);

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0 => return f.pad("0"),
            SECOND.. => (SECOND, "s"),
            MILLISECOND.. => (MILLISECOND, "ms"),
            MICROSECOND.. => (MICROSECOND, "us"),
            _ => (1, "ns"),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return f.pad(&format!("{whole} {unit}"));
        }
        let digits = scale.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        f.pad(&format!("{whole}.{} {unit}", fraction.trim_end_matches('0')))
    }
}

/// Signed time that is displayed with a unit, such as a laxity of `-2.5 ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShowSigned(pub i64);

impl fmt::Display for ShowSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        f.pad(&format!("{sign}{}", Show(self.0.unsigned_abs())))
    }
}

/// Returns the frame of several periods: their least common multiple, after which all periods are
/// in phase again. For harmonic periods it is the longest one.
///
/// Paper 3 (B.1) multiplies by the greatest common divisor, so that its result would always be 1.
/// Periods of 0 are ignored; without any other period the frame is 1. Returns `None` if the frame
/// is longer than [`LONGEST`].
///
/// ```
/// use oxorb_sched::time::frame;
///
/// assert_eq!(frame([4, 6]), Some(12));
/// assert_eq!(frame([50, 100, 200, 1000]), Some(1000));
/// ```
pub fn frame(periods: impl IntoIterator<Item = Nanos>) -> Option<Nanos> {
    let mut declared = periods.into_iter().filter(|&period| period > 0);
    declared.try_fold(1u64, |frame, period| {
        let step = period.checked_div(common_divisor(frame, period))?;
        frame.checked_mul(step).filter(|&frame| frame <= LONGEST)
    })
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_shown() {
        for nanos in [1, 999, 1_000, 2_500, 18_000_000, 1_296_000_000, LONGEST] {
            assert_eq!(parse(&Show(nanos).to_string()), Ok(nanos));
        }
        assert_eq!(Show(2_500).to_string(), "2.5 us");
        assert_eq!(ShowSigned(-1_500_000).to_string(), "-1.5 ms");
    }

    #[test]
    fn what_is_wrong_with_a_time_is_told() {
        assert!(matches!(parse("ms"), Err(TimeError::Syntax(_))));
        assert!(matches!(parse("5"), Err(TimeError::Unit(_))));
        assert!(matches!(parse("5 Hz"), Err(TimeError::Unit(_))));
        assert!(matches!(parse("1.2.3 ms"), Err(TimeError::Syntax(_))));
        assert!(matches!(parse("0.5 ns"), Err(TimeError::TooFine(_))));
        assert!(matches!(parse("99999999999 s"), Err(TimeError::TooLong(_))));
        assert!(matches!(parse("99999999999999999999999 s"), Err(TimeError::TooLong(_))));
        assert!(matches!(parse_period("0 Hz"), Err(TimeError::TooLong(_))));
        assert_eq!(parse_period("3 Hz"), Ok(333_333_333));
        assert_eq!(parse_period("0.5 Hz"), Ok(2 * SECOND));
    }

    #[test]
    fn a_frame_that_is_too_long_is_none() {
        let primes = [1_000_000_007, 1_000_000_009, 1_000_000_021, 1_000_000_033];
        assert_eq!(frame(primes), None);
        assert_eq!(frame([]), Some(1));
        assert_eq!(frame([5, 0, 7]), Some(35));
    }
}
