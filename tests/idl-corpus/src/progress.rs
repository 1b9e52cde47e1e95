//! Progress line, on a terminal only.

use std::io::{IsTerminal, Write};

pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Progress { shown: std::io::stderr().is_terminal() }
    }

    /// Shows the current work.
    pub(crate) fn now(&self, what: &str, done: usize, all: usize) {
        if self.shown {
            // The line is cleared first: the previous one may have been longer.
            eprint!("\r\x1b[2K{what} {done}/{all}");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[2K");
        }
    }
}
