//! Calls of objects behind an HTTP gateway (`oxorb gateway http`).

mod answer;
mod client;
mod description;
mod json;
mod options;
mod url;

use std::time::Duration;

use oxorb::Orb;
use oxorb_dynamic::Signature;
use serde_json::{Map, Value};

use super::arguments::{self, Given};
use super::target::Wanted;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, because};

use client::Client;
pub(super) use options::HttpArgs;
pub(super) use url::Url;

/// Calls an operation of the object at a URL, or reads or writes an attribute, and prints the results. The gateway
/// describes the object first.
pub(super) fn call(
    url: &Url<'_>,
    wanted: &Wanted<'_>,
    given: Given<'_>,
    args: &HttpArgs,
    timeout: Duration,
) -> Done {
    // The ORB only provides the settings of TLS.
    let orb = with_args(Orb::builder()).build()?;
    let client = Client::new(url, orb.options(), args, timeout)?;
    let reply = client.ask("GET", url.path, None).map_err(because)?;
    if reply.status != 200 {
        return Err(answer::failed(&reply, client.has_token()));
    }
    let described = reply.text().and_then(description::interface);
    let interface = described.map_err(|why| because(format!("{}: {why}", url.text)))?;
    let signature = wanted.of(&interface).ok_or_else(|| wanted.missing(&interface))?;
    let values = arguments::json(given, &signature).map_err(because)?;
    let (method, member, body) = request(&signature, values);
    let body = body.map(|json| json.to_string());
    let reply = client.ask(method, &format!("{}/{member}", url.path), body.as_deref());
    answer::tell(&reply.map_err(because)?, client.has_token())
}

/// Returns the method, the last segment of the path, and the body of the request for a call.
fn request(
    signature: &Signature,
    values: Vec<Option<Value>>,
) -> (&'static str, &str, Option<Value>) {
    let operation = signature.operation.as_str();
    if let Some(attribute) = operation.strip_prefix("_get_") {
        return ("GET", attribute, None);
    }
    if let Some(attribute) = operation.strip_prefix("_set_") {
        return ("PUT", attribute, values.into_iter().next().flatten());
    }
    let body = match values.iter().all(Option::is_some) {
        true => Value::Array(values.into_iter().flatten().collect()),
        // Only the gateway knows whether an argument may be left out.
        false => {
            let names = signature.inputs().map(|param| param.name.clone());
            let named = names.zip(values).filter_map(|(name, value)| Some((name, value?)));
            Value::Object(named.collect::<Map<_, _>>())
        }
    };
    ("POST", operation, Some(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_dynamic::TypeCode;
    use serde_json::json;

    #[test]
    fn arguments_are_an_array_unless_one_is_left_out() {
        let book = Signature::new("book")
            .with_in("who", TypeCode::STRING)
            .with_out("times", TypeCode::LONG)
            .with_inout("memo", TypeCode::STRING);
        let body = |values: Vec<Option<Value>>| request(&book, values);
        let all = vec![Some(json!("Ada")), Some(json!("x"))];
        assert_eq!(body(all), ("POST", "book", Some(json!(["Ada", "x"]))));
        assert_eq!(body(vec![Some(json!(1))]), ("POST", "book", Some(json!([1]))));
        let some = vec![None, Some(json!("x"))];
        assert_eq!(body(some), ("POST", "book", Some(json!({ "memo": "x" }))));
        let read = Signature::attribute_get("balance", TypeCode::LONG);
        assert_eq!(request(&read, Vec::new()), ("GET", "balance", None));
        let write = Signature::attribute_set("balance", TypeCode::LONG);
        assert_eq!(request(&write, vec![Some(json!(7))]), ("PUT", "balance", Some(json!(7))));
    }
}
