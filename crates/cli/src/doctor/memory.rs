//! Memory that comes late.

use super::finding::Finding;
use super::host::Host;

/// Octets of locked memory that an ORB with some lanes and shared memory needs.
const LOCKED: u64 = 64 << 20;

/// The capability to lock any memory.
const CAP_IPC_LOCK: u32 = 14;

pub(super) fn look(host: &Host) -> Vec<Finding> {
    let locks = locked(host);
    let mut findings = vec![locks, huge_pages(host)];
    findings.extend(swap(host));
    findings
}

fn locked(host: &Host) -> Finding {
    const NAME: &str = "locked memory";
    if host.is_capable(CAP_IPC_LOCK) {
        return Finding::good(NAME, "any (CAP_IPC_LOCK)");
    }
    match host.limit("Max locked memory") {
        None => Finding::unknown(NAME, "the kernel does not tell the limit", "", &[]),
        Some(None) => Finding::good(NAME, "any"),
        Some(Some(octets)) if octets >= LOCKED => Finding::good(NAME, format!("{octets} octets")),
        Some(Some(octets)) => Finding::improve(
            NAME,
            format!("{octets} octets"),
            "Stacks and buffers cannot be locked: a page that was taken away costs an urgent thread a wait for the disk.",
            &[
                "/etc/security/limits.d/oxorb.conf: @realtime - memlock unlimited",
                "unit of systemd: LimitMEMLOCK=infinity",
            ],
        ),
    }
}

fn huge_pages(host: &Host) -> Finding {
    const NAME: &str = "transparent huge pages";
    let setting = host.text("sys/kernel/mm/transparent_hugepage/enabled");
    match setting.as_deref() {
        None => Finding::good(NAME, "the kernel has none"),
        Some(setting) if setting.contains("[always]") => Finding::improve(
            NAME,
            "always",
            "The kernel moves pages together in the background, and a thread that touches one meanwhile waits.",
            &["echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"],
        ),
        Some(setting) if setting.contains("[madvise]") => {
            Finding::good(NAME, "where a program asks")
        }
        Some(_) => Finding::good(NAME, "never"),
    }
}

fn swap(host: &Host) -> Option<Finding> {
    const NAME: &str = "swap";
    let swaps = host.text("proc/swaps")?;
    match swaps.lines().count() {
        0 | 1 => Some(Finding::good(NAME, "off")),
        _ => Some(Finding::improve(
            NAME,
            "on",
            "Memory that is not locked may be on a disk.",
            &["swapoff -a"],
        )),
    }
}
