//! `cargo xtask metrics`: lines, functions and cyclomatic complexity of each task of the ORB (E12), compared with Table
//! 3 of "Patterns and Performance of Real-time Object Request Brokers".

mod complexity;
mod lines;
mod report;
mod tasks;

use std::path::{Path, PathBuf};

use complexity::Function;
use report::Report;

const USAGE: &str = "Usage: cargo xtask metrics [--format table|json] [--write]\n\n  \
    Counts lines, functions and cyclomatic complexity of each task of the ORB.\n\n  \
    --format  table (the default) or json, on standard output\n  \
    --write   writes docs/experiments/metrics.md";

/// Page written by `--write`.
const PAGE: &str = "docs/experiments/metrics.md";

/// Counts, prints, and writes the page if requested.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let (mut json, mut write) = (false, false);
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--write" => write = true,
            "--format" => {
                json = match args.next() {
                    Some("table") => false,
                    Some("json") => true,
                    _ => return Err(USAGE.to_owned()),
                }
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    let workspace = crate::workspace::folder();
    let report = measure(&workspace)?;
    match json {
        true => println!("{}", report.json()),
        false => print!("{report}"),
    }
    if write {
        let page = workspace.join(PAGE);
        std::fs::write(&page, report.page())
            .map_err(|error| format!("cannot write {}: {error}", page.display()))?;
        eprintln!("written {PAGE}");
    }
    Ok(())
}

/// Measures every source file of the crates that belongs to a task.
fn measure(workspace: &Path) -> Result<Report, String> {
    let mut report = Report::default();
    let crates = workspace.join("crates");
    for file in sources(&crates)? {
        let name = name(&crates, &file);
        let Some(task) = tasks::of(&name) else {
            continue;
        };
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let functions = functions(&text).map_err(|error| format!("{name}: {error}"))?;
        report.add(task, &name, functions);
    }
    Ok(report)
}

/// Returns the path of a source file below the folder of crates, with slashes.
fn name(crates: &Path, file: &Path) -> String {
    let name = file.strip_prefix(crates).expect("the file was found in this folder");
    name.to_string_lossy().replace('\\', "/")
}

/// Returns the number of lines of each function of a file, without tests and comments.
pub(crate) fn lengths(text: &str) -> Result<Vec<usize>, String> {
    Ok(functions(text)?.iter().map(|function| function.lines).collect())
}

fn functions(text: &str) -> Result<Vec<Function>, String> {
    let file = syn::parse_file(text).map_err(|error| error.to_string())?;
    Ok(complexity::functions(&file, text))
}

/// Returns the source files below a folder, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_task_has_files() {
        let crates = crate::workspace::folder().join("crates");
        let names = sources(&crates).unwrap().into_iter().map(|file| name(&crates, &file));
        assert_eq!(tasks::stale(&names.collect::<Vec<_>>()), Vec::<&str>::new());
    }

    #[test]
    fn every_task_has_functions_and_the_page_has_every_task() {
        let workspace = crate::workspace::folder();
        let report = measure(&workspace).unwrap();
        let page = std::fs::read_to_string(workspace.join(PAGE)).unwrap();
        for task in tasks::TASKS {
            assert!(report.count(task.name) > 0, "nothing is {}", task.name);
            assert!(page.contains(task.name), "{PAGE} lacks {}: write it anew", task.name);
        }
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(json["tasks"].as_array().unwrap().len(), tasks::TASKS.len());
    }
}
