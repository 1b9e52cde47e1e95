//! A lane's busy polling is set on the sockets of its connections.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use oxorb::rt::Threadpool;
use oxorb_testkit::peers::missing;
use oxorb_testkit::process::{rerun, test_name};

use crate::common;
use crate::common::worker::{Worker, activate, client, lane, lane_poa, server, whereabouts};

/// Environment variable that is set in the process whose system calls are traced.
const LOOKED_AT: &str = "OXORB_TEST_BUSY_POLL";

#[test]
fn looked_at() {
    if std::env::var_os(LOOKED_AT).is_none() {
        return;
    }
    let (server, client) = (server(), client());
    let lane = lane(5, 1).busy_poll(Duration::from_micros(50));
    let pool = server.create_threadpool(Threadpool::with_lanes([lane])).unwrap();
    let worker = Arc::<Worker>::default();
    let object = activate(&lane_poa(&server, pool, 5), &client, &worker);
    // If the kernel refuses busy polling, the lane serves without it.
    assert_eq!(whereabouts(&object).thread, "oxorb-1.0");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_lane_has_the_kernel_poll_for_its_connections() {
    common::only_over!(TCP, "the kernel polls devices of a network");
    let log = std::env::temp_dir().join(format!("oxorb-busy-poll-{}", std::process::id()));
    let test = rerun(test_name(looked_at));
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=setsockopt", "-o"])
        .arg(&log)
        .arg("--")
        .arg(test.get_program())
        .args(test.get_args())
        .env(LOOKED_AT, "yes")
        .stdin(Stdio::null())
        .output();
    let traced = match traced {
        Ok(traced) => traced,
        Err(error) => return missing("strace", &error.to_string()),
    };
    let calls = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(&log);
    let said = String::from_utf8_lossy(&traced.stderr);
    if calls.is_empty() && said.contains("ptrace") {
        return missing("leave to trace (strace)", &said);
    }
    assert!(traced.status.success(), "{said}");
    // Older versions of strace do not know SO_BUSY_POLL and print its number, 46.
    let set = |line: &&str| line.contains("SO_BUSY_POLL") || line.contains("0x2e ");
    let set: Vec<&str> = calls.lines().filter(set).collect();
    assert_eq!(set.len(), 1, "one connection came to the lane: {calls}");
    assert!(set[0].contains("[50]"), "{}", set[0]);
    let result = result(set[0], &calls);
    if result.contains("EPERM") {
        return missing("SO_BUSY_POLL (CAP_NET_ADMIN)", result);
    }
    assert!(result.ends_with("= 0"), "{calls}");
}

/// Returns the trace line with the result of `call`: a separate line if another thread's call came
/// between.
fn result<'c>(call: &'c str, calls: &'c str) -> &'c str {
    if !call.ends_with("<unfinished ...>") {
        return call;
    }
    let thread = call.split(' ').next().unwrap_or(call);
    let mut after = calls.lines().skip_while(|line| *line != call);
    after.find(|line| line.starts_with(thread) && line.contains("resumed>")).unwrap_or(call)
}
