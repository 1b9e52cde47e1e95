//! Test that runs both programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn alarms_are_timed_alone_and_beside_the_archive() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_lanes-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut server = Process::spawn(server);
    let references = [(); 2].map(|()| server.wait_for_line("IOR:", LIMIT));
    let mut client = Command::new(env!("CARGO_BIN_EXE_lanes-client"));
    client.args(&references);
    let mut client = Process::spawn(client);
    let said = client.wait_success(LIMIT);
    let told = |line: usize, how: &str| said[line].text.starts_with(how);
    assert!(told(0, "alone: ") && told(1, "beside the archive: "), "{said:?}");
}
