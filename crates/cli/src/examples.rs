//! Tests that each example in a help text or a page is a valid command.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser as _};

use crate::Cli;

#[test]
fn examples_of_help_texts_are_commands() {
    let mut texts = Vec::new();
    help_texts(&Cli::command(), &mut texts);
    let mut checked = Checked::default();
    for (of, text) in &texts {
        text.replace("\\\n", " ").lines().for_each(|line| checked.line(of, line));
    }
    checked.end(100);
}

#[test]
fn examples_of_pages_are_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    markdown(&root.join("docs"), &mut pages);
    let mut checked = Checked::default();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap().replace("\\\n", " ");
        // Splitting at fences yields text outside and inside of code blocks in alternation.
        for block in text.split("\n```").skip(1).step_by(2) {
            let mut lines = block.lines();
            if lines.next() == Some("sh") {
                lines.for_each(|line| checked.line(&page.display().to_string(), line));
            }
        }
    }
    checked.end(20);
}

/// Collects the text after the options in the help of a command and all its subcommands.
fn help_texts(command: &clap::Command, texts: &mut Vec<(String, String)>) {
    let parts = [command.get_after_help(), command.get_after_long_help()];
    let told =
        parts.into_iter().flatten().map(|text| (command.get_name().to_owned(), text.to_string()));
    texts.extend(told);
    command.get_subcommands().for_each(|below| help_texts(below, texts));
}

fn markdown(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => markdown(&path, pages),
            false if path.extension().is_some_and(|it| it == "md") => pages.push(path),
            false => {}
        }
    }
}

/// Number of examples checked.
#[derive(Default)]
struct Checked {
    commands: usize,
    wrong: Vec<String>,
}

impl Checked {
    /// Checks a line, if it contains `oxorb` commands.
    fn line(&mut self, of: &str, line: &str) {
        let line = line.trim_start().trim_start_matches("$ ");
        if !line.contains("oxorb ") {
            return;
        }
        let Some(words) = shlex::split(line) else {
            // A line of prose may contain a single apostrophe, so only lines that begin with the command are wrong.
            if line.starts_with("oxorb ") {
                self.wrong.push(format!("{of}: {line}\na quotation mark is not closed"));
            }
            return;
        };
        for command in words.split(|word| matches!(word.as_str(), "|" | "&&" | "&")) {
            if command.first().is_some_and(|name| name == "oxorb") {
                self.command(of, command);
            }
        }
    }

    fn command(&mut self, of: &str, words: &[String]) {
        // The command ends at a redirection, or at a remark in parentheses.
        let ends = |word: &&String| !matches!(word.as_str(), ">" | "<") && !word.starts_with('(');
        let words: Vec<String> = words.iter().take_while(ends).cloned().collect();
        self.commands += 1;
        let taken =
            oxorb_terminal::orb::take_args(words.iter().map(OsString::from)).and_then(|rest| {
                Cli::try_parse_from(rest).map(drop).map_err(|error| error.to_string())
            });
        if let Err(why) = taken {
            self.wrong.push(format!("{of}: {}\n{why}", words.join(" ")));
        }
    }

    fn end(self, least: usize) {
        assert!(
            self.wrong.is_empty(),
            "{} of {}:\n{}",
            self.wrong.len(),
            self.commands,
            self.wrong.join("\n")
        );
        assert!(self.commands >= least, "{} examples are left", self.commands);
    }
}
