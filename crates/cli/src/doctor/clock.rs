//! Clock source with which calls are timed.

use super::change::Change;
use super::finding::Finding;
use super::host::Host;

/// Clocks that a thread reads without a system call.
const QUICK: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];

pub(super) fn look(host: &Host) -> Vec<Finding> {
    const NAME: &str = "clock";
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let clock = host.text(&format!("{FOLDER}/current_clocksource"));
    vec![match clock.as_deref() {
        None => Finding::unknown(NAME, "the kernel does not report it", "", &[]),
        Some(clock) if QUICK.contains(&clock) => Finding::good(NAME, clock),
        Some(clock) => {
            let others = host.text(&format!("{FOLDER}/available_clocksource"));
            let others = others.unwrap_or_default();
            let mut quick = others.split_whitespace().filter(|it| QUICK.contains(it));
            let quick = quick.next();
            let cure = match quick {
                Some(quick) => format!("echo {quick} > /{FOLDER}/current_clocksource"),
                None => "none: the kernel trusts no other clock of this machine".to_owned(),
            };
            let changes =
                quick.map(|quick| Change::write(format!("{FOLDER}/current_clocksource"), quick));
            let means = "Each reading of the clock is a system call, and every call with a time limit reads the clock.";
            Finding::improve(NAME, clock, means, &[&cure])
                .by(changes)
                .left("has no other fast clock")
        }
    }]
}
