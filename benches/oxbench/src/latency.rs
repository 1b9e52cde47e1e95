//! `oxbench latency`: two-way calls of every peer, in rounds that take turns.

use std::time::Duration;

use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;

use crate::Result;
use crate::check;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::peers::{self, Contender, Pair, Peer};
use crate::placement::Placement;
use crate::plot;
use crate::report::{ExperimentReport, PeerReport, Ratio, Report};
use crate::wire;

/// Options of `oxbench latency`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of a pair: `0` puts both processes on CPU 0 and so compares software, `0,1` client and
    /// server on one each, `free` leaves them to the kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Rounds of each peer and experiment. Peers take turns, and each round is a new pair of processes
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// A tenth of the calls in three rounds: shows that everything runs, measures little
    #[arg(long)]
    quick: bool,

    /// Only these peers; all that can be had by default
    #[arg(long, value_delimiter = ',')]
    peers: Vec<Peer>,

    /// Only these experiments
    #[arg(long, value_delimiter = ',', value_parser = experiment_name)]
    only: Vec<String>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, plot::draw)
}

fn measure(options: &Options) -> Result<Report> {
    let (rounds, divisor) = if options.quick { (3, 10) } else { (options.rounds, 1) };
    let contenders = contenders(&options.peers)?;
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

/// The peers asked for. Nobody asked: all, and who cannot be had is named and left out.
fn contenders(asked: &[Peer]) -> Result<Vec<Contender>> {
    if !asked.is_empty() {
        return asked.iter().map(|&peer| peers::prepare(peer)).collect();
    }
    let mut contenders = Vec::new();
    for &peer in Peer::value_variants() {
        match peers::prepare(peer) {
            Ok(contender) => contenders.push(contender),
            Err(error) => eprintln!("{peer} is left out: {error}"),
        }
    }
    Ok(contenders)
}

/// What one peer has shown so far.
struct Record {
    histogram: Histogram<u64>,
    /// The median of each round.
    medians: Vec<u64>,
    client_cpu: Option<Duration>,
    server_cpu: Option<Duration>,
}

/// Lets every contender measure `rounds` times. A round is a new pair of processes with a new
/// connection, because where memory lies and how TCP tunes a connection's buffers stay with a pair
/// for its life and can move its median by half.
fn take_turns(
    contenders: &[Contender],
    experiment: &Experiment,
    placement: Placement,
    rounds: u32,
    calls: u32,
) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = contenders.iter().map(|_| Record::empty()).collect();
    for _ in 0..rounds {
        for (contender, record) in contenders.iter().zip(&mut records) {
            let mut pair = contender.start(experiment, placement)?;
            // Warm-up: caches, connection, buffers and the kernel's socket buffers grow to their size.
            pair.call(experiment, calls / 2 + 1)?;
            let before = [pair.client.cpu_time(), pair.server.cpu_time()];
            pair.call(experiment, calls)?;
            let after = [pair.client.cpu_time(), pair.server.cpu_time()];
            let samples = samples(&mut pair, calls)?;
            pair.finish()?;
            record.add(samples, before, after);
        }
    }
    Ok(records)
}

fn summary(
    experiment: &Experiment,
    contenders: &[Contender],
    records: &[Record],
) -> ExperimentReport {
    let lengths = wire::lengths(experiment.operation, experiment.size);
    let medians = |of: Peer| {
        let at = contenders.iter().position(|known| known.peer == of)?;
        Some(&records[at].medians[..])
    };
    let peers = contenders.iter().zip(records).map(|(contender, record)| {
        let ratio = |of| Ratio::between(&record.medians, medians(of)?);
        let histogram = &record.histogram;
        let per_call = |cpu: Duration| cpu.as_nanos() as u64 / histogram.len();
        PeerReport {
            peer: contender.peer,
            calls: histogram.len(),
            best: record.medians.iter().copied().min().unwrap_or_default(),
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
            client_cpu: record.client_cpu.map(per_call),
            server_cpu: record.server_cpu.map(per_call),
            to_raw: ratio(Peer::Raw),
            to_omniorb: ratio(Peer::OmniOrb),
            curve: curve(histogram),
        }
    });
    ExperimentReport {
        name: experiment.name,
        request_octets: lengths.request,
        reply_octets: lengths.reply,
        peers: peers.collect(),
    }
}

impl Record {
    fn empty() -> Record {
        let minute = 60_000_000_000;
        Record {
            histogram: Histogram::new_with_bounds(1, minute, 3).expect("valid bounds"),
            medians: Vec::new(),
            client_cpu: Some(Duration::ZERO),
            server_cpu: Some(Duration::ZERO),
        }
    }

    /// Takes up one round; CPU times are of client and server.
    fn add(
        &mut self,
        mut samples: Vec<u64>,
        before: [Option<Duration>; 2],
        after: [Option<Duration>; 2],
    ) {
        for &sample in &samples {
            self.histogram.saturating_record(sample);
        }
        samples.sort_unstable();
        self.medians.push(samples[samples.len() / 2]);
        let sums = [&mut self.client_cpu, &mut self.server_cpu];
        for ((sum, before), after) in sums.into_iter().zip(before).zip(after) {
            *sum = sum
                .zip(before.zip(after))
                .map(|(sum, (before, after))| sum + after.saturating_sub(before));
        }
    }
}

/// Nanoseconds of each of the calls just made.
fn samples(pair: &mut Pair, calls: u32) -> Result<Vec<u64>> {
    pair.client.tell("samples")?;
    let line = pair.client.hear()?;
    let samples = line.split_whitespace().map(str::parse);
    let samples: Vec<u64> = samples.collect::<std::result::Result<_, _>>()?;
    if samples.len() != calls as usize {
        return Err(format!("{calls} calls gave {} samples", samples.len()).into());
    }
    Ok(samples)
}

/// Points of the percentile curve: quantile and nanoseconds, closer together towards the tail.
fn curve(histogram: &Histogram<u64>) -> Vec<(f64, u64)> {
    histogram
        .iter_quantiles(5)
        .map(|step| (step.quantile_iterated_to(), step.value_iterated_to()))
        .collect()
}

fn experiment_name(text: &str) -> std::result::Result<String, String> {
    if EXPERIMENTS.iter().any(|known| known.name == text) {
        return Ok(text.to_owned());
    }
    let names = EXPERIMENTS.map(|known| known.name).join(", ");
    Err(format!("the experiments are {names}"))
}
