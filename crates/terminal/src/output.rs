//! Output of a program: text for people, JSON for programs, and one error message.

use std::error::Error;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use oxorb::values::Printable;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// Reason why a command ends with a status other than 0.
pub enum Failed {
    /// No message is needed: the command has printed one already, or the reader has closed the
    /// pipe.
    Told,
    /// Message to print.
    Because(String),
}

impl<E: Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::Because(error.to_string())
    }
}

/// Returns a failure with this message.
pub fn because(why: impl Display) -> Failed {
    Failed::Because(why.to_string())
}

/// Returns the failure to open or create a file. If its folder does not exist, says so.
pub fn at_file(file: &Path, error: impl Display) -> Failed {
    without_folder(file).unwrap_or_else(|| because(format!("{}: {error}", file.display())))
}

/// Returns a failure if the folder of a file does not exist.
pub fn without_folder(file: &Path) -> Option<Failed> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    match folder.try_exists() {
        Ok(false) => Some(because(format!(
            "{}: the folder {} does not exist; create it first",
            file.display(),
            folder.display()
        ))),
        _ => None,
    }
}

/// Returns a number with its noun, which has an s in the plural: `1 event`, `2 events`.
pub fn counted(many: impl Display, noun: &str) -> String {
    let many = many.to_string();
    let ending = if many == "1" { "" } else { "s" };
    format!("{many} {noun}{ending}")
}

/// Result of every command.
pub type Done = Result<(), Failed>;

/// Bold, on a terminal.
pub const STRONG: Style = Style::new().bold();
/// Style of secondary text, such as notes, on a terminal.
pub const FAINT: Style = Style::new().dimmed();
/// Style of successes, on a terminal.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of failures, on a terminal.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Prints the error message of a failed command.
pub fn error(why: &str) {
    let mut out = anstream::stderr().lock();
    let _ = write!(out, "{BAD}error{BAD:#}: ");
    // Keep line breaks: they are the message's own, since text from peers was reduced to one line when it was inserted.
    for line in why.split('\n') {
        let _ = writeln!(out, "{}", Printable(line));
    }
}

/// Prints a warning to standard error.
pub fn warning(what: &str) {
    crate::note!("{STRONG}warning{STRONG:#}: {}", Printable(what));
}

/// Prints a line to standard error, like `eprintln!`. A server keeps serving if the line cannot be written, for
/// example on a full disk.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => {{
        let line = ::std::format!($($text)*);
        let _ = ::std::io::Write::write_fmt(
            &mut ::anstream::stderr().lock(),
            ::std::format_args!("{line}\n"),
        );
    }};
}

/// Prints to standard output, without colours unless standard output is a terminal.
///
/// # Errors
///
/// As for [`print_json`].
pub fn print(text: impl Display) -> Done {
    let mut out = anstream::stdout().lock();
    settle(write!(out, "{text}").and_then(|()| out.flush()))
}

/// Prints the help or the version that the arguments of a program ask for.
pub(crate) fn print_help(help: &clap::Error) -> Done {
    settle(help.print().and_then(|()| std::io::stdout().flush()))
}

/// Sends a control sequence to the terminal on standard output. Unlike [`print()`], this function
/// sends the sequence even if colours are disabled, because the terminal still has a cursor then.
///
/// # Errors
///
/// As for [`print_json`].
pub fn control(sequence: &str) -> Done {
    let mut out = std::io::stdout().lock();
    settle(out.write_all(sequence.as_bytes()))
}

/// Prints a value as one line of JSON, and flushes it.
///
/// # Errors
///
/// As for [`print_json`].
pub fn print_line(value: &impl serde::Serialize) -> Done {
    let mut line = Vec::new();
    serde_json::to_writer(Escaping(&mut line), value)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    settle(out.write_all(&line).and_then(|()| out.flush()))
}

/// Prints a value as one JSON document.
///
/// # Errors
///
/// [`Failed::Told`] if the reader has closed the pipe (`oxorb ... | head`), otherwise
/// [`Failed::Because`] with the reason why the value cannot be written.
pub fn print_json(value: &impl serde::Serialize) -> Done {
    // Serialise into memory first, so that a closed pipe reaches `settle` as an I/O error and not as an error of the
    // JSON serialiser.
    let mut text = Vec::new();
    serde_json::to_writer_pretty(Escaping(&mut text), value)?;
    text.push(b'\n');
    let mut out = std::io::stdout().lock();
    settle(out.write_all(&text).and_then(|()| out.flush()))
}

/// Writer of JSON that also escapes the characters that affect a terminal: C1 controls,
/// bidirectional formatting and invisible characters. They occur only within JSON strings, so that
/// escaping them does not change the value.
pub struct Escaping<W>(pub W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        let text = match std::str::from_utf8(octets) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&octets[..error.valid_up_to()]).unwrap_or_default(),
        };
        if text.is_empty() {
            return self.0.write(octets);
        }
        let mut plain = 0;
        let hidden = |&(_, c): &(usize, char)| c > '~' && Printable::hides(c);
        for (at, c) in text.char_indices().filter(hidden) {
            self.0.write_all(&text.as_bytes()[plain..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        self.0.write_all(&text.as_bytes()[plain..])?;
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Treats a closed pipe (`oxorb ... | head`) as a failure without a message.
fn settle(written: std::io::Result<()>) -> Done {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failed::Told),
        Err(error) => Err(because(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_value_and_controls_no_terminal() {
        let hostile = "a\n\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{e0001}\u{feff}口\"";
        let mut out = Vec::new();
        serde_json::to_writer(Escaping(&mut out), &hostile).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(Printable::hides), "{text:?}");
        assert!(text.contains('口'));
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
