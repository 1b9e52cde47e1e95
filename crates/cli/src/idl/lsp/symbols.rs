//! Symbols of a document, for its outline.

use std::cmp::Reverse;

use oxorb_idl::index::Symbol;
use oxorb_idl::source::Span;
use serde_json::{Value, json};

use super::unit::{Ranges, Unit};

/// Declaration in the document.
struct Declaration<'u> {
    symbol: &'u Symbol,
    name: Span,
    whole: Span,
}

/// Symbol whose inner declarations are being collected.
struct Open {
    whole: Span,
    value: Value,
    children: Vec<Value>,
}

/// Returns the symbols of a document, each with those declared inside it.
pub(super) fn tree(unit: &Unit, mut ranges: Ranges<'_>) -> Value {
    let mut roots = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for declaration in declarations(unit) {
        while open.last().is_some_and(|outer| !holds(outer.whole, declaration.whole)) {
            close(&mut open, &mut roots);
        }
        let symbol = declaration.symbol;
        let value = json!({
            "name": symbol.name,
            "detail": symbol.what.split_once(' ').map_or(symbol.what, |(_, what)| what),
            "kind": kind(symbol.what),
            "range": ranges.range(declaration.whole),
            "selectionRange": ranges.range(declaration.name),
        });
        open.push(Open { whole: declaration.whole, value, children: Vec::new() });
    }
    while !open.is_empty() {
        close(&mut open, &mut roots);
    }
    roots.into()
}

/// Returns the symbols of a document as a list, for clients that know no tree.
pub(super) fn list(unit: &Unit, mut ranges: Ranges<'_>, uri: &str) -> Value {
    let all = declarations(unit).into_iter().map(|Declaration { symbol, name, .. }| {
        let mut value = json!({
            "name": symbol.name,
            "kind": kind(symbol.what),
            "location": { "uri": uri, "range": ranges.range(name) },
        });
        if let Some((around, _)) = symbol.scoped_name.rsplit_once("::") {
            value["containerName"] = around.into();
        }
        value
    });
    all.collect()
}

/// Returns the declarations of a document in the order of their texts, outer ones before inner ones. Parameters are
/// part of their operations.
fn declarations(unit: &Unit) -> Vec<Declaration<'_>> {
    let mut found = Vec::new();
    for occurrence in unit.index.occurrences() {
        let symbol = &unit.index.symbols()[occurrence.symbol];
        let Some(whole) = occurrence.declares else { continue };
        let name = occurrence.span;
        if name.file == unit.main && whole.file == unit.main && symbol.what != "a parameter" {
            // Tokens of a macro may be in any order, and the protocol demands that the text contains the name.
            let (start, end) = (whole.start.min(name.start), whole.end.max(name.end));
            found.push(Declaration { symbol, name, whole: Span { start, end, ..whole } });
        }
    }
    found.sort_by_key(|one| (one.whole.start, Reverse(one.whole.end), one.name.start));
    found
}

/// Reports whether a text contains another one, and is larger.
fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && outer != inner
}

/// Adds the innermost open symbol to the one around it.
fn close(open: &mut Vec<Open>, roots: &mut Vec<Value>) {
    let Some(Open { mut value, children, .. }) = open.pop() else { return };
    if !children.is_empty() {
        value["children"] = children.into();
    }
    match open.last_mut() {
        Some(outer) => outer.children.push(value),
        None => roots.push(value),
    }
}

/// Returns the protocol's number for a kind of declaration.
fn kind(what: &str) -> u8 {
    match what {
        "a module" | "a template module" => 2,
        "a valuetype" | "an event type" | "a boxed valuetype" => 5,
        "a component" | "a connector" | "a port type" | "a home" => 5,
        "a typedef" | "a native type" => 5,
        "an operation" => 6,
        "an attribute" | "a port" => 7,
        "a member" | "a state member" => 8,
        "a factory" => 9,
        "an enum" | "a bitmask" => 10,
        "an interface" | "a forward interface" => 11,
        "a constant" => 14,
        "an enumerator" => 22,
        "a struct" | "a union" | "an exception" | "a bitset" => 23,
        // Variable: also the kind of declarations with errors.
        _ => 13,
    }
}
