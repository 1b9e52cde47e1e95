//! Calls of operations and attributes, made by threads outside the HTTP runtime.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::StatusCode;
use oxorb::Ref;
use oxorb::ior::Ior;
use oxorb::servant::Context;
use oxorb_dynamic::json::{LeftOut, Names};
use oxorb_dynamic::{DecoderLimits, Signature, TypeCode};
use oxorb_ifr::client::Queries;
use oxorb_ifr::corba::RepositoryRef;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::caller::Client;
use super::content::{Answer, empty, json};
use super::deadline::Deadline;
use super::interfaces::Described;
use super::limits::MOST_LOOKUPS;
use super::memory::Occupied;
use super::objects::Object;
use super::parsed;
use super::path::Target;
use super::peers;
use super::problem::Problem;
use super::rights;
use super::shares::Shares;
use super::state::Gateway;
use crate::call::{ResultsJson, arguments_from_json};
use crate::types::{Known, Source};

/// Threads that may wait for servers.
pub(super) struct Workers {
    admitted: Arc<Semaphore>,
    shares: Shares,
}

impl Workers {
    /// Admits a number of jobs that run or wait. At most `calls` of them run.
    pub(super) fn new(calls: usize, admitted: usize) -> Workers {
        let shares = Shares::new(calls, admitted);
        Workers { admitted: Arc::new(Semaphore::new(admitted)), shares }
    }

    /// Returns the number of jobs that run or wait, if `most` are admitted.
    pub(super) fn admitted(&self, most: usize) -> usize {
        most.saturating_sub(self.admitted.available_permits())
    }

    /// Runs a job that may block on another thread, and returns its result. If the future is dropped before the job
    /// begins, the job is not run. The job calls `object` for the client of an address, and waits for a thread until
    /// `end`.
    ///
    /// # Errors
    /// The maximum number of jobs run or wait; the time ends.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        (object, address, end): (&Target, IpAddr, Deadline),
        job: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().map_err(|_| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many calls are running or waiting")
        })?;
        let share = self.shares.take((peers::client(address), object), end).await?;
        let waiting = Waiting::default();
        let is_over = Arc::clone(&waiting.is_over);
        let job = move || {
            let _admitted = (admitted, share);
            match is_over.load(Ordering::Relaxed) {
                true => Err(Problem::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the client has disconnected",
                )),
                false => job(),
            }
        };
        match tokio::task::spawn_blocking(job).await {
            Ok(done) => done,
            Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the call has failed")),
        }
    }
}

/// Wait of a client for the result of a job.
#[derive(Default)]
struct Waiting {
    is_over: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
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
    /// Memory of the body.
    pub(super) _memory: Occupied,
    /// End of the time for the call.
    pub(super) end: Deadline,
    /// Client that calls.
    pub(super) client: Arc<Client>,
}

/// Calls a member of an object.
pub(super) fn call(gateway: &Gateway, object: &Object, wanted: &Wanted) -> Result<Answer, Problem> {
    let (orb, defaults) = (&gateway.orb, gateway.defaults);
    let described = object.described(&gateway.interfaces, wanted.end)?;
    let signature = signature(&described, wanted)?;
    if let Some(rights) = &gateway.rights {
        let called = rights::Wanted {
            object: &object.name,
            interface: &described.interface.repository_id,
            operation: &signature.operation,
        };
        rights.check(orb, &wanted.client, called)?;
    }
    let known = Known { source: &described.source, orb, defaults };
    let names = RequestNames::new(known, wanted.end);
    let _parsed = occupy(gateway, wanted)?;
    let document = document(wanted)?;
    let arguments = arguments_from_json(document, signature, &names, defaults);
    let arguments = arguments.map_err(Problem::bad_request)?;
    let target = wanted.end.limited(&object.reference).map_err(Problem::system)?;
    let results = oxorb_dynamic::invoke(&target, signature, &arguments, &Context::new());
    let results = results.map_err(|exception| Problem::raised(&exception, &names))?;
    match wanted.usage {
        Usage::Write => Ok(empty(StatusCode::NO_CONTENT)),
        // The request was sent, and nothing is known of its execution.
        Usage::Call if signature.oneway => Ok(empty(StatusCode::ACCEPTED)),
        _ => json(StatusCode::OK, &ResultsJson::new(signature, &results, &names)),
    }
}

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

/// Occupies the memory for the JSON of a body.
///
/// # Errors
/// The JSON needs more than the share of a client, or other requests occupy it.
fn occupy(gateway: &Gateway, wanted: &Wanted) -> Result<Occupied, Problem> {
    let body = wanted.body.as_slice();
    let octets = if body.is_empty() { 0 } else { parsed::octets(body) };
    let most = gateway.parsed.share();
    if octets > most {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the JSON of the body could take {octets} octets in memory, and the limit is {most} (--max-bodies): \
                 send fewer values in one request"
            ),
        ));
    }
    gateway.parsed.occupy(wanted.client.caller.address.ip(), octets)
}

