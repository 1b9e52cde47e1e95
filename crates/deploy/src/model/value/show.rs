//! Display form of data.

use std::fmt;

use super::{Any, Data};

/// Writes the data without its type: `20`, `"text"`, `[1, 2]`, `{1.5, true}`.
impl fmt::Display for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, open: &str, items: &[Data], close: &str| {
            f.write_str(open)?;
            for (at, item) in items.iter().enumerate() {
                f.write_str(if at > 0 { ", " } else { "" })?;
                item.fmt(f)?;
            }
            f.write_str(close)
        };
        match self {
            Data::Null => f.write_str("null"),
            Data::Integer(number) => write!(f, "{number}"),
            Data::Unsigned(number) => write!(f, "{number}"),
            Data::Float(number) => write!(f, "{number}"),
            Data::Double(number) => write!(f, "{number}"),
            Data::Boolean(value) => write!(f, "{value}"),
            Data::Text(text) => write!(f, "{text:?}"),
            Data::Enum(name) => f.write_str(name),
            Data::Struct(members) => list(f, "{", members, "}"),
            Data::Sequence(items) => list(f, "[", items, "]"),
        }
    }
}
