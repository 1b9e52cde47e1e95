//! A stepping clock: the time of day changes repeatedly by an hour. Calls, their limits and `oxorb`'s own clocks use
//! the monotonic clock.

use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use oxorb::{CompletionStatus, SystemException, minor};
use oxorb_testkit::peers::missing;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::{until, watchdog};

use crate::common::*;

/// Variable set in the process whose time of day steps.
const STEPPED: &str = "OXORB_FAULTS_STEPPED";

/// Library that steps the time of day by an hour at each reading, back and forth.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int looks;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += __sync_fetch_and_add(&looks, 1) % 2 ? 3600 : -3600;
    return result;
}
"#;

#[test]
fn calls_and_their_limits_go_on_while_the_time_of_day_steps() {
    let _guard = watchdog(2 * LONG);
    if std::env::var_os(STEPPED).is_some() {
        return stepped();
    }
    let folder = std::env::temp_dir().join(format!("oxorb-faults-clock-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, library) = (folder.join("step.c"), folder.join("step.so"));
    std::fs::write(&source, SHIM).expect("a file");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .output();
    match compiled {
        Ok(output) if output.status.success() => {
            let mut inner =
                rerun(test_name(calls_and_their_limits_go_on_while_the_time_of_day_steps));
            inner.env("LD_PRELOAD", &library).env(STEPPED, "yes");
            let mut process = Process::spawn(inner);
            process.wait_for_line("test result: ok. 1 passed", 2 * LONG);
            assert!(process.wait(LONG).success());
        }
        Ok(output) => missing("a C compiler", &String::from_utf8_lossy(&output.stderr)),
        Err(error) => missing("a C compiler (cc)", &error.to_string()),
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn stepped() {
    let looks: Vec<SystemTime> = (0..4).map(|_| SystemTime::now()).collect();
    let goes_back = looks.windows(2).any(|pair| pair[1] < pair[0]);
    assert!(goes_back, "the time of day steps");
    let server = Server::start(&[]);
    let orb = client();
    let object = server.object(&orb);
    // A forward step makes no call late.
    for n in 0..50 {
        let hurried = within(&object, LONG / 2);
        assert_eq!(run_once(&hurried, n), Ok(n + 1));
    }
    // A backward step makes no call wait for an hour.
    let begun = Instant::now();
    for n in 100..103 {
        let hurried = within(&object, Duration::from_millis(200));
        let late = timed_out(|| hang(&hurried, n));
        assert_completed(late, CompletionStatus::Maybe);
    }
    assert!(begun.elapsed() < LONG, "limits are those of the monotonic clock");
    // A bucket by the time of day would be full after a forward step, and empty for an hour after a backward one.
    let server = Server::start(&[("Budget", "clients requests=1 burst=3")]);
    let object = server.object(&orb);
    let refused = |answer: Result<i64, SystemException>| match answer {
        Ok(_) => false,
        Err(exception) => {
            assert_eq!(exception.minor, minor::transient::CLIENT_RATE, "{exception}");
            true
        }
    };
    for beyond in [true, false, true, false] {
        until("a call meets the budget as it should", || refused(ping(&object, 1)) == beyond);
    }
}
