//! Durations on the command line: a number and a unit, such as `300ms`, `1.5s` or `2m`.
//!
//! All options of OxORB's programs that are durations use [`DurationParser`], so that they accept
//! the same forms. Each option decides the unit of a number without a unit.

use std::ffi::OsStr;
use std::time::Duration;

use clap::builder::TypedValueParser;

/// Value name of options that are durations.
pub const VALUE_NAME: &str = "DURATION";

/// Length of a day.
pub const DAY: Duration = Duration::from_secs(24 * 3600);

/// Maximum of options that have no maximum of their own: 50 years, which all systems can add to
/// the current time. Longer durations are lowered to it.
pub const LONGEST: Duration = Duration::from_secs(50 * 365 * 24 * 3600);

/// Names of the units, the length of each in nanoseconds, and its name in messages.
const UNITS: [(&str, u128, &str); 8] = [
    ("ns", 1, "nanoseconds"),
    ("us", 1_000, "microseconds"),
    ("µs", 1_000, "microseconds"),
    ("ms", 1_000_000, MILLISECONDS),
    ("s", 1_000_000_000, SECONDS),
    ("m", 60_000_000_000, "minutes"),
    ("h", 3_600_000_000_000, "hours"),
    ("d", 86_400_000_000_000, DAYS),
];

const MILLISECONDS: &str = "milliseconds";
const SECONDS: &str = "seconds";
const DAYS: &str = "days";

/// Parser of a duration for clap.
///
/// A duration is a decimal number and one of the units ns, us, ms, s, m, h and d. White space may
/// separate the two. A fraction of a nanosecond is dropped.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_terminal::duration::milliseconds;
///
/// assert_eq!(milliseconds().parse("1.5s"), Ok(Duration::from_millis(1500)));
/// assert_eq!(milliseconds().parse("50us"), Ok(Duration::from_micros(50)));
/// assert_eq!(milliseconds().parse("250"), Ok(Duration::from_millis(250)));
/// assert!(milliseconds().parse("5 parsecs").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DurationParser {
    /// Unit of a number without a unit; `None` refuses such a number.
    bare: Option<&'static str>,
    least: Duration,
    /// Maximum; `None` lowers durations to [`LONGEST`].
    most: Option<Duration>,
    /// Duration of which each value must be a multiple.
    step: Option<Duration>,
}

/// Returns the parser for options whose number without a unit is milliseconds.
pub const fn milliseconds() -> DurationParser {
    DurationParser::of(Some(MILLISECONDS))
}

/// Returns the parser for options whose number without a unit is seconds.
pub const fn seconds() -> DurationParser {
    DurationParser::of(Some(SECONDS))
}

/// Returns the parser for options whose number without a unit is days.
pub const fn days() -> DurationParser {
    DurationParser::of(Some(DAYS))
}

/// Returns the parser for options that need a unit.
pub const fn with_unit() -> DurationParser {
    DurationParser::of(None)
}

/// Returns a duration in the largest unit that needs no fraction, in the notation that
/// [`DurationParser`] accepts.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_terminal::duration::text;
///
/// assert_eq!(text(Duration::from_millis(1500)), "1500ms");
/// assert_eq!(text(Duration::from_secs(600)), "10m");
/// assert_eq!(text(Duration::ZERO), "0s");
/// ```
pub fn text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut units = UNITS.iter().rev().filter(|(unit, ..)| unit.is_ascii());
    let found = units.find(|(_, length, _)| nanos.is_multiple_of(*length));
    let (unit, length, _) = found.expect("each duration is a whole number of nanoseconds");
    format!("{}{unit}", nanos / length)
}

impl DurationParser {
    const fn of(bare: Option<&'static str>) -> DurationParser {
        DurationParser { bare, least: Duration::ZERO, most: None, step: None }
    }

    /// Refuses a duration of 0.
    #[must_use]
    pub const fn positive(self) -> DurationParser {
        self.at_least(Duration::from_nanos(1))
    }

    /// Refuses durations shorter than `least`.
    #[must_use]
    pub const fn at_least(mut self, least: Duration) -> DurationParser {
        self.least = least;
        self
    }

