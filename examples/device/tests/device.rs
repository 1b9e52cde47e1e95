//! Test that runs both programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_device_is_used_fails_and_is_reset() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_device-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut server = Process::spawn(server);
    let reference = server.wait_for_line("IOR:", LIMIT);
    let mut client = Command::new(env!("CARGO_BIN_EXE_device-client"));
    client.arg(&reference);
    let mut client = Process::spawn(client);
    let said: Vec<_> = client.wait_success(LIMIT).iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        said,
        [
            "On: 12.5 V, Valid",
            "Fault: 0 V, Invalid",
            "NotAllowed: on is not allowed in state Fault (PowerSupply::on)",
            "Off: 0 V, Invalid",
        ]
    );
}
