//! Reading of TOML as elements.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{KIND, PLAN, PROPERTIES};
use crate::described::clip;
use crate::element::{Element, Limits};
use crate::finding::{Error, Place};
use crate::model::basic::PortKind;
use crate::model::value::Basic;

/// Reads a document. The name of the root is the document's kind.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<Element, Error> {
    limits.admit(text)?;
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let place = lines.place(error.span().map_or(0, |span| span.start));
        Error::at(
            place,
            format!("this is not well-formed TOML: {}", error.message().replace('\n', ", ")),
        )
    })?;
    let mut reader = Reader { lines, limits: *limits, seen: 0 };
    let table = table.into_inner();
    let kind = table.iter().find(|(key, _)| key.get_ref().as_ref() == KIND);
    let kind = match kind {
        None => PLAN,
        Some((_, value)) => value.get_ref().as_str().ok_or_else(|| {
            let place = reader.lines.place(value.span().start);
            Error::at(place, format!("{KIND} is the name of a kind of documents"))
        })?,
    };
    let mut root = Element::new(kind).at(Place { line: 1, column: 1 });
    reader.table(&table, &mut root, 1)?;
    if root.child(KIND).is_some() {
        root.children.retain(|child| child.name != KIND);
    }
    Ok(root)
}

/// Reads the element `value` from the text of its table.
pub(crate) fn value(text: &str, limits: &Limits) -> Result<Element, Error> {
    limits.admit(text)?;
    let line = format!("value = {text}");
    let parsed = DeTable::parse(&line).map_err(|error| {
        let what = format!("this is not well-formed TOML: {}", error.message().replace('\n', ", "));
        Error::plain(what)
    })?;
    let table = parsed.into_inner();
    let mut reader = Reader { lines: Lines::of(&line), limits: *limits, seen: 0 };
    let mut around = Element::new("property");
    reader.table(&table, &mut around, 1)?;
    match around.children.as_slice() {
        [only] if only.text.is_empty() => Ok(only.clone()),
        _ => Err(Error::plain(
            "expected a table of TOML with the elements of the value, such as { double = [1.5, 2.0] }",
        )),
    }
}

/// Offsets of lines, to determine positions.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts[line - 1];
        // Counts at most 4096 octets of the line. Otherwise, each element of a very long line would
        // cost time in proportion to the line.
        let end = offset.min(start + 4096);
        let column = self
            .text
            .as_bytes()
            .get(start..end)
            .map_or(0, |part| part.iter().filter(|&&octet| octet & 0xc0 != 0x80).count());
        Place { line: line as u32, column: column as u32 + 1 }
    }
}

struct Reader<'t> {
    lines: Lines<'t>,
    limits: Limits,
    seen: usize,
}

