//! Limits of the control groups of this process, in both versions of control groups.
//!
//! A limit of a group also applies to the groups below it, so all groups from the process's own up to the root of each
//! hierarchy are read. In a namespace or a container, the path of the own group may be that of the host, and the root
//! that is mounted may be the own group: files that do not exist are skipped. The kernel writes these files on demand,
//! so reading them costs system calls and memory, so time-critical threads must not read them.
//!
//! | limit | version 2 | version 1 |
//! |---|---|---|
//! | processor time of ordinary threads | `cpu.max` | `cpu.cfs_quota_us`, `cpu.cfs_period_us` |
//! | processor time of real-time threads | none | `cpu.rt_runtime_us`, `cpu.rt_period_us` |
//! | memory | `memory.high`, `memory.max` | `memory.limit_in_bytes` |
//! | processors | `cpuset.cpus.effective` | `cpuset.effective_cpus`, `cpuset.cpus` |

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of all hierarchies, below the root.
const MOUNT: &str = "sys/fs/cgroup";

/// Maximum number of octets to read from a file; files of control groups are shorter.
const MOST: u64 = 64 << 10;

/// Maximum number of groups above the own one that are read.
const DEPTH: usize = 64;

/// Maximum number of processors in a list: the number that Linux supports.
const PROCESSORS: usize = 8192;

/// Octets from which on a limit of version 1 is none: the kernel rounds its largest number down to whole pages.
const UNLIMITED: u64 = 1 << 62;

/// Control groups of this process.
#[derive(Debug, Clone)]
pub struct ControlGroups {
    root: PathBuf,
    hierarchies: Vec<Hierarchy>,
}

/// Hierarchy, with the process's group in it.
#[derive(Debug, Clone)]
struct Hierarchy {
    /// Controllers of a hierarchy of version 1; empty for that of version 2.
    controllers: String,
    /// Paths of the process's group and of the groups above it, without a slash at the end.
    groups: Vec<String>,
}

/// Processor time that a group may use in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// Processor time, of all processors together; may exceed the period.
    pub time: Duration,
    /// Period; more than 0.
    pub period: Duration,
}

/// Limit on the memory of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Number of octets.
    pub octets: u64,
    /// Name of the file that contains the limit.
    pub file: &'static str,
}

/// Processor time of the real-time threads of a group of version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealTimeLimit {
    /// Time in each period; `None` if it is unlimited. If it is zero, the kernel refuses real-time priorities.
    pub time: Option<Duration>,
    /// Period; `None` if the kernel does not report it.
    pub period: Option<Duration>,
    /// Path of the file with the time, relative to the root.
    pub file: String,
}

impl ControlGroups {
    /// Finds the control groups of this process. `root` is the directory that contains `proc` and `sys`: `/`, or a copy
    /// of another host's files.
    pub fn of_process(root: impl Into<PathBuf>) -> ControlGroups {
        let root = root.into();
        let text = text(&root, "proc/self/cgroup").unwrap_or_default();
        let hierarchies = text.lines().filter_map(Hierarchy::parse).collect();
        ControlGroups { root, hierarchies }
    }

    /// Returns the smallest share of a processor that ordinary threads may use; `Some(None)` if it is unlimited, and
    /// `None` if no file of the limit is readable.
    pub fn processor_time(&self) -> Option<Option<TimeLimit>> {
        let second = self.second("cpu.max");
        let mut limits: Vec<Option<TimeLimit>> =
            second.iter().filter_map(|(_, text)| time_limit(text)).collect();
        for (quota, text) in self.first("cpu", "cpu.cfs_quota_us") {
            let period = self.beside(&quota, "cpu.cfs_quota_us", "cpu.cfs_period_us");
            limits.extend(match (text.parse::<i64>(), period) {
                (Ok(..0), _) => Some(None),
                (Ok(time), Some(period)) => of_micros(time.unsigned_abs(), period).map(Some),
                _ => None,
            });
        }
        let (known, limits) = (!limits.is_empty(), limits.into_iter().flatten());
        known.then(|| limits.min_by(|one, other| one.share().total_cmp(&other.share())))
    }

