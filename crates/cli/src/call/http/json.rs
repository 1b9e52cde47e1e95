//! JSON as text, whose members and numbers stay as they are written.

use serde::de::IgnoredAny;

/// Checks that a text is JSON, whatever its depth.
///
/// # Errors
/// The mistake, with its line and column.
pub(super) fn check(text: &str) -> Result<(), String> {
    let checked = serde_json::from_str::<IgnoredAny>(text);
    checked.map(drop).map_err(|error| format!("the answer is not JSON: {error}"))
}

/// Returns the members of an object in their order; `None` if the text is no object.
pub(super) fn members(object: &str) -> Option<Vec<(String, &str)>> {
    let mut rest = object.trim_start().strip_prefix('{')?.trim_start();
    let mut members = Vec::new();
    while !rest.starts_with('}') {
        let (name, after) = value(rest)?;
        let (content, after) = value(after.trim_start().strip_prefix(':')?)?;
        members.push((serde_json::from_str(name).ok()?, content));
        rest = after_comma(after);
    }
    Some(members)
}

/// Returns the elements of an array; `None` if the text is no array.
pub(super) fn elements(array: &str) -> Option<Vec<&str>> {
    let mut rest = array.trim_start().strip_prefix('[')?.trim_start();
    let mut elements = Vec::new();
    while !rest.starts_with(']') {
        let (content, after) = value(rest)?;
        elements.push(content);
        rest = after_comma(after);
    }
    Some(elements)
}

/// Returns the member with a name.
pub(super) fn member<'j>(members: &[(String, &'j str)], name: &str) -> Option<&'j str> {
    members.iter().find(|(known, _)| known == name).map(|(_, json)| *json)
}

/// Splits a text after the value with which it begins.
fn value(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    text.split_at_checked(values.byte_offset())
}

fn after_comma(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix(',').unwrap_or(text).trim_start()
}

/// Returns valid JSON with lines and indentation as `serde_json` writes them; `None` if that takes more than `most`
/// octets. The indentation of a deep value may be much longer than the value.
pub(super) fn pretty(json: &str, most: usize) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars().peekable();
    let (mut depth, mut in_string) = (0_usize, false);
    while let Some(c) = chars.next() {
        match (c, in_string) {
            ('\\', true) => {
                out.push(c);
                out.extend(chars.next());
            }
            ('"', _) => {
                out.push(c);
                in_string = !in_string;
            }
            (_, true) => out.push(c),
            (' ' | '\t' | '\n' | '\r', false) => {}
            ('{' | '[', false) => {
                out.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        indent(&mut out, depth);
                    }
                }
            }
            ('}' | ']', false) => {
                depth = depth.saturating_sub(1);
                indent(&mut out, depth);
                out.push(c);
            }
            (',', false) => {
                out.push(c);
                indent(&mut out, depth);
            }
            (':', false) => out.push_str(": "),
            (_, false) => out.push(c),
        }
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

fn indent(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn text_is_indented_as_by_the_serialiser() {
        for value in [
            json!(null),
            json!(-1.5e300),
            json!("a, b: {\"c\" \\ [ \u{e4}"),
            json!([]),
            json!({}),
            json!({ "a": [1, [], { "b": {} }], "c": { "d": "e\\", "f": [[true]] } }),
        ] {
            let compact = value.to_string();
            let expected = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(pretty(&compact, 1000).as_deref(), Some(expected.as_str()));
            // Indented text stays as it is.
            assert_eq!(pretty(&expected, 1000).as_deref(), Some(expected.as_str()));
        }
        assert_eq!(
            pretty("{\"b\":1.50,\"a\":2}", 100).as_deref(),
            Some("{\n  \"b\": 1.50,\n  \"a\": 2\n}")
        );
        assert_eq!(pretty(&"[".repeat(1000), 10_000), None);
    }

    #[test]
    fn parts_of_objects_and_arrays_are_found() {
        let text = " {\"z\" : 1.50 , \"a\\u0062\":[ {\"x\":\"}\"} , null,\"]\"], \"e\":{ } } ";
        check(text).unwrap();
        let found = members(text).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "ab", "e"]);
        assert_eq!(member(&found, "z"), Some("1.50"));
        assert_eq!(member(&found, "y"), None);
        let array = elements(member(&found, "ab").unwrap()).unwrap();
        assert_eq!(array, ["{\"x\":\"}\"}", "null", "\"]\""]);
        assert_eq!(elements("[]"), Some(Vec::new()));
        assert_eq!(members("{}"), Some(Vec::new()));
        for wrong in ["", "1", "[", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "[1", "{1:2}"] {
            assert!(members(wrong).is_none() && elements(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn json_of_any_depth_is_checked() {
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        check(&deep).unwrap();
        assert!(serde_json::from_str::<Value>(&deep).is_err());
        assert!(check("{\"a\": }").unwrap_err().contains("line 1 column 7"));
        assert!(check("1 2").is_err());
    }
}
