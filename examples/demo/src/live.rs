//! Lines at the bottom of a terminal that are redrawn in place.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};

use terminal_size::{Height, Width, terminal_size};

use oxorb_terminal::output::{Done, control, print};

/// Redrawn lines; for terminals only.
#[derive(Default)]
pub(super) struct Live {
    /// Number of lines on the terminal now.
    drawn: usize,
}

impl Live {
    /// Reports whether standard output is a terminal that can move its cursor.
    pub(super) fn is_possible() -> bool {
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        stdout().is_terminal() && !is_dumb
    }

    /// Draws ASCII lines in place of the previous ones.
    ///
    /// A line that wraps or scrolls away could not be redrawn: text beyond the terminal's present size is omitted.
    pub(super) fn draw(&mut self, mut lines: Vec<String>) -> Done {
        self.erase()?;
        let (columns, rows) = match terminal_size() {
            Some((Width(columns), Height(rows))) => (usize::from(columns), usize::from(rows)),
            None => (80, 24),
        };
        lines.truncate(rows.saturating_sub(2));
        self.drawn = lines.len();
        let mut text = String::new();
        for line in &lines {
            // The text is ASCII, so an octet is a column.
            let _ = writeln!(text, "{}", line.get(..columns).unwrap_or(line));
        }
        print(text)
    }

    /// Removes the lines.
    pub(super) fn erase(&mut self) -> Done {
        match std::mem::take(&mut self.drawn) {
            0 => Ok(()),
            lines => control(&format!("\x1b[{lines}A\x1b[J")),
        }
    }
}

/// Returns a progress bar for the share of the time that has passed.
pub(super) fn progress(passed: f64, seconds: u32) -> String {
    const WIDTH: usize = 40;
    let share = (passed / f64::from(seconds)).min(1.0);
    let done = (share * WIDTH as f64) as usize;
    format!("[{}{}] {passed:.0} of {seconds} s", "#".repeat(done), "-".repeat(WIDTH - done),)
}
