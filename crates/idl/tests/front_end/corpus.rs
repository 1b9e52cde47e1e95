//! IDL that others wrote: `OXORB_CORPUS=/usr/share/idl/omniORB cargo test -p oxorb-idl`.

use oxorb_idl::diagnostic::Severity;
use oxorb_idl::{Failed, Options, compile};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of Debian's package omniorb-idl that are no valid IDL, with the codes
/// of all that is wrong with them; omniidl refuses them as well.
const REFUSED: &[(&str, &[&str])] = &[
    // CORBA::Environment is pseudo IDL of CORBA 2.
    ("COS/CosTSPortability.idl", &["E0401"]),
    // IOP.idl is not in the package.
    ("COS/DCE_CIOPSecurity.idl", &["E0103"]),
    ("COS/SECIOP.idl", &["E0103"]),
    ("COS/SSLIOP.idl", &["E0103"]),
    // `struct Right { string right; }`: a member named like its struct.
    ("COS/NRService.idl", &["E0405"]),
    ("COS/Security.idl", &["E0405"]),
    ("COS/SecurityAdmin.idl", &["E0405"]),
    ("COS/SecurityLevel1.idl", &["E0405"]),
    ("COS/SecurityLevel2.idl", &["E0405"]),
    ("COS/SecurityReplaceable.idl", &["E0405"]),
];

/// Each file compiles, or is refused only for what is known to be wrong with
/// it. Without `OXORB_CORPUS` there is nothing to do;
/// with it, there has to be.
#[test]
fn foreign_idl_is_understood() {
    let Some(corpus) = std::env::var_os("OXORB_CORPUS") else {
        return;
    };
    let corpus = PathBuf::from(corpus);
    let mut files = Vec::new();
    collect(&corpus, &mut files);
    assert!(!files.is_empty(), "no IDL file in {}", corpus.display());
    let mut options = Options {
        include_dirs: vec![corpus.clone(), corpus.join("COS")],
        ..Options::default()
    };
    // IDL of before CORBA 2.3 calls types `Factory`.
    options.lenient.keyword_case = true;
    let mut good = 0;
    let mut misunderstood = Vec::new();
    for file in &files {
        let known = REFUSED.iter().find(|(name, _)| file == &corpus.join(name));
        let expected = known.map_or(&[][..], |(_, codes)| codes);
        let (found, text) = match compile(std::slice::from_ref(file), &options) {
            Ok(_) => (BTreeSet::new(), "compiles".to_owned()),
            Err(failed) => (wrong(&failed), failed.to_string()),
        };
        good += usize::from(text == "compiles");
        if !found.iter().eq(expected) {
            misunderstood.push(format!("{}: {text}", file.display()));
        }
    }
    println!("{good} of {} files compile", files.len());
    assert!(
        misunderstood.is_empty(),
        "{} of {} files are misunderstood\n\n{}",
        misunderstood.len(),
        files.len(),
        misunderstood.join("\n\n")
    );
}

/// The codes of all errors.
fn wrong(failed: &Failed) -> BTreeSet<&'static str> {
    let problems = failed.report.diagnostics.iter().map(|found| &found.problem);
    problems
        .filter(|problem| problem.severity() == Severity::Error)
        .map(|problem| problem.code())
        .map(|code| code.0)
        .collect()
}

/// The files that come with OxORB: no error, and no warning but for members
/// whose types have no name.
#[test]
fn our_own_files_are_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../idl/omg");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    assert!(files.len() > 5, "{}", folder.display());
    for file in &files {
        match compile(std::slice::from_ref(file), &Options::default()) {
            Ok(compiled) => {
                let warnings = compiled.report.diagnostics.iter();
                let mut others = warnings.filter(|found| found.problem.code().0 != "W0613");
                let text = compiled.report.text(false);
                assert!(others.next().is_none(), "{text}");
            }
            Err(failed) => panic!("{failed}"),
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("OXORB_CORPUS: {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "idl") {
            files.push(path);
        }
    }
    files.sort();
}
