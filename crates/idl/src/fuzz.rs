//! Entry point of the fuzz target: whatever the octets are, nothing may panic
//! or run away.

use crate::source::{Memory, SourceMap};
use crate::{Options, compile_from};

/// Compiles the octets as a file that may include itself, and renders what
/// there is to say.
pub fn compile_everything(data: &[u8]) {
    let files = Memory([("self".into(), data.to_vec())].into());
    let mut options = Options::default();
    options.limits.include_depth = 8;
    options.limits.includes = 50;
    options.limits.macro_octets = 1 << 20;
    options.limits.diagnostics = 10;
    let report = match compile_from(SourceMap::new(files), &["self"], &options) {
        Ok(compiled) => compiled.report,
        Err(failed) => {
            assert!(failed.report.diagnostics.has_errors());
            failed.report
        }
    };
    report.text(true);
    report.json();
}
