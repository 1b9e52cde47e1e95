//! Types and sources of events, by number or name, and filters on them.

use oxorb_event::{Filter, NameCollision, Names};

/// Parses an event type: a number from 1, or a name.
pub(crate) fn type_number(text: &str) -> Result<i32, String> {
    number_or(text, |name| Names::default().event_type(name))
}

/// Parses an event source: a number from 1, or a name.
pub(crate) fn source_number(text: &str) -> Result<i32, String> {
    number_or(text, |name| Names::default().source(name))
}

fn number_or(
    text: &str,
    named: impl Fn(&str) -> Result<i32, NameCollision>,
) -> Result<i32, String> {
    let numeric = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    match text.parse::<i32>() {
        Ok(number) if number > 0 => Ok(number),
        _ if numeric || text.is_empty() => {
            Err("expected a number from 1 to 2147483647, or a name".to_owned())
        }
        _ => named(text).map_err(|error| error.to_string()),
    }
}

/// Parses a filter: the text of a [`Filter`], which may have quoted names in place of numbers.
pub(super) fn parse(text: &str) -> Result<Filter, String> {
    let mut numbered = String::new();
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 0 {
            numbered.push_str(part);
            continue;
        }
        let before = numbered.trim_end().trim_end_matches(['=', '!']).trim_end();
        let number = match () {
            () if before.ends_with("type") => type_number(part)?,
            () if before.ends_with("source") => source_number(part)?,
            () => {
                let place = "is allowed only after type==, source==, type!= or source!=";
                return Err(format!("filter: the name {part:?} {place}"));
            }
        };
        numbered.push_str(&number.to_string());
    }
    let filter = numbered.parse::<Filter>();
    filter.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_the_numbers_that_publishers_give_them() {
        let level = Names::default().filter("level", "tank 1").unwrap();
        let text = "type==\"level\" && source == \"tank 1\"";
        assert_eq!(parse(text), Ok(level.clone()));
        let numbers = (type_number("level"), source_number("tank 1"));
        assert_eq!(Filter::event(numbers.0.unwrap(), numbers.1.unwrap()), level);
        assert_eq!(type_number("17"), Ok(17));
        for wrong in ["0", "-1", "99999999999", ""] {
            assert!(type_number(wrong).is_err(), "{wrong}");
        }
        assert!(parse("\"level\"").unwrap_err().contains("type=="));
        assert!(parse("type=17").unwrap_err().contains("type==17"));
    }
}
