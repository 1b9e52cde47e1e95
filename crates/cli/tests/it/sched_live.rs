//! `oxorb sched calibrate` and `watch`: analysed and measured times.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, Upcall};
use oxorb_testkit::process::{rerun, test_name};
use oxorb_testkit::until;
use serde_json::Value;

use crate::common::{Folder, good, sched};

static WORK: Op = Op::twoway("work");
static REST: Op = Op::twoway("rest");

const SET: &str = r#"[schedule]
strategy = "RMS"

[[operation]] # by hand
name = "plant::Machine::work" # the one that calls
wcet = "9 ms"
period = "50 ms"
threads = 1

[[operation]]
name = "plant::Machine::rest"
wcet = "1 ms"
period = "100 ms"
threads = 1

[[operation]]
name = "plant::Machine::never"
wcet = "1 ms"
period = "1 s"
threads = 1
"#;

/// Servant whose `work` uses 3 ms of processor time and calls its neighbour's `rest` twice.
struct Machine(Option<ObjectRef>);

impl Servant for Machine {
    fn repository_id(&self) -> &str {
        "IDL:plant/Machine:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let time = match upcall.operation() {
            "work" => 3,
            _ => 1,
        };
        let until = oxorb_sys::clock::thread_cpu() + Duration::from_millis(time);
        while oxorb_sys::clock::thread_cpu() < until {}
        if let Some(neighbour) = self.0.as_ref().filter(|_| time == 3) {
            for _ in 0..2 {
                call(neighbour, &REST);
            }
        }
        upcall.done()
    }
}

fn call(object: &ObjectRef, op: &'static Op) {
    let answer = object.reference().invoke(op, |_| Ok(()), |_| Ok(()));
    answer.unwrap_or_else(|why: oxorb::SystemException| panic!("{why}"));
}

fn machine(orb: &Orb) -> ObjectRef {
    let activate = |machine| {
        let reference = orb.root_poa().activate_servant(Arc::new(machine));
        ObjectRef::from_ref(reference.unwrap())
    };
    let neighbour = activate(Machine(None));
    activate(Machine(Some(neighbour)))
}

/// Starts a server in this process that enforces the set of a file and measures.
fn server(folder: &Folder, set: &str) -> (Orb, String) {
    let table = folder.file("table.json", &good(&["emit", set, "--language", "json"]));
    let config = folder.file("oxorb.toml", "[schedule]\ntable = \"table.json\"\nmeasure = true\n");
    assert!(table.ends_with("table.json"));
    let orb = Orb::builder().config_file(config).listen("iiop://127.0.0.1:0").build().unwrap();
    let object = orb.resolve_initial_references("OxorbMeasurements");
    assert!(object.is_err(), "a name for others, not one of ours");
    let machine = machine(&orb);
    let profile = machine.reference().ior().iiop_profiles().next();
    let port = profile.unwrap().port;
    call(&machine, &WORK);
    // The server sends the reply before it reads the clocks for the last time.
    until("the call is measured", || orb.measurements().is_some_and(|rows| rows[0].cpu.count == 1));
    (orb, format!("corbaloc::127.0.0.1:{port}"))
}

#[test]
fn watch_tells_bound_and_measured_of_every_operation() {
    let folder = Folder::new("live-watch");
    let set = folder.file("set.toml", SET);
    let (orb, url) = server(&folder, &set);
    let told = good(&[
        "watch",
        &set,
        "--server",
        &url,
        "--count",
        "2",
        "--interval",
        "0.05",
        "--format",
        "json",
    ]);
    let looks: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 2);
    let operations = looks[1]["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 3);
    let work = &operations[0];
    assert_eq!(work["operation"], "plant::Machine::work");
    assert_eq!(work["bound_ns"], 9_000_000);
    assert_eq!(work["response"]["count"], 1);
    assert!(work["cpu"]["max_ns"].as_u64().unwrap() >= 3_000_000);
    assert_eq!(operations[1]["response"]["count"], 2);
    assert_eq!(operations[1]["bound_ns"], 10_000_000);
    assert!(operations.iter().all(|one| one["proved"] == true), "{operations:#?}");
    let text = good(&["watch", &set, "--server", &url, "--count", "1"]);
    assert!(text.contains("plant::Machine::work"), "{text}");

    // In this set, the second operation may take 84 ms, because the first one runs twice meanwhile.
    let late = SET.replace("wcet = \"9 ms\"", "wcet = \"25 ms\"");
    let late = late.replace("1 ms\"\nperiod = \"100 ms\"", "34 ms\"\nperiod = \"75 ms\"");
    let late = folder.file("late.toml", &late);
    let told = good(&["watch", &late, "--server", &url, "--count", "1", "--format", "json"]);
    let look: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(look["operations"][0]["proved"], true, "{look:#}");
    assert_eq!(look["operations"][1]["proved"], false, "{look:#}");
    orb.shutdown(true).unwrap();
}

