//! Server process of the demo: the components of `examples/avionics-display`, linked into this program.

use std::io::Read as _;
use std::process::ExitCode;

use rustix::process::{Signal, getpid, kill_process};

use oxorb_terminal::output::{Done, Failed, because};

/// Arguments of the server process.
#[derive(clap::Args)]
pub struct Args {
    /// Processor that all its threads share
    #[arg(long)]
    cpu: usize,
    /// Arguments of a locality: plan, node, process
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    locality: Vec<String>,
}

/// Serves until standard input is closed.
pub(crate) fn run(args: Args) -> Done {
    if crate::server::stay_on(args.cpu).is_err() {
        return Err(because("this process is not allowed to choose its processor"));
    }
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = kill_process(getpid(), Signal::TERM);
    });
    let implementations = oxorb_example_avionics_display::implementations();
    let program = std::iter::once("oxorb demo-avionics".to_owned());
    let settings = oxorb_terminal::orb::args().iter().cloned();
    let arguments = program.chain(args.locality).chain(settings);
    match oxorb::deployment::run_locality_with_args(implementations, arguments) {
        ExitCode::SUCCESS => Ok(()),
        _ => Err(Failed::Told),
    }
}

/// Returns the number of threads of a process under SCHED_FIFO; 0 if it cannot be read.
pub(super) fn real_time_threads(process: u32) -> usize {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return 0;
    };
    let stats = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter(|stat| policy(stat) == Some(SCHED_FIFO)).count()
}

const SCHED_FIFO: u32 = 1;

/// Returns the scheduling policy from `/proc/PID/task/TID/stat`: field 41, where the state after the name is field 3.
fn policy(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(38)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c) {}\n", fields.join(" "));
        assert_eq!(policy(&stat), Some(41));
        assert_eq!(policy("7 (a)"), None);
    }
}
