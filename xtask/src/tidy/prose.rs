//! Beginnings of summaries in doc comments: a subject or a verb, not a word that refers to something outside the
//! sentence.
//!
//! Each crate may have [`FEW`] weak summaries. No page and no doc comment, from which help texts are made, contains one
//! of the [`VAGUE`] phrases.

use std::collections::BTreeMap;
use std::path::Path;

use super::Finding;
use crate::pages;

/// Maximum number of weak summaries of a crate.
const FEW: usize = 3;

/// Phrases that hide who acts, or what happens. A precise verb takes their place, such as "is notified" or "continues".
const VAGUE: &[&str] =
    &["are told", "came about", "comes to", "for ever", "goes on", "is told", "see to", "sees to"];

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

/// Returns the number of doc comments of a file that belong to the documentation of a crate, and the number of them
/// with weak summaries.
pub(crate) fn count_summaries(file: &str, text: &str) -> (usize, usize) {
    match package(file) {
        Some(_) => (summaries(text).count(), weak(text).count()),
        None => (0, 0),
    }
}

/// Finds vague phrases in a page, or in the doc comments of a source file.
pub(super) fn check_phrases(file: &str, text: &str) -> Vec<Finding> {
    let is_page = file.ends_with(".md");
    if !(is_page || file.ends_with(".rs") && !file.starts_with("xtask/src/tidy/")) {
        return Vec::new();
    }
    let lines: Vec<(usize, &str)> = match is_page {
        true => pages::prose(text).collect(),
        false => {
            let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_start()));
            lines.filter(|(_, line)| line.starts_with("///") || line.starts_with("//!")).collect()
        }
    };
    let vague = lines.into_iter().filter_map(|(line, text)| {
        let text = format!(" {} ", text.to_lowercase().replace([',', '.', ':', ';'], " "));
        let found = VAGUE.iter().find(|phrase| text.contains(&format!(" {phrase} ")))?;
        let what = format!("\"{found}\" hides who acts or what happens: write a precise verb");
        Some(Finding::error(file, line, what))
    });
    vague.collect()
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

/// Returns the first lines of doc comments, with their numbers from 1.
fn summaries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut before = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let line = line.trim_start();
        let doc = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "));
        let is_doc = line.starts_with("///") || line.starts_with("//!");
        let first = !std::mem::replace(&mut before, is_doc);
        Some((at + 1, doc.filter(|_| first)?))
    })
}

/// Returns the lines, counted from 1, and first words of weak summaries.
fn weak(text: &str) -> impl Iterator<Item = (usize, &str)> {
    summaries(text).filter_map(|(line, words)| {
        let word = words.split(|c: char| !c.is_alphanumeric()).next()?;
        let is_weak = WEAK.contains(&word) || words.starts_with("The same ");
        is_weak.then_some((line, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_phrases_are_found_in_pages_and_doc_comments() {
        let lines = |file: &str, text: &str| -> Vec<Option<usize>> {
            check_phrases(file, text).into_iter().map(|found| found.line).collect()
        };
        let page = "It goes on.\n\n```\nis told\n```\nThe server is told,\n";
        assert_eq!(lines("docs/a.md", page), [Some(1), Some(6)]);
        let code = "/// Waits for ever.\nlet forever = \"is told\";\n// is told\n";
        assert_eq!(lines("crates/core/src/a.rs", code), [Some(1)]);
        assert_eq!(lines("docs/a.svg", page), []);
    }

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
