//! `oxorb sched admit`, `release`, `admitted` and `load --server` against a running server.

use oxorb::{Builder, Orb};
use serde_json::Value;

use crate::common::{Folder, good, sched, text};

fn server(how: &str) -> (Orb, String) {
    of(Orb::builder().setting("Admission", how))
}

fn of(builder: Builder) -> (Orb, String) {
    let orb = builder.listen("iiop://127.0.0.1:0").build().unwrap();
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
    // The former name of --server, and a time limit.
    assert_eq!(json(&["admitted", "--at", &url, "--timeout", "1m"])["members"], load["members"]);
    assert_eq!(load["members"].as_array().unwrap().len(), 2);
    assert_eq!(load["budgets"][0]["budget"], "time=4ms/10ms longest=4ms beyond=refuse");
    let released = good(&["release", "operation", "a::B::one", "--server", &url]);
    assert_eq!(released, "operation a::B::one is released\n");
    assert!(!sched(&["release", "operation", "a::B::one", "--server", &url]).status.success());
    assert!(admit("a::B::three").status.success());
    orb.shutdown(true).unwrap();
}

/// The services of the command listen when their objects exist.
#[test]
fn a_server_that_listens_late_admits_work() {
    let (orb, url) = of(Orb::builder().setting("Admission", "late=refuse").listen_late());
    assert_eq!(json(&["admitted", "--server", &url])["late_comers"], "refuse");
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

#[test]
fn requests_that_no_guarantee_can_follow_are_not_considered() {
    let (orb, url) = server("late=share");
    let admit = |whose: &[&str]| {
        let rest = ["--worst-case", "1ms", "--period", "10ms", "--server", &url];
        sched(&[&["admit"][..], whose, &rest[..]].concat())
    };
    let long = "x".repeat(600);
    for (whose, part) in [
        (&["clients"][..], "`clients` stands for every client"),
        (&["object", &long][..], "more than the limit of 512"),
        (&["operation", "update"][..], "with its interface"),
        (&["everybody"][..], "instead of `everybody`"),
    ] {
        let told = admit(whose);
        assert!(!told.status.success(), "{whose:?}");
        assert!(text(&told.stdout).contains(part), "{whose:?}: {}", text(&told.stdout));
    }
    let long = sched(&[
        "admit",
        "client",
        "10.0.0.7",
        "--worst-case",
        "1ms",
        "--period",
        "2h",
        "--server",
        &url,
    ]);
    assert!(text(&long.stdout).contains("must be at most an hour"), "{}", text(&long.stdout));
    let long = sched(&[
        "admit",
        "client",
        "10.0.0.7",
        "--worst-case",
        "1ms",
        "--period",
        "3601s",
        "--server",
        &url,
    ]);
    assert!(text(&long.stdout).contains("must be at most an hour"), "{}", text(&long.stdout));
    for (option, value, part) in [
        ("--priority", "-1", "0..=32767"),
        ("--priority", "32768", "0..=32767"),
        ("--deadline", "NaN", "300ms, 1.5s or 2m"),
        ("--deadline", "99999999999s", "the maximum is"),
    ] {
        let told = admit(&["client", "10.0.0.7", option, value]);
        assert!(!told.status.success(), "{option} {value}");
        assert!(text(&told.stderr).contains(part), "{option} {value}: {}", text(&told.stderr));
    }
    let never = admit(&["client", "10.0.0.7", "--deadline", "0s"]);
    // A deadline of 0 is that of the period.
    assert!(text(&never.stdout).contains("guaranteed"), "{}", text(&never.stdout));
    assert_eq!(json(&["admitted", "--server", &url])["members"].as_array().unwrap().len(), 1);
    orb.shutdown(true).unwrap();
}

#[test]
fn operations_whose_declared_delays_a_guarantee_would_ignore_are_not_loaded() {
    let (orb, url) = server("late=refuse");
    let folder = Folder::new("sched-admission-delays");
    let one = "[[operation]]\nname = \"a::B::one\"\nwcet = \"2 ms\"\nperiod = \"10 ms\"\n";
    for (more, part) in [
        ("jitter = \"1 ms\"\n", "ignore the jitter"),
        ("blocking = \"1 ms\"\n", "ignore the blocking"),
        ("[schedule]\nswitch = \"3 us\"\n", "ignore the times of dispatching"),
    ] {
        let set = folder.file("tasks.toml", &format!("{one}{more}"));
        let told = sched(&["load", &set, "--server", &url]);
        assert!(!told.status.success(), "{more}");
        assert!(text(&told.stderr).contains(part), "{more}: {}", text(&told.stderr));
    }
    assert_eq!(json(&["admitted", "--server", &url])["members"].as_array().unwrap().len(), 0);
    orb.shutdown(true).unwrap();
}
