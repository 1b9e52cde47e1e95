//! `cargo xtask book`: the pages of `docs/` as a book, by mdBook.
//!
//! Their links lead anywhere in the repository. Those that lead out of `docs/` are changed on the way, by a preprocessor that
//! mdBook calls: it hands over the book as JSON and takes it back so.

use std::io::{Read as _, stdin};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tidy::links::{beside, prose, targets};
use crate::workspace;

/// Address under which readers of the book find the rest of the repository.
const REPOSITORY: &str = "https://github.com/oxorb/oxorb/blob/main";

/// Builds the book in `target/book`.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    if !args.is_empty() {
        return Err("Usage: cargo xtask book\n\nNeeds mdBook: cargo install mdbook".to_owned());
    }
    let mut command = Command::new("mdbook");
    let built = command.args(["build", "docs"]).current_dir(workspace::folder()).status();
    match built {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("mdbook: {status}")),
        Err(error) => Err(format!("mdbook: {error} (cargo install mdbook)")),
    }
}

/// The preprocessor: changes the book on standard input.
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

/// Changes all chapters in this part of a book.
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

/// Returns a page with links out of `docs/` that lead to the repository.
fn outside(page: &str, text: &str) -> String {
    let mut changed: Vec<String> = text.lines().map(str::to_owned).collect();
    for (number, line) in prose(text) {
        for target in targets(line) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let whole = beside(page, path);
            if path.is_empty() || whole.starts_with("docs") {
                continue;
            }
            let url = match heading {
                "" => url(&whole),
                heading => format!("{}#{heading}", url(&whole)),
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
        let text = "[a](../README.md#start) [b](poa.md) [c](#here) [d](../../x) [e](../docs/y.md)\n\
                    ```\n[f](../z)\n```\n";
        let mut book = json!({ "items": [{ "Chapter": {
            "path": "design/p.md", "content": text, "sub_items": [],
        }}]});
        change(&mut book);
        let changed = book["items"][0]["Chapter"]["content"].as_str().unwrap();
        assert_eq!(
            changed,
            "[a](../README.md#start) [b](poa.md) [c](#here) \
             [d](https://github.com/oxorb/oxorb/blob/main/x) [e](../docs/y.md)\n```\n[f](../z)\n```\n"
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
