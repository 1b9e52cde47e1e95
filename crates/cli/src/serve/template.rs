//! Results that refer to arguments: `"$0"`, `"$amount"`, `"$route[1].name"`, `"Hello ${name}"`, `"$count"`.

use oxorb_dynamic::{Shape, Signature, TypeCode};
use serde_json::Value;

/// Values that references in a template can name.
pub(super) struct Scope<'s> {
    /// The in and inout arguments, with their names, in order.
    pub(super) args: &'s [(&'s str, Value)],
    /// Number of requests of the operation so far, including this one.
    pub(super) count: u64,
}

/// Reports whether a value depends on the request.
pub(super) fn has_references(template: &Value) -> bool {
    match template {
        Value::String(text) => text.starts_with('$') || text.contains("${"),
        Value::Array(elements) => elements.iter().any(has_references),
        Value::Object(members) => members.values().any(has_references),
        _ => false,
    }
}

/// Checks that every reference names one of these parameters.
pub(super) fn check(template: &Value, params: &[&str]) -> Result<(), String> {
    match template {
        Value::String(text) => references(text)?.into_iter().try_for_each(|reference| {
            let (root, path) = root(reference);
            let known = match root.parse::<usize>() {
                _ if params.contains(&root) => true,
                Ok(at) => at < params.len(),
                Err(_) => root == "count" && path.is_empty(),
            };
            match known {
                true => Ok(()),
                false => Err(unknown(reference)),
            }
        }),
        Value::Array(elements) => elements.iter().try_for_each(|each| check(each, params)),
        Value::Object(members) => members.values().try_for_each(|each| check(each, params)),
        _ => Ok(()),
    }
}

/// Returns the reference that a text consists of; `None` for any other text.
pub(super) fn whole(text: &str) -> Option<&str> {
    let reference = text.strip_prefix('$')?;
    (!reference.starts_with(['{', '$'])).then_some(reference)
}

/// Returns the type of a reference's target, as far as it is known before the request.
pub(super) fn type_of(reference: &str, signature: &Signature) -> Option<TypeCode> {
    let (root, path) = root(reference);
    let named = signature.inputs().find(|param| param.name == root);
    let param = match (named, root.parse::<usize>()) {
        (Some(param), _) => param,
        (None, Ok(at)) => signature.inputs().nth(at)?,
        (None, Err(_)) => return (root == "count").then_some(TypeCode::ULONG),
    };
    let mut ty = param.ty.clone();
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        let resolved = ty.resolved();
        let next = match (step.strip_suffix(']'), resolved.shape()) {
            (Some(_), Shape::Sequence { element, .. } | Shape::Array { element, .. }) => {
                element.to_type_code()
            }
            (None, Shape::Struct) => {
                let mut members = resolved.as_ref().members();
                members.find(|member| **member.name == *step)?.ty.to_type_code()
            }
            _ => return None,
        };
        ty = next;
    }
    Some(ty)
}

/// Returns the references of a text, each of which follows a dollar sign.
fn references(text: &str) -> Result<Vec<&str>, String> {
    match text.strip_prefix('$') {
        Some(escaped) if escaped.starts_with('$') => return Ok(Vec::new()),
        Some(whole) if !whole.starts_with('{') => return Ok(vec![whole]),
        _ => {}
    }
    let parts = text.split("${").skip(1);
    parts
        .map(|part| part.split_once('}').map(|(reference, _)| reference))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| format!("{text}: a brace is not closed"))
}

/// Returns the argument that a reference begins with, and the path from there.
fn root(reference: &str) -> (&str, &str) {
    reference.split_at(reference.find(['.', '[']).unwrap_or(reference.len()))
}

fn unknown(reference: &str) -> String {
    format!("${reference}: there is no such argument")
}

/// Replaces references by their values.
pub(super) fn expand(template: &Value, scope: &Scope<'_>) -> Result<Value, String> {
    Ok(match template {
        Value::String(text) => return expand_text(text, scope),
        Value::Array(elements) => {
            let elements = elements.iter().map(|element| expand(element, scope));
            Value::Array(elements.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, member)| Ok((name.clone(), expand(member, scope)?)));
            Value::Object(members.collect::<Result<_, String>>()?)
        }
        plain => plain.clone(),
    })
}

/// Expands a text: a text that is one reference becomes its value, of any type; `$$` is a dollar sign.
fn expand_text(text: &str, scope: &Scope<'_>) -> Result<Value, String> {
    if let Some(dollar) = text.strip_prefix("$$") {
        return Ok(Value::String(format!("${dollar}")));
    }
    if let Some(reference) = text.strip_prefix('$')
        && !reference.starts_with('{')
    {
        return scope.find(reference);
    }
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, after) =
            after.split_once('}').ok_or_else(|| format!("{text}: a brace is not closed"))?;
        expanded.push_str(before);
        match scope.find(reference)? {
            Value::String(text) => expanded.push_str(&text),
            other => expanded.push_str(&other.to_string()),
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(Value::String(expanded))
}

impl Scope<'_> {
    fn find(&self, reference: &str) -> Result<Value, String> {
        let unknown = || unknown(reference);
        let (root, path) = root(reference);
        let named = self.args.iter().find(|(name, _)| *name == root);
        let value = match (named, root.parse::<usize>()) {
            (Some((_, value)), _) => value,
            (None, Ok(at)) => &self.args.get(at).ok_or_else(unknown)?.1,
            (None, Err(_)) if root == "count" && path.is_empty() => return Ok(self.count.into()),
            (None, Err(_)) => return Err(unknown()),
        };
        let mut steps = path.split(['.', '[']).filter(|step| !step.is_empty());
        let part = steps.try_fold(value, |value, step| match step.strip_suffix(']') {
            Some(index) => value.get(index.parse::<usize>().ok()?),
            None => value.get(step),
        });
        part.cloned().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expanded(template: Value) -> Result<Value, String> {
        let args = [("amount", json!(10)), ("route", json!([{ "name": "A" }, { "name": "B" }]))];
        let (args, count) = (&args, 3);
        expand(&template, &Scope { args, count })
    }

    #[test]
    fn references_become_values() {
        assert_eq!(expanded(json!("$0")), Ok(json!(10)));
        assert_eq!(expanded(json!("$amount")), Ok(json!(10)));
        assert_eq!(expanded(json!({ "to": ["$route[1].name"] })), Ok(json!({ "to": ["B"] })));
        assert_eq!(expanded(json!("$count")), Ok(json!(3)));
    }

    #[test]
    fn text_may_hold_references() {
        let text = json!("${amount} to ${1[0].name}, call ${count}");
        assert_eq!(expanded(text), Ok(json!("10 to A, call 3")));
        assert_eq!(expanded(json!("$$0")), Ok(json!("$0")));
        assert_eq!(expanded(json!("costs 5$")), Ok(json!("costs 5$")));
    }

    #[test]
    fn references_are_checked_before_there_are_arguments() {
        let checked = |template: Value| check(&template, &["amount", "route"]);
        for right in ["$1", "$route[7].x", "${0} of ${count}", "$$nobody", "plain"] {
            assert_eq!(checked(json!([right])), Ok(()), "{right}");
        }
        for wrong in ["$2", "$nobody", "${amount} ${nobody}", "${amount"] {
            assert!(checked(json!({ "a": wrong })).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        for wrong in ["$2", "$nobody", "$route[7]", "$amount.x", "${amount"] {
            assert!(expanded(json!(wrong)).is_err(), "{wrong}");
        }
    }
}
