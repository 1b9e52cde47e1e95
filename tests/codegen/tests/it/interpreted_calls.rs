//! Interpreted stubs and skeletons against the ORB: the same suite as for compiled ones.

use oxorb_codegen_tests::interpreted::calls;

#[path = "calls/suite.rs"]
#[allow(clippy::duplicate_mod, reason = "the suite holds for both kinds of code")]
mod suite;
