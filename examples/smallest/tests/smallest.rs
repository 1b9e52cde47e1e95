//! Test that runs all three programs as `cargo xtask size` does.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_client_calls_either_server_and_all_end_with_their_input() {
    for server in [env!("CARGO_BIN_EXE_smallest-server"), env!("CARGO_BIN_EXE_smallest-rt-server")]
    {
        let (mut server, reference) = start(Command::new(server));
        let mut client = Command::new(env!("CARGO_BIN_EXE_smallest-client"));
        client.arg(reference);
        let (mut client, answer) = start(client);
        assert_eq!(answer, "42");
        for program in [&mut client, &mut server] {
            drop(program.stdin.take());
            assert!(program.wait().unwrap().success());
        }
    }
}

/// Starts a program and returns it with its first line.
fn start(mut command: Command) -> (Child, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(output.lines().next()));
    let line = told.recv_timeout(LIMIT).expect("a line in time");
    (child, line.expect("a line").unwrap())
}
