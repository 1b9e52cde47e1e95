//! IDL files of OxORB. For foreign ones: `cargo xtask idl-corpus`.

use oxorb_idl::{Options, compile};
use std::fs;
use std::path::{Path, PathBuf};

/// Our files cause no errors, and only warnings about members of unnamed types.
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
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
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