impl Reader<'_> {
    /// Adds the keys of a table to an element, in the order of the text.
    fn table(
        &mut self,
        table: &DeTable<'_>,
        into: &mut Element,
        depth: usize,
    ) -> Result<(), Error> {
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let place = self.lines.place(key.span().start);
            let kind = PortKind::ALL.iter().find(|kind| kind.text() == name);
            match (kind, value.get_ref()) {
                (Some(kind), value) if into.name == "connection" => {
                    self.endpoints(*kind, value, place, into, depth)?
                }
                (_, DeValue::Table(table)) if PROPERTIES.contains(&name) => {
                    self.properties(name, table, into, depth)?
                }
                _ => self.value(name, value, place, into, depth)?,
            }
        }
        Ok(())
    }

    /// Adds a value as elements with a name.
    fn value(
        &mut self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        place: Place,
        into: &mut Element,
        depth: usize,
    ) -> Result<(), Error> {
        if let DeValue::Array(items) = value.get_ref() {
            for item in items.iter() {
                let place = self.lines.place(item.span().start);
                if item.get_ref().is_array() {
                    return Err(Error::at(
                        place,
                        format!("{name}: an array cannot contain an array"),
                    ));
                }
                self.value(name, item, place, into, depth)?;
            }
            return Ok(());
        }
        self.limits.count(&mut self.seen, depth + 1, place)?;
        let mut element = Element::new(name).at(place);
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, &mut element, depth + 1)?,
            leaf => element.text = text(leaf, place)?,
        }
        into.children.push(element);
        Ok(())
    }

    /// Adds properties from a table of names and values.
    fn properties(
        &mut self,
        name: &str,
        table: &DeTable<'_>,
        into: &mut Element,
        depth: usize,
    ) -> Result<(), Error> {
        for (key, value) in in_order(table) {
            let place = self.lines.place(key.span().start);
            self.limits.count(&mut self.seen, depth + 4, place)?;
            let mut property = Element::new(name).at(place);
            property.children.push(Element::text("name", key.get_ref().as_ref()).at(place));
            let mut any = Element::new("value").at(place);
            self.any(value, place, &mut any, depth + 2)?;
            property.children.push(any);
            into.children.push(property);
        }
        Ok(())
    }

    fn any(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        place: Place,
        into: &mut Element,
        depth: usize,
    ) -> Result<(), Error> {
        let basic = match value.get_ref() {
            DeValue::String(_) => Basic::String,
            DeValue::Boolean(_) => Basic::Boolean,
            DeValue::Float(_) => Basic::Double,
            DeValue::Integer(number) => {
                let fits =
                    number.radix() == 10 && plain_digits(number.as_str()).parse::<i32>().is_ok();
                if fits { Basic::Long } else { Basic::LongLong }
            }
            DeValue::Table(table) => {
                let mut keys = in_order(table).into_iter();
                let first = keys.next().map(|(key, value)| (Basic::named(key.get_ref()), value));
                return match (first, keys.next()) {
                    (Some((Some(basic), value)), None) => {
                        simple(basic, text(value.get_ref(), place)?, place, into);
                        Ok(())
                    }
                    _ => self.table(table, into, depth),
                };
            }
            DeValue::Array(_) | DeValue::Datetime(_) => {
                let what = "a property must be a string, a number, a boolean, a table such as { octet = 5 }, or { type \
                            = ..., value = ... }";
                return Err(Error::at(place, what));
            }
        };
        simple(basic, text(value.get_ref(), place)?, place, into);
        Ok(())
    }

    /// Adds endpoints `instance.port` of a kind.
    fn endpoints(
        &mut self,
        kind: PortKind,
        value: &DeValue<'_>,
        place: Place,
        into: &mut Element,
        depth: usize,
    ) -> Result<(), Error> {
        let one = |value: &DeValue<'_>, place: Place| {
            let text = value.as_str().unwrap_or_default();
            match text.rsplit_once('.') {
                Some((instance, port)) if !instance.is_empty() && !port.is_empty() => {
                    let mut endpoint = Element::new("internalEndpoint").at(place);
                    endpoint.children.push(Element::text("portName", port).at(place));
                    endpoint
                        .children
                        .push(Element::text("provider", kind.provides().to_string()).at(place));
                    endpoint.children.push(Element::text("kind", kind.text()).at(place));
                    endpoint.children.push(Element::text("instance", instance).at(place));
                    Ok(endpoint)
                }
                _ => {
                    let what = format!(
                        "{} of a connection must be \"instance.port\", not {:?}",
                        kind.text(),
                        clip(text)
                    );
                    Err(Error::at(place, what))
                }
            }
        };
        let items: Vec<(&DeValue<'_>, Place)> = match value {
            DeValue::Array(items) => {
                let place = |item: &Spanned<DeValue<'_>>| self.lines.place(item.span().start);
                items.iter().map(|item| (item.get_ref(), place(item))).collect()
            }
            one => vec![(one, place)],
        };
        for (item, place) in items {
            self.limits.count(&mut self.seen, depth + 2, place)?;
            into.children.push(one(item, place)?);
        }
        Ok(())
    }
}

/// Fills an element with a value of a basic type.
fn simple(basic: Basic, text: String, place: Place, into: &mut Element) {
    let mut kind = Element::new("type").at(place);
    kind.children.push(Element::text("kind", format!("tk_{}", basic.name())).at(place));
    let mut value = Element::new("value").at(place);
    value.children.push(Element::text(basic.name(), text).at(place));
    into.children.extend([kind, value]);
}

type Entry<'d, 'i> = (&'d Spanned<DeString<'i>>, &'d Spanned<DeValue<'i>>);

/// Returns the entries of a table in the order of the text, since the parser sorts them by name.
fn in_order<'d, 'i>(table: &'d DeTable<'i>) -> Vec<Entry<'d, 'i>> {
    let mut entries: Vec<Entry<'d, 'i>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn plain_digits(text: &str) -> String {
    text.chars().filter(|&c| c != '_').collect()
}

fn text(value: &DeValue<'_>, place: Place) -> Result<String, Error> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Boolean(value) => Ok(value.to_string()),
        DeValue::Float(number) => Ok(plain_digits(number.as_str())),
        DeValue::Integer(number) => {
            let digits = plain_digits(number.as_str());
            if number.radix() == 10 {
                return Ok(digits);
            }
            let read = i64::from_str_radix(&digits, number.radix());
            let read = read.map_err(|_| {
                Error::at(place, format!("{:?} is not a number of 64 bits", clip(&digits)))
            })?;
            Ok(read.to_string())
        }
        DeValue::Datetime(_) => {
            Err(Error::at(place, "no element can be a date: write it as a string"))
        }
        DeValue::Array(_) | DeValue::Table(_) => {
            Err(Error::at(place, "expected one value, not an array or a table"))
        }
    }
}
