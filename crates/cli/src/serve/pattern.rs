//! Patterns that select the requests for an answer.

use oxorb_dynamic::json::{JsonError, Names, from_json};
use oxorb_dynamic::{Signature, TypeCode};
use serde_json::Value;

/// Wildcard for any value.
const ANYTHING: &str = "*";

/// Pattern for the in and inout arguments; `None` for those that are ignored.
#[derive(Debug, Default)]
pub(super) struct Pattern(Vec<Option<Value>>);

impl Pattern {
    /// Creates a pattern from an array in parameter order, or from an object with parameter names.
    pub(super) fn new(
        json: &Value,
        signature: &Signature,
        names: &dyn Names,
    ) -> Result<Self, String> {
        let count = signature.inputs().count();
        let patterns: Vec<Option<Value>> = match json {
            Value::Array(values) if values.len() <= count => {
                values.iter().cloned().map(Some).collect()
            }
            Value::Array(_) => {
                return Err(format!("there are only {count} arguments: {signature}"));
            }
            Value::Object(values) => {
                let known = |name: &&String| signature.inputs().any(|param| param.name == **name);
                if let Some(name) = values.keys().find(|name| !known(name)) {
                    return Err(format!("there is no argument {name}: {signature}"));
                }
                let inputs = signature.inputs();
                inputs.map(|param| values.get(&param.name).cloned()).collect()
            }
            _ => {
                return Err(
                    "expected an array, or an object with the names of the parameters as members"
                        .to_owned(),
                );
            }
        };
        for (pattern, param) in patterns.iter().zip(signature.inputs()) {
            possible(pattern.as_ref(), &param.ty, names)
                .map_err(|error| error.within(&param.name).to_string())?;
        }
        Ok(Pattern(patterns))
    }

    /// Reports whether the pattern matches these arguments.
    pub(super) fn matches(&self, args: &[Value]) -> bool {
        let mut pairs = self.0.iter().zip(args);
        pairs.all(|(pattern, arg)| pattern.as_ref().is_none_or(|pattern| fits(pattern, arg)))
    }
}

/// Rejects a plain pattern that is no value of the parameter's type and so never matches. Objects and arrays may be
/// partial.
fn possible(pattern: Option<&Value>, ty: &TypeCode, names: &dyn Names) -> Result<(), JsonError> {
    match pattern {
        None | Some(Value::Array(_) | Value::Object(_)) => Ok(()),
        Some(Value::String(any)) if any == ANYTHING => Ok(()),
        Some(plain) => from_json(plain, ty, names).map(drop),
    }
}

/// Reports whether a value matches; objects may have more members than the pattern, arrays may not be longer.
fn fits(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::String(any), _) if any == ANYTHING => true,
        (Value::Object(pattern), Value::Object(value)) => pattern
            .iter()
            .all(|(name, pattern)| value.get(name).is_some_and(|value| fits(pattern, value))),
        (Value::Array(pattern), Value::Array(value)) => {
            pattern.len() == value.len()
                && pattern.iter().zip(value).all(|(pattern, value)| fits(pattern, value))
        }
        // The pattern 1 matches 1.0, and JSON may contain large numbers as strings.
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Number(number), Value::String(text))
        | (Value::String(text), Value::Number(number)) => number.to_string() == *text,
        (pattern, value) => pattern == value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_dynamic::json::Plain;
    use serde_json::json;

    #[test]
    fn members_and_arguments_left_out_do_not_matter() {
        let signature = Signature::new("f")
            .with_in("a", TypeCode::LONGLONG)
            .with_out("b", TypeCode::LONG)
            .with_in("c", TypeCode::STRING);
        let pattern = |json| Pattern::new(&json, &signature, &Plain);
        let members = pattern(json!({ "c": { "x": [1, "*"] } })).unwrap();
        assert!(members.matches(&[json!(7), json!({ "x": [1.0, null], "y": 2 })]));
        assert!(!members.matches(&[json!(7), json!({ "x": [1] })]));
        assert!(!members.matches(&[json!(7), json!({ "y": [1, 2] })]));

        let first = pattern(json!(["9007199254740993"])).unwrap();
        assert!(first.matches(&[json!(9007199254740993u64), json!("")]));
        assert!(Pattern::default().matches(&[json!(1)]));

        for wrong in
            [json!({ "b": 1 }), json!([1, 2, 3]), json!(1), json!({ "a": "one" }), json!(["*", 5])]
        {
            assert!(pattern(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
