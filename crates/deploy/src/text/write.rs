//! Writing of elements as TOML.

use std::fmt::Write as _;

use toml::de::DeTable;

use super::{KIND, PLAN, PROPERTIES};
use crate::element::{Element, Look};
use crate::finding::Error;
use crate::model::basic::PortKind;
use crate::model::value::Basic;

/// Writes a document of a kind.
///
/// # Errors
/// Tables nested more deeply than the reader of TOML accepts.
pub(crate) fn write(root: &Element, kind: &str) -> Result<String, Error> {
    let mut out = String::new();
    if kind != PLAN {
        let _ = writeln!(out, "{KIND} = {}", quoted(kind));
    }
    table(root, "", &mut out);
    // Parses the text again, because only the TOML parser knows the depth that it accepts.
    match DeTable::parse(&out) {
        Ok(_) => Ok(out),
        Err(error) => Err(Error::plain(format!(
            "TOML cannot hold this document: {}; write it as XML",
            error.message().replace('\n', ", ")
        ))),
    }
}

/// Tables that occur at most once.
const SINGLE: &[&str] = &["realizes", "orbConfigs", "resources", "cmdline", "svcconf"];

/// Elements with the same name, which form one key.
struct Group<'e> {
    name: &'e str,
    items: Vec<&'e Element>,
}

/// Returns the children of an element grouped by name, in the order of the first of each.
fn groups(element: &Element) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let name = element.child("name").map(|name| name.text.as_str());
    for child in &element.children {
        if child.name == "id" && child.is_attribute && name == Some(&child.text) {
            continue;
        }
        // Comparing with the last group suffices, because the schema writes elements with the same
        // name together.
        match groups.last_mut().filter(|last| last.name == child.name) {
            Some(last) => last.items.push(child),
            None => groups.push(Group { name: &child.name, items: vec![child] }),
        }
    }
    groups
}

/// Writes the keys of an element, then its tables. `path` is the path of the table; empty for the
/// root.
fn table(element: &Element, path: &str, out: &mut String) {
    let groups = groups(element);
    // References and texts are written first, because everything after a table header belongs to
    // that table.
    for group in groups.iter().filter(|group| !is_tabular(group, path)) {
        match endpoints(element, group) {
            Some(short) => short.iter().for_each(|(kind, ends)| {
                let _ = writeln!(out, "{kind} = {ends}");
            }),
            None => {
                let _ = writeln!(out, "{} = {}", key(group.name), inline(group));
            }
        }
    }
    for group in groups.iter().filter(|group| is_tabular(group, path)) {
        let path = match path {
            "" => key(group.name),
            path => format!("{path}.{}", key(group.name)),
        };
        if let Some(entries) = short_properties(group) {
            let _ = writeln!(out, "\n[{path}]");
            for (name, value) in entries {
                let _ = writeln!(out, "{} = {value}", key(name));
            }
            continue;
        }
        for item in &group.items {
            let _ = match SINGLE.contains(&group.name) {
                true => writeln!(out, "\n[{path}]"),
                false => writeln!(out, "\n[[{path}]]"),
            };
            table(item, &path, out);
        }
    }
}

/// Reports whether elements become tables with headers, rather than one line.
fn is_tabular(group: &Group<'_>, path: &str) -> bool {
    if PROPERTIES.contains(&group.name) && short_properties(group).is_some() {
        return true;
    }
    let depth = path.split('.').filter(|part| !part.is_empty()).count();
    let has_structure = |item: &Element| {
        reference(item).is_none() && item.children.iter().any(|child| !child.children.is_empty())
    };
    let is_table = |item: &Element| reference(item).is_none() && !item.children.is_empty();
    let all_tables = || group.items.iter().all(|item| is_table(item));
    match depth {
        0 => all_tables(),
        1 | 2 if path.starts_with("orbConfigs") => all_tables() && group.name != "cmdline",
        1 => {
            all_tables()
                && group.name != "internalEndpoint"
                && group.items.iter().any(|item| has_structure(item))
        }
        _ => false,
    }
}

/// Returns the id of an element that is only a reference.
fn reference(element: &Element) -> Option<&str> {
    match element.children.as_slice() {
        [idref] if idref.is_attribute && idref.name == "idref" => Some(&idref.text),
        _ => None,
    }
}

/// Returns properties by name, if the names differ and each has only a name and a value.
fn short_properties<'e>(group: &Group<'e>) -> Option<Vec<(&'e str, String)>> {
    if !PROPERTIES.contains(&group.name) {
        return None;
    }
    let mut seen = std::collections::HashSet::new();
    let mut entries = Vec::new();
    for item in &group.items {
        let [name, value] = item.children.as_slice() else {
            return None;
        };
        if name.name != "name" || value.name != "value" || !seen.insert(&name.text) {
            return None;
        }
        entries.push((name.text.as_str(), any(value)));
    }
    Some(entries)
}

