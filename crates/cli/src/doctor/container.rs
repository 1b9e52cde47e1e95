//! Confinement of this process: containers, capabilities, filters of system calls.

use super::finding::{Finding, NEEDS_OWNER};
use super::host::Host;

/// Capabilities that lanes use: number, name, and purpose.
const USED: [(u32, &str, &str); 3] = [
    (23, "SYS_NICE", "priorities and reserved time"),
    (14, "IPC_LOCK", "locked memory"),
    (12, "NET_ADMIN", "busy polling and threads of devices"),
];

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let mut findings = vec![capabilities(host), container(host)];
    findings.extend(filter(host));
    findings
}

fn capabilities(host: &Host) -> Finding {
    const NAME: &str = "capabilities";
    if host.text("proc/self/status").is_none() {
        return Finding::unknown(NAME, "the kernel does not report it", "", &[]).left(NEEDS_OWNER);
    }
    let lacking = USED.iter().filter(|(number, ..)| !host.is_capable(*number));
    let lacking: Vec<_> = lacking.collect();
    if lacking.is_empty() {
        return Finding::good(NAME, "SYS_NICE, IPC_LOCK, NET_ADMIN");
    }
    let names: Vec<&str> = lacking.iter().map(|(_, name, _)| *name).collect();
    let uses: Vec<String> =
        lacking.iter().map(|(_, name, use_)| format!("{name} ({use_})")).collect();
    let unit: Vec<String> = names.iter().map(|name| format!("CAP_{name}")).collect();
    let caps: Vec<String> = names.iter().map(|name| format!("--cap-add {name}")).collect();
    Finding::improve(
        NAME,
        format!("without {}", uses.join(", ")),
        "Lanes continue without the refused privileges, and report this once. Limits of the user may also allow \
         priorities and locked memory.",
        &[
            &format!("unit of systemd: AmbientCapabilities={}", unit.join(" ")),
            &format!("container: {}", caps.join(" ")),
        ],
    )
    .left(NEEDS_OWNER)
}

fn container(host: &Host) -> Finding {
    const NAME: &str = "container";
    let environment = host.text("proc/1/environ").unwrap_or_default();
    let named = environment.split('\0').find_map(|one| one.strip_prefix("container="));
    let groups = host.text("proc/1/cgroup").unwrap_or_default();
    // If process 2 is kthreadd, this process sees the kernel's threads, and so is in no container's PID namespace.
    let sees_kernel = host.text("proc/2/comm").is_some_and(|name| name == "kthreadd");
    // These files prove a container only if the kernel's threads are hidden, because the image of a virtual machine may
    // contain them, too.
    let left = |path: &str| !sees_kernel && host.has(path);
    let kind = match named {
        Some(name) if !name.is_empty() => Some(name.to_owned()),
        _ if left(".dockerenv") => Some("docker".to_owned()),
        _ if left("run/.containerenv") => Some("podman".to_owned()),
        _ if ["docker", "kubepods", "lxc"].iter().any(|it| groups.contains(it)) => {
            Some("by its control group".to_owned())
        }
        _ => None,
    };
    let mounts = host.text("proc/self/mounts").unwrap_or_default();
    let read_only = mounts.lines().any(|line| {
        let mut words = line.split(' ').skip(1);
        words.next() == Some("/sys")
            && words.nth(1).is_some_and(|options| options.split(',').any(|it| it == "ro"))
    });
    match (kind, read_only) {
        (None, false) => Finding::good(NAME, "none"),
        (kind, _) => {
            let kind = kind.unwrap_or_else(|| "/sys is read-only".to_owned());
            let sees = match sees_kernel {
                true => "",
                false => ", kernel threads are not visible",
            };
            Finding::improve(
                NAME,
                format!("{kind}{sees}"),
                "Findings about the kernel concern the host: apply their remedies there. Threads of devices cannot be \
                 reached from a container.",
                &["on the host: oxorb doctor", "container: --pid host --network host"],
            )
            .left("belongs to the host: run the doctor there")
        }
    }
}

/// Returns the finding on the filter of system calls.
fn filter(host: &Host) -> Option<Finding> {
    const NAME: &str = "filter of system calls";
    let status = host.text("proc/self/status")?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?;
    Some(match mode.trim() {
        "0" => Finding::good(NAME, "none"),
        _ => Finding::unknown(
            NAME,
            "there is one; the kernel does not report what it refuses",
            "A filter may refuse sched_setattr and mlockall in spite of capabilities, and delays each system call.",
            &["container: --security-opt seccomp=unconfined, or a profile that allows both"],
        )
        .left(NEEDS_OWNER),
    })
}
