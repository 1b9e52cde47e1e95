//! TLS as a transport.

mod common;
mod conformance;
mod early;
mod floods;
mod refused;