    /// Returns the limits on the processor time of real-time threads, which exist in version 1 only; `None` without
    /// them. The limits are those of the process's own group.
    pub fn real_time(&self) -> Option<RealTimeLimit> {
        const RUNTIME: &str = "cpu.rt_runtime_us";
        let (file, text) = self.first("cpu", RUNTIME).into_iter().next()?;
        let time = text.parse::<i64>().ok()?;
        let period = self.beside(&file, RUNTIME, "cpu.rt_period_us").filter(|period| *period > 0);
        Some(RealTimeLimit {
            time: u64::try_from(time).ok().map(Duration::from_micros),
            period: period.map(Duration::from_micros),
            file,
        })
    }

    /// Returns the memory above which threads of the process must reclaim memory before they continue (version 2);
    /// `Some(None)` if it is unlimited, and `None` if no file of the limit is readable.
    pub fn memory_high(&self) -> Option<Option<MemoryLimit>> {
        let limits = self.second("memory.high");
        least("memory.high", limits.iter().map(|(_, text)| text.as_str()))
    }

    /// Returns the memory above which a process of the group is killed; `Some(None)` if it is unlimited, and `None` if
    /// no file of the limit is readable.
    pub fn memory(&self) -> Option<Option<MemoryLimit>> {
        let second = self.second("memory.max");
        let first = self.first("memory", "memory.limit_in_bytes");
        let second = least("memory.max", second.iter().map(|(_, text)| text.as_str()));
        let first = least("memory.limit_in_bytes", first.iter().map(|(_, text)| text.as_str()));
        match (second, first) {
            (Some(one), Some(other)) => {
                Some([one, other].into_iter().flatten().min_by_key(|limit| limit.octets))
            }
            (one, other) => one.or(other),
        }
    }

    /// Returns the processors that the threads of the process may run on; `None` if no file of them is readable.
    pub fn processors(&self) -> Option<Vec<usize>> {
        let all = [
            self.second("cpuset.cpus.effective"),
            self.first("cpuset", "cpuset.effective_cpus"),
            self.first("cpuset", "cpuset.cpus"),
        ];
        let mut lists = all.iter().flatten().filter(|(_, text)| !text.is_empty());
        lists.find_map(|(_, text)| processor_list(text))
    }

    /// Returns the readable files of this name in version 2, with their texts, the own group's first.
    fn second(&self, name: &str) -> Vec<(String, String)> {
        self.files(|it| it.controllers.is_empty(), |_| vec![MOUNT.to_owned()], name)
    }

    /// Returns the readable files of this name in the hierarchy of a controller of version 1, with their texts, the own
    /// group's first.
    fn first(&self, controller: &str, name: &str) -> Vec<(String, String)> {
        let has = |it: &Hierarchy| it.controllers.split(',').any(|one| one == controller);
        // The folder has the names of all controllers, and usually each of them is a symbolic link to it.
        let folders = |it: &Hierarchy| {
            let mut folders = vec![format!("{MOUNT}/{controller}")];
            if it.controllers != controller {
                folders.push(format!("{MOUNT}/{}", it.controllers));
            }
            folders
        };
        self.files(has, folders, name)
    }

    fn files(
        &self,
        which: impl Fn(&Hierarchy) -> bool,
        folders: impl Fn(&Hierarchy) -> Vec<String>,
        name: &str,
    ) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for hierarchy in self.hierarchies.iter().filter(|it| which(it)) {
            let folders = folders(hierarchy);
            for group in &hierarchy.groups {
                found.extend(folders.iter().find_map(|folder| {
                    let path = format!("{folder}{group}/{name}");
                    let text = text(&self.root, &path)?;
                    Some((path, text))
                }));
            }
        }
        found
    }

    /// Returns the number in the file `other` of the same group as the file at `path`, which is called `name`.
    fn beside(&self, path: &str, name: &str, other: &str) -> Option<u64> {
        let folder = path.strip_suffix(name)?;
        text(&self.root, &format!("{folder}{other}"))?.parse().ok()
    }
}

