//! `cargo xtask steady`: runs the tests many times together with busy processes, and counts the failures of each test.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::nextest::{self, Busy, failures};

const USAGE: &str = "Usage: cargo xtask steady [--runs N] [--busy N] [-- FILTER...]\n\n\
    Runs the tests of the workspace N times (20) beside N processes that keep a processor busy each (4), by\n\
    cargo-nextest and without retries, and prints which test failed how often. FILTER as cargo-nextest takes it.";

/// Runs the tests; fails if any test has failed at least once.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let Options { runs, busy, filter } = Options::parse(args)?;
    nextest::build()?;
    let _busy: Vec<Busy> = (0..busy).map(|_| Busy::start()).collect::<Result<_, _>>()?;
    let mut failed: BTreeMap<String, u32> = BTreeMap::new();
    let mut broken_runs = 0;
    for run in 1..=runs {
        let began = Instant::now();
        let output =
            nextest::run(&filter).output().map_err(|error| format!("cargo nextest: {error}"))?;
        let log = String::from_utf8_lossy(&output.stderr);
        let names = failures(&log);
        if names.is_empty() && !output.status.success() {
            return Err(format!("{log}\ncargo nextest: {}", output.status));
        }
        broken_runs += u32::from(!names.is_empty());
        let seconds = began.elapsed().as_secs();
        println!("run {run} of {runs}: {} failed ({seconds} s)", names.len());
        if !names.is_empty() {
            // Includes the output of the failed tests.
            eprintln!("{log}");
        }
        for name in names {
            println!("    {name}");
            *failed.entry(name).or_default() += 1;
        }
    }
    println!("\n{} of {runs} runs passed", runs - broken_runs);
    for (name, times) in &failed {
        println!("{times:4} of {runs}  {name}");
    }
    match failed.len() {
        0 => Ok(()),
        unsteady => Err(format!("tests that are not steady: {unsteady}")),
    }
}

struct Options {
    runs: u32,
    busy: u32,
    filter: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options { runs: 20, busy: 4, filter: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let number = match arg.as_str() {
                "--runs" => &mut options.runs,
                "--busy" => &mut options.busy,
                "--" => {
                    options.filter = args.cloned().collect();
                    break;
                }
                _ => return Err(USAGE.to_owned()),
            };
            let value = args.next().and_then(|value| value.parse().ok());
            *number = value.ok_or_else(|| format!("{arg} takes a number\n\n{USAGE}"))?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_refused() {
        let args = ["--runs".to_owned(), "many".to_owned()];
        assert!(Options::parse(&args).is_err());
    }
}
