//! Routes: from a request to its answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{
    self, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, CACHE_CONTROL,
    CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    TRANSFER_ENCODING, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, StatusCode};
use serde_json::json;

use super::activity::Activity;
use super::caller::{Caller, Client};
use super::calls::{Usage, Wanted, call};
use super::content::{Answer, Content, EVENT_STREAM, empty, events, json as json_answer, typed};
use super::deadline::Deadline;
use super::event_filter::EventFilter;
use super::events::Subscription;
use super::limits::{OCTETS_PER_BODY_OCTET, OCTETS_PER_FIELD, STREAM_WINDOW};
use super::listener::EventStream;
use super::memory::Occupied;
use super::path::{Resource, Target, resource};
use super::problem::Problem;
use super::state::Gateway;
use super::{description, log, openapi, page, peers, rights};

/// Header with which a client lowers the time limit of its call.
const REQUEST_TIMEOUT: &str = "request-timeout";

/// Header in which a client that returns names the last event that it has received.
const LAST_EVENT_ID: &str = "last-event-id";

/// Answers a request.
pub(super) async fn answer(
    gateway: Arc<Gateway>,
    request: Request<Incoming>,
    caller: Caller,
    activity: Arc<Activity>,
) -> Answer {
    let begin = Instant::now();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    // A request with Transfer-Encoding may also have a Content-Length, by which an intermediary delimits it.
    let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let mut client = Arc::new(Client { caller, token: None });
    let mut running = None;
    let (origin, done) = match gateway.guard.check(&uri, request.headers()) {
        Err(problem) => (None, Err(problem)),
        Ok(origin) => {
            let done = match admit(&gateway, &request, &client.caller) {
                Err(problem) => Err(problem),
                Ok(token) => {
                    client = Arc::new(Client { caller: client.caller.clone(), token });
                    // Requests that need no token do not keep a connection.
                    if !is_open(&request) {
                        running = Some(activity.start(tokio::time::Instant::now()));
                        activity.permit(octets(&request));
                    }
                    route(&gateway, request, (&client, &activity), origin.is_some()).await
                }
            };
            (origin, done)
        }
    };
    let mut answer = done.unwrap_or_else(Problem::into_answer);
    if method == Method::HEAD {
        *answer.body_mut() = Content::empty();
    }
    if running.is_some() {
        match gateway.answers.occupy(client.caller.address.ip(), answer.body().length()) {
            Ok(memory) => answer.body_mut().hold(running, Some(memory)),
            Err(problem) => {
                answer = problem.into_answer();
                answer.body_mut().hold(running, None);
            }
        }
    }
    let is_refused =
        matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::MISDIRECTED_REQUEST);
    finish(answer.headers_mut(), origin, is_chunked || is_refused);
    gateway.counts.answer(answer.status());
    if let Some(log) = &gateway.log {
        log.request(&log::Entry {
            peer: client.caller.address,
            client: client.name().as_deref(),
            method: &method,
            path: uri.path(),
            status: answer.status(),
            time: begin.elapsed(),
        });
    }
    answer
}

/// Returns the name of the client's token, if it needs or has one. A client with a certificate needs none.
fn admit(
    gateway: &Gateway,
    request: &Request<Incoming>,
    caller: &Caller,
) -> Result<Option<String>, Problem> {
    let Some(tokens) = gateway.tokens.as_ref().filter(|_| !is_open(request)) else {
        return Ok(None);
    };
    match caller.has_certificate() && !request.headers().contains_key(AUTHORIZATION) {
        true => Ok(None),
        false => tokens.admit(request.headers()).map(Some),
    }
}

/// Reports whether a request needs no token. Browsers send none for a page, nor for the question whether another page
/// may send one.
fn is_open(request: &Request<Incoming>) -> bool {
    page::file(request.uri().path()).is_some() || request.method() == Method::OPTIONS
}

/// Returns the number of octets that a client may send for the head of an admitted request, and for the part of its
/// body that may arrive although the gateway does not read it.
fn octets(request: &Request<Incoming>) -> usize {
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let unread = request.body().size_hint().lower().min(u64::from(STREAM_WINDOW)) as usize;
    unread
        + target
        + fields.map(|octets| octets + OCTETS_PER_FIELD).sum::<usize>()
        + OCTETS_PER_FIELD
}

