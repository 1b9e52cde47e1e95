//! Values of properties: a type and its data, in the format of `Deployment::Any`.

use crate::described::{Item, clip};
use crate::element::Element;
use crate::finding::{Error, Place};

mod read;
mod show;
mod write;

use read::read_data;
pub(super) use read::read_type;
use write::write_data;
pub(super) use write::write_type;

/// Kind of a type without parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Basic {
    /// `short`.
    Short,
    /// `long`.
    Long,
    /// `long long`.
    LongLong,
    /// `unsigned short`.
    UShort,
    /// `unsigned long`.
    ULong,
    /// `unsigned long long`.
    ULongLong,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `long double`; its data is the text of a number.
    LongDouble,
    /// `boolean`.
    Boolean,
    /// `octet`.
    Octet,
    /// `char`.
    Char,
    /// `wchar`.
    WChar,
    /// `string`.
    String,
    /// `wstring`.
    WString,
    /// `Object`; its data is a reference as text.
    Objref,
}

impl Basic {
    /// All kinds, with the name of the element that holds their data.
    pub const ALL: &[(Basic, &str)] = &[
        (Basic::Short, "short"),
        (Basic::Long, "long"),
        (Basic::LongLong, "longlong"),
        (Basic::UShort, "ushort"),
        (Basic::ULong, "ulong"),
        (Basic::ULongLong, "ulonglong"),
        (Basic::Float, "float"),
        (Basic::Double, "double"),
        (Basic::LongDouble, "longdouble"),
        (Basic::Boolean, "boolean"),
        (Basic::Octet, "octet"),
        (Basic::Char, "char"),
        (Basic::WChar, "wchar"),
        (Basic::String, "string"),
        (Basic::WString, "wstring"),
        (Basic::Objref, "objref"),
    ];

    /// Returns the name of the element; the kind is this name after `tk_`.
    pub fn name(self) -> &'static str {
        let found = Basic::ALL.iter().find(|(basic, _)| *basic == self);
        found.map_or("", |(_, name)| name)
    }

    pub(crate) fn named(name: &str) -> Option<Basic> {
        let found = Basic::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(basic, _)| *basic)
    }
}

/// Type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Type without values (`tk_null`).
    Null,
    /// A basic type.
    Basic(Basic),
    /// A `string` or `wstring` of limited length.
    Bounded {
        /// `String` or `WString`.
        basic: Basic,
        /// Maximum number of characters.
        bound: u32,
    },
    /// An enumeration.
    Enum {
        /// Name.
        name: String,
        /// Repository id.
        type_id: String,
        /// Names of the enumerators, in order.
        members: Vec<String>,
    },
    /// A struct.
    Struct {
        /// Name.
        name: String,
        /// Repository id.
        type_id: String,
        /// Members, in order.
        members: Vec<(String, Type)>,
    },
    /// A sequence.
    Sequence {
        /// Maximum number of elements, if bounded.
        bound: Option<u32>,
        /// Type of the sequence's elements.
        element: Box<Type>,
    },
    /// An array; one with several dimensions is an array of arrays.
    Array {
        /// Number of elements.
        length: u32,
        /// Type of the array's elements.
        element: Box<Type>,
    },
    /// A name of another type.
    Alias {
        /// Name.
        name: String,
        /// Repository id.
        type_id: String,
        /// Type for which the name stands.
        element: Box<Type>,
    },
}

impl Type {
    /// Returns the basic type behind any alias, bounded or not.
    pub fn basic(&self) -> Option<Basic> {
        match resolve(self) {
            Type::Basic(basic) | Type::Bounded { basic, .. } => Some(*basic),
            _ => None,
        }
    }
}

/// Data of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Absence of data.
    Null,
    /// Signed and unsigned numbers of at most 32 bits, octets, and `long long`.
    Integer(i64),
    /// `unsigned long long`.
    Unsigned(u64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `boolean`.
    Boolean(bool),
    /// Strings, characters, references, and the digits of a `long double`.
    Text(String),
    /// Name of an enumerator.
    Enum(String),
    /// Members of a struct in the order of its type.
    Struct(Vec<Data>),
    /// Elements of a sequence or an array.
    Sequence(Vec<Data>),
}

