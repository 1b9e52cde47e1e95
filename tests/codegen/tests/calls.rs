//! Compiled stubs and skeletons against the ORB.

use oxorb_codegen_tests::calls;

#[path = "calls/suite.rs"]
mod suite;