async fn route(
    gateway: &Arc<Gateway>,
    request: Request<Incoming>,
    (client, activity): (&Arc<Client>, &Activity),
    is_cross_origin: bool,
) -> Result<Answer, Problem> {
    if let Some(file) = page::file(request.uri().path()) {
        readable(request.method())?;
        return Ok(file);
    }
    if request.method() == Method::OPTIONS {
        return match is_cross_origin {
            true => Ok(preflight()),
            false => Err(Problem::not_allowed(METHODS, "the origin of the page is not permitted")),
        };
    }
    let address = client.caller.address.ip();
    match resource(request.uri().path())? {
        Resource::Objects => {
            readable(request.method())?;
            let end = end(gateway, request.headers())?;
            let list = move |gateway: &Gateway| description::list(&gateway.objects, end);
            work(gateway, (&all(), address, end), list).await
        }
        Resource::Object(target) => {
            readable(request.method())?;
            let end = end(gateway, request.headers())?;
            let of = target.clone();
            let describe = move |gateway: &Gateway| {
                let object = target.find(&gateway.objects, end)?;
                description::of(&object, &gateway.interfaces, end)
            };
            work(gateway, (&of, address, end), describe).await
        }
        Resource::Member(target, member) => {
            let usage = usage(request.method())?;
            let end = end(gateway, request.headers())?;
            let (body, memory) = body(gateway, request, (client, activity)).await?;
            let client = Arc::clone(client);
            let wanted = Wanted { member, usage, body, _memory: memory, end, client };
            let of = target.clone();
            let called = move |gateway: &Gateway| {
                let object = target.find(&gateway.objects, end)?;
                call(gateway, &object, &wanted)
            };
            work(gateway, (&of, address, end), called).await
        }
        Resource::Channels => {
            readable(request.method())?;
            let names: Vec<&String> = gateway.channels.keys().collect();
            json_answer(StatusCode::OK, &json!({ "events": names }))
        }
        Resource::Channel(name) => {
            readable(request.method())?;
            listen(gateway, &name, client, request).await
        }
        Resource::OpenApi => {
            readable(request.method())?;
            let end = end(gateway, request.headers())?;
            let document = move |gateway: &Gateway| openapi::document(gateway, end);
            work(gateway, (&all(), address, end), document).await
        }
    }
}

/// Returns the target that stands for all objects, because requests for all objects have one share of the threads.
fn all() -> Target {
    Target::Named(String::new())
}

/// Runs a job that may call objects on a thread outside the HTTP runtime. `object` is the object that it calls, the
/// address of its client, and the end of its time.
async fn work(
    gateway: &Arc<Gateway>,
    object: (&Target, IpAddr, Deadline),
    job: impl FnOnce(&Gateway) -> Result<Answer, Problem> + Send + 'static,
) -> Result<Answer, Problem> {
    let shared = Arc::clone(gateway);
    gateway.workers.run(object, move || job(&shared)).await
}

/// Starts a stream of events.
async fn listen(
    gateway: &Arc<Gateway>,
    name: &str,
    client: &Client,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let Some(channel) = gateway.channels.get(name) else {
        return Err(Problem::not_found("there is no event channel with this name"));
    };
    if let Some(rights) = &gateway.rights {
        // The operation by which a consumer begins.
        let interface = channel.kind.interface();
        let wanted = rights::Wanted { object: name, interface, operation: "for_consumers" };
        rights.check(&gateway.orb, client, wanted)?;
    }
    let filter = EventFilter::parse(request.uri().query(), channel.kind)?;
    if request.method() == Method::HEAD {
        return Ok(typed(StatusCode::OK, EVENT_STREAM, Bytes::new()));
    }
    // A single client must leave streams for others.
    let address = client.caller.address.ip();
    let Some(place) = gateway.stream_clients.admit(address) else {
        let why = "this client receives too many streams of events";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why));
    };
    let admitted = Arc::clone(&gateway.streams).try_acquire_owned().map_err(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many clients receive events")
    })?;
    let length = gateway.limits.events_queue();
    // An id that is no text is none that the gateway has sent.
    let last = request.headers().get(LAST_EVENT_ID);
    let last = last.map(|id| id.to_str().unwrap_or_default().to_owned());
    let end = Deadline::after(gateway.limits.call_time());
    let joined = Arc::clone(channel);
    let has_missed = last.is_some();
    let join = move || {
        let client = peers::client(address);
        joined.listen(length, Subscription { client, filter, last: last.as_deref() })
    };
    let queue = match has_missed {
        // The filter is applied to earlier events, for which other requests do not wait.
        true => gateway.workers.run((&events_of(name), address, end), join).await?,
        false => join()?,
    };
    Ok(events(EventStream::new(queue, (admitted, place))))
}

