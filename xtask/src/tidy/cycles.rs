//! Size of import cycles: the largest set of files of a crate in which each file reaches every other by imports. A file
//! that uses a private trait also reaches the files that implement it.
//!
//! Budgets may only fall. A crate that is not listed may have cycles of at most [`FEW`] files.

mod imports;

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use imports::Imports;

/// Maximum number of files of the largest cycle, by the root of the crate.
const BUDGETS: [(&str, usize); 10] = [
    ("crates/cdr/src/", 22),
    ("crates/cli/src/", 8),
    ("crates/core/src/", 17),
    ("crates/giop/src/", 11),
    ("crates/notify/src/", 16),
    ("crates/orb/src/", 9),
    ("crates/poa/src/", 17),
    ("crates/rtscheduling/src/", 5),
    ("crates/transport/src/", 7),
    ("xtask/src/", 13),
];

/// Maximum number of files of a cycle in other crates.
const FEW: usize = 4;

/// Number of cuts in a finding.
const CUTS: usize = 5;

/// Checks every crate whose files are among `files`.
pub(super) fn check(workspace: &Path, files: &[String]) -> Vec<Finding> {
    let mut roots: Vec<&str> = files.iter().filter_map(|file| root(file)).collect();
    roots.sort_unstable();
    roots.dedup();
    let known = |root: &&(&str, usize)| !roots.contains(&root.0);
    let gone = BUDGETS.iter().filter(known).map(|(root, _)| {
        let what = format!("there is no {root}: its budget can go");
        Finding::error("xtask/src/tidy/cycles.rs", None, what)
    });
    let mut findings: Vec<Finding> = gone.collect();
    for root in &roots {
        let budget = BUDGETS.iter().find(|(of, _)| of == root);
        let budget = budget.map_or(FEW, |(_, most)| *most);
        findings.extend(check_crate(root, budget, &imports_of(workspace, root, files)));
    }
    findings
}

/// Returns the number of files of the largest cycle of each crate, by the root of the crate.
pub(crate) fn largest_cycles(workspace: &Path, files: &[String]) -> Vec<(String, usize)> {
    let roots: BTreeSet<&str> = files.iter().filter_map(|file| root(file)).collect();
    let measured = roots.into_iter().map(|root| {
        let imports = imports_of(workspace, root, files);
        (root.to_owned(), largest(&imports, &imports.all(), None).len())
    });
    measured.collect()
}

/// Reads the files of a crate that are code.
fn imports_of(workspace: &Path, root: &str, files: &[String]) -> Imports {
    let of_root = files.iter().filter_map(|file| {
        let name = file.strip_prefix(root).filter(|file| is_code(file))?;
        Some((name.to_owned(), std::fs::read_to_string(workspace.join(file)).ok()?))
    });
    Imports::of(of_root.collect())
}

fn check_crate(root: &str, budget: usize, imports: &Imports) -> Option<Finding> {
    let cycle = largest(imports, &imports.all(), None);
    if cycle.len() > budget {
        let names: Vec<&str> = cycle.iter().map(|&file| imports.name(file)).collect();
        let what = format!(
            "{} files import each other in one cycle, and may be {budget}: {}. Cut where least hangs on it: {}",
            cycle.len(),
            names.join(", "),
            cuts(imports, &cycle).join("; ")
        );
        return Some(Finding::error(root, None, what));
    }
    let less = cycle.len() < budget && budget > FEW;
    less.then(|| {
        let what = format!("the budget of its import cycle, {budget}, can fall to {}", cycle.len());
        Finding::warning(root, what)
    })
}

/// Returns the root of the crate that a file belongs to.
fn root(file: &str) -> Option<&str> {
    let at = file.find("src/")? + "src/".len();
    let crates = file.starts_with("crates/") || file.starts_with("xtask/");
    (crates && file.ends_with(".rs") && file[..at].matches('/').count() <= 3).then(|| &file[..at])
}

/// Reports whether a file within a crate is part of its library or program, and not compiled for tests alone.
fn is_code(within: &str) -> bool {
    let tests = ["tests.rs", "model.rs"]
        .iter()
        .any(|end| within == *end || within.ends_with(&format!("/{end}")));
    let apart = ["model/", "tests/", "bin/"]
        .iter()
        .any(|folder| within.starts_with(folder) || within.contains(&format!("/{folder}")));
    !tests && !apart
}

/// Returns the largest set of files within `among` in which each reaches every other, `without` one import.
fn largest(
    imports: &Imports,
    among: &BTreeSet<usize>,
    without: Option<(usize, usize)>,
) -> BTreeSet<usize> {
    let reach = |from: usize, back: bool| {
        let mut found = BTreeSet::from([from]);
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            for &other in among {
                let edge = if back { (other, file) } else { (file, other) };
                if Some(edge) != without && imports.leads(edge.0, edge.1) && found.insert(other) {
                    next.push(other);
                }
            }
        }
        found
    };
    let mut left = among.clone();
    let mut best = BTreeSet::new();
    while let Some(&file) = left.first() {
        let both = reach(file, false).intersection(&reach(file, true)).copied().collect();
        left = left.difference(&both).copied().collect();
        if both.len() > best.len() {
            best = both;
        }
    }
    best
}

