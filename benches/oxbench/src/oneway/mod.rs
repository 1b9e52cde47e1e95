//! `oxbench oneway`: oneways per second of one and of four callers, sent one by one and buffered, compared with
//! omniORB.
//!
//! A oneway counts once its servant has run, and each round ends when the server has counted all oneways.

mod report;
pub(crate) mod sides;

use clap::{Args, ValueEnum};
use serde::Serialize;

use self::report::{Report, Row};
use crate::Result;
use crate::format::display_by_name;
use crate::load::Quiet;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::peers::omniorb::Oneways;
use crate::peers::{available, own_side};
use crate::placement::{Cpus, Role};
use crate::process::Process;

/// Options of `oxbench oneway`.
#[derive(Args)]
pub(crate) struct Options {
    /// Size of the argument in octets
    #[arg(long, value_delimiter = ',', default_values_t = [8, 1024])]
    sizes: Vec<u32>,

    /// Numbers of callers
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4])]
    callers: Vec<usize>,

    /// Length of each round, in milliseconds
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u64).range(10..))]
    time: u64,

    /// Number of rounds of each row; in each round all contenders take turns, beginning with a different one
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    pair: Cpus,

    /// Run only these contenders; default: all available ones
    #[arg(long, value_delimiter = ',')]
    modes: Vec<Mode>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Contenders, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// omniORB: one write for each oneway
    #[value(name = "omniorb")]
    #[serde(rename = "omniorb")]
    OmniOrb,
    /// OxORB: one write for each oneway (SYNC_WITH_TRANSPORT)
    Plain,
    /// OxORB: sent by a thread of the ORB, as soon as possible (SYNC_NONE)
    None,
    /// OxORB: sent by a thread of the ORB, 64 KiB at a time, or after a millisecond (SYNC_NONE, buffering constraints)
    Buffered,
}

display_by_name!(Mode);

/// Size in octets of the message that is sent over each connection before the measurement, in half of the rows: it
/// leaves the server's buffers large.
const LARGE: u32 = 1 << 20;

/// Load of a row: size, callers, and whether a large message comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Load {
    /// Size in octets of the argument.
    pub(crate) size: u32,
    pub(crate) callers: usize,
    /// Size in octets of the oneway that each caller sends before the measurement; 0: none.
    pub(crate) before: u32,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let contenders = available(&options.modes, Mode::value_variants(), Contender::prepare)?;
    let quiet = Quiet::begin(&options.pair.cpus.cpus());
    let mut rows = Vec::new();
    for before in [0, LARGE] {
        for &size in &options.sizes {
            for &callers in &options.callers {
                let load = Load { size, callers, before };
                rows.extend(measure_load(options, &contenders, load)?);
            }
        }
    }
    Ok(Report {
        machine: Machine::this(),
        placement: options.pair.cpus.to_string(),
        kept_out: quiet.kept_out(),
        rounds: options.rounds,
        milliseconds: options.time,
        rows,
    })
}

fn measure_load(options: &Options, contenders: &[Contender], load: Load) -> Result<Vec<Row>> {
    let mut rates = vec![Vec::new(); contenders.len()];
    for round in 0..options.rounds {
        // Each round begins with another contender, so that drift of the machine affects all equally and none always
        // follows the same one.
        let first = round as usize % contenders.len();
        for at in (first..contenders.len()).chain(0..first) {
            rates[at].push(contenders[at].measure(options, load)?);
        }
    }
    let modes = contenders.iter().map(|contender| contender.mode);
    let mut rows: Vec<Row> =
        modes.zip(rates).map(|(mode, rates)| Row::new(mode, load, rates)).collect();
    let omniorb = rows.iter().find(|row| row.mode == Mode::OmniOrb);
    if let Some(omniorb) = omniorb.map(|row| row.rates.clone()) {
        rows.iter_mut().for_each(|row| row.compare(&omniorb));
    }
    Ok(rows)
}

/// Mode whose programs are available.
struct Contender {
    mode: Mode,
    omniorb: Option<Oneways>,
}

impl Contender {
    fn prepare(mode: Mode) -> Result<Contender> {
        let omniorb = match mode {
            Mode::OmniOrb => Some(Oneways::build()?),
            Mode::Plain | Mode::None | Mode::Buffered => None,
        };
        Ok(Contender { mode, omniorb })
    }

    /// Returns oneways per second. Starts new processes each time, so that loads do not affect each other.
    fn measure(&self, options: &Options, load: Load) -> Result<u64> {
        let name = |side| format!("the {side} of {}", self.mode);
        let mut command = match &self.omniorb {
            Some(programs) => programs.server(),
            None => own_side("oneway-server")?,
        };
        let placement = options.pair.cpus;
        let mut server = Process::start(name("server"), placement, Role::Server, &mut command)?;
        let reference = server.hear()?;
        let mut command = match &self.omniorb {
            Some(programs) => programs.client(&reference),
            None => {
                let mut command = own_side("oneway-client")?;
                command.args([&self.mode.to_string(), &reference]);
                command
            }
        };
        let mut client = Process::start(name("client"), placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        let mut rate = 0;
        // The first run, a quarter as long, warms caches, connections and the kernel's buffers.
        for milliseconds in [options.time.div_ceil(4), options.time] {
            rate = sides::ask(&mut client, load, milliseconds)?;
        }
        client.finish()?;
        server.finish()?;
        Ok(rate)
    }
}
