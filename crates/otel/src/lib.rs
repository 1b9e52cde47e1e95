//! Tracing of requests through a distributed system: a pair of interceptors that carry the [W3C
//! trace context] in a service context and make OpenTelemetry spans.
//!
//! ```
//! use oxorb_otel::{ClientTracing, ServerTracing};
//!
//! // Set the exporter once per process: opentelemetry::global::set_tracer_provider(...)
//! let orb = oxorb::Orb::builder()
//!     .client_interceptor(ClientTracing::new()?)
//!     .server_interceptor(ServerTracing::new()?)
//!     .build()?;
//! # orb.shutdown(true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A client span is a child of the thread's current span; a servant's own calls are children of its
//! server span. Attributes of spans follow OpenTelemetry's conventions for RPC. Peers without
//! support for the context ignore it.
//!
//! # On the wire
//!
//! Service context [`TRACE_CONTEXT`], an encapsulation of `struct { string traceparent; string
//! tracestate; }`, both formatted as the HTTP headers of these names.
//!
//! Real-time cost: every span allocates memory, and the exporter has a cost in addition. Do not
//! trace calls with tight deadlines.
//!
//! [W3C trace context]: https://www.w3.org/TR/trace-context/
#![forbid(unsafe_code)]

mod client;
mod context;
mod server;

pub use client::ClientTracing;
pub use context::TRACE_CONTEXT;
pub use server::{ServerTracing, request_context};

use std::sync::OnceLock;

use opentelemetry::KeyValue;
use oxorb::SystemException;
use oxorb::interceptor::Slot;

/// Instrumentation scope of spans.
const SCOPE: &str = "oxorb";

/// Returns the slot that holds the span of a servant thread's request.
fn request_slot() -> Result<Slot, SystemException> {
    static SLOT: OnceLock<Slot> = OnceLock::new();
    if let Some(slot) = SLOT.get() {
        return Ok(*slot);
    }
    let slot = Slot::allocate()?;
    Ok(*SLOT.get_or_init(|| slot))
}

/// Returns the name of a span: interface and operation.
fn span_name(interface: &str, operation: &str) -> String {
    match interface.strip_prefix("IDL:").and_then(|id| id.rsplit_once(':')) {
        Some((name, _)) => format!("{name}/{operation}"),
        None => operation.to_owned(),
    }
}

fn attributes(interface: &str, operation: &str) -> Vec<KeyValue> {
    vec![
        KeyValue::new("rpc.system", "corba"),
        KeyValue::new("rpc.service", interface.to_owned()),
        KeyValue::new("rpc.method", operation.to_owned()),
    ]
}

/// The page about interceptors, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/interceptors.md")]
struct InterceptorsPage;