/// Returns the imports of a cycle whose removal leaves the smallest remainder.
fn cuts(imports: &Imports, cycle: &BTreeSet<usize>) -> Vec<String> {
    let pairs = cycle.iter().flat_map(|&from| cycle.iter().map(move |&to| (from, to)));
    let edges = pairs.filter(|&(from, to)| imports.leads(from, to));
    let mut cuts: Vec<(usize, String)> = edges
        .map(|(from, to)| {
            let left = largest(imports, cycle, Some((from, to))).len();
            let names = imports.names(from, to).join(", ");
            let (from, to) = (imports.name(from), imports.name(to));
            (left, format!("{from} of {to} ({names}): {left} left"))
        })
        .collect();
    cuts.sort();
    cuts.truncate(CUTS);
    cuts.into_iter().map(|(_, cut)| cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Imports {
        let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        Imports::of(files.collect())
    }

    fn cycle(files: &[(&str, &str)]) -> Vec<String> {
        let imports = imports(files);
        let found = largest(&imports, &imports.all(), None);
        found.iter().map(|&file| imports.name(file).to_owned()).collect()
    }

    const RING: [(&str, &str); 4] = [
        ("a.rs", "use crate::b::B;\npub struct A;\n"),
        ("b.rs", "use crate::c::{self, C};\npub struct B;\n"),
        ("c.rs", "fn f() { crate::a::f() }\npub struct C;\n"),
        ("d.rs", "use crate::a::A;\n"),
    ];

    #[test]
    fn files_that_lead_to_each_other_are_one_cycle() {
        assert_eq!(cycle(&RING), ["a.rs", "b.rs", "c.rs"]);
        assert_eq!(cycle(&RING[..2]).len(), 1);
    }

    #[test]
    fn names_count_for_the_file_that_defines_them_whoever_shows_them() {
        let shown = [
            ("lib.rs", "mod m;\nmod user;\npub use m::Thing;\n"),
            ("m/mod.rs", "mod thing;\npub use thing::Thing;\n"),
            ("m/thing.rs", "use crate::user::Use;\npub struct Thing;\n"),
            ("user.rs", "use crate::Thing;\npub struct Use;\n"),
        ];
        assert_eq!(cycle(&shown), ["m/thing.rs", "user.rs"]);
    }

    /// A trait that only its users' layer knows, and its single implementation above.
    const SEAM: [(&str, &str); 3] = [
        ("low.rs", "use crate::seam::Host;\nfn f(host: &impl Host) { host.f() }\n"),
        ("seam.rs", "pub(crate) trait Host {\n    fn f(&self);\n}\n"),
        (
            "top.rs",
            "use crate::low;\nuse crate::seam::Host;\nimpl<T: Fn() -> u8> Host for Top<T> {\n}\n",
        ),
    ];

    #[test]
    fn users_of_a_private_trait_reach_its_implementation() {
        assert_eq!(cycle(&SEAM), ["low.rs", "top.rs"]);
        let public = SEAM.map(|(name, text)| (name, text.replace("pub(crate) trait", "pub trait")));
        let public = public.each_ref().map(|(name, text)| (*name, text.as_str()));
        assert_eq!(cycle(&public).len(), 1, "other crates may implement it");
        let imports = imports(&SEAM);
        assert!(!imports.leads(1, 2), "the definition alone calls nobody");
        assert_eq!(imports.names(0, 2), ["Host"]);
    }

    #[test]
    fn a_file_that_uses_its_own_trait_reaches_the_implementations() {
        let own = [
            ("a.rs", "pub(super) trait Ends {\n}\nstruct All<T: Ends>(T);\n"),
            ("b.rs", "impl super::a::Ends for B {\n}\n"),
        ];
        assert_eq!(cycle(&own), ["a.rs", "b.rs"]);
        let local = [("a.rs", "trait T {\n}\nimpl T for A {\n}\n"), ("b.rs", "impl A {\n}\n")];
        assert_eq!(cycle(&local).len(), 1);
    }

    #[test]
    fn tests_and_comments_import_nothing() {
        let text = "// use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n";
        assert_eq!(cycle(&[("a.rs", text), ("b.rs", "use crate::a::A;\n")]).len(), 1);
        assert!(
            !is_code("client/model.rs") && !is_code("options/tests.rs") && is_code("orb/mod.rs")
        );
    }

    #[test]
    fn more_than_the_budget_is_an_error_that_says_where_to_cut() {
        let found = check_crate("crates/x/src/", 2, &imports(&RING)).unwrap();
        assert!(found.is_error && found.what.starts_with("3 files import each other"), "{found}");
        assert!(found.what.contains("a.rs of b.rs (B): 1 left"), "{found}");
        assert!(!check_crate("crates/x/src/", 9, &imports(&RING)).unwrap().is_error);
        assert_eq!(check_crate("crates/x/src/", 3, &imports(&RING)), None);
    }

    #[test]
    fn budgets_of_crates_that_are_gone_are_found() {
        assert_eq!(check(Path::new("/nowhere"), &[]).len(), BUDGETS.len());
        assert_eq!(root("crates/core/src/client/mod.rs"), Some("crates/core/src/"));
        assert_eq!(root("xtask/src/tidy.rs"), Some("xtask/src/"));
        assert_eq!(root("crates/core/tests/calls.rs"), None);
    }
}
