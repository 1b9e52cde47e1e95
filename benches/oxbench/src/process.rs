//! A measured process: started in its place, spoken to by lines, asked for its CPU time, always reaped.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;
use crate::placement::{Placement, Role};

/// One side of a pair. Dropping it ends it.
pub(crate) struct Process {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it. Its standard error is this process's own, so what it complains about is seen.
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
        Ok(Process { name, child, input, output: BufReader::new(output) })
    }

    /// Says one line.
    pub(crate) fn tell(&mut self, line: &str) -> Result {
        let input = self.input.as_mut().expect("open until dropped");
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .map_err(|error| format!("{} does not listen any more: {error}", self.name).into())
    }

    /// Waits for one line.
    pub(crate) fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            return Err(format!("{} ended unexpectedly", self.name).into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits for one line that must be `word`.
    pub(crate) fn expect(&mut self, word: &str) -> Result {
        match self.hear()? {
            line if line == word => Ok(()),
            line => Err(format!("{} said {line:?} instead of {word:?}", self.name).into()),
        }
    }

    /// Asks for the nanoseconds of each of the calls that it just made.
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

    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// CPU time of all threads it has now, to the nanosecond, or `None` where the kernel does not
    /// keep scheduler statistics.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let mut total = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.id())).ok()? {
            let statistics = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            total += statistics.split(' ').next()?.parse::<u64>().ok()?;
        }
        Some(Duration::from_nanos(total))
    }

    /// Tells it to end by SIGTERM, and waits for that.
    pub(crate) fn terminate(self) -> Result {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        self.finish()
    }

    /// Closes its standard input, upon which it ends by itself, and waits for that.
    pub(crate) fn finish(mut self) -> Result {
        self.input = None;
        let status = self.child.wait()?;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.name).into());
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to do after `finish`; both calls then say that the process is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
