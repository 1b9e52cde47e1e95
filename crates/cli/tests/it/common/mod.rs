//! Helpers that run commands of `oxorb`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;
use serde_json::Value;

/// Time limit of what a process does, which no machine exceeds, however loaded.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    command(args).output().expect("the command starts")
}

/// Starts a command that prints JSON; returns it with its first line that contains `word`.
pub(crate) fn started(args: &[&str], word: &str) -> (Process, Value) {
    let mut process = Process::spawn(command(args));
    let line = process.wait_for_line(word, LIMIT);
    (process, serde_json::from_str(&line).expect("a line of JSON"))
}

pub(crate) fn sched(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .arg("sched")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

pub(crate) fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).expect("the command prints UTF-8")
}

/// Runs a command that must succeed without warnings; returns its output.
pub(crate) fn good(args: &[&str]) -> String {
    let output = sched(args);
    assert_eq!(text(&output.stderr), "", "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stdout));
    text(&output.stdout)
}

/// Folder of a single test, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxorb-{test}-{}", oxorb_testkit::unique()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder for temporary files");
        Folder(path)
    }

    /// Writes a file in the folder; returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("the folder can be written to");
        path
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