    /// Refuses durations longer than `most`.
    #[must_use]
    pub const fn at_most(mut self, most: Duration) -> DurationParser {
        self.most = Some(most);
        self
    }

    /// Refuses durations that are not a multiple of `step`, which must not be 0.
    #[must_use]
    pub const fn in_steps_of(mut self, step: Duration) -> DurationParser {
        self.step = Some(step);
        self
    }

    /// Parses a duration.
    ///
    /// # Errors
    /// A text that is not a duration, or a duration out of the limits; the message gives the
    /// accepted forms or the limit.
    pub fn parse(&self, text: &str) -> Result<Duration, String> {
        let nanos = self.nanos(text.trim()).ok_or_else(|| self.expected())?;
        let most = self.most.unwrap_or(LONGEST);
        let duration = match u64::try_from(nanos).map(Duration::from_nanos) {
            Ok(duration) if duration <= most => duration,
            _ if self.most.is_some() => {
                return Err(format!("the maximum is {}", self::text(most)));
            }
            _ => most,
        };
        if duration < self.least {
            return Err(match self.least == Duration::from_nanos(1) {
                true => "it must be longer than 0".to_owned(),
                false => format!("the minimum is {}", self::text(self.least)),
            });
        }
        match self.step {
            Some(step) if !duration.as_nanos().is_multiple_of(step.as_nanos()) => {
                Err(format!("it must be a multiple of {}", self::text(step)))
            }
            _ => Ok(duration),
        }
    }

