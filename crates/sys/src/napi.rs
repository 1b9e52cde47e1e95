//! Threads that receive packets from network devices, and their priority.
//!
//! A driver that uses NAPI processes packets in software interrupts, or in one thread per queue,
//! called `napi/DEVICE-NUMBER`. With a suitable priority of these threads, packets of urgent calls
//! do not wait for less urgent threads, and urgent threads do not wait until bulk packets are
//! processed.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::schedule::{self, ThreadPriority, ThreadScheduling};
use crate::sync::{Mutex, MutexGuard};

/// Maximum number of processes that are searched for threads of a device.
const MOST_PROCESSES: usize = 100_000;

/// Request for a scheduling class and priority of a device's NAPI threads, in effect until dropped.
/// If a device has several requests, the most urgent one applies. Dropping the last one restores
/// the device and its threads.
#[derive(Debug)]
pub struct Threaded {
    device: String,
    id: u64,
}

impl Threaded {
    /// Switches a device to NAPI threads, and sets the class and priority of each thread. The call scans all processes
    /// of the host, so it does not belong on the path of a request.
    ///
    /// # Errors
    /// [`NotThreaded`]; the device is unchanged.
    pub fn begin(device: &str, schedule: ThreadPriority) -> Result<Threaded, NotThreaded> {
        let mut devices = devices();
        let at = match devices.iter().position(|known| known.name == device) {
            Some(at) => at,
            None => {
                devices.push(Device::take(device)?);
                devices.len() - 1
            }
        };
        let known = &mut devices[at];
        known.last += 1;
        let id = known.last;
        known.wanted.push((id, schedule));
        if let Err(refused) = known.apply() {
            known.wanted.retain(|(other, _)| *other != id);
            release(&mut devices, at);
            return Err(refused);
        }
        Ok(Threaded { device: device.to_owned(), id })
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        let mut devices = devices();
        if let Some(at) = devices.iter().position(|known| known.name == self.device) {
            devices[at].wanted.retain(|(id, _)| *id != self.id);
            release(&mut devices, at);
        }
    }
}

/// Reason why the NAPI threads of a device cannot have a priority.
///
/// `Debug` prints what `Display` does.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum NotThreaded {
    /// The host has no device of this name.
    #[error("there is no such network device")]
    NoDevice,
    /// The process may not switch the device to NAPI threads (needs CAP_NET_ADMIN and a writable
    /// `/sys`).
    #[error(
        "this process may not let threads process its packets (CAP_NET_ADMIN and a writable /sys are needed): {0}"
    )]
    NotPermitted(io::Error),
    /// The device has no visible thread: its driver does not use NAPI, none of its queues is open,
    /// or this process is in a separate PID namespace.
    #[error(
        "no thread processes its packets: its driver does not use NAPI, the device is down, or this process cannot see \
         the kernel's threads (a container)"
    )]
    NoThreads,
    /// The process may not set that priority for the device's threads (CAP_SYS_NICE).
    #[error("this process may not give the kernel's threads a priority (CAP_SYS_NICE): {0}")]
    NotScheduled(io::Error),
}

impl fmt::Debug for NotThreaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the ids of the NAPI threads of a device, in ascending order. Scans all processes.
pub fn threads(device: &str) -> Vec<i32> {
    let prefix = format!("napi/{device}-");
    let mut found: Vec<i32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .take(MOST_PROCESSES)
        .filter_map(|entry| {
            let id: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
            let number = name.trim_end().strip_prefix(&prefix)?;
            number.parse::<u32>().ok().map(|_| id)
        })
        .collect();
    found.sort_unstable();
    found
}

/// Device whose threads have a requested class and priority.
#[derive(Debug)]
struct Device {
    name: String,
    /// Whether the device used NAPI threads before.
    threaded: bool,
    /// Threads whose class or priority was changed, with the original ones.
    before: Vec<(i32, ThreadPriority)>,
    wanted: Vec<(u64, ThreadPriority)>,
    last: u64,
}

