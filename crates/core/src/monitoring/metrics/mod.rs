//! Metrics of an ORB: counts of its calls and requests, and their text for Prometheus and its relatives (OpenMetrics
//! 1.0).
//!
//! ```text
//! meter.rs      counts of calls and requests in fixed tables of atomic counters; only if metrics are asked for
//! snapshot.rs   what else the ORB knows, collected for one page by orb/metrics.rs
//! families.rs   names, types and help of all metric families, and their samples, in the order of the page
//! text.rs       the text format
//! responder.rs  the thread that answers `GET /metrics`
//! http.rs       one exchange over HTTP: a request and its response
//! ```
//!
//! The size of a page is bounded by the configuration: its labels name lanes, incidents, operations of the scheduler's
//! table and exceptions, the last in tables of a fixed size. No label contains text of a peer.

mod families;
mod http;
mod meter;
mod responder;
mod snapshot;
mod text;

pub(crate) use families::page;
pub(crate) use meter::{Ending, Meter, Started};
pub(crate) use responder::Responder;
pub(crate) use snapshot::{LaneState, Snapshot};
