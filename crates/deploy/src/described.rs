//! Tables of structs, one for each struct of a schema: its elements in order, from which reading and
//! writing are derived.

use crate::element::{Element, Look};
use crate::finding::{Error, Place};

/// A value in one element.
pub(crate) trait Item: Sized {
    /// Reads the value from an element.
    fn read(element: &Element) -> Result<Self, Error>;

    /// Writes the value as an element with this name.
    fn write(&self, name: &str) -> Element;

    /// Returns the value for a missing element.
    fn missing(name: &str, within: &Element) -> Result<Self, Error> {
        let what = format!("<{}> has no <{name}>", within.name);
        Err(Error::at(within.place, what))
    }
}

/// Values in the elements with one name: exactly one, at most one, or any number.
pub(crate) trait Field: Sized {
    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Self, Error>;
    fn give(&self, name: &str, into: &mut Vec<Element>);
}

impl<T: Item> Field for T {
    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<T, Error> {
        match fields.one(name)? {
            Some(found) => T::read(found),
            None => T::missing(name, fields.within),
        }
    }

    fn give(&self, name: &str, into: &mut Vec<Element>) {
        into.push(self.write(name));
    }
}

impl<T: Item> Field for Option<T> {
    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Option<T>, Error> {
        fields.one(name)?.map(T::read).transpose()
    }

    fn give(&self, name: &str, into: &mut Vec<Element>) {
        into.extend(self.as_ref().map(|item| item.write(name)));
    }
}

impl<T: Item> Field for Vec<T> {
    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Vec<T>, Error> {
        fields.all(name).map(T::read).collect()
    }

    fn give(&self, name: &str, into: &mut Vec<Element>) {
        into.extend(self.iter().map(|item| item.write(name)));
    }
}

/// Children of an element while a struct is read from them.
pub(crate) struct Fields<'e> {
    pub(crate) within: &'e Element,
    known: Vec<&'static str>,
}

impl<'e> Fields<'e> {
    pub(crate) fn of(within: &'e Element) -> Result<Fields<'e>, Error> {
        if !within.text.trim().is_empty() {
            let what = format!(
                "<{}> contains elements, not text such as {:?}",
                within.name,
                clip(within.text.trim())
            );
            return Err(Error::at(within.place, what));
        }
        Ok(Fields { within, known: Vec::new() })
    }

    fn all(&mut self, name: &'static str) -> impl Iterator<Item = &'e Element> + use<'e> {
        self.known.push(name);
        let children = self.within.children.iter();
        children.filter(move |child| child.name == name)
    }

    fn one(&mut self, name: &'static str) -> Result<Option<&'e Element>, Error> {
        let within = self.within;
        let mut found = self.all(name);
        let first = found.next();
        match found.next() {
            None => Ok(first),
            Some(second) => {
                let what =
                    format!("<{}> can have one <{name}>, but this is a second one", within.name);
                Err(Error::at(second.place, what))
            }
        }
    }

    /// Refuses children that no field has read.
    pub(crate) fn end(self) -> Result<(), Error> {
        let unknown = |child: &&Element| !self.known.contains(&&*child.name);
        match self.within.children.iter().find(unknown) {
            None => Ok(()),
            Some(child) => {
                let what = format!(
                    "<{}> has no <{}>; it may have {}",
                    self.within.name,
                    clip(&child.name),
                    self.known.join(", ")
                );
                Err(Error::at(child.place, what))
            }
        }
    }
}

/// Returns a prefix of a text, short enough for a message.
pub(crate) fn clip(text: &str) -> &str {
    match text.char_indices().nth(60) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Returns the text of an element; refuses one with children.
pub(crate) fn plain(element: &Element) -> Result<&str, Error> {
    match element.children.first() {
        None => Ok(&element.text),
        Some(child) => {
            let what = format!("<{}> contains text, not <{}>", element.name, clip(&child.name));
            Err(Error::at(child.place, what))
        }
    }
}

impl Item for String {
    fn read(element: &Element) -> Result<String, Error> {
        plain(element).map(str::to_owned)
    }

    fn write(&self, name: &str) -> Element {
        Element::text(name, self)
    }
}

impl Item for bool {
    fn read(element: &Element) -> Result<bool, Error> {
        match plain(element)?.trim() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => {
                let what =
                    format!("<{}> must be true or false, not {:?}", element.name, clip(other));
                Err(Error::at(element.place, what))
            }
        }
    }

    fn write(&self, name: &str) -> Element {
        bare(name, self)
    }
}

/// Creates an element for a number or a boolean.
pub(crate) fn bare(name: &str, value: impl std::fmt::Display) -> Element {
    Element { look: Look::Bare, ..Element::text(name, value.to_string()) }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Item for $number {
            fn read(element: &Element) -> Result<$number, Error> {
                let text = plain(element)?.trim();
                text.parse().map_err(|_| {
                    let what = format!(
                        "<{}> must be an integer from {} to {}, not {:?}",
                        element.name, <$number>::MIN, <$number>::MAX, clip(text)
                    );
                    Error::at(element.place, what)
                })
            }

            fn write(&self, name: &str) -> Element {
                bare(name, self)
            }
        }
    )*};
}