static DEVICES: Mutex<Vec<Device>> = Mutex::new(Vec::new());

fn devices() -> MutexGuard<'static, Vec<Device>> {
    DEVICES.lock()
}

fn release(devices: &mut Vec<Device>, at: usize) {
    if devices[at].wanted.is_empty() {
        devices.remove(at).give_back();
    } else {
        // An error is ignored: the remaining requests were granted before, so this can only lower the priority.
        let _ = devices[at].apply();
    }
}

impl Device {
    fn take(name: &str) -> Result<Device, NotThreaded> {
        let file = setting(name).ok_or(NotThreaded::NoDevice)?;
        let threaded = fs::read_to_string(&file).map_err(|_| NotThreaded::NoThreads)?;
        let threaded = threaded.trim() != "0";
        if !threaded {
            fs::write(&file, "1").map_err(|error| match error.kind() {
                // The kernel reports EOPNOTSUPP for a device without NAPI queues.
                io::ErrorKind::Unsupported => NotThreaded::NoThreads,
                _ => NotThreaded::NotPermitted(error),
            })?;
        }
        Ok(Device {
            name: name.to_owned(),
            threaded,
            before: Vec::new(),
            wanted: Vec::new(),
            last: 0,
        })
    }

    /// Sets the most urgent requested class and priority for each thread.
    fn apply(&mut self) -> Result<(), NotThreaded> {
        let Some(most) = self.wanted.iter().map(|(_, it)| *it).max_by_key(rank) else {
            return Ok(());
        };
        let threads = threads(&self.name);
        if threads.is_empty() {
            return Err(NotThreaded::NoThreads);
        }
        for thread in threads {
            if self.before.iter().all(|(known, _)| *known != thread) {
                let Ok(ThreadScheduling::Class(schedule)) = schedule::of(thread) else {
                    continue;
                };
                self.before.push((thread, schedule));
            }
            schedule::set(thread, most).map_err(NotThreaded::NotScheduled)?;
        }
        Ok(())
    }

    fn give_back(self) {
        // The kernel reuses thread ids, so only those that still belong to the device are restored.
        let there = threads(&self.name);
        for (thread, schedule) in self.before.iter().filter(|(id, _)| there.contains(id)) {
            let _ = schedule::set(*thread, *schedule);
        }
        if !self.threaded
            && let Some(file) = setting(&self.name)
        {
            let _ = fs::write(file, "0");
        }
    }
}

fn rank(schedule: &ThreadPriority) -> (bool, i32) {
    let real_time = matches!(
        schedule.class,
        schedule::SchedulingClass::Fifo | schedule::SchedulingClass::RoundRobin
    );
    (real_time, schedule.priority)
}

/// Returns the file that switches a device to NAPI threads.
fn setting(device: &str) -> Option<PathBuf> {
    let plain = !device.is_empty() && !device.contains('/') && device != "." && device != "..";
    let folder = Path::new("/sys/class/net").join(device);
    (plain && folder.exists()).then(|| folder.join("threaded"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::SchedulingClass;

    const URGENT: ThreadPriority = ThreadPriority { class: SchedulingClass::Fifo, priority: 5 };

    #[test]
    fn a_device_that_is_not_there_is_named_so() {
        for device in ["no-such-device", "", "..", "a/b"] {
            let refused = Threaded::begin(device, URGENT).unwrap_err();
            assert!(matches!(refused, NotThreaded::NoDevice), "{refused}");
        }
    }

    /// Loopback has neither interrupts nor a driver that polls.
    #[test]
    fn loopback_has_no_threads() {
        let refused = Threaded::begin("lo", URGENT).unwrap_err();
        let expected = matches!(refused, NotThreaded::NoThreads | NotThreaded::NotPermitted(_));
        assert!(expected, "{refused}");
        assert!(devices().is_empty(), "nothing is left of it");
    }
}
