//! Permitted references inside `crates/core`. The client half and the server half never name each other, and lower
//! parts never name higher parts.
//!
//! ```text
//! orb                       puts the halves together
//! client | server           neither names the other
//! conn                      what both share
//! policy, options, threads  below all
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use super::{Finding, code};

/// Root of the crate, relative to the workspace.
const ROOT: &str = "crates/core/src/";

/// Page that justifies each exception.
const PAGE: &str = "ARCHITECTURE.md";

/// Folder of the crate, and the parts of the crate that its files must not name.
struct Part {
    folder: &'static str,
    never: &'static [&'static str],
}

const PARTS: [Part; 6] = [
    Part { folder: "client/", never: &["server", "orb"] },
    Part { folder: "server/", never: &["client", "orb"] },
    Part { folder: "conn/", never: &["client", "server", "orb"] },
    Part { folder: "policy/", never: &["client", "server", "conn", "orb"] },
    Part { folder: "options/", never: &["client", "server", "conn", "orb"] },
    Part { folder: "threads/", never: &["client", "server", "conn", "orb"] },
];

/// Names that the files of a folder may use nevertheless: at most ten, each justified on [`PAGE`].
const EXCEPTIONS: [(&str, &str); 2] = [("client/", "Orb"), ("server/", "Orb")];

/// Parameter that takes the whole ORB, and the maximum number of lines with this parameter, which may only fall. Most
/// functions need a part of the ORB.
const WHOLE: &str = "orb: &Orb";
const WHOLES: usize = 30;

/// Folder in which lines with this parameter are not counted: the threads that serve requests pass the ORB on to the
/// upcall. What they work on, the state of the server half, takes no ORB, and the check of import cycles keeps it below
/// these threads.
const THREADS: &str = "server/";

/// Checks all files of the crate, the number of functions that take the whole ORB, and that each exception is needed
/// and explained.
pub(super) fn check(workspace: &Path, files: &[String]) -> Vec<Finding> {
    let read = |file: &str| std::fs::read_to_string(workspace.join(file)).unwrap_or_default();
    let exported = exported(&read(&format!("{ROOT}lib.rs")));
    let mut used = Vec::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.starts_with(ROOT)) {
        findings.extend(check_file(file, &read(file), &exported, &mut used));
    }
    let counted =
        |file: &&String| file.strip_prefix(ROOT).is_some_and(|within| !within.starts_with(THREADS));
    let counted = files.iter().filter(counted);
    findings.extend(check_wholes(counted.map(|file| wholes(&read(file))).sum()));
    let page = read(PAGE);
    for (place, name) in EXCEPTIONS {
        let explained = |line: &str| {
            line.starts_with(&format!("| `{place}`")) && line.contains(&format!("`{name}`"))
        };
        if !page.lines().any(explained) {
            let what = format!("no row says why `{place}` may name `{name}`: {ROOT} forbids it");
            findings.push(Finding::error(PAGE, None, what));
        }
        if !used.contains(&(place, name)) {
            let what = format!("`{place}` names `{name}` no more: the exception can go");
            findings.push(Finding::error("xtask/src/tidy/sides.rs", None, what));
        }
    }
    findings
}

/// Checks one file. `exported`: origins of the names in the crate's root. `used`: collects the exceptions that the file
/// needs.
fn check_file(
    file: &str,
    text: &str,
    exported: &BTreeMap<String, String>,
    used: &mut Vec<(&'static str, &'static str)>,
) -> Vec<Finding> {
    let within = file.strip_prefix(ROOT).unwrap_or(file);
    let part = PARTS.iter().find(|part| within.starts_with(part.folder));
    let Some(part) = part.filter(|_| !is_test(within)) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (line, name) in names(within, text) {
        let from = exported.get(&name).unwrap_or(&name);
        if !part.never.contains(&from.as_str()) {
            continue;
        }
        let exception = EXCEPTIONS
            .iter()
            .find(|(place, excepted)| within.starts_with(place) && *excepted == name);
        match exception {
            Some(exception) => used.push(*exception),
            None => {
                let of = match *from == name {
                    true => String::new(),
                    false => format!(" of `{from}`"),
                };
                let what = format!(
                    "files of `{}` must not name `{name}`{of}: see \"Directions inside core\" in {PAGE}",
                    part.folder
                );
                findings.push(Finding::error(file, line, what));
            }
        }
    }
    findings
}

/// Returns the number of lines whose code takes the whole ORB.
fn wholes(text: &str) -> usize {
    text.lines().filter(|line| code(line).contains(WHOLE)).count()
}

fn check_wholes(lines: usize) -> Option<Finding> {
    let what = format!(
        "{lines} lines outside of `{THREADS}` have `{WHOLE}`, and may be {WHOLES}: take `&Shared`, `&Options` or what is \
         needed of a half"
    );
    (lines > WHOLES).then(|| Finding::error(ROOT, None, what))
}

