//! `oxorb-demo demo`: every call is accounted for; times depend on the machine.

use serde_json::Value;

use crate::common::{bad, json};

#[test]
fn the_demo_speaks_json() {
    let args = ["demo", "--duration", "1s", "--clients", "2", "--format", "json"];
    let told = json(&args);
    // The lane and its scheduling class are reported separately.
    for (act, real_time) in [
        ("without_priorities", false),
        ("lane", false),
        ("lane_real_time", oxorb_testkit::require_realtime()),
    ] {
        let act = &told[act];
        assert_eq!(act["urgent"]["real_time"], real_time, "{act}");
        assert_eq!(act["urgent"]["error"], Value::Null);
        let calls = act["urgent"]["latency"]["calls"].as_u64();
        assert!(calls > Some(0), "{act}");
        let shares = act["urgent"]["shares"].as_array().expect("a list");
        let shares = shares.iter().filter_map(Value::as_u64);
        assert_eq!(Some(shares.sum()), calls, "every call has its place");
        assert!(act["others"]["calls"].as_u64() > Some(0), "{act}");
    }
    for act in ["lane", "lane_real_time"] {
        assert!(told["ratio"][act]["p99"].as_f64() > Some(0.0), "{told}");
    }
}

#[test]
fn a_port_that_is_taken_is_one_clear_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("iiop://{}", taken.local_addr().unwrap());
    let message = bad(&["demo", "--listen", &endpoint]);
    assert!(message.contains("another process listens there"), "{message}");
}
