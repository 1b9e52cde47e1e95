//! `oxbench gateway --quick`, tested for results that are equal on every machine.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::watchdog;
use serde_json::Value;

#[test]
fn a_quick_run_of_gateways_measures_every_contender_and_many_connections() {
    let _guard = watchdog(Duration::from_secs(400));
    // The machine may have a single processor, or not permit processor 0.
    let output = Command::new(env!("CARGO_BIN_EXE_oxbench"))
        .args(["gateway", "--quick", "--check", "--format", "json"])
        .args(["--cpus", "free", "--connections", "200"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ascending = |row: &Value| {
        let quantiles = ["p50", "p99", "p999", "max"].map(|of| row[of].as_u64().unwrap());
        assert!(quantiles[0] > 0 && quantiles.is_sorted(), "{row}");
    };
    let calls = report["calls"].as_array().unwrap();
    let wanted = [("ping", 6_000_u64), ("octets-64k", 1_200), ("octets-1m", 120)];
    assert_eq!(calls.len(), wanted.len());
    for (call, (name, count)) in calls.iter().zip(wanted) {
        assert_eq!(call["name"], name);
        let rows = call["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 4, "{call}");
        for (row, contender) in rows.iter().zip(["direct", "relay", "gateway", "search"]) {
            assert_eq!(row["contender"], contender);
            assert_eq!(row["calls"], count, "{row}");
            assert_eq!(row["hop_to_direct"].is_null(), contender == "direct", "{row}");
            if name == "ping" && ["gateway", "search"].contains(&contender) {
                assert!(row["allocations"].as_f64().unwrap() < 1.0, "{row}");
            }
            ascending(row);
        }
    }
    let connections = &report["connections"];
    assert_eq!(connections["connections"], 200);
    assert_eq!(connections["served"], 200);
    let rows = connections["rows"].as_array().unwrap();
    for (row, open) in rows.iter().zip([1, 200]) {
        assert_eq!(row["open"], open);
        ascending(row);
    }
    for bound in [
        "ping: hop of gateway by a direct call",
        "octets-1m: allocations of search",
        "met      200 connections: share that was served",
    ] {
        assert!(errors.contains(bound), "{bound}: {errors}");
    }
}
