//! `oxbench protocols`: the calls of the cubit of "pluggable protocols" over every messaging and every transport,
//! compared with omniORB and raw sockets (E5); and sequences of 4 B to 16 MiB that are copied on both sides, copied
//! once, or written and read in place (E7).

mod check;
mod cube;
pub(crate) mod matrix;
pub(crate) mod one_way;
mod pair;
mod report;
pub(crate) mod ring;
pub(crate) mod sides;

use clap::Args;

use self::cube::{CUBES, Cube, SIZES};
use self::matrix::{MATRIX, Protocol};
use self::pair::Contender;
pub(crate) use self::pair::Folder;
use self::report::{LeftOut, Report};
use crate::Result;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Placement;
use crate::record::Record;

/// Options of `oxbench protocols`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of a pair: `0` puts both processes on CPU 0, so that only software is compared; `0,1` puts client and
    /// server on one each; `free` leaves the choice to the kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Number of rounds; in each round all protocols take turns with new processes, beginning with a different one
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of calls of each operation over each protocol, in all rounds together
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Make 1,500 calls in three rounds: a quick test that everything works, with little precision
    #[arg(long)]
    quick: bool,

    /// Run only these protocols; default: all available ones
    #[arg(long, value_delimiter = ',', value_parser = matrix::named)]
    protocols: Vec<&'static Protocol>,

    /// Make only these calls
    #[arg(long, value_delimiter = ',')]
    only: Vec<Cube>,

    /// Send sequences of octets from 4 B to 16 MiB, both ways and one way, instead of the cubit's calls (E7)
    #[arg(long)]
    sweep: bool,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (rounds, calls) = match options.quick {
        true => (3, 1_500),
        false => (options.rounds, options.calls),
    };
    let folder = Folder::new()?;
    let (contenders, left_out) = contenders(options, &folder)?;
    let known: &[Cube] = if options.sweep { &SIZES } else { &CUBES };
    let cubes: Vec<Cube> = match options.only.is_empty() {
        true => known.to_vec(),
        false => options.only.clone(),
    };
    let mut records: Vec<Vec<Record>> =
        contenders.iter().map(|_| cubes.iter().map(|_| Record::empty()).collect()).collect();
    for round in 0..rounds {
        eprintln!("round {} of {rounds} ...", round + 1);
        // Each round begins with another contender, so that drift of the machine affects all equally and none always
        // follows the same one.
        let first = round as usize % contenders.len();
        for at in (first..contenders.len()).chain(0..first) {
            let mut pair = contenders[at].start(options.cpus, &folder)?;
            for (cube, record) in cubes.iter().zip(&mut records[at]) {
                if !contenders[at].protocol.makes(*cube) {
                    continue;
                }
                let calls = cube.share_of(calls.div_ceil(rounds));
                // Warm-up: caches, connection, buffers and the kernel's socket buffers reach their final size.
                pair.call(*cube, calls / 4 + 1)?;
                pair.call(*cube, calls)?;
                record.add(pair.client.samples(calls)?);
            }
            pair.finish()?;
        }
    }
    let protocols: Vec<_> = contenders.iter().map(|it| it.protocol).collect();
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        rounds,
        left_out,
        cubes: report::cubes(&cubes, &protocols, &records),
    })
}

/// Returns the requested contenders; by default all, with unavailable ones reported and left out.
fn contenders(options: &Options, folder: &Folder) -> Result<(Vec<Contender>, Vec<LeftOut>)> {
    let asked = &options.protocols;
    let known: Vec<&'static Protocol> = match asked.is_empty() {
        true => MATRIX.iter().collect(),
        false => asked.clone(),
    };
    let (mut contenders, mut left_out) = (Vec::new(), Vec::new());
    for protocol in known {
        match Contender::prepare(protocol, options.cpus, folder) {
            Ok(contender) => contenders.push(contender),
            Err(error) if asked.is_empty() => {
                eprintln!("{protocol} IS LEFT OUT: {error}");
                left_out.push(LeftOut { protocol: protocol.name, reason: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    match contenders.is_empty() {
        true => Err("no protocol can be had".into()),
        false => Ok((contenders, left_out)),
    }
}
