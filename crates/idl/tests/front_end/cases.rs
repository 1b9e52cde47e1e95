//! Golden tests of the whole front end: `tests/idl-ui/{ok,fail}/*.idl`.

use crate::dump::dump;
use crate::golden::{Rooted, golden};
use oxorb_idl::source::SourceMap;
use oxorb_idl::{Compiled, Failed, Options, compile_from};
use std::path::Path;

#[test]
fn good_sources_give_the_recorded_models_and_warnings() {
    golden("ok", |case, options| match compile(case, options) {
        Ok(compiled) => {
            let report = &compiled.report;
            let model = dump(&compiled.model, &report.sources);
            Ok(join(&model, &report.text(false)))
        }
        Err(failed) => Err(format!("does not compile\n{failed}")),
    });
}

#[test]
fn bad_sources_give_the_recorded_errors() {
    golden("fail", |case, options| match compile(case, options) {
        Ok(_) => Err("compiles".into()),
        Err(failed) => {
            assert!(failed.report.diagnostics.has_errors());
            Ok(failed.report.text(false))
        }
    });
}

fn compile(case: &Path, options: &Options) -> Result<Compiled, Failed> {
    compile_from(SourceMap::new(Rooted), &[case], options)
}

fn join(model: &str, warnings: &str) -> String {
    match warnings {
        "" => model.to_owned(),
        _ => format!("{model}\n{warnings}"),
    }
}
