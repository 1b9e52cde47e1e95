//! Privileges for real-time scheduling, as required by tests of priorities and reservations.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::peers::{missing, say};

/// Share of processor time that may be reserved, in microseconds of each second. All users can read this file, so a
/// lock on it excludes the tests of other users, without another file.
const ACCOUNT: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Whether a test of this process has found the account exhausted after waiting. Later tests do not wait again.
static USED_UP: AtomicBool = AtomicBool::new(false);

/// Reports whether this process may have SCHED_FIFO threads; calls [`missing`] if it may not, so that a test that then
/// returns never passes silently.
///
/// # Panics
/// If `OXORB_REQUIRE_TOOLS` requires the privilege and it is missing.
#[must_use = "a test without the privilege ends here"]
pub fn require_realtime() -> bool {
    granted("SCHED_FIFO (CAP_SYS_NICE or `ulimit -r`)", &["-f", "50"])
}

/// Returns the right to reserve processor time (SCHED_DEADLINE); calls [`missing`] if this process does not have it.
///
/// The kernel has one account for the whole system, so only one test at a time has the right, in all processes. Linux
/// 6.18 miscounts when reserved threads end, most often after reservations of a whole processor: its account may become
/// negative, and every reservation on the machine is refused until processors are added or removed. That is no lack of
/// privilege: the test is skipped with a report, even if `OXORB_REQUIRE_TOOLS` requires it. If threads that are alive
/// hold the reserved time, the account is right and they are a leak; a required test then fails, and names them.
///
/// # Panics
/// If `OXORB_REQUIRE_TOOLS` requires the privilege, and it is missing or threads hold the reserved time.
#[must_use = "a test without the privilege ends here, and one with it has it until the end"]
pub fn require_reservations() -> Option<Reservations> {
    let what = "SCHED_DEADLINE (CAP_SYS_NICE, and all processors)";
    let lock = match File::open(ACCOUNT) {
        Ok(account) => account,
        Err(error) => {
            missing(what, &format!("{ACCOUNT}: {error}"));
            return None;
        }
    };
    lock.lock().expect("a lock of that file");
    let millisecond = ["-d", "-T", "1000000", "-D", "100000000", "-P", "100000000"];
    let reserve = millisecond.into_iter().chain(["0"]);
    let reserve: Vec<_> = reserve.collect();
    let tries = if USED_UP.load(Ordering::Relaxed) { 1 } else { 10 };
    for _ in 0..tries {
        match tried(&reserve) {
            Ok(()) => return Some(Reservations { _lock: lock }),
            // Ended threads keep their reservation until the end of their period.
            Err(why) if why.contains("busy") => std::thread::sleep(Duration::from_millis(200)),
            Err(why) => {
                missing(what, &why);
                return None;
            }
        }
    }
    USED_UP.store(true, Ordering::Relaxed);
    match reserved_threads().as_slice() {
        [] => say(
            "not tested: the kernel's account of reserved processor time is wrong: no thread has any\n",
        ),
        holders => missing(what, &format!("it is reserved by {}", holders.join(", "))),
    }
    None
}

/// Returns the threads of all processes that have reserved processor time, as process, thread and name.
fn reserved_threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|process| {
        let id: u32 = process.file_name().to_str()?.parse().ok()?;
        Some((id, std::fs::read_dir(process.path().join("task")).ok()?))
    });
    let threads = tasks.flat_map(|(id, tasks)| tasks.flatten().map(move |task| (id, task)));
    let reserved = threads.filter_map(|(id, task)| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        let name = reserved_name(&stat)?;
        Some(format!("{id}/{} ({name})", task.file_name().to_string_lossy()))
    });
    reserved.collect()
}

/// Returns the name of a thread of an application that is scheduled by SCHED_DEADLINE, from its `stat`. Threads of the
/// kernel, such as those that set clock rates, are not counted by its account.
fn reserved_name(stat: &str) -> Option<&str> {
    const SCHED_DEADLINE: u32 = 6;
    const OF_THE_KERNEL: u32 = 0x0020_0000;
    let (head, fields) = stat.rsplit_once(") ")?;
    // Fields 9 and 41 of proc_pid_stat(5); the first here is field 3.
    let field = |at: usize| fields.split_whitespace().nth(at - 3)?.parse::<u32>().ok();
    let is_counted = field(41)? == SCHED_DEADLINE && field(9)? & OF_THE_KERNEL == 0;
    is_counted.then_some(head.split_once('(')?.1)
}

/// Right to reserve processor time, until dropped.
pub struct Reservations {
    _lock: File,
}

/// Reports whether the kernel accounts for reservations, and so refuses an overload. It does not if
/// `kernel.sched_rt_runtime_us` is -1: every reservation is then granted.
#[must_use = "what is expected depends on it"]
pub fn overload_is_refused() -> bool {
    let runtime = std::fs::read_to_string(ACCOUNT);
    runtime.is_ok_and(|text| text.trim() != "-1")
}

fn granted(what: &str, scheduling: &[&str]) -> bool {
    tried(scheduling).inspect_err(|why| missing(what, why)).is_ok()
}

/// Tests whether the kernel accepts the scheduling, in a separate process.
fn tried(scheduling: &[&str]) -> Result<(), String> {
    let tried = Command::new("chrt")
        .args(scheduling)
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("chrt cannot be run: {error}"))?;
    match tried.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_reserved_time_are_found_by_their_policy() {
        let stat = |name: &str, flags: u32, policy: u32| {
            let mut fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
            fields[9 - 3] = flags.to_string();
            fields[41 - 3] = policy.to_string();
            format!("7 ({name}) {}\n", fields.join(" "))
        };
        assert_eq!(reserved_name(&stat("a) (b", 0x40, 6)), Some("a) (b"));
        assert_eq!(reserved_name(&stat("fifo", 0x40, 1)), None);
        assert_eq!(reserved_name(&stat("sugov:0", 0x0020_8040, 6)), None);
        assert_eq!(reserved_name("7 (a"), None);
    }
}
