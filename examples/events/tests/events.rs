//! Test that runs all programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_consumer_receives_what_its_filter_accepts() {
    let mut channel = Command::new(env!("CARGO_BIN_EXE_events-channel"));
    channel.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut channel = Process::spawn(channel);
    let reference = channel.wait_for_line("IOR:", LIMIT);
    let mut consumer = Command::new(env!("CARGO_BIN_EXE_events-consumer"));
    consumer.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).arg(&reference);
    let mut consumer = Process::spawn(consumer);
    consumer.wait_for_line("subscribed", LIMIT);
    let mut supplier = Command::new(env!("CARGO_BIN_EXE_events-supplier"));
    supplier.arg(&reference);
    let mut supplier = Process::spawn(supplier);
    assert_eq!(supplier.wait_success(LIMIT)[0].text, "published 6 readings");
    let said: Vec<_> = consumer.wait_success(LIMIT).iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        said,
        [
            "subscribed",
            "level: reading 1, 0.4",
            "level: reading 3, 0.42",
            "alarm: reading 5, 0.97",
            "level: reading 6, 0.44",
        ]
    );
}
