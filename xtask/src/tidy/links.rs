//! Check that links of pages point to existing files and headings.

use std::path::{Path, PathBuf};

use super::Finding;
use crate::pages::{beside, prose, targets};

/// Checks the links of one page that lead into the work tree.
pub(super) fn check(workspace: &Path, file: &str, text: &str) -> Vec<Finding> {
    if !file.ends_with(".md") {
        return Vec::new();
    }
    let read = |file: &Path| std::fs::read_to_string(workspace.join(file)).ok();
    let exists = |file: &Path| workspace.join(file).exists();
    let mut findings = Vec::new();
    for (number, line) in prose(text) {
        for target in targets(line) {
            if let Some(what) = broken(file, text, target, exists, read) {
                findings.push(Finding::error(file, number, what));
            }
        }
    }
    findings
}

/// Returns the reason if a link is broken.
fn broken(
    file: &str,
    text: &str,
    target: &str,
    exists: impl Fn(&Path) -> bool,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<String> {
    let (path, heading) = match target.split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (target, None),
    };
    let page = match path.is_empty() {
        true => PathBuf::from(file),
        false => beside(file, path),
    };
    if !path.is_empty() && !exists(&page) {
        return Some(format!("links to {target}, which is not there"));
    }
    let heading = heading.filter(|_| page.extension().is_some_and(|kind| kind == "md"))?;
    let page = match path.is_empty() {
        true => text.to_owned(),
        false => read(&page)?,
    };
    let mut headings = prose(&page).filter(|(_, line)| line.starts_with('#'));
    let found = headings.any(|(_, line)| anchor(line) == heading);
    (!found).then(|| format!("links to {target}, but that page has no such heading"))
}

/// Returns the anchor of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let exists =
            |file: &Path| ["docs/b.md", "docs", "a.rs"].iter().any(|it| file == Path::new(it));
        let read = |_: &Path| Some("# Other page\n```\n# No heading\n```\n".to_owned());
        prose(text)
            .flat_map(|(_, line)| targets(line))
            .filter_map(|target| broken("docs/a.md", text, target, exists, read))
            .collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Of `it`, all\n[b](b.md) [x](../a.rs) [d](../docs/) [h](b.md#other-page)\n\
                    [self](#of-it-all) [far](https://example.org/x)\n```\n[code](nowhere.md)\n```\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(
            found("[c](c.md) [h](b.md#no-heading) [s](#none)"),
            [
                "links to c.md, which is not there",
                "links to b.md#no-heading, but that page has no such heading",
                "links to #none, but that page has no such heading",
            ]
        );
    }
}
