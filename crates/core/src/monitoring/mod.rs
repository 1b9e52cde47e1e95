//! Incidents of connections, log lines and metrics of an ORB, for its operator.

mod incident;
mod log;
pub(crate) mod metrics;

pub(crate) use incident::Watch;
pub use incident::{ConnectionEvent, ConnectionStatistics, Incident};
pub(crate) use log::Log;
pub use log::LogLevel;
