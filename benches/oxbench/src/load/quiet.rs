//! Keeps out of the numbers what the machine does by itself: the kernel's throttling of real-time threads, and the time
//! that an idle (virtual) CPU takes to wake up.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use oxorb_sys::schedule::{self, Class, Schedule};
use serde::Serialize;

/// Share of each second that real-time threads may run, in us; -1: all of it.
const THROTTLE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Takes how long a CPU may take to come back from idleness, in us, for as long as it is open.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Until it is dropped, real-time threads are not throttled and some CPUs do not sleep, as far as this process may see to
/// that.
///
/// Where real-time threads take a whole CPU, it must not be kept awake: the thread that does so would starve, and the
/// kernel gives starving ones 50 ms of each second before anybody else.
pub(crate) struct Quiet {
    unthrottled: Option<Unthrottled>,
    /// While it is open, no CPU goes into a state from which it takes long to come back.
    _latency: Option<fs::File>,
    stop: Arc<AtomicBool>,
    spinners: Vec<(usize, JoinHandle<()>)>,
}

/// What was kept out, for the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KeptOut {
    pub(crate) throttling: bool,
    /// CPUs that did not sleep.
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

/// The kernel's throttling of real-time threads, switched off until this is dropped.
///
/// A child process writes the setting back when a pipe closes, so that it is restored after a kill, too: left at -1 it
/// would outlive the benchmark, and the kernel would grant every reservation of processor time from then on.
struct Unthrottled {
    restorer: Child,
}

impl Unthrottled {
    /// `None` where the setting cannot be changed.
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

/// Runs when nobody else wants the CPU (SCHED_IDLE); ends at once where that class cannot be had.
fn spin(cpu: usize, stop: &AtomicBool) {
    let idle = Schedule { class: Class::Idle, priority: 0 };
    if schedule::set_current(idle).is_err() || oxorb_sys::thread::pin_current_thread(cpu).is_err() {
        return;
    }
    while !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}
