//! The generator on every valid IDL file of the repository: it prints Rust, or reports unsupported constructs. (Other
//! tests compile Rust from the files of this crate.)

use std::path::{Path, PathBuf};

use oxorb_idlgen::{Builder, Error};

fn idl_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            idl_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "idl") {
            found.push(path);
        }
    }
}

#[test]
fn every_correct_file_becomes_rust_or_is_not_mapped_yet() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    idl_files(&tests.join("idl-ui/ok"), &mut files);
    idl_files(&tests.join("codegen/idl"), &mut files);
    idl_files(&tests.join("interop"), &mut files);
    let mut generated = 0;
    for file in &files {
        match Builder::new().file(file).out_dir("unused").generate() {
            Ok(one) => {
                let (_, text) = one.files.iter().next().expect("one file");
                assert!(text.starts_with("// @generated"));
                generated += 1;
            }
            // Options and macros of a file are unknown here; resulting errors of the front end are ignored.
            Err(Error::Idl(failed)) => {
                let mut problems = failed.report.diagnostics.iter();
                let ours = problems.any(|one| one.problem.code().is_not_yet());
                let text = failed.to_string();
                assert!(ours || text.contains("lenient"), "{text}");
            }
            Err(other) => panic!("{}: {other}", file.display()),
        }
    }
    assert!(generated > 20, "{generated} of {} files", files.len());
}