impl Hierarchy {
    /// Parses a line of `/proc/self/cgroup`: `4:cpu,cpuacct:/system.slice`, or `0::/system.slice` for version 2.
    fn parse(line: &str) -> Option<Hierarchy> {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let is_name = |name: &str| !name.contains(['/', '\0']) && name != "..";
        if !controllers.split(',').all(is_name) {
            return None;
        }
        // The path of a group outside of the namespace begins with `/..`, and cannot be read.
        let own = match group.split('/').any(|name| name == "..") {
            true => "",
            false => group.trim_matches('/'),
        };
        let above = Path::new(own).ancestors().take(DEPTH);
        let above = above.filter_map(Path::to_str).filter(|group| !group.is_empty());
        let mut groups: Vec<String> = above.map(|group| format!("/{group}")).collect();
        groups.push(String::new());
        Some(Hierarchy { controllers: controllers.to_owned(), groups })
    }
}

impl TimeLimit {
    /// Returns the time as a part of the period: 1 for one processor.
    pub fn share(self) -> f64 {
        self.time.as_secs_f64() / self.period.as_secs_f64()
    }
}

/// Parses a list of processors, such as `0,2-3`. Returns `None` if it is malformed, has a number of 8192 or more, or is
/// longer than that because it repeats numbers.
pub fn processor_list(list: &str) -> Option<Vec<usize>> {
    let mut processors = Vec::new();
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse::<usize>().ok()?);
        if last >= PROCESSORS {
            return None;
        }
        processors.extend(first..=last);
        if processors.len() > PROCESSORS {
            return None;
        }
    }
    Some(processors)
}

/// Parses `cpu.max`: `max 100000`, or a time and a period in microseconds. Returns `None` if it is malformed.
fn time_limit(text: &str) -> Option<Option<TimeLimit>> {
    match text.split_once(' ')? {
        ("max", _) => Some(None),
        (time, period) => of_micros(time.parse().ok()?, period.parse().ok()?).map(Some),
    }
}

fn of_micros(time: u64, period: u64) -> Option<TimeLimit> {
    let limit =
        TimeLimit { time: Duration::from_micros(time), period: Duration::from_micros(period) };
    (period > 0).then_some(limit)
}

/// Returns the smallest of the limits that are numbers.
fn least<'t>(
    file: &'static str,
    texts: impl Iterator<Item = &'t str>,
) -> Option<Option<MemoryLimit>> {
    let limits: Vec<Option<u64>> = texts.map(|text| text.parse().ok()).collect();
    let limited = limits.iter().flatten().copied().filter(|octets| *octets < UNLIMITED).min();
    (!limits.is_empty()).then(|| limited.map(|octets| MemoryLimit { octets, file }))
}

