//! Output of the answer of a gateway, as for a call by reference.

use std::io::Write as _;

use super::client::Reply;
use super::json::{check, member, members, pretty};
use oxorb_terminal::output::{Done, Escaping, Failed, because, print};

/// Members of the JSON of an exception, in the order in which a call by reference prints them.
const OF_EXCEPTION: [&str; 7] =
    ["exception", "name", "unlisted", "members", "minor", "completed", "message"];

/// Type of the problem of a call that the access rules of a gateway deny.
const DENIED: &str = "urn:oxorb:access-rules";

/// Maximum number of octets of indented JSON. Longer text is printed without indentation.
const MAX_PRETTY: usize = 256 << 20;

/// Prints the results of a call, or its exception.
pub(super) fn tell(reply: &Reply, has_token: bool) -> Done {
    match reply.status {
        200 => {
            let text = reply.text().map_err(because)?;
            check(text).map_err(because)?;
            tell_json(text)
        }
        // An attribute was written.
        204 => tell_json("null"),
        // A oneway has no results.
        202 => Ok(()),
        _ => Err(failed(reply, has_token)),
    }
}

/// Prints the exception of an answer, if it has one, and returns the message for people.
pub(super) fn failed(reply: &Reply, has_token: bool) -> Failed {
    let status = format!("the gateway answered {} {}", reply.status, reply.reason);
    let text = reply.text().ok().filter(|text| check(text).is_ok()).unwrap_or_default();
    let problem = members(text).unwrap_or_default();
    let text_of =
        |name| member(&problem, name).and_then(|json| serde_json::from_str::<String>(json).ok());
    let detail = text_of("detail");
    if member(&problem, "exception").is_some() {
        return match tell_json(&exception(&problem)) {
            Ok(()) => because(detail.unwrap_or(status)),
            Err(failed) => failed,
        };
    }
    let why: String = match detail {
        Some(detail) => format!("{}: {detail}", status.trim_end()),
        None => status.trim_end().to_owned(),
    };
    match reply.status {
        300..=399 => because(format!("{why}; the command does not follow redirections")),
        401 if !has_token => because(format!("{why}; supply a token with --token FILE")),
        403 if text_of("type").as_deref() == Some(DENIED) => because(match has_token {
            true => format!("{why}; the gateway knows the token, but its rules deny this to it"),
            false => format!(
                "{why}; its rules deny this without a token. If they allow it with one, supply it with --token FILE"
            ),
        }),
        _ => because(why),
    }
}

/// Returns the JSON of the exception of a problem.
fn exception(problem: &[(String, &str)]) -> String {
    let present = OF_EXCEPTION.iter().filter_map(|name| Some((name, member(problem, name)?)));
    let members: Vec<String> = present.map(|(name, json)| format!("\"{name}\":{json}")).collect();
    format!("{{{}}}", members.join(","))
}

fn tell_json(json: &str) -> Done {
    let indented = pretty(json, MAX_PRETTY);
    let mut text = Vec::new();
    Escaping(&mut text).write_all(indented.as_deref().unwrap_or(json).as_bytes())?;
    text.push(b'\n');
    print(String::from_utf8(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_of_a_problem_is_that_of_a_call() {
        let problem = r#"{"completed":"NO","detail":"x","exception":"IDL:omg.org/CORBA/TIMEOUT:1.0",
                          "minor":2,"name":"TIMEOUT","message":"late","status":504,"title":"t","type":"u"}"#;
        let expected = r#"{"exception":"IDL:omg.org/CORBA/TIMEOUT:1.0","name":"TIMEOUT","minor":2,"#
            .to_owned() + r#""completed":"NO","message":"late"}"#;
        assert_eq!(exception(&members(problem).unwrap()), expected);
        let problem = r#"{"type":"T","exception":"T","name":"E","members":{"z":1.50,"a":2}}"#;
        let expected = r#"{"exception":"T","name":"E","members":{"z":1.50,"a":2}}"#;
        assert_eq!(exception(&members(problem).unwrap()), expected);
    }
}
