//! `oxorb demo sched`: every request of every strategy is served and reported; times depend on the machine.

use crate::common::json;

#[test]
fn all_strategies_are_played_and_told_beside_the_simulation() {
    let told = json(&["demo", "sched", "--rounds", "1", "--format", "json"]);
    assert_eq!(told["utilization"], 1.296);
    let strategies = told["strategies"].as_array().unwrap();
    let names: Vec<_> = strategies.iter().map(|act| &act["strategy"]).collect();
    assert_eq!(names, ["RMS", "EDF", "MLF", "MUF"]);
    for act in strategies {
        let operations = act["operations"].as_array().unwrap();
        let jobs: Vec<_> = operations.iter().map(|one| one["jobs"].as_u64()).collect();
        let expected = [1, 5, 10, 20, 1, 5, 10, 20].map(Some);
        assert_eq!(jobs, expected, "{}", act["strategy"]);
        for one in operations {
            assert!(one["measured_missed"].as_u64() <= one["jobs"].as_u64());
            assert!(one["measured_max_ns"].as_u64().unwrap() >= 9_000_000, "{one}");
        }
    }
    assert_eq!(strategies[3]["simulated_critical_missed"], 0);
    assert!(strategies[0]["simulated_critical_missed"].as_u64().unwrap() > 0);
}
