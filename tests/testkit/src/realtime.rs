//! Privileges for real-time scheduling: what tests of priorities and reservations need.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::peers::{missing, say};

/// Share of processor time that may be reserved, in microseconds of each second. A lock of this file
/// excludes the tests of all users, who can all read it, with no file of our own to create.
const ACCOUNT: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Whether a test of this process has found the account used up, and waited for nothing: others need not.
static USED_UP: AtomicBool = AtomicBool::new(false);

/// Reports whether this process may have SCHED_FIFO threads; [`missing`] if it may not, so that a test that returns then
/// never passes silently.
///
/// # Panics
/// Where `OXORB_REQUIRE_TOOLS` asks for the privilege and it is missing.
#[must_use = "a test without the privilege ends here"]
pub fn require_realtime() -> bool {
    granted("SCHED_FIFO (CAP_SYS_NICE or `ulimit -r`)", &["-f", "50"])
}

/// Returns the right to reserve processor time (SCHED_DEADLINE); calls [`missing`] if this process does not have it.
///
/// The kernel has one account for the whole system, so one test at a time has the right, in all processes. Linux 6.18 loses
/// count when reserved threads end, most often of those that reserved a whole processor: its account may go below zero,
/// and every reservation on the machine is refused until processors come or go. That is no want of a privilege: the test
/// is not run, and says so, also where `OXORB_REQUIRE_TOOLS` asks for it.
///
/// # Panics
/// Where `OXORB_REQUIRE_TOOLS` asks for the privilege and it is missing.
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
            // Threads that have ended keep what they reserved until their period is over.
            Err(why) if why.contains("busy") => std::thread::sleep(Duration::from_millis(200)),
            Err(why) => {
                missing(what, &why);
                return None;
            }
        }
    }
    USED_UP.store(true, Ordering::Relaxed);
    say("not tested: the kernel's account of reserved processor time is used up, or wrong\n");
    None
}

/// The right to reserve processor time, until it is dropped.
pub struct Reservations {
    _lock: File,
}

/// Reports whether the kernel keeps account of what it reserves, and so refuses more than there is. It does not where
/// `kernel.sched_rt_runtime_us` is -1: every reservation is granted then.
#[must_use = "what is expected depends on it"]
pub fn overload_is_refused() -> bool {
    let runtime = std::fs::read_to_string(ACCOUNT);
    runtime.is_ok_and(|text| text.trim() != "-1")
}

fn granted(what: &str, scheduling: &[&str]) -> bool {
    tried(scheduling).inspect_err(|why| missing(what, why)).is_ok()
}

/// Asks the kernel, by way of a process that is scheduled so.
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
