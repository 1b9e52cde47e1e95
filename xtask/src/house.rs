//! `cargo xtask house`: measures of the source that show how well it can be read. The same program measures another
//! version in its checkout, so that the two versions can be compared.

mod repeats;
mod types;

use std::path::{Path, PathBuf};

use crate::{metrics, tidy};

const USAGE: &str = "Usage: cargo xtask house [FOLDER]\n\n  \
    Prints measures of the source: sizes of files and functions, cycles of imports, names of types,\n  \
    weak summaries, repeated lines.\n\n  \
    FOLDER  checkout of another version; default: this one";

/// Phrases whose noun is often missing.
const VAGUE: [&str; 4] = ["is told", "so many", "nobody", "of its own"];

/// Prints the measures of a checkout.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let folder = match args {
        [] => crate::workspace::folder(),
        [folder] if !folder.starts_with('-') => PathBuf::from(folder),
        _ => return Err(USAGE.to_owned()),
    };
    for (measure, value) in measure(&folder)? {
        println!("{measure:54} {value}");
    }
    Ok(())
}

/// Source file of a crate, without its tests.
struct Source {
    file: String,
    text: String,
}

/// Returns the measures, by name.
fn measure(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let files = tidy::files(folder)?;
    let sources = sources(folder, &files);
    let mut measures = Vec::new();
    let mut add = |name: &str, value: String| measures.push((name.to_owned(), value));

    let mut lengths: Vec<usize> = sources.iter().map(|it| it.text.lines().count()).collect();
    add("source files of the crates, without tests", sources.len().to_string());
    add("lines in them", lengths.iter().sum::<usize>().to_string());
    add("lines of a file, median", median(&mut lengths).to_string());
    add("lines of the longest file", lengths.last().copied().unwrap_or(0).to_string());
    let functions = sources.iter().filter_map(|source| metrics::lengths(&source.text).ok());
    let mut functions: Vec<usize> = functions.flatten().collect();
    add("functions", functions.len().to_string());
    add("lines of a function, median", median(&mut functions).to_string());
    let repeated = repeats::count(sources.iter().map(|source| source.text.as_str()));
    add("lines repeated in runs of 8", repeated.to_string());

    let cycles = tidy::largest_cycles(folder, &files);
    let of_core = cycles.iter().find(|(root, _)| root == "crates/core/src/");
    add("files of core in one cycle of imports", of_core.map_or(0, |it| it.1).to_string());
    let most = cycles.iter().max_by_key(|(_, files)| *files);
    add(
        "files of any crate in one cycle of imports",
        most.map_or(String::new(), |(root, files)| format!("{files} ({root})")),
    );

    let names = types::count(&sources);
    let types::Names { types, one_word, shared, sharing, shared_in_core, sharing_in_core } = names;
    add("types", types.to_string());
    add("names of one word among them", percent(one_word, types));
    add("names that several types have", format!("{shared}, of {sharing} types"));
    add("such names within core", format!("{shared_in_core}, of {sharing_in_core} types"));

    let summaries = files.iter().filter_map(|file| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        Some(tidy::count_summaries(file, &text))
    });
    let (all, weak) = summaries.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    add("doc comments of the crates", all.to_string());
    add("weak summaries among them", format!("{weak}, {}", percent(weak, all)));
    let documents = files.iter().filter(|file| file.ends_with(".rs") || file.ends_with(".md"));
    let texts = documents.filter(|file| !file.starts_with("xtask/src/house"));
    let texts = texts.filter_map(|file| std::fs::read_to_string(folder.join(file)).ok());
    let mut phrases = VAGUE.map(|phrase| (phrase, 0));
    for text in texts {
        let text = text.to_lowercase();
        for (phrase, count) in &mut phrases {
            *count += text.matches(*phrase).count();
        }
    }
    for (phrase, count) in phrases {
        add(&format!("\"{phrase}\" in sources and pages"), count.to_string());
    }
    if let Ok(names) = std::fs::read_to_string(folder.join("crates/orb/public-api.txt")) {
        let is_in_root = |line: &&str| is_in_root(line);
        add("names in the root of `oxorb`", names.lines().filter(is_in_root).count().to_string());
    }
    Ok(measures)
}

/// Reads the source files of the crates; what stands behind `#[cfg(test)] mod` is cut off.
fn sources(folder: &Path, files: &[String]) -> Vec<Source> {
    let is_code = |file: &&String| {
        let within = file.strip_prefix("crates/").and_then(|file| file.split_once("/src/"));
        let is_test = |within: &str| {
            let parts = within.trim_end_matches(".rs").split('/');
            parts.into_iter().any(|part| ["tests", "model", "fuzz", "sim"].contains(&part))
        };
        file.ends_with(".rs") && within.is_some_and(|(_, within)| !is_test(within))
    };
    let read = files.iter().filter(is_code).filter_map(|file| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        (!text.starts_with(concat!("// @", "generated")))
            .then(|| Source { file: file.clone(), text: without_tests(&text).to_owned() })
    });
    read.collect()
}

fn without_tests(text: &str) -> &str {
    let begins = ["\n#[cfg(test)]\nmod ", "\n#[cfg(all(test"];
    let cut = begins.iter().filter_map(|begin| text.find(begin)).min();
    // The line before ends where the tests begin.
    cut.map_or(text, |at| &text[..=at])
}

/// Reports whether a line of `crates/orb/public-api.txt` is about a name in the root of the crate.
fn is_in_root(line: &str) -> bool {
    let Some((kind, path)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(' ')) else {
        return false;
    };
    let Some(name) = path.strip_prefix("oxorb::") else {
        return false;
    };
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    kind.chars().all(|c| c.is_ascii_lowercase()) && !name[end..].starts_with("::")
}

/// Sorts the values, and returns the one in the middle.
fn median(values: &mut [usize]) -> usize {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_at_the_end_of_a_file_are_cut_off() {
        let text = "fn f() {}\n\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(without_tests(text), "fn f() {}\n\n");
        assert_eq!(without_tests("#[cfg(test)]\nfn g() {}\n"), "#[cfg(test)]\nfn g() {}\n");
    }

    #[test]
    fn only_names_in_the_root_count() {
        let lines = [
            "pub mod oxorb",
            "pub use oxorb::Any",
            "pub mod oxorb::poa",
            "pub use oxorb::poa::Poa",
        ];
        assert_eq!(lines.into_iter().filter(|line| is_in_root(line)).count(), 2);
        assert!(is_in_root("pub struct oxorb::Orb"));
        assert!(is_in_root("pub type oxorb::Result<T> = core::result::Result<T, E>"));
        assert!(!is_in_root("pub fn oxorb::Orb::args(&self) -> &[String]"));
    }

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(median(&mut [5, 1, 3]), 3);
        assert_eq!(median(&mut []), 0);
    }
}
