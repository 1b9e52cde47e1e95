//! Tests of GIOPlite and GIOPlite/RT, a module for each subject.

mod any_octets;
mod common;
mod conformance;
mod forms;
mod giop_lite;
mod giop_lite_rt;
mod lent;
mod sessions;
