//! Filters in text form, for commands and files.
//!
//! ```text
//! filter     := and {'||' and}                   and := not {'&&' not}
//! not        := {'!'} ('(' filter ')' | 'any' | 'none' | comparison | timeout | each)
//! comparison := ('type' | 'source') ['&' number] ('==' | '!=') number
//! timeout    := ('timeout' | 'interval' | 'deadline') '(' time ')'        time := number ('us' | 'ms' | 's')
//! each       := 'each' '(' filter {',' filter} ')'
//! ```

use std::fmt;
use std::str::FromStr;

use crate::{Filter, FilterLimits, Syntax, TimeoutKind};

/// Error in the text of a filter.
#[derive(Clone, PartialEq, Eq)]
pub struct FilterTextError {
    /// Position of the error, in octets.
    pub at: usize,
    /// Text at this position, shortened; empty at the end of the filter.
    pub near: String,
    /// Description of the error, with the correct notation.
    pub what: &'static str,
}

impl fmt::Display for FilterTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, near, what } = self;
        match near.is_empty() {
            true => write!(f, "filter, at its end: {what}"),
            false => write!(f, "filter, at octet {at} ({near:?}): {what}"),
        }
    }
}

impl fmt::Debug for FilterTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for FilterTextError {}

impl FromStr for Filter {
    type Err = FilterTextError;

    /// Parses a filter in text form: conditions on `type` and `source` that are joined by `&&`, `||`, `!` and
    /// parentheses.
    ///
    /// ```
    /// use oxorb_event::Filter;
    ///
    /// let wanted: Filter = "type==17 && !(source==3)".parse()?;
    /// assert_eq!(wanted, Filter::all_of([Filter::event_type(17), Filter::not(Filter::source(3))]));
    /// // One condition where two were written: the channel finds it by type and source.
    /// assert_eq!("type == 17 && source == 3".parse(), Ok(Filter::event(17, 3)));
    /// let wanted: Filter = "each(type==17, type==0x12) || deadline(250ms)".parse()?;
    ///
    /// let error = "type=17".parse::<Filter>().unwrap_err();
    /// assert_eq!(error.to_string(), "filter, at octet 4 (\"=17\"): write type==17 or type!=17");
    /// # Ok::<(), oxorb_event::FilterTextError>(())
    /// ```
    ///
    /// - `type & 0xF0 == 0x10` compares the bits of a mask. `any` matches every event, and `none` matches no event.
    /// - `each(a, b)` waits for one event for each filter (a conjunction), whereas `&&` requires one event that matches
    ///   both.
    /// - `timeout(1s)` occurs once, `interval(100ms)` repeatedly, and `deadline(2s)` after 2 s without an event.
    ///
    /// # Errors
    /// [`FilterTextError`] contains the position. A filter that exceeds the default [`FilterLimits`] is refused.
    fn from_str(text: &str) -> Result<Self, FilterTextError> {
        let mut reader = Reader { text, at: 0 };
        let limits = FilterLimits::default();
        let filter = reader.or(limits.depth)?;
        if !reader.rest().is_empty() {
            return Err(reader.wrong("expected && or || or the end"));
        }
        // Check the limits again: the depth of the text may differ from that of the list of dependencies.
        match Filter::parse(&filter.to_dependencies(0), Syntax::Prefix, &limits) {
            Ok(_) => Ok(filter),
            Err(_) => Err(reader
                .wrong("too large: a filter can have at most 1,024 dependencies and 32 levels")),
        }
    }
}

