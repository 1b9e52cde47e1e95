//! `oxbench counts`: costs of a ping, and costs that must not grow with the number of objects and operations, in
//! machine-independent units. If a cost exceeds its bound, the command fails.
//!
//! Every count is the difference between many and few calls, so that the costs of starting, warming up and controlling
//! the processes cancel out.

mod budgets;
pub(crate) mod callgrind;
mod messagings;
mod scale;
pub(crate) mod strace;
mod virtual_calls;

use std::fmt;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::Result;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::format::Format;
use crate::peers::{self, Contender, Pair, Peer};
use crate::placement::{Placement, Role};
use crate::table::Table;
use budgets::Budgets;
use callgrind::Log;
use messagings::Messagings;
use scale::Scale;
use strace::{Calls, Strace};
use virtual_calls::{Profile, Sites};

/// Options of `oxbench counts`.
#[derive(Args)]
pub(crate) struct Options {
    /// Peers whose costs are counted; the bounds apply to OxORB alone
    #[arg(long, value_delimiter = ',', default_value = "oxorb")]
    peers: Vec<Peer>,

    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Bounds for one ping after warm-up, on each side of a private connection. Measured in cargo's release profile: 1,294
/// and 1,909 instructions; omniORB takes 2,450 and 3,260.
const BOUNDS: Bounds = Bounds {
    allocations: 0.0,
    system_calls: 2.0,
    futexes: 0.0,
    // Measured: 4.00 and 5.01. Ticks of the timer thread coincide with some calls.
    client_virtual_calls: 5.0,
    server_virtual_calls: 5.1,
    client_instructions: 1500.0,
    server_instructions: 2000.0,
};

struct Bounds {
    allocations: f64,
    system_calls: f64,
    futexes: f64,
    client_virtual_calls: f64,
    server_virtual_calls: f64,
    client_instructions: f64,
    server_instructions: f64,
}

/// Excess over a bound per call that is tolerated, because a timer may fire during counting.
const SLACK: f64 = 0.005;

/// System call in which the thread that checks for long requests waits, 10 ms each time.
const TICK: &str = "epoll_pwait";

/// Number of ticks per call to disregard; the slower the machine, the more there are. Ticks beyond this number count
/// like any other system call.
const TICKS: f64 = 0.02;

/// Milliseconds for which an idle connection is trusted. The counted connection is busy; on a busy machine, a delayed
/// process would take it for idle and check whether it is alive.
const TRUST_IDLE: (&str, &str) = ("OXORB_TRUSTIDLE", "60000");

/// Minimum number of calls per ping for a system call to be listed.
const SLIGHT: f64 = 0.001;

/// Calls before counting, and the two numbers of calls whose difference is counted.
const WARM_UP: u32 = 1_000;
const FEW: u32 = 1_000;
const MANY: u32 = 5_000;

/// Counts, prints, and fails if OxORB is above a bound.
pub(crate) fn run(options: &Options) -> Result {
    tools_are_there()?;
    let mut broken = Vec::new();
    let mut all = Vec::new();
    let (mut messagings, mut budgets) = (None, None);
    for &peer in &options.peers {
        let contender = peers::prepare(peer)?;
        let counts = count(&contender)?;
        if peer == Peer::OxOrb {
            broken = counts.above(&BOUNDS);
            messagings = Some(messagings::count(&counts)?);
            if callgrind::is_available() {
                budgets = Some(budgets::count(&contender)?);
            }
        }
        all.push(counts);
    }
    broken.extend(messagings.iter().flat_map(Messagings::broken));
    broken.extend(budgets.iter().flat_map(Budgets::broken));
    let scale = match options.peers.contains(&Peer::OxOrb) && callgrind::is_available() {
        true => Some(scale::count()?),
        false => None,
    };
    broken.extend(scale.iter().flat_map(Scale::broken));
    match options.format {
        Format::Table => {
            all.iter().for_each(|counts| print!("{counts}"));
            messagings.iter().for_each(|table| print!("{table}"));
            budgets.iter().for_each(|table| print!("{table}"));
            scale.iter().for_each(|scale| print!("{scale}"));
        }
        Format::Json => {
            let report = Report {
                pings: &all,
                messagings: messagings.as_ref(),
                budgets: budgets.as_ref(),
                scale: scale.as_ref(),
            };
            println!("{}", serde_json::to_string_pretty(&report)?);
        }
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(format!("too much: {}", broken.join("; ")).into()),
    }
}

/// Checks, if `OXORB_REQUIRE_TOOLS` is set, that all counting tools are installed.
fn tools_are_there() -> Result {
    if std::env::var_os("OXORB_REQUIRE_TOOLS").is_none() {
        return Ok(());
    }
    let tools = [("strace", Strace::is_available()), ("valgrind", callgrind::is_available())];
    match tools.iter().find(|(_, available)| !available) {
        Some((tool, _)) => {
            Err(format!("OXORB_REQUIRE_TOOLS is set, but {tool} cannot be run: install it").into())
        }
        None => Ok(()),
    }
}

/// All counts.
#[derive(Serialize)]
struct Report<'r> {
    pings: &'r [Counts],
    messagings: Option<&'r Messagings>,
    budgets: Option<&'r Budgets>,
    scale: Option<&'r Scale>,
}

