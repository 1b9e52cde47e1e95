//! `oxorb doctor --apply` and `--undo` on hosts made of files, and on this host; `--measure`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use oxorb_testkit::peers::missing;
use serde_json::Value;

use crate::common::{Folder, text};

const LONG: Duration = Duration::from_secs(60);

const PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const LOCKED: &str = "proc/sys/vm/compact_unevictable_allowed";
const RUNTIME: &str = "proc/sys/kernel/sched_rt_runtime_us";
const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const DEEP: &str = "sys/devices/system/cpu/cpu0/cpuidle/state1/disable";

/// Settings with their values before a doctor's changes, and during them. If a setting lists several words, the doctor
/// writes the chosen one.
const SETTINGS: [(&str, &str, &str); 5] = [
    (PAGES, "[always] madvise never", "madvise"),
    (LOCKED, "1", "0"),
    (RUNTIME, "950000", "-1"),
    (GOVERNOR, "schedutil", "performance"),
    (DEEP, "0", "1"),
];

fn host(test: &str) -> Folder {
    let folder = Folder::new(test);
    let more = [
        ("proc/version", "Linux version 6.1.9 (x) #1 SMP PREEMPT_DYNAMIC Fri"),
        ("proc/sys/kernel/osrelease", "6.1.9-amd64"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000"),
        ("proc/swaps", "Filename Type\n/dev/vdb partition"),
        ("sys/devices/system/cpu/online", "0-1"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133"),
    ];
    let settings = SETTINGS.iter().map(|(path, before, _)| (*path, *before));
    for (path, text) in settings.chain(more) {
        let path = folder.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn doctor(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(["doctor", "--root"]).arg(&folder.0).args(args).stdin(Stdio::null());
    command
}

fn run(folder: &Folder, args: &[&str]) -> Output {
    doctor(folder, args).output().expect("the command starts")
}

fn lines(output: &Output) -> Vec<Value> {
    let text = text(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn setting(folder: &Folder, path: &str) -> String {
    fs::read_to_string(folder.0.join(path)).expect("a file")
}

#[track_caller]
fn assert_applied(folder: &Folder) {
    for (path, _, applied) in SETTINGS {
        assert_eq!(setting(folder, path), applied, "{path}");
    }
}

/// After the change is undone, a setting that listed several words contains only the word that was in brackets: on a
/// copied host, no kernel restores the list.
#[track_caller]
fn assert_undone(folder: &Folder) {
    for (path, before, _) in SETTINGS {
        let chosen = before.split(['[', ']']).nth(1).unwrap_or(before);
        assert_eq!(setting(folder, path), chosen, "{path}");
    }
    assert!(!record(folder).exists(), "nothing is left to be undone");
}

fn record(folder: &Folder) -> PathBuf {
    folder.0.join("run/oxorb-doctor.json")
}

/// Starts a doctor that keeps its changes in place, and waits until they are made.
fn holding(folder: &Folder) -> Child {
    let mut command = doctor(folder, &["--apply"]);
    let child = command.stdout(Stdio::null()).spawn().expect("it starts");
    let until = Instant::now() + LONG;
    while SETTINGS.iter().any(|(path, _, applied)| setting(folder, path) != *applied) {
        assert!(Instant::now() < until, "the changes are made");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn changes_are_in_place_while_a_program_runs() {
    let folder = host("doctor-apply");
    let seen = folder.0.join("seen");
    let script = format!("cat {} > {}", folder.0.join(GOVERNOR).display(), seen.display());
    let output = run(&folder, &["--apply", "--format", "json", "--", "sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(seen).expect("it ran"), "performance");
    assert_undone(&folder);
    let lines = lines(&output);
    let made = lines[0]["applied"]["made"].as_array().expect("a list");
    assert_eq!(made.len(), SETTINGS.len(), "{made:?}");
    let left = lines[0]["applied"]["left"].as_array().expect("a list");
    let why = |name: &str| {
        let found = left.iter().find(|it| it["what"] == name);
        found.expect(name)["why"].as_str().expect("a text").to_owned()
    };
    assert!(why("preemption").contains("needs another kernel"));
    assert!(why("swap").contains("must be changed by hand"));
    let undone = lines[1]["undone"]["undone"].as_array().expect("a list");
    assert_eq!(undone.len(), SETTINGS.len(), "{undone:?}");

    // The changes are undone even if the program fails.
    let output = run(&folder, &["--apply", "--", "sh", "-c", "exit 3"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("exit status: 3"));
    assert_undone(&folder);
}

#[test]
fn a_signal_takes_the_changes_back() {
    for kind in ["-TERM", "-INT", "-HUP"] {
        let folder = host(&format!("doctor-signal{kind}"));
        let mut child = holding(&folder);
        signal(&child, kind);
        assert!(child.wait().expect("it ends").success(), "{kind}");
        assert_undone(&folder);
    }
}

#[test]
fn another_doctor_undoes_what_a_killed_one_has_changed() {
    let folder = host("doctor-killed");
    let mut child = holding(&folder);
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    assert_applied(&folder);
    let output = run(&folder, &["--apply", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--undo"), "{}", text(&output.stderr));
    assert_applied(&folder);
    // One setting is changed by hand, and must be left as it is.
    fs::write(folder.0.join(GOVERNOR), "powersave").expect("a file");
    let output = run(&folder, &["--undo", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = lines(&output);
    let left = lines[0]["undone"]["left"].as_array().expect("a list");
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0]["why"].as_str().expect("a text").contains("powersave"));
    assert_eq!(setting(&folder, GOVERNOR), "powersave");
    assert_eq!(setting(&folder, RUNTIME), "950000");
    let output = run(&folder, &["--undo"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there are no changes to undo"));
}

#[test]
fn changes_that_are_kept_wait_for_undo() {
    let folder = host("doctor-kept");
    let output = run(&folder, &["--apply", "--keep"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_applied(&folder);
    assert_eq!(run(&folder, &["--undo"]).status.code(), Some(0));
    assert_undone(&folder);
}

#[test]
fn a_record_that_leads_elsewhere_changes_nothing() {
    let folder = host("doctor-hostile");
    let target = folder.0.join("elsewhere");
    fs::write(&target, "new").expect("a file");
    fs::create_dir_all(folder.0.join("run")).expect("a folder");
    let made = format!(
        r#"{{"made":[{{"change":{{"what":"write","path":"proc/../elsewhere","value":"new"}},"before":"old"}},
            {{"change":{{"what":"write","path":"{}","value":"new"}},"before":"old"}}]}}"#,
        target.display()
    );
    fs::write(record(&folder), made).expect("a file");
    let output = run(&folder, &["--undo"]);
    assert_eq!(fs::read_to_string(&target).expect("a file"), "new");
    assert!(text(&output.stdout).contains("not below proc or sys"));
    fs::write(record(&folder), "no JSON").expect("a file");
    assert_eq!(run(&folder, &["--undo"]).status.code(), Some(1));
}

/// A real change of this host, with a harmless setting.
#[test]
fn this_host_is_changed_for_a_while() {
    let path = Path::new("/").join(LOCKED);
    let Ok(before) = fs::read_to_string(&path) else {
        return missing("vm.compact_unevictable_allowed", "the kernel has none");
    };
    if before.trim() == "0" {
        return missing("a setting to be improved", "locked pages stay already");
    }
    let folder = Folder::new("doctor-real");
    let record = folder.0.join("record.json").display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["doctor", "--apply", "--only", "locked pages that move"])
        .args(["--record", &record, "--", "cat"])
        .arg(&path)
        .output()
        .expect("the command starts");
    let said = text(&output.stdout);
    if said.contains("Permission denied") || said.contains("Read-only") {
        return missing("a /proc/sys that may be written (root)", &said);
    }
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.lines().any(|line| line == "0"), "while it ran: {said}");
    assert_eq!(fs::read_to_string(&path).expect("a setting"), before);
    assert!(!Path::new(&record).exists());
}

/// Unprivileged, a doctor changes nothing: each step is reported once with the reason, and no trace is left.
#[test]
fn a_host_without_privilege_is_left_as_it_is() {
    let folder = host("doctor-plain-user");
    for (path, ..) in SETTINGS {
        let file = folder.0.join(path);
        let mut permissions = fs::metadata(&file).expect("a file").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).expect("its owner may");
    }
    let record = std::env::temp_dir().join(format!("oxorb-doctor-{}.json", std::process::id()));
    let binary = folder.0.join("oxorb");
    fs::copy(env!("CARGO_BIN_EXE_oxorb"), &binary).expect("a copy for everybody");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["doctor", "--apply", "--format", "json", "--root"])
        .arg(&folder.0)
        .arg("--record")
        .arg(&record)
        .args(["--", "true"])
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => return missing("another user (setpriv, as root)", &text(&output.stderr)),
        Err(error) => return missing("setpriv", &error.to_string()),
    };
    let lines = lines(&output);
    assert_eq!(lines[0]["applied"]["made"], serde_json::json!([]));
    let left = lines[0]["applied"]["left"].as_array().expect("a list");
    for (path, ..) in SETTINGS {
        let step = format!("/{path} = ");
        let named = left.iter().filter(|it| {
            let what = it["what"].as_str().expect("a text");
            what.starts_with(&step)
        });
        let named: Vec<&Value> = named.collect();
        assert_eq!(named.len(), 1, "{path}: {left:?}");
        let why = named[0]["why"].as_str().expect("a text");
        assert!(why.contains("Permission denied"), "{why}");
    }
    assert!(!record.exists());
}

#[test]
fn measuring_tells_of_each_priority_and_draws_it() {
    let folder = Folder::new("doctor-measure");
    let plot = folder.0.join("wakeups.svg");
    let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["doctor", "--measure", "--seconds", "1", "--format", "json"])
        .args(["--priorities", "0,7", "--plot"])
        .arg(&plot)
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let measured: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let wakeups = measured["wakeups"].as_array().expect("a list");
    assert_eq!(wakeups.len(), 2);
    for (wakeups, priority) in wakeups.iter().zip([0, 7]) {
        assert_eq!(wakeups["priority"], priority);
        let calls = wakeups["calls"].as_u64().expect("a number");
        let buckets = wakeups["histogram"].as_array().expect("a list");
        let counts = buckets.iter().map(|it| it["count"].as_u64().expect("a number"));
        assert!(calls > 0 && counts.sum::<u64>() == calls, "{wakeups}");
    }
    for cost in ["dispatch_ns", "switch_ns"] {
        assert!(measured["overheads"][cost].as_u64().expect("a number") > 0, "{cost}");
    }
    let trips = &measured["trips"][0];
    for kind in ["alone", "loaded"] {
        assert!(trips[kind]["calls"].as_u64().expect("a number") > 0, "{trips}");
    }
    let drawn = fs::read_to_string(&plot).expect("a picture");
    assert!(drawn.starts_with("<svg ") && drawn.contains("SCHED_FIFO 7"), "{drawn}");
}

#[test]
fn an_interface_that_is_not_there_is_refused_with_those_that_are() {
    let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["doctor", "--measure", "--seconds", "1", "--interface", "nothing0"])
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("nothing0 is not an active interface") && said.contains("lo"), "{said}");
}
