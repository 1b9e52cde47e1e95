//! Pages of `docs/roles`: each file shown is written, and each command shown succeeds on these files.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Folder, text};

const PAGES: [(&str, &str); 3] = [
    ("component-developer.md", include_str!("../../../../docs/roles/component-developer.md")),
    ("assembler.md", include_str!("../../../../docs/roles/assembler.md")),
    ("qosketeer.md", include_str!("../../../../docs/roles/qosketeer.md")),
];

/// Returns the code blocks of a page, with their language words.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), is_open) {
            (Some(word), false) => {
                found.push((word.to_owned(), String::new()));
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                if let Some((_, block)) = found.last_mut() {
                    block.push_str(line);
                    block.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    found
}

/// Runs a command line of a page in a folder.
fn run(line: &str, folder: &Path) {
    let words = line.split(' ').skip(1);
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(words).current_dir(folder).stdin(Stdio::null());
    let output = command.output().expect("the command starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{line}: {out}{err}");
}

#[test]
fn what_each_role_writes_is_good_and_its_commands_succeed() {
    let folder = Folder::new("roles");
    let (mut files, mut commands) = (0, 0);
    for (name, page) in PAGES {
        for (word, block) in blocks(page) {
            match word.as_str() {
                "idl" | "toml" => {
                    let first = block.lines().next().unwrap_or_default();
                    let file = first.trim_start_matches(['#', '/', ' ']);
                    assert!(
                        file.ends_with(&format!(".{word}")),
                        "{name}: a block says its file: {first}"
                    );
                    folder.file(file, &block);
                    files += 1;
                }
                "text" => {
                    for line in block.lines().filter(|line| line.starts_with("oxorb ")) {
                        run(line, &folder.0);
                        commands += 1;
                    }
                }
                // `tests/assembly` compiles this code.
                "rust" => {}
                other => panic!("{name}: {other:?} is tested by nobody"),
            }
        }
    }
    assert_eq!((files, commands), (4, 8));
}
