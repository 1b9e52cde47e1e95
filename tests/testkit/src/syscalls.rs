//! System call counters.
//!
//! A test runs itself again, in a separate process under `strace`, and counts the system calls of the marked
//! [`section`]s there:
//!
//! ```no_run
//! use oxorb_testkit::syscalls;
//!
//! // In a test file, this is a #[test].
//! fn looking_at_the_clock_needs_no_system_call() {
//!     let trace = syscalls::traced("looking_at_the_clock_needs_no_system_call", || {
//!         syscalls::section("clock", || std::time::Instant::now());
//!     });
//!     if let Some(trace) = trace {
//!         assert_eq!(trace.section("clock").own, []);
//!     }
//! }
//! ```
//!
//! This requires `strace`, and the permission to trace. Without them, the test reports so, bypassing the harness's
//! capture, and passes, so that the suite runs on a machine with Rust only; if `OXORB_REQUIRE_TOOLS` names strace, as
//! in `.ci/run`, a test that cannot count fails.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fmt, fs, process};

use crate::peers::missing;
use crate::process::{Process, rerun};

/// Variable set in the traced process to the name of the test.
const TRACED: &str = "OXORB_TESTKIT_TRACED";

/// Prefix of nonexistent files; opening one leaves a line in the trace.
const MARK: &str = "/oxorb-testkit-mark/";

/// Name in [`Counts`] of a `recvfrom` that only peeks and consumes nothing.
pub const PEEK: &str = "recvfrom(MSG_PEEK)";

/// Settings with which glibc requests memory from the kernel in advance, and never returns it. Otherwise the heap can
/// grow because another thread frees memory late, which is unrelated to the traced path.
const HEAP: [(&str, &str); 2] =
    [("MALLOC_TOP_PAD_", "16777216"), ("MALLOC_TRIM_THRESHOLD_", "1073741824")];

/// Time limit of a traced test.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs `body` in a separate process under `strace`, and returns the trace. In that process, where the same test is
/// running, runs `body` and returns `None`. Without `strace`, reports so and returns `None`.
///
/// `test` is the name of the calling test as the harness prints it (`module::name`).
///
/// # Panics
/// If `body` fails, or if `OXORB_REQUIRE_TOOLS` names strace and nothing can be traced.
#[track_caller]
pub fn traced(test: &str, body: impl FnOnce()) -> Option<Trace> {
    if env::var(TRACED).is_ok_and(|running| running == test) {
        body();
        return None;
    }
    if !can_trace() {
        let why = format!(
            "{test} counts system calls and needs leave to trace \
             (`apt-get install strace`, `dnf install strace`)"
        );
        missing("strace", &why);
        return None;
    }
    let log = Log::new();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log.0);
    let again = rerun(test);
    command.arg("--").arg(again.get_program()).args(again.get_args());
    command.env(TRACED, test).envs(HEAP);
    Process::spawn(command).wait_success(LIMIT);
    let text = fs::read_to_string(&log.0).expect("strace wrote its log");
    let trace = Trace::parse(&text);
    assert!(
        !trace.sections.is_empty(),
        "no section was traced: is the test really called {test:?}, and does it mark a section?"
    );
    Some(trace)
}

fn can_trace() -> bool {
    Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "--", "true"])
        .output()
        .is_ok_and(|out| out.status.success())
}

/// Runs `work`; under [`traced`], its system calls are counted as section `name`.
pub fn section<R>(name: &str, work: impl FnOnce() -> R) -> R {
    // Both names are made beforehand, because only `work` may allocate between the marks.
    let [begin, end] = ["begin", "end"].map(|edge| path(edge, name));
    mark(&begin);
    let result = work();
    mark(&end);
    result
}

/// Begins section `name` on this thread: for code that is called back, such as a servant, which runs only during parts
/// of the counted section.
pub fn begin(name: &str) {
    mark(&path("begin", name));
}

/// Ends section `name`, which this thread [began](begin).
pub fn end(name: &str) {
    mark(&path("end", name));
}

fn path(edge: &str, name: &str) -> PathBuf {
    PathBuf::from(format!("{MARK}{edge}/{name}"))
}

fn mark(path: &PathBuf) {
    probe_statx();
    assert!(fs::symlink_metadata(path).is_err(), "nobody has this file");
}

/// The standard library's first failed query of a file makes a second system call, which asks whether the kernel has
/// `statx`. A successful query settles that before the first mark, so that no section counts it.
fn probe_statx() {
    static PROBED: Once = Once::new();
    PROBED.call_once(|| {
        fs::metadata("/").expect("the root folder exists");
    });
}

/// Counts of all sections.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    sections: BTreeMap<String, Section>,
}

/// System calls made in one section; over all its runs, if there were several.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// System calls of the thread that ran it.
    pub own: Counts,
    /// System calls of all threads of the process, including that one, from its beginning to its end.
    pub all: Counts,
}

impl Trace {
    /// Returns the counts of one section.
    ///
    /// # Panics
    /// If it never ran.
    #[track_caller]
    pub fn section(&self, name: &str) -> &Section {
        let Some(section) = self.sections.get(name) else {
            let known: Vec<_> = self.sections.keys().collect();
            panic!("no section {name:?} was traced, only {known:?}");
        };
        section
    }