/// Reports whether a file is compiled for tests alone.
fn is_test(within: &str) -> bool {
    within.ends_with("/tests.rs") || within.ends_with("/model.rs")
}

/// Returns the names of the crate's root that a file uses, each with its line, except those in its tests.
fn names(within: &str, text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().map(code);
    let lines = lines.take_while(|line| !line.starts_with("#[cfg(test)]"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    // As many `super::` as lead from the file's module to the root.
    let depth = within.matches('/').count() + usize::from(!within.ends_with("/mod.rs"));
    let mut found = Vec::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in text.match_indices(&root) {
            let inside = text[..at].ends_with(|before: char| before.is_alphanumeric())
                || text[..at].ends_with("::");
            if !inside {
                let line = text[..at].matches('\n').count() + 1;
                let of = firsts(&text[at + root.len()..]);
                found.extend(of.into_iter().map(|name| (line, name)));
            }
        }
    }
    found
}

/// Returns the first names after a path: `a` and `c` for `{a::b, c}`.
fn firsts(rest: &str) -> Vec<String> {
    let word = |text: &str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let Some(group) = rest.strip_prefix('{') else {
        return vec![word(rest)];
    };
    let (mut depth, mut start) = (0, 0);
    let mut found = Vec::new();
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(word(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// Returns the part that defines each name exported by the root of the crate.
fn exported(root: &str) -> BTreeMap<String, String> {
    let text: String = root.lines().map(code).collect();
    let uses = text.split("pub use ").skip(1);
    let uses = uses.filter_map(|used| used.split_once(';')?.0.split_once("::"));
    let names = uses
        .flat_map(|(part, of)| firsts(of).into_iter().map(|name| (name, part.trim().to_owned())));
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str =
        "pub use orb::{Orb, WeakOrb};\npub use server::{\n    Lane, // one\n    Pool,\n};\n";

    fn found(file: &str, text: &str) -> Vec<String> {
        let file = format!("{ROOT}{file}");
        let found = check_file(&file, text, &exported(LIB), &mut Vec::new());
        let found = found.iter().map(Finding::to_string);
        found.map(|it| it.replace(&format!("error: {ROOT}"), "")).collect()
    }

    #[test]
    fn halves_that_name_each_other_are_found() {
        let told = found("client/call.rs", "\nuse crate::server::Sink;\n");
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("client/call.rs:2: files of `client/` must not name `server`"));
        assert_eq!(found("server/sink.rs", "fn f() { crate::client::g() }").len(), 1);
        assert_eq!(found("server/a/mod.rs", "use super::super::client::X;").len(), 1);
        assert_eq!(found("client/call.rs", "use super::server::X;"), [] as [String; 0]);
        assert_eq!(found("client/call.rs", "use super::super::server::X;").len(), 1);
    }

    #[test]
    fn names_that_the_root_shows_are_known_by_where_they_come_from() {
        let told = found("client/call.rs", "use crate::{\n    raise,\n    Pool,\n};\n");
        assert!(told[0].contains("`Pool` of `server`"), "{told:?}");
        assert_eq!(found("conn/turn.rs", "use crate::{Orb, raise};").len(), 1);
        assert_eq!(found("threads/rt/current.rs", "use crate::{raise, Lane};").len(), 1);
    }

    #[test]
    fn what_lies_below_may_be_named_and_tests_may_name_all() {
        for text in [
            "use crate::conn::{Turn, write_message};",
            "use crate::{Ref, raise};",
            "// crate::server::Sink",
            "#[cfg(test)]\nmod tests { use crate::server::Sink; }",
        ] {
            assert_eq!(found("client/call.rs", text), [] as [String; 0], "{text}");
        }
        assert_eq!(found("client/model.rs", "use crate::server::X;"), [] as [String; 0]);
    }

    #[test]
    fn an_exception_holds_for_its_place_alone_and_is_noted() {
        let (exported, mut used) = (exported(LIB), Vec::new());
        let file = format!("{ROOT}client/call.rs");
        let told = check_file(&file, "use crate::Orb;", &exported, &mut used);
        assert_eq!((told, used), (vec![], vec![("client/", "Orb")]));
        assert_eq!(found("conn/turn.rs", "use crate::Orb;").len(), 1);
        assert_eq!(found("policy/set.rs", "use crate::Orb;").len(), 1);
    }

    #[test]
    fn more_functions_that_take_the_whole_orb_are_found() {
        assert_eq!(wholes("fn f(orb: &Orb) {}\n// orb: &Orb\nfn g(orb: &impl Host) {}\n"), 1);
        assert_eq!(check_wholes(WHOLES), None);
        assert!(check_wholes(WHOLES + 1).is_some_and(|found| found.is_error));
    }

    #[test]
    fn exceptions_that_nobody_needs_or_explains_are_found() {
        let told = check(Path::new("/nowhere"), &[]);
        assert_eq!(told.len(), 2 * EXCEPTIONS.len());
        assert!(EXCEPTIONS.len() <= 10);
    }
}
