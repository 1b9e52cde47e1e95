//! `oxbench marshal`: cost of writing and reading values as CDR, compared with omniORB's memory streams. There are no
//! messages and no sockets: only the codec is measured.

mod check;
mod code;
mod compiled;
mod interpreted;
mod report;
mod side;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use oxorb::values::ByteOrder;
use oxorb::{Interface, ObjectRef, Orb};
use serde::Serialize;

use crate::Result;
use crate::format::display_by_name;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::peers::{available, omniorb};
use crate::placement::{Placement, Role};
use crate::process::Process;
use report::{Line, Report};
pub(crate) use side::{Kind, serve};

/// Options of `oxbench marshal`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPU on which all codecs take turns; `free` leaves the choice to the kernel
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Number of rounds of each codec and row. Codecs take turns, and each round is a new process
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Milliseconds for each row, byte order and direction in each round
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    time: u32,

    /// Run two short rounds: a quick test that everything works, with little precision
    #[arg(long)]
    quick: bool,

    /// Run only these codecs; default: all available ones
    #[arg(long, value_delimiter = ',')]
    codecs: Vec<Codec>,

    /// Run only these rows
    #[arg(long, value_delimiter = ',', value_parser = row_name)]
    only: Vec<String>,

    #[command(flatten)]
    output: CheckedOutput,

    /// Report the code size of each type, too; OBJECT is an object file of oxbench, made as docs/marshalling.md
    /// explains
    #[arg(long, value_name = "OBJECT")]
    code: Option<PathBuf>,
}

/// Codec under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Codec {
    /// OxORB, code generated for each type
    Compiled,
    /// OxORB, tables and one interpreter for all types
    Interpreted,
    /// omniORB's `cdrMemoryStream`
    #[value(name = "omniorb")]
    OmniOrb,
}

/// Name and contents of every row.
const ROWS: [(&str, &str); 29] = [
    ("octets-64k", "sequence<octet>"),
    ("octet", "64 values, one by one"),
    ("short", "64 values, one by one"),
    ("long", "64 values, one by one"),
    ("long-long", "64 values, one by one"),
    ("float", "64 values, one by one"),
    ("double", "64 values, one by one"),
    ("shorts-1024", "sequence<short>"),
    ("longs-1024", "sequence<long>"),
    ("doubles-1024", "sequence<double>"),
    ("string-16", "string"),
    ("string-1024", "string"),
    ("struct-fixed", "numbers, a boolean, an enum, a struct"),
    ("struct-strings", "two strings and two numbers"),
    ("samples-1", "sequence<struct { octet; long; short }>"),
    ("samples-64", "the same"),
    ("samples-1024", "the same"),
    ("entries-1", "sequence<struct with strings>"),
    ("entries-64", "the same"),
    ("entries-1024", "the same"),
    ("union", "the case of a struct"),
    ("unions-64", "sequence of all cases in turns"),
    ("nested-16x64", "sequence<sequence<long>>"),
    ("tree-40", "a struct that holds a sequence of itself"),
    ("order", "a struct of all of these"),
    ("any-long", "any"),
    ("any-struct", "any of struct-fixed"),
    ("any-samples-64", "any of samples-64"),
    ("reference", "an object reference"),
];

/// Byte orders to measure.
const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// Object that is never called.
const REFERENCE: &str = "corbaloc:iiop:1.2@127.0.0.1:2809/target";

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (rounds, milliseconds) = match options.quick {
        true => (2, 1),
        false => (options.rounds, options.time),
    };
    let reference = reference()?;
    let contenders = available(&options.codecs, Codec::value_variants(), Contender::prepare)?;
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|one| one == name);
    let rows = ROWS.iter().filter(|(name, _)| wanted(name));
    let mut lines: Vec<Line> =
        rows.flat_map(|&(name, what)| ORDERS.map(|order| Line::new(name, what, order))).collect();
    for round in 0..rounds {
        eprintln!("round {} of {rounds} ...", round + 1);
        for contender in &contenders {
            let mut process = contender.start(options.cpus, &reference)?;
            for line in &mut lines {
                if round == 0 {
                    process.tell(&format!("octets {} {}", line.row, line.order))?;
                    line.compare(contender.codec, &process.hear()?)?;
                }
                let micros = u64::from(milliseconds) * 1000;
                process.tell(&format!("time {} {} {micros}", line.row, line.order))?;
                let answer = process.hear()?;
                let (encode, decode) =
                    answer.split_once(' ').ok_or_else(|| format!("not two times: {answer:?}"))?;
                line.add(contender.codec, encode.parse()?, decode.parse()?);
            }
            process.finish()?;
        }
    }
    let code = match &options.code {
        Some(object) => code::measure(object)?,
        None => Vec::new(),
    };
    Ok(Report {
        code,
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        rounds,
        milliseconds,
        lines,
    })
}

/// Returns a reference to the object as `IOR:...`, which all ORBs read the same way.
fn reference() -> Result<String> {
    let orb = Orb::builder().build()?;
    let target: ObjectRef = orb.resolve(REFERENCE)?;
    Ok(target.to_ior().to_string())
}

/// Codec whose program is available.
struct Contender {
    codec: Codec,
    omniorb: Option<omniorb::Codec>,
}

impl Contender {
    fn prepare(codec: Codec) -> Result<Contender> {
        let omniorb = match codec {
            Codec::OmniOrb => Some(omniorb::Codec::build()?),
            Codec::Compiled | Codec::Interpreted => None,
        };
        Ok(Contender { codec, omniorb })
    }

    fn start(&self, placement: Placement, reference: &str) -> Result<Process> {
        let mut command = match &self.omniorb {
            Some(program) => program.command(),
            None => {
                let mut command = std::process::Command::new(std::env::current_exe()?);
                command.args(["peer", "marshal", &self.codec.to_string()]);
                command
            }
        };
        command.arg(reference);
        let name = format!("the {} codec", self.codec);
        let mut process = Process::start(name, placement, Role::Client, &mut command)?;
        process.expect("ready")?;
        Ok(process)
    }
}

display_by_name!(Codec);

fn row_name(text: &str) -> Result<String, String> {
    if ROWS.iter().any(|(known, _)| *known == text) {
        return Ok(text.to_owned());
    }
    let names = ROWS.map(|(name, _)| name).join(", ");
    Err(format!("the rows are {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_there_and_reads_what_it_wrote() {
        let orb = oxorb::Orb::builder().build().unwrap();
        let reference = reference().unwrap();
        for (name, _) in ROWS {
            let compiled = compiled::rows::find(name, &orb, &reference).unwrap();
            let compiled = compiled.unwrap_or_else(|| panic!("there is no row {name}"));
            let interpreted = interpreted::rows::find(name, &orb, &reference).unwrap();
            let interpreted = interpreted.unwrap_or_else(|| panic!("there is no row {name}"));
            for order in ORDERS {
                let octets = compiled.octets(order).unwrap();
                assert_eq!(octets, interpreted.octets(order).unwrap(), "{name}");
                let moment = std::time::Duration::ZERO;
                compiled.time(order, &orb, moment).unwrap();
                interpreted.time(order, &orb, moment).unwrap();
            }
        }
    }
}
