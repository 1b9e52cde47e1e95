//! `oxbench control budgets`: (a) Operations are admitted one by one, and each verdict is held against a
//! whole analysis; (b) a client that floods and a servant that spins, beside an urgent client, with and without budgets; (c)
//! what becomes of late comers under both policies, for the video server and the stock quotes of "The Design of the TAO
//! Real-Time Object Request Broker" (2.2); (d) calls beyond a bound that was proved.

mod admission;
mod late;
mod proof;
mod report;
mod station;
mod storm;

use clap::{Args, ValueEnum};

use crate::Result;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use report::Report;

// The Rust that build.rs made of idl/control.idl.
mod generated {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("control");
}
use generated::control as idl;

/// Options of `oxbench control budgets`.
#[derive(Args)]
pub(crate) struct Options {
    /// Few operations and short rounds: to see that it works
    #[arg(long)]
    quick: bool,

    /// Only these experiments
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Part of the experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// (a) Admit operations one by one
    Admission,
    /// (b) Flood and spin beside an urgent client
    Storm,
    /// (c) Let clients come too late
    Late,
    /// (d) Count the calls beyond a bound that was proved
    Proof,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    let quick = options.quick;
    let is_wanted = |part| options.only.is_empty() || options.only.contains(&part);
    let mut report = Report {
        machine: Machine::this(),
        admission: None,
        storms: Vec::new(),
        late: Vec::new(),
        proof: None,
    };
    if is_wanted(Part::Admission) {
        eprintln!("(a) admission ...");
        report.admission = Some(admission::measure(if quick { 100 } else { 1_000 })?);
    }
    if is_wanted(Part::Storm) {
        report.storms = storm::measure(quick)?;
    }
    if is_wanted(Part::Late) {
        report.late = late::measure(quick)?;
    }
    if is_wanted(Part::Proof) {
        report.proof = proof::measure(if quick { 3_000 } else { 1_000_000 })?;
    }
    options.output.show(&report, report::verdicts, Report::drawing)
}
