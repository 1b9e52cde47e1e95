//! Pages of Markdown, and their links.

use std::path::{Component, Path, PathBuf};

/// Returns the lines outside of code blocks, with their numbers from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        (!fence && !in_code).then_some((at + 1, line))
    })
}

/// Returns the targets of the links in a line that lead into the work tree.
pub(crate) fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1);
    let targets = links.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.contains(' '))
}

/// Returns the path of a link from a page, relative to the root of the work tree.
pub(crate) fn beside(file: &str, path: &str) -> PathBuf {
    let mut whole = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}
