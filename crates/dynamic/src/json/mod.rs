//! Values and types as JSON, and back. `docs/json.md` specifies the mapping.
//!
//! ```
//! use oxorb_dynamic::TypeCode;
//! use oxorb_dynamic::json::{Json, Plain, from_json};
//! use serde_json::json;
//!
//! let point = TypeCode::structure("IDL:P:1.0", "P", [("x", TypeCode::SHORT), ("name", TypeCode::STRING)]);
//! let value = from_json(&json!({ "x": 7, "name": "here" }), &point, &Plain)?;
//! assert_eq!(serde_json::to_string(&Json(&value))?, r#"{"x":7,"name":"here"}"#);
//!
//! let error = from_json(&json!({ "x": "7", "name": "here" }), &point, &Plain).unwrap_err();
//! assert_eq!(error.to_string(), "x: expected a number, found a string");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base64;
mod budget;
mod left_out;
mod number;
mod positions;
mod read;
mod types;
mod value;
mod write;

use std::fmt;

use oxorb_cdr::{DecoderLimits, Printable, TypeCode};
use oxorb_object::{Ior, Url, parse_reference};

pub use left_out::LeftOut;
pub use read::{Reader, from_json};
pub use types::{JsonType, type_from_json};
pub use write::{Json, Shared};

/// Interpretation of names in JSON: those of types, and those of objects.
pub trait Names {
    /// Returns the type with a scoped name or repository id, for `any` and `TypeCode`.
    fn find_type(&self, name: &str) -> Option<TypeCode>;

    /// Returns the name for which [`find_type`](Self::find_type) returns exactly this type; it is
    /// written instead of the whole type. `None` if there is none.
    fn name_of_type(&self, _: &TypeCode) -> Option<String> {
        None
    }

    /// Returns the limits of text written with these names.
    fn limits(&self) -> DecoderLimits {
        DecoderLimits::default()
    }

    /// Returns the interpretation of an omitted member of the struct, exception, union or valuetype
    /// with this repository id.
    fn left_out(&self, _id: &str, _member: &str) -> LeftOut {
        LeftOut::Refused("")
    }

    /// Returns the reference for a text, or the reason why there is none. By default, supports `IOR:` and
    /// `corbaloc:`.
    fn find_object(&self, text: &str) -> Result<Ior, String> {
        match parse_reference(text) {
            Ok(Url::Ior(ior)) => Ok(ior),
            Ok(Url::Corbaloc(corbaloc)) => {
                corbaloc.to_ior().ok_or_else(|| "it has no address that can be used".to_owned())
            }
            Ok(_) => Err("only IOR: and corbaloc: references can be given here".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Names without any beyond those of IDL itself.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Names for Plain {
    fn find_type(&self, _: &str) -> Option<TypeCode> {
        None
    }
}

/// Reason why JSON is not a value of a type, and the part that is invalid.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Path to the part, as in `route[3].name`; empty for the complete value.
    pub path: String,
    /// Description of the error.
    pub what: String,
}

impl JsonError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        JsonError { path: String::new(), what: what.into() }
    }

    /// Prefixes the path with that of the enclosing value: `args[0]` and `.name` or `[3]`.
    #[must_use]
    pub fn within(mut self, whole: &str) -> Self {
        let dot = match self.path.as_bytes().first() {
            None | Some(b'[') => "",
            Some(_) => ".",
        };
        self.path = format!("{whole}{dot}{}", self.path);
        self
    }

    fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", Printable(&self.path))?;
        }
        Printable(&self.what).fmt(f)
    }
}

impl fmt::Debug for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for JsonError {}
