//! Paths of resources.

use std::sync::Arc;

use super::deadline::Deadline;
use super::objects::{Object, Objects};
use super::problem::Problem;

/// Resource that a path names.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Resource {
    /// List of the objects.
    Objects,
    /// Description of an object.
    Object(Target),
    /// Operation or attribute of an object.
    Member(Target, String),
    /// List of the event channels.
    Channels,
    /// Events of a channel.
    Channel(String),
    /// OpenAPI document.
    OpenApi,
}

/// Object of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Target {
    /// Name of an object that the gateway offers.
    Named(String),
    /// Reference that the client gives.
    Given(String),
}

impl Target {
    /// Returns the object. May call the Naming Service.
    pub(super) fn find(&self, objects: &Objects, end: Deadline) -> Result<Arc<Object>, Problem> {
        match self {
            Target::Named(name) => objects.named(name, end),
            Target::Given(reference) => objects.given(reference),
        }
    }
}

/// Returns the resource of a path, whose segments may be percent-encoded.
pub(super) fn resource(path: &str) -> Result<Resource, Problem> {
    let segments = path.strip_prefix('/').unwrap_or(path).split('/').map(decode);
    let segments = segments.collect::<Option<Vec<String>>>();
    let Some(segments) = segments else {
        return Err(Problem::bad_request("the path is not valid percent-encoded UTF-8"));
    };
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    let found = match words[..] {
        ["objects"] => Some(Resource::Objects),
        ["objects", name] => Some(Resource::Object(Target::Named(name.to_owned()))),
        ["objects", name, member] => {
            Some(Resource::Member(Target::Named(name.to_owned()), member.to_owned()))
        }
        ["ior", text] => Some(Resource::Object(Target::Given(text.to_owned()))),
        ["ior", text, member] => {
            Some(Resource::Member(Target::Given(text.to_owned()), member.to_owned()))
        }
        ["events"] => Some(Resource::Channels),
        ["events", name] => Some(Resource::Channel(name.to_owned())),
        ["openapi.json"] => Some(Resource::OpenApi),
        _ => None,
    };
    found.ok_or_else(|| Problem::not_found("there is no resource at this path"))
}

/// Decodes percent-encoded UTF-8.
pub(super) fn decode(segment: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                octets.push((digit(digits[0])? << 4) | digit(digits[1])?);
                rest = after;
            }
            plain => octets.push(*plain),
        }
    }
    String::from_utf8(octets).ok()
}

fn digit(octet: u8) -> Option<u8> {
    char::from(octet).to_digit(16).map(|digit| digit as u8)
}

/// Percent-encodes a segment of a path.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(octet.into());
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_after_they_are_split() {
        let found = resource("/objects/plant%2Fpump%20%C3%A4/start").unwrap();
        let target = Target::Named("plant/pump ä".to_owned());
        assert_eq!(found, Resource::Member(target, "start".to_owned()));
        assert_eq!(decode(&encode("plant/pump ä%")).as_deref(), Some("plant/pump ä%"));
        for wrong in ["/objects/%", "/objects/%4", "/objects/%zz", "/objects/%FF", "/objects/a/b/"]
        {
            assert!(resource(wrong).is_err(), "{wrong}");
        }
        assert!(resource("/").is_err());
    }
}
