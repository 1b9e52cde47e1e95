//! Memory that the JSON of a body takes once it is parsed.
//!
//! Small texts can become large values: each object takes the memory of eleven members, even if it has a single one. A
//! client could otherwise make the gateway occupy a hundred times the octets of its bodies.

use serde_json::Value;

/// Octets of a value in an array that grows by doubling.
const ITEM: usize = 2 * size_of::<Value>();

/// Octets of an array with its first items.
const ARRAY: usize = 4 * size_of::<Value>() + BLOCK;

/// Octets of an object with its first eleven members.
const OBJECT: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 2 * BLOCK;

/// Octets of a further member. Objects with many members may be only half filled.
const MEMBER: usize = OBJECT / 5;

/// Octets of a text in memory in excess of those in the JSON, for each of its two quotation marks.
const QUOTE: usize = BLOCK;

/// Octets that an allocation takes in addition to its contents.
const BLOCK: usize = 16;

/// Returns an upper bound of the number of octets that the values of a JSON text take in memory. Takes linear time.
pub(super) fn octets(json: &[u8]) -> usize {
    let mut octets = size_of::<Value>();
    let mut rest = json.iter();
    let mut in_text = false;
    while let Some(octet) = rest.next() {
        octets += match (octet, in_text) {
            (b'"', _) => {
                in_text = !in_text;
                QUOTE
            }
            (b'\\', true) => {
                // An escaped character takes no more octets than its escape sequence.
                rest.next();
                2
            }
            (_, true) => 1,
            (b'[', _) => ARRAY,
            (b'{', _) => OBJECT,
            (b',', _) => ITEM,
            (b':', _) => MEMBER,
            // Numbers are part of their value.
            _ => 0,
        };
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets of a value on the heap: the capacities of arrays and texts, and the nodes of a `BTreeMap`, which has from
    /// five to eleven members in each node but the root.
    fn on_heap(value: &Value) -> usize {
        let node = 11 * (size_of::<String>() + size_of::<Value>());
        match value {
            Value::String(text) => text.capacity(),
            Value::Array(items) => {
                items.capacity() * size_of::<Value>() + items.iter().map(on_heap).sum::<usize>()
            }
            Value::Object(members) => {
                let texts: usize = members.keys().map(String::capacity).sum();
                let nodes = members.len().div_ceil(5).min(members.len());
                nodes * node + texts + members.values().map(on_heap).sum::<usize>()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    #[test]
    fn no_json_takes_more_than_the_bound() {
        let many = |text: &str| format!("[{}0]", format!("{text},").repeat(1000));
        let members: Vec<String> =
            (0..1000).map(|number| format!("\"{number}\":{number}")).collect();
        for text in [
            many("0"),
            many("[]"),
            many("[0]"),
            many("{}"),
            many("{\"\":0}"),
            many("{\"a\":{\"a\":0}}"),
            many("\"\""),
            many(r#""\\\"[{,:""#),
            many(r#""\u00e4x""#),
            many("{\"name\":\"Ada\",\"sort\":\"checking\",\"photo\":\"AQL/\"}"),
            format!("{{{}}}", members.join(",")),
            format!("\"{}\"", "x".repeat(1000)),
            "7".to_owned(),
        ] {
            let value: Value = serde_json::from_str(&text).unwrap();
            let (bound, actual) = (octets(text.as_bytes()), on_heap(&value) + size_of::<Value>());
            assert!(bound >= actual, "{}...: {bound} < {actual}", &text[..text.len().min(40)]);
        }
        // A text hardly takes more than its octets.
        let text = format!("[\"{}\"]", "{".repeat(1000));
        assert!(octets(text.as_bytes()) < 2000);
    }
}
