//! Processor time that the kernel allows the control group of this process.

use oxorb_sched::Utilization;
use oxorb_sys::cgroup::{ControlGroups, TimeLimit};

/// Returns the part of a processor that the threads of this process may use: real-time threads, or ordinary ones.
/// `None` if it is unlimited or unknown.
pub(crate) fn allowed(groups: &ControlGroups, real_time: bool) -> Option<Utilization> {
    let TimeLimit { time, period } = match real_time {
        true => {
            let limit = groups.real_time()?;
            TimeLimit { time: limit.time?, period: limit.period? }
        }
        false => groups.processor_time()??,
    };
    // Rounded down, so that guarantees never exceed the limit.
    let billionths = time.as_nanos() * 1_000_000_000 / period.as_nanos().max(1);
    Some(Utilization(u64::try_from(billionths).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn limits_of_both_versions_of_control_groups_apply_to_their_threads() {
        let root = std::env::temp_dir().join(format!("oxorb-core-allowed-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let allowed = |real_time| {
            let allowed = allowed(&ControlGroups::of_process(&root), real_time);
            allowed.map(|Utilization(billionths)| billionths)
        };
        assert_eq!((allowed(false), allowed(true)), (None, None), "there are no groups");
        write("proc/self/cgroup", "2:cpu:/radar\n0::/radar");
        write("sys/fs/cgroup/cpu/radar/cpu.cfs_quota_us", "-1");
        write("sys/fs/cgroup/cpu/radar/cpu.cfs_period_us", "100000");
        write("sys/fs/cgroup/cpu/radar/cpu.rt_runtime_us", "-1");
        write("sys/fs/cgroup/cpu/radar/cpu.rt_period_us", "1000000");
        assert_eq!((allowed(false), allowed(true)), (None, None), "they have no limits");
        write("sys/fs/cgroup/cpu/radar/cpu.cfs_quota_us", "150000");
        write("sys/fs/cgroup/cpu/radar/cpu.rt_runtime_us", "950000");
        assert_eq!((allowed(false), allowed(true)), (Some(1_500_000_000), Some(950_000_000)));
        write("sys/fs/cgroup/radar/cpu.max", "10000 30000");
        write("sys/fs/cgroup/cpu/radar/cpu.rt_runtime_us", "0");
        assert_eq!((allowed(false), allowed(true)), (Some(333_333_333), Some(0)));
        let _ = fs::remove_dir_all(&root);
    }
}
