//! `oxorb sched`.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxorb_testkit::svg::elements;

use crate::common::{Folder, good, sched, text};

const SET: &str = "tests/sched/avionics.toml";
const IDL: &str = "tests/sched/nav.idl";

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&good(args)).expect("one JSON document")
}

/// Returns the message for an invalid file, without the folder.
fn wrong(name: &str, content: &str, verb: &str) -> String {
    let folder = Folder::new(&format!("sched-{name}"));
    let file = folder.file(name, content);
    let output = sched(&[verb, &file]);
    assert_eq!(output.status.code(), Some(1), "{content}");
    let told = text(&output.stdout) + &text(&output.stderr);
    told.replace(&format!("{}/", folder.0.display()), "")
}

#[test]
fn a_set_is_checked_and_analysed() {
    let told = good(&["check", SET]);
    assert!(told.starts_with("good: 4 operations, 2 levels under RMS, 40.00 %"), "{told}");
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
    // The filter precedes the sample in their band, so the sample waits for it. The display (15 + 3 + 1 + 1) waits for
    // both.
    let expected =
        [("nav::Sensor::sample", 10), ("nav::Filter::update", 9), ("nav::Display::show", 30)];
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
    let folder = Folder::new("sched-join");
    let calls = folder.file(
        "calls.toml",
        "[[event]]\nfrom = \"nav::Sensor::sample\"\nto = \"nav::Filter::update\"\n",
    );
    let report = json(&["check", IDL, &calls, "--strategy", "MUF", "--format", "json"]);
    assert_eq!(report["operations"], 2);
    assert_eq!(report["good"], true);
    assert_eq!(report["levels"], 1);
}

#[test]
fn what_is_wrong_has_its_place() {
    let operation = |more: &str| format!("[[operation]]\nname = \"a\"\nwcet = \"2 ms\"\n{more}\n");
    let cases = [
        (operation("period = \"0 ms\""), "set.toml:4:10: a period cannot be 0"),
        (operation("period = \"5\""), "set.toml:4:10: \"5\" has no known unit"),
        (operation("period = \"99999999999 s\""), "set.toml:4:10: \"99999999999 s\" overflows"),
        (
            operation("period = \"1 ms\""),
            "set.toml:2:8: error: a: takes at most 2 ms, but has only 1 ms",
        ),
        (operation("criticality = \"urgent\""), "set.toml:4:15: \"urgent\" is not a level"),
        (operation("speed = 1"), "set.toml:4:1: unknown field `speed`"),
        (operation(""), "set.toml:2:8: error: unresolved local dependencies: a:"),
        (
            operation("") + &operation(""),
            "set.toml:6:8: the operation \"a\" already exists, at set.toml:2:8",
        ),
        (
            operation("period = \"9 ms\"\n[[call]]\nfrom = \"a\"\nto = \"b\""),
            "set.toml:7:6: there is no operation \"b\"",
        ),
        (
            operation("period = \"9 ms\"\n[[call]]\nfrom = \"a\"\nto = \"a\""),
            "set.toml:2:8: operations call each other in a cycle: a -> a",
        ),
        (
            operation("period = \"9 ms\"\n[[call]]\nfrom = \"a\"\nto = \"a\"\ntimes = 0"),
            "a dependency needs at least 1 call",
        ),
        (
            "[schedule]\nstrategy = \"FIFO\"\n".into(),
            "set.toml:2:12: there is no strategy \"FIFO\"",
        ),
        (String::new(), "the files declare no operations"),
        ("[[operation]]\nname = \" \"\n".into(), "set.toml:2:8: an operation without a name"),
        (
            operation("period = \"9 ms\"\ncached = \"3 ms\""),
            "set.toml:2:8: error: a: its cached time of 3 ms is longer than its worst case of 2 ms",
        ),
        (
            operation("period = \"1 ms\"\njitter = \"3 ms\""),
            "set.toml:2:8: warning: a: its jitter of 3 ms is longer than its period of 1 ms, so up to 4 requests",
        ),
        (
            operation("period = \"9 ms\"")
                + "[[operation]]\nname = \"b\"\nwcet = \"999999999 s\"\n[[call]]\nfrom = \"a\"\nto = \"b\"\ntimes = 9\n",
            "set.toml:2:8: a: its execution time with all that it calls overflows",
        ),
        (
            operation("period = \"9 ms\"\nthreads = 4000000000")
                + "[[operation]]\nname = \"b\"\n[[operation]]\nname = \"c\"\n[[event]]\nfrom = \"a\"\nto = \"b\"\ntimes = 4000000000\n[[event]]\nfrom = \"b\"\nto = \"c\"\ntimes = 4000000000\n",
            "set.toml:7:8: b: the number of its calls in a period overflows",
        ),
    ];
    for (content, expected) in cases {
        let told = wrong("set.toml", &content, "check");
        assert!(told.contains(expected), "{content}\n{told}");
    }
    let member = |text: &str| format!("interface I {{\n    {text}\n}};\n");
    let cases = [
        (
            member("@rt(wcet = 5) void f();"),
            "wrong.idl:2:24: @rt of I::f: wcet must be a text with a unit",
        ),
        (member("@rt(speed = \"5 ms\") void f();"), "@rt of I::f: there is no attribute speed"),
        (member("@rt(period = \"0 ms\") void f();"), "@rt of I::f: a period cannot be 0"),
        (
            member("@rt(wcet = \"1 ms\") attribute long x;"),
            "wrong.idl:2:39: @rt of I::x: an attribute that can be set has two operations",
        ),
        (
            "@rt(wcet = \"1 ms\")\ninterface I { void f(); };\n".into(),
            "wrong.idl:2:11: @rt of I: write it before an operation",
        ),
        (
            member("void f(@rt(wcet = \"1 ms\") in long x);"),
            "@rt of I::f x: write it before an operation",
        ),
    ];
    for (idl, expected) in cases {
        let told = wrong("wrong.idl", &idl, "check");
        assert!(told.contains(expected), "{idl}\n{told}");
    }
}

