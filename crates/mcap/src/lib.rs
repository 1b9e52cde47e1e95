//! MCAP files: recordings of messages with their schemas, which existing viewers open.
#![forbid(unsafe_code)]
