//! Scheduling latency of the kernel for urgent threads.

use super::change::Change;
use super::finding::{Finding, NEEDS_START};
use super::host::Host;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let mut findings = vec![preemption(host)];
    findings.extend(throttling(host));
    findings.extend(starving(host));
    findings
}

/// Reports whether the kernel has deadline servers for starving ordinary processes, in place of throttling real-time
/// threads: since Linux 6.12.
fn has_servers(host: &Host) -> bool {
    release(host).is_some_and(|release| release >= (6, 12))
}

fn release(host: &Host) -> Option<(u32, u32)> {
    let release = host.text("proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|it: char| !it.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// File with the preemption model, if it can be chosen at run time.
const DYNAMIC: &str = "sys/kernel/debug/sched/preempt";

fn preemption(host: &Host) -> Finding {
    const NAME: &str = "preemption";
    const MEANS: &str = "A thread of high priority waits while the kernel works for another thread, in the worst case \
                         for milliseconds.";
    const CURE: &str = "a kernel with PREEMPT_RT (Debian: apt install linux-image-rt-amd64)";
    let version = host.text("proc/version").unwrap_or_default();
    let has = |word: &str| version.split_whitespace().any(|it| it == word);
    if host.number("sys/kernel/realtime") == Some(1) || has("PREEMPT_RT") {
        return Finding::good(NAME, "PREEMPT_RT");
    }
    let line = host.text("proc/cmdline").unwrap_or_default();
    let asked = line.split_whitespace().find_map(|word| word.strip_prefix("preempt="));
    // If the file is readable, its text shows the present value in parentheses.
    let told = host.text(DYNAMIC).unwrap_or_default();
    let holds = told.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let chosen = holds.map(|(word, _)| word).or(asked);
    let full = match holds {
        Some(_) => vec![Change::write(DYNAMIC, "full")],
        None => Vec::new(),
    };
    match chosen {
        _ if has("PREEMPT") && !has("PREEMPT_DYNAMIC") => {
            Finding::improve(NAME, "PREEMPT: preemptible except under a spin lock", MEANS, &[CURE])
                .left(NEEDS_START)
        }
        Some("full") if has("PREEMPT_DYNAMIC") => Finding::improve(
            NAME,
            "preempt=full: preemptible except under a spin lock",
            MEANS,
            &[CURE],
        )
        .left(NEEDS_START),
        _ if has("PREEMPT_DYNAMIC") => {
            let seen = chosen
                .map_or("PREEMPT_DYNAMIC, with the default of the kernel build".to_owned(), |it| {
                    format!("preempt={it}")
                });
            let cures = [
                "command line of the kernel: preempt=full",
                "echo full > /sys/kernel/debug/sched/preempt",
                CURE,
            ];
            Finding::improve(NAME, seen, MEANS, &cures).by(full).left(NEEDS_START)
        }
        _ if version.is_empty() => {
            Finding::unknown(NAME, "/proc/version cannot be read", MEANS, &[])
        }
        _ => Finding::improve(NAME, "voluntary or none", MEANS, &[CURE]).left(NEEDS_START),
    }
}

/// Returns the finding on throttling; `None` if the kernel has deadline servers and the control group has no limit.
/// Such a kernel does not throttle real-time threads for the sake of other processes.
fn throttling(host: &Host) -> Option<Finding> {
    const NAME: &str = "throttling";
    if has_servers(host) && !host.has("sys/fs/cgroup/cpu/cpu.rt_runtime_us") {
        return None;
    }
    let runtime = host.number("proc/sys/kernel/sched_rt_runtime_us");
    let period = host.number("proc/sys/kernel/sched_rt_period_us");
    Some(match (runtime, period) {
        (Some(-1), _) => Finding::good(NAME, "threads with real-time priority are never stopped"),
        (Some(runtime), Some(period)) => Finding::improve(
            NAME,
            format!("threads with real-time priority may use {runtime} us of each {period} us"),
            "Lanes that use more stop until the period ends. Without this limit, a thread that never blocks occupies \
             its processor permanently.",
            &["sysctl -w kernel.sched_rt_runtime_us=-1"],
        )
        .by([Change::write("proc/sys/kernel/sched_rt_runtime_us", "-1")]),
        _ => Finding::unknown(NAME, "the kernel does not report it", "", &[]),
    })
}

/// Returns the finding on the kernel's servers for starving ordinary processes, which exist since Linux 6.12.
fn starving(host: &Host) -> Option<Finding> {
    const NAME: &str = "starving processes";
    const MEANS: &str = "If real-time threads keep a processor busy, ordinary processes get 50 ms of each second, \
                         before the real-time threads.";
    const FOLDER: &str = "sys/kernel/debug/sched/fair_server";
    const CURE: &str =
        "for it in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $it; done";
    let (major, minor) = release(host).filter(|_| has_servers(host))?;
    let processors = host.names(FOLDER);
    let runtime = |name: &String| host.number(&format!("{FOLDER}/{name}/runtime"));
    let runtimes: Vec<i64> = processors.iter().filter_map(runtime).collect();
    Some(match runtimes.iter().max() {
        Some(0) if runtimes.len() == processors.len() => {
            Finding::good(NAME, "they wait for real-time threads")
        }
        Some(most) if *most > 0 => {
            let seen = format!("they have up to {} us of each second", most / 1000);
            let off = |name: &String| Change::write(format!("{FOLDER}/{name}/runtime"), "0");
            Finding::improve(NAME, seen, MEANS, &[CURE]).by(processors.iter().map(off))
        }
        _ => {
            let seen = format!(
                "Linux {major}.{minor} has servers for them, but does not report their time"
            );
            let cures = ["mount -t debugfs none /sys/kernel/debug", CURE];
            Finding::unknown(NAME, seen, MEANS, &cures)
        }
    })
}