/// Returns the arguments of a request as a JSON document.
fn document(wanted: &Wanted) -> Result<Value, Problem> {
    if wanted.usage == Usage::Read || (wanted.body.is_empty() && wanted.usage == Usage::Call) {
        return Ok(Value::Array(Vec::new()));
    }
    let json: Value = serde_json::from_slice(&wanted.body)
        .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))?;
    Ok(match wanted.usage {
        Usage::Write => Value::Array(vec![json]),
        _ => json,
    })
}

/// Names in the JSON of a client: types of the object's interface, and references that need no look-up. A client cannot
/// make the gateway read files or connect to name servers.
pub(super) struct RequestNames<'k> {
    known: Known<'k>,
    /// End of the time for look-ups.
    end: Deadline,
    /// Results of look-ups in a repository.
    found: RefCell<HashMap<String, Option<TypeCode>>>,
}

impl<'k> RequestNames<'k> {
    /// Looks names up until the time ends.
    pub(super) fn new(known: Known<'k>, end: Deadline) -> Self {
        RequestNames { known, end, found: RefCell::default() }
    }

    /// Looks a type up, unless the request has caused too many look-ups. Each look-up takes several calls.
    fn in_repository(&self, repository: &RepositoryRef, name: &str) -> Option<TypeCode> {
        if let Some(found) = self.found.borrow().get(name) {
            return found.clone();
        }
        if self.found.borrow().len() >= MOST_LOOKUPS {
            return None;
        }
        let limited = |object: &Ref| self.end.limited(object);
        let found = Queries::new(&limited).type_of(repository, name).ok().flatten();
        self.found.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }
}

impl Names for RequestNames<'_> {
    fn limits(&self) -> DecoderLimits {
        self.known.limits()
    }

    fn find_type(&self, name: &str) -> Option<TypeCode> {
        match self.known.source {
            Source::Idl(_) => self.known.find_type(name),
            Source::Repository(repository) => self.in_repository(repository, name),
        }
    }

    fn name_of_type(&self, ty: &TypeCode) -> Option<String> {
        self.known.name_of_type(ty)
    }

    fn left_out(&self, id: &str, member: &str) -> LeftOut {
        self.known.left_out(id, member)
    }

    fn find_object(&self, text: &str) -> Result<Ior, String> {
        oxorb_dynamic::json::Plain.find_object(text)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc::channel;
    use std::task::Poll;
    use std::time::Duration;

    use oxorb::{Interface as _, Orb};
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_job_whose_client_has_left_is_not_run() {
        let runtime =
            Builder::new_current_thread().enable_time().max_blocking_threads(1).build().unwrap();
        let workers = Workers::new(8, 16);
        let target = Target::Named("A".to_owned());
        let address = IpAddr::from([127, 0, 0, 1]);
        let of = (&target, address, Deadline::after(Duration::from_secs(60)));
        let (release, held) = channel::<()>();
        let has_run = Arc::new(AtomicBool::new(false));
        runtime.block_on(async {
            let mut first = Box::pin(workers.run(of, move || Ok(held.recv().is_ok())));
            let runs = Arc::clone(&has_run);
            let mut second = Box::pin(workers.run(of, move || {
                runs.store(true, Ordering::Relaxed);
                Ok(())
            }));
            poll_fn(|cx| {
                assert!(first.as_mut().poll(cx).is_pending());
                assert!(second.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(second);
            release.send(()).unwrap();
            assert!(matches!(first.await, Ok(true)));
            // The only thread runs jobs in order, so it has passed the second one.
            assert!(workers.run(of, || Ok(())).await.is_ok());
        });
        assert!(!has_run.load(Ordering::Relaxed));
    }

    #[test]
    fn a_request_causes_a_limited_number_of_look_ups() {
        let orb = Orb::builder().build().unwrap();
        // Nobody listens at this port, so each look-up fails at once.
        let nobody = orb.string_to_object("corbaloc::127.0.0.1:1/Repository").unwrap();
        let source = Source::Repository(nobody.unchecked_narrow());
        let known = Known { source: &source, orb: &orb, defaults: false };
        let names = RequestNames::new(known, Deadline::after(Duration::from_secs(60)));
        for number in 0..3 * MOST_LOOKUPS {
            assert!(names.find_type(&format!("a::T{}", number % (2 * MOST_LOOKUPS))).is_none());
        }
        assert_eq!(names.found.borrow().len(), MOST_LOOKUPS);
        orb.shutdown(true).unwrap();
    }
}