/// Counts per ping of one peer. `None` if the tool is missing, or the peer does not support the count.
#[derive(Debug, Serialize)]
struct Counts {
    peer: Peer,
    client: Side,
    server: Side,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Side {
    allocations: Option<f64>,
    system_calls: Option<Vec<(String, f64)>>,
    instructions: Option<f64>,
    /// Calls through `dyn` methods and function pointers in the program's own code.
    virtual_calls: Option<f64>,
}

fn count(contender: &Contender) -> Result<Counts> {
    let ping = &EXPERIMENTS[0];
    let mut counts =
        Counts { peer: contender.peer, client: Side::default(), server: Side::default() };
    let mut pair = contender.start_under(ping, Placement::Free, |_, mut command| {
        command.env(TRUST_IDLE.0, TRUST_IDLE.1);
        command
    })?;
    pair.call(ping, WARM_UP)?;
    if contender.peer == Peer::OxOrb {
        let [client, server] = allocations(&mut pair, ping)?;
        counts.client.allocations = Some(client);
        counts.server.allocations = Some(server);
    }
    if Strace::is_available() {
        let [client, server] = system_calls(&mut pair, ping)?;
        counts.client.system_calls = Some(client);
        counts.server.system_calls = Some(server);
    }
    pair.finish()?;
    if callgrind::is_available() {
        let few = instructions(contender, ping, FEW)?;
        let many = instructions(contender, ping, MANY)?;
        let [client, server] = [0, 1].map(|side| per_call(few[side], many[side]));
        counts.client.instructions = Some(client);
        counts.server.instructions = Some(server);
        if contender.peer == Peer::OxOrb && virtual_calls::is_available() {
            let program = std::env::current_exe()?;
            let sites = Sites::of(&program)?;
            let few = calls_through_tables(contender, ping, FEW, &program, &sites)?;
            let many = calls_through_tables(contender, ping, MANY, &program, &sites)?;
            let [client, server] = [0, 1].map(|side| per_call(few[side], many[side]));
            counts.client.virtual_calls = Some(client);
            counts.server.virtual_calls = Some(server);
        }
    }
    Ok(counts)
}

fn per_call(few: u64, many: u64) -> f64 {
    let difference = (many as f64 - few as f64) / f64::from(MANY - FEW);
    difference.max(0.0)
}

/// Counts allocations by all threads of the client and of the server, with the counting allocator.
fn allocations(pair: &mut Pair, ping: &Experiment) -> Result<[f64; 2]> {
    let ask = |pair: &mut Pair| -> Result<[u64; 2]> {
        pair.client.tell("allocations")?;
        pair.server.tell("allocations")?;
        Ok([pair.client.hear()?.parse()?, pair.server.hear()?.parse()?])
    };
    let mut during = |calls| -> Result<[u64; 2]> {
        let before = ask(pair)?;
        pair.call(ping, calls)?;
        let after = ask(pair)?;
        Ok([after[0] - before[0], after[1] - before[1]])
    };
    let (few, many) = (during(FEW)?, during(MANY)?);
    Ok([0, 1].map(|side| per_call(few[side], many[side])))
}

/// Counts system calls by all threads of the client and of the server, with strace.
fn system_calls(pair: &mut Pair, ping: &Experiment) -> Result<[Vec<(String, f64)>; 2]> {
    let mut during = |calls| -> Result<[Calls; 2]> {
        let traces = [Strace::attach(pair.client.id())?, Strace::attach(pair.server.id())?];
        pair.call(ping, calls)?;
        let [client, server] = traces;
        Ok([client.detach()?, server.detach()?])
    };
    let (few, many) = (during(FEW)?, during(MANY)?);
    Ok([0, 1].map(|side| {
        let rows = many[side].iter().map(|(name, &many)| {
            let few = few[side].get(name).copied().unwrap_or_default();
            (name.clone(), per_call(few, many))
        });
        rows.filter(|(_, count)| *count > SLIGHT).collect()
    }))
}

/// Counts instructions of a client and a server that end after `calls` calls, with callgrind.
fn instructions(contender: &Contender, ping: &Experiment, calls: u32) -> Result<[u64; 2]> {
    instructions_in(contender, ping, calls, &[])
}

/// Additional environment variables of the server.
type Environment<'e> = &'e [(&'e str, &'e str)];

/// Counts instructions like `instructions()`, with variables for the server.
fn instructions_in(
    contender: &Contender,
    ping: &Experiment,
    calls: u32,
    environment: Environment<'_>,
) -> Result<[u64; 2]> {
    let logs = [Log::new("client"), Log::new("server")];
    let mut pair = contender.start_under(ping, Placement::Free, |role, command| match role {
        Role::Client => logs[0].wrap(&command),
        Role::Server => {
            let mut wrapped = logs[1].wrap(&command);
            wrapped.envs(environment.iter().copied());
            wrapped
        }
    })?;
    pair.call(ping, calls)?;
    pair.finish()?;
    let [client, server] = logs;
    Ok([client.instructions()?, server.instructions()?])
}

/// Counts virtual calls of a client and a server that end after a number of calls, with callgrind and the disassembly.
fn calls_through_tables(
    contender: &Contender,
    ping: &Experiment,
    calls: u32,
    program: &Path,
    sites: &Sites,
) -> Result<[u64; 2]> {
    let profiles = [Profile::new("client"), Profile::new("server")];
    let mut pair = contender.start_under(ping, Placement::Free, |role, command| match role {
        Role::Client => profiles[0].wrap(&command),
        Role::Server => profiles[1].wrap(&command),
    })?;
    pair.call(ping, calls)?;
    pair.finish()?;
    let [client, server] = profiles;
    Ok([client.virtual_calls(program, sites)?, server.virtual_calls(program, sites)?])
}

impl Counts {
    /// Returns a sentence for each exceeded bound.
    fn above(&self, bounds: &Bounds) -> Vec<String> {
        let client = self.client.above("client", bounds, bounds.client_instructions);
        let server = self.server.above("server", bounds, bounds.server_instructions);
        let sides = [
            ("client", &self.client, bounds.client_virtual_calls),
            ("server", &self.server, bounds.server_virtual_calls),
        ];
        let through_tables = sides.iter().filter_map(|(name, side, bound)| {
            let calls = side.virtual_calls?;
            let sentence = format!("{calls:.3} virtual calls on the {name}, {bound} allowed");
            (calls > bound + SLACK).then_some(sentence)
        });
        client.into_iter().chain(server).chain(through_tables).collect()
    }
}

impl Side {
    fn system_calls_in_all(&self) -> Option<f64> {
        let calls = self.system_calls.as_ref()?;
        Some(calls.iter().map(|(_, count)| count).sum())
    }

