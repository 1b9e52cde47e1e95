//! `oxorb sched` as people and programs use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SET: &str = "tests/sched/avionics.toml";
const IDL: &str = "tests/sched/nav.idl";

fn sched(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .arg("sched")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).expect("the command prints UTF-8")
}

fn good(args: &[&str]) -> String {
    let output = sched(args);
    assert_eq!(text(&output.stderr), "", "{args:?}");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{args:?}: {}",
        text(&output.stdout)
    );
    text(&output.stdout)
}

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&good(args)).expect("one JSON document")
}

/// A folder of this test alone, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxorb-sched-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a file that is wrong makes the command say, without the folder.
fn wrong(name: &str, content: &str, verb: &str) -> String {
    let folder = Folder::new(name);
    let file = folder.file(name, content);
    let output = sched(&[verb, &file]);
    assert_eq!(output.status.code(), Some(1), "{content}");
    let told = text(&output.stdout) + &text(&output.stderr);
    told.replace(&format!("{}/", folder.0.display()), "")
}

#[test]
fn a_set_is_checked_and_analysed() {
    let told = good(&["check", SET]);
    assert!(
        told.starts_with("good: 4 operations, 2 levels under RMS, 40.00 %"),
        "{told}"
    );
    let report = json(&["analyse", SET, "--format", "json", "--sensitivity"]);
    assert_eq!(report["feasible"], true);
    assert_eq!(report["frame_ns"], 100_000_000u64);
    let responses: Vec<(&str, u64)> = report["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let response = row["response_ns"].as_u64().unwrap();
            (row["operation"].as_str().unwrap(), response / 1_000_000)
        })
        .collect();
    // The filter goes first in the band; the sample waits for it, and the display, which takes 15 + 3 + 1 + 1, for both.
    let expected = [
        ("nav::Sensor::sample", 10),
        ("nav::Filter::update", 9),
        ("nav::Display::show", 30),
    ];
    assert_eq!(responses, expected);
    let told = good(&["analyse", SET]);
    assert!(
        told.contains(
            "nav::Display::show: meets its deadline of 100 ms, response at most 30 ms: own 20 ms"
        ),
        "{told}"
    );
}

#[test]
fn idl_and_calls_of_a_set_join() {
    let folder = Folder::new("join");
    let calls = folder.file(
        "calls.toml",
        "[[event]]\nfrom = \"nav::Sensor::sample\"\nto = \"nav::Filter::update\"\n",
    );
    let report = json(&[
        "check",
        IDL,
        &calls,
        "--strategy",
        "MUF",
        "--format",
        "json",
    ]);
    assert_eq!(report["operations"], 2);
    assert_eq!(report["good"], true);
    assert_eq!(report["levels"], 1);
}

#[test]
fn what_is_wrong_has_its_place() {
    let operation = |more: &str| format!("[[operation]]\nname = \"a\"\nwcet = \"2 ms\"\n{more}\n");
    let cases = [
        (
            operation("period = \"0 ms\""),
            "set.toml:4:10: a period of 0 is none",
        ),
        (
            operation("period = \"5\""),
            "set.toml:4:10: \"5\" has no unit",
        ),
        (
            operation("period = \"99999999999 s\""),
            "set.toml:4:10: \"99999999999 s\" overflows",
        ),
        (
            operation("period = \"1 ms\""),
            "set.toml:2:8: error: a: takes 2 ms at worst and has 1 ms for it",
        ),
        (
            operation("criticality = \"urgent\""),
            "set.toml:4:15: \"urgent\" is no level",
        ),
        (
            operation("speed = 1"),
            "set.toml:4:1: unknown field `speed`",
        ),
        (
            operation(""),
            "set.toml:2:8: error: unresolved local dependencies: a:",
        ),
        (
            operation("") + &operation(""),
            "set.toml:6:8: an operation called \"a\" exists already, at set.toml:2:8",
        ),
        (
            operation("period = \"9 ms\"\n[[call]]\nfrom = \"a\"\nto = \"b\""),
            "set.toml:7:6: no operation is called \"b\"",
        ),
        (
            operation("period = \"9 ms\"\n[[call]]\nfrom = \"a\"\nto = \"a\""),
            "set.toml:2:8: operations call each other in a ring: a -> a",
        ),
        (
            operation("period = \"9 ms\"\n[[call]]\nfrom = \"a\"\nto = \"a\"\ntimes = 0"),
            "a dependency of 0 calls is none",
        ),
        (
            "[schedule]\nstrategy = \"FIFO\"\n".into(),
            "set.toml:2:12: no strategy is called \"FIFO\"",
        ),
        (String::new(), "the files declare no operations"),
    ];
    for (content, expected) in cases {
        let told = wrong("set.toml", &content, "check");
        assert!(told.contains(expected), "{content}\n{told}");
    }
    let idl = "interface I {\n    @rt(wcet = 5)\n    void f();\n};\n";
    let told = wrong("wrong.idl", idl, "check");
    assert!(
        told.contains("wrong.idl:3:10: @rt of I::f: wcet is a text with a unit"),
        "{told}"
    );
}

