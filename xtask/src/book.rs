//! `cargo xtask book`: builds the pages of `docs/` as a book, with mdBook.
//!
//! Links of the pages may refer to any file of the repository. A preprocessor, called by mdBook, rewrites links to
//! files outside `docs/`: it reads the book as JSON and writes it back.

mod built;

use std::io::{Read as _, stdin};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::pages::{beside, prose, targets};
use crate::workspace;

/// Address of the rest of the repository for readers of the book.
const REPOSITORY: &str = "https://github.com/oxorb/oxorb/blob/main";

/// Builds the book in `target/book`; fails if one of its links is broken.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("Usage: cargo xtask book\n\nNeeds mdBook: cargo install mdbook".to_owned());
    }
    let folder = workspace::folder();
    let mut command = Command::new("mdbook");
    match command.args(["build", "docs"]).current_dir(&folder).status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("mdbook: {status}")),
        Err(error) => return Err(format!("mdbook: {error} (cargo install mdbook)")),
    }
    match &built::broken_links(&folder.join("target/book"))?[..] {
        [] => Ok(()),
        broken => Err(format!("links that lead nowhere:\n{}", broken.join("\n"))),
    }
}

/// Runs the preprocessor: rewrites the book on standard input.
pub(crate) fn preprocess(args: &[String]) -> Result<(), String> {
    if args.first().is_some_and(|asked| asked == "supports") {
        return Ok(());
    }
    let mut input = String::new();
    stdin().read_to_string(&mut input).map_err(|error| error.to_string())?;
    let both: Vec<Value> = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    let [_, mut book] =
        <[Value; 2]>::try_from(both).map_err(|_| "expected a context and a book")?;
    change(&mut book);
    println!("{book}");
    Ok(())
}

/// Rewrites all chapters in this part of a book.
fn change(part: &mut Value) {
    match part {
        Value::Array(parts) => parts.iter_mut().for_each(change),
        Value::Object(members) => {
            let path =
                members.get("path").and_then(Value::as_str).map(|path| format!("docs/{path}"));
            if let (Some(path), Some(Value::String(content))) = (path, members.get_mut("content")) {
                *content = outside(&path, content);
            }
            members.values_mut().for_each(change);
        }
        _ => {}
    }
}

/// Returns a page whose links out of `docs/` point to the repository, and whose links to a README point to an index.
fn outside(page: &str, text: &str) -> String {
    let mut changed: Vec<String> = text.lines().map(str::to_owned).collect();
    for (number, line) in prose(text) {
        for target in targets(line) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let whole = beside(page, path);
            let in_book = whole.starts_with("docs");
            if path.is_empty() || in_book && !whole.ends_with("README.md") {
                continue;
            }
            let url = match in_book {
                // mdBook turns the README of a folder into its index.
                true => path.replace("README.md", "index.md"),
                false => url(&whole),
            };
            let url = match heading {
                "" => url,
                heading => format!("{url}#{heading}"),
            };
            let line = &mut changed[number - 1];
            *line = line.replace(&format!("]({target})"), &format!("]({url})"));
        }
    }
    changed.join("\n") + "\n"
}

fn url(path: &Path) -> String {
    format!("{REPOSITORY}/{}", path.display())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn links_out_of_the_book_lead_to_the_repository() {
        let text = "[a](../../README.md#start) [b](poa.md) [c](#here) [d](../../x) [e](../docs/y.md)\n\
                    [g](../coming-from/README.md#h)\n```\n[f](../z)\n```\n";
        let mut book = json!({ "items": [{ "Chapter": {
            "path": "design/p.md", "content": text, "sub_items": [],
        }}]});
        change(&mut book);
        let changed = book["items"][0]["Chapter"]["content"].as_str().unwrap();
        assert_eq!(
            changed,
            "[a](https://github.com/oxorb/oxorb/blob/main/README.md#start) [b](poa.md) [c](#here) \
             [d](https://github.com/oxorb/oxorb/blob/main/x) [e](../docs/y.md)\n\
             [g](../coming-from/index.md#h)\n```\n[f](../z)\n```\n"
        );
    }

    #[test]
    fn each_page_of_the_folder_is_in_the_book() {
        let docs = workspace::folder().join("docs");
        let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
        let listed: Vec<&str> = summary.lines().flat_map(targets).collect();
        let mut folders = vec![docs.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let page = path.strip_prefix(&docs).unwrap().display().to_string();
                let is_page = page.ends_with(".md") && page != "SUMMARY.md";
                assert!(!is_page || listed.contains(&&*page), "{page} is not in docs/SUMMARY.md");
            }
        }
    }
}