    /// Returns the system calls subject to the bound: all but a few ticks.
    fn system_calls_of_calls(&self) -> Option<f64> {
        let calls = self.system_calls.as_ref()?;
        let counted = calls.iter().map(|(name, count)| match name.as_str() {
            TICK if *count <= TICKS => 0.0,
            _ => *count,
        });
        Some(counted.sum())
    }

    fn futexes(&self) -> Option<f64> {
        let mut calls = self.system_calls.as_ref()?.iter();
        Some(calls.find(|(name, _)| name == "futex").map_or(0.0, |(_, count)| *count))
    }

    fn above(&self, side: &str, bounds: &Bounds, instructions: f64) -> Vec<String> {
        let checks = [
            ("allocations", self.allocations, bounds.allocations),
            ("system calls", self.system_calls_of_calls(), bounds.system_calls),
            ("waits for a lock", self.futexes(), bounds.futexes),
            ("instructions", self.instructions, instructions),
        ];
        let broken = checks.iter().filter_map(|&(what, count, bound)| {
            let count = count?;
            let sentence = format!("{count:.3} {what} on the {side}, {bound} allowed");
            (count > bound + SLACK).then_some(sentence)
        });
        broken.collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = Table::of([("client", &self.client), ("server", &self.server)])
            .left([""], |(name, _)| [name])
            .right(["allocations", "system calls", "waits for a lock"], |(_, side)| {
                [side.allocations, side.system_calls_in_all(), side.futexes()]
                    .map(|count| known(count, 3))
            })
            .right(["instructions"], |(_, side)| [known(side.instructions, 0)])
            .right(["virtual calls"], |(_, side)| [known(side.virtual_calls, 2)])
            .left([""], |(_, side)| {
                let calls = side.system_calls.iter().flatten();
                let calls: Vec<_> =
                    calls.map(|(name, count)| format!("{name} {count:.3}")).collect();
                [calls.join(", ")]
            });
        write!(f, "{}, per ping:\n{table}", self.peer)
    }
}

/// Formats a count, or its absence if the tool is missing.
fn known(count: Option<f64>, digits: usize) -> String {
    count.map_or_else(|| "unknown".to_owned(), |count| format!("{count:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(allocations: f64, system_calls: &[(&str, f64)], instructions: f64) -> Side {
        Side {
            allocations: Some(allocations),
            system_calls: Some(
                system_calls.iter().map(|&(name, count)| (name.into(), count)).collect(),
            ),
            instructions: Some(instructions),
            virtual_calls: None,
        }
    }

    #[test]
    fn a_side_within_its_bounds_passes() {
        let good = side(0.0, &[("sendto", 1.0), ("recvfrom", 1.0)], 1000.0);
        assert_eq!(good.above("client", &BOUNDS, 1000.0), [""; 0]);
        assert_eq!(Side::default().above("client", &BOUNDS, 1000.0), [""; 0]);
    }

    #[test]
    fn each_bound_can_be_broken() {
        let calls = [("sendto", 1.0), ("recvfrom", 1.0)];
        assert_eq!(side(1.0, &calls, 0.0).above("client", &BOUNDS, 1.0).len(), 1);
        assert_eq!(side(0.0, &calls, 2.0).above("client", &BOUNDS, 1.0).len(), 1);
        let polls = [("poll", 1.0), ("sendto", 1.0), ("recvfrom", 1.0)];
        assert_eq!(side(0.0, &polls, 0.0).above("server", &BOUNDS, 1.0).len(), 1);
        // A few `epoll_pwait` calls are ticks of the thread that checks for long requests, and are not counted. A
        // larger number of them is counted, and so are a few calls of any other kind.
        let beside = |name, count| {
            let calls = [(name, count), ("sendto", 1.0), ("recvfrom", 1.0)];
            side(0.0, &calls, 0.0).above("server", &BOUNDS, 1.0).len()
        };
        assert_eq!(beside("epoll_pwait", 0.01), 0);
        assert_eq!(beside("epoll_pwait", 0.03), 1);
        assert_eq!(beside("poll", 0.01), 1);
        // A futex call means a contended lock, and is an additional system call.
        let locks = [("futex", 1.0), ("sendto", 1.0), ("recvfrom", 1.0)];
        assert_eq!(side(0.0, &locks, 0.0).above("server", &BOUNDS, 1.0).len(), 2);
    }
}
