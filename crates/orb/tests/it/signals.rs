//! Signals shut an ORB down in order: names are withdrawn, requests finish. Each test has its own
//! process.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use oxorb_testkit::process::{rerun, test_name};

use crate::common;

const ROLE: &str = "OXORB_TEST_SIGNALS_ROLE";

/// Runs the server process, which prints its events.
#[test]
#[ignore = "played by the other tests, in a process of its own"]
fn server() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let orb = common::transport::listening().build().unwrap();
    orb.shutdown_on_signal().unwrap();
    orb.before_shutdown(move |orb| {
        // Calls still work in this hook, because a server withdraws its names in it.
        println!("HOOK {}", orb.is_closing());
        if role == "stuck" {
            std::thread::sleep(Duration::from_secs(60));
        }
    });
    println!("READY");
    orb.run();
    println!("DONE");
}

struct Server {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Server {
    fn start(role: &str) -> Server {
        let mut child =
            rerun(test_name(server)).env(ROLE, role).stdout(Stdio::piped()).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server { child, says };
        server.hears("READY");
        server
    }

    fn hears(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            let read = self.says.read_line(&mut line).unwrap();
            assert!(read > 0, "ended before it said {word}");
        }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    fn status(&mut self) -> std::process::ExitStatus {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_signal_runs_the_hooks_and_ends_the_orb() {
    for signal in ["-INT", "-TERM"] {
        let mut server = Server::start("plain");
        server.signal(signal);
        server.hears("HOOK false");
        server.hears("DONE");
        assert!(server.status().success());
    }
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let mut server = Server::start("stuck");
    server.signal("-TERM");
    server.hears("HOOK");
    server.signal("-INT");
    assert_eq!(server.status().code(), Some(130));
}
