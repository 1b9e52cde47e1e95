//! `oxbench components --quick`, tested for results that are equal on every machine.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::watchdog;
use serde_json::Value;

#[test]
fn a_quick_run_of_components_tells_what_it_was_asked() {
    let _guard = watchdog(Duration::from_secs(400));
    // Little work, so that real-time threads, if permitted, leave the processor to other tests.
    let arguments = [
        "components",
        "--quick",
        "--work",
        "2",
        "--orders",
        "none,by-rate",
        "--cpus",
        "free",
        "--check",
        "--format",
        "json",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_oxbench")).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let rows = report["overhead"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "two sizes, local and remote");
    for row in rows {
        // Two rounds of four blocks of 500.
        for side in ["plain", "component"] {
            assert_eq!(row[side]["calls"]["calls"], 4000, "{row}");
        }
        let allocations = |side: &str| row[side]["allocations"].as_f64().unwrap();
        let more = allocations("component") - allocations("plain");
        assert!(more.abs() < 0.01, "a component's call allocates {more} times more: {row}");
    }

    let points = report["rates"]["points"].as_array().unwrap();
    assert_eq!(points[0]["order"], "none");
    assert!(matches!(points.len(), 1 | 2), "by-rate needs a privilege");
    for point in points {
        for (pair, hertz) in point["pairs"].as_array().unwrap().iter().zip([25, 50, 75]) {
            assert_eq!(pair["hertz"], hertz);
            let kept = pair["kept"].as_f64().unwrap();
            assert!(0.0 < kept && kept < f64::from(hertz) * 1.2, "{point}");
        }
    }
    assert_eq!(report["rates"]["executables"], 1);

    let none = serde_json::json!(
        { "files_added": 0, "files_changed": 0, "lines_added": 0, "lines_removed": 0 }
    );
    assert_eq!(report["effort"][0]["code"], none);
    let rounds = report["deployment"]["rounds"].as_array().unwrap();
    let memory = |round: &Value, of: &str| round[of]["memory"].as_f64().unwrap();
    assert!(rounds.iter().all(|round| memory(round, "deployed") > memory(round, "bare")));
}