/// An endless file is not read to its end.
#[cfg(target_os = "linux")]
#[test]
fn a_task_set_without_end_is_refused() {
    let output = sched(&["check", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("/dev/zero: a task set can have at most 16777216 octets"), "{told}");
}

#[test]
fn attributes_that_are_read_are_operations() {
    let folder = Folder::new("sched-attribute");
    let idl = folder.file(
        "a.idl",
        "interface I {\n    @rt(wcet = \"1 ms\", period = \"10 ms\") readonly attribute long x;\n};\n",
    );
    let table = json(&["emit", &idl, "--language", "json"]);
    // The operation has the name that requests for the attribute have on the wire.
    assert_eq!(table["operations"][0]["name"], "I::_get_x");
}

#[test]
fn what_is_not_safe_fails_with_the_reason() {
    let set = "[[operation]]\nname = \"a\"\nwcet = \"3 ms\"\nperiod = \"5 ms\"\ncriticality = \"HIGH\"\n\
               [[operation]]\nname = \"b\"\nwcet = \"3 ms\"\nperiod = \"8 ms\"\n";
    let told =
        wrong("unsafe.toml", &format!("schedule = {{ strategy = \"RMS\" }}\n{set}"), "analyse");
    assert!(told.contains("miss critical   1  b: misses its deadline of 8 ms"), "{told}");
    // Under MUF, b is not critical, so its missed deadline is no failure.
    let folder = Folder::new("sched-unsafe-muf");
    let file = folder.file("set.toml", set);
    let told = good(&["analyse", &file, "--strategy", "MUF"]);
    assert!(told.contains("ok   critical   0  a:"), "{told}");
    let cores = json(&["analyse", &file, "--cores", "2", "--format", "json"]);
    let both = [&cores["cores"][0][0], &cores["cores"][1][0]];
    assert!(both.contains(&&"a".into()) && both.contains(&&"b".into()), "{cores}");
}

/// N16: operations that would all fit on processor 0 are spread, and the output states how many processors are used.
#[test]
fn cores_are_used_and_counted() {
    let operation = |name: &str, wcet: u32| {
        format!("[[operation]]\nname = \"{name}\"\nwcet = \"{wcet} ms\"\nperiod = \"100 ms\"\n")
    };
    let folder = Folder::new("sched-cores");
    let set = format!("{}{}{}", operation("a", 4), operation("b", 3), operation("c", 2));
    let file = folder.file("set.toml", &set);
    let told = good(&["analyse", &file, "--cores", "2"]);
    let first = told.lines().next().unwrap_or_default();
    assert!(first.starts_with("2 of 2 processors used: ") && first.contains("emptiest"), "{told}");
    let spread = json(&["analyse", &file, "--cores", "2", "--format", "json"]);
    assert_eq!(spread["cores"], serde_json::json!([["a"], ["b", "c"]]));
    assert_eq!((&spread["used"], &spread["fit"]), (&2.into(), &"emptiest".into()));
    let more = json(&["analyse", &file, "--cores", "5", "--format", "json"]);
    assert_eq!(more["used"], 3, "{more}");

    // If each operation goes to the emptiest processor, the last one does not fit, and another placement is tried.
    let heavy =
        [("d", 60), ("e", 50), ("f", 40), ("g", 45)].map(|(name, wcet)| operation(name, wcet));
    let file = folder.file("heavy.toml", &heavy.concat());
    let packed = json(&["analyse", &file, "--cores", "2", "--format", "json"]);
    assert_eq!(packed["used"], 2, "{packed}");
}

/// Returns whether `analyse` succeeds for a set, its JSON, and its text.
fn analysed(name: &str, set: &str, more: &[&str]) -> (bool, serde_json::Value, String) {
    let folder = Folder::new(&format!("sched-analysed-{name}"));
    let file = folder.file("set.toml", set);
    let told = sched(&[&["analyse", file.as_str()], more].concat());
    let as_json = sched(&[&["analyse", file.as_str(), "--format", "json"], more].concat());
    assert_eq!(told.status.code(), as_json.status.code());
    let report = serde_json::from_slice(&as_json.stdout).expect("one JSON document");
    (told.status.success(), report, text(&told.stdout))
}

/// R7: a set without critical operations is not safe, nor is one with an error.
#[test]
fn a_set_is_not_safe_for_want_of_critical_operations() {
    let operation = |name: &str, wcet: u32, more: &str| {
        format!(
            "[[operation]]\nname = \"{name}\"\nwcet = \"{wcet} ms\"\nperiod = \"10 ms\"\n{more}\n"
        )
    };
    let high = "criticality = \"HIGH\"";
    let overload: String = (0..5).map(|at| operation(&format!("o{at}"), 8, "")).collect();
    let (good, report, told) = analysed("overload", &overload, &["--strategy", "MUF"]);
    assert!(!good && told.contains("not safe"), "{told}");
    assert_eq!((&report["safe"], &report["feasible"]), (&false.into(), &false.into()));
    assert!(
        told.contains("critical: all operations, because none is of criticality HIGH or VERY_HIGH"),
        "{told}"
    );
    // With one critical operation, MUF has to meet only its deadlines; RMS ignores criticality.
    let marked = operation("o5", 1, high) + &overload;
    let (good, report, told) = analysed("marked", &marked, &["--strategy", "MUF"]);
    assert!(good, "{told}");
    assert_eq!((&report["safe"], &report["feasible"]), (&true.into(), &false.into()));
    assert_eq!(report["operations"][0]["criticality"], "HIGH");
    assert!(
        told.contains("safe: every critical deadline is proved; 5 of other operations are not")
    );
    let (good, report, _) = analysed("marked-rms", &marked, &["--strategy", "RMS"]);
    assert!(!good && report["critical_set"] == "all operations");
    // Errors are reported even if the other operations are proved.
    for (name, wrong) in [
        ("long", operation("long", 12, "")),
        ("rateless", "[[operation]]\nname = \"rateless\"\nwcet = \"1 ms\"\n".into()),
    ] {
        let set = operation("o5", 1, high) + &wrong;
        let (good, report, told) = analysed(name, &set, &["--strategy", "MUF"]);
        assert!(!good && told.contains("not safe: 1 error"), "{told}");
        assert_eq!((&report["safe"], &report["feasible"]), (&false.into(), &false.into()));
        assert!(report["findings"][0].as_str().unwrap().contains(name));
    }
}

#[test]
fn a_set_is_simulated_and_drawn() {
    let folder = Folder::new("sched-simulate");
    let (csv, jobs) = (folder.path("summary.csv"), folder.path("jobs.csv"));
    let told = json(&["simulate", SET, "--csv", &csv, "--jobs", &jobs, "--format", "json"]);
    assert_eq!(told["missed"], 0);
    assert_eq!(told["jobs"], 5);
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 4);
    assert_eq!(fs::read_to_string(&jobs).unwrap().lines().count(), 6);
    good(&["plot", SET, "--compare", "RMS,EDF", "--out", &folder.path("figures")]);
    for file in ["timeline-rms.svg", "timeline-edf.svg", "latency.svg", "laxity.svg", "missed.svg"]
    {
        let picture = fs::read_to_string(folder.0.join("figures").join(file)).unwrap();
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{file}");
    }
}

