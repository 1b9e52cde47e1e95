//! Metrics of the gateway, which the port for metrics of its ORB shows.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use hyper::StatusCode;

use super::state::Gateway;

/// First status that is counted, and the number of those after it.
const STATUSES: (usize, usize) = (100, 500);

/// Counts of requests and connections.
pub(super) struct Counts {
    /// Number of answers with each status.
    answers: Box<[AtomicU64]>,
    connections: AtomicUsize,
}

/// Open connection, until this is dropped.
pub(super) struct Connected(Arc<Counts>);

impl Counts {
    pub(super) fn new() -> Arc<Counts> {
        let answers = (0..STATUSES.1).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Counts { answers, connections: AtomicUsize::new(0) })
    }

    /// Counts an answer.
    pub(super) fn answer(&self, status: StatusCode) {
        let at = usize::from(status.as_u16()).wrapping_sub(STATUSES.0);
        if let Some(count) = self.answers.get(at) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Counts a connection that was accepted.
    pub(super) fn connect(self: &Arc<Self>) -> Connected {
        self.connections.fetch_add(1, Relaxed);
        Connected(Arc::clone(self))
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}

/// Returns the metric families of a gateway as OpenMetrics text.
pub(super) fn metrics(gateway: &Gateway) -> String {
    let mut text = String::new();
    let counts = &gateway.counts;
    begin(&mut text, "requests", "counter", "Requests of HTTP that were answered, by status.");
    for (at, count) in counts.answers.iter().enumerate() {
        let (status, count) = (STATUSES.0 + at, count.load(Relaxed));
        if count > 0 {
            // Writing to a string does not fail.
            let _ = writeln!(text, "oxorb_http_requests_total{{status=\"{status}\"}} {count}");
        }
    }
    let admitted = gateway.limits.admitted();
    let streams = gateway.limits.streams();
    for (name, help, value) in [
        ("connections", "Open connections of HTTP clients.", counts.connections.load(Relaxed)),
        ("connections_limit", "Maximum number of these connections.", gateway.limits.connections()),
        ("calls", "Calls that run or wait for a thread.", gateway.workers.admitted(admitted)),
        ("calls_limit", "Maximum number of these calls.", admitted),
        (
            "event_streams",
            "Clients that receive events.",
            streams.saturating_sub(gateway.streams.available_permits()),
        ),
        ("event_streams_limit", "Maximum number of clients that receive events.", streams),
    ] {
        begin(&mut text, name, "gauge", help);
        let _ = writeln!(text, "oxorb_http_{name} {value}");
    }
    text
}

fn begin(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# TYPE oxorb_http_{name} {kind}\n# HELP oxorb_http_{name} {help}");
}
