//! Names, types and values as IDL.

use crate::lex::Keyword;
use crate::model::{Basic, DefId, DefKind, Model, Type, Value};

/// Returns a name as IDL declares it: escaped with an underscore if it is a keyword, or differs from a reserved word
/// only in case.
///
/// ```
/// assert_eq!(["switch", "Any", "map", "level"].map(oxorb_idl::print::escaped), ["_switch", "_Any", "_map", "level"]);
/// ```
pub fn escaped(name: &str) -> String {
    match Keyword::clashing(name).or_else(|| Keyword::from_text(name)) {
        Some(_) => format!("_{name}"),
        None => name.to_owned(),
    }
}

/// Returns the absolute name; with `explicit`, a name in a home is that in its explicit interface.
pub(crate) fn full_name(model: &Model, id: DefId, explicit: bool) -> String {
    let mut parts = Vec::new();
    let mut next = Some(id);
    while let Some(now) = next {
        let def = model.def(now);
        let inside_home = now != id && explicit && matches!(def.kind, DefKind::Home(_));
        parts.push(match inside_home {
            true => def.name.clone() + "Explicit",
            false => escaped(&def.name),
        });
        next = def.parent;
    }
    parts.reverse();
    format!("::{}", parts.join("::"))
}

/// Returns a type without the dimensions of arrays, which follow the name.
pub(crate) fn type_text(model: &Model, ty: &Type, explicit: bool) -> String {
    let inner = |ty: &Type| type_text(model, ty, explicit);
    let bounded = |bound: &Option<u32>| bound.map_or(String::new(), |n| format!("<{n}>"));
    let last = |bound: &Option<u32>| bound.map_or(String::new(), |n| format!(", {n}"));
    match ty {
        Type::Basic(basic) => basic.as_str().to_owned(),
        Type::String(bound) => format!("string{}", bounded(bound)),
        Type::WString(bound) => format!("wstring{}", bounded(bound)),
        Type::Sequence(element, bound) => {
            closed(&format!("sequence<{}{}", inner(element), last(bound)))
        }
        Type::Map(key, value, bound) => {
            let (key, value, last) = (inner(key), inner(value), last(bound));
            closed(&format!("map<{key}, {value}{last}"))
        }
        Type::Array(element, _) => inner(element),
        Type::Fixed(digits, scale) => format!("fixed<{digits}, {scale}>"),
        Type::Named(id) => full_name(model, *id, explicit),
        Type::Object => "Object".into(),
        Type::Any => "any".into(),
        Type::TypeCode => "::CORBA::TypeCode".into(),
        Type::ValueBase => "ValueBase".into(),
    }
}

/// Returns the text closed with a `>` that other compilers cannot read as half of a shift.
fn closed(text: &str) -> String {
    match text.ends_with('>') {
        true => format!("{text} >"),
        false => format!("{text}>"),
    }
}

/// Returns the `[3][4]` after a name.
pub(super) fn dimensions(ty: &Type) -> String {
    match ty {
        Type::Array(_, sizes) => sizes.iter().map(|size| format!("[{size}]")).collect(),
        _ => String::new(),
    }
}

/// Returns a constant of type `ty` as a literal.
pub(crate) fn value_text(model: &Model, value: &Value, ty: Option<&Type>) -> String {
    let wide = match ty.map(|ty| model.resolve(ty)) {
        Some(Type::Basic(Basic::WChar) | Type::WString(_)) => "L",
        _ => "",
    };
    match value {
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::LongDouble(value) => value.to_string(),
        Value::Boolean(true) => "TRUE".into(),
        Value::Boolean(false) => "FALSE".into(),
        Value::Char(value) => format!("{wide}'{}'", literal(*value, '\'', !wide.is_empty())),
        Value::String(value) => {
            let text: String = value.chars().map(|c| literal(c, '"', !wide.is_empty())).collect();
            format!("{wide}\"{text}\"")
        }
        Value::Fixed(value) => format!("{value}d"),
        Value::Enumerator(id, ordinal) => {
            let def = model.def(*id);
            let name = match &def.kind {
                DefKind::Enum(body) => escaped(&body.enumerators[*ordinal as usize].name),
                _ => ordinal.to_string(),
            };
            match def.parent {
                Some(parent) => format!("{}::{name}", full_name(model, parent, false)),
                None => format!("::{name}"),
            }
        }
    }
}

/// Returns a character for a literal; outside plain ASCII, as an escape of full length, which following digits cannot
/// extend.
fn literal(c: char, quote: char, wide: bool) -> String {
    match c {
        _ if c == quote || c == '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        '\0'..='\u{ff}' if !wide => format!("\\{:03o}", u32::from(c)),
        _ if u32::from(c) <= 0xffff => format!("\\u{:04x}", u32::from(c)),
        _ => c.to_string(),
    }
}
