//! Check that links of a built book point to existing pages and headings.
//!
//! `tidy` checks the links of the pages in `docs/`. mdBook gives pages and headings other names, so this module checks
//! them again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::pages::beside;

/// Pages that mdBook generates from all other pages. They repeat the links of these pages, relative to another folder.
const DERIVED: [&str; 3] = ["print.html", "toc.html", "404.html"];

/// Returns the broken links of the book in a folder.
pub(super) fn broken_links(book: &Path) -> Result<Vec<String>, String> {
    let pages = pages(book).map_err(|error| format!("{}: {error}", book.display()))?;
    Ok(broken_links_of(&pages, |file| book.join(file).exists()))
}

fn broken_links_of(pages: &[(PathBuf, String)], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let headings: BTreeMap<&Path, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path.as_path(), attributes(text, "id").collect()))
        .collect();
    let mut broken = BTreeSet::new();
    for (page, text) in pages {
        if DERIVED.iter().any(|derived| page == Path::new(derived)) {
            continue;
        }
        for link in attributes(text, "href").chain(attributes(text, "src")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => beside(&page.display().to_string(), path),
            };
            let is_found = match headings.get(target.as_path()) {
                Some(headings) => heading.is_empty() || headings.contains(heading),
                None => exists(&target),
            };
            if !is_outside(link) && !is_found {
                broken.insert(format!("{}: {link}", page.display()));
            }
        }
    }
    broken.into_iter().collect()
}

/// Returns the HTML files below a folder, by their paths from it.
fn pages(book: &Path) -> std::io::Result<Vec<(PathBuf, String)>> {
    let (mut pages, mut folders) = (Vec::new(), vec![book.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "html") {
                let name = path.strip_prefix(book).unwrap_or(&path).to_owned();
                pages.push((name, fs::read_to_string(&path)?));
            }
        }
    }
    Ok(pages)
}

/// Reports whether a link refers to a target outside the book: it begins with a scheme such as `https:` or `mailto:`.
fn is_outside(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_lowercase()))
}

/// Returns the values of an attribute in HTML as mdBook writes it.
fn attributes<'t>(html: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let before = format!(" {name}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&before)?;
        let (value, behind) = behind.split_once('"')?;
        rest = behind;
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let pages = [
            (
                "a.html",
                r##"<h1 id="top"><a href="deep/b.html#low"><a href="#top"><a href="https://x.org/#y">"##,
            ),
            (
                "deep/b.html",
                r#"<h2 id="low"><a href="../a.html#none"><img src="c.svg"><img src="d.svg">"#,
            ),
            ("print.html", r#"<a href="nowhere.html">"#),
        ];
        let pages = pages.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        let broken = broken_links_of(&pages, |file| file == Path::new("deep/c.svg"));
        assert_eq!(broken, ["deep/b.html: ../a.html#none", "deep/b.html: d.svg"]);
    }
}
