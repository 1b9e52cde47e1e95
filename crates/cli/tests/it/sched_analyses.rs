//! `oxorb sched analyse` beyond verdicts on one processor: servers, critical sections, bursts, processors, modes,
//! probabilities, models of other tools, and many files at once.

use serde_json::Value;

use crate::common::{Folder, good, sched, text};

/// Returns an operation as TOML.
fn operation(name: &str, wcet: &str, period: &str, more: &str) -> String {
    format!(
        "[[operation]]\nname = \"{name}\"\nwcet = \"{wcet}\"\nperiod = \"{period}\"\nthreads = 1\n{more}\n"
    )
}

fn head(more: &str) -> String {
    format!("[schedule]\nstrategy = \"DM\"\nmodel = \"urgency\"\n{more}\n")
}

/// Folder with one task set.
struct Set(Folder, String);

impl Set {
    fn new(name: &str, content: &str) -> Set {
        let folder = Folder::new(&format!("sched-analyses-{name}"));
        let file = folder.file("set.toml", content);
        Set(folder, file)
    }

    fn json(&self, args: &[&str]) -> Value {
        let all = [&["analyse", &self.1, "--format", "json"], args].concat();
        serde_json::from_str(&good(&all)).expect("one JSON document")
    }

    /// Returns the message of a failing run, without the folder.
    fn refused(&self, args: &[&str]) -> String {
        let output = sched(&[&["analyse", self.1.as_str()], args].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        let told = text(&output.stdout) + &text(&output.stderr);
        told.replace(&format!("{}/", self.0.0.display()), "")
    }
}

fn response(report: &Value, operation: &str) -> u64 {
    let mut rows = report["operations"].as_array().unwrap().iter();
    let row = rows.find(|row| row["operation"] == operation).unwrap();
    row["response_ns"].as_u64().unwrap()
}

const MS: u64 = 1_000_000;

#[test]
fn critical_sections_block() {
    let content = head("")
        + &operation("fast", "2 ms", "10 ms", "")
        + &operation("middle", "3 ms", "20 ms", "")
        + &operation("slow", "5 ms", "40 ms", "")
        + "[[lock]]\noperation = \"fast\"\nresource = \"state\"\ntime = \"500 us\"\n"
        + "[[lock]]\noperation = \"slow\"\nresource = \"state\"\ntime = \"1 ms\"\n";
    let set = Set::new("locks", &content);
    for locking in ["PIP", "PCP", "SRP", "NPP"] {
        let report = set.json(&["--locking", locking]);
        assert_eq!(response(&report, "fast"), 3 * MS, "{locking}");
        assert_eq!(response(&report, "middle"), 6 * MS, "{locking}");
        assert_eq!(response(&report, "slow"), 10 * MS, "{locking}");
    }
    let told = set.refused(&["--strategy", "MUF"]);
    assert!(told.contains("with queues by laxity, only NPP can be analysed"), "{told}");
    let told = set.refused(&["--cores", "2"]);
    assert!(told.contains("critical sections can be analysed only on one processor"), "{told}");
    let wrong = Set::new("locks-wrong", &content.replace("time = \"1 ms\"", "time = \"9 ms\""));
    let told = wrong.refused(&[]);
    assert!(
        told.contains("set.toml:28:13: slow takes at most 5 ms, but holds state longer"),
        "{told}"
    );
    let unknown = Set::new(
        "locks-unknown",
        &content.replace("operation = \"slow\"", "operation = \"sloth\""),
    );
    let told = unknown.refused(&[]);
    assert!(told.contains("set.toml:28:13: there is no operation \"sloth\""), "{told}");
}

#[test]
fn bursts_come_at_their_distance() {
    let content = head("")
        + &operation("alarm", "2 ms", "100 ms", "burst = 3\ndistance = \"1 ms\"")
        + &operation("rest", "10 ms", "200 ms", "");
    let report = Set::new("bursts", &content).json(&[]);
    // Requests are released at 0, 1 and 2 ms. The third is done at 6 ms, 4 ms after its release.
    assert_eq!(response(&report, "alarm"), 4 * MS);
    assert_eq!(response(&report, "rest"), 16 * MS);
    assert_eq!(report["utilization"].as_f64().unwrap(), 0.11);
    for (from, to, expected) in [
        (
            "burst = 3",
            "burst = 300",
            "300 requests at a distance of 1 ms do not fit into a period of 100 ms",
        ),
        ("burst = 3", "burst = 0", "a burst needs at least 1 request"),
        ("burst = 3\n", "", "set.toml:10:12: distance is the time between the requests of a burst"),
    ] {
        let told = Set::new("bursts-wrong", &content.replace(from, to)).refused(&[]);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn requests_wait_in_servers() {
    let server = |kind: &str| {
        let row = format!(
            "[[server]]\nname = \"odd jobs\"\nkind = \"{kind}\"\ncapacity = \"2 ms\"\nperiod = \"10 ms\"\n"
        );
        let log =
            operation("log", "3 ms", "40 ms", "server = \"odd jobs\"").replace("threads = 1\n", "");
        head("") + &operation("control", "2 ms", "5 ms", "") + &row + &log
    };
    let bound = |kind: &str, args: &[&str]| {
        let report = Set::new("servers", &server(kind)).json(args);
        report["servers"][0]["response_ns"].as_u64().unwrap()
    };
    // The server itself completes after 4 ms, because it waits for `control` once.
    assert_eq!(bound("polling", &[]), (10 + 10 + 4 - 1) * MS);
    assert_eq!(bound("deferrable", &[]), (8 + 10 + 4 - 1) * MS);
    let urgency = ["--model", "urgency"];
    assert_eq!(bound("sporadic", &urgency), (8 + 10 + 4 - 1) * MS);
    let told =
        Set::new("servers-sporadic", &server("sporadic")).refused(&["--model", "non-preemptive"]);
    assert!(told.contains("needs static priorities with full preemption"), "{told}");
    assert_eq!(bound("constant-bandwidth", &["--strategy", "EDF"]), 20 * MS);
    // A deferrable server does not wait for its own retained capacity.
    let full = server("deferrable").replace("capacity = \"2 ms\"", "capacity = \"5 ms\"");
    let report = Set::new("servers-full", &full).json(&[]);
    assert_eq!(response(&report, "odd jobs"), 9 * MS);
    let told = Set::new("servers-laxity", &server("constant-bandwidth")).refused(&[]);
    assert!(told.contains("needs one queue by deadline with full preemption"), "{told}");
    let late =
        server("polling").replace("period = \"40 ms\"", "period = \"40 ms\"\ndeadline = \"15 ms\"");
    let told = Set::new("servers-late", &late).refused(&[]);
    assert!(told.contains("log: may miss its deadline of 15 ms"), "{told}");
    assert!(told.contains("not safe: a server"), "{told}");
    let told =
        Set::new("servers-none", &server("polling").replace("server = \"odd", "server = \"even"))
            .refused(&[]);
    assert!(told.contains("there is no server \"even jobs\""), "{told}");
    let told = Set::new("servers-odd", &server("total-bandwidth")).refused(&[]);
    assert!(
        told.contains(
            "there is no kind of server \"total-bandwidth\"; expected one of polling, deferrable, sporadic, \
             constant-bandwidth"
        ),
        "{told}"
    );
}

#[test]
fn several_processors() {
    let content = head("")
        + &operation("a", "6 ms", "10 ms", "")
        + &operation("b", "5 ms", "10 ms", "")
        + &operation("c", "4 ms", "10 ms", "");
    let set = Set::new("cores", &content);
    let cores = |args: &[&str]| set.json(&[&["--cores", "2"], args].concat());
    // The heaviest operation is placed first. With `worst`, c goes to the emptier processor with b; with `first`, it
    // fills up the processor of a.
    assert_eq!(cores(&["--fit", "worst"])["cores"], serde_json::json!([["a"], ["b", "c"]]));
    assert_eq!(cores(&["--fit", "first"])["cores"], serde_json::json!([["a", "c"], ["b"]]));
    assert_eq!(cores(&["--fit", "best"])["heuristic"], "best-fit decreasing");
    let global = cores(&["--global"]);
    assert_eq!(global["policy"], "global fixed priority");
    assert_eq!(global["sufficient_only"], true);
    let told = set.refused(&["--cores", "1", "--fit", "first"]);
    assert!(told.contains("b fits on none of the 1 processors"), "{told}");
    let told = set.refused(&["--cores", "2", "--global", "--model", "band"]);
    assert!(told.contains("it needs full preemption (model urgency), not band"), "{told}");
    let usage = sched(&["analyse", &set.1, "--global"]);
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn optimal_priorities_are_found_and_emitted() {
    let content = head("")
        + &operation("first", "52 ms", "100 ms", "deadline = \"110 ms\"")
        + &operation("second", "52 ms", "140 ms", "deadline = \"154 ms\"");
    let set = Set::new("optimal", &content);
    let told = set.refused(&[]);
    assert!(told.contains("second: misses its deadline of 154 ms"), "{told}");
    let report = set.json(&["--optimal"]);
    assert_eq!((response(&report, "first"), response(&report, "second")), (108 * MS, 52 * MS));
    assert_eq!(report["strategy"], "OPA");
    let table: Value =
        serde_json::from_str(&good(&["emit", &set.1, "--optimal", "--language", "json"])).unwrap();
    assert!(table.to_string().contains("OPA"), "{table}");
    let told = set.refused(&["--optimal", "--model", "band"]);
    assert!(told.contains("they need model urgency or non-preemptive"), "{told}");
}

#[test]
fn overruns_of_what_is_critical() {
    let content = head("")
        + &operation("control", "2 ms", "10 ms", "overrun = \"5 ms\"")
        + &operation("display", "6 ms", "10 ms", "");
    let set = Set::new("mixed", &content);
    let report = set.json(&[]);
    let rows = report["mixed_criticality"].as_array().unwrap();
    assert_eq!(
        (&rows[0]["low_response_ns"], &rows[0]["high_response_ns"]),
        (&(2 * MS).into(), &(5 * MS).into())
    );
    assert_eq!(
        (&rows[1]["low_response_ns"], &rows[1]["high_response_ns"]),
        (&(8 * MS).into(), &Value::Null)
    );
    let told =
        Set::new("mixed-late", &content.replace("overrun = \"5 ms\"", "overrun = \"11 ms\""))
            .refused(&[]);
    assert!(told.contains("control: deadline of 10 ms, response 2 ms, then no bound"), "{told}");
    let told = Set::new("mixed-odd", &content.replace("overrun = \"5 ms\"", "overrun = \"1 ms\""))
        .refused(&[]);
    assert!(told.contains("an overrun of 1 ms is shorter than the worst case of 2 ms"), "{told}");
}

#[test]
fn chances_and_room() {
    let content = head("")
        + &operation("a", "4 ms", "10 ms", "typical = \"1 ms\"\nusual = 0.9\nbcet = \"1 ms\"")
        + &operation("b", "3 ms", "10 ms", "times = [[\"3 ms\", 1.0]]");
    let set = Set::new("chances", &content);
    let report = set.json(&["--chance", "--sensitivity"]);
    let chance = report["operations"][1]["late_probability"].as_f64().unwrap();
    assert!((chance - 0.01).abs() < 1e-9, "{chance}");
    assert_eq!(report["shortest_period_ns"], serde_json::json!([7 * MS, 7 * MS]));
    assert_eq!(report["longest_ns"], serde_json::json!([7 * MS, 6 * MS]));
    assert_eq!(report["operations"][0]["best_ns"], MS);
    assert_eq!(report["operations"][0]["jitter_ns"], 3 * MS);
    for (from, to, expected) in [
        ("usual = 0.9", "usual = 1.9", "1.9 is not a share"),
        ("1.0]]", "0.5]]", "the probabilities add up to 0.5"),
        ("\"3 ms\", 1.0", "\"9 ms\", 1.0", "a time of 9 ms is longer than the wcet of 3 ms"),
        ("typical = \"1 ms\"\n", "", "usual is the fraction of executions"),
    ] {
        let told = Set::new("chances-wrong", &content.replace(from, to)).refused(&["--chance"]);
        assert!(told.contains(expected) && told.contains("set.toml:"), "{told}");
    }
}

#[test]
fn measured_overheads_count() {
    let content = head("") + &operation("a", "4 ms", "10 ms", "");
    let set = Set::new("overheads", &content);
    let measured = set.0.file(
        "doctor.json",
        "{\"overheads\": {\"dispatch_ns\": 5000, \"switch_ns\": 3000}, \"more\": []}",
    );
    assert_eq!(response(&set.json(&["--overheads", &measured]), "a"), 4 * MS + 11_000);
    assert_eq!(
        response(&set.json(&["--overheads", &measured, "--switch", "0 ns"]), "a"),
        4 * MS + 5_000
    );
    for (content, expected) in [
        ("{\n\"overheads\": {", "wrong.json:2:14: EOF"),
        ("{\"overheads\": {\"dispatch_ns\": -5}}", "wrong.json: overheads: invalid value"),
        ("{\"overheads\": {}}", "wrong.json: overheads has dispatch_ns, switch_ns or both"),
        ("[]", "wrong.json: there is no member \"overheads\""),
    ] {
        let wrong = set.0.file("wrong.json", content);
        let told = set.refused(&["--overheads", &wrong]);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn models_in_aadl() {
    let plane = "tests/sched/plane.aadl";
    let report: Value =
        serde_json::from_str(&good(&["analyse", plane, "--format", "json"])).unwrap();
    assert_eq!((&report["strategy"], &report["model"]), (&"RMS".into(), &"urgency".into()));
    // `flight.log` waits for `control` twice: 30 + 2 * 4.
    assert_eq!(response(&report, "flight.log"), 38 * MS);
    assert_eq!(report["operations"][0]["best_ns"], MS);
    let whole = std::fs::read_to_string(plane).unwrap();
    let folder = Folder::new("sched-analyses-aadl");
    let file = folder.file("wrong.aadl", &whole.replace("Sporadic", "Background"));
    let output = sched(&["analyse", &file]);
    let told = text(&output.stderr);
    assert!(
        told.contains("wrong.aadl:13:28: the dispatch protocol Background is not supported"),
        "{told}"
    );
}

#[test]
fn each_file_by_itself() {
    let folder = Folder::new("sched-analyses-each");
    let fine = folder.file("fine.toml", &(head("") + &operation("a", "1 ms", "10 ms", "")));
    let late = folder.file("late.toml", &(head("") + &operation("a", "20 ms", "10 ms", "")));
    let wrong = folder.file("wrong.toml", "[[operation]]\nname = 1\n");
    let output = sched(&[
        "analyse",
        &fine,
        &late,
        &wrong,
        "tests/sched/plane.aadl",
        "--each",
        "--format",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let rows: Vec<Value> = serde_json::from_str(&text(&output.stdout)).unwrap();
    let safe: Vec<bool> = rows.iter().map(|row| row["safe"].as_bool().unwrap()).collect();
    assert_eq!(safe, [true, false, false, true]);
    assert!(rows[2]["error"].as_str().unwrap().contains("wrong.toml:2:8"));
    let told = good(&["analyse", &fine, "tests/sched/plane.aadl", "--each"]);
    assert!(told.ends_with("2 of 2 files are safe\n"), "{told}");
}
