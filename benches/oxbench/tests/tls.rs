//! `oxbench tls --quick`, tested for results that are equal on every machine.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::watchdog;
use serde_json::Value;

#[test]
fn a_quick_run_of_tls_measures_every_contender_and_every_kind_of_handshake() {
    let _guard = watchdog(Duration::from_secs(400));
    // The machine may have a single processor, or not permit processor 0.
    let placement = ["--cpus", "free", "--handshake-cpus", "free"];
    let output = Command::new(env!("CARGO_BIN_EXE_oxbench"))
        .args(["tls", "--quick", "--check", "--format", "json"])
        .args(placement)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["suite"].as_str().unwrap().starts_with("TLS13_"), "{report}");

    let ascending = |row: &Value| {
        let quantiles = ["p50", "p99", "p999", "max"].map(|of| row[of].as_u64().unwrap());
        assert!(quantiles[0] > 0 && quantiles.is_sorted(), "{row}");
    };
    let calls = report["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    for (call, (name, count)) in calls.iter().zip([("ping", 6_000_u64), ("octets-1m", 120)]) {
        assert_eq!(call["name"], name);
        let rows = call["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 4, "{call}");
        for (row, contender) in rows.iter().zip(["tcp", "iiop", "rustls", "iiops"]) {
            assert_eq!(row["contender"], contender);
            assert_eq!(row["calls"], count, "{row}");
            ascending(row);
        }
    }

    let handshakes = report["handshakes"].as_array().unwrap();
    let mut rows = handshakes.iter();
    for kind in ["full", "resumed"] {
        for (connections, count) in [(1_u64, 300_u64), (8, 312)] {
            for server in ["rustls", "oxorb"] {
                let row = rows.next().unwrap();
                assert_eq!(row["kind"], kind);
                assert_eq!(row["server"], server);
                assert_eq!(row["connections"], connections);
                assert_eq!(row["handshakes"], count);
                ascending(row);
            }
        }
    }
    assert!(rows.next().is_none());
    for bound in ["ping: iiops by iiop", "octets-1m: iiops by bare rustls", "resumed handshakes"] {
        assert!(errors.contains(bound), "{bound}: {errors}");
    }
}
