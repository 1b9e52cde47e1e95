//! Required fields of every manifest, and the licence texts of the repository.

use std::path::Path;

use cargo_metadata::Package;

use super::Finding;

/// Checks the manifests of all packages and that both licence texts exist.
pub(super) fn check(workspace: &Path, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let path = package.manifest_path.as_std_path();
        let file = path.strip_prefix(workspace).unwrap_or(path).display().to_string();
        let text = std::fs::read_to_string(path).unwrap_or_default();
        findings.extend(check_text(&file, &text));
        for target in package.targets.iter().filter(|target| target.is_lib() || target.is_bin()) {
            let folder = target.src_path.parent().expect("a file is in a folder").as_std_path();
            if !target.test {
                findings.extend(lost_tests(workspace, folder, &UNIT_TEST));
            }
            if target.is_lib() && !target.doctest {
                findings.extend(lost_tests(workspace, folder, &DOC_TEST));
            }
        }
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        if !workspace.join(licence).is_file() {
            findings.push(Finding::error(licence, None, "the licence text is missing"));
        }
    }
    findings
}

const DEMANDS: [(&str, &str, &str); 4] = [
    ("[package]", "description = \"", "a description"),
    ("[package]", "license.workspace = true", "the workspace's licence"),
    ("[package]", "edition.workspace = true", "the workspace's edition"),
    ("[lints]", "workspace = true", "the workspace's lints"),
];

fn check_text(file: &str, text: &str) -> Vec<Finding> {
    let missing = DEMANDS.iter().filter(|(table, line, _)| !has(text, table, line));
    missing
        .map(|(table, line, what)| {
            let what = format!("the package lacks {what}: `{line}` in {table}");
            Finding::error(file, None, what)
        })
        .collect()
}

/// Kind of test, and the setting of a manifest with which it never runs.
struct TestKind {
    /// First line of a file, counted from 0, that begins such a test.
    first: fn(&str) -> Option<usize>,
    setting: &'static str,
}

const UNIT_TEST: TestKind = TestKind {
    first: |text| text.lines().position(|line| line.trim() == "#[test]"),
    setting: "test = false",
};

const DOC_TEST: TestKind = TestKind { first: first_doc_test, setting: "doctest = false" };

/// Line of the first block of Rust in a doc comment: a fence that names no other language.
fn first_doc_test(text: &str) -> Option<usize> {
    let mut inside = false;
    text.lines().position(|line| {
        let line = line.trim();
        let comment = line.strip_prefix("///").or(line.strip_prefix("//!")).map(str::trim);
        let Some(language) = comment.and_then(|it| it.strip_prefix("```")) else { return false };
        inside = !inside;
        let rust = ["", "rust", "no_run", "should_panic", "compile_fail"];
        inside && rust.contains(&language.split(',').next().unwrap_or_default())
    })
}

/// Reports tests of a kind below the folder of a target that does not run them.
fn lost_tests(workspace: &Path, folder: &Path, kind: &TestKind) -> Vec<Finding> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut findings = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let file = path.strip_prefix(workspace).unwrap_or(&path).display().to_string();
        if path.is_dir() {
            findings.extend(lost_tests(workspace, &path, kind));
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let line = (kind.first)(&text);
            let lost = format!(
                "a test that never runs: the manifest says `{}` for this target",
                kind.setting
            );
            findings.extend(line.map(|line| Finding::error(&file, line + 1, lost)));
        }
    }
    findings
}

/// Reports whether a line of the table `table` begins with `wanted`.
fn has(text: &str, table: &str, wanted: &str) -> bool {
    text.lines()
        .skip_while(|line| line.trim() != table)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.starts_with(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"An a\"\nedition.workspace = true\n\
                        license.workspace = true\n\n[lints]\nworkspace = true\n";

    #[test]
    fn a_full_manifest_passes() {
        assert_eq!(check_text("Cargo.toml", GOOD), []);
    }

    #[test]
    fn each_missing_line_is_found() {
        for (_, line, what) in DEMANDS {
            let bad: String = GOOD
                .lines()
                .filter(|kept| !kept.starts_with(line))
                .map(|kept| format!("{kept}\n"))
                .collect();
            let found = check_text("Cargo.toml", &bad);
            assert_eq!(found.len(), 1, "without {line}");
            assert!(found[0].what.contains(what));
        }
    }

    #[test]
    fn tests_of_an_untested_target_are_found_at_any_depth() {
        let workspace =
            std::env::temp_dir().join(format!("oxorb-lost-tests-{}", std::process::id()));
        let folder = workspace.join("src/a");
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        std::fs::write(folder.join("b.rs"), "fn a() {}\n\n    #[test]\n").expect("room");
        std::fs::write(workspace.join("src/lib.rs"), "//! Not `#[test]`.\n").expect("room");
        std::fs::write(folder.join("c.rs"), "/// ```text\n/// ```\n/// ```no_run\n").expect("room");
        let [unit, doc] =
            [UNIT_TEST, DOC_TEST].map(|kind| lost_tests(&workspace, &workspace.join("src"), &kind));
        std::fs::remove_dir_all(&workspace).expect("the folder made above");
        assert_eq!(unit.len(), 1);
        assert_eq!((unit[0].file.as_str(), unit[0].line), ("src/a/b.rs", Some(3)));
        assert_eq!(doc.len(), 1);
        assert_eq!((doc[0].file.as_str(), doc[0].line), ("src/a/c.rs", Some(3)));
    }

    #[test]
    fn a_line_counts_in_its_own_table_only() {
        let moved = GOOD.replace("[lints]", "[dependencies.b]");
        assert_eq!(check_text("Cargo.toml", &moved).len(), 1);
    }
}
