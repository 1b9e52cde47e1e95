//! `oxbench latency`: two-way calls of every peer, in alternating rounds.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::Result;
use crate::check;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::peers::{self, Contender, Peer};
use crate::placement::Placement;
use crate::record::Record;
use crate::report::{ExperimentReport, PeerReport, Ratio, Report};
use crate::wire;

/// Options of `oxbench latency`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of a pair: `0` puts both processes on CPU 0, so that only software is compared; `0,1` puts client and
    /// server on one each; `free` leaves the choice to the kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Number of rounds of each peer and experiment. Peers take turns, and each round is a new pair of processes
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Make a tenth of the calls in three rounds: a quick test that everything works, with little precision
    #[arg(long)]
    quick: bool,

    /// Run only these peers; default: all available ones
    #[arg(long, value_delimiter = ',')]
    peers: Vec<Peer>,

    /// Run only these experiments
    #[arg(long, value_delimiter = ',', value_parser = experiment_name)]
    only: Vec<String>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (rounds, divisor) = if options.quick { (3, 10) } else { (options.rounds, 1) };
    let contenders = peers::available(&options.peers, Peer::value_variants(), peers::prepare)?;
    let wanted = |experiment: &&Experiment| {
        options.only.is_empty() || options.only.iter().any(|name| name == experiment.name)
    };
    let mut experiments = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(wanted) {
        eprintln!("{} ...", experiment.name);
        let calls = experiment.calls / divisor;
        let records = take_turns(&contenders, experiment, options.cpus, rounds, calls)?;
        experiments.push(summary(experiment, &contenders, &records));
    }
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        rounds,
        experiments,
    })
}

/// Results of one peer so far.
struct Shown {
    calls: Record,
    /// CPU time of client and server, if the kernel reports it.
    cpu: [Option<Duration>; 2],
}

/// Makes every contender measure `rounds` times. Each round is a new pair of processes with a new connection: the
/// memory layout and TCP's tuning of a connection's buffers are fixed for the life of a pair and can change its median
/// by half.
fn take_turns(
    contenders: &[Contender],
    experiment: &Experiment,
    placement: Placement,
    rounds: u32,
    calls: u32,
) -> Result<Vec<Shown>> {
    let none = || Shown { calls: Record::empty(), cpu: [Some(Duration::ZERO); 2] };
    let mut records: Vec<Shown> = contenders.iter().map(|_| none()).collect();
    for _ in 0..rounds {
        for (contender, record) in contenders.iter().zip(&mut records) {
            let mut pair = contender.start(experiment, placement)?;
            // Warm-up: caches, connection, buffers and the kernel's socket buffers reach their final size.
            pair.call(experiment, calls / 2 + 1)?;
            let before = [pair.client.cpu_time(), pair.server.cpu_time()];
            pair.call(experiment, calls)?;
            let after = [pair.client.cpu_time(), pair.server.cpu_time()];
            record.calls.add(pair.client.samples(calls)?);
            pair.finish()?;
            for ((sum, before), after) in record.cpu.iter_mut().zip(before).zip(after) {
                *sum = sum
                    .zip(before.zip(after))
                    .map(|(sum, (before, after))| sum + after.saturating_sub(before));
            }
        }
    }
    Ok(records)
}

fn summary(
    experiment: &Experiment,
    contenders: &[Contender],
    records: &[Shown],
) -> ExperimentReport {
    let lengths = wire::lengths(experiment.operation, experiment.size);
    let medians = |of: Peer| {
        let at = contenders.iter().position(|known| known.peer == of)?;
        Some(&records[at].calls.medians[..])
    };
    let peers = contenders.iter().zip(records).map(|(contender, Shown { calls: record, cpu })| {
        let ratio = |of| Ratio::between(&record.medians, medians(of)?);
        let histogram = &record.histogram;
        let [p50, p99, p999, max] = record.quantiles();
        let per_call = |cpu: Duration| cpu.as_nanos() as u64 / histogram.len();
        PeerReport {
            peer: contender.peer,
            calls: histogram.len(),
            best: record.best(),
            p50,
            p99,
            p999,
            max,
            client_cpu: cpu[0].map(per_call),
            server_cpu: cpu[1].map(per_call),
            to_raw: ratio(Peer::Raw),
            to_omniorb: ratio(Peer::OmniOrb),
            curve: record.curve(),
        }
    });
    ExperimentReport {
        name: experiment.name,
        request_octets: lengths.request,
        reply_octets: lengths.reply,
        peers: peers.collect(),
    }
}

fn experiment_name(text: &str) -> std::result::Result<String, String> {
    if EXPERIMENTS.iter().any(|known| known.name == text) {
        return Ok(text.to_owned());
    }
    let names = EXPERIMENTS.map(|known| known.name).join(", ");
    Err(format!("the experiments are {names}"))
}
