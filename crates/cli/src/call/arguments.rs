//! Words of a command line, or a JSON document, to the arguments of an operation.

use std::fmt::Write as _;
use std::io::Read as _;

use oxorb_dynamic::json::{JsonError, Names, Reader};
use oxorb_dynamic::{Dynamic, Parameter, Shape, Signature, TcKind as Kind, TypeCode};
use serde_json::Value;

/// What the user gave.
pub(super) enum Given<'g> {
    /// A word for each argument.
    Words(&'g [String]),
    /// A word for the only one.
    Word(&'g str),
    /// All in one JSON text, or `@FILE`, or `-`.
    Document(&'g str),
}

/// The values of the in and inout parameters, in order.
pub(super) fn read(
    given: Given<'_>,
    signature: &Signature,
    names: &dyn Names,
) -> Result<Vec<Dynamic>, String> {
    let json = match given {
        Given::Words(words) => each_word(words.iter().map(String::as_str), signature)?,
        Given::Word(word) => each_word(std::iter::once(word), signature)?,
        Given::Document(text) => from_document(&document(text)?, signature)?,
    };
    let mut reader = Reader::new(names);
    let numbered = signature.inputs().zip(&json).enumerate();
    numbered
        .map(|(at, (param, json))| {
            let value = reader.from_json(json, &param.ty);
            value.map_err(|error| within(error, at, param))
        })
        .collect()
}

/// `args[1].route[3].name: expected a string, found a number`
fn within(error: JsonError, at: usize, param: &Parameter) -> String {
    let inside = error.within(&format!("args[{at}]"));
    match inside.path.len() == format!("args[{at}]").len() {
        true => format!("args[{at}] ({}): {}", param.name, inside.what),
        false => inside.to_string(),
    }
}

fn each_word<'w>(
    words: impl ExactSizeIterator<Item = &'w str>,
    signature: &Signature,
) -> Result<Vec<Value>, String> {
    count(words.len(), signature)?;
    let numbered = words.zip(signature.inputs()).enumerate();
    numbered
        .map(|(at, (word, param))| {
            read_word(word, &param.ty).map_err(|why| format!("args[{at}] ({}): {why}", param.name))
        })
        .collect()
}

/// A word is JSON, but what can only be text need not be in quotes.
fn read_word(word: &str, ty: &TypeCode) -> Result<Value, String> {
    let bare = || Ok(Value::String(word.to_owned()));
    let json = || serde_json::from_str(word).map_err(|error| format!("this is no JSON: {error}"));
    let resolved = ty.resolved();
    match resolved.shape() {
        Shape::String { .. }
        | Shape::Wstring { .. }
        | Shape::Enum
        | Shape::Fixed { .. }
        | Shape::Simple(Kind::Char | Kind::Wchar | Kind::Longdouble) => match word.starts_with('"')
        {
            true => json(),
            false => bare(),
        },
        Shape::Named(_) => match word.starts_with(['"', '{']) || word == "null" {
            true => json(),
            false => bare(),
        },
        // NaN, Infinity
        Shape::Simple(Kind::Float | Kind::Double) => json().or_else(|_: String| bare()),
        // Base64, of which some looks like JSON.
        Shape::Sequence { element, .. } | Shape::Array { element, .. }
            if element.resolved().kind() == Kind::Octet =>
        {
            match word.starts_with(['"', '[']) {
                true => json(),
                false => bare(),
            }
        }
        Shape::Simple(Kind::TypeCode) => match word.starts_with(['"', '{']) {
            true => json(),
            false => bare(),
        },
        // As IDL spells them.
        Shape::Simple(Kind::Boolean) if matches!(word, "TRUE" | "FALSE") => {
            Ok(Value::Bool(word == "TRUE"))
        }
        _ if word.starts_with(['{', '[', '"']) => json(),
        // What is no JSON then is said to be a string where something else is needed.
        _ => json().or_else(|_: String| bare()),
    }
}

fn document(text: &str) -> Result<Value, String> {
    let (name, text) = match text.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file);
            (file, text.map_err(|error| format!("{file}: {error}"))?)
        }
        None if text == "-" => {
            let mut input = String::new();
            let read = std::io::stdin().read_to_string(&mut input);
            read.map_err(|error| format!("standard input: {error}"))?;
            ("standard input", input)
        }
        None => ("--args", text.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| format!("{name}: this is no JSON: {error}"))
}

fn from_document(document: &Value, signature: &Signature) -> Result<Vec<Value>, String> {
    match document {
        Value::Array(values) => {
            count(values.len(), signature)?;
            Ok(values.clone())
        }
        Value::Object(values) => {
            let known = |name: &&String| signature.inputs().any(|param| param.name == **name);
            if let Some(name) = values.keys().find(|name| !known(name)) {
                return Err(format!("there is no parameter {name}: {signature}"));
            }
            let value = |param: &Parameter| {
                let value = values.get(&param.name).cloned();
                value.ok_or_else(|| format!("argument {} is missing: {signature}", param.name))
            };
            signature.inputs().map(value).collect()
        }
        _ => Err("--args: expected an array, or an object by the names of parameters".to_owned()),
    }
}

fn count(given: usize, signature: &Signature) -> Result<(), String> {
    let wanted = signature.inputs().count();
    if given == wanted {
        return Ok(());
    }
    let mut what = match wanted {
        0 => "it takes no arguments".to_owned(),
        1 => "it takes 1 argument".to_owned(),
        wanted => format!("it takes {wanted} arguments"),
    };
    let _ = write!(what, ", not {given}: {signature}");
    Err(what)
}
