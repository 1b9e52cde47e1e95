//! What this user may ask of the kernel.

use super::finding::Finding;
use super::host::Host;

/// The capability to set any priority.
const CAP_SYS_NICE: u32 = 23;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let mut findings = vec![priority(host)];
    findings.extend(quota(host));
    findings.extend(group(host));
    findings
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
        Some(Some(0)) => Finding::improve(NAME, "none", MEANS, &CURES),
        Some(Some(most)) if most >= 99 => Finding::good(NAME, "1 to 99"),
        Some(Some(most)) => Finding::improve(
            NAME,
            format!("1 to {most}"),
            "Lanes of higher native priorities are not given theirs.",
            &CURES,
        ),
    }
}

/// Processor time of the control group.
fn quota(host: &Host) -> Option<Finding> {
    const NAME: &str = "processor time of the control group";
    let groups = host.text("proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // In a namespace of its own the group is the root that it sees.
    let paths =
        [group, "/"].map(|group| format!("sys/fs/cgroup{}/cpu.max", group.trim_end_matches('/')));
    let most = paths.iter().find_map(|path| host.text(path))?;
    match most.split_once(' ') {
        Some(("max", _)) => Some(Finding::good(NAME, "any")),
        Some((quota, period)) => Some(Finding::improve(
            NAME,
            format!("{quota} us of each {period} us"),
            "All ordinary threads of the group stop when its time is used up.",
            &[
                "unit of systemd: CPUQuota= (empty)",
                "container: no limit of processors, but a set of them (--cpuset-cpus)",
            ],
        )),
        None => None,
    }
}

/// Real-time threads in control groups of the first version.
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
        0 => Some(Finding::improve(
            NAME,
            "none",
            "The kernel refuses real-time priorities to all threads of the group.",
            &[&format!(
                "echo 950000 > /sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us"
            )],
        )),
        time => Some(Finding::good(NAME, format!("{time} us of each period"))),
    }
}
