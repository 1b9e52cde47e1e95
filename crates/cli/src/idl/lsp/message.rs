//! JSON-RPC messages: requests, notifications and answers.

use serde_json::{Value, json};

/// Message of the client.
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// Answer to a request. This server sends no requests, so that answers are ignored.
    Answer,
}

/// Error that answers a request.
#[derive(Debug)]
pub(super) struct Refusal {
    code: i32,
    pub(super) why: String,
}

impl Refusal {
    fn new(code: i32, why: impl Into<String>) -> Self {
        Refusal { code, why: why.into() }
    }

    /// Content that is no JSON, or no message at all.
    pub(super) fn parse_error(why: impl Into<String>) -> Self {
        Refusal::new(-32700, why)
    }

    pub(super) fn invalid_request(why: impl Into<String>) -> Self {
        Refusal::new(-32600, why)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Refusal::new(-32601, format!("the method `{method}` is not supported"))
    }

    pub(super) fn invalid_params(why: impl Into<String>) -> Self {
        Refusal::new(-32602, why)
    }

    pub(super) fn not_initialized() -> Self {
        Refusal::new(-32002, "the first request must be `initialize`")
    }

    /// Valid request that cannot be fulfilled.
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Refusal::new(-32803, why)
    }
}

/// Returns the message with this content; or else the id to answer, and the error.
pub(super) fn parse(content: &[u8]) -> Result<Message, (Value, Refusal)> {
    let invalid = |id: Value, why: &str| Err((id, Refusal::invalid_request(why)));
    let message = match serde_json::from_slice(content) {
        Ok(Value::Object(message)) => message,
        Ok(_) => return invalid(Value::Null, "a message must be an object"),
        Err(error) => return Err((Value::Null, Refusal::parse_error(error.to_string()))),
    };
    let id = message.get("id").cloned();
    let known = match &id {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(known, "the member `jsonrpc` of a message must be \"2.0\"");
    }
    let method = match message.get("method") {
        Some(Value::String(method)) => method.clone(),
        None if message.contains_key("result") || message.contains_key("error") => {
            return Ok(Message::Answer);
        }
        _ => return invalid(known, "the member `method` of a message must be a string"),
    };
    let params = match message.get("params") {
        None | Some(Value::Null) => Value::Null,
        Some(params @ (Value::Object(_) | Value::Array(_))) => params.clone(),
        Some(_) => return invalid(known, "the member `params` must be an object or an array"),
    };
    match (id, known) {
        (None, _) => Ok(Message::Notification { method, params }),
        (Some(_), Value::Null) => {
            invalid(Value::Null, "the member `id` of a request must be a string or a number")
        }
        (Some(_), id) => Ok(Message::Request { id, method, params }),
    }
}

/// Returns the answer to a request.
pub(super) fn answer(id: Value, result: Result<Value, Refusal>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Refusal { code, why }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
        }
    }
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Returns the string at a place of the parameters, such as `/textDocument/uri`.
pub(super) fn string<'p>(params: &'p Value, place: &str) -> Result<&'p str, Refusal> {
    let found = params.pointer(place).and_then(Value::as_str);
    found.ok_or_else(|| Refusal::invalid_params(format!("the parameter {place} must be a string")))
}

/// Returns the number at a place of the parameters. A number beyond 32 bits becomes the largest one.
pub(super) fn number(params: &Value, place: &str) -> Result<u32, Refusal> {
    let found = params.pointer(place).and_then(Value::as_u64);
    let found = found.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    found.ok_or_else(|| {
        Refusal::invalid_params(format!("the parameter {place} must be a number without a sign"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_with_an_error() {
        let deep = "[".repeat(100_000);
        for (content, id, code) in [
            ("", json!(null), -32700),
            ("{", json!(null), -32700),
            ("\u{fffd}", json!(null), -32700),
            (deep.as_str(), json!(null), -32700),
            ("[]", json!(null), -32600),
            ("7", json!(null), -32600),
            ("{}", json!(null), -32600),
            (r#"{"id":1,"method":"x"}"#, json!(1), -32600),
            (r#"{"jsonrpc":"1.0","id":"a","method":"x"}"#, json!("a"), -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":2}"#, json!(1), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":3}"#, json!(1), -32600),
            (r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#, json!(null), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, json!(null), -32600),
        ] {
            let Err((found, refusal)) = parse(content.as_bytes()) else {
                panic!("{content:.40}");
            };
            assert_eq!((found, refusal.code), (id, code), "{content:.40}: {}", refusal.why);
        }
    }

    #[test]
    fn messages_are_requests_notifications_or_answers() {
        let request = parse(br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[7]}}"#);
        let Ok(Message::Request { id, method, params }) = request else { panic!("a request") };
        assert_eq!((id, method.as_str(), number(&params, "/a/0").unwrap()), (json!(1), "x", 7));
        assert!(string(&params, "/a/0").is_err() && number(&params, "/b").is_err());
        let notification = parse(br#"{"jsonrpc":"2.0","method":"x"}"#);
        assert!(matches!(notification, Ok(Message::Notification { params: Value::Null, .. })));
        let answer = parse(br#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert!(matches!(answer, Ok(Message::Answer)));
    }
}
