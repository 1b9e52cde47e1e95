//! Protocol of every peer's client process on standard input and output:
//!
//! ```text
//! < ready                      connected, every operation tried once
//! > run octets 65536 2000      operation, size, calls
//! < done
//! > samples
//! < 25412 25390 ...            nanoseconds, one for each call of the last run
//! > allocations
//! < 1234                       heap allocations since the process started
//! > probes on
//! < done                       off likewise
//! > probes
//! < 0:1 0:2 | 1:5              since the last time: stage and nanoseconds, threads apart (OxORB only)
//! ```
//!
//! Servers print their addresses and support `allocations` and `probes` only; omniORB's programs support all other
//! commands.
//!
//! The samples are sent after `done`, so that the CPU time read before is that of the calls alone.

use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::str::FromStr;
use std::time::Instant;

use oxorb::rt::probe;
use oxorb_testkit::alloc;

use crate::Result;

/// Implementation of one peer's calls.
pub(crate) trait Caller {
    /// Name of an operation to call.
    type Operation: FromStr<Err = String>;

    /// Makes as many calls as `clock` requires: prepares the argument first, then runs `clock.time(|| one call)`.
    fn run(&mut self, operation: Self::Operation, size: u32, clock: &mut Clock) -> Result;
}

/// Clock that records the times of calls in memory allocated beforehand.
pub(crate) struct Clock {
    calls: usize,
    samples: Vec<u64>,
}

impl Clock {
    /// Returns a clock for `calls` calls.
    pub(crate) fn new(calls: usize) -> Clock {
        Clock { calls, samples: Vec::with_capacity(calls) }
    }

    /// Returns the number of calls required.
    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// Repeats `call`. The end of one call is the start of the next, with a single reading of the clock.
    pub(crate) fn time(&mut self, mut call: impl FnMut() -> Result) -> Result {
        let mut before = Instant::now();
        for _ in 0..self.calls {
            call()?;
            let after = Instant::now();
            self.samples.push((after - before).as_nanos() as u64);
            before = after;
        }
        Ok(())
    }
}

/// Serves standard input until it closes.
pub(crate) fn serve<C: Caller>(caller: &mut C) -> Result {
    let mut output = std::io::stdout().lock();
    let mut answer = String::from("ready");
    let mut samples = Vec::new();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        writeln!(output, "{answer}")?;
        output.flush()?;
        let Some(line) = lines.next().transpose()? else {
            return Ok(());
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        answer.clear();
        match words[..] {
            ["run", operation, size, calls] => {
                let mut clock = Clock::new(calls.parse()?);
                caller.run(operation.parse()?, size.parse()?, &mut clock)?;
                samples = clock.samples;
                answer.push_str("done");
            }
            ["samples"] => {
                for sample in &samples {
                    write!(answer, "{sample} ")?;
                }
            }
            ["allocations"] => write!(answer, "{}", alloc::global().count)?,
            ["probes", ..] => answer.push_str(&probes(words.get(1).copied())?),
            _ => {
                let known = "run OPERATION SIZE CALLS, samples, allocations and probes [SWITCH]";
                return Err(no_command(&line, known).into());
            }
        }
    }
}

/// Returns the error for a line of standard input that is no command. `known` lists the commands of the process.
pub(crate) fn no_command(line: &str, known: &str) -> String {
    format!(
        "standard input has the line {line:?}, which is no command of this process; its commands are {known}"
    )
}

/// Prints a first line, and then the answer to each line of standard input until it closes.
pub(crate) fn answer(first: &str, mut answer: impl FnMut(&str) -> Result<String>) -> Result {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{first}")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?)?;
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// Prints the address of a server and returns when standard input closes.
pub(crate) fn announce(address: &str) -> Result {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{address}")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["allocations"] => writeln!(output, "{}", alloc::global().count)?,
            ["probes"] => writeln!(output, "{}", probes(None)?)?,
            ["probes", switch] => writeln!(output, "{}", probes(Some(switch))?)?,
            _ => return Err(no_command(&line, "allocations and probes [SWITCH]").into()),
        }
        output.flush()?;
    }
    Ok(())
}

/// Switches the timeprobes of this process, or returns their stamps.
fn probes(switch: Option<&str>) -> Result<String> {
    match switch {
        Some("on") => probe::on(),
        Some("off") => probe::off(),
        Some(other) => return Err(format!("probes are on or off, not {other:?}").into()),
        None => {
            let threads = probe::take().into_iter().map(|trace| {
                let record = |record: &probe::Record| {
                    format!("{}:{}", record.stage as u8, record.at.as_nanos())
                };
                let records: Vec<_> = trace.records.iter().map(record).collect();
                records.join(" ")
            });
            return Ok(threads.collect::<Vec<_>>().join(" | "));
        }
    }
    Ok("done".to_owned())
}