#[test]
fn what_is_not_safe_fails_with_the_reason() {
    let set = "[[operation]]\nname = \"a\"\nwcet = \"3 ms\"\nperiod = \"5 ms\"\ncriticality = \"HIGH\"\n\
               [[operation]]\nname = \"b\"\nwcet = \"3 ms\"\nperiod = \"8 ms\"\n";
    let told = wrong(
        "unsafe.toml",
        &format!("schedule = {{ strategy = \"RMS\" }}\n{set}"),
        "analyse",
    );
    assert!(
        told.contains("miss critical   1  b: misses its deadline of 8 ms"),
        "{told}"
    );
    // Under MUF, b is not critical.
    let folder = Folder::new("unsafe-muf");
    let file = folder.file("set.toml", set);
    let told = good(&["analyse", &file, "--strategy", "MUF"]);
    assert!(told.contains("ok   critical   0  a:"), "{told}");
    let cores = json(&["analyse", &file, "--cores", "2", "--format", "json"]);
    assert_eq!(cores["cores"], serde_json::json!([["a"], ["b"]]));
}

#[test]
fn a_set_is_simulated_and_drawn() {
    let folder = Folder::new("simulate");
    let (csv, jobs) = (folder.path("summary.csv"), folder.path("jobs.csv"));
    let told = json(&[
        "simulate", SET, "--csv", &csv, "--jobs", &jobs, "--format", "json",
    ]);
    assert_eq!(told["missed"], 0);
    assert_eq!(told["jobs"], 5);
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 4);
    assert_eq!(fs::read_to_string(&jobs).unwrap().lines().count(), 6);
    good(&[
        "plot",
        SET,
        "--compare",
        "RMS,EDF",
        "--out",
        &folder.path("figures"),
    ]);
    for file in [
        "timeline-rms.svg",
        "timeline-edf.svg",
        "latency.svg",
        "laxity.svg",
        "missed.svg",
    ] {
        let picture = fs::read_to_string(folder.0.join("figures").join(file)).unwrap();
        assert!(
            picture.starts_with("<svg ") && picture.ends_with("</svg>\n"),
            "{file}"
        );
    }
}

#[test]
fn the_papers_simulation_runs_in_all_forms() {
    let folder = Folder::new("paper");
    let told = json(&[
        "simulate",
        "--paper",
        "--format",
        "json",
        "--out",
        &folder.path("all"),
    ]);
    for form in ["constructed", "events", "events-demoting"] {
        let runs = told[form].as_array().unwrap();
        let names: Vec<&str> = runs
            .iter()
            .map(|run| run["run"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["MUF", "MLF", "EDF", "RMS"]);
        assert_eq!(runs[0]["critical_missed"], 0);
        assert!(
            Path::new(&folder.path("all"))
                .join(form)
                .join("missed.svg")
                .exists()
        );
    }
    let told = good(&["simulate", "--paper"]);
    assert!(
        told.contains("constructed      holds  only MUF keeps every critical deadline"),
        "{told}"
    );
    assert!(
        told.contains("constructed      fails  MUF misses the least, by number"),
        "{told}"
    );
}

#[test]
fn the_table_compiles() {
    let folder = Folder::new("emit");
    let file = folder.path("priorities.rs");
    good(&["emit", SET, "--out", &file]);
    let user = folder.file(
        "user.rs",
        "#![deny(warnings, missing_docs)]\n//! Uses the table.\npub mod priorities;\n\
         /// A priority.\npub fn of(handle: usize) -> i32 {\n    priorities::OPERATIONS[handle - 1].os_priority\n}\n",
    );
    let built = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
            "-o",
        ])
        .arg(folder.0.join("table.rmeta"))
        .arg(&user)
        .output()
        .expect("rustc starts");
    assert!(built.status.success(), "{}", text(&built.stderr));
    let table = json(&["emit", SET, "--language", "json"]);
    assert_eq!(table["queues"][0]["os_priority"], 99);
    assert_eq!(table["operations"][3]["name"], "nav::Map::tile");
    let header = good(&["emit", SET, "--language", "cpp"]);
    assert!(
        header.contains(
            "{\"nav::Filter::update\", 99, 0, 1, 6000000u, 50000000u, 50000000u, 3, 1, true}"
        ),
        "{header}"
    );
}
