//! `oxbench whitebox` (E2, E3): cost of a request inside each ORB, on both sides, with ten simultaneous clients. If the
//! architecture has priorities, each client has a different priority, and thus its own lane.
//!
//! Every count is the difference between two loads of equal duration, one with few and one with many calls, divided by
//! the difference in calls. Thus the costs of starting, connecting and periodic work cancel out.

mod profile;
mod report;

use std::fs;
use std::time::Duration;

use clap::Args;

use self::profile::{Disassembly, Log, Profile};
use self::report::{Counts, Report, Row};
use crate::Result;
use crate::counts::callgrind;
use crate::counts::strace::{Calls, Strace};
use crate::load::{Architecture, Contender, Pair, Task};
use crate::machine::Machine;
use crate::output::Output;
use crate::placement::{Placement, Role};
use crate::process::Process;

/// Options of `oxbench whitebox`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of simultaneous clients
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=50))]
    clients: u16,

    /// Duration of each load in milliseconds
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(400..))]
    time: u64,

    /// Run only these architectures; default: all available ones
    #[arg(long, value_delimiter = ',')]
    architectures: Vec<Architecture>,

    /// Fail if the real-time configuration takes a lock or allocates memory
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    output: Output,
}

/// Priority of the least urgent client, and of its serving thread; that of each next one is one higher.
const LOWEST: i16 = 20;

/// Counts and reports.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::drawing)?;
    match options.check {
        true => report.check(),
        false => Ok(()),
    }
}

fn measure(options: &Options) -> Result<Report> {
    for (tool, there) in [
        ("strace", Strace::is_available()),
        ("valgrind", callgrind::is_available()),
        ("objdump", Disassembly::is_available()),
    ] {
        if !there {
            return Err(format!("it counts with {tool}, which cannot be started").into());
        }
    }
    let contenders = Contender::all(&options.architectures, &Architecture::usual())?;
    let mut disassembly = Disassembly::default();
    let mut rows = Vec::new();
    for contender in &contenders {
        eprintln!("{} ...", contender.architecture);
        rows.push(look_into(contender, options, &mut disassembly)?);
    }
    Ok(Report { machine: Machine::this(), clients: options.clients.into(), rows })
}

/// Makes all kinds of counts for one architecture. Each kind has its own loads, because the kinds would disturb each
/// other.
fn look_into(
    contender: &Contender,
    options: &Options,
    disassembly: &mut Disassembly,
) -> Result<Row> {
    let load = |period| Load {
        tasks: options.tasks(period),
        duration: Duration::from_millis(options.time),
    };
    let loads = [load(SELDOM), load(Duration::ZERO)];
    let priorities = options.priorities();

    let mut pair = contender.start_under(Placement::Free, &priorities, |_, command| command)?;
    let times = difference(&loads, |load| timed(&mut pair, load))?;
    let calls = difference(&loads, |load| traced(&mut pair, load))?;
    pair.finish()?;
    let profiles = difference(&loads, |load| profiled(contender, &priorities, load, disassembly))?;

    let side = |at: usize| Counts {
        user_us: times.of(|times: &[Times; 2]| times[at].user as f64) * TICK_US,
        system_us: times.of(|times: &[Times; 2]| times[at].system as f64) * TICK_US,
        system_calls: names(&calls.many.0[at])
            .map(|name| {
                let count = |calls: &[Calls; 2]| calls[at].get(&name).copied().unwrap_or(0) as f64;
                (name.clone(), calls.of(count))
            })
            .filter(|(_, count)| *count > SLIGHT)
            .collect(),
        allocations: profiles.of(|profiles: &[Profile; 2]| profiles[at].allocations as f64),
        mutexes: profiles.of(|profiles: &[Profile; 2]| profiles[at].mutexes as f64),
        locks: profiles.of(|profiles: &[Profile; 2]| profiles[at].locks as f64),
        atomics: profiles.of(|profiles: &[Profile; 2]| profiles[at].atomics as f64),
        instructions: profiles.of(|profiles: &[Profile; 2]| profiles[at].instructions as f64),
    };
    Ok(Row { architecture: contender.architecture, client: side(0), server: side(1) })
}

/// Minimum number of executions per call for a system call to be listed.
const SLIGHT: f64 = 0.0005;

fn names(calls: &Calls) -> impl Iterator<Item = String> {
    calls.keys().cloned().collect::<Vec<_>>().into_iter()
}

/// Load of the clients during counting.
struct Load {
    tasks: Vec<Task>,
    duration: Duration,
}

