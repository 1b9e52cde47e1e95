//! Conversions of models: IDL, equivalent IDL, JSON, differences.

use crate::golden::{Rooted, cases, golden, options, root};
use oxorb_idl::diff::{Effect, diff};
use oxorb_idl::format::{self, format};
use oxorb_idl::model::Model;
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Options, compile_from, equivalent, print, show};
use std::path::{Path, PathBuf};

/// Every valid case, printed, compiles to a model that prints equally and shows no difference from the first.
#[test]
fn printed_models_mean_the_same() {
    for case in cases("ok") {
        let options = options(&case);
        let model = compile(&case, &options);
        let printed = print::print(&model);
        let again = compile_text(&printed, &options);
        assert_eq!(print::print(&again), printed, "{}", case.display());
        let reached = diff(&model, &again)
            .into_iter()
            .filter(|change| change.effect > Effect::Nothing)
            .filter(|change| !change.what.ends_with("was removed"));
        let reached: Vec<_> = reached.collect();
        assert!(reached.is_empty(), "{}: {reached:?}\n{printed}", case.display());
    }
}

#[test]
fn equivalent_idl_is_as_recorded() {
    golden("equivalent", |case, options| {
        let text = equivalent::print(&compile(case, options));
        // Equivalent IDL contains nothing to be translated, but printing it again may move types before operations.
        let plain = print::print(&compile_text(&text, options));
        assert!(equivalent::print(&compile_text(&plain, options)) == plain);
        Ok(text)
    });
}

#[test]
fn json_is_as_recorded() {
    golden("json", |case, options| {
        let json = show::json(&compile(case, options));
        Ok(serde_json::to_string_pretty(&json).unwrap() + "\n")
    });
}

/// Cases are pairs: `x.idl` is the new version, `old/x.idl` the old one.
#[test]
fn differences_are_as_recorded() {
    golden("diff", |case, options| {
        let before = case.with_file_name("old").join(case.file_name().unwrap());
        let changes = diff(&compile(&before, options), &compile(case, options));
        let lines = changes.iter().map(|change| {
            let (name, effect) = (&change.name, change.effect);
            format!("{effect}: {name}: {} ({})\n", change.what, change.why)
        });
        Ok(lines.collect())
    });
}

#[test]
fn nothing_differs_from_itself() {
    for case in cases("ok") {
        let model = compile(&case, &options(&case));
        assert_eq!(diff(&model, &model), [], "{}", case.display());
    }
}

fn compile(case: &Path, options: &Options) -> Model {
    match compile_from(SourceMap::new(Rooted), &[case], options) {
        Ok(compiled) => compiled.model,
        Err(failed) => panic!("{failed}"),
    }
}

/// Compiles text that may include the OMG's own files.
fn compile_text(text: &str, options: &Options) -> Model {
    let path = PathBuf::from("printed.idl");
    let components = include_bytes!("../../../../idl/omg/Components.idl").to_vec();
    let files = Memory(
        [(path.clone(), text.as_bytes().to_vec()), ("lib/Components.idl".into(), components)]
            .into(),
    );
    let options = Options {
        include_dirs: vec!["lib".into()],
        lenient: options.lenient,
        ..Options::default()
    };
    match compile_from(SourceMap::new(files), &[path], &options) {
        Ok(compiled) => compiled.model,
        Err(failed) => panic!("{failed}\n{text}"),
    }
}

#[test]
fn formatted_idl_is_as_recorded() {
    golden("format", |case, _| {
        let text = std::fs::read_to_string(root().join(case)).unwrap();
        let formatted =
            format(&text, &format::FormatOptions::default()).map_err(|e| e.to_string())?;
        let again = format(&formatted, &format::FormatOptions::default());
        assert_eq!(again.as_ref(), Ok(&formatted));
        Ok(formatted)
    });
}

/// Formatting is idempotent at any width. The formatter itself checks that only white space changes.
#[test]
fn formatting_is_stable() {
    for folder in ["ok", "fail", "facts", "tokens", "format"] {
        for case in cases(folder) {
            let text = std::fs::read(root().join(&case)).unwrap();
            let text = String::from_utf8_lossy(&text);
            for width in [20, 60, 100] {
                let options = format::FormatOptions { indent: 2, width };
                let Ok(formatted) = format(&text, &options) else {
                    assert_ne!(folder, "ok", "{}", case.display());
                    continue;
                };
                let again = format(&formatted, &options);
                assert_eq!(again.as_ref(), Ok(&formatted), "{}", case.display());
            }
        }
    }
}

#[test]
fn a_token_over_two_lines_is_not_taken_apart() {
    let split = "typedef lo\\\nng T;";
    let error = format(split, &format::FormatOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("line 1: "), "{error}");
    let between = "typedef \\\n long T;";
    let formatted = format(between, &format::FormatOptions::default()).unwrap();
    assert_eq!(formatted, "typedef long T;\n");
}

#[test]
fn a_literal_without_end_is_refused_where_it_may_be_read() {
    for (text, line) in
        [("#ifdef A\n#endif\nit's\n", 3), ("#if 0\nit's\n", 2), ("#else\nit's\n#endif\n", 2)]
    {
        let error = format(text, &format::FormatOptions::default()).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

/// Formats deeply nested groups that are skipped because of an error in each. Their text must be scanned only once.
#[test]
fn nested_groups_that_are_kept_cost_no_more_than_their_text() {
    let depth = 20_000;
    let text = "#if A\n".repeat(depth) + &"it's\n#endif\n".repeat(depth);
    assert_eq!(format(&text, &format::FormatOptions::default()), Ok(text));
}

#[test]
fn a_hash_behind_joined_lines_starts_no_directive() {
    let text = "typedef long T; \\\n#if 0\nit's\n";
    let error = format(text, &format::FormatOptions::default()).unwrap_err();
    assert_eq!(error.line, 3, "{error}");
}
