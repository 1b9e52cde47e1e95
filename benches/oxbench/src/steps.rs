//! `oxbench steps`: the time of each step of one two-way call on both sides, measured with timeprobes (A20, E6).

use std::fmt;
use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use oxorb::rt::probe::{self, ProbeSide, Stage};
use serde::Serialize;

use crate::Result;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::format::Format;
use crate::machine::Machine;
use crate::peers::{self, Pair, Peer};
use crate::placement::Placement;
use crate::process::Process;
use crate::protocols::Folder;
use crate::protocols::matrix::{self, Protocol, Transport};
use crate::table::{Table, or_dash};

/// Options of `oxbench steps`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of the pair: `0` puts both processes on CPU 0, `0,1` puts them on one each, `free` leaves the choice to the
    /// kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Protocols to trace, from those of `oxbench protocols`
    #[arg(long, value_delimiter = ',', default_value = "giop-tcp", value_parser = protocol)]
    protocols: Vec<&'static Protocol>,

    /// Number of calls to trace
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Call to trace
    #[arg(long, default_value = "ping", value_parser = experiment_named)]
    only: &'static Experiment,

    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Number of calls made at a time; their stages fit into a thread's ring with a margin.
const AT_ONCE: u32 = 250;

const WARM_UP: u32 = 2_000;

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let folder = Folder::new()?;
    let protocols = options.protocols.iter();
    let protocols = protocols.map(|protocol| steps_over(protocol, options, &folder));
    let report = Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        experiment: options.only.name,
        calls: options.calls,
        probe_nanoseconds: probe_cost(),
        protocols: protocols.collect::<Result<_>>()?,
    };
    options.format.print(&report)
}

fn steps_over(protocol: &'static Protocol, options: &Options, folder: &Folder) -> Result<Steps> {
    let contender = peers::prepare(Peer::OxOrb)?.at(folder.endpoint(protocol));
    let mut pair = contender.start(options.only, options.cpus)?;
    pair.call(options.only, WARM_UP)?;
    let mut samples = Samples::default();
    let mut left = options.calls;
    while left > 0 {
        let calls = left.min(AT_ONCE);
        let [client, server] = stamps(&mut pair, options.only, calls)?;
        samples.add(&client, &server, calls)?;
        left -= calls;
    }
    pair.finish()?;
    Ok(Steps { protocol: protocol.name, steps: samples.steps() })
}

/// Returns a protocol with probes: ours, between two processes.
fn protocol(name: &str) -> std::result::Result<&'static Protocol, String> {
    let protocol = matrix::named(name)?;
    if protocol.is_ours() && protocol.transport != Transport::Memory {
        return Ok(protocol);
    }
    Err("steps are those of OxORB between two processes".to_owned())
}

/// Stage and the nanosecond in which it ended.
type Stamp = (Stage, u64);

