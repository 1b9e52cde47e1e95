//! Rule that confines unsafe code to a few modules. Elsewhere unsafe code is forbidden, and the word does not occur.

use std::path::Path;

use cargo_metadata::Package;

use super::{Finding, code};

/// Packages and modules that may contain unsafe code, with a reason for each occurrence.
const DOORS: [&str; 3] = ["crates/cdr/src/raw/", "crates/sys/src/", "tests/testkit/src/alloc.rs"];

/// Roots of packages with such a module: they deny what they cannot forbid, except for `sys`.
const MIXED: [&str; 2] = ["crates/cdr/src/lib.rs", "tests/testkit/src/lib.rs"];

/// Checks the root of every library and program.
pub(super) fn check_roots(workspace: &Path, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for target in packages.iter().flat_map(|package| &package.targets) {
        if !(target.is_lib() || target.is_bin()) {
            continue;
        }
        let path = target.src_path.as_std_path();
        let file = path.strip_prefix(workspace).unwrap_or(path).display().to_string();
        let text = std::fs::read_to_string(path).unwrap_or_default();
        findings.extend(check_root(&file, &text));
    }
    findings
}

fn check_root(file: &str, text: &str) -> Option<Finding> {
    let says = |attribute: &str| text.lines().any(|line| line.trim() == attribute);
    // An example needs no such attribute, because it contains only what its reader needs. `check_file` checks examples,
    // too.
    let exempt = ["crates/sys/", "examples/"].iter().any(|folder| file.starts_with(folder));
    if exempt || says("#![forbid(unsafe_code)]") {
        return None;
    }
    if MIXED.contains(&file) {
        let found = Finding::error(file, None, "lacks `#![deny(unsafe_code)]`");
        return (!says("#![deny(unsafe_code)]")).then_some(found);
    }
    Some(Finding::error(file, None, "lacks `#![forbid(unsafe_code)]`"))
}

/// Checks that a file outside these modules neither contains unsafe code nor allows it.
pub(super) fn check_file(file: &str, text: &str) -> Vec<Finding> {
    let checked = file.ends_with(".rs") && !file.starts_with("fuzz/");
    if !checked || DOORS.iter().any(|door| file.starts_with(door)) {
        return Vec::new();
    }
    let marks = ["{", "fn ", "impl ", "extern ", "trait "].map(|next| format!("unsafe {next}"));
    let lines = text.lines().enumerate();
    let bad = lines.filter(|(_, line)| {
        let code = code(line);
        let quoted =
            |mark: &str| code.split(mark).next().is_some_and(|before| before.contains('"'));
        marks.iter().any(|mark| code.contains(mark) && !quoted(mark))
            || code.contains(concat!("allow(", "unsafe_code)"))
    });
    bad.map(|(at, _)| {
        let what = format!("unsafe code belongs in {}", DOORS.join(", "));
        Finding::error(file, at + 1, what)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_must_forbid() {
        assert!(check_root("crates/giop/src/lib.rs", "//! Messages.\n").is_some());
        let good = "//! Messages.\n#![forbid(unsafe_code)]\n";
        assert_eq!(check_root("crates/giop/src/lib.rs", good), None);
        assert_eq!(check_root("crates/sys/src/lib.rs", "//! Door.\n"), None);
    }

    #[test]
    fn a_root_with_a_door_must_deny() {
        let root = "tests/testkit/src/lib.rs";
        assert!(check_root(root, "//! Kit.\n").is_some());
        assert_eq!(check_root(root, "#![deny(unsafe_code)]\n"), None);
        assert!(check_root("crates/cdr/src/lib.rs", "//! Codec.\n").is_some());
    }

    #[test]
    fn every_door_is_there() {
        for door in DOORS.iter().chain(&MIXED) {
            assert!(crate::workspace::folder().join(door).exists(), "{door}");
        }
    }

    #[test]
    fn unsafe_code_is_found_outside_the_doors() {
        let text = format!("fn f() {{\n    {} {{ g() }}\n}}\n", "unsafe");
        let found = check_file("crates/core/src/a.rs", &text);
        assert_eq!(found.iter().map(|found| found.line).collect::<Vec<_>>(), [Some(2)]);
        assert_eq!(check_file("crates/sys/src/socket.rs", &text), []);
        assert_eq!(check_file("crates/cdr/src/raw/room.rs", &text), []);
        assert_eq!(check_file("crates/cdr/src/encoder.rs", &text).len(), 1);
    }

    #[test]
    fn talking_about_it_is_fine() {
        assert_eq!(check_file("a.rs", "// unsafe { } is elsewhere\nlet a = \"unsafe fn \";\n"), []);
    }

    #[test]
    fn allowing_it_is_found() {
        let text = concat!("#![allow(", "unsafe_code)]\n");
        assert_eq!(check_file("crates/core/src/a.rs", text).len(), 1);
    }
}