/// Header field of a condition.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    Type,
    Source,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn or(&mut self, depth: usize) -> Result<Filter, FilterTextError> {
        let first = self.and(depth)?;
        let mut members = vec![first];
        while self.take("||") {
            members.push(self.and(depth)?);
        }
        Ok(match members.len() {
            1 => members.remove(0),
            _ => Filter::Disjunction(members),
        })
    }

    fn and(&mut self, depth: usize) -> Result<Filter, FilterTextError> {
        let mut members = vec![self.not(depth)?];
        while self.take("&&") {
            members.push(self.not(depth)?);
        }
        Ok(match *members {
            [_] => members.remove(0),
            // Join a type and a source to one condition, which the channel can find in its index.
            [Filter::Event { event_type, source: 0 }, Filter::Event { event_type: 0, source }]
            | [Filter::Event { event_type: 0, source }, Filter::Event { event_type, source: 0 }] => {
                Filter::event(event_type, source)
            }
            _ => Filter::LogicalAnd(members),
        })
    }

    fn not(&mut self, depth: usize) -> Result<Filter, FilterTextError> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(self.wrong("nested too deeply: a filter can have at most 32 levels"));
        };
        if self.starts("!") && !self.starts("!=") {
            self.take("!");
            return Ok(Filter::not(self.not(below)?));
        }
        if self.take("(") {
            let inner = self.or(below)?;
            self.need(")", "expected && or || or )")?;
            return Ok(inner);
        }
        let start = self.at;
        match self.word() {
            "any" => Ok(Filter::ALL),
            "none" => Ok(Filter::NONE),
            "type" => self.comparison(Field::Type),
            "source" => self.comparison(Field::Source),
            "timeout" => self.timeout(TimeoutKind::OneShot),
            "interval" => self.timeout(TimeoutKind::Interval),
            "deadline" => self.timeout(TimeoutKind::Deadline),
            "each" => self.each(below),
            _ => {
                self.at = start;
                Err(self.wrong(
                    "expected a condition such as type==17, source!=3, any, timeout(1s) or each(a, b)",
                ))
            }
        }
    }

    fn comparison(&mut self, field: Field) -> Result<Filter, FilterTextError> {
        let mask = match self.starts("&") && !self.starts("&&") {
            true => {
                self.take("&");
                Some(self.number()?)
            }
            false => None,
        };
        let negated = self.take("!=");
        if !negated && !self.take("==") {
            return Err(self.wrong(match field {
                Field::Type => "write type==17 or type!=17",
                Field::Source => "write source==3 or source!=3",
            }));
        }
        let at = self.at;
        let number = self.number()?;
        let filter = match (field, mask) {
            // Refuse a comparison with 0: it would match every event, because 0 is a wildcard.
            (_, None) if number == 0 => {
                self.at = at;
                return Err(self.wrong("0 stands for any type or source: write any, or omit it"));
            }
            (Field::Type, None) if (1..crate::event_type::UNDEFINED).contains(&number) => {
                self.at = at;
                return Err(self.wrong(
                    "types below 16 are reserved for the channel: use larger ones for events",
                ));
            }
            (Field::Type, None) => Filter::event_type(number),
            (Field::Source, None) => Filter::source(number),
            (Field::Type, Some(mask)) => Filter::MaskedType {
                type_mask: mask,
                source_mask: 0,
                type_value: number,
                source_value: 0,
            },
            (Field::Source, Some(mask)) => Filter::MaskedType {
                type_mask: 0,
                source_mask: mask,
                type_value: 0,
                source_value: number,
            },
        };
        Ok(if negated { Filter::not(filter) } else { filter })
    }

    fn timeout(&mut self, kind: TimeoutKind) -> Result<Filter, FilterTextError> {
        /// Units of 100 ns.
        const UNITS: [(&str, u64); 3] = [("us", 10), ("ms", 10_000), ("s", 10_000_000)];
        let what = "write a time such as (100ms), with us, ms or s";
        self.need("(", what)?;
        self.blanks();
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse::<u64>().map_err(|_| self.wrong(what))?;
        let start = self.at;
        self.at += digits;
        let unit = self.word();
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let period = unit.and_then(|(_, unit)| number.checked_mul(*unit));
        let Some(period) = period.filter(|period| *period > 0) else {
            self.at = start;
            return Err(self.wrong(what));
        };
        self.need(")", "expected )")?;
        Ok(Filter::Timeout { kind, period })
    }

    fn each(&mut self, below: usize) -> Result<Filter, FilterTextError> {
        self.need("(", "write each(a, b)")?;
        let mut members = vec![self.or(below)?];
        while self.take(",") {
            members.push(self.or(below)?);
        }
        self.need(")", "expected , or )")?;
        Ok(Filter::Conjunction(members))
    }

    /// Parses a 32-bit number. In hexadecimal notation all 32 bits can be set.
    fn number(&mut self) -> Result<i32, FilterTextError> {
        self.blanks();
        let rest = self.rest();
        let length = rest
            .bytes()
            .enumerate()
            .take_while(|(at, octet)| octet.is_ascii_alphanumeric() || *at == 0 && *octet == b'-')
            .count();
        let text = &rest[..length];
        let number = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).map(u32::cast_signed).ok(),
            None => text.parse().ok(),
        };
        let number =
            number.ok_or_else(|| self.wrong("expected a number of 32 bits, such as 17 or 0x11"))?;
        self.at += length;
        Ok(number)
    }

    fn word(&mut self) -> &'t str {
        self.blanks();
        let rest = self.rest();
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        self.at += length;
        &rest[..length]
    }

    fn need(&mut self, symbol: &str, what: &'static str) -> Result<(), FilterTextError> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(self.wrong(what)),
        }
    }

    fn take(&mut self, symbol: &str) -> bool {
        let starts = self.starts(symbol);
        self.at += if starts { symbol.len() } else { 0 };
        starts
    }

    fn starts(&mut self, symbol: &str) -> bool {
        self.blanks();
        self.rest().starts_with(symbol)
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn wrong(&self, what: &'static str) -> FilterTextError {
        /// Maximum number of characters of the text that an error contains.
        const SHOWN: usize = 20;
        FilterTextError { at: self.at, near: self.rest().chars().take(SHOWN).collect(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_what_it_says_and_survives_the_wire() {
        let table = [
            ("any", Filter::ALL),
            ("none", Filter::NONE),
            ("type==17", Filter::event_type(17)),
            ("source==-3", Filter::source(-3)),
            ("source == 3 && type == 0x11", Filter::event(17, 3)),
            ("type!=17", Filter::not(Filter::event_type(17))),
            ("!!type==17", Filter::not(Filter::not(Filter::event_type(17)))),
            (
                "type==17||type==18&&source!=3",
                Filter::any_of([
                    Filter::event_type(17),
                    Filter::all_of([Filter::event_type(18), Filter::not(Filter::source(3))]),
                ]),
            ),
            (
                "(type==17||type==18)&&source==3",
                Filter::all_of([
                    Filter::any_of([Filter::event_type(17), Filter::event_type(18)]),
                    Filter::source(3),
                ]),
            ),
            (
                "source & 0xFF000000 == 0x80000000",
                Filter::MaskedType {
                    type_mask: 0,
                    source_mask: -0x0100_0000,
                    type_value: 0,
                    source_value: i32::MIN,
                },
            ),
            (
                "each(type==17, interval(250us))",
                Filter::each_of([
                    Filter::event_type(17),
                    Filter::Timeout { kind: TimeoutKind::Interval, period: 2_500 },
                ]),
            ),
        ];
        let limits = FilterLimits::default();
        for (text, expected) in table {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            let written = expected.to_dependencies(0);
            assert_eq!(Filter::parse(&written, Syntax::Prefix, &limits), Ok(expected));
        }
    }

    #[test]
    fn errors_tell_the_place() {
        let table = [
            ("", 0, "expected a condition"),
            ("type", 4, "write type==17"),
            ("source<3", 6, "write source==3"),
            ("type==x", 6, "a number of 32 bits"),
            ("type==99999999999", 6, "a number of 32 bits"),
            ("type==0", 6, "0 stands for any"),
            ("type==9", 6, "below 16"),
            ("type==17 source==3", 9, "expected && or ||"),
            ("(type==17", 9, "expected && or || or )"),
            ("type==17 && ", 12, "expected a condition"),
            ("timeout(5)", 8, "write a time"),
            ("interval(0ms)", 9, "write a time"),
            ("each(type==17", 13, "expected , or )"),
            ("colour==17", 0, "expected a condition"),
        ];
        for (text, at, what) in table {
            let error = text.parse::<Filter>().unwrap_err();
            assert!(error.at == at && error.what.contains(what), "{text}: {error}");
        }
        for deep in ["(".repeat(100_000), "!".repeat(100_000), "each(".repeat(100_000)] {
            assert!(deep.parse::<Filter>().unwrap_err().what.contains("nested too deeply"));
        }
        let levels = |n: usize| format!("{}type!=17{}", "!(".repeat(n), ")".repeat(n));
        assert!(levels(10).parse::<Filter>().is_ok());
        assert!(levels(16).parse::<Filter>().is_err());
        let wide = vec!["type!=17 && source!=3"; 1_000].join(" || ");
        assert!(wide.parse::<Filter>().unwrap_err().what.contains("too large"));
    }
}
