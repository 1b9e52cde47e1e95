//! `oxbench channel --quick`, tested for results that are equal on every machine.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::watchdog;
use serde_json::Value;

#[test]
fn a_quick_run_of_channels_counts_every_event_in_one_process_and_between_processes() {
    let _guard = watchdog(Duration::from_secs(400));
    // The system may not permit the default processor.
    let cpu = oxorb_sys::thread::allowed_cpus().unwrap()[0].to_string();
    // Saturated suppliers with real-time priorities would keep the processor from other tests.
    let versions = ["--only", "paced,processes", "--low-hz", "50", "--cpu", &cpu];
    let output = Command::new(env!("CARGO_BIN_EXE_oxbench"))
        .args(["channel", "--quick", "--check", "--format", "json"])
        .args(versions)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let points = report["points"].as_array().unwrap();
    let measured: Vec<_> = points
        .iter()
        .map(|it| {
            let text = |of: &str| it[of].as_str().unwrap();
            (text("version"), it["lows"].as_u64().unwrap(), text("strategy"))
        })
        .collect();
    let mut expected = Vec::new();
    for version in ["paced", "processes"] {
        for lows in [1_u64, 10, 100] {
            expected.extend(["RMS", "MUF"].map(|strategy| (version, lows, strategy)));
        }
    }
    assert_eq!(measured, expected);
    for point in points {
        assert_eq!(point["events"], 100, "{point}");
        let quantiles = ["p50_ns", "p99_ns", "p999_ns", "max_ns", "release_max_ns"];
        let quantiles = quantiles.map(|of| point[of].as_u64().unwrap());
        assert!(quantiles[0] > 0 && quantiles.is_sorted(), "{point}");
        assert!(point["release_p99_ns"].as_u64().unwrap() >= quantiles[1], "{point}");
        // The low pairs exchanged events during the measurement of the high pair.
        assert!(point["low_rate"].as_f64().unwrap() > 0.0, "{point}");
        assert_eq!(point["dropped"], 0, "{point}");
    }
    assert!(errors.contains("processes, MUF: high p99"), "{errors}");
    assert!(errors.contains("processes, 100 low, round 1 of 1, MUF ..."), "{errors}");
}
