//! Conversion of words of a command line, or a JSON document, to the arguments of an operation.

use std::fmt::Write as _;
use std::path::Path;

use oxorb_dynamic::json::{JsonError, Names, Reader};
use oxorb_dynamic::{Dynamic, Parameter, Shape, Signature, TcKind as Kind, TypeCode};
use serde_json::Value;

use crate::input;
use crate::types::Known;

/// Arguments of the call, as the user gave them.
pub(super) enum Given<'g> {
    /// Words, one for each argument.
    Words(&'g [String]),
    /// Word for the only argument.
    Word(&'g str),
    /// All arguments in one JSON text, or `@FILE`, or `-`.
    Document(&'g str),
}

/// Returns the values of the in and inout parameters, in order.
pub(super) fn read(
    given: Given<'_>,
    signature: &Signature,
    known: &Known<'_>,
) -> Result<Vec<Dynamic>, String> {
    values(&json(given, signature)?, signature, known, known.defaults)
}

/// Returns the JSON of the in and inout parameters, in order. Parameters that are left out are `None`, or missing at
/// the end.
pub(super) fn json(given: Given<'_>, signature: &Signature) -> Result<Vec<Option<Value>>, String> {
    match given {
        Given::Words(words) => each_word(words.iter().map(String::as_str), signature),
        Given::Word(word) => each_word(std::iter::once(word), signature),
        Given::Document(text) => {
            let document = document(text)?;
            from_document(document, signature).map_err(|why| format!("--args: {why}"))
        }
    }
}

/// Returns the values of the in and inout parameters, in order, from a JSON array, or from a JSON object with a member
/// for each parameter. With `defaults`, arguments that are left out are zero, empty or nil.
pub(crate) fn from_json(
    document: Value,
    signature: &Signature,
    names: &dyn Names,
    defaults: bool,
) -> Result<Vec<Dynamic>, String> {
    values(&from_document(document, signature)?, signature, names, defaults)
}

fn values(
    json: &[Option<Value>],
    signature: &Signature,
    names: &dyn Names,
    defaults: bool,
) -> Result<Vec<Dynamic>, String> {
    let mut reader = Reader::new(names);
    let numbered = signature.inputs().enumerate();
    numbered
        .map(|(at, param)| {
            let value = match json.get(at).and_then(Option::as_ref) {
                Some(json) => reader.from_json(json, &param.ty),
                None if defaults => reader.zero(&param.ty),
                None => return Err(missing(json, param, signature)),
            };
            value.map_err(|error| within(error, at, param))
        })
        .collect()
}

fn missing(given: &[Option<Value>], param: &Parameter, signature: &Signature) -> String {
    const ADVICE: &str = "--defaults sets omitted arguments to zero";
    let wanted = signature.inputs().count();
    match given.len() < wanted {
        true => format!("{}; {ADVICE}", count(given.len(), wanted, signature)),
        false => format!("argument {} is missing: {signature}; {ADVICE}", param.name),
    }
}

/// Returns the message for a JSON error with its place, for example
/// `args[1].route[3].name: expected a string, found a number`.
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
) -> Result<Vec<Option<Value>>, String> {
    not_too_many(words.len(), signature)?;
    let numbered = words.zip(signature.inputs()).enumerate();
    numbered
        .map(|(at, (word, param))| {
            let json = read_word(word, &param.ty);
            json.map(Some).map_err(|why| format!("args[{at}] ({}): {why}", param.name))
        })
        .collect()
}

/// Reads a word as JSON; values that can only be text need no quotes.
fn read_word(word: &str, ty: &TypeCode) -> Result<Value, String> {
    let bare = || Ok(Value::String(word.to_owned()));
    let json = || serde_json::from_str(word).map_err(|error| format!("this is not JSON: {error}"));
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
        // NaN and Infinity are not JSON, so they are passed on as text.
        Shape::Simple(Kind::Float | Kind::Double) => json().or_else(|_: String| bare()),
        // Base64 may look like a JSON number or literal, so only a word that begins with a quote or bracket is read as
        // JSON.
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
        // Boolean values may also be written as in IDL.
        Shape::Simple(Kind::Boolean) if matches!(word, "TRUE" | "FALSE") => {
            Ok(Value::Bool(word == "TRUE"))
        }
        _ if word.starts_with(['{', '[', '"']) => json(),
        // A word that is not JSON is taken as a string. If another type is expected, the error message then says so.
        _ => json().or_else(|_: String| bare()),
    }
}

fn document(text: &str) -> Result<Value, String> {
    let (name, text) = match text.strip_prefix('@') {
        Some(file) => {
            let text = input::file(Path::new(file), "a JSON document of arguments")?;
            (file, text)
        }
        None if text == "-" => {
            let text = input::stdin("a JSON document of arguments")?;
            ("standard input", text)
        }
        None => ("--args", text.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| format!("{name}: this is not JSON: {error}"))
}

fn from_document(document: Value, signature: &Signature) -> Result<Vec<Option<Value>>, String> {
    match document {
        Value::Array(values) => {
            not_too_many(values.len(), signature)?;
            Ok(values.into_iter().map(Some).collect())
        }
        Value::Object(mut values) => {
            let known = |name: &&String| signature.inputs().any(|param| param.name == **name);
            if let Some(name) = values.keys().find(|name| !known(name)) {
                return Err(format!("there is no parameter {name}: {signature}"));
            }
            let inputs = signature.inputs();
            Ok(inputs.map(|param| values.remove(&param.name)).collect())
        }
        _ => Err("expected an array, or an object with the names of the parameters as members"
            .to_owned()),
    }
}

fn not_too_many(given: usize, signature: &Signature) -> Result<(), String> {
    let wanted = signature.inputs().count();
    match given <= wanted {
        true => Ok(()),
        false => Err(count(given, wanted, signature)),
    }
}

/// Returns the message for a wrong number of arguments.
fn count(given: usize, wanted: usize, signature: &Signature) -> String {
    let mut what = match wanted {
        0 => "the operation takes no arguments".to_owned(),
        1 => "the operation takes 1 argument".to_owned(),
        wanted => format!("the operation takes {wanted} arguments"),
    };
    let _ = write!(what, ", not {given}: {signature}");
    what
}
