//! Events of connections, for logs and interceptors.

#[doc(inline)]
pub use oxorb_core::{ConnectionEvent, ConnectionStatistics, Incident};
