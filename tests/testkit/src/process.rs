//! Child processes that never outlive their test.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::patience::is_over;

/// Child process, killed on drop. Its output is collected as it arrives.
#[derive(Debug)]
pub struct Process {
    child: Child,
    command: String,
    lines: Receiver<Line>,
    seen: Vec<Line>,
}

/// Line written by a [`Process`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether it was written to standard error.
    pub error: bool,
    /// Line without its end.
    pub text: String,
}

impl Process {
    /// Starts `command`, with empty standard input.
    ///
    /// # Panics
    /// If it cannot be started; the message has the command line.
    pub fn spawn(mut command: Command) -> Self {
        let named = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot start {named}: {error}"));
        let (sender, lines) = mpsc::channel();
        let outputs: [(bool, Option<Box<dyn Read + Send>>); 2] = [
            (false, child.stdout.take().map(|pipe| Box::new(pipe) as _)),
            (true, child.stderr.take().map(|pipe| Box::new(pipe) as _)),
        ];
        for (error, pipe) in outputs {
            let pipe = BufReader::new(pipe.expect("the pipe was asked for"));
            let sender = sender.clone();
            thread::spawn(move || {
                for line in pipe.split(b'\n').map_while(Result::ok) {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    if sender.send(Line { error, text }).is_err() {
                        return;
                    }
                }
            });
        }
        Self { child, command: named, lines, seen: Vec::new() }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line that contains `pattern`, on either output: such as the reference that a server prints
    /// when it is ready.
    ///
    /// # Panics
    /// If none arrives within `limit`, or the process ends first; the message has its whole output.
    #[track_caller]
    pub fn wait_for_line(&mut self, pattern: &str, limit: Duration) -> String {
        self.wait_for_any(&[pattern], limit)
    }

    /// Waits for the next line that contains one of `patterns`, as [`wait_for_line`](Self::wait_for_line) does.
    ///
    /// # Panics
    /// If none arrives within `limit`, or the process ends first; the message has its whole output.
    #[track_caller]
    pub fn wait_for_any(&mut self, patterns: &[&str], limit: Duration) -> String {
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            match self.lines.recv_timeout(left.max(Duration::from_millis(10))) {
                Ok(line) => {
                    self.seen.push(line);
                    let text = &self.seen[self.seen.len() - 1].text;
                    if patterns.iter().any(|pattern| text.contains(pattern)) {
                        return text.clone();
                    }
                }
                Err(RecvTimeoutError::Timeout) if !is_over(began, limit) => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.fail(format_args!("wrote none of {patterns:?} within {limit:?}"))
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.fail(format_args!("ended without writing {patterns:?}"))
                }
            }
        }
    }

    /// Waits for the process to end.
    ///
    /// # Panics
    /// If it does not end within `limit`; the message has its whole output.
    #[track_caller]
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    // Grandchildren may hold the pipes open, so only the output so far is returned.
                    self.drain(Duration::from_secs(2));
                    return status;
                }
                Ok(None) if is_over(began, limit) => {
                    self.fail(format_args!("still runs after {limit:?}"))
                }
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Err(error) => self.fail(format_args!("cannot be waited for: {error}")),
            }
        }
    }

    /// Waits for the process to end successfully, and returns its whole output.
    ///
    /// # Panics
    /// If it fails, or does not end within `limit`; the message has its whole output.
    #[track_caller]
    pub fn wait_success(&mut self, limit: Duration) -> &[Line] {
        let status = self.wait(limit);
        if !status.success() {
            self.fail(format_args!("ended with {status}"));
        }
        &self.seen
    }

    /// Returns all lines so far.
    pub fn output(&mut self) -> &[Line] {
        self.seen.extend(self.lines.try_iter());
        &self.seen
    }

    /// Kills the process and waits for its end.
    pub fn kill(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Reads until both outputs are closed, or nothing arrived for `quiet`.
    fn drain(&mut self, quiet: Duration) {
        while let Ok(line) = self.lines.recv_timeout(quiet) {
            self.seen.push(line);
        }
    }

    #[track_caller]
    fn fail(&mut self, what: std::fmt::Arguments<'_>) -> ! {
        self.kill();
        self.drain(Duration::from_millis(100));
        let output: Vec<_> = self.seen.iter().map(|line| line.text.as_str()).collect();
        panic!("{} {what}; it wrote:\n{}", self.command, output.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the name of a test of this binary as the harness prints it, for [`rerun`] and
/// [`traced`](crate::syscalls::traced), regardless of the module.
///
/// # Panics
/// If `test` is a closure.
pub fn test_name<R>(test: impl Fn() -> R) -> &'static str {
    let path = std::any::type_name_of_val(&test);
    let (_, name) = path.split_once("::").expect("a path begins with a crate");
    assert!(!name.contains('{'), "{path} is no test");
    name
}

/// Reports whether this process runs `test` alone. If not, runs `test` in a separate process, whose output is shown.
///
/// For tests that count resources of the process: descriptors, threads, memory, allocations of all threads. Concurrent
/// tests would add to them, and so would the harness, which starts threads and prints.
///
/// ```no_run
/// use oxorb_testkit::process::alone;
///
/// // In a test file, this is a #[test].
/// fn no_descriptor_is_left() {
///     if !alone(no_descriptor_is_left) {
///         return;
///     }
///     // ... what counts descriptors ...
/// }
/// ```
///
/// # Panics
/// If `test` fails in the separate process.
#[must_use = "a test that is not alone ends here"]
#[track_caller]
pub fn alone<R>(test: impl Fn() -> R) -> bool {
    let name = test_name(test);
    if env::var(ALONE).is_ok_and(|running| running == name) {
        return true;
    }
    let mut again = rerun(name);
    again.env(ALONE, name);
    for line in Process::spawn(again).wait_success(LIMIT) {
        match line.error {
            true => eprintln!("{}", line.text),
            false => println!("{}", line.text),
        }
    }
    false
}

/// Waits until no other test of this process has the turn, and takes it. For tests that count process-wide figures to
/// which only such tests contribute.
///
/// Tests that any other activity of the process would disturb run [`alone`].
#[must_use = "the turn ends when the guard is dropped"]
pub fn turn() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    Turn {
        // A failed test has ended, too.
        _guard: TURN.lock().unwrap_or_else(PoisonError::into_inner),
    }
}

/// Guard of [`turn`].
#[derive(Debug)]
pub struct Turn {
    _guard: MutexGuard<'static, ()>,
}

/// Variable set in the process that [`alone`] starts to the name of its test.
const ALONE: &str = "OXORB_TESTKIT_ALONE";

/// Time limit, longer than any test that runs [`alone`] takes. Tests that may hang have a watchdog, which reports where
/// they hang.
const LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// Returns the command that runs one test of this test binary in a separate process.
///
/// The test detects its process by an environment variable. A binary for another processor is run by the emulator that
/// `OXORB_TEST_RUNNER` names, with its arguments: `qemu-s390x-static -L /usr/s390x-linux-gnu`.
pub fn rerun(test: &str) -> Command {
    let binary = env::current_exe().expect("a test knows its own binary");
    let runner = env::var("OXORB_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(binary);
            command
        }
        None => Command::new(binary),
    };
    command.args(["--exact", test, "--nocapture", "--include-ignored", "--test-threads=1"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::spawn(command)
    }

    #[test]
    fn lines_come_as_they_are_written() {
        let mut server = shell("echo starting; echo 'IOR:00' >&2; exec sleep 1000");
        assert_eq!(server.wait_for_line("IOR:", LONG), "IOR:00");
    }

    #[test]
    fn success_gives_the_output() {
        let lines = shell("echo one; echo two").wait_success(LONG).to_vec();
        let texts: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["one", "two"]);
    }

    #[test]
    #[should_panic(expected = "it wrote:\nwhat went wrong")]
    fn failure_shows_the_output() {
        shell("echo what went wrong; exit 3").wait_success(LONG);
    }

    #[test]
    #[should_panic(expected = "ended without writing")]
    fn an_early_end_is_noticed() {
        shell("echo nothing").wait_for_line("ready", LONG);
    }

    #[test]
    fn a_test_is_found_by_its_name() {
        let name = "process::tests::a_test_is_found_by_its_name";
        assert_eq!(test_name(a_test_is_found_by_its_name), name);
    }

    #[test]
    fn a_test_that_is_alone_has_no_other_beside_it() {
        if !alone(a_test_that_is_alone_has_no_other_beside_it) {
            return;
        }
        assert!(env::args().any(|argument| argument == "--test-threads=1"));
    }

    #[test]
    #[ignore = "run by the test below"]
    fn wrong_when_alone() {
        assert!(env::var_os(ALONE).is_none(), "wrong only here");
    }

    #[test]
    #[should_panic(expected = "wrong only here")]
    fn a_test_that_fails_alone_fails() {
        let _ = alone(wrong_when_alone);
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let process = shell("exec sleep 1000");
        let entry = format!("/proc/{}", process.id());
        assert!(std::fs::exists(&entry).unwrap());
        drop(process);
        assert!(!std::fs::exists(&entry).unwrap());
    }
}
