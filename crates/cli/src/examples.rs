//! Tests that each example in a help text or a page is a valid command, and that clap can wrap help texts.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser as _};

use crate::Cli;

#[test]
fn examples_of_help_texts_are_commands() {
    let mut checked = Checked::default();
    walk(&Cli::command(), "oxorb", &mut |path, command| {
        let parts = [command.get_after_help(), command.get_after_long_help()];
        for text in parts.into_iter().flatten() {
            let text = text.to_string().replace("\\\n", " ");
            text.lines().for_each(|line| checked.line(path, line));
        }
    });
    checked.end(100);
}

/// clap wraps each line of a help text to the width of the terminal, so a paragraph must be one line. Examples and
/// lists are indented, and must fit in the greatest width (`max_term_width`).
#[test]
fn help_texts_leave_wrapping_to_clap() {
    let mut commands = 0;
    let mut wrong = Vec::new();
    walk(&Cli::command(), "oxorb", &mut |path, command| {
        commands += 1;
        let own = [
            command.get_about(),
            command.get_long_about(),
            command.get_before_help(),
            command.get_before_long_help(),
            command.get_after_help(),
            command.get_after_long_help(),
        ];
        let of_arguments =
            command.get_arguments().flat_map(|it| [it.get_help(), it.get_long_help()]);
        for text in own.into_iter().chain(of_arguments).flatten() {
            badly_broken(&text.to_string(), |line, why| {
                wrong.push(format!("{path}: {why}:\n{line}"));
            });
        }
    });
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
    assert!(commands >= 50, "{commands} commands are left");
}

#[test]
fn badly_broken_lines_are_found() {
    let found = |text: &str| {
        let mut lines = Vec::new();
        badly_broken(text, |line, _| lines.push(line.to_owned()));
        lines
    };
    let wide = format!("  {}", "x".repeat(97));
    assert_eq!(found("One\ntwo\nthree.\n\nFour"), ["One", "two"]);
    assert_eq!(found(&format!("Example:\n{wide}\n  ls")), [wide.as_str()]);
    let good = format!("{}\n\nExamples:\n{}\n  ls \\\n    -l\n\nEnd.", "x".repeat(200), &wide[1..]);
    assert!(found(&good).is_empty());
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

/// Scripts contain the names that options had in earlier versions. They are accepted, but not shown.
#[test]
fn former_names_are_accepted_and_hidden() {
    for (line, hidden) in [
        ("sched admitted --at corbaloc::host:5000", "--at"),
        ("sched admit client 10.0.0.7 --share --at corbaloc::host:5000", "--at"),
        ("sched list --ref corbaloc::host:5000/ScheduleService", "--ref"),
        ("sched calibrate set.toml --seconds 2.5 -- ./server", "--seconds"),
        ("event gateway udp --channel file:ec.ior --receive 239.255.0.1:10001", "--channel"),
        ("ifr ls --ifr corbaloc::host:2810/InterfaceRepository", "--ifr"),
        ("doctor --measure --seconds 30", "--seconds"),
        ("cert new --days 30", "--days"),
        ("demo --seconds 3", "--seconds"),
        ("demo events --seconds 3", "--seconds"),
        ("demo avionics --seconds 3", "--seconds"),
    ] {
        let words: Vec<&str> = std::iter::once("oxorb").chain(line.split(' ')).collect();
        if let Err(error) = Cli::try_parse_from(&words) {
            panic!("{line}: {error}");
        }
        let mut command = Cli::command();
        command.build();
        let mut of = &mut command;
        for word in line.split(' ') {
            if of.find_subcommand(word).is_none() {
                break;
            }
            of = of.find_subcommand_mut(word).expect("it was found");
        }
        let help = of.render_long_help().to_string();
        let shown = help.split_whitespace().any(|word| word == hidden);
        assert!(!shown, "{line}: {hidden} is shown:\n{help}");
    }
}

/// Calls `each` with a command and all its subcommands, and their paths (such as `oxorb name ls`).
pub(crate) fn walk(
    command: &clap::Command,
    path: &str,
    each: &mut impl FnMut(&str, &clap::Command),
) {
    each(path, command);
    for below in command.get_subcommands() {
        walk(below, &format!("{path} {}", below.get_name()), each);
    }
}

/// Calls `each` with each line that breaks a paragraph, and with each indented line that is too wide, and the reason.
/// Headings of lists and examples end with a colon.
fn badly_broken(text: &str, mut each: impl FnMut(&str, &str)) {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(' ') && line.chars().count() > WIDEST {
            each(line, "an indented line is too wide: shorten it, or continue it on the next line");
        }
        let next = lines.peek().copied().unwrap_or_default();
        if is_prose(line) && is_prose(next) && !line.ends_with(':') {
            each(line, "a line ends inside of a paragraph: join it with the next line");
        }
    }
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

/// Columns of an indented line of a help text: a little less than `max_term_width`.
const WIDEST: usize = 98;
