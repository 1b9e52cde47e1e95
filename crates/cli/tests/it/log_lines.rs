//! Servers log through the ORB: a few lines for each client, at the configured level and place.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a name server on its own port, and returns its address.
fn serve(more: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["name", "serve", "--in-memory", "--port", "0"])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    // Read the remaining output, because the command would end if its standard output were closed.
    std::thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
    let address = line.split("corbaloc::").nth(1).expect("it says where");
    let address = address.split('/').next().unwrap().to_owned();
    (child, address)
}

/// Violates the protocol `times` times, and waits each time until the server has closed the connection.
fn break_protocol(address: &str, times: usize) {
    for _ in 0..times {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GARBAGE GARBAGE ").unwrap();
        // The server sends a MessageError, and then closes the connection.
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

fn stderr_of(mut child: Child) -> String {
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_client_that_never_ends_costs_few_lines() {
    let (child, address) = serve(&[]);
    break_protocol(&address, 300);
    let text = stderr_of(child);
    let lines = text.matches("the client violated the protocol").count();
    assert!((1..100).contains(&lines), "{lines} lines: {text}");
}

#[test]
fn settings_say_what_is_logged_and_where() {
    let file = std::env::temp_dir().join(format!("oxorb-log-lines-{}", std::process::id()));
    let path = file.display().to_string();
    let (child, address) = serve(&["-ORBLogFile", &path]);
    break_protocol(&address, 1);
    let begun = Instant::now();
    while !std::fs::read_to_string(&file).is_ok_and(|text| text.contains("violated the protocol")) {
        assert!(begun.elapsed() < Duration::from_secs(20), "no line in {path}");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(stderr_of(child), "");
    std::fs::remove_file(&file).unwrap();

    let (child, address) = serve(&["-ORBLogLevel", "off"]);
    break_protocol(&address, 1);
    assert_eq!(stderr_of(child), "");
}
