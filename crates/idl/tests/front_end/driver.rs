//! Several files, files that cannot be read, reports.

use oxorb_idl::source::{Loader, Memory, SourceMap};
use oxorb_idl::{Compiled, Failed, Options, compile, compile_from};
use std::io;
use std::path::Path;

#[test]
fn several_files_make_one_model_and_share_what_they_include() {
    let compiled = run(
        &[
            ("shared.idl", "struct Shared { long a; };"),
            ("a.idl", "#pragma prefix \"a.org\"\n#include \"shared.idl\"\nstruct A { Shared s; };"),
            ("b.idl", "#include \"./shared.idl\"\n#include \"a.idl\"\nstruct B { A first; };"),
        ],
        &["a.idl", "./b.idl"],
    )
    .unwrap();
    let definitions: Vec<_> =
        compiled.model.defs().map(|def| (def.repository_id.as_str(), def.in_main_file)).collect();
    assert_eq!(
        definitions,
        [("IDL:Shared:1.0", false), ("IDL:a.org/A:1.0", true), ("IDL:B:1.0", true)]
    );
    assert_eq!(compiled.report.sources.paths(), ["./b.idl", "a.idl", "shared.idl"].map(Path::new));
}

#[test]
fn a_main_file_that_an_earlier_one_includes_is_main_all_the_same() {
    let files =
        [("a.idl", "struct A { long x; };"), ("b.idl", "#include <a.idl>\nstruct B { A first; };")];
    let options = Options { include_dirs: vec![".".into()], ..Options::default() };
    let compiled = compile_from(sources(&files), &["b.idl", "a.idl"], &options).unwrap();
    let mains: Vec<_> = compiled.model.defs().map(|def| def.in_main_file).collect();
    assert_eq!(mains, [true, true]);
}

#[test]
fn a_file_that_cannot_be_read_is_a_diagnostic() {
    let failed = run(&[], &["absent.idl", "absent too.idl"]).unwrap_err();
    assert_eq!(
        failed.to_string(),
        "error[E0001]: cannot read `absent.idl`: entity not found\n\
         --> absent.idl\n\n\
         error[E0001]: cannot read `absent too.idl`: entity not found\n\
         --> absent too.idl"
    );
}

#[test]
fn an_include_that_is_a_folder_is_not_found() {
    let folder = std::env::temp_dir().join(format!("oxorb-idl-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("thing.idl")).unwrap();
    let main = folder.join("main.idl");
    std::fs::write(&main, "#include \"thing.idl\"\n").unwrap();
    let failed = compile(&[&main], &Options::default()).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failed.to_string().starts_with("error[E0103]: the file `thing.idl` is not found"));
}

#[test]
fn a_folder_that_was_searched_is_named_once() {
    let options = Options {
        include_dirs: [".", "./", "lib", "./lib/"].map(Into::into).into(),
        ..Options::default()
    };
    let files = [("a.idl", "#include \"nowhere.idl\"")];
    let failed = compile_from(sources(&files), &["a.idl"], &options).unwrap_err();
    let told = failed.to_string();
    assert!(told.contains("searched in `.`, `lib`; add"), "{told}");
}

#[test]
fn an_include_that_cannot_be_read_says_why() {
    struct Forbidding;
    impl Loader for Forbidding {
        fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
            match path.to_str() {
                Some("a.idl") => Ok(b"#include \"secret.idl\"".to_vec()),
                _ => Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
    }
    let map = SourceMap::new(Forbidding);
    let failed = compile_from(map, &["a.idl"], &Options::default()).unwrap_err();
    assert_eq!(codes(&failed), ["E0104"]);
    assert!(failed.to_string().contains("cannot read `secret.idl`: permission denied"));
}

#[test]
fn meeting_a_limit_is_the_only_error() {
    let text = "#include \"b.idl\"\n".repeat(20) + "half a declaration";
    let files = [("a.idl", text.as_str()), ("b.idl", "// nothing")];
    let limits = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        codes(&compile_from(sources(&files), &["a.idl"], &options).unwrap_err())
    };
    assert_eq!(limits(|options| options.limits.includes = 19), ["E0107"]);
    assert_eq!(limits(|options| options.limits.source_octets = 500), ["E0107"]);
    assert_ne!(limits(|_| {}), ["E0107"]);
}

#[test]
fn json_tells_code_place_and_help() {
    let failed = run(&[("a.idl", "\n  const long x = 08;")], &["a.idl"]).unwrap_err();
    let json = serde_json::from_str::<serde_json::Value>(&failed.report.json()).unwrap();
    assert_eq!(
        json,
        serde_json::json!([{
            "code": "E0207",
            "severity": "error",
            "message": "`8` is not a valid octal digit",
            "label": "",
            "help": "a number that starts with 0 is octal; drop the 0 for a decimal one",
            "related": [],
            "file": "a.idl", "line": 2, "column": 19, "end_line": 2, "end_column": 20,
        }])
    );
}

#[test]
fn colour_is_only_there_on_demand() {
    let failed = run(&[("a.idl", "$")], &["a.idl"]).unwrap_err();
    assert!(!failed.report.text(false).contains('\x1b'));
    assert!(failed.report.text(true).contains('\x1b'));
}

#[test]
fn a_malformed_macro_of_the_command_line_is_reported_there() {
    let options = Options { defines: vec!["1=2".into()], ..Options::default() };
    let failed = compile_from(sources(&[("a.idl", "")]), &["a.idl"], &options).unwrap_err();
    let first = failed.report.diagnostics.iter().next().unwrap();
    let place = failed.report.sources.location(first.span).to_string();
    assert_eq!((first.problem.code().0, place.as_str()), ("E0108", "<command line>:2:9"));
}

fn codes(failed: &Failed) -> Vec<&'static str> {
    let all = failed.report.diagnostics.iter();
    all.map(|found| found.problem.code().0).collect()
}

fn run(files: &[(&str, &str)], paths: &[&str]) -> Result<Compiled, Failed> {
    compile_from(sources(files), paths, &Options::default())
}

fn sources(files: &[(&str, &str)]) -> SourceMap {
    let files = files.iter().map(|(name, text)| ((*name).into(), (*text).into()));
    SourceMap::new(Memory(files.collect()))
}
