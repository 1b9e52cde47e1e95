//! Measured process: it is placed on its CPU, controlled by lines of text, queried for its CPU time, and always reaped.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use oxorb_sys::poll::readable;
use rustix::process::{Pid, Signal, kill_process};

use crate::Result;
use crate::placement::{Placement, Role};

/// Process of one side of a pair. Dropping it ends the process.
pub(crate) struct Process {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Maximum time of a wait; `None` if it is unlimited.
    limit: Option<Duration>,
}

impl Process {
    /// Starts the process. It shares standard error with this process, so that its messages are visible.
    pub(crate) fn start(
        name: String,
        placement: Placement,
        role: Role,
        command: &mut Command,
    ) -> Result<Process> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = placement.spawn(role, command)?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("standard output is piped");
        Ok(Process { name, child, input, output: BufReader::new(output), limit: None })
    }

    /// Limits the time of each later wait for a line or for the end of the process.
    pub(crate) fn set_limit(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// Writes one line to the process.
    pub(crate) fn tell(&mut self, line: &str) -> Result {
        let input = self.input.as_mut().expect("open until dropped");
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .map_err(|error| format!("{} does not listen any more: {error}", self.name).into())
    }

    /// Waits for one line.
    pub(crate) fn hear(&mut self) -> Result<String> {
        self.wait_for_output()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            return Err(format!("{} ended unexpectedly", self.name).into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits until the process has written something or has closed its output, for at most the limit.
    fn wait_for_output(&self) -> Result {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let until = Instant::now() + limit;
        while self.output.buffer().is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if readable(self.output.get_ref(), Some(left))? {
                break;
            }
            // A signal also ends a wait.
            if Instant::now() >= until {
                return Err(format!("{} did not answer within {limit:?}", self.name).into());
            }
        }
        Ok(())
    }

    /// Waits for one line that must be `word`.
    pub(crate) fn expect(&mut self, word: &str) -> Result {
        match self.hear()? {
            line if line == word => Ok(()),
            line => Err(format!("{} said {line:?} instead of {word:?}", self.name).into()),
        }
    }

    /// Requests the nanoseconds of each of the last calls.
    pub(crate) fn samples(&mut self, calls: u32) -> Result<Vec<u64>> {
        self.tell("samples")?;
        let line = self.hear()?;
        let samples = line.split_whitespace().map(str::parse);
        let samples: Vec<u64> = samples.collect::<std::result::Result<_, _>>()?;
        if samples.len() != calls as usize {
            return Err(format!("{calls} calls gave {} samples", samples.len()).into());
        }
        Ok(samples)
    }

    /// Returns the process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time of all its present threads in nanosecond resolution; `None` if the kernel has no scheduler
    /// statistics.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let mut total = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.id())).ok()? {
            let statistics = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            total += statistics.split(' ').next()?.parse::<u64>().ok()?;
        }
        Some(Duration::from_nanos(total))
    }

    /// Sends SIGTERM, and waits for the end of the process.
    pub(crate) fn terminate(self) -> Result {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        self.finish()
    }

    /// Closes the process's standard input, which makes it end, and waits for the end.
    pub(crate) fn finish(mut self) -> Result {
        self.input = None;
        // The end of the process closes its output.
        self.wait_for_output()?;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.name).into());
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Has no effect after `finish`; both calls then report that the process no longer exists.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_process_that_is_silent_ends_at_the_limit() {
        let start = |program: &str, argument: &str| {
            let mut command = Command::new(program);
            command.arg(argument);
            let name = program.to_owned();
            Process::start(name, Placement::Free, Role::Client, &mut command).unwrap()
        };
        let mut echo = start("cat", "-");
        echo.set_limit(Duration::from_secs(600));
        echo.tell("word").unwrap();
        echo.expect("word").unwrap();
        echo.set_limit(Duration::from_millis(10));
        let error = echo.hear().unwrap_err().to_string();
        assert_eq!(error, "cat did not answer within 10ms");
        echo.set_limit(Duration::from_secs(600));
        echo.finish().unwrap();

        let mut endless = start("sleep", "600");
        endless.set_limit(Duration::from_millis(10));
        assert!(endless.finish().is_err());
    }
}
