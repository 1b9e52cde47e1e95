//! Kernel privileges and limits of this user.

use oxorb_sys::cgroup::{ControlGroups, MemoryLimit, RealTimeLimit, TimeLimit};

use super::change::Change;
use super::finding::{Finding, NEEDS_OWNER};
use super::host::Host;

/// Capability to set any priority.
const CAP_SYS_NICE: u32 = 23;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let groups = ControlGroups::of_process(host.path(""));
    let mut findings = vec![priority(host)];
    findings.extend(interrupt_threads(host));
    findings.extend(quota(&groups));
    findings.extend(group(&groups));
    findings.extend(memory(&groups));
    findings.extend(processors(host, &groups));
    findings
}

/// Returns the finding on memory limits, beyond which threads of the control group are slowed down or killed.
fn memory(groups: &ControlGroups) -> Option<Finding> {
    const NAME: &str = "memory of the control group";
    let (high, most) = (groups.memory_high(), groups.memory());
    Some(match (high.flatten(), most.flatten()) {
        _ if high.is_none() && most.is_none() => return None,
        (None, None) => Finding::good(NAME, "any"),
        (Some(MemoryLimit { octets, file }), _) => Finding::improve(
            NAME,
            format!("slowed down above {octets} octets ({file})"),
            "Above the limit, every thread of the group must reclaim memory before it continues, urgent or not.",
            &["unit of systemd: MemoryHigh=infinity", "container: no --memory-reservation"],
        )
        .left(NEEDS_OWNER),
        (None, Some(MemoryLimit { octets, file })) => {
            Finding::good(NAME, format!("up to {octets} octets ({file})"))
        }
    })
}

/// Returns the finding on the processors of the control group.
fn processors(host: &Host, groups: &ControlGroups) -> Option<Finding> {
    const NAME: &str = "processors of the control group";
    let allowed = groups.processors()?;
    let isolated = host.processors("sys/devices/system/cpu/isolated");
    let isolated = isolated.unwrap_or_default();
    let lacks: Vec<String> =
        isolated.iter().filter(|it| !allowed.contains(it)).map(ToString::to_string).collect();
    Some(match lacks.is_empty() {
        true => Finding::good(NAME, format!("{} of them", allowed.len())),
        false => Finding::improve(
            NAME,
            format!("not the isolated {}", lacks.join(",")),
            "Lanes cannot be bound to the processors that are reserved for them.",
            &["unit of systemd: AllowedCPUs=", "container: --cpuset-cpus"],
        )
        .left(NEEDS_OWNER),
    })
}

fn priority(host: &Host) -> Finding {
    const NAME: &str = "real-time priority";
    const MEANS: &str =
        "Lanes run as ordinary threads, so their separate ports are all that distinguishes them.";
    const CURES: [&str; 3] = [
        "/etc/security/limits.d/oxorb.conf: @realtime - rtprio 99",
        "unit of systemd: LimitRTPRIO=99",
        "container: --cap-add SYS_NICE",
    ];
    if host.is_capable(CAP_SYS_NICE) {
        return Finding::good(NAME, "1 to 99 (CAP_SYS_NICE)");
    }
    match host.limit("Max realtime priority") {
        None => Finding::unknown(NAME, "the kernel does not report the limit", MEANS, &CURES),
        Some(None) => Finding::good(NAME, "1 to 99"),
        Some(Some(0)) => Finding::improve(NAME, "none", MEANS, &CURES).left(NEEDS_OWNER),
        Some(Some(most)) if most >= 99 => Finding::good(NAME, "1 to 99"),
        Some(Some(most)) => Finding::improve(
            NAME,
            format!("1 to {most}"),
            "Lanes with higher native priorities do not get them.",
            &CURES,
        )
        .left(NEEDS_OWNER),
    }
}

/// Returns the finding on the kernel's threads of interrupts, whose priority (usually 50) is among those that a mapping
/// gives to lanes; `None` if there are no such threads.
fn interrupt_threads(host: &Host) -> Option<Finding> {
    const NAME: &str = "threads of interrupts";
    let is_one = |id: &&String| {
        id.parse::<u32>().is_ok()
            && host.text(&format!("proc/{id}/comm")).is_some_and(|name| name.starts_with("irq/"))
    };
    let ids = host.names("proc");
    let priorities = ids.iter().filter(is_one).filter_map(|id| host.real_time_priority(id));
    let priorities: Vec<i32> = priorities.filter(|priority| *priority > 0).collect();
    let lowest = *priorities.iter().min()?;
    let most = match host.is_capable(CAP_SYS_NICE) {
        true => 99,
        // An unknown limit is a finding of `priority`.
        false => host.limit("Max realtime priority").flatten().unwrap_or(99).min(99),
    };
    let seen = format!(
        "{} of real-time priority, the lowest {lowest}; this process may have {most}",
        priorities.len()
    );
    Some(match u64::try_from(lowest).is_ok_and(|lowest| most < lowest) {
        true => Finding::good(NAME, seen),
        false => Finding::improve(
            NAME,
            seen,
            "A busy thread of a lane with the same or a higher native priority delays the interrupts of devices: \
             packets and disks wait. The mapping linear gives 50 and more to CORBA priorities above 16383.",
            &[
                "CORBA priorities of lanes: at most 16383 with -ORBPriorityMapping linear, 48 with continuous",
                "a mapping of the program: MappingChoice::User with Mapping::Linear(NativeRange::new(1, 49))",
                "a limit for the process: ulimit -r 49, or LimitRTPRIO=49 in a unit of systemd",
            ],
        )
        .left("depends on which lanes are more urgent than devices"),
    })
}

/// Returns the finding on the processor time of the control group.
fn quota(groups: &ControlGroups) -> Option<Finding> {
    const NAME: &str = "processor time of the control group";
    Some(match groups.processor_time()? {
        None => Finding::good(NAME, "any"),
        Some(TimeLimit { time, period }) => Finding::improve(
            NAME,
            format!("{} us of each {} us", time.as_micros(), period.as_micros()),
            "All ordinary threads of the group stop when the group's time is used up.",
            &[
                "unit of systemd: CPUQuota= (empty)",
                "container: a set of processors (--cpuset-cpus) instead of a limit",
            ],
        )
        .left(NEEDS_OWNER),
    })
}

/// Returns the finding on real-time threads in version 1 control groups.
fn group(groups: &ControlGroups) -> Option<Finding> {
    const NAME: &str = "real-time threads of the control group";
    let RealTimeLimit { time, file, .. } = groups.real_time()?;
    Some(match time {
        None => Finding::good(NAME, "any"),
        Some(time) if time.is_zero() => Finding::improve(
            NAME,
            "none",
            "The kernel refuses real-time priorities to all threads of the group.",
            &[&format!("echo 950000 > /{file}")],
        )
        .by([Change::write(file, "950000")]),
        Some(time) => Finding::good(NAME, format!("{} us of each period", time.as_micros())),
    })
}
