//! Child process of this program that reports lines of JSON, killed on drop.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use oxorb_terminal::output::{Done, Failed, because};

/// Time limit for the start and the end of a process.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Process of the server or of clients.
pub(super) struct Process {
    /// Name in messages.
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    pub(super) fn start(name: &'static str, args: &[&str]) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
            .args(oxorb_terminal::orb::args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().expect("was asked for");
        Ok(Process { name, child, lines: lines_of(stdout) })
    }

    /// Returns the id of the process.
    #[cfg(feature = "avionics")]
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a new line, if there is one.
    #[cfg(feature = "avionics")]
    pub(super) fn line(&self) -> Result<Option<String>, Failed> {
        match self.lines.try_recv() {
            Ok(line) => Ok(Some(line)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(self.ended_early()),
        }
    }

    /// Waits for one line.
    pub(super) fn hear<T: DeserializeOwned>(&self) -> Result<T, Failed> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(serde_json::from_str(&line)?),
            Err(_) => Err(because(format!(
                "{} ended or hung before it was ready; its message, if any, is above",
                self.name
            ))),
        }
    }

    /// Replaces `told` by the last new line, if there is one. `done`: whether no further one will come.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        told: &mut T,
        done: impl Fn(&T) -> bool,
    ) -> Done {
        loop {
            match self.lines.try_recv() {
                Ok(line) => *told = serde_json::from_str(&line)?,
                Err(TryRecvError::Disconnected) if !done(told) => {
                    return Err(self.ended_early());
                }
                Err(_) => return Ok(()),
            }
        }
    }

    fn ended_early(&self) -> Failed {
        because(format!("{} ended early; its message, if any, is above", self.name))
    }

    /// Ends the process by closing its standard input; waits for its end, up to the limit.
    pub(super) fn stop(&mut self) {
        drop(self.child.stdin.take());
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
