//! `oxorb sched` for several nodes: links, and flows across them.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::{good, sched, text};

const FLOWS: &str = "tests/sched/flows.toml";

/// Modified copy of the example, removed at the end.
struct Changed(PathBuf);

impl Changed {
    fn new(test: &str, from: &str, to: &str) -> Changed {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FLOWS);
        let whole = std::fs::read_to_string(path).unwrap();
        assert!(whole.contains(from), "{from}");
        let name = format!("oxorb-flows-{test}-{}.toml", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
        Changed(path)
    }

    fn refused(&self, verb: &str) -> String {
        let file = self.0.display().to_string();
        let output = sched(&[verb, &file]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        let told = text(&output.stdout) + &text(&output.stderr);
        told.replace(&file, "flows.toml")
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_flow_is_followed_from_end_to_end() {
    let told = good(&["analyse", FLOWS]);
    let expected = "\
ok   sensor to screen: meets its deadline of 30 ms, response at most 16.999999 ms
       nav::Sensor::sample on front  done by 5 ms: own 2 ms, 3 ms for nav::Filter::update x1
       position            on bus    done by 9.999999 ms: own 1 ms, released up to 5 ms late, blocked 3.999999 ms by status
       nav::Display::show  on back   done by 16.999999 ms: own 7 ms, released up to 9.999999 ms late
";
    assert!(told.ends_with(expected), "{told}");
    assert!(told.contains("bus: link of 1 Mbit/s, 6.00 % used\n"), "{told}");
    assert_eq!(good(&["check", FLOWS]), "good: 7 operations on 3 nodes and links, 1 flow\n");
    let found: Value =
        serde_json::from_str(&good(&["analyse", FLOWS, "--format", "json"])).unwrap();
    assert_eq!(found["safe"], true);
    let flow = &found["flows"][0];
    assert_eq!(flow["response_ns"], 16_999_999);
    assert_eq!(flow["holistic_ns"], 16_999_999);
    assert_eq!(flow["offsets_ns"], 16_999_999);
    assert_eq!(flow["steps"][1]["node"], "bus");
    assert_eq!(flow["steps"][1]["done_by_ns"], 9_999_999);
    assert_eq!(found["nodes"][2]["kind"], "link");
    assert_eq!(found["nodes"][1]["operations"][0]["jitter_ns"], 9_999_999);
}

#[test]
fn a_flow_that_may_be_late_fails_with_the_reason() {
    let short = Changed::new("short", "deadline = \"30 ms\"", "deadline = \"16 ms\"");
    let told = short.refused("analyse");
    assert!(
        told.contains("open sensor to screen: may miss its deadline of 16 ms, response up to 16.999999 ms, 999.999 us too long"),
        "{told}"
    );
    // The filter uses nearly all the time of its node, so later steps and other tasks on its node have no bound.
    let full = Changed::new("full", "wcet = \"3 ms\"", "wcet = \"9.9 ms\"");
    let told = full.refused("analyse");
    assert!(
        told.contains(
            "one of its steps, or of a flow that shares a node or link with it, has no bound"
        ),
        "{told}"
    );
    assert!(told.contains("open critical   2  nav::Log::write: may miss"), "{told}");
}

#[test]
fn what_is_wrong_with_nodes_and_flows_has_its_place() {
    let cases = [
        (
            "node = \"front\"\nwcet = \"2 ms\"",
            "wcet = \"2 ms\"",
            "flows.toml:17:8: nav::Sensor::sample is on no node",
        ),
        ("node = \"front\"", "node = \"frnt\"", "there is no node or link \"frnt\""),
        ("name = \"back\"", "name = \"front\"", "another node or link has the name \"front\""),
        (
            "from = \"nav::Display::show\"",
            "from = \"nav::Sensor::sample\"",
            "dependencies across nodes must be steps of a [[flow]]",
        ),
        ("\"position\", \"nav", "\"positions\", \"nav", "there is no operation \"positions\""),
        (
            "\"position\", \"nav",
            "\"position\", \"position\", \"nav",
            "position is a step of two flows, or occurs twice in one flow",
        ),
        ("period = \"50 ms\"\n", "", "the rate of sensor to screen is unknown"),
        (
            "steps = [",
            "steps = [\"nav::Log::write\", ",
            "nav::Log::write runs every 100 ms, but its flow every 50 ms",
        ),
        ("rate = \"1 Mbit/s\"", "rate = \"fast\"", "\"fast\" is not a rate"),
        ("rate = \"1 Mbit/s\"\n", "", "octets need a link with a rate"),
        ("octets = 125", "octets = 125\ntime = \"1 ms\"", "position needs either time or octets"),
        ("strategy = \"RMS\"", "strategy = \"EDF\"", "nav::Sensor::sample is queued by DEADLINE"),
        (
            "wcet = \"5 ms\"",
            "wcet = \"5 ms\"\ndeadline = \"9 ms\"",
            "deadline and offset must be set for its flow",
        ),
        (
            "to = \"nav::Map::tile\"",
            "to = \"nav::Display::show\"",
            "back: operations call each other in a cycle",
        ),
        (
            "steps = [\"nav::Sensor::sample\", \"position\", \"nav::Display::show\"]",
            "steps = []",
            "sensor to screen has no steps",
        ),
    ];
    for (at, (from, to, expected)) in cases.into_iter().enumerate() {
        let changed = Changed::new(&format!("wrong-{at}"), from, to);
        for verb in ["check", "analyse"] {
            let told = changed.refused(verb);
            assert!(told.contains(expected), "{to}\n{told}");
        }
    }
}

#[test]
fn one_node_is_emitted_and_simulated() {
    let table = good(&["emit", FLOWS, "--node", "front", "--language", "json"]);
    let table: Value = serde_json::from_str(&table).unwrap();
    assert_eq!(table["strategy"], "RMS");
    assert_eq!(table["operations"][0]["period_ns"], 50_000_000);
    good(&["simulate", FLOWS, "--node", "back"]);
    for args in [&["emit", FLOWS][..], &["simulate", FLOWS], &["serve", FLOWS], &["load", FLOWS]] {
        let output = sched(args);
        let told = text(&output.stderr);
        assert!(told.contains("specify one with --node"), "{told}");
    }
    let output = sched(&["analyse", FLOWS, "--node", "back"]);
    assert!(text(&output.stderr).contains("analyse all nodes, without --node"));
    // Node `front` receives nothing from other nodes, so it can be analysed alone.
    good(&["analyse", FLOWS, "--node", "front", "--sensitivity"]);
    let output = sched(&["emit", FLOWS, "--node", "side"]);
    let told = text(&output.stderr);
    assert!(told.contains("there is no node \"side\"; the nodes are front, back, bus"), "{told}");
}

#[test]
fn operations_of_idl_are_listed_at_their_node() {
    let whole = "[[node]]\nname = \"one\"\noperations = [\"nav::Sensor::sample\", \"nav::Filter::update\"]\n\
                 [[event]]\nfrom = \"nav::Sensor::sample\"\nto = \"nav::Filter::update\"\n";
    let name = format!("oxorb-flows-idl-{}.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, whole).unwrap();
    let told = good(&["analyse", "tests/sched/nav.idl", &file.display().to_string()]);
    let _ = std::fs::remove_file(&file);
    assert!(told.starts_with("one: DM by band, 20.00 % used\n"), "{told}");
}
