//! Common parts of the golden tests: cases, their options, comparison.

use oxorb_idl::Options;
use oxorb_idl::source::Loader;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns `tests/idl-ui` of the workspace; results are next to the cases.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/idl-ui")
}

/// Loader below [`root`], so that results contain no paths of this machine.
pub(crate) struct Rooted;

impl Loader for Rooted {
    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(root().join(path))
    }
}

/// Runs `actual` on every `*.idl` of a folder and compares its result with the `*.result` next to it; writes the
/// `*.result` instead if `BLESS` is set.
pub(crate) fn golden(folder: &str, actual: impl Fn(&Path, &Options) -> Result<String, String>) {
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    let cases = cases(folder);
    assert!(!cases.is_empty(), "no case in {folder}");
    for case in &cases {
        let options = options(case);
        let expected_path = root().join(case).with_extension("result");
        match actual(case, &options) {
            Err(why) => failures.push(format!("{}: {why}", case.display())),
            Ok(actual) if bless => fs::write(&expected_path, actual).unwrap(),
            Ok(actual) => {
                let expected = fs::read_to_string(&expected_path).unwrap_or_default();
                if expected != actual {
                    failures.push(format!(
                        "{}: differs (BLESS=1 accepts)\n--- expected\n{expected}--- actual\n{actual}",
                        case.display()
                    ));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases fail\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// Returns the `*.idl` files of a folder below [`root`], sorted.
pub(crate) fn cases(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| Path::new(folder).join(entry.unwrap().file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "idl"))
        .collect();
    cases.sort();
    cases
}

/// Returns the options in the first line of a case.
pub(crate) fn options(case: &Path) -> Options {
    let text = fs::read(root().join(case)).unwrap();
    options_of(&String::from_utf8_lossy(&text))
}

/// Parses a first line: `// options: -I folder -D NAME=VALUE --lenient keyword_case`.
pub(crate) fn options_of(text: &str) -> Options {
    let mut options = Options::default();
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("// options: ")) else {
        return options;
    };
    let mut words = line.split_whitespace();
    while let Some(option) = words.next() {
        let value = words.next().unwrap_or_else(|| panic!("{option} without value"));
        match (option, value) {
            ("-I", folder) => options.include_dirs.push(folder.into()),
            ("-D", define) => options.defines.push(define.into()),
            ("--no-builtins", "yes") => options.no_builtins = true,
            ("--lenient", name) if options.lenient.allow(name) => {}
            ("--include-depth", depth) => options.limits.include_depth = depth.parse().unwrap(),
            ("--macro-octets", limit) => options.limits.macro_octets = limit.parse().unwrap(),
            ("--diagnostics", limit) => options.limits.diagnostics = limit.parse().unwrap(),
            _ => panic!("unknown option {option} {value}"),
        }
    }
    options
}
