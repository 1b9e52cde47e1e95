//! Packet path between network devices and lanes.

use super::change::Change;
use super::finding::{Finding, NEEDS_OWNER};
use super::host::{Host, Queue};

const DEVICES: &str = "sys/class/net";

/// Queueing disciplines that send packets of higher SO_PRIORITY first, or each packet at its own time.
const BY_PRIORITY: [&str; 7] = ["pfifo_fast", "prio", "mqprio", "ets", "taprio", "etf", "skbprio"];

/// Capability to busy-poll for longer than `net.core.busy_read`.
const CAP_NET_ADMIN: u32 = 12;

/// Native priority that `--apply` gives threads of devices: that of interrupt threads.
const PRIORITY: i32 = 50;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let devices = host.names(DEVICES);
    let real = |name: &&String| host.has(&format!("{DEVICES}/{name}/device"));
    let devices: Vec<&String> = devices.iter().filter(real).collect();
    if devices.is_empty() {
        return Vec::new();
    }
    let mut findings = vec![polling(host, &devices)];
    findings.extend(threads(host, &devices));
    findings.push(busy(host));
    findings.extend(moderation(host, &devices));
    findings.extend(queueing(host, &devices));
    findings
}

/// Returns the finding on threads that take packets from the devices.
fn polling(host: &Host, devices: &[&String]) -> Finding {
    const NAME: &str = "arriving packets";
    let unthreaded =
        |name: &&&String| host.number(&format!("{DEVICES}/{name}/threaded")) == Some(0);
    let slow: Vec<&str> = devices.iter().filter(unthreaded).map(|it| it.as_str()).collect();
    match slow.first() {
        None => Finding::good(NAME, "dedicated threads process them"),
        Some(first) => Finding::improve(
            NAME,
            format!("processed in software interrupts: {}", slow.join(" ")),
            "Packets of bulk and urgent calls delay each other and every thread on that processor. Dedicated threads \
             have a priority.",
            &[
                &format!("echo 1 > /sys/class/net/{first}/threaded"),
                &format!("napi = \"{first}\" of a lane, which gives the threads its priority"),
            ],
        )
        .by(slow
            .iter()
            .map(|device| Change::write(format!("{DEVICES}/{device}/threaded"), "1"))),
    }
}

/// Returns the NAPI threads of these devices, and their priorities; 0: not real-time.
fn napi(host: &Host, devices: &[&String]) -> Vec<(i32, String, i32)> {
    let thread = |id: String| {
        let number: i32 = id.parse().ok()?;
        let name = host.text(&format!("proc/{id}/comm"))?;
        let (device, queue) = name.strip_prefix("napi/")?.rsplit_once('-')?;
        queue.parse::<u32>().ok()?;
        if !devices.iter().any(|it| *it == device) {
            return None;
        }
        Some((number, name, host.real_time_priority(&id)?))
    };
    host.names("proc").into_iter().filter_map(thread).collect()
}

fn threads(host: &Host, devices: &[&String]) -> Option<Finding> {
    const NAME: &str = "priority of the threads that process packets";
    let all = napi(host, devices);
    let plain: Vec<_> = all.iter().filter(|(_, _, priority)| *priority == 0).collect();
    let first = all.first()?;
    Some(match plain.first() {
        None => Finding::good(NAME, format!("{} and other real-time threads", first.2)),
        Some((id, name, _)) => Finding::improve(
            NAME,
            format!("{} of {} in SCHED_OTHER, for example {name}", plain.len(), all.len()),
            "Any busy thread with real-time priority delays the packets of urgent calls.",
            &[&format!("chrt -f -p {PRIORITY} {id}, for each")],
        )
        .by(plain.iter().map(|(id, ..)| Change::Schedule { thread: *id, priority: PRIORITY })),
    })
}

