//! `oxbench http --quick`, tested for results that are equal on every machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use oxorb_testkit::{peers, watchdog};
use serde_json::Value;

#[test]
fn a_quick_run_of_the_http_gateway_measures_every_number_of_connections() {
    let oxbench = env!("CARGO_BIN_EXE_oxbench");
    if !Path::new(oxbench).with_file_name("oxorb").exists() {
        return peers::missing("oxorb", "the command is not beside oxbench");
    }
    let _guard = watchdog(Duration::from_secs(400));
    let output = Command::new(oxbench)
        .args(["http", "--quick", "--check", "--format", "json"])
        .args(["--requests", "2000", "--connections", "1,4"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for (row, connections) in rows.iter().zip([1, 4]) {
        assert_eq!(row["connections"], connections);
        assert_eq!(row["requests"], 400, "{row}");
        assert!(row["each_second"].as_f64().unwrap() > 0.0, "{row}");
        let quantiles = ["p50", "p99", "p999", "max"].map(|of| row[of].as_u64().unwrap());
        assert!(quantiles[0] > 0 && quantiles.is_sorted(), "{row}");
    }
    assert!(errors.contains("of at most 2 CPUs"), "{errors}");
}
