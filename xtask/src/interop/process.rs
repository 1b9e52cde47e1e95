//! Child processes that end with their owner, and within a time limit.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs a tool to its end; prints its output only if it fails.
pub(super) fn tool(program: &str, args: &[OsString], directory: &Path) -> Result<String, String> {
    let shown =
        || args.iter().fold(program.to_owned(), |line, arg| line + " " + &arg.to_string_lossy());
    let output = Command::new(program)
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            format!("{program}: {e} (tests/interop/install-peers.sh installs the peers)")
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "{}\n{}{}\n{}",
        shown(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status
    ))
}

/// Running program whose output goes to files; killed on drop.
pub(super) struct Running {
    child: Child,
    output: PathBuf,
    errors: PathBuf,
}

impl Running {
    /// Starts a program whose output goes to `log`.out and `log`.err.
    pub(super) fn start(program: &OsString, args: &[OsString], log: &Path) -> Result<Self, String> {
        let (output, errors) = (log.with_extension("out"), log.with_extension("err"));
        let file = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(file(&output)?)
            .stderr(file(&errors)?)
            .spawn()
            .map_err(|e| format!("{}: {e}", program.to_string_lossy()))?;
        Ok(Self { child, output, errors })
    }

    /// Waits until `ready` returns true. Fails if the program ends or the time limit passes before.
    pub(super) fn wait_until(
        &mut self,
        limit: Duration,
        mut ready: impl FnMut(&Self) -> bool,
    ) -> Result<(), String> {
        let end = Instant::now() + limit;
        loop {
            if ready(self) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("ended early ({status}): {}", self.errors()));
            }
            if Instant::now() > end {
                return Err(format!("not ready within {} s: {}", limit.as_secs(), self.errors()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the program's end; `None` at the time limit.
    pub(super) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    /// Sends SIGINT to the program, like Ctrl-C.
    pub(super) fn interrupt(&self) {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
    }

    pub(super) fn output(&self) -> String {
        read(&self.output)
    }

    pub(super) fn errors(&self) -> String {
        read(&self.errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).trim_end().to_owned()
}
