//! Suppression of two effects of the machine: the kernel's throttling of real-time threads, and the wake-up time of an
//! idle (virtual) CPU.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use serde::Serialize;

/// Share of each second that real-time threads may run, in us; -1: all of it.
const THROTTLE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Device that limits a CPU's wake-up latency to the us written to it, while open.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Guard that keeps real-time threads unthrottled and some CPUs awake until dropped, as far as this process is
/// permitted.
///
/// A CPU that real-time threads use completely must not be kept awake: the thread that does so would starve, and the
/// kernel gives starving threads 50 ms of each second ahead of all others.
pub(crate) struct Quiet {
    unthrottled: Option<Unthrottled>,
    /// Open file that keeps CPUs out of states with a long wake-up latency.
    _latency: Option<fs::File>,
    stop: Arc<AtomicBool>,
    spinners: Vec<(usize, JoinHandle<()>)>,
}

/// Effects that were suppressed, for the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KeptOut {
    pub(crate) throttling: bool,
    /// CPUs that were kept awake.
    pub(crate) awake: Vec<usize>,
}

impl Quiet {
    /// Keeps these CPUs awake.
    pub(crate) fn begin(cpus: &[usize]) -> Quiet {
        let latency = fs::File::options().write(true).open(LATENCY);
        let latency =
            latency.and_then(|mut file| file.write_all(&0i32.to_ne_bytes()).map(|()| file));
        let stop = Arc::new(AtomicBool::new(false));
        let spinners = cpus
            .iter()
            .map(|&cpu| {
                let stop = Arc::clone(&stop);
                (cpu, std::thread::spawn(move || spin(cpu, &stop)))
            })
            .collect();
        Quiet { unthrottled: Unthrottled::begin(), _latency: latency.ok(), stop, spinners }
    }

    pub(crate) fn kept_out(&self) -> KeptOut {
        let spins = self.spinners.iter().filter(|(_, it)| !it.is_finished());
        KeptOut {
            throttling: self.unthrottled.is_some(),
            awake: spins.map(|&(cpu, _)| cpu).collect(),
        }
    }
}

impl fmt::Display for KeptOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let throttled = if self.throttling { "not throttled" } else { "THROTTLED" };
        write!(f, "real-time threads {throttled}, CPUs kept awake: {:?}", self.awake)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for (_, spinner) in self.spinners.drain(..) {
            let _ = spinner.join();
        }
    }
}

/// Guard that switches off the kernel's throttling of real-time threads until dropped.
///
/// A child process restores the setting when a pipe closes, so that it is restored even after a kill: left at -1, it
/// would outlive the benchmark, and the kernel would grant every later reservation of processor time.
struct Unthrottled {
    restorer: Child,
}

impl Unthrottled {
    /// Switches throttling off; `None` if the setting cannot be changed.
    fn begin() -> Option<Unthrottled> {
        let before = fs::read_to_string(THROTTLE).ok()?;
        let restorer = Command::new("sh")
            .args(["-c", r#"cat >/dev/null; printf %s "$0" >"$1""#])
            .args([before.trim(), THROTTLE])
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .ok()?;
        let unthrottled = Unthrottled { restorer };
        fs::write(THROTTLE, "-1").ok().map(|()| unthrottled)
    }
}

impl Drop for Unthrottled {
    fn drop(&mut self) {
        drop(self.restorer.stdin.take());
        let _ = self.restorer.wait();
    }
}

/// Runs at SCHED_IDLE, when no other thread wants the CPU; ends at once if that class is unavailable.
fn spin(cpu: usize, stop: &AtomicBool) {
    let idle = ThreadPriority { class: SchedulingClass::Idle, priority: 0 };
    if schedule::set_current(idle).is_err() || oxorb_sys::thread::pin_current_thread(cpu).is_err() {
        return;
    }
    while !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}
