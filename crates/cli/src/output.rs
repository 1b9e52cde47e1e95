//! How the command speaks: text for people, JSON for programs, one error.

use std::error::Error;
use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;

/// For whom the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Why a command ends with a status other than 0.
pub(crate) enum Failed {
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
pub(crate) fn because(why: impl Display) -> Failed {
    Failed::Because(why.to_string())
}

/// What every command returns.
pub(crate) type Done = Result<(), Failed>;

/// Bold, on a terminal.
pub(crate) const STRONG: Style = Style::new().bold();
/// For what is not the point, on a terminal.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// For what works, on a terminal.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// For what does not, on a terminal.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Prints the one message of a command that failed.
pub(crate) fn error(why: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{BAD}error{BAD:#}: {why}");
}

/// Prints to standard output; colours vanish when that is no terminal.
pub(crate) fn print(text: impl Display) -> Done {
    let mut out = anstream::stdout().lock();
    settle(write!(out, "{text}").and_then(|()| out.flush()))
}

/// Moves the cursor of the terminal that standard output is. Not by way of
/// [`print()`]: who wants no colours still has a cursor.
pub(crate) fn control(sequence: &str) -> Done {
    let mut out = std::io::stdout().lock();
    settle(out.write_all(sequence.as_bytes()))
}

/// Prints a value as one line of JSON, at once.
pub(crate) fn print_line(value: &impl serde::Serialize) -> Done {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    print(line)
}

/// Prints a value as one JSON document.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Done {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    settle(writeln!(out))
}

/// A reader that went away (`oxorb ... | head`) is no failure of ours.
fn settle(written: std::io::Result<()>) -> Done {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failed::Told),
        other => Ok(other?),
    }
}
