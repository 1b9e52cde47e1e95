//! `oxorb doctor` on the control groups of the host that runs the tests. The limits differ from host to host, so the
//! tests compare the findings with the kernel's files, and require no limit.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::text;

const ROOT: &str = "/sys/fs/cgroup";

const PROCESSOR_TIME: &str = "processor time of the control group";
const MEMORY: &str = "memory of the control group";
const PROCESSORS: &str = "processors of the control group";
const REAL_TIME: &str = "real-time threads of the control group";

/// Maximum number of attempts to read the files while no other program changes them.
const ATTEMPTS: usize = 10;

/// Readable limits of the control groups of this process in both versions: those of its own group first, then of the
/// groups above it.
#[derive(Debug, Default, PartialEq)]
struct Limits {
    /// Version 2: `cpu.max`.
    quotas: Vec<String>,
    /// Version 1: `cpu.cfs_quota_us`, a blank, and `cpu.cfs_period_us`.
    first_quotas: Vec<String>,
    /// Version 2: `memory.high`.
    high: Vec<String>,
    /// Version 2: `memory.max`.
    most: Vec<String>,
    /// Version 1: `memory.limit_in_bytes`.
    first_most: Vec<String>,
    /// Version 2: `cpuset.cpus.effective`, and version 1: `cpuset.cpus`.
    processors: Vec<String>,
    /// Version 1: `cpu.rt_runtime_us`.
    real_time: Vec<String>,
}

impl Limits {
    fn read() -> Limits {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
        let own = own.map(|group| Path::new(group).ancestors().map(|it| Path::new(ROOT).join(it)));
        let paths: Vec<PathBuf> = own.into_iter().flatten().collect();
        let all = |name: &str| -> Vec<String> {
            paths.iter().filter_map(|group| content(&group.join(name))).collect()
        };
        let first = |controller: &str, read: &dyn Fn(&Path) -> Option<String>| -> Vec<String> {
            let group = groups.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, group) = rest.split_once(':')?;
                let is_it = controllers.split(',').any(|it| it == controller);
                is_it.then(|| Path::new(group.trim_matches('/')))
            });
            let above = group.into_iter().flat_map(Path::ancestors);
            above.filter_map(|group| read(&Path::new(ROOT).join(controller).join(group))).collect()
        };
        let quota = |group: &Path| {
            let time = content(&group.join("cpu.cfs_quota_us"))?;
            Some(format!("{time} {}", content(&group.join("cpu.cfs_period_us"))?))
        };
        let mut processors = all("cpuset.cpus.effective");
        processors.extend(first("cpuset", &|group| content(&group.join("cpuset.cpus"))));
        processors.retain(|list| !list.is_empty());
        Limits {
            quotas: all("cpu.max"),
            first_quotas: first("cpu", &quota),
            high: all("memory.high"),
            most: all("memory.max"),
            first_most: first("memory", &|group| content(&group.join("memory.limit_in_bytes"))),
            processors,
            real_time: first("cpu", &|group| content(&group.join("cpu.rt_runtime_us"))),
        }
    }
}

fn content(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Returns the smallest limit that is a number. In version 1, the largest number of whole pages is no limit.
fn smallest(limits: &[String]) -> Option<u64> {
    limits.iter().filter_map(|it| it.parse().ok()).filter(|octets| *octets < 1 << 62).min()
}

/// Returns the state that the doctor reports for each finding on this host.
fn findings() -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["doctor", "--format", "json"])
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let string = |value: &Value| value.as_str().expect("a text").to_owned();
    findings.iter().map(|it| (string(&it["name"]), string(&it["seen"]))).collect()
}

/// Prints a message past the test harness, which hides the output of tests that pass.
fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "doctor_cgroups: {message}");
}

#[test]
fn findings_on_control_groups_are_those_of_the_kernels_files() {
    for _ in 0..ATTEMPTS {
        let limits = Limits::read();
        let seen = findings();
        // Another program may change a limit meanwhile.
        if limits == Limits::read() {
            if limits == Limits::default() {
                say("this host has no readable limits of control groups below /sys/fs/cgroup");
            }
            return compare(&limits, &seen);
        }
    }
    say("other programs change the limits of the control groups, so nothing was compared");
}

fn compare(limits: &Limits, seen: &BTreeMap<String, String>) {
    let seen = |name: &str| seen.get(name).map(String::as_str);

    let quotas = limits.quotas.iter().chain(&limits.first_quotas);
    let times = quotas.clone().filter_map(|it| {
        let (time, period) = it.split_once(' ')?;
        Some((time.parse::<u64>().ok()?, period.parse::<u64>().ok()?))
    });
    let least = times.min_by(|(one, period), (other, per)| (one * per).cmp(&(other * period)));
    let quota = match least {
        Some((time, period)) => Some(format!("{time} us of each {period} us")),
        None => quotas.clone().next().map(|_| "any".to_owned()),
    };
    assert_eq!(seen(PROCESSOR_TIME), quota.as_deref(), "{limits:?}");

    let all = [&limits.high, &limits.most, &limits.first_most];
    let is_limitable = all.iter().any(|limits| !limits.is_empty());
    let memory = match all.map(|limits| smallest(limits)) {
        [Some(high), ..] => Some(format!("slowed down above {high} octets (memory.high)")),
        [None, Some(most), first] if first.is_none_or(|first| most <= first) => {
            Some(format!("up to {most} octets (memory.max)"))
        }
        [.., Some(most)] => Some(format!("up to {most} octets (memory.limit_in_bytes)")),
        _ => is_limitable.then(|| "any".to_owned()),
    };
    assert_eq!(seen(MEMORY), memory.as_deref(), "{limits:?}");

    assert_eq!(seen(PROCESSORS).is_some(), !limits.processors.is_empty(), "{limits:?}");
    if let Some(processors) = seen(PROCESSORS)
        && let Some(count) = processors.strip_suffix(" of them")
    {
        let count: usize = count.parse().expect("a number");
        assert!(count > 0, "this process runs on a processor: {limits:?}");
    }

    let real_time = limits.real_time.first().map(|time| match time.as_str() {
        "0" => "none".to_owned(),
        "-1" => "any".to_owned(),
        time => format!("{time} us of each period"),
    });
    assert_eq!(seen(REAL_TIME), real_time.as_deref(), "{limits:?}");
}
