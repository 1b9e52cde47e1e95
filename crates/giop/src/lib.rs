//! GIOP 1.0 to 1.2 messages, object references and code sets, without I/O.
#![forbid(unsafe_code)]
