//! The plans of `examples/avionics-display` under `oxorb deploy`, and `oxorb demo avionics`, which runs them. Times are the
//! machine's.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use oxorb_deploy::{Document, Format, Limits};
use serde_json::Value;

use crate::common::text;

const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/avionics-display/plans");

/// Each document and its other form.
const FORMS: [(&str, &str); 4] = [
    ("navigation.toml", "navigation.cdp"),
    ("navigation.rt.toml", "navigation.rt.csr"),
    ("with-warning.toml", "with-warning.cdp"),
    ("with-warning.rt.toml", "with-warning.rt.csr"),
];

fn oxorb(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(args).current_dir(PLANS).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn good(args: &[&str]) -> String {
    let output = oxorb(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {out}{err}");
    out
}

/// `BLESS=1` writes the XML anew.
#[test]
fn the_xml_forms_are_those_that_convert_makes_and_say_the_same() {
    for (toml, xml) in FORMS {
        let made = good(&["deploy", "convert", "--to", "xml", toml, "-"]);
        let file = Path::new(PLANS).join(xml);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, &made).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), made, "{xml}");
        let read = |name: &str, format| {
            let text = fs::read_to_string(Path::new(PLANS).join(name)).unwrap();
            Document::read(&text, format, &Limits::default()).unwrap()
        };
        assert_eq!(read(xml, Format::Xml), read(toml, Format::Toml), "{xml}");
    }
}

#[test]
fn every_plan_is_proved_with_the_bounds_of_its_chains() {
    let navigation = "10000  rate -> gps.refresh -> navigation.update: 21.15 ms of 50 ms";
    let beside = "10000  rate -> gps.refresh -> navigation.update: 41.3 ms of 50 ms";
    let warning = "20000  slow rate -> radar.refresh -> warning.update: 20.15 ms of 25 ms";
    for (plan, resources, bounds) in [
        ("navigation.toml", "navigation.rt.toml", &[navigation][..]),
        ("navigation.cdp", "navigation.rt.csr", &[navigation]),
        ("with-warning.toml", "with-warning.rt.toml", &[beside, warning]),
        ("with-warning.cdp", "with-warning.rt.csr", &[beside, warning]),
    ] {
        let idl = "../idl/avionics.idl";
        let told = good(&["deploy", "check", plan, "--idl", idl, "--rt", resources]);
        for bound in bounds {
            assert!(told.contains(bound), "{plan}: no {bound:?} in\n{told}");
        }
        assert!(told.ends_with("; every critical deadline is proved\n"), "{told}");
    }
}

#[test]
fn both_servers_are_counted_by_the_ticks_of_the_same_plan() {
    // The ticks below are those of one second: on a busy machine an act begins late and counts fewer.
    let told = good(&["demo", "avionics", "--seconds", "2", "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["load"], 4);
    for act in ["ordinary", "real_time"] {
        for (display, least, deadline) in
            [("warning", 4, 25_000_000), ("navigation", 18, 50_000_000)]
        {
            let seen = &told[act][display];
            let number = |what: &str| seen[what].as_u64().unwrap();
            assert!(number("ticks") >= least, "{act} {display}: {seen}");
            assert!(number("missed") <= number("ticks"), "{seen}");
            assert!(number("lost") <= number("missed"), "{seen}");
            assert_eq!(number("deadline_ns"), deadline);
            assert_eq!(seen["proved_ns"].is_null(), act == "ordinary");
        }
        // A picture takes 60 ms of processor time and was due after 50: none can be in time, on any machine.
        let navigation = &told[act]["navigation"];
        assert_eq!(navigation["missed"], navigation["ticks"], "{told}");
    }
    assert_eq!(told["ordinary"]["real_time_threads"], 0);
}

#[test]
fn the_acts_are_shown_to_people() {
    let lines = good(&["demo", "avionics", "--seconds", "1"]);
    for shown in [
        "Act 1 of 2, an ordinary server",
        "Act 2 of 2, a real-time server",
        "with real-time resources",
        "warning display, deadline 25.0 ms",
        "deadlines missed",
        "0 lines of code",
        "SCHED_FIFO",
    ] {
        assert!(lines.contains(shown), "no {shown:?} in {lines}");
    }
    assert!(!lines.contains('\x1b'), "colours only on a terminal: {lines}");
}
