//! Kernel privileges and limits of this user.

use super::change::Change;
use super::finding::{Finding, NEEDS_OWNER};
use super::host::Host;

/// Capability to set any priority.
const CAP_SYS_NICE: u32 = 23;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let mut findings = vec![priority(host)];
    findings.extend(quota(host));
    findings.extend(group(host));
    findings.extend(memory(host));
    findings.extend(processors(host));
    findings
}

/// Returns the version 2 control group and all its ancestors, as paths below `sys/fs/cgroup`. In a cgroup namespace,
/// the group is the visible root.
fn groups(host: &Host) -> Option<Vec<String>> {
    let groups = host.text("proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let group = group.trim_end_matches('/');
    let mut paths = vec![group.to_owned()];
    let mut rest = group;
    while let Some((above, _)) = rest.rsplit_once('/') {
        paths.push(above.to_owned());
        rest = above;
    }
    if !group.is_empty() && !paths.iter().any(String::is_empty) {
        paths.push(String::new());
    }
    Some(paths)
}

/// Returns the finding on memory limits, beyond which threads of the control group are slowed down or killed.
fn memory(host: &Host) -> Option<Finding> {
    const NAME: &str = "memory of the control group";
    let paths = groups(host)?;
    let limit = |what: &'static str| {
        let of = |group: &String| host.text(&format!("sys/fs/cgroup{group}/{what}"));
        paths.iter().filter_map(of).collect::<Vec<_>>()
    };
    let (high, most) = (limit("memory.high"), limit("memory.max"));
    if high.is_empty() && most.is_empty() {
        return None;
    }
    let bound = |all: &[String]| all.iter().filter_map(|it| it.parse::<u64>().ok()).min();
    Some(match (bound(&high), bound(&most)) {
        (None, None) => Finding::good(NAME, "any"),
        (Some(octets), _) => Finding::improve(
            NAME,
            format!("slowed down above {octets} octets (memory.high)"),
            "Above the limit every thread of the group has to give back memory before it goes on, urgent or not.",
            &["unit of systemd: MemoryHigh=infinity", "container: no --memory-reservation"],
        )
        .left(NEEDS_OWNER),
        (None, Some(octets)) => Finding::good(NAME, format!("up to {octets} octets (memory.max)")),
    })
}

/// Returns the finding on the processors of the control group.
fn processors(host: &Host) -> Option<Finding> {
    const NAME: &str = "processors of the control group";
    let paths = groups(host)?;
    let mut sets = paths.iter().map(|group| format!("sys/fs/cgroup{group}/cpuset.cpus.effective"));
    let allowed = sets.find_map(|path| host.processors(&path))?;
    let isolated = host.processors("sys/devices/system/cpu/isolated");
    let isolated = isolated.unwrap_or_default();
    let lacks: Vec<String> =
        isolated.iter().filter(|it| !allowed.contains(it)).map(ToString::to_string).collect();
    Some(match lacks.is_empty() {
        true => Finding::good(NAME, format!("{} of them", allowed.len())),
        false => Finding::improve(
            NAME,
            format!("not the isolated {}", lacks.join(",")),
            "Lanes cannot be bound to the processors that were kept free for them.",
            &["unit of systemd: AllowedCPUs=", "container: --cpuset-cpus"],
        )
        .left(NEEDS_OWNER),
    })
}

fn priority(host: &Host) -> Finding {
    const NAME: &str = "real-time priority";
    const MEANS: &str =
        "Lanes run as ordinary threads, and their order is the order of their ports alone.";
    const CURES: [&str; 3] = [
        "/etc/security/limits.d/oxorb.conf: @realtime - rtprio 99",
        "unit of systemd: LimitRTPRIO=99",
        "container: --cap-add SYS_NICE",
    ];
    if host.is_capable(CAP_SYS_NICE) {
        return Finding::good(NAME, "1 to 99 (CAP_SYS_NICE)");
    }
    match host.limit("Max realtime priority") {
        None => Finding::unknown(NAME, "the kernel does not tell the limit", MEANS, &CURES),
        Some(None) => Finding::good(NAME, "1 to 99"),
        Some(Some(0)) => Finding::improve(NAME, "none", MEANS, &CURES).left(NEEDS_OWNER),
        Some(Some(most)) if most >= 99 => Finding::good(NAME, "1 to 99"),
        Some(Some(most)) => Finding::improve(
            NAME,
            format!("1 to {most}"),
            "Lanes of higher native priorities are not given theirs.",
            &CURES,
        )
        .left(NEEDS_OWNER),
    }
}

/// Returns the finding on the processor time of the control group.
fn quota(host: &Host) -> Option<Finding> {
    const NAME: &str = "processor time of the control group";
    let limits = groups(host)?.into_iter();
    let limits = limits.filter_map(|group| host.text(&format!("sys/fs/cgroup{group}/cpu.max")));
    let limits: Vec<String> = limits.collect();
    // The limit of any ancestor may apply, so report the first one that is set.
    let most = limits.iter().find(|it| !it.starts_with("max"));
    match most.or(limits.first())?.split_once(' ') {
        Some(("max", _)) => Some(Finding::good(NAME, "any")),
        Some((quota, period)) => Some(
            Finding::improve(
                NAME,
                format!("{quota} us of each {period} us"),
                "All ordinary threads of the group stop when its time is used up.",
                &[
                    "unit of systemd: CPUQuota= (empty)",
                    "container: no limit of processors, but a set of them (--cpuset-cpus)",
                ],
            )
            .left(NEEDS_OWNER),
        ),
        None => None,
    }
}

/// Returns the finding on real-time threads in version 1 control groups.
fn group(host: &Host) -> Option<Finding> {
    const NAME: &str = "real-time threads of the control group";
    let groups = host.text("proc/self/cgroup")?;
    let of_cpu = |line: &str| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let is_it = controllers.split(',').any(|it| it == "cpu");
        is_it.then(|| group.trim_end_matches('/').to_owned())
    };
    let group = groups.lines().find_map(of_cpu)?;
    match host.number(&format!("sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us"))? {
        0 => Some(
            Finding::improve(
                NAME,
                "none",
                "The kernel refuses real-time priorities to all threads of the group.",
                &[&format!("echo 950000 > /sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us")],
            )
            .by([Change::write(format!("sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us"), "950000")]),
        ),
        time => Some(Finding::good(NAME, format!("{time} us of each period"))),
    }
}
