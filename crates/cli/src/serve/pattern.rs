//! Which requests an answer is for.

use oxorb_dynamic::Signature;
use serde_json::Value;

/// Stands for any value.
const ANYTHING: &str = "*";

/// A pattern for the in and inout arguments; `None` for those that do not matter.
#[derive(Debug, Default)]
pub(super) struct Pattern(Vec<Option<Value>>);

impl Pattern {
    /// From an array in the order of the parameters, or an object by their names.
    pub(super) fn new(json: &Value, signature: &Signature) -> Result<Self, String> {
        let count = signature.inputs().count();
        match json {
            Value::Array(values) if values.len() <= count => {
                Ok(Pattern(values.iter().cloned().map(Some).collect()))
            }
            Value::Array(_) => Err(format!("there are only {count} arguments: {signature}")),
            Value::Object(values) => {
                let known = |name: &&String| signature.inputs().any(|param| param.name == **name);
                match values.keys().find(|name| !known(name)) {
                    Some(name) => Err(format!("there is no argument {name}: {signature}")),
                    None => Ok(Pattern(
                        signature
                            .inputs()
                            .map(|param| values.get(&param.name).cloned())
                            .collect(),
                    )),
                }
            }
            _ => Err("expected an array, or an object by the names of parameters".to_owned()),
        }
    }

    /// Whether it is for these arguments.
    pub(super) fn matches(&self, args: &[Value]) -> bool {
        let mut pairs = self.0.iter().zip(args);
        pairs.all(|(pattern, arg)| pattern.as_ref().is_none_or(|pattern| fits(pattern, arg)))
    }
}

/// Objects may have more members than the pattern; arrays may not be longer.
fn fits(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::String(any), _) if any == ANYTHING => true,
        (Value::Object(pattern), Value::Object(value)) => pattern
            .iter()
            .all(|(name, pattern)| value.get(name).is_some_and(|value| fits(pattern, value))),
        (Value::Array(pattern), Value::Array(value)) => {
            pattern.len() == value.len()
                && pattern
                    .iter()
                    .zip(value)
                    .all(|(pattern, value)| fits(pattern, value))
        }
        // 1 is 1.0, and large numbers may be strings.
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Number(number), Value::String(text))
        | (Value::String(text), Value::Number(number)) => number.to_string() == *text,
        (pattern, value) => pattern == value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_dynamic::TypeCode;
    use serde_json::json;

    #[test]
    fn members_and_arguments_left_out_do_not_matter() {
        let signature = Signature::new("f")
            .with_in("a", TypeCode::LONG)
            .with_out("b", TypeCode::LONG)
            .with_in("c", TypeCode::STRING);
        let pattern = Pattern::new(&json!({ "c": { "x": [1, "*"] } }), &signature).unwrap();
        assert!(pattern.matches(&[json!(7), json!({ "x": [1.0, null], "y": 2 })]));
        assert!(!pattern.matches(&[json!(7), json!({ "x": [1] })]));
        assert!(!pattern.matches(&[json!(7), json!({ "y": [1, 2] })]));

        let first = Pattern::new(&json!(["9007199254740993"]), &signature).unwrap();
        assert!(first.matches(&[json!(9007199254740993u64), json!("")]));
        assert!(Pattern::default().matches(&[json!(1)]));

        assert!(Pattern::new(&json!({ "b": 1 }), &signature).is_err());
        assert!(Pattern::new(&json!([1, 2, 3]), &signature).is_err());
        assert!(Pattern::new(&json!(1), &signature).is_err());
    }
}