#[test]
fn pictures_show_each_job_each_miss_and_units() {
    let folder = Folder::new("sched-pictures");
    // `b & c` needs 6 ms within 8 ms, of which `a` takes 4 ms.
    let set = operation("a", "2 ms", "4 ms", "") + &operation("b & c", "6 ms", "20 ms", "8 ms");
    let set = folder.file("overloaded.toml", &set);
    let told = json(&["simulate", &set, "--strategy", "RMS", "--format", "json"]);
    let (jobs, missed) = (told["jobs"].as_u64().unwrap(), told["missed"].as_u64().unwrap());
    assert_eq!((jobs, missed), (6, 1), "{told}");
    good(&["plot", &set, "--compare", "RMS,EDF", "--out", &folder.path("figures")]);
    let picture =
        |file: &str| elements(&fs::read_to_string(folder.0.join("figures").join(file)).unwrap());
    let timeline = picture("timeline-rms.svg");
    let titles = |name: &str| {
        let named = timeline.iter().filter(|it| it.name == name);
        named.filter_map(|it| it.title.clone()).collect::<Vec<String>>()
    };
    let bars = titles("rect");
    for (name, count) in [("a", 5), ("b & c", 1)] {
        for number in 0..count {
            let start = format!("{name} job {number}, ");
            assert!(bars.iter().any(|title| title.starts_with(&start)), "{start}: {bars:?}");
        }
    }
    assert_eq!(titles("path"), ["b & c job 0 missed its deadline at 8 ms"]);
    let labels = timeline.iter().filter(|it| it.name == "text").map(|it| it.text.as_str());
    let labels: Vec<&str> = labels.collect();
    assert!(labels.contains(&"RMS") && labels.contains(&"b & c"), "{labels:?}");
    let times = labels.iter().filter(|label| oxorb_sched::time::parse(label).is_ok()).count();
    assert!(times >= 5, "the axis has times with units: {labels:?}");
    for (file, unit, count) in [
        ("latency.svg", "milliseconds", 4),
        ("laxity.svg", "milliseconds", 4),
        ("missed.svg", "fraction", 4),
    ] {
        let all = picture(file);
        assert_eq!(all.iter().filter(|it| it.title.is_some()).count(), count, "{file}");
        assert!(all.iter().any(|it| it.text == unit), "{file}");
    }
    let missed = picture("missed.svg");
    let fraction =
        missed.iter().find_map(|it| it.title.clone().filter(|it| it.starts_with("b & c RMS")));
    assert_eq!(fraction.as_deref(), Some("b & c RMS: 1.000"));
}