/// Times of all calls for each step: first those of the client, last the round trip.
#[derive(Default)]
struct Samples {
    steps: Vec<(Step, Vec<u64>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Step from the previous stage to the end of this one.
    To(Stage),
    /// Step from the client's framed request to its octets at the server.
    Request,
    /// Step from the server's framed reply to its octets at the client.
    Reply,
    /// Time between the first and the last stamp of one side.
    Whole(ProbeSide),
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    placement: String,
    experiment: &'static str,
    calls: u32,
    /// Cost of one stamp, by which each step is measured too long.
    probe_nanoseconds: f64,
    protocols: Vec<Steps>,
}

/// Steps over one protocol.
#[derive(Serialize)]
struct Steps {
    protocol: &'static str,
    steps: Vec<Row>,
}

/// Times of one step, in nanoseconds.
#[derive(Serialize)]
struct Row {
    side: &'static str,
    step: &'static str,
    mean: f64,
    p50: u64,
    p99: u64,
    /// Microseconds of the corresponding step in the tables of "pluggable protocols", on a 400 MHz Pentium II.
    paper_microseconds: Option<f64>,
}

/// Makes calls and returns the stamps of each side.
fn stamps(pair: &mut Pair, experiment: &Experiment, calls: u32) -> Result<[Vec<Stamp>; 2]> {
    let switch = |process: &mut Process, command: &str| -> Result {
        process.tell(command)?;
        process.expect("done")
    };
    switch(&mut pair.server, "probes on")?;
    switch(&mut pair.client, "probes on")?;
    pair.call(experiment, calls)?;
    switch(&mut pair.client, "probes off")?;
    switch(&mut pair.server, "probes off")?;
    Ok([read(&mut pair.client)?, read(&mut pair.server)?])
}

/// Returns the stamps of the only calling or serving thread.
fn read(process: &mut Process) -> Result<Vec<Stamp>> {
    process.tell("probes")?;
    let line = process.hear()?;
    let mut threads = line.split(" | ");
    let stamps = threads.next().unwrap_or_default();
    if threads.next().is_some() {
        return Err("more than one thread took part in the calls".into());
    }
    let stamp = |word: &str| -> Result<Stamp> {
        let (stage, at) = word.split_once(':').ok_or("a stamp is STAGE:NANOSECONDS")?;
        let stage = Stage::ALL.get(stage.parse::<usize>()?);
        Ok((*stage.ok_or("no such stage")?, at.parse()?))
    };
    stamps.split_whitespace().map(stamp).collect()
}

impl Samples {
    fn add(&mut self, client: &[Stamp], server: &[Stamp], calls: u32) -> Result {
        let client = calls_of(client, Stage::CallBegun, Stage::CallEnded);
        let server = calls_of(server, Stage::RequestArrived, Stage::ReplySent);
        for (side, seen) in [("client", client.len()), ("server", server.len())] {
            if seen != calls as usize {
                return Err(format!("{calls} calls, {seen} of them whole on the {side}").into());
            }
        }
        for (client, server) in client.into_iter().zip(server) {
            for (side, stamps) in [(ProbeSide::Client, client), (ProbeSide::Server, server)] {
                for pair in stamps.windows(2) {
                    self.note(Step::To(pair[1].0), pair[1].1 - pair[0].1);
                }
                let (first, last) = (stamps[0].1, stamps[stamps.len() - 1].1);
                self.note(Step::Whole(side), last - first);
            }
            let at = |stamps: &[Stamp], stage| {
                stamps.iter().find(|stamp| stamp.0 == stage).map(|stamp| stamp.1)
            };
            let ways = [
                (
                    Step::Request,
                    at(client, Stage::RequestFramed),
                    at(server, Stage::RequestArrived),
                ),
                (Step::Reply, at(server, Stage::ReplyFramed), at(client, Stage::ReplyArrived)),
            ];
            for (step, from, to) in ways {
                if let (Some(from), Some(to)) = (from, to) {
                    self.note(step, to.saturating_sub(from));
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, step: Step, nanoseconds: u64) {
        match self.steps.iter_mut().find(|(known, _)| *known == step) {
            Some((_, times)) => times.push(nanoseconds),
            None => self.steps.push((step, vec![nanoseconds])),
        }
    }

    fn steps(mut self) -> Vec<Row> {
        self.steps.sort_by_key(|(step, _)| step.place());
        let rows = self.steps.into_iter().map(|(step, mut times)| {
            times.sort_unstable();
            let at = |share: usize| times[(times.len() - 1) * share / 100];
            Row {
                side: step.side(),
                step: step.name(),
                mean: times.iter().sum::<u64>() as f64 / times.len() as f64,
                p50: at(50),
                p99: at(99),
                paper_microseconds: step.in_the_paper(),
            }
        });
        rows.collect()
    }
}

/// Returns the stamps of each call from `first` to `last`.
fn calls_of(stamps: &[Stamp], first: Stage, last: Stage) -> Vec<&[Stamp]> {
    let calls = stamps.chunk_by(|_, next| next.0 != first);
    let whole = |call: &&[Stamp]| {
        call.first().is_some_and(|stamp| stamp.0 == first)
            && call.last().is_some_and(|stamp| stamp.0 == last)
    };
    calls.filter(whole).collect()
}

impl Step {
    fn place(self) -> (u8, u8) {
        match self {
            Step::To(stage) => (u8::from(stage.side() == ProbeSide::Server), stage as u8),
            Step::Whole(side) => (u8::from(side == ProbeSide::Server), u8::MAX),
            Step::Request => (2, 0),
            Step::Reply => (2, 1),
        }
    }

    fn side(self) -> &'static str {
        let side = match self {
            Step::To(stage) => stage.side(),
            Step::Whole(side) => side,
            Step::Request | Step::Reply => return "between",
        };
        match side {
            ProbeSide::Client => "client",
            ProbeSide::Server => "server",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Step::To(stage) => stage.name(),
            Step::Whole(_) => "in all",
            Step::Request => "request on its way",
            Step::Reply => "reply on its way",
        }
    }

    /// Returns the time in P2, tables 1 and 2. If one row there covers two steps here, its time is returned for the
    /// first of them.
    fn in_the_paper(self) -> Option<f64> {
        let Step::To(stage) = self else { return None };
        Some(match stage {
            Stage::RouteFound => 6.30,
            Stage::LinkTaken => 15.6,
            Stage::HeaderWritten => 7.78,
            Stage::ArgumentsWritten => 0.74,
            Stage::RequestSent => 1.02 + 8.70,
            Stage::ReplyArrived => 50.7,
            Stage::ReplyParsed => 9.25,
            Stage::RequestParsed => 4.5,
            Stage::KeyParsed => 4.6,
            Stage::ServantFound => 1.39 + 4.6,
            Stage::OperationFound => 4.52,
            Stage::ServantReturned => 3.84,
            Stage::ReplyFramed => 4.56,
            Stage::ReplySent => 93.6,
            _ => return None,
        })
    }
}

/// Returns the nanoseconds of one stamp.
fn probe_cost() -> f64 {
    const STAMPS: u32 = 100_000;
    probe::prepare();
    probe::on();
    let begun = Instant::now();
    for _ in 0..STAMPS {
        probe::stamp(black_box(Stage::CallBegun));
    }
    let took = begun.elapsed();
    probe::off();
    took.as_nanos() as f64 / f64::from(STAMPS)
}

fn experiment_named(text: &str) -> std::result::Result<&'static Experiment, String> {
    static KNOWN: [Experiment; EXPERIMENTS.len()] = EXPERIMENTS;
    KNOWN.iter().find(|known| known.name == text).ok_or_else(|| {
        let names = EXPERIMENTS.map(|known| known.name).join(", ");
        format!("the experiments are {names}")
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{}; {} x {}; a stamp costs {:.0} ns, which each step includes\n",
            self.placement, self.calls, self.experiment, self.probe_nanoseconds
        )?;
        // Protocols may differ in their steps.
        let mut rows: Vec<&Row> = Vec::new();
        for row in self.protocols.iter().flat_map(|protocol| &protocol.steps) {
            if !rows.iter().any(|known| known.names() == row.names()) {
                let after = rows.iter().rposition(|known| known.side == row.side);
                rows.insert(after.map_or(rows.len(), |at| at + 1), row);
            }
        }
        let sides = rows.iter().map(|row| row.side).scan("", |before, side| {
            Some(if std::mem::replace(before, side) == side { "" } else { side })
        });
        let table = Table::of(sides.zip(&rows)).left([""], |(side, _)| [side]);
        let table = match &self.protocols[..] {
            [_] => table
                .left(["step"], |(_, row)| [row.step])
                .fixed(["mean ns"], 0, |(_, row)| [row.mean])
                .right(["p50 ns", "p99 ns"], |(_, row)| [row.p50, row.p99]),
            several => table.left(["step, p50 ns"], |(_, row)| [row.step]).right(
                several.iter().map(|protocol| protocol.protocol),
                |(_, row)| {
                    several.iter().map(|protocol| {
                        let its = protocol.steps.iter().find(|its| its.names() == row.names());
                        or_dash(its.map(|its| its.p50))
                    })
                },
            ),
        };
        table.right(["paper (1999) us"], |(_, row)| [row.paper()]).fmt(f)
    }
}

impl Row {
    fn names(&self) -> (&str, &str) {
        (self.side, self.step)
    }

