//! End of temporary changes: a signal, or the end of a program.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use oxorb_terminal::output::{Done, Failed, because};

/// Poll interval.
const TICK: Duration = Duration::from_millis(20);

/// Time for a program to end after a signal.
const GRACE: Duration = Duration::from_secs(10);

/// Request to end, set by signals.
#[derive(Clone)]
pub(super) struct Ends(Arc<AtomicBool>);

impl Ends {
    /// Makes SIGINT, SIGTERM and SIGHUP set the request from now on.
    pub(super) fn at_signals() -> Result<Ends, Failed> {
        let ends = Ends(Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&ends.0))
                .map_err(|error: io::Error| because(error.to_string()))?;
        }
        Ok(ends)
    }

    /// Reports whether the end was requested.
    pub(super) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits until the end is requested.
    pub(super) fn wait(&self) {
        while !self.came() {
            std::thread::sleep(TICK);
        }
    }

    /// Waits until the end is requested, for at most `time`.
    pub(super) fn wait_for(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.came() && Instant::now() < end {
            std::thread::sleep(TICK.min(time));
        }
    }
}

/// Runs a program until it ends. Passes a signal on to the program, and kills it if it does not end in time.
pub(super) fn run(ends: &Ends, program: &str, arguments: &[String]) -> Done {
    let started = Command::new(program).args(arguments).spawn();
    let mut child = started.map_err(|error| because(format!("{program}: {error}")))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if ends.came() {
            break end(&mut child)?;
        }
        std::thread::sleep(TICK);
    };
    match status.success() {
        true => Ok(()),
        false => Err(because(format!("{program} ended with {status}"))),
    }
}

fn end(child: &mut Child) -> Result<std::process::ExitStatus, Failed> {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let limit = Instant::now() + GRACE;
    while Instant::now() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(TICK);
    }
    let _ = child.kill();
    Ok(child.wait()?)
}
