//! Stopping and continuing a process (by a debugger, a shell, a frozen container) interrupts system
//! calls that have a time-out. The layers above a link must not notice.

use std::env;
use std::io::IoSlice;
use std::thread;
use std::time::Duration;

use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::watchdog;
use oxorb_transport::tcp::{Place, Tcp, connect};
use oxorb_transport::{Link, Transport as _};
use rustix::process::{Pid, Signal, kill_process};

const LIMIT: Duration = Duration::from_secs(60);
/// Environment variable that contains the port to which the interrupted process connects.
const PORT: &str = "OXORB_TEST_SIGNALS_PORT";
const LARGE: usize = 16 << 20;

#[test]
fn a_read_goes_on() {
    interrupted(
        test_name(a_read_goes_on),
        |port| {
            let link = connect("127.0.0.1", port, LIMIT).unwrap();
            link.set_read_timeout(Some(LIMIT)).unwrap();
            println!("\nready");
            let mut buffer = Vec::new();
            link.read(&mut buffer, 100).unwrap();
            assert_eq!(buffer, b"GIOP");
        },
        |link| link.write(&mut [IoSlice::new(b"GIOP")]).unwrap(),
    );
}

#[test]
fn a_write_goes_on() {
    interrupted(
        test_name(a_write_goes_on),
        |port| {
            let link = connect("127.0.0.1", port, LIMIT).unwrap();
            link.set_write_timeout(Some(LIMIT)).unwrap();
            println!("\nready");
            link.write(&mut [IoSlice::new(&vec![7; LARGE])]).unwrap();
        },
        |link| {
            let mut buffer = Vec::with_capacity(LARGE);
            while link.read(&mut buffer, LARGE).unwrap() != 0 {}
            assert_eq!(buffer.len(), LARGE);
        },
    );
}

/// Runs `blocks` in another process, interrupts it there, and then releases it by `releases`.
fn interrupted(test: &str, blocks: impl FnOnce(u16), releases: impl FnOnce(&dyn Link)) {
    let _guard = watchdog(LIMIT);
    if let Ok(port) = env::var(PORT) {
        return blocks(port.parse().unwrap());
    }
    let acceptor = Tcp.listen(&Place::new("127.0.0.1", 0).into()).unwrap();
    let mut command = rerun(test);
    command.env(PORT, Place::of(acceptor.endpoint()).port.to_string());
    let mut process = Process::spawn(command);
    let link = acceptor.accept().unwrap();
    process.wait_for_line("ready", LIMIT);
    let id = Pid::from_raw(process.id().cast_signed()).unwrap();
    for _ in 0..5 {
        // Gives the process time to block in the system call, so that stopping it interrupts the call.
        thread::sleep(Duration::from_millis(20));
        kill_process(id, Signal::STOP).unwrap();
        thread::sleep(Duration::from_millis(5));
        kill_process(id, Signal::CONT).unwrap();
    }
    releases(&*link);
    process.wait_success(LIMIT);
}