/// Returns the text of a file, trimmed; `None` if the file is missing or not readable.
fn text(root: &Path, path: &str) -> Option<String> {
    let mut text = String::new();
    let file = File::open(root.join(path)).ok()?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Folder with files of a host, removed after the test.
    struct Host(PathBuf);

    impl Host {
        fn new(test: &str, files: &[(&str, &str)]) -> Host {
            let folder = format!("oxorb-sys-cgroup-{test}-{}", std::process::id());
            let folder = std::env::temp_dir().join(folder);
            for (path, text) in files {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("{text}\n")).unwrap();
            }
            Host(folder)
        }

        fn groups(&self) -> ControlGroups {
            ControlGroups::of_process(&self.0)
        }
    }

    impl Drop for Host {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn limit(time: u64, period: u64) -> TimeLimit {
        of_micros(time, period).unwrap()
    }

    #[test]
    fn limits_of_version_1_are_read_in_each_hierarchy() {
        let host = Host::new(
            "first",
            &[
                (
                    "proc/self/cgroup",
                    "5:cpuset:/jobs\n4:memory:/jobs/radar\n3:cpu,cpuacct:/jobs/radar\n1:name=systemd:/x\n0::/x",
                ),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "50000"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/radar/cpu.cfs_quota_us", "150000"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/radar/cpu.cfs_period_us", "100000"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/radar/cpu.rt_runtime_us", "20000"),
                ("sys/fs/cgroup/cpu,cpuacct/jobs/radar/cpu.rt_period_us", "1000000"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", "950000"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
                ("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "536870912"),
                ("sys/fs/cgroup/memory/jobs/radar/memory.limit_in_bytes", "9223372036854771712"),
                ("sys/fs/cgroup/cpuset/jobs/cpuset.cpus", "0-1,3"),
                ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", ""),
            ],
        );
        let groups = host.groups();
        // The group above the own one has the smaller share.
        assert_eq!(groups.processor_time(), Some(Some(limit(50_000, 100_000))));
        let memory = MemoryLimit { octets: 536_870_912, file: "memory.limit_in_bytes" };
        assert_eq!(groups.memory(), Some(Some(memory)));
        assert_eq!(groups.memory_high(), None);
        assert_eq!(groups.processors(), Some(vec![0, 1, 3]));
        let real_time = RealTimeLimit {
            time: Some(Duration::from_millis(20)),
            period: Some(Duration::from_secs(1)),
            file: "sys/fs/cgroup/cpu,cpuacct/jobs/radar/cpu.rt_runtime_us".to_owned(),
        };
        assert_eq!(groups.real_time(), Some(real_time));
    }

    /// A container sees its own group as the root, but under the path that the group has on the host.
    #[test]
    fn the_root_that_is_mounted_may_be_the_own_group() {
        let host = Host::new(
            "container",
            &[
                ("proc/self/cgroup", "3:cpu:/docker/4f2a\n2:memory:/docker/4f2a"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
                ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "0"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576"),
            ],
        );
        let groups = host.groups();
        assert_eq!(groups.processor_time(), Some(Some(limit(25_000, 100_000))));
        assert_eq!(groups.memory().flatten().map(|limit| limit.octets), Some(1 << 20));
        let real_time = groups.real_time().unwrap();
        assert_eq!((real_time.time, real_time.period), (Some(Duration::ZERO), None));
        assert_eq!(real_time.file, "sys/fs/cgroup/cpu/cpu.rt_runtime_us");
    }

    #[test]
    fn limits_of_version_2_are_those_of_all_groups_above() {
        let host = Host::new(
            "second",
            &[
                ("proc/self/cgroup", "0::/system.slice/radar.service"),
                ("sys/fs/cgroup/system.slice/radar.service/cpu.max", "max 100000"),
                ("sys/fs/cgroup/system.slice/cpu.max", "20000 100000"),
                ("sys/fs/cgroup/system.slice/radar.service/memory.high", "max"),
                ("sys/fs/cgroup/system.slice/radar.service/memory.max", "4096"),
                ("sys/fs/cgroup/system.slice/memory.max", "8192"),
                ("sys/fs/cgroup/cpuset.cpus.effective", "0-3"),
            ],
        );
        let groups = host.groups();
        assert_eq!(groups.processor_time(), Some(Some(limit(20_000, 100_000))));
        assert_eq!(groups.memory_high(), Some(None));
        let memory = MemoryLimit { octets: 4096, file: "memory.max" };
        assert_eq!(groups.memory(), Some(Some(memory)));
        assert_eq!(groups.processors(), Some(vec![0, 1, 2, 3]));
        assert_eq!(groups.real_time(), None);
    }

    #[test]
    fn a_list_of_processors_is_bounded_even_if_it_repeats_them() {
        assert_eq!(processor_list("0,2-3"), Some(vec![0, 2, 3]));
        assert_eq!(processor_list("0-8191").map(|all| all.len()), Some(8192));
        assert_eq!(processor_list("0-8192"), None);
        assert_eq!(processor_list("0-8191,0"), None);
        assert_eq!(processor_list("two"), None);
    }

    #[test]
    fn what_is_missing_or_malformed_is_no_limit() {
        let host = Host::new("missing", &[("proc/self/cgroup", "0::/\n3:cpu:/")]);
        let groups = host.groups();
        assert_eq!((groups.processor_time(), groups.memory()), (None, None));
        assert_eq!((groups.processors(), groups.real_time()), (None, None));
        let host = Host::new(
            "malformed",
            &[
                ("proc/self/cgroup", "x\n0::/../../etc\n3:cpu,../..:/x\n4:cpu,cpuset:/../x"),
                ("sys/fs/cgroup/cpu.max", "1 0"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "99999999999999999999"),
                ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "-1"),
                ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-9999"),
                ("sys/fs/cgroup/memory.max", "many"),
            ],
        );
        let groups = host.groups();
        assert_eq!((groups.processor_time(), groups.memory()), (None, Some(None)));
        assert_eq!(groups.processors(), None);
        assert_eq!(groups.real_time().map(|limit| limit.time), Some(None));
        let nothing = Host::new("nothing", &[]).groups();
        assert_eq!(nothing.processor_time(), None);
    }
}