/// Returns an operation of a task set; the deadline is the period unless given.
fn operation(name: &str, wcet: &str, period: &str, deadline: &str) -> String {
    let deadline = match deadline {
        "" => String::new(),
        deadline => format!("deadline = \"{deadline}\"\n"),
    };
    format!(
        "[[operation]]\nname = \"{name}\"\nwcet = \"{wcet}\"\nperiod = \"{period}\"\nthreads = 1\n{deadline}\n"
    )
}

#[test]
fn the_papers_simulation_runs_in_all_forms() {
    let folder = Folder::new("sched-paper");
    let told = json(&["simulate", "--paper", "--format", "json", "--out", &folder.path("all")]);
    for form in ["constructed", "events", "events-demoting"] {
        let runs = told[form].as_array().unwrap();
        let names: Vec<&str> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
        assert_eq!(names, ["MUF", "MLF", "EDF", "RMS"]);
        assert_eq!(runs[0]["critical_missed"], 0);
        assert!(Path::new(&folder.path("all")).join(form).join("missed.svg").exists());
    }
    let told = good(&["simulate", "--paper"]);
    assert!(
        told.contains("constructed      holds  only MUF keeps every critical deadline"),
        "{told}"
    );
    assert!(
        told.contains("constructed      fails  MUF misses the fewest deadlines, by number"),
        "{told}"
    );
}

