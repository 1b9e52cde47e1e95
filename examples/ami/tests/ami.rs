//! Test that runs both programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn replies_come_in_another_order_than_the_calls() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_ami-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut server = Process::spawn(server);
    let reference = server.wait_for_line("IOR:", LIMIT);
    let mut client = Command::new(env!("CARGO_BIN_EXE_ami-client"));
    client.arg(&reference);
    let mut client = Process::spawn(client);
    let said = client.wait_success(LIMIT).iter().map(|line| line.text.as_str());
    assert_eq!(said.collect::<Vec<_>>(), ["place 3: cup", "place 2: plate", "place 1: bowl"]);
}
