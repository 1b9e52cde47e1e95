//! Output of a program: text for people, JSON for programs, one error.

use std::error::Error;
use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use oxorb::Printable;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// Why a command ends with a status other than 0.
pub enum Failed {
    /// The message is out already.
    Told,
    /// The message to print.
    Because(String),
}

impl<E: Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::Because(error.to_string())
    }
}

/// A failure without an error value behind it.
pub fn because(why: impl Display) -> Failed {
    Failed::Because(why.to_string())
}

/// Result of every command.
pub type Done = Result<(), Failed>;

/// Bold, on a terminal.
pub const STRONG: Style = Style::new().bold();
/// Style of side remarks on a terminal.
pub const FAINT: Style = Style::new().dimmed();
/// Style of what works, on a terminal.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of what does not work, on a terminal.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Prints the one message of a command that failed.
pub fn error(why: &str) {
    let mut out = anstream::stderr().lock();
    let _ = write!(out, "{BAD}error{BAD:#}: ");
    // Text of peers was made one line where it was put in; lines of ours stay.
    for line in why.split('\n') {
        let _ = writeln!(out, "{}", Printable(line));
    }
}

/// Prints a warning to standard error.
pub fn warning(what: &str) {
    anstream::eprintln!("{STRONG}warning{STRONG:#}: {}", Printable(what));
}

/// Prints to standard output; colours vanish when that is no terminal.
///
/// # Errors
///
/// As of [`print_json`].
pub fn print(text: impl Display) -> Done {
    let mut out = anstream::stdout().lock();
    settle(write!(out, "{text}").and_then(|()| out.flush()))
}

/// Moves the cursor of the terminal that standard output is. Not by way of
/// [`print()`]: who wants no colours still has a cursor.
///
/// # Errors
///
/// As of [`print_json`].
pub fn control(sequence: &str) -> Done {
    let mut out = std::io::stdout().lock();
    settle(out.write_all(sequence.as_bytes()))
}

/// Prints a value as one line of JSON, at once.
///
/// # Errors
///
/// As of [`print_json`].
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
/// [`Failed::Told`] when nobody reads any more (`oxorb ... | head`), else why nothing can be written.
pub fn print_json(value: &impl serde::Serialize) -> Done {
    // By way of memory, as errors of the reader of JSON do not say that it went away.
    let mut text = Vec::new();
    serde_json::to_writer_pretty(Escaping(&mut text), value)?;
    text.push(b'\n');
    let mut out = std::io::stdout().lock();
    settle(out.write_all(&text).and_then(|()| out.flush()))
}

/// Writer of JSON that escapes, beyond what JSON demands, what controls a terminal: C1 controls, changes of direction and
/// what cannot be seen. Outside of ASCII all of it stands in strings, so that the value stays as it is.
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

/// A reader that went away (`oxorb ... | head`) is no failure of ours.
fn settle(written: std::io::Result<()>) -> Done {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failed::Told),
        other => Ok(other?),
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
