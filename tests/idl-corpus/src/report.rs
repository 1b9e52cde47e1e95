//! Final report.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use crate::generate::Outcome;
use crate::sources::Source;

/// Counts and complaints.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    /// Pairs of interfaces or files that were compared, with the numbers of differences.
    pub(crate) compared: Vec<String>,
    pub(crate) complaints: Vec<String>,
    /// Whether the Rust was compiled.
    pub(crate) checked: bool,
}

struct Row {
    name: &'static str,
    title: &'static str,
    files: usize,
    generated: usize,
    refused: usize,
    lines: usize,
    broken: usize,
}

impl Report {
    pub(crate) fn source(&mut self, source: &Source, outcomes: &[Outcome]) {
        let mut row = Row {
            name: source.name,
            title: source.title,
            files: outcomes.len(),
            generated: 0,
            refused: 0,
            lines: 0,
            broken: 0,
        };
        for outcome in outcomes {
            match outcome {
                Outcome::Rust { lines, .. } => {
                    row.generated += 1;
                    row.lines += lines;
                }
                Outcome::Refused { .. } => row.refused += 1,
            }
        }
        self.rows.push(row);
    }

    pub(crate) fn complain(&mut self, what: String) {
        self.complaints.push(what);
    }

    /// Adds a file whose Rust does not compile; `file` is relative to the workspace of the crates.
    pub(crate) fn not_compiled(&mut self, file: &Path, _module: &str) {
        let source = file.components().next();
        let row = self
            .rows
            .iter_mut()
            .find(|row| source.is_some_and(|source| source.as_os_str() == row.name));
        if let Some(row) = row {
            row.broken += 1;
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for complaint in &self.complaints {
            let _ = writeln!(text, "error: {}\n", complaint.trim_end());
        }
        for row in &self.rows {
            let compiled = match self.checked {
                true => format!(", {} compile", row.generated - row.broken.min(row.generated)),
                false => String::new(),
            };
            let _ = writeln!(
                text,
                "{:40} {:3} files, {:3} generated{compiled}, {} refused as listed; {} lines of Rust",
                row.title, row.files, row.generated, row.refused, row.lines
            );
        }
        for line in &self.compared {
            let _ = writeln!(text, "{line}");
        }
        let _ = match self.complaints.len() {
            0 => writeln!(text, "everything is in order"),
            count => writeln!(text, "{count} complaints"),
        };
        text
    }

    pub(crate) fn json(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            json!({
                "source": row.name,
                "title": row.title,
                "files": row.files,
                "generated": row.generated,
                "refused": row.refused,
                "compiled": self.checked.then(|| row.generated - row.broken.min(row.generated)),
                "lines": row.lines,
            })
        });
        let value = json!({
            "sources": rows.collect::<Vec<_>>(),
            "compared": self.compared,
            "complaints": self.complaints,
        });
        serde_json::to_string_pretty(&value).expect("a tree of strings and numbers")
    }
}
