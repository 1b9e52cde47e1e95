//! Compiled stubs and skeletons against the ORB.

use oxorb_codegen_tests::calls;

#[path = "calls/suite.rs"]
#[allow(clippy::duplicate_mod, reason = "the suite holds for both kinds of code")]
mod suite;
