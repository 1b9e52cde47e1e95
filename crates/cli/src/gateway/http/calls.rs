//! Calls of operations and attributes, made by threads outside the HTTP runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use oxorb::ior::Ior;
use oxorb::servant::Context;
use oxorb::{CompletionStatus, Orb, SystemException};
use oxorb_dynamic::json::{LeftOut, Names};
use oxorb_dynamic::{Limits, Signature, TypeCode};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::content::{Answer, empty, json};
use super::interfaces::{Described, Interfaces};
use super::objects::Object;
use super::problem::Problem;
use crate::call::{ResultsJson, arguments_from_json};
use crate::types::Known;

/// Threads that may wait for servers.
pub(super) struct Workers(Arc<Semaphore>);

impl Workers {
    /// Admits this number of jobs that run or wait.
    pub(super) fn new(admitted: usize) -> Workers {
        Workers(Arc::new(Semaphore::new(admitted)))
    }

    /// Runs a job that may block on another thread, and returns its result.
    ///
    /// # Errors
    /// The maximum number of jobs run or wait.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let admitted = Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many calls are running or waiting")
        })?;
        let job = move || {
            let _admitted = admitted;
            job()
        };
        match tokio::task::spawn_blocking(job).await {
            Ok(done) => done,
            Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the call has failed")),
        }
    }
}

/// Use of a member of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// Call of an operation.
    Call,
    /// Reading of an attribute.
    Read,
    /// Writing of an attribute.
    Write,
}

/// Request for a call.
pub(super) struct Wanted {
    /// Name of the operation or attribute.
    pub(super) member: String,
    pub(super) usage: Usage,
    /// Body of the request: the arguments, or the value of the attribute.
    pub(super) body: Vec<u8>,
    /// End of the time for the call.
    pub(super) end: Instant,
    /// Whether arguments and members that are left out are zero, empty or nil.
    pub(super) defaults: bool,
}

/// Calls a member of an object.
pub(super) fn call(
    orb: &Orb,
    interfaces: &Interfaces,
    object: &Object,
    wanted: &Wanted,
) -> Result<Answer, Problem> {
    let described = object.described(interfaces)?;
    let signature = signature(&described, wanted)?;
    let names = RequestNames(Known { source: &described.source, orb, defaults: wanted.defaults });
    let document = document(wanted)?;
    let arguments = arguments_from_json(&document, signature, &names, wanted.defaults);
    let arguments = arguments.map_err(Problem::bad_request)?;
    let left = wanted.end.saturating_duration_since(Instant::now());
    if left < SHORTEST {
        return Err(Problem::system(NO_TIME));
    }
    let target = object.reference.with_timeout(left);
    let results = oxorb_dynamic::invoke(&target, signature, &arguments, &Context::new());
    let results = results.map_err(|exception| Problem::raised(&exception, &names))?;
    match wanted.usage {
        Usage::Write => Ok(empty(StatusCode::NO_CONTENT)),
        // The request was sent, and nothing is known of its execution.
        Usage::Call if signature.oneway => Ok(empty(StatusCode::ACCEPTED)),
        _ => json(StatusCode::OK, &ResultsJson::new(signature, &results, &names)),
    }
}

/// Shortest time for which a call is attempted.
const SHORTEST: Duration = Duration::from_millis(1);

/// Exception for a request whose time ended before a thread was free.
const NO_TIME: SystemException = SystemException::timeout(0, CompletionStatus::No);

/// Returns the operation of a request, if the interface has it.
fn signature<'d>(described: &'d Described, wanted: &Wanted) -> Result<&'d Signature, Problem> {
    let interface = &described.interface;
    let name = wanted.member.as_str();
    let attribute = interface.attribute(name);
    let operation = match name.starts_with('_') {
        // Names on the wire of attributes, and implicit operations.
        true => None,
        false => interface.signature(name),
    };
    let found = match (wanted.usage, attribute, operation) {
        (Usage::Call, _, Some(operation)) => Some(operation),
        (Usage::Read, Some(_), _) => interface.signature(&format!("_get_{name}")),
        (Usage::Write, Some(attribute), _) if !attribute.readonly => {
            interface.signature(&format!("_set_{name}"))
        }
        (_, Some(attribute), _) => {
            let allow = if attribute.readonly { "GET, HEAD" } else { "GET, HEAD, PUT" };
            return Err(Problem::not_allowed(allow, format!("{name} is an attribute")));
        }
        (_, None, Some(_)) => {
            return Err(Problem::not_allowed("POST", format!("{name} is an operation")));
        }
        (_, None, None) => None,
    };
    found.ok_or_else(|| {
        let interface = &interface.scoped_name;
        Problem::not_found(format!("{interface} has no operation or attribute {name}"))
    })
}

/// Returns the arguments of a request as a JSON document.
fn document(wanted: &Wanted) -> Result<Value, Problem> {
    if wanted.usage == Usage::Read || (wanted.body.is_empty() && wanted.usage == Usage::Call) {
        return Ok(Value::Array(Vec::new()));
    }
    let json: Value = serde_json::from_slice(&wanted.body)
        .map_err(|error| Problem::bad_request(format!("the body is no JSON: {error}")))?;
    Ok(match wanted.usage {
        Usage::Write => Value::Array(vec![json]),
        _ => json,
    })
}

/// Names in the JSON of a client: types of the object's interface, and references that need no look-up. A client cannot
/// make the gateway read files or connect to name servers.
pub(super) struct RequestNames<'k>(pub(super) Known<'k>);

impl Names for RequestNames<'_> {
    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn find_type(&self, name: &str) -> Option<TypeCode> {
        self.0.find_type(name)
    }

    fn name_of_type(&self, ty: &TypeCode) -> Option<String> {
        self.0.name_of_type(ty)
    }

    fn left_out(&self, id: &str, member: &str) -> LeftOut {
        self.0.left_out(id, member)
    }

    fn find_object(&self, text: &str) -> Result<Ior, String> {
        oxorb_dynamic::json::Plain.find_object(text)
    }
}
