//! `cargo xtask tidy`: rules of the project that a compiler does not check.
//!
//! | Rule | Where |
//! |---|---|
//! | number of files that import each other in a cycle | [`cycles`] |
//! | permitted dependencies of packages | [`direction`] |
//! | at most one public type of each name in a crate | [`homonyms`] |
//! | targets of the links of pages | [`links`] |
//! | required fields of every manifest | [`manifest`] |
//! | beginnings of summaries in doc comments, phrases in pages | [`prose`] |
//! | permitted references between parts of `core` | [`sides`] |
//! | permitted places of unsafe code, and its prohibition elsewhere | [`safety`] |
//! | Rust of pages: compiled, quoted, or marked with a reason | [`snippets`] |
//! | contents and length of files | [`text`] |
//!
//! Each rule is a function from a file or the package list to findings; its tests show that it can fail.

mod cycles;
mod direction;
mod errors;
mod homonyms;
mod links;
mod manifest;
mod prose;
mod safety;
mod sides;
mod snippets;
mod text;

use std::fmt;
use std::path::Path;
use std::process::Command;

use cargo_metadata::MetadataCommand;

pub(crate) use self::cycles::largest_cycles;
pub(crate) use self::prose::count_summaries;

/// Checks the whole work tree. Warnings are printed, errors fail.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("Usage: cargo xtask tidy".to_owned());
    }
    let findings = check(&crate::workspace::folder())?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    let errors = findings.iter().filter(|found| found.is_error).count();
    match errors {
        0 => Ok(()),
        1 => Err("1 rule of the house is broken".to_owned()),
        _ => Err(format!("{errors} rules of the house are broken")),
    }
}

/// Violation of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Finding {
    is_error: bool,
    /// Path relative to the workspace.
    file: String,
    /// Line, counted from 1.
    line: Option<usize>,
    what: String,
}

impl Finding {
    fn error(file: &str, line: impl Into<Option<usize>>, what: impl Into<String>) -> Finding {
        Finding { is_error: true, file: file.to_owned(), line: line.into(), what: what.into() }
    }

    fn warning(file: &str, what: impl Into<String>) -> Finding {
        Finding { is_error: false, ..Finding::error(file, None, what) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grade = if self.is_error { "error" } else { "warning" };
        let Finding { file, what, .. } = self;
        match self.line {
            Some(line) => write!(f, "{grade}: {file}:{line}: {what}"),
            None => write!(f, "{grade}: {file}: {what}"),
        }
    }
}

fn check(workspace: &Path) -> Result<Vec<Finding>, String> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let mut findings = direction::check(workspace, &metadata.packages);
    findings.extend(manifest::check(workspace, &metadata.packages));
    findings.extend(safety::check_roots(workspace, &metadata.packages));
    let files = files(workspace)?;
    findings.extend(sides::check(workspace, &files));
    findings.extend(cycles::check(workspace, &files));
    findings.extend(prose::check(workspace, &files));
    findings.extend(homonyms::check(workspace, &files));
    findings.extend(snippets::check(workspace, &files));
    for file in files {
        // Binary files, and files deleted but not yet committed, are subject to no rules.
        if let Ok(text) = std::fs::read_to_string(workspace.join(&file)) {
            findings.extend(text::check(&file, &text));
            findings.extend(links::check(workspace, &file, &text));
            findings.extend(safety::check_file(&file, &text));
            findings.extend(errors::check_file(&file, &text));
            findings.extend(prose::check_phrases(&file, &text));
        }
    }
    findings.sort_by(|a, b| (!a.is_error, &a.file, a.line).cmp(&(!b.is_error, &b.file, b.line)));
    Ok(findings)
}

/// Returns every file that is committed or about to be.
pub(crate) fn files(workspace: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(workspace)
        .output()
        .map_err(|error| format!("git ls-files: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    Ok(listed.lines().map(str::to_owned).collect())
}

/// Returns the code of a line of Rust, without its comment.
fn code(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_tree_is_tidy() {
        if !oxorb_testkit::peers::is_there("cargo") {
            return;
        }
        let folder = crate::workspace::folder();
        if !folder.join(".git").exists() {
            return oxorb_testkit::peers::missing("a git checkout", "tidy looks at what git lists");
        }
        let errors = check(&folder).unwrap();
        let errors = errors.iter().filter(|found| found.is_error);
        let errors: Vec<String> = errors.map(Finding::to_string).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    #[test]
    fn findings_are_printed_so_that_editors_find_the_place() {
        let found = Finding::error("a/b.rs", 3, "no");
        assert_eq!(found.to_string(), "error: a/b.rs:3: no");
        assert_eq!(Finding::warning("a", "long").to_string(), "warning: a: long");
    }
}
