//! Links that move bytes: TCP, memory, and wrappers for tests.
#![forbid(unsafe_code)]
