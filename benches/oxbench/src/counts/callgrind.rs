//! Instructions of a whole process, counted by valgrind's callgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// Reports whether valgrind is installed.
pub(crate) fn is_available() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Callgrind's output file for one process.
pub(crate) struct Log(PathBuf);

impl Log {
    /// Returns a new log; `name` is unique within this run.
    pub(crate) fn new(name: &str) -> Log {
        let file = format!("oxbench-callgrind-{}-{name}", std::process::id());
        Log(std::env::temp_dir().join(file))
    }

    /// Wraps `command` so that its instructions are counted.
    pub(crate) fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("valgrind");
        wrapped.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        wrapped.arg(format!("--log-file={}", self.0.display()));
        wrapped.arg(command.get_program()).args(command.get_args());
        wrapped
    }

    /// Returns the number of instructions that the process executed, which must have ended.
    pub(crate) fn instructions(self) -> Result<u64> {
        read(&self.0)
    }
}

fn read(log: &Path) -> Result<u64> {
    let text = fs::read_to_string(log)?;
    fs::remove_file(log)?;
    parse(&text).ok_or_else(|| format!("callgrind told no count:\n{text}").into())
}

/// Parses the line `==17== Collected : 123456`.
fn parse(text: &str) -> Option<u64> {
    let (_, count) = text.lines().find_map(|line| line.split_once("Collected : "))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_the_log() {
        assert_eq!(parse("==17== Events    : Ir\n==17== Collected : 1234\n"), Some(1234));
        assert_eq!(parse("==17== died\n"), None);
    }
}
