//! Reading of XML as elements: no document types, only the five predefined entities, and nothing is
//! fetched.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::element::{Element, Limits};
use crate::finding::{Error, Place};

/// Maximum number of attributes of an element.
const MOST_ATTRIBUTES: usize = 64;

/// Reads a document. Its root keeps its name, without the prefix.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<Element, Error> {
    limits.admit(text)?;
    let mut reader = Reader::from_str(text);
    let mut tree =
        Tree { at: Cursor::new(text), limits: *limits, seen: 0, open: Vec::new(), root: None };
    loop {
        let place = tree.at.place(reader.buffer_position() as usize);
        let event = reader.read_event().map_err(|error| {
            let place = tree.at.place(reader.error_position() as usize);
            Error::at(place, format!("this is not well-formed XML: {error}"))
        })?;
        match event {
            Event::Start(start) => tree.start(&start, place)?,
            Event::Empty(start) => {
                tree.start(&start, place)?;
                tree.end();
            }
            Event::End(_) => tree.end(),
            Event::Text(text) => {
                let text = text.decode().map_err(|error| wrong(place, error))?;
                tree.text(&lines(&text), place)?;
            }
            Event::CData(text) => {
                let text = text.decode().map_err(|error| wrong(place, error))?;
                tree.text(&lines(&text), place)?;
            }
            Event::GeneralRef(named) => {
                let character = match named.resolve_char_ref() {
                    Ok(Some(character)) => Some(character),
                    Ok(None) => predefined(&named),
                    Err(error) => return Err(wrong(place, error)),
                };
                let Some(character) = character.filter(|&found| is_legal(found)) else {
                    let name = String::from_utf8_lossy(&named).into_owned();
                    let what = format!(
                        "entity &{name}; is not expanded: write its text, because only lt, gt, amp, quot, apos and \
                         numeric characters are supported"
                    );
                    return Err(Error::at(place, what));
                };
                tree.text(character.encode_utf8(&mut [0; 4]), place)?;
            }
            Event::DocType(_) => {
                let what = "a document type declaration is rejected, because entities are not expanded: remove it";
                return Err(Error::at(place, what));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    if let Some(open) = tree.open.last() {
        let what = format!("<{}> is not closed", open.name);
        return Err(Error::at(open.place, what));
    }
    tree.root.ok_or_else(|| Error::plain("the document has no elements"))
}

fn wrong(place: Place, error: impl std::fmt::Display) -> Error {
    Error::at(place, format!("this is not well-formed XML: {error}"))
}

/// Normalises line ends as in XML 1.0. Those of XML 1.1, U+0085 and U+2028, are text.
fn lines(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n").into(),
        false => text.into(),
    }
}

fn predefined(name: &[u8]) -> Option<char> {
    match name {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => None,
    }
}

/// Reports whether XML 1.0 permits a character.
pub(super) fn is_legal(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Position in a text, which only moves forward.
struct Cursor<'t> {
    text: &'t str,
    offset: usize,
    place: Place,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, offset: 0, place: Place { line: 1, column: 1 } }
    }

    fn place(&mut self, offset: usize) -> Place {
        let part = self.text.get(self.offset..offset).unwrap_or_default();
        for character in part.chars() {
            match character {
                '\n' => {
                    self.place.line += 1;
                    self.place.column = 1;
                }
                _ => self.place.column += 1,
            }
        }
        self.offset += part.len();
        self.place
    }
}

struct Tree<'t> {
    at: Cursor<'t>,
    limits: Limits,
    seen: usize,
    open: Vec<Element>,
    root: Option<Element>,
}

impl Tree<'_> {
    fn start(&mut self, start: &BytesStart<'_>, place: Place) -> Result<(), Error> {
        if self.open.is_empty() && self.root.is_some() {
            return Err(Error::at(
                place,
                "a document can have one root element, but this is a second one",
            ));
        }
        self.limits.count(&mut self.seen, self.open.len() + 1, place)?;
        let name = utf8(start.local_name().as_ref(), place)?;
        let mut element = Element::new(&name).at(place);
        for (at, attribute) in start.attributes().enumerate() {
            // The number is limited, because the parser compares each attribute with all earlier
            // ones.
            if at >= MOST_ATTRIBUTES {
                let what =
                    format!("<{name}> has more than {MOST_ATTRIBUTES} attributes, the limit");
                return Err(Error::at(place, what));
            }
            let attribute = attribute.map_err(|error| wrong(place, error))?;
            self.limits.count(&mut self.seen, self.open.len() + 2, place)?;
            let full = utf8(attribute.key.as_ref(), place)?;
            if is_noise(&full) {
                continue;
            }
            let value = attribute.unescape_value().map_err(|error| {
                Error::at(place, format!("attribute {full} of <{name}>: {error}"))
            })?;
            let local = full.rsplit(':').next().unwrap_or(&full);
            let child = Element::text(local, value).at(place).attribute();
            element.children.push(child);
        }
        self.open.push(element);
        Ok(())
    }

    fn text(&mut self, text: &str, place: Place) -> Result<(), Error> {
        let is_space = text.chars().all(|c| c.is_ascii_whitespace());
        match self.open.last_mut() {
            Some(open) => open.text.push_str(text),
            None if is_space => {}
            None => {
                let told = "text outside the root element; the file is read as XML because of its ending. A \
                            document in TOML needs the ending .toml";
                return Err(Error::at(place, told));
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        let Some(mut done) = self.open.pop() else {
            return;
        };
        let has_elements = done.children.iter().any(|child| !child.is_attribute);
        if has_elements && done.text.chars().all(|c| c.is_ascii_whitespace()) {
            // White space between elements is layout, not content.
            done.text.clear();
        }
        match self.open.last_mut() {
            Some(parent) => parent.children.push(done),
            None => self.root = Some(done),
        }
    }
}

fn utf8(octets: &[u8], place: Place) -> Result<String, Error> {
    let text = std::str::from_utf8(octets);
    text.map(str::to_owned).map_err(|error| wrong(place, error))
}

/// Reports whether an attribute belongs to the schema, rather than the plan.
fn is_noise(name: &str) -> bool {
    name == "xmlns"
        || ["xmlns:", "xsi:", "xml:"].iter().any(|prefix| name.starts_with(prefix))
        || name == "xmi:version"
}
