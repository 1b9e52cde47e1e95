//! `oxbench fields`: the instructions saved by preparing request fields that do not change between calls.
//!
//! A flow analysis, at run time or by the compiler, would identify the constant arguments. At run time, it must compare
//! an argument with the previous one; if both are equal, it copies the octets written before instead of writing the
//! argument. Callgrind counts each way as the difference between few and many rounds of one process.

use std::hint::black_box;
use std::process::Command;

use clap::{Args, ValueEnum};
use oxorb::__gen::{Encode, Encoder};
use oxorb::cdr;
use oxorb::values::ByteOrder;
use serde::Serialize;

use crate::Result;
use crate::counts::callgrind::{self, Log};
use crate::format::Format;
use crate::table::Table;

const FEW: u32 = 1_000;
const MANY: u32 = 5_000;

/// Options of `oxbench fields`.
#[derive(Args)]
pub(crate) struct Options {
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Write ARGUMENT in the given WAY, ROUNDS times and without output, so that the instructions can be counted
    #[arg(long, hide = true, num_args = 3, value_names = ["ARGUMENT", "WAY", "ROUNDS"])]
    play: Option<Vec<String>>,
}

/// Argument of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Argument {
    /// Single long.
    Number,
    /// Twelve numbers.
    Numbers,
    /// A string of 20 characters.
    Text,
    /// 1,000 doubles.
    Block,
    /// 100 structs, each with a string and two numbers.
    Records,
}

/// Way to put an argument into a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// Argument left out, which leaves the part common to all ways.
    Nothing,
    /// Written each time.
    Written,
    /// Compared with the previous argument, and copied, because they are always equal.
    Compared,
    /// Compared with the previous argument; since they are never equal, written, and kept for the next comparison.
    Changed,
    /// Copied, because it is known to be constant.
    Copied,
}

#[derive(Clone, PartialEq)]
struct Record {
    text: String,
    x: f64,
    n: i32,
}

impl Encode for Record {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> cdr::Result<()> {
        e.string(&self.text)?;
        e.double(self.x);
        e.long(self.n);
        Ok(())
    }
}

#[derive(Clone, PartialEq)]
enum Value {
    Number(i32),
    Numbers([f64; 12]),
    Text(String),
    Block(Vec<f64>),
    Records(Vec<Record>),
}

impl Value {
    fn of(argument: Argument) -> Value {
        let record = |n: i32| Record { text: format!("record number {n:3}"), x: f64::from(n), n };
        match argument {
            Argument::Number => Value::Number(7),
            Argument::Numbers => Value::Numbers([0.5; 12]),
            Argument::Text => Value::Text("twenty characters :-".into()),
            Argument::Block => Value::Block(vec![0.25; 1000]),
            Argument::Records => Value::Records((0..100).map(record).collect()),
        }
    }

    fn write<'a>(&'a self, e: &mut Encoder<'a>) -> cdr::Result<()> {
        match self {
            Value::Number(number) => {
                e.long(*number);
                Ok(())
            }
            Value::Numbers(numbers) => numbers.encode(e),
            Value::Text(text) => e.string(text),
            Value::Block(numbers) => e.sequence(numbers, None),
            Value::Records(records) => e.sequence(records, None),
        }
    }

    /// Changes the octets that a comparison reaches last.
    fn touch(&mut self, round: u32) {
        let number = f64::from(round);
        match self {
            Value::Number(one) => *one = round.cast_signed(),
            Value::Numbers(numbers) => numbers[11] = number,
            Value::Text(text) => {
                text.pop();
                text.push(char::from(b'a' + (round % 26) as u8));
            }
            Value::Block(numbers) => numbers[999] = number,
            Value::Records(records) => records[99].n = round.cast_signed(),
        }
    }
}

/// Results of one argument and one way.
#[derive(Debug, Serialize)]
struct Row {
    argument: Argument,
    written: f64,
    compared: f64,
    changed: f64,
    copied: f64,
}