numbers!(u8, i16, u16, i32, u32, i64, u64);

/// Identity of an element within its document (`xmi:id`). Defaults to the element's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id(pub String);

impl Item for Id {
    fn read(element: &Element) -> Result<Id, Error> {
        let id = plain(element)?.trim();
        match id.is_empty() {
            true => Err(Error::at(element.place, "an id must not be empty")),
            false => Ok(Id(id.to_owned())),
        }
    }

    fn write(&self, name: &str) -> Element {
        Element::text(name, &self.0).attribute()
    }

    fn missing(_: &str, within: &Element) -> Result<Id, Error> {
        let name = within.child("name").map(|name| name.text.clone());
        match name {
            Some(name) if !name.trim().is_empty() => Ok(Id(name.trim().to_owned())),
            _ => Err(Error::at(
                within.place,
                format!("<{}> has neither an id nor a name", within.name),
            )),
        }
    }
}

/// Reference to the element with an id (`xmi:idref`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ref {
    /// Id of the element.
    pub id: String,
    /// Position of the reference.
    pub place: Place,
}

impl Ref {
    /// Creates a reference to an id.
    pub fn to(id: impl Into<String>) -> Ref {
        Ref { id: id.into(), place: Place::default() }
    }
}

impl Item for Ref {
    fn read(element: &Element) -> Result<Ref, Error> {
        let id = match element.children.as_slice() {
            [] => element.text.trim(),
            [idref] if idref.name == "idref" => plain(idref)?.trim(),
            [child, ..] => {
                let what = format!(
                    "<{}> is a reference by idref, and cannot have <{}>",
                    element.name,
                    clip(&child.name)
                );
                return Err(Error::at(child.place, what));
            }
        };
        if id.is_empty() {
            return Err(Error::at(element.place, format!("<{}> refers to nothing", element.name)));
        }
        Ok(Ref { id: id.to_owned(), place: element.place })
    }

    fn write(&self, name: &str) -> Element {
        let mut element = Element::new(name);
        let idref = Element::text("idref", &self.id).attribute();
        element.children.push(idref);
        element
    }
}

/// Declares a struct of a schema by its elements, in the order in which they are written.
macro_rules! described {
    ($(#[$meta:meta])* $name:ident { $( $(#[$doc:meta])* $field:ident: $ty:ty = $element:literal, )* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $name {
            $( $(#[$doc])* pub $field: $ty, )*
            /// Position of the element.
            pub place: $crate::finding::Place,
        }

        impl $crate::described::Item for $name {
            fn read(element: &$crate::element::Element) -> Result<$name, $crate::finding::Error> {
                let mut fields = $crate::described::Fields::of(element)?;
                let read = $name {
                    $( $field: <$ty as $crate::described::Field>::take(&mut fields, $element)?, )*
                    place: element.place,
                };
                fields.end()?;
                Ok(read)
            }

            fn write(&self, name: &str) -> $crate::element::Element {
                let mut element = $crate::element::Element::new(name);
                $( $crate::described::Field::give(&self.$field, $element, &mut element.children); )*
                element
            }
        }
    };
}

/// Declares an enumeration of a schema by the text of its values.
macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $( $(#[$doc:meta])* $value:ident = $text:literal, )* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub enum $name {
            #[default]
            $( $(#[$doc])* $value, )*
        }

        impl $name {
            /// All values, in the order of the IDL.
            pub const ALL: &[$name] = &[$( $name::$value, )*];

            /// Returns the text of the value in documents.
            pub const fn text(self) -> &'static str {
                match self { $( $name::$value => $text, )* }
            }
        }

        impl $crate::described::Item for $name {
            fn read(element: &$crate::element::Element) -> Result<$name, $crate::finding::Error> {
                let text = $crate::described::plain(element)?.trim();
                $name::ALL.iter().copied().find(|value| value.text() == text).ok_or_else(|| {
                    let known: Vec<&str> = $name::ALL.iter().map(|value| value.text()).collect();
                    let what = format!(
                        "{:?} is not a <{}>; expected one of {}",
                        $crate::described::clip(text), element.name, known.join(", ")
                    );
                    $crate::finding::Error::at(element.place, what)
                })
            }

            fn write(&self, name: &str) -> $crate::element::Element {
                $crate::element::Element::text(name, self.text())
            }
        }
    };
}

pub(crate) use {described, spelled};
