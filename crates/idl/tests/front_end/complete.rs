//! Every diagnostic code occurs in some test.

use crate::golden::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_code_has_a_case() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    codes(&package.join("src"), &mut known);
    assert!(known.len() > 30, "codes are written otherwise than {known:?}");
    let mut shown = BTreeSet::new();
    codes(&root(), &mut shown);
    codes(&package.join("tests"), &mut shown);
    let hidden: Vec<_> = known.difference(&shown).collect();
    assert!(hidden.is_empty(), "no test shows {hidden:?}");
}

/// Collects the texts that look like codes in the sources and results of a folder.
fn codes(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            codes(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "result") {
            let text = fs::read_to_string(&path).unwrap();
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            found.extend(words.filter(|word| is_code(word)).map(str::to_owned));
        }
    }
}

fn is_code(word: &str) -> bool {
    let digits = word.strip_prefix(['E', 'W']).unwrap_or_default();
    digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit())
}