    /// Returns the number of nanoseconds, saturated; `None` for a text that is not a duration.
    fn nanos(&self, text: &str) -> Option<u128> {
        let text = text.strip_prefix('+').unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim_start();
        let mut units = UNITS.iter();
        let (_, length, _) = match unit {
            "" => units.find(|(.., name)| Some(*name) == self.bare)?,
            unit => units.find(|(name, ..)| *name == unit)?,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.len() + fraction.len() == 0 {
            return None;
        }
        let whole = match whole {
            "" => 0,
            // Only a number with too many digits is not an `u128`.
            whole => whole.parse().unwrap_or(u128::MAX),
        };
        // Further digits stand for less than a nanosecond of each unit.
        let fraction = fraction.get(..fraction.len().min(15)).unwrap_or_default();
        let tens = 10_u128.pow(fraction.len() as u32);
        let part = match fraction {
            "" => 0,
            fraction => fraction.parse::<u128>().ok()? * length / tens,
        };
        Some(whole.saturating_mul(*length).saturating_add(part))
    }

    fn expected(&self) -> String {
        const FORMS: &str =
            "expected a number and a unit (ns, us, ms, s, m, h or d), such as 300ms, 1.5s or 2m";
        match self.bare {
            Some(unit) => format!("{FORMS}; a bare number is {unit}"),
            None => FORMS.to_owned(),
        }
    }
}

impl TypedValueParser for DurationParser {
    type Value = Duration;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Duration, clap::Error> {
        // The parser of a closure builds the error, which names the option and the text.
        let parser = *self;
        parse_by(move |text: &str| parser.parse(text), command, argument, value)
    }
}

fn parse_by<P>(
    parse: P,
    command: &clap::Command,
    argument: Option<&clap::Arg>,
    value: &OsStr,
) -> Result<Duration, clap::Error>
where
    P: Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static,
{
    parse.parse_ref(command, argument, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_number_and_a_unit_is_a_duration() {
        for (text, expected) in [
            ("5s", 5000 * MS),
            ("300ms", 300 * MS),
            ("2m", 120_000 * MS),
            ("1.5s", 1500 * MS),
            ("50us", MS / 20),
            ("50µs", MS / 20),
            ("7ns", Duration::from_nanos(7)),
            ("1h", 3_600_000 * MS),
            ("2d", 2 * DAY),
            (" 100 us ", MS / 10),
            ("+5s", 5000 * MS),
            (".5ms", MS / 2),
            ("3.s", 3000 * MS),
            ("0s", Duration::ZERO),
            // Less than a nanosecond is dropped.
            ("0.0000000019s", Duration::from_nanos(1)),
            ("1.00000000000000000000000000000000000000000001s", 1000 * MS),
        ] {
            for parser in [milliseconds(), seconds(), days(), with_unit()] {
                assert_eq!(parser.parse(text), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn a_bare_number_has_the_unit_of_the_option() {
        assert_eq!(milliseconds().parse("250"), Ok(250 * MS));
        assert_eq!(seconds().parse("0.5"), Ok(500 * MS));
        assert_eq!(days().parse("90"), Ok(90 * DAY));
        for (parser, unit) in
            [(milliseconds(), "is milliseconds"), (seconds(), "is seconds"), (days(), "is days")]
        {
            let why = parser.parse("x").unwrap_err();
            assert!(why.contains("300ms, 1.5s or 2m") && why.ends_with(unit), "{why}");
        }
        let why = with_unit().parse("5").unwrap_err();
        assert!(why.contains("a number and a unit") && !why.contains("bare"), "{why}");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            " ",
            "s",
            "ms",
            ".",
            ".s",
            "-5s",
            "-1",
            "1e3s",
            "5 parsecs",
            "5S",
            "5sec",
            "1.2.3s",
            "1,5s",
            "5s5",
            "1m30s",
            "inf",
            "NaN",
            "0x5s",
            "٣s",
            "5\u{0}s",
        ] {
            for parser in [milliseconds(), seconds(), days(), with_unit()] {
                assert!(parser.parse(text).is_err(), "{text:?}");
            }
        }
    }

    #[test]
    fn limits_are_named() {
        let parser = seconds().at_least(100 * MS).at_most(DAY).in_steps_of(100 * MS);
        assert_eq!(parser.parse("100ms"), Ok(100 * MS));
        assert_eq!(parser.parse("1d"), Ok(DAY));
        assert_eq!(parser.parse("99ms").unwrap_err(), "the minimum is 100ms");
        assert_eq!(parser.parse("86401").unwrap_err(), "the maximum is 1d");
        assert_eq!(parser.parse("250ms").unwrap_err(), "it must be a multiple of 100ms");
        assert_eq!(seconds().positive().parse("0").unwrap_err(), "it must be longer than 0");
        assert_eq!(seconds().positive().parse("1ns"), Ok(Duration::from_nanos(1)));
    }

    #[test]
    fn the_longest_duration_can_be_added_to_the_current_time() {
        let most = u128::MAX.to_string();
        for text in ["18446744073709551615", most.as_str(), &"9".repeat(100)] {
            assert_eq!(milliseconds().parse(text), Ok(LONGEST), "{text}");
            assert!(seconds().at_most(DAY).parse(text).is_err(), "{text}");
        }
        assert!(std::time::Instant::now().checked_add(LONGEST).is_some());
        assert!(std::time::SystemTime::now().checked_add(LONGEST).is_some());
    }

    #[test]
    fn a_printed_duration_is_parsed() {
        for (duration, expected) in [
            (Duration::ZERO, "0s"),
            (MS / 20, "50us"),
            (1500 * MS, "1500ms"),
            (5000 * MS, "5s"),
            (90_000 * MS, "90s"),
            (600_000 * MS, "10m"),
            (7_200_000 * MS, "2h"),
            (90 * DAY, "90d"),
            (Duration::from_nanos(1_000_000_001), "1000000001ns"),
        ] {
            assert_eq!(text(duration), expected);
            assert_eq!(with_unit().parse(expected), Ok(duration));
        }
    }

    #[test]
    fn an_error_names_the_option_the_text_and_the_forms() {
        let option = clap::Arg::new("timeout")
            .long("timeout")
            .value_name(VALUE_NAME)
            .value_parser(milliseconds().positive());
        let command = clap::Command::new("test").arg(option);
        let error = command.clone().try_get_matches_from(["test", "--timeout", "5x"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let told = error.to_string();
        for part in ["'5x'", "--timeout <DURATION>", "300ms, 1.5s or 2m", "is milliseconds"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let found = command.try_get_matches_from(["test", "--timeout", "1.5s"]).unwrap();
        assert_eq!(found.get_one::<Duration>("timeout"), Some(&(1500 * MS)));
    }
}
