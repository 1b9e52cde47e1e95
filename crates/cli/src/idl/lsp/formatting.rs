//! Formatting of a document.

use oxorb_idl::format::{FormatOptions, format};
use serde_json::{Value, json};

use super::message::Refusal;
use super::position::{Encoding, Lines};

/// Returns the edits that format a text: at most one, from the first line that changes to the last one.
pub(super) fn edits(
    text: &str,
    style: &FormatOptions,
    encoding: Encoding,
) -> Result<Value, Refusal> {
    let formatted = format(text, style).map_err(|error| Refusal::failed(error.to_string()))?;
    if formatted == text {
        return Ok(json!([]));
    }
    let before = common(text.split_inclusive('\n'), formatted.split_inclusive('\n'));
    let (old, new) = (&text[before..], &formatted[before..]);
    let after = common(old.split_inclusive('\n').rev(), new.split_inclusive('\n').rev());
    let replacement = &new[..new.len() - after];
    let lines = Lines::new(text, encoding);
    Ok(json!([{
        "range": {
            "start": lines.position(before).json(),
            "end": lines.position(text.len() - after).json(),
        },
        "newText": replacement,
    }]))
}

/// Returns the number of octets of the lines with which both texts begin.
fn common<'t>(one: impl Iterator<Item = &'t str>, other: impl Iterator<Item = &'t str>) -> usize {
    let equal = one.zip(other).take_while(|(one, other)| one == other);
    equal.map(|(line, _)| line.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str) -> Value {
        edits(text, &FormatOptions::default(), Encoding::Utf16).expect("a text that can be split")
    }

    #[test]
    fn only_the_lines_that_change_are_replaced() {
        let text =
            "struct A {\n    long a;\n};\nstruct  B { long b; };\nstruct C {\n    long c;\n};\n";
        assert_eq!(
            formatted(text),
            json!([{
                "range": {
                    "start": { "line": 3, "character": 0 },
                    "end": { "line": 4, "character": 0 },
                },
                "newText": "struct B { long b; };\n",
            }])
        );
        assert_eq!(formatted("struct B { long b; };\n"), json!([]));
    }

    #[test]
    fn the_end_of_the_last_line_may_be_missing() {
        assert_eq!(
            formatted("struct B { long b; };"),
            json!([{
                "range": {
                    "start": { "line": 0, "character": 0 },
                    "end": { "line": 0, "character": 21 },
                },
                "newText": "struct B { long b; };\n",
            }])
        );
    }

    #[test]
    fn a_text_that_cannot_be_split_is_refused() {
        let refused = edits("/* no end", &FormatOptions::default(), Encoding::Utf16).unwrap_err();
        assert!(refused.why.starts_with("line 1: "), "{}", refused.why);
    }
}
