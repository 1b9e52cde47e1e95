//! Results and exceptions as JSON.

use oxorb::client::Failure;
use oxorb::{SystemException, minor};
use oxorb_dynamic::json::{Names, Shared};
use oxorb_dynamic::{Exception, Results, Signature};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;

use oxorb_terminal::output::{Failed, because, print_json};

/// Results as JSON: the return value alone, or `{"returns": ..., "out": {...}}` if there are inout or out parameters.
pub(crate) struct ResultsJson<'r> {
    signature: &'r Signature,
    results: &'r Results,
    names: &'r dyn Names,
}

impl<'r> ResultsJson<'r> {
    pub(crate) fn new(
        signature: &'r Signature,
        results: &'r Results,
        names: &'r dyn Names,
    ) -> Self {
        ResultsJson { signature, results, names }
    }
}

impl Serialize for ResultsJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.results.out.is_empty() {
            let alone = Shared::new([&self.results.returns]).with_names(self.names);
            return alone.json(&self.results.returns).serialize(to);
        }
        let all = std::iter::once(&self.results.returns).chain(&self.results.out);
        let shared = Shared::new(all).with_names(self.names);
        let mut map = to.serialize_map(None)?;
        if self.signature.has_result() {
            map.serialize_entry("returns", &shared.json(&self.results.returns))?;
        }
        map.serialize_entry("out", &Out(self, &shared))?;
        map.end()
    }
}

struct Out<'o, 'r>(&'o ResultsJson<'r>, &'o Shared<'r>);

impl Serialize for Out<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let names = self.0.signature.outputs().map(|param| &param.name);
        let out = self.0.results.out.iter();
        let values = out.map(|value| self.1.json(value));
        to.collect_map(names.zip(values))
    }
}

/// Exception as JSON: `{"exception": "IDL:...", ...}`.
pub(crate) struct ExceptionJson<'e>(pub(crate) &'e Exception, pub(crate) &'e dyn Names);

impl Serialize for ExceptionJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match self.0 {
            Exception::User(user) => {
                map.serialize_entry("exception", user.id())?;
                map.serialize_entry("name", user.ty.name().unwrap_or_default())?;
                let members = Shared::new([&user.members]).with_names(self.1);
                map.serialize_entry("members", &members.json(&user.members))?;
            }
            Exception::Unlisted(id) => {
                map.serialize_entry("exception", id)?;
                map.serialize_entry("unlisted", &true)?;
            }
            other => {
                let SystemException { kind, minor, completed, .. } = other.to_system();
                map.serialize_entry("exception", kind.repository_id())?;
                map.serialize_entry("name", &kind.to_string())?;
                map.serialize_entry("minor", &minor)?;
                map.serialize_entry("completed", &completed.to_string())?;
                map.serialize_entry("message", &other.to_string())?;
                if let Some(failure) = failure(other) {
                    let attempts = failure.attempts.iter().map(
                        |attempt| json!({ "endpoint": attempt.endpoint, "what": attempt.what }),
                    );
                    map.serialize_entry("attempts", &attempts.collect::<Vec<_>>())?;
                }
            }
        }
        map.end()
    }
}

/// Prints an exception as JSON. Returns the message for people, which names the failure and the endpoint.
pub(super) fn told(exception: &Exception, names: &dyn Names) -> Failed {
    if let Err(failed) = print_json(&ExceptionJson(exception, names)) {
        return failed;
    }
    if exception.to_system().minor == minor::marshal::WCHAR_FROM_1_0_CLIENT {
        return because(format!(
            "{exception}; a corbaloc: URL means GIOP 1.0 unless it names a version: corbaloc::1.2@HOST:PORT/KEY"
        ));
    }
    match failure(exception) {
        Some(failure) => because(failure),
        None => because(exception),
    }
}

/// Returns the attempts to reach the object if they led to the exception.
fn failure(exception: &Exception) -> Option<Failure> {
    let Exception::System(system) = exception else {
        return None;
    };
    Failure::of(system)
}
