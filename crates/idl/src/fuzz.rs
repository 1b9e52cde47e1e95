//! Entry point of the fuzz target: no input may cause a panic or unbounded work.

use crate::diff::diff;
use crate::index::Index;
use crate::model::Model;
use crate::source::{Memory, SourceMap};
use crate::{Options, compile_indexed, equivalent, format, print, show};

/// Compiles the octets as a file that may include itself, renders the diagnostics, checks the index of names, and shows
/// and formats the result.
pub fn compile_everything(data: &[u8]) {
    let files = Memory([("self".into(), data.to_vec())].into());
    let mut options = Options::default();
    // Deeply repeated includes of the file itself would only take time: two levels test as much.
    options.limits.include_depth = 4;
    options.limits.includes = 8;
    options.limits.macro_octets = 1 << 17;
    options.limits.instance_octets = 1 << 17;
    options.limits.diagnostics = 10;
    let (result, index) = compile_indexed(SourceMap::new(files), &["self"], &options);
    let report = match result {
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
    names(&index, &report.sources);
    style(&String::from_utf8_lossy(data));
}

fn views(model: &Model) {
    print::print(model);
    equivalent::print(model);
    show::json(model);
    assert_eq!(diff(model, model), []);
}

/// Checks that all places of names are parts of their texts.
fn names(index: &Index, sources: &SourceMap) {
    for found in index.occurrences() {
        let symbol = &index.symbols()[found.symbol];
        for span in [found.span, symbol.span] {
            assert!(sources.text(span.file).get(span.start as usize..span.end as usize).is_some());
        }
        assert!(!found.is_literal || sources.snippet(found.span).contains(&symbol.name));
    }
}

/// Checks that formatting is idempotent.
fn style(text: &str) {
    let options = format::FormatOptions::default();
    if let Ok(formatted) = format::format(text, &options) {
        assert_eq!(format::format(&formatted, &options), Ok(formatted));
    }
}