    fn parse(log: &str) -> Self {
        let mut trace = Self::default();
        let mut open: Vec<(&str, &str)> = Vec::new(); // name and thread of each section under way
        for (thread, call) in &joined(log) {
            let thread = *thread;
            if let Some(name) = marked(call, "begin/") {
                trace.sections.entry(name.to_owned()).or_default();
                open.push((name, thread));
            } else if let Some(name) = marked(call, "end/") {
                open.retain(|&section| section != (name, thread));
            } else if let Some(called) = called(call) {
                for &(name, owner) in &open {
                    let section = trace.sections.entry(name.to_owned()).or_default();
                    section.all.add(called);
                    if owner == thread {
                        section.own.add(called);
                    }
                }
            }
        }
        trace
    }
}

/// Returns the lines of a log with their threads; calls interrupted by other threads are joined again, at their
/// beginning.
fn joined(log: &str) -> Vec<(&str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut unfinished = BTreeMap::new(); // thread -> which line
    for (thread, text) in log.lines().filter_map(|line| line.split_once(' ')) {
        let text = text.trim_start();
        if let Some((_, rest)) = text.split_once(" resumed>") {
            if let Some(begun) = unfinished.remove(thread) {
                let (_, line): &mut (_, String) = &mut lines[begun];
                line.push_str(rest);
            }
            continue;
        }
        let begun = text.strip_suffix(" <unfinished ...>");
        if begun.is_some() {
            unfinished.insert(thread, lines.len());
        }
        lines.push((thread, begun.unwrap_or(text).to_owned()));
    }
    lines
}

/// Returns the section whose given edge a line marks.
fn marked<'l>(call: &'l str, edge: &str) -> Option<&'l str> {
    let (_, path) = call.split_once(MARK)?;
    let (name, _) = path.strip_prefix(edge)?.split_once('"')?;
    Some(name)
}

/// Returns the system call in a line, which may also be a signal or an exit.
fn called(call: &str) -> Option<&str> {
    let (name, arguments) = call.split_once('(')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    match name == "recvfrom" && arguments.contains("MSG_PEEK") {
        true => Some(PEEK),
        false => Some(name),
    }
}

/// Number of calls of each system call. Compares with a sorted list of names and counts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, usize>);

impl Counts {
    /// Returns the number of calls of one system call.
    pub fn of(&self, call: &str) -> usize {
        self.0.get(call).copied().unwrap_or(0)
    }

    /// Returns the total number of calls.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    fn add(&mut self, call: &str) {
        *self.0.entry(call.to_owned()).or_default() += 1;
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<const N: usize> PartialEq<[(&str, usize); N]> for Counts {
    fn eq(&self, expected: &[(&str, usize); N]) -> bool {
        let counted = self.0.iter().map(|(name, &count)| (name.as_str(), count));
        counted.eq(expected.iter().copied())
    }
}

/// Output file of strace, removed on drop.
struct Log(PathBuf);

impl Log {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("oxorb-testkit-{}-{number}.strace", process::id());
        Self(env::temp_dir().join(name))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Unimportant; a leftover in the temporary directory is harmless.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_understood() {
        let trace = Trace::parse(
            r#"11 write(1, "before", 6) = 6
11 statx(AT_FDCWD, "/oxorb-testkit-mark/begin/ping", 0) = -1 ENOENT
11 sendto(3, "x", 1 <unfinished ...>
12 recvfrom(4,  <unfinished ...>
11 <... sendto resumed>) = 1
11 recvfrom(3,  <unfinished ...>
11 --- SIGUSR1 {si_signo=SIGUSR1} ---
12 <... recvfrom resumed>"x", 1) = 1
11 <... recvfrom resumed>"", 1, MSG_DONTWAIT|MSG_PEEK) = -1 EAGAIN
11 recvfrom(3, "y", 1) = 1
11 statx(AT_FDCWD, "/oxorb-testkit-mark/end/ping", 0) = -1 ENOENT
11 close(3) = 0
12 +++ exited with 0 +++
"#,
        );
        let ping = trace.section("ping");
        assert_eq!(ping.own, [("recvfrom", 1), (PEEK, 1), ("sendto", 1)]);
        assert_eq!(ping.all, [("recvfrom", 2), (PEEK, 1), ("sendto", 1)]);
        assert_eq!((ping.own.total(), ping.own.of("close")), (3, 0));
    }

    #[test]
    fn counts_what_a_section_does_and_nothing_else() {
        let name = "syscalls::tests::counts_what_a_section_does_and_nothing_else";
        let trace = traced(name, || {
            section("nothing", || ());
            section("three", || {
                for _ in 0..3 {
                    std::thread::sleep(Duration::from_nanos(1));
                }
            });
        });
        if let Some(trace) = trace {
            assert_eq!(trace.section("nothing").own, []);
            assert_eq!(trace.section("three").own, [("clock_nanosleep", 3)]);
        }
    }

    #[test]
    fn a_wrong_name_is_no_success() {
        if !can_trace() {
            return missing("strace", "a wrong name cannot be tried");
        }
        let tried = std::panic::catch_unwind(|| traced("there_is_no_such_test", || ()));
        let why = tried.err().and_then(|why| why.downcast::<String>().ok());
        assert!(why.is_some_and(|why| why.contains("is the test really called")));
    }
}
