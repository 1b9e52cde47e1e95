//! `oxorb doctor` on hosts made of files, and on this host.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Folder, text};

fn doctor(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .arg("doctor")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

/// Writes files below a folder.
fn host(test: &str, files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(test);
    for (path, text) in files {
        let path = folder.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

/// Returns the finding of each item: verdict, state, and cures.
fn findings(folder: &Folder) -> serde_json::Value {
    let root = folder.0.display().to_string();
    let output = doctor(&["--root", &root, "--format", "json"]);
    assert_eq!(text(&output.stderr), "");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let by_name =
        |it: &serde_json::Value| (it["name"].as_str().expect("a name").to_owned(), it.clone());
    findings.iter().map(by_name).collect::<serde_json::Map<_, _>>().into()
}

const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max locked memory         8388608              8388608              bytes
Max realtime priority     0                    0
";

/// Files of a host with default settings.
const PLAIN: [(&str, &str); 32] = [
    ("proc/version", "Linux version 6.12.9 (x) #1 SMP PREEMPT_DYNAMIC Fri"),
    ("proc/cmdline", "root=/dev/vda quiet"),
    ("proc/sys/kernel/osrelease", "6.12.9-amd64"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000"),
    ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/isolated", ""),
    ("sys/devices/system/cpu/smt/active", "1"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
    ("proc/swaps", "Filename Type\n/dev/vdb partition"),
    ("proc/self/limits", LIMITS),
    ("proc/self/status", "CapEff:\t0000000000000000"),
    ("proc/self/cgroup", "0::/user.slice"),
    ("sys/fs/cgroup/user.slice/cpu.max", "200000 100000"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet tsc"),
    ("sys/class/net/eth0/threaded", "0"),
    ("sys/class/net/eth0/device/vendor", "x"),
    ("proc/sys/net/core/default_qdisc", "fq_codel"),
    ("sys/class/net/eth0/gro_flush_timeout", "20000"),
    ("proc/sys/net/core/busy_read", "0"),
    (
        "tc-qdisc.json",
        r#"[{"kind":"noqueue","handle":"0:","dev":"lo","root":true},{"kind":"fq_codel","handle":"0:","dev":"eth0","root":true}]"#,
    ),
    ("proc/sys/vm/compact_unevictable_allowed", "1"),
    ("proc/sys/kernel/numa_balancing", "1"),
    ("sys/kernel/mm/ksm/run", "1"),
    ("sys/fs/cgroup/user.slice/memory.high", "1000000000"),
    ("proc/1/environ", "PATH=/bin\0container=lxc\0"),
];

/// Files of a host whose settings were changed for lanes.
const TUNED: [(&str, &str); 31] = [
    ("proc/version", "Linux version 6.12.9-rt (x) #1 SMP PREEMPT_RT Fri"),
    ("proc/sys/kernel/sched_rt_runtime_us", "-1"),
    ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "0"),
    ("sys/devices/system/cpu/isolated", "2-3"),
    ("sys/devices/system/cpu/nohz_full", "2-3"),
    ("proc/irq/9/effective_affinity_list", "0"),
    ("sys/devices/system/cpu/smt/active", "0"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state1/disable", "1"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ("proc/swaps", "Filename Type"),
    ("proc/self/status", "CapEff:\t0000000000805000\nSeccomp:\t0"),
    ("sys/fs/cgroup/user.slice/cpu.max", "max 100000"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
    ("sys/class/net/eth0/threaded", "1"),
    ("proc/sys/net/core/default_qdisc", "pfifo_fast"),
    ("proc/self/limits", LIMITS),
    ("proc/self/cgroup", "0::/user.slice"),
    ("proc/sys/kernel/osrelease", "6.12.9-rt"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/class/net/eth0/device/vendor", "x"),
    ("sys/class/net/eth0/gro_flush_timeout", "0"),
    ("proc/77/comm", "napi/eth0-5"),
    (
        "proc/77/stat",
        "77 (napi/eth0-5) S 2 0 0 0 -1 1 0 0 0 0 0 0 0 0 -51 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 50 1 0 0 0",
    ),
    ("proc/sys/vm/compact_unevictable_allowed", "0"),
    ("proc/sys/kernel/numa_balancing", "0"),
    ("sys/kernel/mm/ksm/run", "0"),
    ("sys/fs/cgroup/memory.max", "max"),
    ("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-3"),
    ("proc/1/environ", "PATH=/bin"),
    ("proc/self/mounts", "sysfs /sys sysfs rw,nosuid 0 0"),
];

#[test]
fn a_host_as_delivered_is_told_what_to_change() {
    let folder = host("doctor-plain", &PLAIN);
    let found = findings(&folder);
    let all = found.as_object().expect("findings by name");
    for (name, finding) in all {
        assert_eq!(finding["verdict"], "improve", "{name}: {finding}");
        assert_ne!(finding["means"], "", "{name}");
        assert!(!finding["cures"].as_array().expect("a list").is_empty(), "{name}");
    }
    assert_eq!(all.len(), 23, "{all:?}");
    assert_eq!(found["idle states"]["seen"], "processor 0 wakes up within 133 us");
    assert_eq!(found["starving processes"]["seen"], "they have up to 50000 us of each second");
    let clock = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_eq!(found["clock"]["cures"][0], clock);

    let root = folder.0.display().to_string();
    let output = doctor(&["--root", &root]);
    assert_eq!(output.status.code(), Some(0), "looking is no failure");
    assert!(text(&output.stdout).contains("0 good, 23 to improve, 0 unknown"));
    assert_eq!(doctor(&["--root", &root, "--check"]).status.code(), Some(1));
}

/// The complete text for several hosts; `BLESS=1` rewrites the expected texts.
#[test]
fn the_text_for_each_host_is_as_it_was() {
    let rt: Vec<(&str, &str)> = [
        ("proc/version", "Linux version 6.6.9-rt5 (x) #1 SMP PREEMPT_RT Fri"),
        ("proc/sys/kernel/osrelease", "6.6.9-rt5"),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000"),
        ("sys/devices/system/cpu/online", "0-7"),
        ("sys/devices/system/cpu/isolated", "6-7"),
        ("sys/devices/system/cpu/nohz_full", "7"),
        ("proc/irq/31/effective_affinity_list", "6"),
        ("proc/irq/32/effective_affinity_list", "0"),
        ("proc/self/status", "CapEff:\t0000000000804000\nSeccomp:\t0"),
        ("sys/class/net/eth0/threaded", "1"),
        ("sys/class/net/eth0/device/vendor", "x"),
        ("proc/77/comm", "napi/eth0-5"),
        (
            "proc/77/stat",
            "77 (napi/eth0-5) S 2 0 0 0 -1 1 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0",
        ),
        (
            "tc-qdisc.json",
            r#"[{"kind":"htb","handle":"1:","dev":"eth0","root":true},{"kind":"pfifo_fast","handle":"10:","dev":"eth0","parent":"1:1"}]"#,
        ),
    ]
    .to_vec();
    let container: Vec<(&str, &str)> = [
        ("proc/version", "Linux version 6.12.9 (x) #1 SMP PREEMPT_DYNAMIC Fri"),
        ("proc/sys/kernel/osrelease", "6.12.9"),
        ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy"),
        ("sys/devices/system/cpu/online", "0-3"),
        ("proc/self/status", "CapEff:\t00000000a80425fb\nSeccomp:\t2"),
        ("proc/self/limits", LIMITS),
        ("proc/self/cgroup", "0::/"),
        ("sys/fs/cgroup/cpu.max", "200000 100000"),
        ("sys/fs/cgroup/memory.high", "max"),
        ("sys/fs/cgroup/memory.max", "536870912"),
        ("proc/self/mounts", "sysfs /sys sysfs ro,nosuid 0 0"),
        (".dockerenv", ""),
        ("sys/class/net/eth0/threaded", "0"),
        ("sys/class/net/eth0/device/vendor", "x"),
    ]
    .to_vec();
    for (name, files) in [
        ("delivered", PLAIN.to_vec()),
        ("tuned", TUNED.to_vec()),
        ("half-tuned", rt),
        ("container", container),
    ] {
        let folder = host(&format!("doctor-golden-{name}"), &files);
        let root = folder.0.display().to_string();
        let output = doctor(&["--root", &root]);
        oxorb_testkit::page::assert_up_to_date(
            &format!("crates/cli/tests/doctor/{name}.txt"),
            &text(&output.stdout),
            "cargo test -p oxorb-cli --test it doctor::",
        );
    }
}

#[test]
fn findings_are_picked_by_name() {
    let folder = host("doctor-only", &PLAIN);
    let root = folder.0.display().to_string();
    let output = doctor(&["--root", &root, "--only", "swap,clock"]);
    assert!(text(&output.stdout).contains("0 good, 2 to improve, 0 unknown"));
    let output = doctor(&["--root", &root, "--only", "swop"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("there is no finding \"swop\"") && said.contains("swap"), "{said}");
    // A documented finding that does not apply to this host.
    let output = doctor(&["--root", &root, "--only", "interrupts"]);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("interrupts: does not apply to this host"), "{said}");
}

#[test]
fn a_tuned_host_is_good() {
    let folder = host("doctor-tuned", &TUNED);
    let found = findings(&folder);
    for (name, finding) in found.as_object().expect("findings by name") {
        let root = folder.0.display().to_string();
        let picked = doctor(&["--root", &root, "--only", name]);
        assert!(picked.status.success() && picked.stderr.is_empty(), "{picked:?}");
        assert_eq!(finding["verdict"], "good", "{name}: {finding}");
    }
    let root = folder.0.display().to_string();
    assert_eq!(doctor(&["--root", &root, "--check"]).status.code(), Some(0));
}

#[test]
fn interrupts_at_isolated_processors_are_named() {
    let folder = host("doctor-interrupts", &TUNED);
    let path = folder.0.join("proc/irq/31");
    fs::create_dir(&path).expect("a folder");
    fs::write(path.join("effective_affinity_list"), "0,3").expect("a file");
    let found = findings(&folder);
    assert_eq!(found["interrupts"]["verdict"], "improve");
    assert_eq!(found["interrupts"]["seen"], "1 are handled on isolated processors: 31");
}

/// Lanes that may preempt the threads of interrupts are reported, and the priorities that avoid it are named.
#[test]
fn lanes_that_may_preempt_threads_of_interrupts_are_found() {
    const NAME: &str = "threads of interrupts";
    let stat = |name: &str, priority: u32| {
        let first = "S 2 0 0 0 -1 1 0 0 0 0 0 0 0 0 -51 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0";
        format!("31 ({name}) {first} {priority} 1 0 0 0")
    };
    let (network, disk) = (stat("irq/31-eth0", 50), stat("irq/32-nvme0q1", 60));
    let threads = [
        ("proc/31/comm", "irq/31-eth0"),
        ("proc/31/stat", network.as_str()),
        ("proc/32/comm", "irq/32-nvme0q1"),
        ("proc/32/stat", disk.as_str()),
        ("proc/33/comm", "kworker/0:1"),
    ];
    let found = findings(&host("doctor-irq", &[&TUNED[..], &threads].concat()));
    assert_eq!(found[NAME]["verdict"], "improve");
    let seen = "2 of real-time priority, the lowest 50; this process may have 99";
    assert_eq!(found[NAME]["seen"], seen);
    assert!(found[NAME]["cures"].to_string().contains("16383"), "{found}");
    let limits = LIMITS
        .replace("priority     0                    0", "priority     49                   49");
    let limited =
        [("proc/self/status", "CapEff:\t0000000000000000"), ("proc/self/limits", limits.as_str())];
    let found = findings(&host("doctor-irq-limit", &[&TUNED[..], &threads, &limited].concat()));
    assert_eq!(found[NAME]["verdict"], "good", "{found}");
    assert_eq!(findings(&host("doctor-no-irq", &TUNED)).get(NAME), None);
}

/// A kernel with servers for starving processes does not throttle real-time threads for them.
#[test]
fn new_kernels_throttle_only_control_groups() {
    let without = PLAIN.iter().filter(|(path, _)| !path.ends_with("cpu.rt_runtime_us"));
    let without: Vec<(&str, &str)> = without.copied().collect();
    let folder = host("doctor-new", &without);
    assert_eq!(findings(&folder).get("throttling"), None);
}

/// Version 1 has a folder for each controller. A limit of a group above applies, too.
#[test]
fn limits_of_control_groups_of_version_1_are_found() {
    let groups = "4:memory:/jobs/radar\n3:cpu,cpuacct:/jobs/radar\n2:cpuset:/jobs";
    let cpu = "sys/fs/cgroup/cpu,cpuacct/jobs";
    let files: [(&str, &str); 11] = [
        ("proc/version", "Linux version 5.4.0"),
        ("proc/self/cgroup", groups),
        (&format!("{cpu}/cpu.cfs_quota_us"), "50000"),
        (&format!("{cpu}/cpu.cfs_period_us"), "100000"),
        (&format!("{cpu}/radar/cpu.cfs_quota_us"), "-1"),
        (&format!("{cpu}/radar/cpu.cfs_period_us"), "100000"),
        (&format!("{cpu}/radar/cpu.rt_runtime_us"), "0"),
        ("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "536870912"),
        ("sys/fs/cgroup/memory/jobs/radar/memory.limit_in_bytes", "9223372036854771712"),
        ("sys/fs/cgroup/cpuset/jobs/cpuset.cpus", "0-1"),
        ("sys/devices/system/cpu/isolated", "2-3"),
    ];
    let found = findings(&host("doctor-groups", &files));
    let seen = |name: &str| found[name]["seen"].as_str().unwrap_or_default().to_owned();
    assert_eq!(seen("processor time of the control group"), "50000 us of each 100000 us");
    assert_eq!(
        seen("memory of the control group"),
        "up to 536870912 octets (memory.limit_in_bytes)"
    );
    assert_eq!(seen("processors of the control group"), "not the isolated 2,3");
    assert_eq!(seen("real-time threads of the control group"), "none");
    let cure = format!("echo 950000 > /{cpu}/radar/cpu.rt_runtime_us");
    assert_eq!(found["real-time threads of the control group"]["cures"][0], cure);
    let unlimited = files.map(|(path, text)| match text {
        "50000" | "0" => (path, "-1"),
        "536870912" => (path, "9223372036854771712"),
        _ => (path, text),
    });
    let found = findings(&host("doctor-no-limits", &unlimited));
    for name in ["processor time", "memory", "real-time threads"] {
        let finding = &found[&format!("{name} of the control group")];
        assert_eq!(finding["verdict"], "good", "{name}: {finding}");
        assert_eq!(finding["seen"], "any", "{name}: {finding}");
    }
}

/// If some processors are isolated, idle states of the others are ignored.
#[test]
fn idle_states_are_those_of_isolated_processors() {
    let folder = host("doctor-idle", &TUNED);
    let deep = |processor: usize| {
        let state = format!("sys/devices/system/cpu/cpu{processor}/cpuidle/state1");
        let state = folder.0.join(state);
        fs::create_dir_all(&state).expect("a folder");
        fs::write(state.join("latency"), "300").expect("a file");
        findings(&folder)["idle states"].clone()
    };
    assert_eq!(deep(1)["verdict"], "good");
    assert_eq!(deep(3)["seen"], "processor 3 wakes up within 300 us");
}

/// Files of a copy may contain anything.
#[test]
fn nonsense_is_unknown() {
    let nonsense = PLAIN.map(|(path, _)| (path, "9-99999999999, \u{1b}[2J max\nx"));
    let folder = host("doctor-nonsense", &nonsense);
    let root = folder.0.display().to_string();
    let output = doctor(&["--root", &root]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("\u{1b}[2J"));
}

#[test]
fn a_directory_without_a_host_is_refused() {
    let folder = Folder::new("doctor-empty");
    let output = doctor(&["--root", &folder.0.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("has no directory proc"));
}

#[test]
fn this_host_is_looked_at() {
    assert!(Path::new("/proc/version").exists());
    let output = doctor(&[]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    for name in ["preemption", "throttling", "real-time priority", "clock"] {
        assert!(said.contains(name), "{said}");
    }
}
