//! TLS as a transport.

mod common;
mod conformance;
mod floods;
mod refused;
