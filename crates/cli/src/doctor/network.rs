//! The way of packets to and from a lane.

use super::finding::Finding;
use super::host::Host;

const DEVICES: &str = "sys/class/net";

/// Queueing disciplines that send packets of higher SO_PRIORITY first.
const BY_PRIORITY: [&str; 3] = ["pfifo_fast", "prio", "mqprio"];

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let devices = host.names(DEVICES);
    let real = |name: &&String| host.has(&format!("{DEVICES}/{name}/device"));
    let devices: Vec<&String> = devices.iter().filter(real).collect();
    let mut findings: Vec<Finding> = Vec::new();
    if let Some(first) = devices.first() {
        findings.push(polling(host, &devices));
        findings.extend(queueing(host, first));
    }
    findings
}

/// Who takes packets from the devices.
fn polling(host: &Host, devices: &[&String]) -> Finding {
    const NAME: &str = "arriving packets";
    let unthreaded =
        |name: &&&String| host.number(&format!("{DEVICES}/{name}/threaded")) == Some(0);
    let slow: Vec<&str> = devices
        .iter()
        .filter(unthreaded)
        .map(|it| it.as_str())
        .collect();
    match slow.first() {
        None => Finding::good(NAME, "threads of their own take them"),
        Some(first) => Finding::improve(
            NAME,
            format!("taken in software interrupts: {}", slow.join(" ")),
            "Packets of bulk and of urgent calls delay each other and any thread of that processor. Threads have a priority.",
            &[
                &format!("echo 1 > /sys/class/net/{first}/threaded"),
                &format!("for it in $(pgrep napi/{first}); do chrt -f -p 50 $it; done"),
            ],
        ),
    }
}

/// In which order packets leave.
fn queueing(host: &Host, device: &str) -> Option<Finding> {
    const NAME: &str = "leaving packets";
    let discipline = host.text("proc/sys/net/core/default_qdisc")?;
    Some(match BY_PRIORITY.contains(&&*discipline) {
        true => Finding::good(
            NAME,
            format!("{discipline}: by priority, unless a device has another queue"),
        ),
        false => Finding::improve(
            NAME,
            format!("{discipline}, unless a device has another queue"),
            "Packets of urgent calls wait behind those of others where the link is slower than the host.",
            &[&format!("tc qdisc replace dev {device} root prio")],
        ),
    })
}
