//! Filters as text: `type==17 && !(source==3 || source==4)`.

use oxorb_event::{Filter, Names};

/// Groups in groups, as channels take them by default.
const DEPTH: usize = 32;

/// Reads a filter.
///
/// ```text
/// any  = all *( "||" all )
/// all  = not *( "&&" not )
/// not  = "!" not / "(" any ")" / field [ "&" mask ] ( "==" / "!=" ) ( number / name )
/// ```
///
/// A field is `type` or `source`, numbers are decimal or hexadecimal, names stand in quotation marks.
pub(super) fn parse(text: &str) -> Result<Filter, String> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    let filter = reader.any()?;
    match reader.rest().is_empty() {
        true => Ok(filter),
        false => Err(reader.wanted("&& or ||")),
    }
}

/// Reads a type of events: a number from 1, or a name.
pub(super) fn type_number(text: &str) -> Result<i32, String> {
    number_or(text, |name| {
        Names::default()
            .event_type(name)
            .map_err(|error| error.to_string())
    })
}

/// Reads a source of events: a number from 1, or a name.
pub(super) fn source_number(text: &str) -> Result<i32, String> {
    number_or(text, |name| {
        Names::default()
            .source(name)
            .map_err(|error| error.to_string())
    })
}

fn number_or(text: &str, name: impl Fn(&str) -> Result<i32, String>) -> Result<i32, String> {
    let numeric = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    match text.parse::<i32>() {
        Ok(number) if number > 0 => Ok(number),
        _ if numeric || text.is_empty() => {
            Err("expected a number from 1 to 2147483647, or a name".to_owned())
        }
        _ => name(text),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Type,
    Source,
}

impl Reader<'_> {
    fn any(&mut self) -> Result<Filter, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("the filter has more than {DEPTH} groups in groups"));
        }
        let mut members = vec![self.all()?];
        while self.take("||") {
            members.push(self.all()?);
        }
        self.depth -= 1;
        Ok(match members.len() {
            1 => members.remove(0),
            _ => Filter::any_of(members),
        })
    }

    fn all(&mut self) -> Result<Filter, String> {
        let mut members = vec![self.not()?];
        while self.take("&&") {
            members.push(self.not()?);
        }
        Ok(match members.as_slice() {
            [_] => members.remove(0),
            // One filter for both, which the channel finds by its index.
            &[
                Filter::Event {
                    event_type,
                    source: 0,
                },
                Filter::Event {
                    event_type: 0,
                    source,
                },
            ]
            | &[
                Filter::Event {
                    event_type: 0,
                    source,
                },
                Filter::Event {
                    event_type,
                    source: 0,
                },
            ] => Filter::event(event_type, source),
            _ => Filter::all_of(members),
        })
    }

    fn not(&mut self) -> Result<Filter, String> {
        let mut negated = false;
        while !self.rest().starts_with("!=") && self.take("!") {
            negated = !negated;
        }
        let filter = match self.take("(") {
            true => {
                let filter = self.any()?;
                if !self.take(")") {
                    return Err(self.wanted(")"));
                }
                filter
            }
            false => self.comparison()?,
        };
        Ok(match negated {
            true => Filter::not(filter),
            false => filter,
        })
    }

    fn comparison(&mut self) -> Result<Filter, String> {
        let field = match () {
            () if self.take("type") => Field::Type,
            () if self.take("source") => Field::Source,
            () => return Err(self.wanted("type, source, ! or (")),
        };
        let masked = !self.rest().starts_with("&&") && self.take("&");
        let mask = match masked {
            true => Some(self.number()?),
            false => None,
        };
        let equal = match () {
            () if self.take("==") => true,
            () if self.take("!=") => false,
            () => return Err(self.wanted("== or !=")),
        };
        let start = self.at;
        let value = match self.take("\"") {
            true => self.name(field)?,
            false => self.number()?,
        };
        let filter = match (field, mask) {
            (_, None) if value == 0 => {
                self.at = start;
                return Err(
                    self.wanted("a number other than 0, which stands for any type and source")
                );
            }
            (Field::Type, None) => Filter::event_type(value),
            (Field::Source, None) => Filter::source(value),
            (field, Some(mask)) => {
                let of = |wanted, number| if field == wanted { number } else { 0 };
                Filter::MaskedType {
                    type_mask: of(Field::Type, mask),
                    source_mask: of(Field::Source, mask),
                    type_value: of(Field::Type, value),
                    source_value: of(Field::Source, value),
                }
            }
        };
        Ok(match equal {
            true => filter,
            false => Filter::not(filter),
        })
    }

    /// Returns the number of a name, whose first quotation mark was passed.
    fn name(&mut self, field: Field) -> Result<i32, String> {
        let rest = &self.text[self.at..];
        let Some(end) = rest.find('"') else {
            self.at = self.text.len();
            return Err(self.wanted("a quotation mark after the name"));
        };
        let name = &rest[..end];
        self.at += end + 1;
        let names = Names::default();
        let number = match field {
            Field::Type => names.event_type(name),
            Field::Source => names.source(name),
        };
        number.map_err(|error| error.to_string())
    }

    fn number(&mut self) -> Result<i32, String> {
        let rest = self.rest();
        let (before, radix) = if rest.starts_with("0x") {
            (2, 16)
        } else {
            (0, 10)
        };
        let digits = rest[before..].bytes();
        let digits = digits
            .take_while(|digit| char::from(*digit).is_digit(radix))
            .count();
        match i32::from_str_radix(&rest[before..before + digits], radix) {
            Ok(number) => {
                self.at += before + digits;
                Ok(number)
            }
            Err(_) => Err(self.wanted("a number up to 2147483647")),
        }
    }

    /// Passes a word if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let comes = self.rest().starts_with(word);
        if comes {
            self.at += word.len();
        }
        comes
    }

    /// Returns the text from the next word on.
    fn rest(&mut self) -> &str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    /// Returns an error that points at the next word.
    fn wanted(&mut self, what: &str) -> String {
        self.rest();
        let column = self.text[..self.at].chars().count();
        format!(
            "expected {what}\n  {}\n  {}^",
            self.text,
            " ".repeat(column)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_mean_what_they_say() {
        let one = |kind, source| Filter::event(kind, source);
        for (text, filter) in [
            ("type==17", one(17, 0)),
            (" source == 0x10 ", one(0, 16)),
            ("type==17&&source==3", one(17, 3)),
            ("source==3 && type==17", one(17, 3)),
            ("type!=17", Filter::not(one(17, 0))),
            ("!!type==17", one(17, 0)),
            (
                "type==17 && !(source==3 || source==4)",
                Filter::all_of([
                    one(17, 0),
                    Filter::not(Filter::any_of([one(0, 3), one(0, 4)])),
                ]),
            ),
            (
                "type==1 || type==2 && source!=3",
                Filter::any_of([
                    one(1, 0),
                    Filter::all_of([one(2, 0), Filter::not(one(0, 3))]),
                ]),
            ),
            (
                "type & 0xF0 == 0x10",
                Filter::MaskedType {
                    type_mask: 0xF0,
                    source_mask: 0,
                    type_value: 0x10,
                    source_value: 0,
                },
            ),
        ] {
            assert_eq!(parse(text).as_ref(), Ok(&filter), "{text}");
        }
    }

    #[test]
    fn names_stand_for_the_numbers_that_publishers_give_them() {
        let names = Names::default();
        let level = names.filter("level", "tank 1").unwrap();
        assert_eq!(
            parse("type==\"level\" && source==\"tank 1\""),
            Ok(level.clone())
        );
        let numbers = (
            type_number("level").unwrap(),
            source_number("tank 1").unwrap(),
        );
        assert_eq!(Filter::event(numbers.0, numbers.1), level);
        assert_eq!(type_number("17"), Ok(17));
        for wrong in ["0", "-1", "99999999999", ""] {
            assert!(type_number(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let at = |text: &str| {
            let error = parse(text).unwrap_err();
            let place = error.lines().last().unwrap().find('^').unwrap() - 2;
            (place, error.lines().next().unwrap().to_owned())
        };
        assert_eq!(at("type=17"), (4, "expected == or !=".to_owned()));
        assert_eq!(at("type==17 and source==3").0, 9);
        assert_eq!(at("(type==17").0, 9);
        assert_eq!(at("kind==1").0, 0);
        assert_eq!(at("type==0").0, 6);
        assert_eq!(at("type==99999999999").0, 6);
        assert_eq!(at("").0, 0);
        assert_eq!(at("type==\"a").0, 8);
        let deep = "(".repeat(10_000);
        assert!(parse(&deep).unwrap_err().contains("32 groups"));
    }
}