/// Returns the finding on busy polling by reads of a lane.
fn busy(host: &Host) -> Finding {
    const NAME: &str = "busy polling";
    const MEANS: &str = "Without busy polling, reads of lanes with busy_poll wait for the device's interrupt and a \
                         switch to their thread.";
    if host.is_capable(CAP_NET_ADMIN) {
        return Finding::good(NAME, "as configured for each lane (CAP_NET_ADMIN)");
    }
    match host.number("proc/sys/net/core/busy_read") {
        None => Finding::good(NAME, "the kernel does not support it, so no lane can use it"),
        Some(0) => Finding::improve(
            NAME,
            "needs a privilege, except on the newest kernels",
            MEANS,
            &[
                "container: --cap-add NET_ADMIN",
                "sysctl -w net.core.busy_read=50, which makes all sockets of the host poll",
            ],
        )
        .left(NEEDS_OWNER),
        Some(time) => Finding::good(NAME, format!("up to {time} us (net.core.busy_read)")),
    }
}

/// Returns the finding on interrupt moderation: the time for which devices hold packets back.
fn moderation(host: &Host, devices: &[&String]) -> Option<Finding> {
    const NAME: &str = "packets kept back";
    let path = |device: &str| format!("{DEVICES}/{device}/gro_flush_timeout");
    let mut all: Vec<(i64, &str)> = Vec::new();
    for device in devices {
        if let Some(time) = host.number(&path(device)) {
            all.push((time, device));
        }
    }
    let (most, device) = *all.iter().max()?;
    Some(match most {
        0 => Finding::good(NAME, "not by the kernel (ethtool -c shows the settings of the device)"),
        _ => Finding::improve(
            NAME,
            format!("{device} holds them back for up to {most} ns"),
            "A packet waits for further packets before the system processes it.",
            &[
                &format!("echo 0 > /sys/class/net/{device}/gro_flush_timeout"),
                &format!("ethtool -C {device} adaptive-rx off rx-usecs 0"),
            ],
        )
        .by(all
            .iter()
            .filter(|(time, _)| *time > 0)
            .map(|(_, device)| Change::write(path(device), "0"))),
    })
}

/// Returns the finding on queueing disciplines: the order in which packets leave.
fn queueing(host: &Host, devices: &[&String]) -> Option<Finding> {
    const NAME: &str = "leaving packets";
    const MEANS: &str =
        "Packets of urgent calls wait behind other packets if the link is slower than the host.";
    let by_priority = |kind: &str| BY_PRIORITY.contains(&kind);
    let Some(queues) = host.queues() else {
        let device = devices.first()?;
        let discipline = host.text("proc/sys/net/core/default_qdisc")?;
        return Some(match by_priority(&discipline) {
            true => Finding::good(
                NAME,
                format!("{discipline}: by priority, unless a device has another queue"),
            ),
            false => Finding::improve(
                NAME,
                format!("{discipline}, unless a device has another queue"),
                MEANS,
                &[&format!("tc qdisc replace dev {device} root pfifo_fast")],
            )
            .left("cannot be determined: tc (iproute2) shows the queue of each device"),
        });
    };
    let of = |device: &str| -> Vec<&Queue> {
        let named = queues.iter().filter(|queue| queue.dev == device);
        named.collect()
    };
    let unordered = |device: &&&String| {
        let queues = of(device);
        !queues.is_empty() && !queues.iter().any(|queue| by_priority(&queue.kind))
    };
    let slow: Vec<&&String> = devices.iter().filter(unordered).collect();
    let Some(first) = slow.first() else {
        return Some(Finding::good(NAME, "by priority"));
    };
    let root = |device: &str| of(device).into_iter().find(|queue| queue.root);
    let seen: Vec<String> = slow
        .iter()
        .map(|device| {
            let kind = root(device).map_or("other queues", |queue| queue.kind.as_str());
            format!("{device} has {kind}")
        })
        .collect();
    // The handle `0:` marks the default discipline. A discipline that an administrator configured is not replaced.
    let delivered =
        slow.iter().filter(|device| root(device).is_some_and(|queue| queue.handle == "0:"));
    let changes = delivered.map(|device| Change::Queue {
        device: device.to_string(),
        discipline: "pfifo_fast".to_owned(),
    });
    Some(
        Finding::improve(
            NAME,
            seen.join(", "),
            MEANS,
            &[&format!("tc qdisc replace dev {first} root pfifo_fast")],
        )
        .by(changes)
        .left("was configured explicitly, and must be changed by hand"),
    )
}
