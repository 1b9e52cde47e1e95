//! Test that runs both programs as a user would.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::net::free_port;
use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_client_moves_money_and_the_reference_survives_a_restart() {
    let endpoint = format!("iiop://127.0.0.1:{}", free_port());
    let (mut server, reference) = serve(&endpoint);
    assert_eq!(
        client(&reference),
        [
            "balance 100",
            "after a deposit of 50: 150",
            "after two withdrawals: 120",
            "a million is too much, by 999880",
        ]
    );
    server.kill();

    let (_server, _) = serve(&endpoint);
    assert_eq!(client(&reference)[0], "balance 100");
}

fn serve(endpoint: &str) -> (Process, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bank-server"));
    command.args(["-ORBListenEndpoints", endpoint]);
    let mut server = Process::spawn(command);
    let reference = server.wait_for_line("IOR:", LIMIT);
    (server, reference)
}

fn client(reference: &str) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bank-client"));
    command.arg(reference);
    let mut client = Process::spawn(command);
    let lines = client.wait_success(LIMIT);
    lines.iter().map(|line| line.text.clone()).collect()
}