impl Load {
    /// Runs the load; returns the number of calls.
    fn run(&self, pair: &mut Pair) -> Result<usize> {
        let samples = pair.load(&self.tasks, self.duration)?;
        Ok(samples.iter().map(Vec::len).sum())
    }
}

/// Time between two calls of a client in a load of few calls.
const SELDOM: Duration = Duration::from_millis(100);

/// Counts of two loads, and the number of calls of each.
struct Difference<T> {
    few: (T, usize),
    many: (T, usize),
}

fn difference<T>(
    [few, many]: &[Load; 2],
    mut count: impl FnMut(&Load) -> Result<(T, usize)>,
) -> Result<Difference<T>> {
    let difference = Difference { few: count(few)?, many: count(many)? };
    match difference.many.1 > difference.few.1 {
        true => Ok(difference),
        false => Err("clients that call back to back made no more calls than at 10 Hz; repeat it on a machine that \
                      does less"
            .into()),
    }
}

impl<T> Difference<T> {
    /// Returns a count per call.
    fn of(&self, count: impl Fn(&T) -> f64) -> f64 {
        let more = count(&self.many.0) - count(&self.few.0);
        (more / (self.many.1 - self.few.1) as f64).max(0.0)
    }
}

/// Counts system calls by all threads of the client and of the server, with strace.
fn traced(pair: &mut Pair, load: &Load) -> Result<([Calls; 2], usize)> {
    let traces = [Strace::attach(pair.client.id())?, Strace::attach(pair.server.id())?];
    let made = load.run(pair)?;
    let [client, server] = traces;
    Ok(([client.detach()?, server.detach()?], made))
}

/// Counts with callgrind, for a client and a server that end after one load.
fn profiled(
    contender: &Contender,
    priorities: &[i16],
    load: &Load,
    disassembly: &mut Disassembly,
) -> Result<([Profile; 2], usize)> {
    let logs = [Log::new("client"), Log::new("server")];
    let mut pair = contender.start_under(Placement::Free, priorities, |role, command| {
        logs[usize::from(role == Role::Server)].wrap(&command)
    })?;
    let made = load.run(&mut pair)?;
    pair.finish()?;
    let [client, server] = logs;
    Ok(([client.read(disassembly)?, server.read(disassembly)?], made))
}

/// CPU time of a process, of all its present and former threads, in ticks.
#[derive(Clone, Copy)]
struct Times {
    user: u64,
    system: u64,
}

/// Microseconds of a tick of Linux's USER_HZ.
const TICK_US: f64 = 10_000.0;

fn timed(pair: &mut Pair, load: &Load) -> Result<([Times; 2], usize)> {
    let now =
        |pair: &Pair| -> Result<[Times; 2]> { Ok([spent(&pair.client)?, spent(&pair.server)?]) };
    let before = now(pair)?;
    let made = load.run(pair)?;
    let after = now(pair)?;
    let during = |at: usize| Times {
        user: after[at].user - before[at].user,
        system: after[at].system - before[at].system,
    };
    Ok(([during(0), during(1)], made))
}

/// Reads `/proc/PID/stat`: after the name, which may contain anything, user and system time are the 12th and 13th
/// field.
fn spent(process: &Process) -> Result<Times> {
    let text = fs::read_to_string(format!("/proc/{}/stat", process.id()))?;
    let (_, fields) = text.rsplit_once(')').ok_or("no name in /proc/PID/stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next =
        || -> Result<u64> { Ok(fields.next().ok_or("/proc/PID/stat is short")?.parse()?) };
    Ok(Times { user: next()?, system: next()? })
}

impl Options {
    fn priorities(&self) -> Vec<i16> {
        (LOWEST..).take(self.clients.into()).collect()
    }

    /// Returns tasks that each call a different object.
    fn tasks(&self, period: Duration) -> Vec<Task> {
        let task = |(object, priority)| Task {
            object,
            priority,
            phase: Duration::ZERO,
            period,
            work: Duration::ZERO,
            from_release: false,
        };
        self.priorities().into_iter().enumerate().map(task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_loads_cost_falls_out() {
        let load = || Load { tasks: Vec::new(), duration: Duration::ZERO };
        let mut counts = [(130.0, 10), (430.0, 110)].into_iter();
        let counted = difference(&[load(), load()], |_| Ok(counts.next().unwrap())).unwrap();
        assert_eq!(counted.of(|count| *count), 3.0);
        assert!(difference(&[load(), load()], |_| Ok(((), 7))).is_err());
    }
}
