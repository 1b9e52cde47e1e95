//! Memory latency.

use super::change::Change;
use super::finding::{Finding, NEEDS_OWNER};
use super::host::Host;

/// Locked memory in octets that an ORB with some lanes and shared memory needs.
const LOCKED: u64 = 64 << 20;

/// Capability to lock any amount of memory.
const CAP_IPC_LOCK: u32 = 14;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let locks = locked(host);
    let mut findings = vec![locks, huge_pages(host)];
    findings.extend(swap(host));
    findings.extend(movers(host));
    findings
}

/// Kernel work that moves pages, or unmaps them briefly to detect their users.
const MOVERS: [(&str, &str, &str, &str); 3] = [
    (
        "locked pages that move",
        "proc/sys/vm/compact_unevictable_allowed",
        "The kernel also moves locked pages when it compacts memory, and a thread that touches such a page waits.",
        "sysctl -w vm.compact_unevictable_allowed=0",
    ),
    (
        "pages between nodes",
        "proc/sys/kernel/numa_balancing",
        "The kernel unmaps pages for a moment to see which node uses them: each causes a page fault.",
        "sysctl -w kernel.numa_balancing=0",
    ),
    (
        "merged pages",
        "sys/kernel/mm/ksm/run",
        "The kernel merges pages with the same content, and a thread that writes to a merged page waits for a copy.",
        "echo 0 > /sys/kernel/mm/ksm/run",
    ),
];

fn movers(host: &Host) -> impl Iterator<Item = Finding> {
    let look = |(name, path, means, cure)| {
        let seen = host.number(path)?;
        Some(match seen {
            0 => Finding::good(name, "no"),
            _ => Finding::improve(name, "yes", means, &[cure]).by([Change::write(path, "0")]),
        })
    };
    MOVERS.into_iter().filter_map(look)
}

fn locked(host: &Host) -> Finding {
    const NAME: &str = "locked memory";
    if host.is_capable(CAP_IPC_LOCK) {
        return Finding::good(NAME, "any (CAP_IPC_LOCK)");
    }
    match host.limit("Max locked memory") {
        None => Finding::unknown(NAME, "the kernel does not report the limit", "", &[]),
        Some(None) => Finding::good(NAME, "any"),
        Some(Some(octets)) if octets >= LOCKED => Finding::good(NAME, format!("{octets} octets")),
        Some(Some(octets)) => Finding::improve(
            NAME,
            format!("{octets} octets"),
            "Stacks and buffers cannot be locked: if a page was evicted, an urgent thread waits for the disk.",
            &[
                "/etc/security/limits.d/oxorb.conf: @realtime - memlock unlimited",
                "unit of systemd: LimitMEMLOCK=infinity",
                "container: --ulimit memlock=-1",
            ],
        )
        .left(NEEDS_OWNER),
    }
}

fn huge_pages(host: &Host) -> Finding {
    const NAME: &str = "transparent huge pages";
    const ENABLED: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    let setting = host.text(ENABLED);
    match setting.as_deref() {
        None => Finding::good(NAME, "the kernel has none"),
        Some(setting) if setting.contains("[always]") => Finding::improve(
            NAME,
            "always",
            "The kernel compacts memory in the background, and a thread that touches a page being moved waits.",
            &["echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"],
        )
        .by([Change::write(ENABLED, "madvise")]),
        Some(setting) if setting.contains("[madvise]") => {
            Finding::good(NAME, "where a program asks for them")
        }
        Some(_) => Finding::good(NAME, "never"),
    }
}

fn swap(host: &Host) -> Option<Finding> {
    const NAME: &str = "swap";
    let swaps = host.text("proc/swaps")?;
    match swaps.lines().count() {
        0 | 1 => Some(Finding::good(NAME, "off")),
        _ => Some(
            Finding::improve(
                NAME,
                "on",
                "Memory that is not locked may be swapped to a disk.",
                &["swapoff -a"],
            )
            .left("must be changed by hand: the memory may not suffice for the pages that are swapped out"),
        ),
    }
}
