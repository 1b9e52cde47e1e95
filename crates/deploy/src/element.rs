//! Tree of elements between text and model, limited in number and depth.

use crate::finding::{Error, Place};

/// Limits of documents that are read. Each bounds time and memory, which grow linearly with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a document in octets.
    pub octets: usize,
    /// Maximum number of elements and attributes of a document.
    pub elements: usize,
    /// Maximum nesting depth of elements; at most 64.
    pub depth: usize,
}

impl Default for Limits {
    /// Returns limits of 16 MiB, 500,000 elements and a depth of 48, sufficient for a plan of
    /// 10,000 instances.
    fn default() -> Limits {
        Limits { octets: 16 << 20, elements: 500_000, depth: 48 }
    }
}

impl Limits {
    /// Refuses a text that is too long.
    pub(crate) fn admit(&self, text: &str) -> Result<(), Error> {
        self.admit_octets(text.len())
    }

    /// Refuses a number of octets that is too large.
    pub(crate) fn admit_octets(&self, octets: usize) -> Result<(), Error> {
        if octets <= self.octets {
            return Ok(());
        }
        Err(Error::plain(format!(
            "the document has {octets} octets, but the limit is {}: divide it, or raise Limits::octets",
            self.octets
        )))
    }

    /// Counts one element at a depth.
    pub(crate) fn count(&self, seen: &mut usize, depth: usize, place: Place) -> Result<(), Error> {
        *seen += 1;
        if *seen > self.elements {
            let what = format!(
                "the document has more than {} elements, the limit: divide it, or raise Limits::elements",
                self.elements
            );
            return Err(Error::at(place, what));
        }
        if depth > self.depth {
            let what = format!("elements are nested more than {} deep, the limit", self.depth);
            return Err(Error::at(place, what));
        }
        Ok(())
    }
}

/// Form of an element's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Look {
    /// Any text: quoted in TOML.
    #[default]
    Text,
    /// A number or a boolean: bare in TOML.
    Bare,
}

/// Element. Attributes are children that are written differently in XML.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Element {
    /// Name without a prefix.
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) is_attribute: bool,
    pub(crate) look: Look,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    pub(crate) fn new(name: &str) -> Element {
        Element { name: name.to_owned(), ..Element::default() }
    }

    pub(crate) fn text(name: &str, text: impl Into<String>) -> Element {
        Element { text: text.into(), ..Element::new(name) }
    }

    pub(crate) fn at(mut self, place: Place) -> Element {
        self.place = place;
        self
    }

    /// Marks the element as an attribute.
    pub(crate) fn attribute(mut self) -> Element {
        self.is_attribute = true;
        self
    }

    /// Returns the first child with a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }
}
