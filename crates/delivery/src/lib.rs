//! Delivery of events to many consumers: a bounded queue for each, who dispatches it, and what a full queue does.
//!
//! The core that every event service of OxORB stands on: it knows consumers as sinks, and neither ORB nor event.
#![forbid(unsafe_code)]
