//! TLS as a transport.

mod common;
mod conformance;
mod refused;
