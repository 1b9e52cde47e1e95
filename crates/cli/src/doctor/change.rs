//! Reversible steps that change a host.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path};
use std::process::{Command, Stdio};

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority, ThreadScheduling};

use super::host::Host;

/// Step of a change to the host.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub(super) enum Change {
    /// Text to write to a file of the kernel.
    Write { path: String, value: String },
    /// SCHED_FIFO at a priority, for a kernel thread.
    Schedule { thread: i32, priority: i32 },
    /// Queueing discipline for a network device that still has its default one.
    Queue { device: String, discipline: String },
}

impl Change {
    pub(super) fn write(path: impl Into<String>, value: impl Into<String>) -> Self {
        Change::Write { path: path.into(), value: value.into() }
    }

    /// Returns the present state of what the step changes.
    ///
    /// # Errors
    /// The host does not report the state. The step must not be made then, because it could not be
    /// reverted.
    pub(super) fn now(&self, host: &Host) -> io::Result<String> {
        match self {
            Change::Write { path, .. } => {
                let text = fs::read_to_string(host.path(safe(path)?))?;
                Ok(chosen(&text).to_owned())
            }
            Change::Schedule { thread, .. } => {
                live(host)?;
                match schedule::of(*thread)? {
                    ThreadScheduling::Class(ThreadPriority { class, priority }) => {
                        Ok(format!("{class} {priority}"))
                    }
                    other => Err(io::Error::other(format!("a thread of {other}"))),
                }
            }
            Change::Queue { device, .. } => {
                live(host)?;
                let queues = host.queues().unwrap_or_default();
                let root = queues.iter().find(|queue| queue.dev == *device && queue.root);
                root.map(|queue| format!("{} {}", queue.kind, queue.handle))
                    .ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// Makes the step.
    ///
    /// # Errors
    /// Failure of the system call or file operation.
    pub(super) fn make(&self, host: &Host) -> io::Result<()> {
        match self {
            Change::Write { path, value } => write(&host.path(safe(path)?), value),
            Change::Schedule { thread, priority } => {
                live(host)?;
                let (class, priority) = (SchedulingClass::Fifo, *priority);
                schedule::set(*thread, ThreadPriority { class, priority })
            }
            Change::Queue { device, discipline } => {
                live(host)?;
                tc(&["qdisc", "replace", "dev", device, "root", discipline])
            }
        }
    }

    /// Reports whether `now` is the state that the step produces.
    pub(super) fn is_made(&self, now: &str) -> bool {
        match self {
            Change::Write { value, .. } => now == value,
            Change::Schedule { priority, .. } => now == format!("SCHED_FIFO {priority}"),
            Change::Queue { discipline, .. } => now.split(' ').next() == Some(discipline),
        }
    }

    /// Reverts the step to the state before.
    ///
    /// # Errors
    /// Failure of the system call or file operation.
    pub(super) fn take_back(&self, host: &Host, before: &str) -> io::Result<()> {
        match self {
            Change::Write { path, .. } => write(&host.path(safe(path)?), before),
            Change::Schedule { thread, .. } => {
                live(host)?;
                let schedule = parse(before).ok_or(io::ErrorKind::InvalidData)?;
                schedule::set(*thread, schedule)
            }
            // Deleting a discipline restores the device's default one.
            Change::Queue { device, .. } => {
                live(host)?;
                tc(&["qdisc", "del", "dev", device, "root"])
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Write { path, value } => write!(f, "/{path} = {value}"),
            Change::Schedule { thread, priority } => {
                write!(f, "thread {thread} = SCHED_FIFO {priority}")
            }
            Change::Queue { device, discipline } => write!(f, "queue of {device} = {discipline}"),
        }
    }
}

/// Returns the selected setting in a text of the kernel: the word in brackets if there are several.
fn chosen(text: &str) -> &str {
    let between = |open, close| {
        let (_, rest) = text.split_once(open)?;
        rest.split_once(close).map(|(word, _)| word)
    };
    between('[', ']').unwrap_or(text).trim()
}

/// Refuses paths outside `proc` and `sys`: a step may come from a record, and a record may contain
/// any text.
fn safe(path: &str) -> io::Result<&str> {
    let mut parts = Path::new(path).components();
    let begins = parts.next().is_some_and(
        |first| matches!(first, Component::Normal(name) if name == "proc" || name == "sys"),
    );
    match begins && parts.all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(path),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not below proc or sys"))
        }
    }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(value.as_bytes())
}

fn live(host: &Host) -> io::Result<()> {
    match host.is_this() {
        true => Ok(()),
        false => Err(io::Error::other("the inspected host is not this host")),
    }
}

fn parse(schedule: &str) -> Option<ThreadPriority> {
    let (class, priority) = schedule.split_once(' ')?;
    let all = [
        SchedulingClass::Other,
        SchedulingClass::Idle,
        SchedulingClass::Fifo,
        SchedulingClass::RoundRobin,
    ];
    let class = all.into_iter().find(|it| it.to_string() == class)?;
    let priority = priority.parse().ok()?;
    Some(ThreadPriority { class, priority })
}

fn tc(arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("tc").args(arguments).stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().next().unwrap_or("tc failed");
            Err(io::Error::other(first.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_chosen() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen("950000\n"), "950000");
        assert_eq!(chosen("["), "[");
    }

    #[test]
    fn a_record_leads_nowhere_else() {
        for path in ["etc/passwd", "/proc/x", "proc/../etc/x", "", "sys/./../x"] {
            assert!(safe(path).is_err(), "{path}");
        }
        assert!(safe("proc/sys/vm/x").is_ok() && safe("sys/a").is_ok());
    }

    #[test]
    fn schedules_are_read_back() {
        let fifo = ThreadPriority { class: SchedulingClass::Fifo, priority: 50 };
        assert_eq!(parse("SCHED_FIFO 50"), Some(fifo));
        assert_eq!(parse("SCHED_OTHER 0"), Some(ThreadPriority::default()));
        assert_eq!(parse("policy 9"), None);
    }
}
