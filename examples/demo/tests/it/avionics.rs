//! `oxorb-demo demo avionics`: every tick is accounted for; times depend on the machine.

use crate::common::{good, json};

#[test]
fn both_servers_are_counted_by_the_ticks_of_the_same_plan() {
    // The ticks below are those of one second: on a busy machine, an act begins late and counts fewer.
    let told = json(&["demo", "avionics", "--duration", "2s", "--format", "json"]);
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
            assert_eq!(seen["bound_ns"].is_null(), act == "ordinary");
            // On a busy machine, the bound may be exceeded, and then it is not called proved.
            let warning = &told[act]["warning"];
            let is_late = warning["max_ns"].as_u64() > warning["bound_ns"].as_u64();
            assert!(seen["proved_ns"].is_null() || !is_late, "{told}");
        }
        // A picture takes 60 ms of processor time and is due after 50: none can be in time, on any machine.
        let navigation = &told[act]["navigation"];
        assert_eq!(navigation["missed"], navigation["ticks"], "{told}");
    }
    assert_eq!(told["ordinary"]["real_time_threads"], 0);
    assert!(told["real_time"]["stolen_ms"].is_u64(), "{told}");
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
