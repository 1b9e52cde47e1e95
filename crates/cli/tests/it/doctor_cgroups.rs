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

/// Readable limits of the control groups of this process: those of its own group first, then of the groups above it.
#[derive(Debug, Default, PartialEq)]
struct Limits {
    /// Version 2: `cpu.max`.
    quotas: Vec<String>,
    /// Version 2: `memory.high`.
    high: Vec<String>,
    /// Version 2: `memory.max`.
    most: Vec<String>,
    /// Version 2: `cpuset.cpus.effective`.
    processors: Vec<String>,
    /// Version 1: `cpu.rt_runtime_us` of its own group.
    real_time: Option<i64>,
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
        let first_version = groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, group) = rest.split_once(':')?;
            let is_it = controllers.split(',').any(|it| it == "cpu");
            is_it.then(|| group.trim_matches('/'))
        });
        let real_time = first_version.and_then(|group| {
            let path = Path::new(ROOT).join("cpu").join(group).join("cpu.rt_runtime_us");
            content(&path)?.parse().ok()
        });
        Limits {
            quotas: all("cpu.max"),
            high: all("memory.high"),
            most: all("memory.max"),
            processors: all("cpuset.cpus.effective"),
            real_time,
        }
    }
}

fn content(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// Returns the smallest limit that is a number.
fn smallest(limits: &[String]) -> Option<u64> {
    limits.iter().filter_map(|it| it.parse().ok()).min()
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

    let bounded = limits.quotas.iter().find(|it| !it.starts_with("max"));
    let quota = match (bounded, limits.quotas.first()) {
        (Some(quota), _) => {
            quota.split_once(' ').map(|(time, period)| format!("{time} us of each {period} us"))
        }
        (None, first) => first.map(|_| "any".to_owned()),
    };
    assert_eq!(seen(PROCESSOR_TIME), quota.as_deref(), "{limits:?}");

    let is_limitable = !limits.high.is_empty() || !limits.most.is_empty();
    let memory = match (smallest(&limits.high), smallest(&limits.most)) {
        (Some(high), _) => Some(format!("slowed down above {high} octets (memory.high)")),
        (None, Some(most)) => Some(format!("up to {most} octets (memory.max)")),
        (None, None) => is_limitable.then(|| "any".to_owned()),
    };
    assert_eq!(seen(MEMORY), memory.as_deref(), "{limits:?}");

    assert_eq!(seen(PROCESSORS).is_some(), !limits.processors.is_empty(), "{limits:?}");
    if let Some(processors) = seen(PROCESSORS)
        && let Some(count) = processors.strip_suffix(" of them")
    {
        let count: usize = count.parse().expect("a number");
        assert!(count > 0, "this process runs on a processor: {limits:?}");
    }

    let real_time = limits.real_time.map(|time| match time {
        0 => "none".to_owned(),
        time => format!("{time} us of each period"),
    });
    assert_eq!(seen(REAL_TIME), real_time.as_deref(), "{limits:?}");
}