#[test]
fn who_does_not_measure_is_told_what_to_do() {
    let folder = Folder::new("live-silent");
    let set = folder.file("set.toml", SET);
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let object = machine(&orb);
    let port = object.reference().ior().iiop_profiles().next().unwrap().port;
    let url = format!("corbaloc::127.0.0.1:{port}");
    let output = sched(&["watch", &set, "--server", &url, "--count", "1"]);
    assert!(!output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("measure = true"), "{errors}");
    orb.shutdown(true).unwrap();
}

const APPLICATION: &str = "OXORB_TEST_APPLICATION";

/// Application that `calibrate` runs: this test program with a variable set.
#[test]
fn application() {
    if std::env::var_os(APPLICATION).is_none() {
        return;
    }
    let orb = Orb::builder().build().unwrap();
    let machine = machine(&orb);
    loop {
        call(&machine, &WORK);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn calibrate_runs_an_application_and_writes_what_it_takes() {
    let folder = Folder::new("live-calibrate");
    let set = folder.file("set.toml", SET);
    let out = folder.0.join("calibrated.toml").display().to_string();
    let this = rerun(test_name(application));
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.env(APPLICATION, "yes").args(["sched", "calibrate", &set]);
    command.args(["--seconds", "2", "--out", &out, "--format", "json", "--"]);
    command.arg(this.get_program()).args(this.get_args());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    // The test harness of the application prints first.
    let text = String::from_utf8(output.stdout).unwrap();
    let json = &text[text.find('{').unwrap()..];
    let told: Value = serde_json::from_str(json).unwrap();
    assert_eq!(told["not_called"], serde_json::json!(["plant::Machine::never"]));
    assert_eq!(told["calls"][0]["from"], "plant::Machine::work");
    assert_eq!(told["calls"][0]["to"], "plant::Machine::rest");
    let work = told["operations"][0]["wcet_ns"].as_u64().unwrap();
    assert!(work >= 3_600_000, "1.2 times 3 ms, without what it calls: {work}");

    let written = std::fs::read_to_string(&out).unwrap();
    assert!(written.contains("[[operation]] # by hand\n"), "{written}");
    assert!(
        written.contains("\"plant::Machine::work\" # the one that calls\ntypical = \""),
        "{written}"
    );
    assert!(
        written.ends_with(
            "[[call]] # found by calibration\nfrom = \"plant::Machine::work\"\nto = \"plant::Machine::rest\"\ntimes = 2\n"
        ),
        "{written}"
    );
    assert!(!written.contains("\"9 ms\""), "{written}");
    let checked: Value = serde_json::from_str(&good(&["check", &out, "--format", "json"])).unwrap();
    assert_eq!(checked["operations"], 3);
}

#[test]
fn calibrating_nothing_says_what_is_missing() {
    let folder = Folder::new("live-nothing");
    let set = folder.file("set.toml", SET);
    for (args, expected) in [
        (&["calibrate", &set][..], "no application is specified"),
        (&["calibrate", &set, "--", "/no/such/program"], "/no/such/program"),
        (&["calibrate", &set, "--", "false"], "the application ended"),
        (&["calibrate", &set, "--margin", "0.5", "--", "false"], "--margin"),
    ] {
        let output = sched(args);
        assert!(!output.status.success());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(expected), "{errors}");
    }
}