/// Returns a value in its shortest form.
fn any(element: &Element) -> String {
    short_any(element).unwrap_or_else(|| body(element))
}

fn short_any(element: &Element) -> Option<String> {
    let [kind, value] = element.children.as_slice() else {
        return None;
    };
    let ([kind], [leaf]) = (kind.children.as_slice(), value.children.as_slice()) else {
        return None;
    };
    let basic = Basic::named(kind.text.strip_prefix("tk_")?)?;
    if leaf.name != basic.name() || !leaf.children.is_empty() {
        return None;
    }
    Some(match basic {
        Basic::String => quoted(&leaf.text),
        Basic::Boolean | Basic::Long => leaf.text.clone(),
        // Infinity and NaN are written as text, because XML and TOML have different words for them.
        Basic::Double if is_toml_float(&leaf.text) => leaf.text.clone(),
        _ => format!("{{ {} = {} }}", basic.name(), leaf_text(leaf)),
    })
}

/// Reports whether the text that Rust writes for a number is a TOML float.
fn is_toml_float(text: &str) -> bool {
    let is_number = text.chars().all(|c| c.is_ascii_digit() || "+-.e".contains(c));
    is_number && text.contains(['.', 'e'])
}

/// Returns the endpoints of a connection by kind, if that preserves their order and all their
/// members.
fn endpoints(parent: &Element, group: &Group<'_>) -> Option<Vec<(&'static str, String)>> {
    if parent.name != "connection" || group.name != "internalEndpoint" {
        return None;
    }
    let mut kinds: Vec<(&'static str, Vec<String>)> = Vec::new();
    for item in &group.items {
        let [port, provider, kind, instance] = item.children.as_slice() else {
            return None;
        };
        let port_kind = PortKind::ALL.iter().find(|known| known.text() == kind.text)?;
        let names = [&*port.name, &*provider.name, &*kind.name, &*instance.name];
        let instance = reference(instance)?;
        if names != ["portName", "provider", "kind", "instance"]
            || provider.text != port_kind.provides().to_string()
            || port.text.is_empty()
            || port.text.contains('.')
            || instance.is_empty()
        {
            return None;
        }
        let end = quoted(&format!("{instance}.{}", port.text));
        match kinds.iter().position(|(kind, _)| *kind == port_kind.text()) {
            Some(at) if at + 1 == kinds.len() => kinds[at].1.push(end),
            Some(_) => return None,
            None => kinds.push((port_kind.text(), vec![end])),
        }
    }
    let short = kinds.into_iter().map(|(kind, ends)| match ends.as_slice() {
        [one] => (kind, one.clone()),
        many => (kind, format!("[{}]", many.join(", "))),
    });
    Some(short.collect())
}

/// Returns elements with the same name as one value.
fn inline(group: &Group<'_>) -> String {
    if let Some(entries) = short_properties(group) {
        let entries: Vec<String> =
            entries.into_iter().map(|(name, value)| format!("{} = {value}", key(name))).collect();
        return format!("{{ {} }}", entries.join(", "));
    }
    let is_property = PROPERTIES.contains(&group.name);
    match group.items.as_slice() {
        // A single property becomes an array, because a table would be read as the short form.
        [one] if !is_property => item(one),
        many => {
            let items: Vec<String> = many.iter().map(|one| item(one)).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

fn item(element: &Element) -> String {
    match reference(element) {
        Some(id) => quoted(id),
        None if element.children.is_empty() => leaf_text(element),
        None => body(element),
    }
}

/// Returns an element as an inline table.
fn body(element: &Element) -> String {
    let mut parts = Vec::new();
    for group in groups(element) {
        match endpoints(element, &group) {
            Some(short) => {
                parts.extend(short.into_iter().map(|(kind, ends)| format!("{kind} = {ends}")))
            }
            None => parts.push(format!("{} = {}", key(group.name), inline(&group))),
        }
    }
    match parts.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", parts.join(", ")),
    }
}

fn leaf_text(element: &Element) -> String {
    match element.look {
        // TOML's numbers are signed 64-bit integers, so greater ones are written as text.
        Look::Bare
            if element.text.parse::<i64>().is_ok()
                || ["true", "false"].contains(&&*element.text) =>
        {
            element.text.clone()
        }
        _ => quoted(&element.text),
    }
}

fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match is_bare {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            hidden if hidden.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(hidden));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}
