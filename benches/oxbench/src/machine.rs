//! Machine, scheduling class and commit of a run, without which its numbers mean nothing.

use std::fmt;
use std::fs;
use std::process::Command;

use serde::Serialize;

/// Description of the machine, printed above every report.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// CPU model according to the kernel.
    pub(crate) cpu: String,
    /// Number of CPUs that this process may use.
    pub(crate) cpus: usize,
    /// Whether the kernel runs under a hypervisor, where wake-ups between CPUs cost tens of microseconds.
    pub(crate) virtual_machine: bool,
    /// Kernel release.
    pub(crate) kernel: String,
    /// Scheduling class that the measured processes inherit.
    pub(crate) scheduling: String,
    /// Commit of the sources of this program at the time of the run, with `-dirty` if they differ from it; `None`
    /// outside a repository.
    pub(crate) commit: Option<String>,
}

impl Machine {
    /// Queries the kernel; unavailable values are called unknown.
    pub(crate) fn this() -> Machine {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            info.lines()
                .find(|line| line.starts_with(name))
                .and_then(|line| line.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
        };
        let flags = field("flags").unwrap_or_default();
        Machine {
            cpu: field("model name").unwrap_or_else(|| "unknown".into()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            virtual_machine: flags.split_whitespace().any(|flag| flag == "hypervisor"),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".into(), |text| text.trim().to_owned()),
            scheduling: fs::read_to_string("/proc/self/stat")
                .ok()
                .and_then(|stat| scheduling_class(&stat))
                .unwrap_or_else(|| "unknown".into()),
            commit: commit(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} x {}{}, Linux {}, {}",
            self.cpus,
            self.cpu,
            if self.virtual_machine { " (virtual machine)" } else { "" },
            self.kernel,
            self.scheduling
        )?;
        match &self.commit {
            Some(commit) => write!(f, ", commit {commit}"),
            None => Ok(()),
        }
    }
}

/// Asks git for the commit of the sources.
fn commit() -> Option<String> {
    let describe =
        ["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty", "--exclude=*"];
    let output = Command::new("git").args(describe).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

/// Reads nice value, real-time priority and policy from `/proc/<pid>/stat` (fields 19, 40 and 41 of proc(5)).
fn scheduling_class(stat: &str) -> Option<String> {
    // The second field is the program's name in parentheses and may hold spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let (nice, priority) = (field(19)?, field(40)?);
    Some(match field(41)? {
        "0" => format!("SCHED_OTHER nice {nice}"),
        "1" => format!("SCHED_FIFO priority {priority}"),
        "2" => format!("SCHED_RR priority {priority}"),
        "3" => "SCHED_BATCH".into(),
        "5" => "SCHED_IDLE".into(),
        "6" => "SCHED_DEADLINE".into(),
        other => format!("scheduling policy {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_is_read_behind_a_name_with_spaces() {
        let mut fields = vec!["0"; 50];
        fields[19 - 3] = "-5";
        fields[40 - 3] = "40";
        fields[41 - 3] = "1";
        let stat = format!("17 (a (strange) name) {}", fields.join(" "));
        assert_eq!(scheduling_class(&stat).as_deref(), Some("SCHED_FIFO priority 40"));
        fields[41 - 3] = "0";
        let stat = format!("17 (oxbench) {}", fields.join(" "));
        assert_eq!(scheduling_class(&stat).as_deref(), Some("SCHED_OTHER nice -5"));
    }
}