/// Compiles a program and returns its output.
fn compiled(compiler: &mut Command, program: &Path) -> String {
    let built = compiler.arg("-o").arg(program).output();
    let built = built.unwrap_or_else(|error| panic!("{compiler:?}: {error}"));
    assert!(built.status.success(), "{}", text(&built.stderr));
    let ran = Command::new(program).output().expect("it was built");
    assert!(ran.status.success());
    text(&ran.stdout)
}

/// Output of programs that print the table of [`SET`].
const TABLE: &str = "\
nav::Sensor::sample 99 0 0 4000000 50000000 1
nav::Filter::update 99 0 1 6000000 50000000 1
nav::Display::show 98 1 1 20000000 100000000 1
nav::Map::tile 98 1 0 3000000 100000000 1
99
98
";

/// R4: only schedules that are proved and that threads can enforce are emitted; otherwise the reason is reported.
#[test]
fn what_is_not_proved_or_not_enforced_is_not_emitted() {
    let folder = Folder::new("sched-emit-refused");
    // The set uses the whole processor, which EDF can schedule and static priorities cannot.
    let set = folder.file(
        "full.toml",
        "[[operation]]\nname = \"a\"\nwcet = \"2 ms\"\nperiod = \"4 ms\"\n\
         [[operation]]\nname = \"b\"\nwcet = \"3 ms\"\nperiod = \"6 ms\"\n",
    );
    let refused = |args: &[&str]| {
        let output = sched(&[&["emit", set.as_str()], args].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        text(&output.stderr)
    };
    good(&["analyse", &set, "--strategy", "EDF", "--model", "urgency"]);
    for (strategy, order) in [("EDF", "deadline"), ("MLF", "laxity"), ("MUF", "laxity")] {
        for language in ["rust", "cpp", "json"] {
            let told =
                refused(&["--strategy", strategy, "--model", "urgency", "--language", language]);
            assert!(told.contains(&format!("full preemption by {order}")), "{told}");
        }
    }
    let told = refused(&["--strategy", "DM", "--model", "urgency"]);
    assert!(
        told.contains("not every critical deadline is proved")
            && told.contains("b: misses its deadline of 6 ms"),
        "{told}"
    );
    let table = json(&[
        "emit",
        &set,
        "--strategy",
        "DM",
        "--model",
        "urgency",
        "--language",
        "json",
        "--unproved",
    ]);
    assert_eq!(table["model"], "urgency");
    assert_eq!(json(&["emit", SET, "--language", "json"])["model"], "band");
    assert!(good(&["emit", SET]).contains("pub const MODEL: &str = \"band\";"));
    assert!(good(&["emit", SET, "--language", "cpp"]).contains("* model = \"band\";"));
}

/// R5: laxity is checked at each step, by the analysis and by the simulation, and dispatching costs time in both.
#[test]
fn what_dispatching_costs_is_part_of_the_analysis() {
    let folder = Folder::new("sched-overheads");
    let set = "[[operation]]\nname = \"a\"\nwcet = \"2 ms\"\nperiod = \"4 ms\"\n\
               [[operation]]\nname = \"b\"\nwcet = \"2.9 ms\"\nperiod = \"6 ms\"\n";
    let file = folder.file("set.toml", set);
    let mlf = ["analyse", &file, "--strategy", "MLF", "--model", "urgency"];
    good(&[&mlf[..], &["--step", "100 us"]].concat());
    let coarse = sched(&[&mlf[..], &["--step", "500 us"]].concat());
    assert_eq!(coarse.status.code(), Some(1), "{}", text(&coarse.stdout));
    let slow = folder.file("slow.toml", &format!("[schedule]\nswitch = \"100 us\"\n{set}"));
    let edf = ["--strategy", "EDF", "--model", "urgency"];
    good(&[&["analyse", file.as_str()], &edf[..]].concat());
    assert_eq!(sched(&[&["analyse", slow.as_str()], &edf[..]].concat()).status.code(), Some(1));
    let late = json(&[&["simulate", slow.as_str(), "--format", "json"], &edf[..]].concat());
    assert!(late["missed"].as_u64() > Some(0), "{late}");
    let never = sched(&[&mlf[..], &["--switch", "100 us"]].concat());
    assert!(text(&never.stderr).contains("not longer than a context switch"));
}

#[test]
fn the_table_compiles_as_rust() {
    if !oxorb_testkit::peers::is_there("rustc") {
        return;
    }
    let folder = Folder::new("sched-emit");
    good(&["emit", SET, "--out", &folder.path("priorities.rs")]);
    let user = folder.file(
        "user.rs",
        "#![deny(warnings, missing_docs)]\n//! Uses the table.\n#[allow(dead_code, reason = \"not all of it is used\")]\n\
         mod priorities;\nfn main() {\n    for it in &priorities::OPERATIONS {\n        \
         println!(\"{} {} {} {} {} {} {}\", it.name, it.os_priority, it.preemption_priority, it.subpriority, \
         it.worst_case_ns, it.period_ns, u8::from(it.critical));\n    }\n    for it in &priorities::QUEUES {\n        \
         assert_eq!(it.dispatching, priorities::Dispatching::Static);\n        println!(\"{}\", it.os_priority);\n    }\n}\n",
    );
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut compiler = Command::new(rustc);
    compiler.args(["--edition", "2024", &user]);
    assert_eq!(compiled(&mut compiler, &folder.0.join("user")), TABLE);
}

#[test]
fn the_table_compiles_as_cpp() {
    if !oxorb_testkit::peers::is_there("g++") {
        return;
    }
    let folder = Folder::new("sched-emit-cpp");
    good(&["emit", SET, "--language", "cpp", "--out", &folder.path("priorities.h")]);
    let user = folder.file(
        "user.cc",
        "#include \"priorities.h\"\n#include <iostream>\nusing namespace oxorb_schedule;\n\
         static_assert(operations[1].os_priority == 99, \"known when it is compiled\");\nint main() {\n    \
         for (const Operation& it : operations)\n        std::cout << it.name << ' ' << it.os_priority << ' ' \
         << it.preemption_priority << ' ' << it.subpriority << ' ' << it.worst_case_ns << ' ' << it.period_ns << ' ' \
         << it.critical << '\\n';\n    for (const Queue& it : queues) std::cout << it.os_priority << '\\n';\n}\n",
    );
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", &user]);
    assert_eq!(compiled(&mut compiler, &folder.0.join("user")), TABLE);
}

#[test]
fn names_are_escaped_in_every_language() {
    if !oxorb_testkit::peers::is_there("rustc") {
        return;
    }
    let folder = Folder::new("sched-emit-names");
    let name = "odd \"name\" \\ \u{1}9 \u{e9}";
    let set = format!(
        "[[operation]]\nname = {}\nwcet = \"1 ms\"\nperiod = \"9 ms\"\n",
        serde_json::json!(name)
    );
    let set = folder.file("set.toml", &set);
    let table = json(&["emit", &set, "--language", "json"]);
    assert_eq!(table["operations"][0]["name"], name);
    good(&["emit", &set, "--out", &folder.path("priorities.rs")]);
    let user = folder.file(
        "user.rs",
        "#![allow(dead_code)]\nmod priorities;\nfn main() {\n    print!(\"{}\", priorities::OPERATIONS[0].name);\n}\n",
    );
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut compiler = Command::new(rustc);
    compiler.args(["--edition", "2024", &user]);
    assert_eq!(compiled(&mut compiler, &folder.0.join("user")), name);
    if !oxorb_testkit::peers::is_there("g++") {
        return;
    }
    good(&["emit", &set, "--language", "cpp", "--out", &folder.path("priorities.h")]);
    let user = folder.file(
        "user.cc",
        "#include \"priorities.h\"\n#include <iostream>\nint main() { std::cout << oxorb_schedule::operations[0].name; }\n",
    );
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", &user]);
    assert_eq!(compiled(&mut compiler, &folder.0.join("user-cc")), name);
}

#[test]
fn the_table_has_a_place_for_each_handle() {
    let folder = Folder::new("sched-emit-place");
    // The rate of `far` comes from another node and is unknown here. That is no error, but `far` gets no priority.
    let set = folder.file(
        "set.toml",
        "[[operation]]\nname = \"far\"\ntype = \"remote\"\n\
         [[operation]]\nname = \"near\"\nwcet = \"1 ms\"\nperiod = \"9 ms\"\n",
    );
    good(&["check", &set]);
    let refused = sched(&["emit", &set]);
    assert_eq!(refused.status.code(), Some(1));
    let told = text(&refused.stderr);
    assert!(told.starts_with("error: the schedule omits far"), "{told}");
}
