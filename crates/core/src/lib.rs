//! The join: references, invocation, connections, dispatch, shutdown.
#![forbid(unsafe_code)]
