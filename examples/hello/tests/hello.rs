//! Test that runs both programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_client_is_greeted() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_hello-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut server = Process::spawn(server);
    let reference = server.wait_for_line("IOR:", LIMIT);
    let mut client = Command::new(env!("CARGO_BIN_EXE_hello-client"));
    client.args([&reference, "World"]);
    let mut client = Process::spawn(client);
    let said = client.wait_success(LIMIT);
    assert_eq!(said[0].text, "Hello, World!");
}
