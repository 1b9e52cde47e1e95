//! System calls of a running process, counted by strace.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

/// Number of calls of each system call, by name.
pub(crate) type Calls = BTreeMap<String, u64>;

/// strace attached to all threads of one process, including threads that start later.
pub(crate) struct Strace {
    child: Child,
    // Held open until the end: strace writes to it.
    _report: BufReader<std::process::ChildStderr>,
    summary: PathBuf,
}

impl Strace {
    /// Reports whether strace is installed.
    pub(crate) fn is_available() -> bool {
        let version = Command::new("strace").arg("-V").output();
        version.is_ok_and(|output| output.status.success())
    }

    /// Attaches to the process `id`, and returns when counting has begun.
    pub(crate) fn attach(id: u32) -> Result<Strace> {
        let summary = std::env::temp_dir().join(format!("oxbench-{}-{id}", std::process::id()));
        let mut child = Command::new("strace")
            .args(["-f", "-c", "-U", "calls,name", "-o"])
            .arg(&summary)
            .args(["-p", &id.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start strace: {error}"))?;
        let mut report = BufReader::new(child.stderr.take().expect("standard error is piped"));
        let mut line = String::new();
        report.read_line(&mut line)?;
        if !line.contains("attached") {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("strace cannot attach: {}", line.trim()).into());
        }
        Ok(Strace { child, _report: report, summary })
    }

    /// Detaches and returns the counts.
    pub(crate) fn detach(mut self) -> Result<Calls> {
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        self.child.wait()?;
        let summary = fs::read_to_string(&self.summary)?;
        fs::remove_file(&self.summary)?;
        Ok(parse(&summary))
    }
}

fn parse(summary: &str) -> Calls {
    let rows = summary.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let count = words.next()?.parse().ok()?;
        Some((words.next()?.to_owned(), count))
    });
    rows.filter(|(name, _)| name != "total").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_without_its_frame() {
        let text = "    calls syscall\n--------- ----------------\n     1000 recvfrom\n       2 write\n\
                    --------- ----------------\n     1002 total\n";
        let calls = parse(text);
        assert_eq!(calls.len(), 2);
        assert_eq!((calls["recvfrom"], calls["write"]), (1000, 2));
    }
}
