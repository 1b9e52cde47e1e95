//! Beginnings of summaries in doc comments: a subject or a verb, not a word that refers to something outside the
//! sentence.
//!
//! Each crate may have [`FEW`] weak summaries.

use std::collections::BTreeMap;
use std::path::Path;

use super::Finding;

/// Maximum number of weak summaries of a crate.
const FEW: usize = 3;

/// Number of places in a finding.
const PLACES: usize = 8;

/// Pronouns and relative words, and prepositions and conjunctions that open fragments.
const WEAK: &[&str] = &[
    "Above",
    "After",
    "Against",
    "Also",
    "Among",
    "And",
    "Another",
    "As",
    "At",
    "Because",
    "Before",
    "Behind",
    "Below",
    "Between",
    "Both",
    "But",
    "By",
    "Everybody",
    "Everything",
    "For",
    "From",
    "Has",
    "Here",
    "How",
    "If",
    "In",
    "Into",
    "It",
    "Its",
    "Like",
    "No",
    "Nobody",
    "Not",
    "Nothing",
    "Of",
    "On",
    "One",
    "Ones",
    "Only",
    "Or",
    "Other",
    "Others",
    "Out",
    "Over",
    "Since",
    "So",
    "Somebody",
    "Such",
    "That",
    "Their",
    "Them",
    "Then",
    "There",
    "These",
    "They",
    "This",
    "Those",
    "Through",
    "To",
    "Under",
    "Unless",
    "Until",
    "What",
    "Whatever",
    "When",
    "Where",
    "Which",
    "While",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
    "With",
    "Without",
];

/// Checks the doc comments of every crate whose files are among `files`.
pub(super) fn check(workspace: &Path, files: &[String]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        let Some(package) = package(file) else {
            continue;
        };
        let places = crates.entry(package).or_default();
        if let Ok(text) = std::fs::read_to_string(workspace.join(file)) {
            places.extend(weak(&text).map(|(line, begin)| format!("{file}:{line} \"{begin} …\"")));
        }
    }
    crates.iter().filter_map(|(package, places)| check_crate(package, places)).collect()
}

fn check_crate(package: &str, places: &[String]) -> Option<Finding> {
    let count = places.len();
    (count > FEW).then(|| {
        let what = format!(
            "{count} summaries of doc comments begin with a pronoun or a fragment, but the limit is {FEW}. Name the \
             subject, or begin with a verb (\"Returns …\"), here for example: {}",
            places[..count.min(PLACES)].join(", ")
        );
        Finding::error(package, None, what)
    })
}

/// Returns the folder of the crate to whose documentation a file belongs.
fn package(file: &str) -> Option<&str> {
    let at = file.strip_prefix("crates/")?.find('/')? + "crates/".len();
    let (package, within) = file.split_at(at);
    let source = within.starts_with("/src/") && within.ends_with(".rs");
    (source && !within.contains("/tests")).then_some(package)
}

/// Returns the lines, counted from 1, and first words of weak summaries.
fn weak(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut before = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let line = line.trim_start();
        let doc = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "));
        let is_doc = line.starts_with("///") || line.starts_with("//!");
        let first = !std::mem::replace(&mut before, is_doc);
        let words = doc.filter(|_| first)?;
        let word = words.split(|c: char| !c.is_alphanumeric()).next()?;
        let is_weak = WEAK.contains(&word) || words.starts_with("The same ");
        is_weak.then_some((at + 1, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_without_a_subject_are_found() {
        let text = "//! What it is.\n\n/// Returns the length.\n/// It is short.\n    /// The same as above.\n";
        let text = text.replace("    ", "fn a() {}\n    ");
        let found: Vec<_> = weak(&text).collect();
        assert_eq!(found, [(1, "What"), (6, "The")]);
    }

    #[test]
    fn summaries_with_a_subject_are_not() {
        let text = "/// Returns what was sent.\nfn a();\n/// Itself a list.\nfn b();\n// It is no documentation.\n";
        assert_eq!(weak(text).count(), 0);
    }

    #[test]
    fn more_than_a_few_are_an_error() {
        let places: Vec<String> = (0..=FEW).map(|line| format!("a.rs:{line}")).collect();
        let more = check_crate("crates/a", &places).unwrap();
        assert!(more.is_error && more.what.contains("a.rs:0"), "{more}");
        assert_eq!(check_crate("crates/a", &places[..FEW]), None);
    }

    #[test]
    fn only_the_sources_of_crates_are_documentation() {
        assert_eq!(package("crates/a/src/b/c.rs"), Some("crates/a"));
        for other in [
            "crates/a/tests/b.rs",
            "xtask/src/main.rs",
            "crates/a/src/b/tests.rs",
            "crates/a/src/b.md",
        ] {
            assert_eq!(package(other), None);
        }
    }
}
