//! Table of sizes, and the page that contains it and its history.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::Row;

/// Beginning of the part of the page that `--write` replaces.
const BEGIN: &str = "<!-- sizes: cargo xtask size --write -->\n";

/// End of that part.
const END: &str = "<!-- end of sizes -->\n";

/// Heading of the history, to which each `--write` adds a line.
const HISTORY: &str = "## History\n";

/// Returns the table of the programs.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| build | program | file, KiB | resident, KiB | own, KiB | threads | a connection, octets |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    let number =
        |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {} | {} | {} |",
            row.build,
            row.program,
            row.octets.div_ceil(1024),
            number(row.memory.map(|memory| memory.resident)),
            number(row.memory.map(|memory| memory.own)),
            number(row.memory.map(|memory| memory.threads)),
            number(row.per_connection),
        );
    }
    text
}

/// Returns the table of the libraries of other ORBs.
pub(super) fn libraries(libraries: &[(String, u64)]) -> String {
    let mut text = String::from("\n| library | file, KiB |\n|---|---:|\n");
    for (library, octets) in libraries {
        let _ = writeln!(text, "| `{library}` | {} |", octets.div_ceil(1024));
    }
    text
}

/// Writes the tables to the page, and a line to its history.
pub(super) fn write(path: &Path, rows: &[Row], of_others: &[(String, u64)]) -> Result<(), String> {
    let page = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let page = renewed(&page, rows, of_others, &last_commit()?)
        .ok_or_else(|| format!("{} has lost its marks or its history", path.display()))?;
    std::fs::write(path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn renewed(page: &str, rows: &[Row], of_others: &[(String, u64)], commit: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    after.contains(HISTORY).then_some(())?;
    let mut page = format!(
        "{before}{BEGIN}{}{}{END}{}\n",
        table(rows),
        libraries(of_others),
        after.trim_end()
    );
    let size = |program: &str| {
        let row = rows.iter().find(|row| row.program == program && row.build.starts_with("small"));
        // The last of several builds is the smallest.
        let row = row.and_then(|_| rows.iter().rfind(|row| row.program == program));
        row.map_or_else(|| "-".to_owned(), |row| row.octets.div_ceil(1024).to_string())
    };
    let of = ["smallest-client", "smallest-server", "smallest-rt-server", "oxorb"].map(size);
    let _ = writeln!(page, "| {commit} | {} |", of.join(" | "));
    Some(page)
}

/// Returns date and number of the last commit.
fn last_commit() -> Result<String, String> {
    let run = Command::new("git").args(["log", "-1", "--format=%cs %h"]).output();
    let run = run.map_err(|error| format!("cannot run git: {error}"))?;
    match run.status.success() {
        true => Ok(String::from_utf8_lossy(&run.stdout).trim().to_owned()),
        false => Err("git does not know the last commit, which the history names".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_words_and_its_history() {
        let row = |build: &str, octets| Row {
            build: build.to_owned(),
            program: "oxorb",
            octets,
            memory: None,
            per_connection: None,
        };
        let rows = [row("release", 4096), row("small", 2048)];
        let page = format!("# A\n\n{BEGIN}old\n{END}\nWords.\n\n{HISTORY}\n| first |\n");
        let page = renewed(&page, &rows, &[], "today").unwrap();
        assert!(!page.contains("old"));
        assert!(page.contains("| small | `oxorb` | 2 | - | - | - | - |"), "{page}");
        assert!(
            page.ends_with("Words.\n\n## History\n\n| first |\n| today | - | - | - | 2 |\n"),
            "{page}"
        );
        assert_eq!(renewed("no marks", &rows, &[], "today"), None);
    }
}
