//! Entry point of the fuzz target: no input may cause a panic or unbounded work.

use crate::diff::diff;
use crate::model::Model;
use crate::source::{Memory, SourceMap};
use crate::{Options, compile_from, equivalent, format, print, show};

/// Compiles the octets as a file that may include itself, renders the diagnostics, and shows and formats the result.
pub fn compile_everything(data: &[u8]) {
    let files = Memory([("self".into(), data.to_vec())].into());
    let mut options = Options::default();
    // Deeply repeated includes of the file itself would only take time: two levels test as much.
    options.limits.include_depth = 4;
    options.limits.includes = 8;
    options.limits.macro_octets = 1 << 17;
    options.limits.diagnostics = 10;
    let report = match compile_from(SourceMap::new(files), &["self"], &options) {
        Ok(compiled) => {
            views(&compiled.model);
            compiled.report
        }
        Err(failed) => {
            assert!(failed.report.diagnostics.has_errors());
            failed.report
        }
    };
    report.text(true);
    report.json();
    style(&String::from_utf8_lossy(data));
}

fn views(model: &Model) {
    print::print(model);
    equivalent::print(model);
    show::json(model);
    assert_eq!(diff(model, model), []);
}

/// Checks that formatting is idempotent.
fn style(text: &str) {
    let options = format::FormatOptions::default();
    if let Ok(formatted) = format::format(text, &options) {
        assert_eq!(format::format(&formatted, &options), Ok(formatted));
    }
}
