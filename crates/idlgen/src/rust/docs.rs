//! Doc comments: the IDL's own comments, and the origin of the item.

use oxorb_idl::model::{Annotation, Def, Value};
use proc_macro2::TokenStream;
use quote::quote;

/// Returns the comment of a definition, then `IDL: kind scoped::name`.
pub(super) fn item(doc: &str, kind: &str, def: &Def) -> TokenStream {
    let own = comment(doc);
    let origin = format!("IDL: `{kind} {}`.", def.scoped_name);
    if own.is_empty() {
        return lines(&origin);
    }
    lines(&format!("{own}\n\n{origin}"))
}

/// Returns the comment of an item without a scoped name, or `otherwise`.
pub(super) fn or(doc: &str, otherwise: &str) -> TokenStream {
    let own = comment(doc);
    lines(if own.is_empty() { otherwise } else { &own })
}

/// Returns the comment of a member, and the constraints that its annotations state.
pub(super) fn member(doc: &str, annotations: &[Annotation]) -> String {
    let mut notes = Vec::new();
    for one in annotations {
        let said = |param: &str| one.value(param).map(text);
        notes.extend(match one.name.as_str() {
            "unit" => said("value").map(|unit| format!("Unit: {unit}.")),
            "min" => said("value").map(|least| format!("At least {least}.")),
            "max" => said("value").map(|most| format!("At most {most}.")),
            "range" => match (said("min"), said("max")) {
                (Some(least), Some(most)) => Some(format!("From {least} to {most}.")),
                _ => None,
            },
            _ => None,
        });
    }
    let notes = notes.join(" ");
    match (doc.trim().is_empty(), notes.is_empty()) {
        (_, true) => doc.to_owned(),
        (true, false) => notes,
        (false, false) => format!("{}\n\n{notes}", doc.trim_end()),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::LongDouble(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Char(c) => c.to_string(),
        Value::String(text) => text.to_string(),
        Value::Fixed(text) => text.clone(),
        Value::Enumerator(_, ordinal) => format!("enumerator {ordinal}"),
    }
}

/// Returns a first sentence, then the comment of the definition that it concerns.
pub(super) fn after(first: &str, doc: &str) -> TokenStream {
    lines(format!("{first}\n\n{}", comment(doc)).trim_end())
}

/// Returns each line as a separate doc attribute, so that it prints as `///`.
pub(super) fn lines(text: &str) -> TokenStream {
    text.lines()
        .map(|line| {
            let line = if line.is_empty() { String::new() } else { format!(" {line}") };
            quote!(#[doc = #line])
        })
        .collect()
}

/// Sanitizes an IDL comment: rustdoc must not see links, HTML, or (by indentation or fences) Rust code to test.
fn comment(doc: &str) -> String {
    let mut out = Vec::new();
    for line in doc.trim().lines() {
        let line = line.trim_end();
        let text = line.trim_start();
        let indent = (line.len() - text.len()).min(3);
        let text = text.replace("```", "'''");
        out.push(" ".repeat(indent) + &escape(&text));
    }
    out.join("\n")
}

/// Escapes the start of links and tags outside backquotes.
fn escape(text: &str) -> String {
    let mut quoted = false;
    let mut out = String::new();
    let balanced = text.matches('`').count().is_multiple_of(2);
    for c in text.chars() {
        quoted ^= c == '`' && balanced;
        if !quoted && matches!(c, '[' | ']' | '<' | '>') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