/// Counts and prints.
pub(crate) fn run(options: &Options) -> Result {
    if let Some(play) = &options.play {
        return played(play);
    }
    if !callgrind::is_available() {
        return Err("valgrind cannot be run: install it".into());
    }
    let rows: Vec<Row> =
        Argument::value_variants().iter().map(|argument| row(*argument)).collect::<Result<_>>()?;
    match options.format {
        Format::Json => println!("{}", serde_json::to_string_pretty(&rows)?),
        Format::Table => {
            println!("instructions for one argument of a request:");
            let name = |row: &Row| row.argument.to_possible_value().expect("none is skipped");
            let table = Table::of(&rows)
                .left(["argument"], |row| [name(row).get_name().to_owned()])
                .fixed(["written", "the same: compared, copied", "changed"], 0, |row| {
                    [row.written, row.compared, row.changed]
                })
                .fixed(["known: copied"], 0, |row| [row.copied]);
            print!("{table}");
        }
    }
    Ok(())
}

fn row(argument: Argument) -> Result<Row> {
    let nothing = each(argument, Way::Nothing)?;
    let more = |way| -> Result<f64> { Ok(each(argument, way)? - nothing) };
    Ok(Row {
        argument,
        written: more(Way::Written)?,
        compared: more(Way::Compared)?,
        changed: more(Way::Changed)?,
        copied: more(Way::Copied)?,
    })
}

fn each(argument: Argument, way: Way) -> Result<f64> {
    let (few, many) = (instructions(argument, way, FEW)?, instructions(argument, way, MANY)?);
    Ok((many as f64 - few as f64) / f64::from(MANY - FEW))
}

fn instructions(argument: Argument, way: Way, rounds: u32) -> Result<u64> {
    let name = |one: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
        one().expect("none is skipped").get_name().to_owned()
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["fields", "--play"]);
    command.arg(name(&|| argument.to_possible_value()));
    command.arg(name(&|| way.to_possible_value()));
    command.arg(rounds.to_string());
    let log = Log::new("fields");
    let status = log.wrap(&command).status()?;
    if !status.success() {
        return Err(format!("{argument:?} {way:?} ended with {status}").into());
    }
    log.instructions()
}

fn played(play: &[String]) -> Result {
    let [argument, way, rounds] = play else {
        return Err("expected ARGUMENT WAY ROUNDS".into());
    };
    let argument = Argument::from_str(argument, false)?;
    let (way, rounds) = (Way::from_str(way, false)?, rounds.parse()?);
    let mut value = Value::of(argument);
    let mut last = value.clone();
    let octets = {
        let mut e = encoder(Vec::new());
        value.write(&mut e)?;
        e.finish().into_buffer()
    };
    let (mut octets, mut buffer) = (octets, Vec::new());
    for round in 0..rounds {
        let value = black_box(&mut value);
        if way == Way::Changed {
            value.touch(round);
        }
        // Costs of all requests: an encoder on a reused buffer.
        let mut e = encoder(std::mem::take(&mut buffer));
        let mut wrote = false;
        match way {
            Way::Nothing => {}
            Way::Written => value.write(&mut e)?,
            Way::Copied => e.octets(black_box(&octets)),
            Way::Compared | Way::Changed if *value == *black_box(&last) => e.octets(&octets),
            Way::Compared | Way::Changed => {
                value.write(&mut e)?;
                wrote = true;
            }
        }
        buffer = e.finish().into_buffer();
        if wrote {
            octets.clear();
            octets.extend_from_slice(&buffer);
            last.clone_from(value);
        }
        black_box(&buffer);
    }
    Ok(())
}

fn encoder<'a>(buffer: Vec<u8>) -> Encoder<'a> {
    Encoder::new(buffer, ByteOrder::NATIVE, cdr::Dialect::GIOP_1_2)
}
