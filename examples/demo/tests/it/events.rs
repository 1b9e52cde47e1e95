//! `oxorb demo events`: every event is accounted for; times depend on the machine.

use crate::common::{good, json};

#[test]
fn consumers_lose_their_own_events_by_their_own_policies_and_all_are_counted() {
    let told = json(&["demo", "events", "--seconds", "1", "--format", "json"]);
    let overload = &told["overload"];
    let pushed = overload["pushed"].as_u64().unwrap();
    let consumers = overload["consumers"].as_array().unwrap();
    let names: Vec<_> = consumers.iter().map(|one| one["name"].as_str()).collect();
    let expected = ["display", "logbook", "operator", "map", "stuck"].map(Some);
    assert_eq!(names, expected);
    let of = |at: usize, what: &str| consumers[at][what].as_u64().unwrap();
    for (at, consumer) in consumers.iter().enumerate() {
        assert_eq!(of(at, "matched"), pushed);
        assert_eq!(of(at, "delivered") + of(at, "dropped"), pushed);
        assert_eq!(consumer["in_order"], true);
    }
    assert_eq!(of(0, "dropped"), 0);
    assert_eq!(consumers[2]["alarms"]["calls"], overload["alarms"]);
    let filters = told["filters"]["filters"].as_array().unwrap();
    let passed: Vec<_> = filters.iter().map(|one| one["passed"].as_u64()).collect();
    assert_eq!(passed, [50, 40, 80, 100, 100].map(Some));
    assert_eq!(told["silence"]["beats"], 10);
    // The channel's timer runs for this long; any excess depends on the machine.
    assert!(told["silence"]["silence_ns"].as_u64().unwrap() >= 150_000_000, "{told}");
}

#[test]
fn the_acts_are_shown_to_people() {
    let lines = good(&["demo", "events", "--seconds", "1"]);
    for shown in [
        "Act 1 of 3, overload",
        "keep latest of each source",
        "events pushed = delivered + dropped",
        "type==17 && !(source==3)",
        "notified ",
        "docs/events.md",
    ] {
        assert!(lines.contains(shown), "no {shown:?} in {lines}");
    }
    assert!(!lines.contains('\x1b'), "colours only on a terminal: {lines}");
}