/// Returns the target that stands for a channel, because clients that begin to receive its events have one share of the
/// threads.
fn events_of(channel: &str) -> Target {
    Target::Named(format!("/events/{channel}"))
}

/// Methods that some resource has.
const METHODS: &str = "GET, HEAD, POST, PUT";

fn readable(method: &Method) -> Result<(), Problem> {
    match *method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Problem::not_allowed("GET, HEAD", "this resource can only be read")),
    }
}

fn usage(method: &Method) -> Result<Usage, Problem> {
    match *method {
        Method::GET | Method::HEAD => Ok(Usage::Read),
        Method::POST => Ok(Usage::Call),
        Method::PUT => Ok(Usage::Write),
        _ => Err(Problem::not_allowed(METHODS, "call operations with POST")),
    }
}

/// Returns the end of the time for a call.
fn end(gateway: &Gateway, headers: &HeaderMap) -> Result<Deadline, Problem> {
    let most = gateway.limits.call_time();
    let Some(value) = headers.get(REQUEST_TIMEOUT) else {
        return Ok(Deadline::after(most));
    };
    let seconds: Option<f64> = value.to_str().ok().and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time {
        Some(time) => Ok(Deadline::after(time.min(most))),
        None => Err(Problem::bad_request("Request-Timeout must be a number of seconds")),
    }
}

/// Receives the body of a request, within the limits of size, memory and time.
async fn body(
    gateway: &Gateway,
    request: Request<Incoming>,
    (client, activity): (&Client, &Activity),
) -> Result<(Vec<u8>, Occupied), Problem> {
    let most = gateway.limits.max_body();
    let too_large = || {
        let why = format!("a body can have at most {most} octets");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    if request.body().size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let is_json = is_json(request.headers());
    let mut body = request.into_body();
    let (begin, address) = (tokio::time::Instant::now(), client.caller.address.ip());
    let (mut octets, mut memory) = (Vec::<u8>::new(), gateway.bodies.occupy(address, 0)?);
    loop {
        let end = begin + gateway.limits.body_time(octets.len());
        let frame = tokio::time::timeout_at(end, body.frame()).await.map_err(|_| {
            let why = "the body did not arrive within the time limit, or too slowly";
            Problem::new(StatusCode::REQUEST_TIMEOUT, why)
        })?;
        let Some(frame) = frame else {
            break;
        };
        let incomplete = |_| Problem::bad_request("the body did not arrive completely");
        let Ok(part) = frame.map_err(incomplete)?.into_data() else {
            continue;
        };
        if octets.len() + part.len() > most {
            return Err(too_large());
        }
        memory.add(gateway.bodies.occupy(address, part.len())?);
        activity.permit(OCTETS_PER_BODY_OCTET * part.len());
        octets.extend_from_slice(&part);
    }
    match octets.is_empty() || is_json {
        true => Ok((octets, memory)),
        // Pages of other sites cannot send this type without permission.
        false => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the media type of the body must be application/json",
        )),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Answers a browser that asks whether a page of a permitted origin may send a request.
fn preflight() -> Answer {
    let mut answer = empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    let fields = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, last-event-id, request-timeout",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in fields {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Adds the fields that all answers have.
fn finish(headers: &mut HeaderMap, origin: Option<HeaderValue>, is_last: bool) {
    let fields = [
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    for (name, value) in fields {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let readable = HeaderValue::from_static("allow, retry-after, www-authenticate");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, readable);
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    if is_last {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}