/// A type with its data (`Deployment::Any`).
#[derive(Debug, Clone, PartialEq)]
pub struct Any {
    /// Type of the data.
    pub kind: Type,
    /// Data, which fits the type if the value was read from a document.
    pub data: Data,
    /// Position of the element.
    pub place: Place,
}

impl Default for Any {
    fn default() -> Any {
        Any { kind: Type::Null, data: Data::Null, place: Place::default() }
    }
}

impl Any {
    /// Creates a string.
    pub fn string(text: impl Into<String>) -> Any {
        Any {
            kind: Type::Basic(Basic::String),
            data: Data::Text(text.into()),
            place: Place::default(),
        }
    }

    /// Creates a `long`.
    pub fn long(number: i32) -> Any {
        Any {
            kind: Type::Basic(Basic::Long),
            data: Data::Integer(number.into()),
            place: Place::default(),
        }
    }

    /// Reads the data of a value of a type, from the element that holds the data.
    pub(crate) fn of_type(kind: Type, value: &Element) -> Result<Any, Error> {
        Ok(Any { data: read_data(value, &kind)?, kind, place: value.place })
    }

    /// Returns the text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if it is numeric.
    pub fn as_number(&self) -> Option<f64> {
        match &self.data {
            Data::Integer(number) => Some(*number as f64),
            Data::Unsigned(number) => Some(*number as f64),
            Data::Float(number) => Some((*number).into()),
            Data::Double(number) => Some(*number),
            Data::Text(text) if self.kind == Type::Basic(Basic::LongDouble) => text.parse().ok(),
            _ => None,
        }
    }
}

impl Item for Any {
    fn read(element: &Element) -> Result<Any, Error> {
        let part = |name: &str| {
            element.child(name).ok_or_else(|| {
                Error::at(element.place, format!("<{}> has no <{name}>", element.name))
            })
        };
        let kind = read_type(part("type")?)?;
        if let Some(other) =
            element.children.iter().find(|child| !["type", "value"].contains(&&*child.name))
        {
            return Err(Error::at(
                other.place,
                format!("a value has <type> and <value>, but not <{}>", clip(&other.name)),
            ));
        }
        for name in ["type", "value"] {
            let mut all = element.children.iter().filter(|child| child.name == name);
            if let Some(second) = all.nth(1) {
                let what = format!("<{}> has a second <{name}>", element.name);
                return Err(Error::at(second.place, what));
            }
        }
        if !element.text.trim().is_empty() {
            let text = clip(element.text.trim());
            let what = format!(
                "<{}> has the text {text:?} in addition to <type> and <value>",
                element.name
            );
            return Err(Error::at(element.place, what));
        }
        let data = match (&kind, element.child("value")) {
            (Type::Null, None) => Data::Null,
            _ => read_data(part("value")?, &kind)?,
        };
        Ok(Any { kind, data, place: element.place })
    }

    fn write(&self, name: &str) -> Element {
        let mut element = Element::new(name);
        element.children.push(write_type(&self.kind, "type"));
        if self.kind != Type::Null {
            element.children.push(write_data("value", &self.kind, &self.data));
        }
        element
    }
}

/// Returns the type behind all aliases.
fn resolve(mut kind: &Type) -> &Type {
    while let Type::Alias { element, .. } = kind {
        kind = element;
    }
    kind
}

/// Returns the name of the elements that hold data of a type; `None` if the data has a structure.
pub(crate) fn holder(kind: &Type) -> Option<&'static str> {
    match resolve(kind) {
        Type::Basic(basic) | Type::Bounded { basic, .. } => Some(basic.name()),
        Type::Enum { .. } => Some("enum"),
        _ => None,
    }
}
