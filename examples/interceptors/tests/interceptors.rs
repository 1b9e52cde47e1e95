//! Test that runs both programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_trace_id_of_the_client_reaches_the_server() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_interceptors-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut server = Process::spawn(server);
    let reference = server.wait_for_line("IOR:", LIMIT);
    let mut client = Command::new(env!("CARGO_BIN_EXE_interceptors-client"));
    client.args([&reference, "World"]);
    let mut client = Process::spawn(client);
    let said = client.wait_success(LIMIT).iter().map(|line| line.text.as_str());
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            "send_request greet",
            "receive_reply greet",
            "Hello, World!",
            "send_request farewell",
            "receive_reply farewell",
            "Goodbye, World!",
        ]
    );
    for line in ["receive_request greet job-17", "receive_request farewell job-17"] {
        assert_eq!(server.wait_for_line("receive_request", LIMIT), line);
    }
}
