//! Parsers of times that a schedule can contain.

use std::time::Duration;

use clap::builder::TypedValueParser;
use oxorb_sched::time::{self, Nanos};
use oxorb_terminal::duration::{self, DurationParser};

/// Returns the parser of a time that a schedule can contain.
pub(super) fn nanos() -> impl TypedValueParser<Value = Nanos> {
    TIMES.map(in_nanos)
}

/// Parses a period: a time, or a rate such as `20Hz`.
pub(super) fn period(text: &str) -> Result<Nanos, String> {
    match text.trim_end().ends_with("Hz") {
        true => time::parse_period(text).map_err(|error| error.to_string()),
        false => TIMES.parse(text).map(in_nanos),
    }
}

/// Times that a schedule can contain.
const TIMES: DurationParser = duration::with_unit().at_most(Duration::from_nanos(time::LONGEST));

fn in_nanos(time: Duration) -> Nanos {
    // At most `time::LONGEST`.
    time.as_nanos() as Nanos
}
