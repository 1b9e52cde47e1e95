//! IDL that others wrote: `OXORB_CORPUS=/usr/share/idl/omniORB cargo test -p oxorb-idl`.

use oxorb_idl::diagnostic::Severity;
use oxorb_idl::{Options, compile};
use std::fs;
use std::path::{Path, PathBuf};

/// Each file compiles, or is refused only for what is not supported yet.
/// Without `OXORB_CORPUS` there is nothing to do; with it, there has to be.
#[test]
fn foreign_idl_is_understood() {
    let Some(corpus) = std::env::var_os("OXORB_CORPUS") else {
        return;
    };
    let corpus = PathBuf::from(corpus);
    let mut files = Vec::new();
    collect(&corpus, &mut files);
    assert!(!files.is_empty(), "no IDL file in {}", corpus.display());
    let options = Options {
        include_dirs: vec![corpus.clone(), corpus.join("COS")],
        ..Options::default()
    };
    let mut good = 0;
    let mut misunderstood = Vec::new();
    for file in &files {
        match compile(std::slice::from_ref(file), &options) {
            Ok(_) => good += 1,
            Err(failed) => {
                let wrong = failed.report.diagnostics.iter().any(|found| {
                    let problem = &found.problem;
                    problem.severity() == Severity::Error && !problem.code().is_not_yet()
                });
                if wrong {
                    misunderstood.push(failed.to_string());
                }
            }
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
