//! Test that runs all programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;
use rustix::process::{Pid, Signal, kill_process};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn the_deadlines_are_proved_and_all_calls_are_measured() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_sensor-fusion-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let mut server = Process::spawn(server);
    let reference = server.wait_for_line("IOR:", LIMIT);
    let sensors = ["gyro", "compass"].map(|sensor| {
        let mut client = Command::new(env!("CARGO_BIN_EXE_sensor-fusion-client"));
        client.arg(&reference).arg(sensor);
        Process::spawn(client)
    });
    for mut sensor in sensors {
        sensor.wait_success(LIMIT);
    }
    let id = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    kill_process(id.expect("a process has an id"), Signal::TERM).expect("it runs");
    let said = server.wait_success(LIMIT);
    let says = |start: &str| said.iter().any(|line| line.text.starts_with(start));
    // The test does not check the bounds, because the host determines whether they hold.
    for (operation, calls) in [("gyro", 200), ("compass", 40)] {
        assert!(says(&format!("nav::Fusion::{operation}: meets its deadline of ")), "{said:?}");
        assert!(says(&format!("nav::Fusion::{operation}: {calls} calls, ")), "{said:?}");
    }
}
