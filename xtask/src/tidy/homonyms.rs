//! One meaning for each name of a public type within a crate.

use std::collections::BTreeMap;
use std::path::Path;

use super::Finding;

/// Names that a crate has twice, and why. The list only shrinks.
const KNOWN: [(&str, &str, &str); 3] = [
    ("crates/core", "Condvar", "model and simulation: a build has one of them"),
    ("crates/protocols", "Place", "private modules of shared memory and UNIX sockets"),
    ("crates/sys", "Mutex", "for one process, and for several"),
];

/// Checks the names of all crates whose files are among `files`.
pub(super) fn check(workspace: &Path, files: &[String]) -> Vec<Finding> {
    let mut places: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for file in files {
        let Some(package) = package(file) else {
            continue;
        };
        let Ok(text) = std::fs::read_to_string(workspace.join(file)) else {
            continue;
        };
        for (line, name) in public_types(&text) {
            places.entry((package, name.to_owned())).or_default().push(format!("{file}:{line}"));
        }
    }
    let is_known = |package: &str, name: &str| {
        KNOWN.iter().any(|(of, known, _)| (*of, *known) == (package, name))
    };
    let mut findings: Vec<Finding> = places
        .iter()
        .filter(|((package, name), places)| places.len() > 1 && !is_known(package, name))
        .map(|((package, name), places)| {
            let what = format!(
                "{name} is the name of {} public types ({}): give each a name of its own, as ARCHITECTURE's glossary has it",
                places.len(),
                places.join(", ")
            );
            Finding::error(package, None, what)
        })
        .collect();
    findings.extend(KNOWN.iter().filter_map(|(package, name, _)| {
        let times = places.get(&(*package, (*name).to_owned())).map_or(0, Vec::len);
        let what = format!(
            "{name} is no longer the name of two types: take it out of the list of known ones"
        );
        (times < 2).then(|| Finding::error(package, None, what))
    }));
    findings
}

/// Returns the folder of the library that a file belongs to.
fn package(file: &str) -> Option<&str> {
    let (package, _) = file.split_once("/src/").filter(|_| file.ends_with(".rs"))?;
    package.starts_with("crates/").then_some(package)
}

/// Returns the public types that a file declares, with their lines.
fn public_types(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
        let kind = words.next()?;
        if !["struct", "enum", "union", "trait", "type"].contains(&kind) {
            return None;
        }
        let name = words.next()?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        // A macro's parameter has none.
        (end > 0).then(|| (at + 1, &name[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_types_are_found_by_their_names() {
        let text = "pub struct A<T>(T);\n    pub enum B {}\npub(crate) struct C;\nstruct D;\n// pub struct E\npub struct $name;\n\
                    pub type F = u8;\npub fn g() {}\npub trait H: Send {}\n";
        let found: Vec<_> = public_types(text).collect();
        assert_eq!(found, [(1, "A"), (2, "B"), (7, "F"), (9, "H")]);
        assert_eq!(package("crates/core/src/a/b.rs"), Some("crates/core"));
        assert_eq!(package("crates/core/tests/it/b.rs"), None);
        assert_eq!(package("xtask/src/main.rs"), None);
    }
}