    fn paper(&self) -> String {
        let microseconds = self.paper_microseconds;
        microseconds.map_or(String::new(), |us| format!("{us:.2}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_calls_count() {
        use Stage::{CallBegun, CallEnded, LinkTaken};
        let stamps = [
            (LinkTaken, 1),
            (CallEnded, 2),
            (CallBegun, 3),
            (LinkTaken, 5),
            (CallEnded, 9),
            (CallBegun, 10),
        ];
        let calls = calls_of(&stamps, CallBegun, CallEnded);
        assert_eq!(calls, [&stamps[2..5]]);
    }

    #[test]
    fn a_step_lasts_from_the_stamp_before_it() {
        let client = [
            (Stage::CallBegun, 100),
            (Stage::RequestFramed, 130),
            (Stage::ReplyArrived, 400),
            (Stage::CallEnded, 410),
        ];
        let server =
            [(Stage::RequestArrived, 230), (Stage::ReplyFramed, 300), (Stage::ReplySent, 320)];
        let mut samples = Samples::default();
        samples.add(&client, &server, 1).unwrap();
        let rows = samples.steps();
        let mean = |side: &str, step: &str| {
            let row = rows.iter().find(|row| row.side == side && row.step == step);
            row.unwrap().mean
        };
        assert_eq!(mean("client", "request framed"), 30.0);
        assert_eq!(mean("client", "in all"), 310.0);
        assert_eq!(mean("server", "in all"), 90.0);
        assert_eq!(mean("between", "request on its way"), 100.0);
        assert_eq!(mean("between", "reply on its way"), 100.0);
        assert!(samples_missing_a_call(&client, &server));
    }

    fn samples_missing_a_call(client: &[Stamp], server: &[Stamp]) -> bool {
        Samples::default().add(client, server, 2).is_err()
    }

    #[test]
    fn several_protocols_stand_beside_each_other_step_by_step() {
        let row = |step, p50| Row {
            side: "client",
            step,
            mean: 0.0,
            p50,
            p99: 0,
            paper_microseconds: None,
        };
        let report = Report {
            machine: Machine::this(),
            placement: "here".into(),
            experiment: "ping",
            calls: 1,
            probe_nanoseconds: 1.0,
            protocols: vec![
                Steps {
                    protocol: "giop-tcp",
                    steps: vec![row("link taken", 31), row("call ended", 32)],
                },
                Steps { protocol: "giop-unix", steps: vec![row("link taken", 41)] },
            ],
        };
        let text = report.to_string();
        let line = |step: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.contains(step)).unwrap();
            line.split_whitespace().rev().take(2).collect()
        };
        assert_eq!(line("link taken"), ["41", "31"]);
        assert_eq!(line("call ended"), ["-", "32"]);
    }
}
