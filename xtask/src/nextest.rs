//! Runs of the tests by cargo-nextest.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};

use crate::workspace;

/// Builds the tests, and shows the progress.
pub(crate) fn build() -> Result<(), String> {
    let built = run(&["--no-run".to_owned()])
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status()
        .map_err(|error| format!("cargo nextest: {error}"))?;
    match built.success() {
        true => Ok(()),
        false => Err("the tests cannot be built".to_owned()),
    }
}

/// Returns the command that runs the tests of the gate, each once.
pub(crate) fn run(more: &[String]) -> Command {
    run_by("gate", more)
}

/// Returns the command that runs them with the time limits of a profile.
pub(crate) fn run_by(profile: &str, more: &[String]) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(["nextest", "run", "--workspace", "--locked"])
        .args(["--profile", profile, "--retries", "0", "--color", "never"])
        .args(more)
        .current_dir(workspace::folder())
        .stdin(Stdio::null());
    // Cargo passes them to xtask. Build scripts of dependencies depend on them, and would run again with this
    // package's.
    let of_package = |name: &OsStr| {
        let name = name.to_string_lossy();
        ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_"].iter().any(|of| name.starts_with(of))
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_package(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns the names of the failed tests that cargo-nextest lists below its summary.
pub(crate) fn failures(log: &str) -> BTreeSet<String> {
    let listed = log.lines().skip_while(|line| !is_summary(line));
    let failed = listed.skip(1).filter_map(|line| {
        let (verdict, test) = line.split_once("] ")?;
        let (word, _) = verdict.trim_start().split_once(" [")?;
        let is_verdict = word.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
        // The duration is followed by the test's number and the total.
        let test = match test.trim_start().strip_prefix('(') {
            Some(counted) => counted.split_once(')')?.1,
            None => test,
        };
        (is_verdict && !matches!(word, "PASS" | "SLOW" | "SKIP")).then(|| test.trim().to_owned())
    });
    failed.collect()
}

/// Returns the summary line of cargo-nextest: `9 tests run: 8 passed, 1 failed, 0 skipped`.
pub(crate) fn summary(log: &str) -> Option<&str> {
    let line = log.lines().find(|line| is_summary(line))?;
    Some(line.split_once("] ")?.1.trim())
}

fn is_summary(line: &str) -> bool {
    line.trim_start().starts_with("Summary [")
}

/// Returns the environment variable for the command by which Cargo and cargo-nextest run programs for this machine.
pub(crate) fn runner_variable() -> String {
    let version = Command::new("rustc").arg("-vV").output();
    let text = version.map_or_else(|_| Vec::new(), |output| output.stdout);
    let text = String::from_utf8_lossy(&text).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.unwrap_or("x86_64-unknown-linux-gnu");
    let host = host.to_ascii_uppercase().replace('-', "_");
    format!("CARGO_TARGET_{host}_RUNNER")
}

/// Process that keeps one processor busy until dropped.
pub(crate) struct Busy(Child);

impl Busy {
    pub(crate) fn start() -> Result<Busy, String> {
        let spun =
            Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        spun.map(Busy).map_err(|error| format!("sh: {error}"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "    Starting 3 tests across 1 binary\n        \
        FAIL [   0.005s] (1/3) oxorb-protocols::it killed::whoever_survives\n\
        ────────────\n     Summary [   1.004s] 3 tests run: 1 passed, 1 failed, 1 timed out, 0 skipped\n        \
        FAIL [   0.005s] (1/3) oxorb-protocols::it killed::whoever_survives\n     \
        TIMEOUT [   1.001s] (2/3) oxorb::it calls::a_call\nerror: test run failed\n";

    #[test]
    fn failures_are_those_below_the_summary() {
        let names: Vec<_> = failures(LOG).into_iter().collect();
        let expected = ["oxorb-protocols::it killed::whoever_survives", "oxorb::it calls::a_call"];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_summary_is_what_follows_the_duration() {
        let expected = "3 tests run: 1 passed, 1 failed, 1 timed out, 0 skipped";
        assert_eq!(summary(LOG), Some(expected));
        assert_eq!(summary("error: no such option"), None);
    }

    #[test]
    fn the_runner_is_that_of_the_host() {
        let name = runner_variable();
        assert!(name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER"));
        assert!(!name.contains('-'), "{name}");
    }
}
