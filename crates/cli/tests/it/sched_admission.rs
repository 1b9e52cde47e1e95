//! `oxorb sched admit`, `release`, `admitted` and `load --server` against a running server.

use oxorb::Orb;
use serde_json::Value;

use crate::common::{Folder, good, sched, text};

fn server(how: &str) -> (Orb, String) {
    let orb =
        Orb::builder().listen("iiop://127.0.0.1:0").setting("Admission", how).build().unwrap();
    let object = orb.root_poa().create_reference::<oxorb::ObjectRef>().unwrap();
    let ior = oxorb::Interface::reference(&object).ior().clone();
    let url = oxorb::ior::corbaloc(&ior).unwrap();
    // Remove the object key, which may contain a slash: the address alone suffices for --server.
    let url = url.split_once('/').unwrap().0.to_owned();
    (orb, url)
}

fn json(args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.extend(["--format", "json"]);
    serde_json::from_str(&good(&all)).unwrap()
}

#[test]
fn operations_are_admitted_listed_and_released() {
    let (orb, url) = server("late=refuse");
    let admit = |name: &str| {
        sched(&[
            "admit",
            "operation",
            name,
            "--worst-case",
            "4ms",
            "--period",
            "10ms",
            "--server",
            &url,
        ])
    };
    let first = admit("a::B::one");
    assert_eq!(
        text(&first.stdout),
        "operation a::B::one: guaranteed, answered within 4 ms\n",
        "{}",
        text(&first.stderr)
    );
    assert!(admit("a::B::two").status.success());
    let third = admit("a::B::three");
    assert!(!third.status.success());
    assert!(text(&third.stdout).contains("a::B::three: refused: "), "{}", text(&third.stdout));
    let again = admit("a::B::one");
    assert!(
        text(&again.stdout).contains("not considered: operation a::B::one is already admitted")
    );
    let load = json(&["admitted", "--server", &url]);
    assert_eq!(load["late_comers"], "refuse");
    assert_eq!(load["members"].as_array().unwrap().len(), 2);
    assert_eq!(load["budgets"][0]["budget"], "time=4ms/10ms longest=4ms beyond=refuse");
    let released = good(&["release", "operation", "a::B::one", "--server", &url]);
    assert_eq!(released, "operation a::B::one is released\n");
    assert!(!sched(&["release", "operation", "a::B::one", "--server", &url]).status.success());
    assert!(admit("a::B::three").status.success());
    orb.shutdown(true).unwrap();
}

#[test]
fn a_schedule_is_admitted_as_a_whole_and_late_comers_share() {
    let (orb, url) = server("late=share beyond=demote");
    let folder = Folder::new("sched-admission");
    let set = folder.file(
        "tasks.toml",
        "[[operation]]\nname = \"a::B::one\"\nwcet = \"2 ms\"\nperiod = \"10 ms\"\n\
         [[operation]]\nname = \"a::B::two\"\nwcet = \"5 ms\"\nperiod = \"20 ms\"\n",
    );
    let loaded = json(&["load", &set, "--server", &url]);
    let answers = loaded["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["verdict"] == "guaranteed"), "{answers:?}");
    let late = good(&[
        "admit",
        "client",
        "10.0.0.7",
        "--worst-case",
        "9ms",
        "--period",
        "10ms",
        "--server",
        &url,
    ]);
    assert!(late.starts_with("client 10.0.0.7: best effort, 5"), "{late}");
    let shares = good(&["admit", "client", "10.0.0.8", "--share", "--server", &url]);
    assert!(shares.starts_with("client 10.0.0.8: best effort, 2"), "{shares}");
    let table = good(&["admitted", "--server", &url]);
    assert!(
        table.starts_with(
            "guarantees use 45.00 % of the processor; requests that cannot be guaranteed share the remaining time\n"
        ),
        "{table}"
    );
    assert!(table.contains("client 10.0.0.7: best effort, 2"), "the shares are equal: {table}");
    orb.shutdown(true).unwrap();
}

#[test]
fn a_server_that_admits_nobody_says_how_it_would() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let object = orb.root_poa().create_reference::<oxorb::ObjectRef>().unwrap();
    let ior = oxorb::Interface::reference(&object).ior().clone();
    let url = oxorb::ior::corbaloc(&ior).unwrap();
    let url = url.split_once('/').unwrap().0;
    let refused = sched(&["admitted", "--server", url]);
    assert!(!refused.status.success());
    assert!(
        text(&refused.stderr).contains("-ORBAdmission late=refuse"),
        "{}",
        text(&refused.stderr)
    );
    orb.shutdown(true).unwrap();
}
